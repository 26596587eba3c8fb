// SPDX-License-Identifier: BSD-3-Clause
// Base64 as a stream, however it is cut and however little room there is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "content/base64.h"

static const struct {
	const char *in, *out;
	bool foreign, behind;
} forms[] = {
	{"", "", false, false},
	{"Zg==", "f", false, false},
	{"Zm8=", "fo", false, false},
	{"Zm9v", "foo", false, false},
	{"Zm9vYmFy", "foobar", false, false},
	{"Zm9v\r\n Ym\tFy\r\n", "foobar", false, false},
	{"Zm9vYg", "foob", false, false},   // without padding
	{"Zm9vYmE", "fooba", false, false}, // ... either
	{"Zm9vY", "foo", false, false},     // a digit alone
	{"Zg==Zm8=", "ffo", false, true},   // two quanta that end
	{"Zm9v!Ym*Fy", "foobar", true, false},
	{"=", "", false, false},
	{"+/+/", "\xfb\xff\xbf", false, false},
};

static void known_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		for (uint32_t piece = 1; piece < 20; piece++)
			for (uint32_t room = 3; room < 9; room++) {
				uint32_t length = (uint32_t)strlen(forms[i].in), at = 0, n = 0;
				struct base64_stream stream = {0};
				uint8_t out[32] = {0};

				while (at < length) {
					uint32_t taken,
						here = length - at < piece ? length - at : piece;

					n += base64_decode(&stream,
						(const uint8_t *)forms[i].in + at, here, &taken,
						out + n, room);
					at += taken;
				}
				n += base64_finish(&stream, out + n);
				assert_int_equal(n, strlen(forms[i].out));
				assert_memory_equal(out, forms[i].out, n);
				assert_int_equal(stream.foreign, forms[i].foreign);
				assert_int_equal(stream.behind, forms[i].behind);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(known_forms)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
