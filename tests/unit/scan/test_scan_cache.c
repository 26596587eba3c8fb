// SPDX-License-Identifier: BSD-3-Clause
// Verdicts that are remembered: for how long, under which database, how many, and who scans a file
// that several ask for at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "scan/cache.h"

#define AGE (3600 * NS_PER_S)
#define T0  (1000 * NS_PER_S)

static struct scan_cache *cache;
static int me, other; // askers

static struct scan_key key_of(uint32_t file, uint8_t database)
{
	struct scan_key key = {.digest = {database}};

	memcpy(key.sha256, &file, sizeof(file));
	return key;
}

static void begin(uint32_t entries)
{
	cache = scan_cache_new(entries, AGE);
	assert_non_null(cache);
	me = scan_cache_join(cache);
	other = scan_cache_join(cache);
	assert_true(me >= 0 && other >= 0 && me != other);
}

static void end(void)
{
	scan_cache_leave(cache, me);
	scan_cache_leave(cache, other);
	scan_cache_free(cache);
}

static enum scan_cache_answer ask(int asker, uint32_t file, uint64_t now_ns, struct scan_known *out)
{
	const struct scan_key key = key_of(file, 1);

	return scan_cache_ask(cache, asker, &key, now_ns, out);
}

// As the owner of the file.
static void says(uint32_t file, enum scan_value value, enum scan_reason reason, uint64_t now_ns)
{
	const struct scan_key key = key_of(file, 1);
	struct scan_known known = {.value = (uint8_t)value, .reason = (uint8_t)reason};

	if (value == SCAN_INFECTED)
		scan_wire_text(known.name, sizeof(known.name), "Eicar");
	scan_cache_over(cache, &key, &known, true, key.digest, now_ns);
}

static struct scan_cache_use use(void)
{
	struct scan_cache_use out;

	scan_cache_look(cache, &out);
	return out;
}

static void what_depends_on_the_file_is_kept_for_its_age(void **state)
{
	static const struct {
		enum scan_value value;
		enum scan_reason reason;
		uint64_t kept_ns;
	} cases[] = {
		{SCAN_CLEAN, SCAN_REASON_NONE, AGE},
		{SCAN_INFECTED, SCAN_REASON_NONE, AGE},
		{SCAN_UNSCANNED, SCAN_REASON_TOO_BIG, AGE},
		{SCAN_UNSCANNED, SCAN_REASON_TOO_DEEP, AGE},
		{SCAN_UNSCANNED, SCAN_REASON_ENCRYPTED, AGE},
		{SCAN_UNSCANNED, SCAN_REASON_FORMAT, AGE},
		{SCAN_UNSCANNED, SCAN_REASON_LIMIT, SCAN_CACHE_LIMIT_NS},
		{SCAN_UNSCANNED, SCAN_REASON_PROTOCOL, 0},
		{SCAN_UNSCANNED, SCAN_REASON_BUSY, 0},
		{SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE, 0},
		{SCAN_ERROR, SCAN_REASON_NONE, 0},
		{SCAN_TIMEOUT, SCAN_REASON_NONE, 0},
	};

	(void)state;
	begin(64);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scan_known known;
		uint64_t until_ns = T0 + cases[i].kept_ns;

		assert_int_equal(ask(me, i, T0, &known), SCAN_CACHE_OWN);
		says(i, cases[i].value, cases[i].reason, T0);
		if (cases[i].kept_ns) {
			assert_int_equal(ask(me, i, until_ns - 1, &known), SCAN_CACHE_KNOWN);
			assert_int_equal(known.value, cases[i].value);
			assert_int_equal(known.reason, cases[i].reason);
			assert_string_equal(
				known.name, cases[i].value == SCAN_INFECTED ? "Eicar" : "");
		}
		assert_int_equal(ask(me, i, until_ns, &known), SCAN_CACHE_OWN);
		says(i, SCAN_ERROR, SCAN_REASON_NONE, until_ns);
	}
	assert_int_equal(use().entries, 0);
	assert_int_equal(use().evicted, 0);
	end();
}

