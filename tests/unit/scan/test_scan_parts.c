// SPDX-License-Identifier: BSD-3-Clause
// Parts of files under scan: nothing that was found in one says that the file is clean, and where
// the policy does not let parts pass, requests for them become requests for the whole.
#include "lib/pipeline/scan_gate.h"

#define PASS "'rules':[{'id':'av','match':{},'ranges':'pass','scan':{"
#define PART(of) \
	"HTTP/1.1 206 Partial Content\r\nContent-Length: 8\r\nContent-Range: bytes " of "\r\n\r\n"
#define NO_PARTS  PASS "'unscanned':{'protocol':'reset'}}}]"
#define NO_ALERTS PASS "'unscanned':{'protocol':'pass'}}}]"

// A request for a part of it, on a flow of its own.
static bool asks_part(struct gate *gate, struct gate_tcp *tcp, const char *range)
{
	char request[200];

	*tcp = gate_connect(gate, 1, 42000, 80);
	snprintf(request, sizeof(request),
		"GET /a.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=%s\r\n\r\n", range);
	return gate_send(gate, tcp, false, request, strlen(request));
}

static void a_part_is_not_clean(void **state)
{
	static const struct {
		const char *policy, *range, *answer;
		bool passes;
		const char *reason; // of its alert
	} rows[] = {
		{PASS "}}]", "8-15", PART("8-15/16") "harmless", true, "protocol"},
		{PASS "}}]", "0-7", PART("0-7/16") "harmless", true, "protocol"}, // its beginning
		{PASS "}}]", "0-7", PART("0-7/8") "harmless", true, NULL},        // all of it
		{PASS "}}]", "0-7", PART("0-7/*") "harmless", true, "protocol"},  // nobody knows
		{NO_PARTS, "8-15", PART("8-15/16") "harmless", false, "protocol"},
		{NO_PARTS, "0-7", PART("0-7/8") "harmless", true, NULL},
		{NO_ALERTS, "8-15", PART("8-15/16") "harmless", true, NULL},
		{PASS "}}]", "8-15", PART("8-15/16") EVIL, false, ""}, // what is found is found
		{"'mode':'monitor'," NO_PARTS, "8-15", PART("8-15/16") "harmless", true,
			"protocol"},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct gate *gate = world(rows[i].policy);
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks_part(gate, &tcp, rows[i].range));
		says(gate, &tcp, rows[i].answer, &left);
		passes(gate, 2, &left);
		if ((left.length > 0) != rows[i].passes)
			fail_msg("row %zu: %zu bytes left", i, left.length);
		assert_int_equal(left.resets >= 2, !rows[i].passes);
		json_t *alert = gate_event(gate, "alert");
		const char *reason = json_string_value(
			json_object_get(json_object_get(alert, "scan"), "reason"));

		if (!rows[i].reason != !alert)
			fail_msg("row %zu: an alert is %s", i, alert ? "there" : "missing");
		if (rows[i].reason && *rows[i].reason &&
			(!reason || strcmp(reason, rows[i].reason) != 0))
			fail_msg("row %zu: its alert says %s", i, reason ? reason : "nothing");
		json_decref(alert);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// It stood still and was looked at, so that nothing is left to be looked at when it ends.
static void a_part_that_ends_after_its_verdict_is_not_clean(void **state)
{
	(void)state;
	for (unsigned strict = 0; strict < 2; strict++) {
		struct gate *gate = world(strict ? NO_PARTS : PASS "}}]");
		struct gate_tcp tcp;
		struct left left = {0};

		assert_true(asks_part(gate, &tcp, "8-"));
		says(gate, &tcp,
			"HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n"
			"Content-Range: bytes 8-15/16\r\n\r\n8\r\nharmless\r\n",
			&left);
		passes(gate, 1, &left);
		assert_int_equal(jobs_seen, 1);
		says(gate, &tcp, "0\r\n\r\n", &left);
		passes(gate, 1, &left);
		assert_int_equal(jobs_seen, 1);
		assert_int_equal(left.resets >= 2, strict);
		json_t *alert = gate_event(gate, "alert");

		assert_non_null(alert);
		json_decref(alert);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// Where files are scanned nobody is asked for a part, unless the policy says so.
static void the_whole_is_asked_for(void **state)
{
	static const struct {
		const char *policy;
		bool whole;
	} rows[] = {
		{SCANS(""), true},
		{SCANS("'direction':'upload'"), true},
		{PASS "}}]", false},
		{"'mode':'monitor'," SCANS(""), false},
		{"'rules':[{'id':'p','match':{},'ranges':'pass'},{'id':'av','match':{},'scan':{}}]",
			false},
		{"'rules':[{'id':'av','match':{},'scan':{}},{'id':'p','match':{},'ranges':'pass'}]",
			true},
		{"'rules':[{'id':'t','match':{},'transfers':[{'name':['b'],'action':'reset'}]}]",
			false},
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(rows); i++) {
		struct gate *gate = world(rows[i].policy);
		struct gate_tcp tcp;

		assert_true(asks_part(gate, &tcp, "8-15"));
		if (stats(gate).content_ranges != rows[i].whole)
			fail_msg("row %zu: %lu fields were changed", i,
				(unsigned long)stats(gate).content_ranges);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// What stands still with all the bytes that were announced is looked at as a whole, though it has
// hardly grown since: nobody may say its end before its receiver has it.
static void what_was_announced_is_looked_at_as_a_whole(void **state)
{
	static const char *const heads[] = {
		"Content-Range: bytes 0-11099/11100\r\n\r\n",
		"Content-Range: bytes 0-11099/20000\r\n\r\n", // there is more of it
	};

	(void)state;
	for (size_t i = 0; i < RTE_DIM(heads); i++) {
		struct gate *gate = world(PASS "}}]");
		struct gate_tcp tcp;
		struct left left = {0};
		char piece[1001];

		memset(piece, 'c', sizeof(piece));
		piece[1000] = 0;
		assert_true(asks_part(gate, &tcp, "0-11099,0-5"));
		says(gate, &tcp,
			"HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n"
			"Content-Type: multipart/byteranges; boundary=b\r\n\r\n4000\r\n--b\r\n",
			&left);
		says(gate, &tcp, heads[i], &left);
		for (unsigned k = 0; k < 11; k++)
			says(gate, &tcp, piece, &left);
		passes(gate, 1, &left);
		assert_int_equal(jobs_seen, 1);
		assert_int_equal(last_to, 11000);
		piece[100] = 0;
		says(gate, &tcp, piece, &left);
		passes(gate, 1, &left);
		assert_int_equal(jobs_seen, 2);
		assert_int_equal(last_to, 11100);
		assert_int_equal(last_from > 0, i);
		gives_up(gate, &tcp);
		world_free(gate);
	}
}

// All that is there of a file was clean: what comes behind it and brings no bytes of it leaves.
// Where it waited, a block of a coding that is longer than the sender's window never came whole.
static void what_brings_no_bytes_leaves(void **state)
{
	struct gate *gate = world(SCANS(""));
	struct gate_tcp tcp;
	struct left left = {0};

	(void)state;
	assert_true(asks(gate, &tcp, 42000, "a.bin"));
	says(gate, &tcp, CHUNKED "4\r\nsome", &left);
	passes(gate, 1, &left);
	assert_true(has(&left, "some"));
	says(gate, &tcp, "\r\n00000", &left);
	says(gate, &tcp, "00008;x", &left);
	assert_true(has(&left, "00008;x"));
	says(gate, &tcp, "\r\n" EVIL "\r\n0\r\n\r\n", &left);
	passes(gate, 1, &left);
	assert_false(has(&left, EVIL));
	assert_true(left.resets >= 2);
	gives_up(gate, &tcp);
	world_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_is_not_clean),
		cmocka_unit_test(a_part_that_ends_after_its_verdict_is_not_clean),
		cmocka_unit_test(the_whole_is_asked_for),
		cmocka_unit_test(what_brings_no_bytes_leaves),
		cmocka_unit_test(what_was_announced_is_looked_at_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
