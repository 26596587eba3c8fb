// SPDX-License-Identifier: BSD-3-Clause
// Pages for clients whose answer of HTTP/1 was refused: when there is one, what it is, packet by
// packet, and what the client hears of it until it has closed.
#include "lib/pipeline/scan_gate.h"
#include "pipeline/content/notice.h"
#include "pipeline/stage/notice.h"
#include "pipeline/wire/checksum.h"

#define RULE(more) "'rules':[{'id':'no-exe','match':{},'notice':true," more "}]"
#define BY_NAME    RULE("'transfers':[{'name':['*.exe'],'action':'reset'}]")
#define BY_TYPE    RULE("'transfers':[{'type':['pdf'],'action':'reset'}]")
#define GET(path)  "GET /" path " HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define PUT(path)  "PUT /" path " HTTP/1.1\r\nHost: a.example\r\n"
#define OK5        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfine!"
#define PDF        "%PDF-1.4"

static struct gate *opened(const char *policy)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = limits.embryos = 1024;
	limits.content = (struct content_limits){.flows = 300,
		.source_pct = 100,
		.turn_bytes = 64u << 10,
		.memory_bytes = 1,
		.arena_bytes = 1,
		.refused = 64,
		.refused_s = 60};
	return gate_new_with(1, &limits, policy);
}

// ---- a connection, as two ends of any kind ----

struct talk {
	struct gate *gate;
	struct pipe_packet like; // the client's; ends, form
	uint32_t seq[2];         // next byte of the client, the server
	uint32_t clock;          // of timestamps; 0: there are none
};

struct heard { // a frame that came out
	uint8_t port, flags;
	uint32_t seq, ack, ts_value, ts_echo;
	uint16_t window, n_vlan, length;
	const char *payload;
};

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// Asserts its sums, and that nothing behind it is left over but padding.
static struct heard hear(const struct pipe_sent *sent)
{
	const uint8_t *at = sent->frame + 12;
	struct heard heard = {.port = sent->port};

	for (; at[0] == 0x81 || at[0] == 0x88; at += 4)
		heard.n_vlan++;
	bool v6 = at[0] == 0x86;
	const uint8_t *ip = at + 2, *tcp = ip + (v6 ? 40 : 20);
	uint16_t l4 = v6 ? (uint16_t)(ip[4] << 8 | ip[5]) : (uint16_t)((ip[2] << 8 | ip[3]) - 20);
	unsigned header = (tcp[12] >> 4) * 4u;
	uint8_t pseudo[4] = {0, 6, (uint8_t)(l4 >> 8), (uint8_t)l4};
	uint32_t sum = checksum_bytes(v6 ? ip + 8 : ip + 12, v6 ? 32 : 8, 0);

	sum = checksum_bytes(pseudo, 4, sum);
	assert_int_equal(checksum_fold(checksum_bytes(tcp, l4, sum)), 0xffff);
	if (!v6)
		assert_int_equal(checksum_fold(checksum_bytes(ip, 20, 0)), 0xffff);
	assert_true(tcp + l4 <= sent->frame + sent->length);
	heard.seq = get32(tcp + 4);
	heard.ack = get32(tcp + 8);
	heard.flags = tcp[13];
	heard.window = (uint16_t)(tcp[14] << 8 | tcp[15]);
	heard.length = (uint16_t)(l4 - header);
	heard.payload = (const char *)tcp + header;
	if (header == 32 && tcp[20] == 1 && tcp[22] == 8) {
		heard.ts_value = get32(tcp + 24);
		heard.ts_echo = get32(tcp + 28);
	}
	return heard;
}

static unsigned run(
	struct talk *talk, bool server, uint8_t flags, const char *payload, size_t length)
{
	struct pipe_packet packet = talk->like;
	uint8_t options[12] = {1, 1, 8, 10};

