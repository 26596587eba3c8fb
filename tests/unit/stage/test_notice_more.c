// SPDX-License-Identifier: BSD-3-Clause
// Pages for clients, for all that may be refused: requests, uploads, files that are scanned; and
// where places for them end.
#include "lib/pipeline/talk.h"

static void refused_at_its_request(void **state)
{
	static const char part[] =
		"GET /a.bin HTTP/1.1\r\nHost: a.example\r\nRange: bytes=9-\r\n\r\n";
	struct gate *gate = opened(BY_TYPE);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, GET("a.bin"));
	page_of(&talk, say(&talk, true, HEAD(8) PDF));
	for (unsigned stamped = 0; stamped < 2; stamped++) {
		const struct pipe_packet like = {.sport = (uint16_t)(41001 + stamped)};

		talk = talk_as(gate, &like, stamped);
		unsigned n = say(&talk, false, part);
		struct heard page = page_of(&talk, n);

		assert_int_equal(page.seq, 5001);
		assert_int_equal(page.ack, talk.seq[0]);
		assert_int_equal(!!page.ts_value, stamped);
		assert_non_null(strstr(page.payload, "refused before"));
		assert_true(sent_to(&talk, n, PIPE_OUTSIDE).flags & TH_RST);
	}
	// behind another request that is not answered yet
	struct stats before = stats(gate);

	talk = talk_to(gate, 41005);
	say(&talk, false, GET("b.txt"));
	unsigned n = say(&talk, false, part);

	assert_true(sent_to(&talk, n, PIPE_INSIDE).flags & TH_RST);
	assert_int_equal(stats(gate).notices_sent, before.notices_sent);
	gate_free(gate);
}

static void uploads(void **state)
{
	struct gate *gate = opened(BY_TYPE);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	// the client goes on sending: it is acknowledged, and thrown away
	assert_int_equal(say(&talk, false, PUT("a.bin") "Content-Length: 5000\r\n\r\n"), 1);
	unsigned n = say(&talk, false, PDF);
	struct heard page = page_of(&talk, n);

	assert_int_equal(page.seq, 5001);
	assert_int_equal(page.ack, talk.seq[0]);
	assert_true(sent_to(&talk, n, PIPE_OUTSIDE).flags & TH_RST);
	struct heard ack = sent_to(&talk, say(&talk, false, "much more"), PIPE_INSIDE);

	assert_int_equal(ack.flags, TH_ACK);
	assert_int_equal(ack.ack, talk.seq[0]);
	talk.seq[1] = page.seq + page.length + 1;
	ack = sent_to(&talk, run(&talk, false, TH_FIN | TH_ACK, "end", 3), PIPE_INSIDE);
	assert_int_equal(ack.ack, talk.seq[0]);
	assert_int_equal(ack.seq, talk.seq[1]);
	assert_int_equal(in_time(&talk, 10), 0);

	// Expect: the 100 has left, and the page stands behind it
	talk = talk_to(gate, 41001);
	say(&talk, false, PUT("b.bin") "Expect: 100-continue\r\nContent-Length: 8\r\n\r\n");
	assert_int_equal(say(&talk, true, "HTTP/1.1 100 Continue\r\n\r\n"), 1);
	page = page_of(&talk, say(&talk, false, PDF));
	assert_int_equal(page.seq, talk.seq[1]);

	// the server has begun to answer
	uint64_t sent = stats(gate).notices_sent;

	talk = talk_to(gate, 41002);
	say(&talk, false, PUT("c.bin") "Content-Length: 8\r\n\r\n");
	assert_int_equal(say(&talk, true, "HTTP/1.1 5"), 1);
	assert_true(sent_to(&talk, say(&talk, false, PDF), PIPE_INSIDE).flags & TH_RST);
	assert_int_equal(stats(gate).notices_sent, sent);
	gate_free(gate);
}

static void head_request_gets_a_head(void **state)
{
	struct gate *gate = opened(BY_TYPE);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, "HEAD /a HTTP/1.1\r\nHost: a\r\nContent-Length: 8\r\n\r\n");
	struct heard page = page_of(&talk, say(&talk, false, PDF));

	assert_string_equal(page.payload + page.length - 4, "\r\n\r\n");
	assert_null(strstr(page.payload, "<p>"));
	gate_free(gate);
}

// But for what a held packet says of the other half.
static void nothing_leaves(const struct talk *talk, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(hear(&talk->gate->pipe->sent[i]).length, 0);
}

