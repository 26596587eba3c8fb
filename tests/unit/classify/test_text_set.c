// SPDX-License-Identifier: BSD-3-Clause
// Sets of patterns over texts: what is found where, in one call, and what is refused.
#include "classify/text_set.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ROOM          8192
#define PATTERNS(...) ((const struct text_pattern[]){__VA_ARGS__})
#define LITERAL(text, owner)       \
	{                          \
		text, owner, false \
	}
#define REGEX(text, owner)        \
	{                         \
		text, owner, true \
	}

struct rig {
	struct text_set *set;
	struct text_set_scratch *scratch;
};

static struct rig rig_of(const struct text_pattern *patterns, uint32_t n)
{
	struct text_set_error error = {0};
	struct rig rig;
	int rc = text_set_new(patterns, n, &rig.set, &error);

	if (rc)
		print_message("%u: %s\n", error.pattern, error.message);
	assert_int_equal(rc, 0);
	assert_int_equal(text_set_scratch_new(rig.set, ROOM, &rig.scratch), 0);
	return rig;
}

static void rig_free(struct rig *rig)
{
	text_set_scratch_free(rig->scratch);
	text_set_free(rig->set);
}

static struct text_hits scan_at(struct rig *rig, uint32_t from, const char *text)
{
	uint32_t size;
	uint8_t *room = text_set_room(rig->scratch, &size);

	assert_int_equal(size, ROOM);
	memset(room, 'x', from);
	memcpy(room + from, text, strlen(text));
	return text_set_scan(rig->set, rig->scratch, from, (uint32_t)strlen(text));
}

static struct text_hits scan(struct rig *rig, const char *text)
{
	return scan_at(rig, 0, text);
}

// "pattern:from-to ..." in the order of the answer.
static const char *shown(struct text_hits hits)
{
	static char out[4096];
	size_t at = 0;

	out[0] = '\0';
	if (hits.failed)
		return "failed";
	for (uint32_t i = 0; i < hits.n; i++)
		at += (size_t)snprintf(out + at, sizeof(out) - at, "%s%u:%u-%u", i ? " " : "",
			hits.hits[i].pattern, hits.hits[i].from, hits.hits[i].to);
	return out;
}

static void test_literals(void **state)
{
	struct rig rig = rig_of(PATTERNS(LITERAL("secret", 7), LITERAL("a.c", 8),
					LITERAL("\xc3\xa9t\xc3\xa9", 9), LITERAL("aa", 10)),
		4);
	struct text_hits hits;

	(void)state;
	assert_string_equal(shown(scan(&rig, "the secret")), "0:4-10");
	assert_string_equal(shown(scan(&rig, "the Secret")), ""); // texts are folded before
	assert_string_equal(shown(scan(&rig, "the secre")), "");
	assert_string_equal(shown(scan(&rig, "abc")), ""); // no regex
	assert_string_equal(shown(scan(&rig, "a.c")), "1:0-3");
	assert_string_equal(shown(scan(&rig, "un \xc3\xa9t\xc3\xa9")), "2:3-8");
	assert_string_equal(shown(scan(&rig, "secret secret")), "0:0-6 0:7-13");
	assert_string_equal(shown(scan(&rig, "secretsecret")), "0:0-12"); // they touch
	assert_string_equal(shown(scan(&rig, "xaaaay")), "3:1-5");        // they overlap
	assert_string_equal(shown(scan(&rig, "")), "");
	hits = scan(&rig, "secret");
	assert_int_equal(hits.hits[0].owner, 7);
	// behind something else in the room: offsets are the text's
	assert_string_equal(shown(scan_at(&rig, 5, "a secret")), "0:2-8");
	rig_free(&rig);
}

static void test_regexes(void **state)
{
	struct rig rig = rig_of(
		PATTERNS(REGEX("pass(word)?:\\s*\\S", 1), REGEX("\\Aab", 2), REGEX("ab\\z", 3),
			REGEX("a.b", 4), LITERAL("ab", 5), REGEX("Caf\xc3\xa9", 6)),
		6);

	(void)state;
	// the whole text, once
	assert_string_equal(shown(scan(&rig, "my password: x password: y")), "0:0-26");
	assert_string_equal(shown(scan(&rig, "my password:")), "");
	assert_string_equal(shown(scan(&rig, "a\nb")), "3:0-3");
	assert_string_equal(shown(scan(&rig, "a\xe2\x82\xac"
					     "b")),
		"3:0-5");                                                  // one character
	assert_string_equal(shown(scan(&rig, "un caf\xc3\xa9")), "5:0-8"); // in any case
	assert_int_equal(scan(&rig, "ab").n, 3);
	assert_int_equal(scan(&rig, "xab").n, 2);
	assert_int_equal(scan(&rig, "abx").n, 2);
	assert_int_equal(scan_at(&rig, 1, "ab").n, 3); // what stands before is not looked at
	rig_free(&rig);
}