	packet.from_outside = server;
	packet.tcp_flags = flags;
	packet.seq = talk->seq[server];
	packet.ack = flags & TH_ACK ? talk->seq[!server] : 0;
	packet.payload = payload;
	packet.payload_length = (uint16_t)length;
	if (talk->clock) {
		uint32_t mine = server ? 0x1000 : 0, theirs = server ? 0 : 0x1000;

		talk->clock++;
		for (unsigned i = 0; i < 4; i++) {
			options[4 + i] = (uint8_t)((talk->clock + mine) >> (24 - 8 * i));
			options[8 + i] = (uint8_t)((talk->clock + theirs) >> (24 - 8 * i));
		}
		packet.options = options;
		packet.options_length = 12;
	}
	talk->seq[server] += (uint32_t)length + !!(flags & (TH_SYN | TH_FIN));
	return gate_run(talk->gate, &packet);
}

static unsigned say(struct talk *talk, bool server, const char *text)
{
	return run(talk, server, TH_ACK | TH_PUSH, text, strlen(text));
}

static unsigned again(struct talk *talk, bool server, const char *text)
{
	talk->seq[server] -= (uint32_t)strlen(text);
	return say(talk, server, text);
}

static struct talk talk_as(struct gate *gate, const struct pipe_packet *like, bool stamped)
{
	struct talk talk = {.gate = gate, .like = *like, .seq = {1000, 5000}, .clock = stamped};

	run(&talk, false, TH_SYN, NULL, 0);
	run(&talk, true, TH_SYN | TH_ACK, NULL, 0);
	assert_int_equal(run(&talk, false, TH_ACK, NULL, 0), 1);
	return talk;
}

static struct talk talk_to(struct gate *gate, uint16_t sport)
{
	return talk_as(gate, &(struct pipe_packet){.sport = sport}, false);
}

static struct heard sent_to(const struct talk *talk, unsigned n, uint8_t port)
{
	struct heard found = {0};
	unsigned of = 0;

	for (unsigned i = 0; i < n; i++) {
		struct heard heard = hear(&talk->gate->pipe->sent[i]);

		if (heard.port != port)
			continue;
		// a RST goes out for each number that its receiver may expect
		of += !(of && found.flags & heard.flags & TH_RST);
		found = heard;
	}
	assert_int_equal(of, 1);
	return found;
}

// The client's page, whole and well made.
static struct heard page_of(const struct talk *talk, unsigned n)
{
	struct heard page = sent_to(talk, n, PIPE_INSIDE);
	static char text[2048];

	assert_int_equal(page.flags, TH_FIN | TH_ACK | TH_PUSH);
	memcpy(text, page.payload, page.length);
	text[page.length] = 0;
	page.payload = text;
	assert_memory_equal(text, "HTTP/1.1 403 Forbidden\r\n", 24);
	assert_non_null(strstr(text, "\r\nConnection: close\r\n"));
	assert_non_null(strstr(text, "\r\nCache-Control: no-store\r\n"));
	const char *body = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");

	assert_true(body && length && length < body);
	if (body[4]) {
		assert_int_equal(strtoul(length + 16, NULL, 10), strlen(body + 4));
		assert_non_null(strstr(body, "Rule: no-exe<"));
	}
	return page;
}

static void both_are_reset(const struct talk *talk, unsigned n)
{
	unsigned resets[2] = {0};

	for (unsigned i = 0; i < n; i++) {
		struct heard heard = hear(&talk->gate->pipe->sent[i]);

		assert_true(heard.flags & TH_RST);
		assert_int_equal(heard.length, 0);
		resets[heard.port]++;
	}
	assert_true(resets[0] && resets[1]);
	assert_int_equal(stats(talk->gate).notices_sent, 0);
}

// Frames in these seconds, as the lcore makes them by itself.
static unsigned in_time(struct talk *talk, double seconds)
{
	talk->gate->pipe->n_sent = 0;
	for (; seconds > 0; seconds -= 0.005) {
		pipe_advance(talk->gate->pipe, 0.005);
		pipe_turns(talk->gate->pipe);
	}
	unsigned n = talk->gate->pipe->n_sent;

	talk->gate->pipe->n_sent = 0;
	return n;
}

// ---- tests ----

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
	assert_int_equal(say(&talk, true, OK5 + 20), 1);
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
		cmocka_unit_test(refused_at_its_request),
		cmocka_unit_test(uploads),
		cmocka_unit_test(head_request_gets_a_head),
		cmocka_unit_test(scanned_files),
		cmocka_unit_test(places_end),
		cmocka_unit_test(tuple_is_used_again),
		cmocka_unit_test(markup_of_a_rule_is_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