static void the_one_that_was_used_longest_ago_goes(void **state)
{
	struct scan_known known;

	(void)state;
	begin(3);
	for (uint32_t file = 1; file <= 3; file++) {
		assert_int_equal(ask(me, file, T0, &known), SCAN_CACHE_OWN);
		says(file, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	}
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_KNOWN); // 2 is the oldest now
	assert_int_equal(ask(me, 4, T0, &known), SCAN_CACHE_OWN);
	says(4, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	assert_int_equal(use().entries, 3);
	assert_int_equal(use().evicted, 1);
	assert_int_equal(use().limit, 3);
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_KNOWN);
	assert_int_equal(ask(me, 3, T0, &known), SCAN_CACHE_KNOWN);
	assert_int_equal(ask(me, 4, T0, &known), SCAN_CACHE_KNOWN);
	assert_int_equal(ask(me, 2, T0, &known), SCAN_CACHE_OWN);
	says(2, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	end();
}

// What is in flight does not make room, and is not remembered where there is none.
static void more_in_flight_than_entries_are_scanned_each_for_itself(void **state)
{
	struct scan_known known;

	(void)state;
	begin(2);
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_OWN);
	assert_int_equal(ask(me, 2, T0, &known), SCAN_CACHE_OWN);
	assert_int_equal(ask(me, 3, T0, &known), SCAN_CACHE_FULL);
	says(1, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	says(2, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	assert_int_equal(ask(me, 3, T0, &known), SCAN_CACHE_OWN);
	says(3, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	assert_int_equal(use().entries, 2);
	end();
}

static void a_new_database_makes_all_unknown(void **state)
{
	const struct scan_key old = key_of(7, 1), new = key_of(7, 2);
	struct scan_known known = {.value = SCAN_CLEAN};

	(void)state;
	begin(8);
	assert_int_equal(scan_cache_ask(cache, me, &old, T0, &known), SCAN_CACHE_OWN);
	scan_cache_over(cache, &old, &known, true, old.digest, T0);
	assert_int_equal(scan_cache_ask(cache, me, &new, T0, &known), SCAN_CACHE_OWN);
	known = (struct scan_known){.value = SCAN_INFECTED, .name = "New"};
	scan_cache_over(cache, &new, &known, true, new.digest, T0);
	assert_int_equal(scan_cache_ask(cache, me, &old, T0, &known), SCAN_CACHE_KNOWN);
	assert_int_equal(known.value, SCAN_CLEAN);
	assert_int_equal(scan_cache_ask(cache, me, &new, T0, &known), SCAN_CACHE_KNOWN);
	assert_string_equal(known.name, "New");
	end();
}

// It was asked for under one database, and scanned with the next one.
static void a_verdict_is_kept_under_the_database_that_gave_it(void **state)
{
	const struct scan_key old = key_of(7, 1), new = key_of(7, 2);
	struct scan_known known = {.value = SCAN_INFECTED, .name = "New"}, out;

	(void)state;
	begin(8);
	assert_int_equal(scan_cache_ask(cache, me, &old, T0, &out), SCAN_CACHE_OWN);
	assert_int_equal(scan_cache_ask(cache, other, &old, T0, &out), SCAN_CACHE_WAIT);
	scan_cache_over(cache, &old, &known, true, new.digest, T0);
	assert_true(scan_cache_news(cache, other));
	assert_int_equal(scan_cache_ask(cache, other, &new, T0, &out), SCAN_CACHE_KNOWN);
	assert_string_equal(out.name, "New");
	assert_int_equal(scan_cache_ask(cache, me, &old, T0, &out), SCAN_CACHE_OWN);
	scan_cache_over(cache, &old, &known, true, NULL, T0); // nobody can tell which gave it
	assert_int_equal(scan_cache_ask(cache, me, &old, T0, &out), SCAN_CACHE_OWN);
	scan_cache_over(cache, &old, &known, true, NULL, T0);
	end();
}

static bool wakes(int asker)
{
	struct pollfd fd = {.fd = scan_cache_descriptor(cache, asker), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

static void who_asks_meanwhile_waits_and_is_woken_once(void **state)
{
	struct scan_known known;

	(void)state;
	begin(8);
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_OWN);
	assert_int_equal(ask(other, 1, T0, &known), SCAN_CACHE_WAIT);
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_WAIT);
	assert_false(scan_cache_news(cache, other));
	assert_false(wakes(other));
	says(1, SCAN_INFECTED, SCAN_REASON_NONE, T0);
	assert_true(wakes(other));
	assert_true(scan_cache_news(cache, other));
	assert_false(scan_cache_news(cache, other));
	assert_false(wakes(other));
	assert_true(scan_cache_news(cache, me));
	assert_int_equal(ask(other, 1, T0, &known), SCAN_CACHE_KNOWN);
	assert_int_equal(known.value, SCAN_INFECTED);
	end();
}

// Each failure makes another asker the owner, and after some of them all are told of the last.
static void a_file_that_fails_is_tried_by_others_and_not_for_ever(void **state)
{
	struct scan_known known;

	(void)state;
	begin(8);
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_OWN);
	for (unsigned tried = 1; tried < SCAN_CACHE_TRIES; tried++) {
		assert_int_equal(ask(other, 1, T0, &known), SCAN_CACHE_WAIT);
		assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_WAIT);
		says(1, SCAN_ERROR, SCAN_REASON_NONE, T0);
		assert_true(scan_cache_news(cache, other) && scan_cache_news(cache, me));
		assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_OWN);
	}
	assert_int_equal(ask(other, 1, T0, &known), SCAN_CACHE_WAIT);
	says(1, SCAN_ERROR, SCAN_REASON_NONE, T0);
	assert_int_equal(ask(other, 1, T0 + SCAN_CACHE_FAILED_NS - 1, &known), SCAN_CACHE_KNOWN);
	assert_int_equal(known.value, SCAN_ERROR);
	assert_int_equal(ask(other, 1, T0 + SCAN_CACHE_FAILED_NS, &known), SCAN_CACHE_OWN);
	says(1, SCAN_CLEAN, SCAN_REASON_NONE, T0 + SCAN_CACHE_FAILED_NS);
	assert_int_equal(ask(me, 1, T0 + SCAN_CACHE_FAILED_NS, &known), SCAN_CACHE_KNOWN);
	end();
}

