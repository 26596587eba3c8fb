// SPDX-License-Identifier: BSD-3-Clause
// Masks of names and texts.
#include "base/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *written(const char *text, size_t length, enum redact how, bool is_name)
{
	static char buffer[4096];
	struct json_out out;

	json_out_init(&out, buffer, sizeof(buffer) - 1);
	json_out_open(&out, NULL, '{');
	if (is_name)
		json_out_redacted_name(&out, "x", (const uint8_t *)text, length, how);
	else
		json_out_redacted(&out, "x", (const uint8_t *)text, length, how);
	json_out_close(&out, '}');
	buffer[json_out_length(&out)] = '\0';
	return buffer;
}

#define TEXT(text, how) written(text, sizeof(text) - 1, how, false)
#define NAME(text)      written(text, sizeof(text) - 1, REDACT_MASK, true)

static void texts(void **state)
{
	(void)state;
	assert_string_equal(TEXT("hello", REDACT_KEEP), "{\"x\":\"hello\"}");
	assert_string_equal(TEXT("hello", REDACT_OMIT), "{}");
	assert_string_equal(TEXT("hello", REDACT_MASK), "{\"x\":\"*****\"}");
	assert_string_equal(TEXT("a.exe", REDACT_MASK), "{\"x\":\"*****\"}");
	// a star for each character, and for each byte that is none
	assert_string_equal(TEXT("gr\xc3\xbc\xc3\x9f\xff", REDACT_MASK), "{\"x\":\"*****\"}");
	assert_string_equal(TEXT("", REDACT_MASK), "{\"x\":\"\"}");
}

static void a_mask_is_bounded(void **state)
{
	char text[REDACT_STARS_MAX + 100];

	(void)state;
	memset(text, 'a', sizeof(text));
	assert_int_equal(
		strlen(written(text, sizeof(text), REDACT_MASK, false)), REDACT_STARS_MAX + 8);
	memcpy(text + sizeof(text) - 4, ".exe", 4);
	assert_int_equal(
		strlen(written(text, sizeof(text), REDACT_MASK, true)), REDACT_STARS_MAX + 8 + 4);
}

static void names_keep_their_extension(void **state)
{
	(void)state;
	assert_string_equal(NAME("me.exe"), "{\"x\":\"**.exe\"}");
	assert_string_equal(NAME("a/b.tar.gz"), "{\"x\":\"*******.gz\"}");
	// none: a name that begins with its dot, a dot at the end, too long a one, other characters
	assert_string_equal(NAME(".profile"), "{\"x\":\"********\"}");
	assert_string_equal(NAME("name."), "{\"x\":\"*****\"}");
	assert_string_equal(NAME("a.abcdefghijkl"), "{\"x\":\"**************\"}");
	assert_string_equal(NAME("a.to Bob"), "{\"x\":\"********\"}");
	assert_string_equal(NAME("a.b/secret"), "{\"x\":\"**********\"}");
	assert_string_equal(written("me.exe", 6, REDACT_KEEP, true), "{\"x\":\"me.exe\"}");
	assert_string_equal(written("me.exe", 6, REDACT_OMIT, true), "{}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts),
		cmocka_unit_test(a_mask_is_bounded),
		cmocka_unit_test(names_keep_their_extension),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
