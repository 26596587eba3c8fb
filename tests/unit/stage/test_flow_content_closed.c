// SPDX-License-Identifier: BSD-3-Clause
// Flows that are closed where they cannot be recorded (audit.on_lost of a rule).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/pipeline/content_gate.h"

#define AUDIT(id, more) "{'id':'" id "','match':{},'audit':{'transfers':true,'files':true" more "}}"
#define CLOSES          "'rules':[" AUDIT("log", ",'on_lost':'close'") "]"

static void expect_closed(struct gate *gate, uint64_t n)
{
	assert_int_equal(stats(gate).content_lost_closed, n);
	assert_int_equal(stats(gate).content_refused, n);
	json_t *alert = gate_event(gate, "alert");

	assert_string_equal(json_string_value(json_object_get(alert, "rule")), "log");
	json_decref(alert);
}

static void what_cannot_be_recorded_is_closed(void **state)
{
	struct gate *gate = gate_with(CLOSES);
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	struct gate_tcp before, during;

	(void)state;
	assert_true(asks(gate, &before, 42000, "before.txt"));
	assert_int_equal(answers(gate, &before, answer), 1);
	assert_int_equal(stats(gate).content_lost_closed, 0);
	records(gate, CONTENT_RECORD_FILE);
	ends(gate, &before);
	unsigned n = hog_records(gate);

	assert_true(asks(gate, &during, 42002, "during.txt"));
	answers_in_vain(gate, &during, answer);
	expect_closed(gate, 1);
	answers_in_vain(gate, &during, "more");
	while (n)
		content_record_drop(channel, record_hogs[--n]);
	pipe_advance(gate->pipe, 200);
	assert_true(asks(gate, &before, 42003, "after.txt"));
	assert_int_equal(answers(gate, &before, answer), 1);
	assert_int_equal(stats(gate).content_lost_closed, 1);
	gate_free(gate);
}

// Bytes of a file that is kept count as its record does.
static void a_file_that_cannot_be_kept_is_closed(void **state)
{
	struct gate *gate = gate_with(CLOSES);
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	struct gate_tcp tcp;

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "before.txt"));
	assert_int_equal(answers(gate, &tcp, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"), 1);
	unsigned n = hog_arena(gate);

	answers_in_vain(gate, &tcp, "evil");
	expect_closed(gate, 1);
	while (n)
		content_record_drop(channel, record_hogs[--n]);
	gate_free(gate);
}

// The reader says so: its disk is full.
static void what_cannot_be_written_is_closed(void **state)
{
	struct gate *gate = gate_with(CLOSES);
	struct content_channel *channel = content_channel_of(lcore_of(gate));
	struct gate_tcp during, after;

	(void)state;
	content_channel_fail(channel, true);
	assert_true(asks(gate, &during, 42000, "during.txt"));
	answers_in_vain(gate, &during, answer);
	expect_closed(gate, 1);
	assert_int_equal(stats(gate).content_lost, 0);
	assert_int_equal(records(gate, CONTENT_RECORD_FILE), 1); // it was offered all the same
	content_channel_fail(channel, false);
	assert_true(asks(gate, &after, 42001, "after.txt"));
	assert_int_equal(answers(gate, &after, answer), 1);
	gate_free(gate);
}

// The first rule that has the key says what holds; monitor mode is passed over.
static void the_first_rule_says_whether(void **state)
{
	static const struct {
		const char *policy;
		bool closes;
	} rows[] = {
		{"'rules':[" AUDIT("log", "") "]", false},
		{"'rules':[" AUDIT("log", ",'on_lost':'lose'") "]", false},
		{"'rules':[" AUDIT("first", ",'on_lost':'lose'") "," AUDIT(
			 "log", ",'on_lost':'close'") "]",
			false},
		{"'rules':[" AUDIT("first", "") "," AUDIT("log", ",'on_lost':'close'") "]", true},
		{"'rules':[" AUDIT("log", ",'on_lost':'close'") "," AUDIT(
			 "other", ",'on_lost':'lose'") "]",
			true},
		{"'rules':[{'id':'first','match':{},'mode':'monitor','audit':{'on_lost':'close'}}"
		 "," AUDIT("log", "") "]",
			false},
		{"'mode':'monitor'," CLOSES, false},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct gate *gate = gate_with(rows[i].policy);
		struct content_channel *channel = content_channel_of(lcore_of(gate));
		struct gate_tcp tcp;
		unsigned n = hog_records(gate);

		assert_true(asks(gate, &tcp, 42000, "during.txt"));
		if (rows[i].closes)
			answers_in_vain(gate, &tcp, answer);
		else
			assert_int_equal(answers(gate, &tcp, answer), 1);
		assert_int_equal(stats(gate).content_lost_closed, rows[i].closes);
		assert_true(stats(gate).content_lost >= 1);
		while (n)
			content_record_drop(channel, record_hogs[--n]);
		gate_free(gate);
	}
}

// Nothing of such a flow passes undecoded either, as nothing of it would be recorded.
static void without_a_place_nothing_passes_that_must_be_recorded(void **state)
{
	static const char request[] = "GET /late.txt HTTP/1.1\r\nHost: a.example\r\n\r\n";
	struct gate *gate = gate_with(CLOSES);
	struct gate_tcp busy[FLOWS], late;

	(void)state;
	take_all_places(gate, busy);
	assert_false(asks(gate, &late, 42000, "late.txt"));
	ends(gate, &busy[0]);
	assert_int_equal(sends_again(gate, &late, false, request, strlen(request)), 1);
	assert_int_equal(answers(gate, &late, answer), 1);
	assert_int_equal(stats(gate).content_lost_closed, 0);
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_recorded_is_closed),
		cmocka_unit_test(a_file_that_cannot_be_kept_is_closed),
		cmocka_unit_test(what_cannot_be_written_is_closed),
		cmocka_unit_test(the_first_rule_says_whether),
		cmocka_unit_test(without_a_place_nothing_passes_that_must_be_recorded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
