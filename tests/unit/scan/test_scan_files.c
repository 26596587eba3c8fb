// SPDX-License-Identifier: BSD-3-Clause
// Files under scan, through the whole path in process: what of a file leaves before its verdict,
// and what becomes of it by that. The engine here looks for a word in the bytes that it is given.
#include "lib/pipeline/scan_gate.h"

// One segment with all of the file.
static void a_small_file_waits_for_its_verdict(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, evil ? HEAD(8) EVIL : HEAD(8) "harmless", &left);
		assert_int_equal(left.length, 0);
		passes(gate, 0.4, &left);
		assert_int_equal(left.length, 0);
		passes(gate, 0.2, &left);
		assert_int_equal(jobs_seen, 1);
		assert_int_equal(whole_seen, 1);
		assert_int_equal(stats(gate).scan_infected, evil);
		assert_int_equal(stats(gate).scan_clean, !evil);
		if (evil) {
			assert_false(has(&left, "EVIL"));
			assert_true(left.resets >= 2);
			says(gate, &tcp, "more", &left); // it stays refused
			assert_false(has(&left, "more"));
			json_t *alert = gate_event(gate, "alert");

			assert_string_equal(
				json_string_value(json_object_get(alert, "rule")), "av");
			json_decref(alert);
		} else {
			assert_true(has(&left, "harmless"));
			assert_int_equal(left.resets, 0);
			static const char again[] = "GET /b HTTP/1.1\r\nHost: a.example\r\n\r\n";

			gate_send(gate, &tcp, false, again, strlen(again));
			says(gate, &tcp, HEAD(0),
				&left); // it goes on; of no bytes nothing is asked
			assert_true(has(&left, "Length: 0"));
		}
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// Each segment leaves when another one with bytes of the file has come behind it, and the last ones
// when the file was looked at. What its receiver can decode is never all of it.
static void only_what_would_complete_it_waits(void **state)
{
	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, CHUNKED, &left);
		assert_true(has(&left, "chunked")); // no byte of the file
		says(gate, &tcp, "6\r\none, X\r\n", &left);
		assert_false(has(&left, "one"));
		says(gate, &tcp, evil ? "4\r\n5O-E\r\n" : "4\r\n5O.E\r\n", &left);
		assert_true(has(&left, "one"));
		assert_false(has(&left, "5O"));
		says(gate, &tcp, "3\r\nVIL\r\n", &left);
		says(gate, &tcp, "0\r\n\r\n", &left); // no byte of it: the one before waits on
		passes(gate, 0.1, &left);
		assert_false(has(&left, "VIL"));
		passes(gate, 0.6, &left);
		assert_int_equal(stats(gate).scan_infected, evil);
		assert_int_equal(has(&left, "VIL"), !evil);
		assert_int_equal(has(&left, "0\r\n\r\n"), !evil);
		assert_int_equal(left.resets >= 2, evil);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// Nobody says where the file ends: its newest bytes wait for 20 ms, then it is looked at as far as
// it is there.
static void what_stands_still_is_looked_at(void **state)
{
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp;
	struct left left = {0};

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "events"));
	says(gate, &tcp, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nevent 1\n", &left);
	assert_false(has(&left, "event 1"));
	passes(gate, 0.019, &left);
	assert_int_equal(jobs_seen, 0);
	passes(gate, 0.002, &left);
	assert_int_equal(jobs_seen, 1);
	assert_int_equal(whole_seen, 0);
	passes(gate, 0.6, &left);
	assert_true(has(&left, "event 1"));
	says(gate, &tcp, "event 2: X5O-", &left);
	passes(gate, 0.6, &left);
	assert_true(has(&left, "event 2"));
	says(gate, &tcp, "EVIL", &left); // across two looks at it
	passes(gate, 0.6, &left);
	assert_false(has(&left, "EVIL"));
	assert_true(left.resets >= 2);
	assert_int_equal(jobs_seen, 3);
	gives_up(gate, &tcp);
	world_free(gate);
}

// A stream that never ends is not looked at from its beginning for ever.
static void a_stream_is_looked_at_by_windows_in_the_end(void **state)
{
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp;
	struct left left = {0};
	char line[2048];

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "events"));
	says(gate, &tcp, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", &left);
	memset(line, 'a', sizeof(line));
	line[200] = 0;
	for (unsigned i = 0; i < 60; i++) {
		says(gate, &tcp, line, &left);
		passes(gate, 0.6, &left);
		assert_int_equal(jobs_seen, i + 1);
	}
	assert_true(last_from > 0); // not all of it
	assert_int_equal(last_to, 60 * 200);
	assert_true(left.length >= 60 * 200);
	fin(gate, &tcp, &left); // its end: all of it once more
	passes(gate, 0.6, &left);
	assert_int_equal(whole_seen, 1);
	assert_int_equal(last_from, 0);
	gives_up(gate, &tcp);
	world_free(gate);
}