// Patterns that are the same, or parts of each other, are all told.
static void test_same(void **state)
{
	struct rig rig = rig_of(PATTERNS(LITERAL("abc", 1), LITERAL("abc", 2), LITERAL("bc", 3),
					LITERAL("b", 4), REGEX("abc", 5)),
		5);
	struct text_hits hits = scan(&rig, "xabcx");
	unsigned seen = 0;

	(void)state;
	assert_int_equal(hits.n, 5);
	for (unsigned i = 0; i < hits.n; i++)
		seen |= 1u << hits.hits[i].owner;
	assert_int_equal(seen, 0x3e);
	rig_free(&rig);
}

static void test_one_call(void **state)
{
	struct text_pattern patterns[1000];
	char words[1000][8];
	struct rig rig;

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(words[i], sizeof(words[i]), "w%uq", i);
		patterns[i] = (struct text_pattern){words[i], i, i % 10 == 0};
	}
	rig = rig_of(patterns, 1000);
	assert_int_equal(scan(&rig, "w1q w999q w990q w1000q").n, 3);
	assert_int_equal(text_set_scans(rig.scratch), 1);
	rig_free(&rig);
}

// However often one pattern stands there, no other is lost.
static void test_many_places(void **state)
{
	struct rig rig = rig_of(PATTERNS(LITERAL("a", 1), LITERAL("end", 2)), 2);
	struct text_hits hits;
	char text[ROOM + 1] = "";

	(void)state;
	for (unsigned i = 0; i < (ROOM - 3) / 2; i++)
		memcpy(text + 2 * i, "a ", 2);
	memcpy(text + strlen(text), "end", 4);
	hits = scan(&rig, text);
	assert_true(hits.more);
	assert_int_equal(hits.n, 2 + TEXT_SET_RANGES_MAX);
	assert_int_equal(hits.hits[hits.n - 1].owner, 2);
	assert_false(scan(&rig, "a a end").more); // not kept from the text before
	rig_free(&rig);
}

static void refused(
	const struct text_pattern *patterns, uint32_t n, uint32_t which, const char *message)
{
	struct text_set_error error;
	struct text_set *set;

	assert_int_equal(text_set_new(patterns, n, &set, &error), -EINVAL);
	assert_null(set);
	assert_int_equal(error.pattern, which);
	assert_non_null(strstr(error.message, message));
}

static void test_refused(void **state)
{
	struct text_pattern *many = calloc(TEXT_SET_PATTERNS_MAX + 1, sizeof(*many));
	struct text_set_error error;
	struct text_set *set;
	char message[256];

	(void)state;
	refused(PATTERNS(LITERAL("a", 0), REGEX("a(", 1)), 2, 1, "parenthes");
	refused(PATTERNS(LITERAL("", 0)), 1, 0, "empty");
	assert_non_null(many);
	assert_int_equal(text_set_new(many, TEXT_SET_PATTERNS_MAX + 1, &set, &error), -E2BIG);
	free(many);
	assert_int_equal(text_set_check("a+", message, sizeof(message)), 0);
	assert_int_equal(text_set_check("a*", message, sizeof(message)), -EINVAL);
	assert_non_null(strstr(message, "empty text"));
	assert_int_equal(text_set_check("(?=a)b", message, sizeof(message)), -EINVAL);
	assert_non_null(strstr(message, "Zero-width"));
	assert_int_equal(text_set_check("\\1(a)", message, sizeof(message)), -EINVAL);
}

static void test_foreign_scratch(void **state)
{
	struct rig rig = rig_of(PATTERNS(LITERAL("a", 1)), 1);
	struct rig other = rig_of(PATTERNS(LITERAL("a", 1)), 1);
	struct rig empty = rig_of(NULL, 0);

	(void)state;
	assert_true(text_set_scan(rig.set, other.scratch, 0, 1).failed);
	assert_true(text_set_scan(rig.set, rig.scratch, 0, ROOM + 1).failed);
	assert_true(text_set_scan(rig.set, rig.scratch, ROOM, 1).failed);
	assert_string_equal(shown(scan(&empty, "a")), "");
	rig_free(&rig);
	rig_free(&other);
	rig_free(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_literals),
		cmocka_unit_test(test_regexes),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_one_call),
		cmocka_unit_test(test_many_places),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_foreign_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
