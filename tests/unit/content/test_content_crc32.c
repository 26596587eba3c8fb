// SPDX-License-Identifier: BSD-3-Clause
// The checksum of gzip is zlib's, of any length, wherever it lies and however it is cut.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zlib.h>

#include "content/coding/crc32.h"

static uint8_t bytes[5000];

static void fill(void)
{
	uint32_t x = 1;

	for (size_t i = 0; i < sizeof(bytes); i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(x >> 24);
	}
}

static void known_value(void **state)
{
	(void)state;
	assert_int_equal(coding_crc32(0, (const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(coding_crc32(7, bytes, 0), 7);
}

static void any_length_at_any_place(void **state)
{
	(void)state;
	fill();
	for (size_t length = 0; length < 600; length++)
		for (size_t at = 0; at < 17; at++)
			assert_int_equal(coding_crc32((uint32_t)length, bytes + at, length),
				crc32_z(length, bytes + at, length));
}

static void goes_on(void **state)
{
	uint32_t whole = (uint32_t)crc32_z(0, bytes, sizeof(bytes));

	(void)state;
	for (size_t cut = 0; cut <= sizeof(bytes); cut += 37) {
		uint32_t crc = coding_crc32(0, bytes, cut);

		assert_int_equal(coding_crc32(crc, bytes + cut, sizeof(bytes) - cut), whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_value),
		cmocka_unit_test(any_length_at_any_place),
		cmocka_unit_test(goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