static void scanned_files(void **state)
{
	(void)state;
	for (unsigned upload = 0; upload < 2; upload++) {
		struct gate *gate = world(RULE("'scan':{}"));
		struct talk talk = talk_to(gate, 42000);
		unsigned n = 0;

		if (upload) {
			say(&talk, false, PUT("a") "Content-Length: 8\r\n\r\n");
			nothing_leaves(&talk, say(&talk, false, EVIL));
		} else {
			say(&talk, false, GET("a.txt"));
			nothing_leaves(&talk, say(&talk, true, HEAD(8) EVIL));
		}
		pipe_turns(gate->pipe);
		gate->pipe->n_sent = 0;
		for (unsigned i = 0; i < 200 && !n; i++) {
			pipe_advance(gate->pipe, 0.005);
			pipe_turns(gate->pipe);
			n = gate->pipe->n_sent;
		}
		struct heard page = page_of(&talk, n);

		assert_int_equal(page.seq, 5001);
		assert_non_null(strstr(page.payload, "a scan for viruses has found"));
		assert_null(strstr(page.payload, "EVIL"));
		assert_null(strstr(page.payload, "Test.Evil"));
		assert_true(sent_to(&talk, n, PIPE_OUTSIDE).flags & TH_RST);
		gate->pipe->n_sent = 0;
		talk.seq[1] = page.seq + page.length + 1;
		n = run(&talk, false, TH_FIN | TH_ACK, NULL, 0);
		assert_int_equal(sent_to(&talk, n, PIPE_INSIDE).ack, talk.seq[0]);
		gate->pipe->n_sent = 0;
		world_free(gate);
	}
	struct gate *gate = opened(RULE("'scan':{}")); // no engine
	struct talk talk = talk_to(gate, 42000);

	say(&talk, false, GET("a.txt"));
	assert_non_null(
		strstr(page_of(&talk, say(&talk, true, OK5)).payload, "could not be scanned"));
	gate_free(gate);
}

// A place for each; beyond them flows are reset, and the places come back.
static void places_end(void **state)
{
	struct gate *gate = opened(BY_NAME);
	struct talk talk;

	(void)state;
	for (unsigned i = 0; i <= NOTICES_MAX; i++) {
		talk = talk_to(gate, (uint16_t)(20000 + i));
		say(&talk, false, GET("setup.exe"));
		unsigned n = say(&talk, true, OK5);

		assert_int_equal(
			!!(sent_to(&talk, n, PIPE_INSIDE).flags & TH_RST), i == NOTICES_MAX);
		gate->pipe->n_sent = 0;
	}
	assert_int_equal(stats(gate).notices_full, 1);
	for (unsigned i = 0; i < 20; i++)
		in_time(&talk, 1);
	assert_int_equal(stats(gate).notices_unread, NOTICES_MAX);
	talk = talk_to(gate, 30000);
	say(&talk, false, GET("setup.exe"));
	page_of(&talk, say(&talk, true, OK5));
	gate_free(gate);
}

// A new connection of the same ends has nothing to do with it.
static void tuple_is_used_again(void **state)
{
	struct gate *gate = opened(BY_NAME);
	struct talk talk = talk_to(gate, 41000);

	(void)state;
	say(&talk, false, GET("setup.exe"));
	page_of(&talk, say(&talk, true, OK5));
	talk.seq[0] = 90000;
	talk.seq[1] = 80000;
	assert_int_equal(run(&talk, false, TH_SYN, NULL, 0), 1);
	assert_int_equal(run(&talk, true, TH_SYN | TH_ACK, NULL, 0), 1);
	assert_int_equal(say(&talk, false, GET("a.txt")), 1);
	assert_int_equal(say(&talk, true, OK5), 1);
	assert_int_equal(in_time(&talk, 20), 0);
	assert_int_equal(stats(gate).notices_sent, 1);
	gate_free(gate);
}

static void markup_of_a_rule_is_text(void **state)
{
	uint8_t bytes[CONTENT_NOTICE_BYTES];
	char id[POLICY_ID_MAX];

	(void)state;
	memset(id, '"', sizeof(id));
	id[sizeof(id) - 1] = 0;
	for (unsigned why = CONTENT_NOTICE_TRANSFER; why <= CONTENT_NOTICE_UNSCANNED; why++) {
		unsigned n = content_notice_page(bytes, id, why, false);

		assert_true(n < CONTENT_NOTICE_BYTES);
		assert_memory_equal(bytes + n - 5, "</p>\n", 5);
		assert_null(memchr(bytes, '"', n));
	}
	unsigned n = content_notice_page(bytes, "<script>&\x01", CONTENT_NOTICE_AGAIN, false);

	assert_non_null(memmem(bytes, n, "&lt;script&gt;&amp;?<", 21));
}

// RFC 5321 section 4.5.3.1.5
static void reply_of_mail_is_one_line(void **state)
{
	uint8_t bytes[CONTENT_NOTICE_BYTES];
	char id[POLICY_ID_MAX];

	(void)state;
	memset(id, '\n', sizeof(id));
	id[sizeof(id) - 1] = 0;
	for (unsigned why = CONTENT_NOTICE_TRANSFER; why <= CONTENT_NOTICE_UNSCANNED; why++) {
		unsigned n = content_notice_reply(bytes, id, why);

		assert_true(n <= 512);
		assert_memory_equal(bytes, "554 ", 4);
		assert_memory_equal(bytes + n - 3, "?\r\n", 3);
		assert_ptr_equal(memchr(bytes, '\n', n), bytes + n - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused_at_its_request),
		cmocka_unit_test(uploads),
		cmocka_unit_test(head_request_gets_a_head),
		cmocka_unit_test(scanned_files),
		cmocka_unit_test(places_end),
		cmocka_unit_test(tuple_is_used_again),
		cmocka_unit_test(markup_of_a_rule_is_text),
		cmocka_unit_test(reply_of_mail_is_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
