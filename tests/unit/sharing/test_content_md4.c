// SPDX-License-Identifier: BSD-3-Clause
// MD4 by the vectors of RFC 1320, in any pieces, and around the ends of its blocks.
#include "content/edonkey/md4.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void digest_of(const uint8_t *bytes, uint32_t length, uint32_t piece, char text[33])
{
	uint8_t digest[MD4_BYTES];
	struct md4 md4;

	md4_begin(&md4);
	for (uint32_t at = 0; at < length; at += piece)
		md4_add(&md4, bytes + at, length - at < piece ? length - at : piece);
	md4_end(&md4, digest);
	for (unsigned i = 0; i < MD4_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

// RFC 1320, appendix A.5.
static void vectors(void **state)
{
	static const char *const rows[][2] = {
		{"", "31d6cfe0d16ae931b73c59d7e0c089c0"},
		{"a", "bde52cb31de33e46245e05fbdbd6fb24"},
		{"abc", "a448017aaf21d8525fc10ae87aa6729d"},
		{"message digest", "d9130a8164549fe818874806e1c7014b"},
		{"abcdefghijklmnopqrstuvwxyz", "d79e1c308aa5bbcdeea8ed63df412da9"},
		{"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
			"043f8582f241db351ce627e153e7f0e4"},
		{"1234567890123456789012345678901234567890123456789012345678901234567890123456"
		 "7890",
			"e33b4ddc9c38f2199c3e7b164fcc0536"},
	};
	char text[33];

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		for (uint32_t piece = 1; piece <= 80; piece++) {
			digest_of((const uint8_t *)rows[i][0], (uint32_t)strlen(rows[i][0]), piece,
				text);
			assert_string_equal(text, rows[i][1]);
		}
}

// What pieces give is what one call gives, at each length around two blocks.
static void pieces(void **state)
{
	static uint8_t bytes[1000];
	char whole[33], cut[33];

	(void)state;
	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 + i / 256);
	for (uint32_t length = 0; length <= 200; length++)
		for (uint32_t piece = 1; piece < 130; piece += 9) {
			digest_of(bytes, length, sizeof(bytes), whole);
			digest_of(bytes, length, piece, cut);
			assert_string_equal(whole, cut);
		}
	// by another implementation
	digest_of(bytes, sizeof(bytes), 77, whole);
	assert_string_equal(whole, "20cf9af67127875d66b5a33e39d879c1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