static void windows_are_looked_at_as_they_close(void **state)
{
	// at each place where the word lies across two windows
	for (unsigned shift = 0; shift <= strlen(EVIL); shift++) {
		struct gate *gate = world(SCANS("'mode':'windows','window_bytes':4096,"
						"'overlap_bytes':64"));
		struct gate_tcp tcp;
		struct left left = {0};
		static char body[4097], rest[1001];

		(void)state;
		memset(body, 'b', sizeof(body));
		memcpy(body + 4096 - shift, EVIL, shift);
		body[4096] = 0;
		snprintf(rest, sizeof(rest), "%s and so on", &EVIL[shift]);
		assert_true(asks(gate, &tcp, 42000, "a.bin"));
		says(gate, &tcp, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", &left);
		for (unsigned at = 0; at < 4096; at += 1024) {
			char piece[1025];

			memcpy(piece, body + at, 1024);
			piece[1024] = 0;
			says(gate, &tcp, piece, &left);
		}
		assert_int_equal(jobs_seen, 1);
		passes(gate, 0.6, &left);
		if (shift < strlen(EVIL)) {
			assert_int_equal(left.resets, 0);
			says(gate, &tcp, rest, &left);
			passes(gate, 0.6, &left);
		}
		assert_true(left.resets >= 2);
		assert_int_equal(stats(gate).scan_infected, 1);
		assert_false(has(&left, EVIL));
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

static void each_verdict_has_its_policy(void **state)
{
	static const struct {
		const char *policy, *text;
		bool deaf, passes, told;
	} rows[] = {
		{SCANS(""), HEAD(8) EVIL, false, false, true},
		{SCANS("'infected':'audit'"), HEAD(8) EVIL, false, true, true},
		{SCANS("'infected':'pass'"), HEAD(8) EVIL, false, true, false},
		{"'mode':'monitor'," SCANS(""), HEAD(8) EVIL, false, true, true},
		{SCANS(""), HEAD(8) "LOCKED!!", false, true, true}, // audit
		{SCANS("'unscanned':{'encrypted':'reset'}"), HEAD(8) "LOCKED!!", false, false,
			true},
		{SCANS("'unscanned':{'encrypted':'pass'}"), HEAD(8) "LOCKED!!", false, true, false},
		{SCANS(""), HEAD(8) "harmless", true, false, true}, // time-out
		{SCANS("'timeout':'audit'"), HEAD(8) "harmless", true, true, true},
		{SCANS("'direction':'upload'"), HEAD(8) EVIL, false, true, false},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct gate *gate = world(rows[i].policy);
		struct gate_tcp tcp;
		struct left left = {0};

		is_deaf = rows[i].deaf;
		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, rows[i].text, &left);
		passes(gate, 12, &left);
		if ((left.length > 0) != rows[i].passes)
			fail_msg("row %zu: %zu bytes left", i, left.length);
		assert_int_equal(left.resets >= 2, !rows[i].passes);
		json_t *alert = gate_event(gate, "alert");

		if (!!alert != rows[i].told)
			fail_msg("row %zu: an alert is %s", i, alert ? "there" : "missing");
		json_decref(alert);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// Too large by its length, too large as it comes, no place left.
static void what_is_not_looked_at_has_its_reason(void **state)
{
	static const char reset[] = SCANS("'max_bytes':4096,'unscanned':{'too_big':'reset'}");
	static const char audit[] = SCANS("'max_bytes':4096");
	struct left left = {0};
	struct gate *gate = world(reset);
	struct gate_tcp tcp;
	char piece[1001];

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "a.bin"));
	says(gate, &tcp, "HTTP/1.1 200 OK\r\nContent-Length: 4097\r\n\r\nbytes", &left);
	assert_true(left.resets >= 2 && !has(&left, "bytes"));
	gives_up(gate, &tcp);
	world_free(gate);
	for (unsigned i = 0; i < 2; i++) {
		gate = world(i ? reset : audit);
		left = (struct left){0};
		memset(piece, 'c', sizeof(piece));
		piece[1000] = 0;
		assert_true(asks(gate, &tcp, 42000, "a.bin"));
		says(gate, &tcp, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", &left);
		for (unsigned k = 0; k < 6; k++)
			says(gate, &tcp, piece, &left);
		passes(gate, 1, &left);
		assert_int_equal(left.resets >= 2, i);
		assert_int_equal(left.length >= 6000, !i);
		assert_int_equal(stats(gate).scan_unscanned, 1);
		gives_up(gate, &tcp);
		world_free(gate);
	}
	gate = world_with(SCANS(""), 1);
	struct gate_tcp other;
	struct left here = {0}, there = {0};

	assert_true(asks(gate, &tcp, 42000, "a.bin"));
	says(gate, &tcp, HEAD(8) "harmless", &here);
	assert_true(asks(gate, &other, 42001, "b.bin"));
	says(gate, &other, HEAD(8) "harmless", &there); // busy: reset
	assert_true(there.resets >= 2 && !there.length);
	passes(gate, 0.6, &here);
	assert_true(has(&here, "harmless"));
	gives_up(gate, &tcp);
	world_free(gate);
}

// Two answers in one segment: the good one waits with the bad one, and neither is given out.
static void two_files_that_end_in_one_segment(void **state)
{
	static const char requests[] =
		"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n";

	(void)state;
	for (unsigned evil = 0; evil < 2; evil++) {
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp = gate_connect(gate, 1, 42000, 80);
		struct left left = {0};

		assert_int_equal(gate_send(gate, &tcp, false, requests, strlen(requests)), 1);
		says(gate, &tcp,
			evil ? HEAD(5) "fine!" HEAD(8) EVIL : HEAD(5) "fine!" HEAD(8) "harmless",
			&left);
		assert_int_equal(left.length, 0);
		passes(gate, 0.6, &left);
		assert_int_equal(jobs_seen, 2);
		assert_int_equal(has(&left, "harmless"), !evil);
		assert_false(has(&left, EVIL));
		assert_int_equal(left.resets >= 2, evil);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// The flow ends before its verdict: what was asked is answered, and all is given back.
static void who_gives_up_leaves_nothing_behind(void **state)
{
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp;
	struct left left = {0};

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "a.txt"));
	says(gate, &tcp, HEAD(8) "harmless", &left);
	gives_up(gate, &tcp);
	assert_int_equal(left.length, 0);
	world_free(gate);
	// while its newest bytes wait
	gate = world(SCANS(""));
	assert_true(asks(gate, &tcp, 42000, "a.txt"));
	says(gate, &tcp, HEAD(100) "harmless", &left);
	gives_up(gate, &tcp);
	world_free(gate);
}

// A reload that scans nothing any more lets go on what waits.
static void a_reload_lets_go_on(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct gate *gate = world(SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, i ? HEAD(8) EVIL : HEAD(100) EVIL, &left);
		assert_int_equal(left.length, 0);
		pipe_publish(gate->pipe, pipe_policy(gate->pipe));
		says(gate, &tcp, "more", &left);
		passes(gate, 1, &left);
		assert_true(has(&left, EVIL) && has(&left, "more"));
		assert_int_equal(left.resets, 0);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// Without an engine the policy says what becomes of files.
static void without_an_engine_the_policy_decides(void **state)
{
	(void)state;
	for (unsigned passes_by = 0; passes_by < 2; passes_by++) {
		struct gate *gate = gate_with_places(
			8, passes_by ? SCANS("'unscanned':{'no_engine':'audit'}") : SCANS(""));
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks(gate, &tcp, 42000, "a.txt"));
		says(gate, &tcp, HEAD(8) "harmless", &left);
		passes(gate, 1, &left);
		assert_int_equal(has(&left, "harmless"), passes_by);
		assert_int_equal(left.resets >= 2, !passes_by);
		gives_up(gate, &tcp);
		gate_free(gate);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_small_file_waits_for_its_verdict),
		cmocka_unit_test(only_what_would_complete_it_waits),
		cmocka_unit_test(what_stands_still_is_looked_at),
		cmocka_unit_test(a_stream_is_looked_at_by_windows_in_the_end),
		cmocka_unit_test(windows_are_looked_at_as_they_close),
		cmocka_unit_test(each_verdict_has_its_policy),
		cmocka_unit_test(what_is_not_looked_at_has_its_reason),
		cmocka_unit_test(two_files_that_end_in_one_segment),
		cmocka_unit_test(who_gives_up_leaves_nothing_behind),
		cmocka_unit_test(a_reload_lets_go_on),
		cmocka_unit_test(without_an_engine_the_policy_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
