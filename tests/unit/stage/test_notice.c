// SPDX-License-Identifier: BSD-3-Clause
// Pages for clients whose answer of HTTP/1 was refused: when there is one, what it is, packet by
// packet, and what the client hears of it until it has closed.
#include "lib/pipeline/talk.h"

// The page stands where the answer would have, for each form of packets.
static void page_stands_for_the_answer(void **state)
{
	(void)state;
	for (unsigned form = 0; form < 12; form++) {
		struct gate *gate = opened(BY_NAME);
		const struct pipe_packet like = {.v6 = form & 1,
			.n_vlan = (uint16_t)(form / 4) & 3,
			.vlan = {100, 200},
			.sport = 41000};
		struct talk talk = talk_as(gate, &like, form & 2);

		assert_int_equal(say(&talk, false, GET("setup.exe")), 1);
		assert_int_equal(run(&talk, true, TH_ACK, NULL, 0), 1);
		uint32_t heard_last = talk.clock + 0x1000;
		unsigned n = say(&talk, true, OK5);
		struct heard page = page_of(&talk, n), reset = sent_to(&talk, n, PIPE_OUTSIDE);

		assert_int_equal(n, 2);
		assert_int_equal(page.seq, 5001);
		assert_int_equal(page.ack, talk.seq[0]);
		assert_int_equal(page.n_vlan, like.n_vlan);
		assert_true(page.window);
		assert_int_equal(!!page.ts_value, !!talk.clock);
		if (talk.clock) { // RFC 7323: not older than what the client has taken
			assert_true(page.ts_value >= heard_last);
			assert_true(page.ts_echo >= 3 && page.ts_echo < talk.clock);
		}
		assert_non_null(strstr(page.payload, "files of this kind"));
		assert_true(reset.flags & TH_RST);
		assert_int_equal(reset.seq, talk.seq[0]);
		assert_int_equal(stats(gate).notices_sent, 1);
		// what the server still sends is answered as of any blocked flow
		pipe_advance(gate->pipe, 1);
		n = say(&talk, true, "more");
		for (unsigned i = 0; i < n; i++)
			assert_null(memmem(
				gate->pipe->sent[i].frame, gate->pipe->sent[i].length, "more", 4));
		gate_free(gate);
	}
}

static void client_reads_it_and_closes(void **state)
{
	struct gate *gate = opened(BY_NAME);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, GET("setup.exe"));
	struct heard page = page_of(&talk, say(&talk, true, OK5));

	talk.seq[1] = page.seq + page.length + 1;
	assert_int_equal(run(&talk, false, TH_ACK, NULL, 0), 0);
	assert_int_equal(in_time(&talk, 3), 0); // it has it: not again
	unsigned n = run(&talk, false, TH_FIN | TH_ACK, NULL, 0);
	struct heard ack = sent_to(&talk, n, PIPE_INSIDE);

	assert_int_equal(ack.flags, TH_ACK);
	assert_int_equal(ack.seq, talk.seq[1]);
	assert_int_equal(ack.ack, talk.seq[0]);
	talk.seq[0]--; // ... which was lost
	n = run(&talk, false, TH_FIN | TH_ACK, NULL, 0);
	assert_int_equal(sent_to(&talk, n, PIPE_INSIDE).flags, TH_ACK);
	assert_int_equal(in_time(&talk, 10), 0);
	n = say(&talk, false, "x"); // as any blocked flow
	assert_true(sent_to(&talk, n, PIPE_INSIDE).flags & TH_RST);
	assert_int_equal(stats(gate).notices_sent, 1);
	assert_int_equal(stats(gate).notices_unread, 0);
	gate_free(gate);
}

static void lost_page_comes_again(void **state)
{
	struct gate *gate = opened(BY_NAME);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, GET("setup.exe"));
	struct heard page = page_of(&talk, say(&talk, true, OK5));
	// its request comes again: at once it is only acknowledged
	struct heard ack = sent_to(&talk, again(&talk, false, GET("setup.exe")), PIPE_INSIDE);

	assert_int_equal(ack.flags, TH_ACK);
	assert_int_equal(ack.ack, talk.seq[0]);
	assert_int_equal(in_time(&talk, 0.3), 0);
	talk.seq[1] = page.seq; // it has nothing of that
	assert_int_equal(page_of(&talk, again(&talk, false, GET("setup.exe"))).seq, page.seq);
	// ... and by itself: 2 s behind the second, 4 s behind the third
	assert_int_equal(in_time(&talk, 1.8), 0);
	assert_int_equal(in_time(&talk, 0.4), 1);
	assert_int_equal(in_time(&talk, 3.6), 0);
	assert_int_equal(in_time(&talk, 0.6), 1);
	assert_int_equal(stats(gate).notices_sent, 4);
	assert_int_equal(stats(gate).notices_again, 3);
	assert_int_equal(in_time(&talk, 7.4), 0);
	assert_int_equal(stats(gate).notices_unread, 0);
	assert_int_equal(in_time(&talk, 1), 1); // nobody is there: reset
	assert_int_equal(stats(gate).notices_unread, 1);
	gate_free(gate);
}

