// SPDX-License-Identifier: BSD-3-Clause
// A message that comes in parts: any order, overlaps, the end of the room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "classify/handshake/hello_parts.h"

static void test_parts(void **state)
{
	struct hello_parts parts;
	uint8_t bytes[HELLO_PARTS_BYTES + 100];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	hello_parts_clear(&parts);
	assert_int_equal(hello_parts_length(&parts), 0);
	assert_true(hello_parts_add(&parts, 64, bytes + 64, 64));
	assert_false(hello_parts_add(&parts, 64, bytes, 64)); // the first to come is kept
	assert_int_equal(hello_parts_length(&parts), 0);
	assert_true(hello_parts_add(&parts, 0, bytes, 65));
	assert_int_equal(hello_parts_length(&parts), 128);
	assert_memory_equal(parts.bytes, bytes, 128);
	assert_true(hello_parts_add(&parts, 100, bytes + 100, sizeof(bytes) - 100));
	assert_int_equal(hello_parts_length(&parts), HELLO_PARTS_BYTES);
	assert_memory_equal(parts.bytes, bytes, HELLO_PARTS_BYTES);
	assert_false(hello_parts_add(&parts, HELLO_PARTS_BYTES, bytes, 1));
	assert_false(hello_parts_add(&parts, UINT64_MAX, bytes, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