// An owner whose job no engine was given is no try: the file has not been looked at.
static void what_was_not_tried_is_not_counted(void **state)
{
	const struct scan_key key = key_of(1, 1);
	struct scan_known known;

	(void)state;
	begin(8);
	assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_OWN);
	for (unsigned i = 0; i < 3 * SCAN_CACHE_TRIES; i++) {
		assert_int_equal(ask(other, 1, T0, &known), SCAN_CACHE_WAIT);
		known = (struct scan_known){.value = SCAN_TIMEOUT};
		scan_cache_over(cache, &key, &known, false, NULL, T0);
		assert_int_equal(ask(me, 1, T0, &known), SCAN_CACHE_OWN);
	}
	says(1, SCAN_CLEAN, SCAN_REASON_NONE, T0);
	end();
}

// ---- two threads ----

#define ROUNDS 20000
#define FILES  37 // more than there are entries

struct thread {
	int asker;
	unsigned owned, known, waited;
	bool wrong;
};

// The verdict of a file is its number's parity: nobody may be told another's.
static void *ask_and_scan(void *arg)
{
	struct thread *thread = arg;

	for (unsigned i = 0; i < ROUNDS; i++) {
		const struct scan_key key = key_of(i % FILES, 1);
		struct scan_known known = {0},
				  right = {.value = i % FILES % 2 ? SCAN_INFECTED : SCAN_CLEAN};

		snprintf(right.name, sizeof(right.name), "%u", i % FILES);
		switch (scan_cache_ask(cache, thread->asker, &key, T0, &known)) {
		case SCAN_CACHE_OWN:
			thread->owned++;
			scan_cache_over(cache, &key, &right, true, key.digest, T0);
			break;
		case SCAN_CACHE_KNOWN:
			thread->known++;
			thread->wrong |= memcmp(&known, &right, sizeof(known)) != 0;
			break;
		case SCAN_CACHE_WAIT:
			thread->waited++;
			scan_cache_news(cache, thread->asker);
			break;
		case SCAN_CACHE_FULL: thread->wrong = true; break;
		}
	}
	return NULL;
}

static void two_threads_ask_at_once(void **state)
{
	struct thread threads[2] = {0};
	pthread_t ids[2];

	(void)state;
	begin(32);
	for (unsigned i = 0; i < 2; i++) {
		threads[i].asker = i ? other : me;
		assert_int_equal(pthread_create(&ids[i], NULL, ask_and_scan, &threads[i]), 0);
	}
	for (unsigned i = 0; i < 2; i++) {
		pthread_join(ids[i], NULL);
		assert_false(threads[i].wrong);
		assert_int_equal(threads[i].owned + threads[i].known + threads[i].waited, ROUNDS);
	}
	assert_int_equal(use().entries, 32);
	assert_int_equal(threads[0].owned + threads[1].owned, use().evicted + 32);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_depends_on_the_file_is_kept_for_its_age),
		cmocka_unit_test(the_one_that_was_used_longest_ago_goes),
		cmocka_unit_test(more_in_flight_than_entries_are_scanned_each_for_itself),
		cmocka_unit_test(a_new_database_makes_all_unknown),
		cmocka_unit_test(a_verdict_is_kept_under_the_database_that_gave_it),
		cmocka_unit_test(who_asks_meanwhile_waits_and_is_woken_once),
		cmocka_unit_test(a_file_that_fails_is_tried_by_others_and_not_for_ever),
		cmocka_unit_test(what_was_not_tried_is_not_counted),
		cmocka_unit_test(two_threads_ask_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