static void client_that_does_not_close_is_reset(void **state)
{
	(void)state;
	for (unsigned by = 0; by < 3; by++) {
		struct gate *gate = opened(BY_NAME);
		struct talk talk = talk_to(gate, 41000);

		say(&talk, false, GET("setup.exe"));
		struct heard page = page_of(&talk, say(&talk, true, OK5));

		talk.seq[1] = page.seq + page.length + 1;
		run(&talk, false, TH_ACK, NULL, 0);
		if (by == 0) { // by time
			assert_int_equal(in_time(&talk, 4.8), 0);
			assert_int_equal(in_time(&talk, 0.4), 1);
		} else if (by == 1) { // by what it sends
			for (unsigned i = 0; i < NOTICE_ANSWERS_MAX; i++) {
				struct heard ack =
					sent_to(&talk, say(&talk, false, "on and on"), PIPE_INSIDE);

				assert_int_equal(ack.flags, TH_ACK);
				assert_int_equal(ack.ack, talk.seq[0]);
			}
			struct heard end =
				sent_to(&talk, say(&talk, false, "on and on"), PIPE_INSIDE);

			assert_true(end.flags & TH_RST);
			assert_int_equal(end.seq, talk.seq[1]);
		} else { // it has reset itself; a RST that is not its own changes nothing
			talk.seq[0] += 100;
			assert_int_equal(run(&talk, false, TH_RST | TH_ACK, NULL, 0), 0);
			talk.seq[0] -= 100;
			assert_int_equal(
				sent_to(&talk, say(&talk, false, "on"), PIPE_INSIDE).flags, TH_ACK);
			assert_int_equal(run(&talk, false, TH_RST | TH_ACK, NULL, 0), 0);
			assert_int_equal(in_time(&talk, 10), 0);
		}
		gate_free(gate);
	}
}

// Only where all answers before it have left, and nothing of it.
static void answers_before_it_have_left(void **state)
{
	(void)state;
	for (unsigned pipelined = 0; pipelined < 2; pipelined++) {
		struct gate *gate = opened(BY_NAME);
		struct talk talk = talk_to(gate, 41000);

		say(&talk, false, pipelined ? GET("a.txt") GET("setup.exe") : GET("a.txt"));
		assert_int_equal(say(&talk, true, OK5), 1);
		if (!pipelined)
			say(&talk, false, GET("setup.exe"));
		uint32_t at = talk.seq[1];

		assert_int_equal(page_of(&talk, say(&talk, true, OK5)).seq, at);
		gate_free(gate);
	}
	struct gate *gate = opened(BY_NAME);
	struct talk talk = talk_to(gate, 41000);

	// in one segment with the one before it: none of it leaves, so the client lacks that, too
	say(&talk, false, GET("a.txt") GET("setup.exe"));
	both_are_reset(&talk, say(&talk, true, OK5 OK5));
	assert_int_equal(stats(gate).notices_late, 1);
	gate_free(gate);
}

static void what_has_begun_is_reset(void **state)
{
	struct gate *gate = opened(BY_TYPE);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, GET("a.txt"));
	assert_int_equal(say(&talk, true, HEAD(600)), 1); // left
	both_are_reset(&talk, say(&talk, true, PDF));
	assert_int_equal(stats(gate).notices_late, 1);
	talk = talk_to(gate, 41001); // with its head in one segment
	say(&talk, false, GET("a.txt"));
	page_of(&talk, say(&talk, true, HEAD(8) PDF));
	gate_free(gate);
}

// Octets of the answer that left ahead of a hole lie at the client already.
static void what_left_ahead_is_reset(void **state)
{
	struct gate *gate = opened(BY_NAME);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, GET("setup.exe"));
	talk.seq[1] += 20;
	assert_int_equal(say(&talk, true, &OK5[20]), 1);
	talk.seq[1] -= (uint32_t)strlen(OK5);
	both_are_reset(&talk, run(&talk, true, TH_ACK, OK5, 20));
	gate_free(gate);
}

static void no_page_where_none_is_asked_for(void **state)
{
	static const char *const policies[] = {
		"'rules':[{'id':'no-exe','match':{},'transfers':[{'name':['*.exe'],'action':'reset'"
		"}]}]",
		"'rules':[{'id':'no-exe','match':{},'notice':false,'transfers':[{'name':['*.exe'],"
		"'action':'reset'}]}]",
	};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct gate *gate = opened(policies[i]);
		struct talk talk = talk_to(gate, 41000);

		say(&talk, false, GET("setup.exe"));
		both_are_reset(&talk, say(&talk, true, OK5));
		assert_int_equal(stats(gate).notices_late, 0);
		gate_free(gate);
	}
	struct gate *gate = opened(RULE("'transfers':[{'name':['*.exe'],'action':'drop'}]"));
	struct talk talk = talk_to(gate, 41000);

	say(&talk, false, GET("setup.exe"));
	assert_int_equal(say(&talk, true, OK5), 0); // drop says nothing to anybody
	gate_free(gate);
}

// A client that knows no heads would store it, and one with a small window would get a part.
static void no_page_that_would_be_misread(void **state)
{
	struct gate *gate = opened(BY_NAME);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, "GET /setup.exe\r\n");
	both_are_reset(&talk, say(&talk, true, "file"));
	talk = talk_to(gate, 41001);
	talk.like.window = 200;
	say(&talk, false, GET("setup.exe"));
	both_are_reset(&talk, say(&talk, true, OK5));
	gate_free(gate);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_stands_for_the_answer),
		cmocka_unit_test(client_reads_it_and_closes),
		cmocka_unit_test(lost_page_comes_again),
		cmocka_unit_test(client_that_does_not_close_is_reset),
		cmocka_unit_test(answers_before_it_have_left),
		cmocka_unit_test(what_has_begun_is_reset),
		cmocka_unit_test(what_left_ahead_is_reset),
		cmocka_unit_test(no_page_where_none_is_asked_for),
		cmocka_unit_test(no_page_that_would_be_misread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
