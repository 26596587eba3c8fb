// SPDX-License-Identifier: BSD-3-Clause
// Names behind what classification reads: behind 2 KiB of a hello or a header, and in later
// requests of a kept-alive connection, whole, in segments of any size, behind bodies of any
// framing.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/peers/names_talk.h"
#include "pipeline/flow/table.h"
#include "classify/names/follow.h"
#include "classify/user_apps.h"
#include "pipeline/event/evidence.h"

static char big[20000], big2[20000];

static const struct {
	const char *name;
	const char *before;  // passes; then the request that shall not
	bool passes;         // what follows is no request
	const char *request; // NULL: BLOCKED
} talks[] = {
	{"the first", "", false, NULL},
	{"a second", FIRST, false, NULL},
	{"behind another application's", REQUEST("allowed.example"), false, NULL},
	{"empty lines between", FIRST "\r\n\n\r\n", false, NULL},
	{"a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\nhello world", false,
		NULL},
	{"chunks",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
		"5\r\nhello\r\n1A;x=y\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n",
		false, NULL},
	{"chunks and a trailer",
		"POST / HTTP/1.1\r\nHost: x\r\ntransfer-encoding: Chunked\r\n\r\n"
		"5\r\nhello\r\n0\r\nDigest: x\r\nA: b\r\n\r\n",
		false, NULL},
	{"both lengths",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n"
		"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		false, NULL},
	{"two lengths",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nContent-Length: 40\r\n\r\nabcd",
		false, NULL},
	{"chunks that are none",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false,
		NULL},
	{"an Upgrade that is not answered", "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n",
		false, NULL},
	{"absolute form", FIRST, false, "GET http://blocked.example/ HTTP/1.1\r\nHost: x\r\n\r\n"},
	{"CONNECT", FIRST, false, "CONNECT blocked.example:443 HTTP/1.1\r\n\r\n"},
	{"two requests at once", FIRST, false, BLOCKED REQUEST("allowed.example")},
	{"the second of two at once", FIRST, false, REQUEST("allowed.example") BLOCKED},
	{"a request inside of a body", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 45\r\n\r\n",
		true, NULL},
	{"one inside of a chunk",
		"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2d\r\n", true,
		NULL},
	{"others only", FIRST, true, REQUEST("other.example")},
	{"no HTTP at all", "SSH-2.0-OpenSSH_9.2p1\r\n", true, NULL},
};

static void later_requests_are_looked_at(void **state)
{
	static const size_t pieces[] = {1400, 7, 1, 30};
	(void)state;

	for (unsigned i = 0; i < 4 * sizeof(talks) / sizeof(talks[0]); i++) {
		unsigned n = i / 4;
		const char *request = talks[n].request ? talks[n].request : BLOCKED;
		struct names_talk c = names_talk_begin(pieces[i % 4]);

		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, talks[n].before, strlen(talks[n].before));
		if (c.reset)
			fail_msg("%s, by %zu: refused too early", talks[n].name, c.piece);
		names_talk_say(&c, HALF_C2S, request, strlen(request));
		if (c.reset == talks[n].passes)
			fail_msg("%s, by %zu: %s", talks[n].name, c.piece,
				c.reset ? "refused" : "passed");
		names_talk_end(&c);
	}
}

static void answers_between_requests(void **state)
{
	struct names_talk c = names_talk_begin(1400);
	(void)state;

	names_talk_open(&c);
	for (unsigned i = 0; i < 50; i++) {
		names_talk_say(&c, HALF_C2S, FIRST, sizeof(FIRST) - 1);
		names_talk_say(&c, HALF_S2C, ANSWER, sizeof(ANSWER) - 1);
	}
	assert_false(c.reset);
	assert_int_equal(pipe_stats(c.pipe).names_requests, 50);
	names_talk_say(&c, HALF_C2S, BLOCKED, sizeof(BLOCKED) - 1);
	assert_true(c.reset);
	assert_int_equal(pipe_stats(c.pipe).names_changed, 1);
	names_talk_end(&c);
}

// The server agrees: what follows is no HTTP, and the flow takes the fast path.
static void a_tunnel_is_left_alone(void **state)
{
	static const char upgrade[] = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n";
	static const char agreed[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
	struct names_talk c = names_talk_begin(1400);
	const struct flow *flow;
	(void)state;

	names_talk_open(&c);
	names_talk_say(&c, HALF_C2S, upgrade, sizeof(upgrade) - 1);
	names_talk_say(&c, HALF_S2C, agreed, sizeof(agreed) - 1);
	names_talk_say(&c, HALF_C2S, BLOCKED, sizeof(BLOCKED) - 1);
	assert_false(c.reset);
	flow = flow_at(c.pipe->dp.lcores[0]->flows, 0);
	for (unsigned i = 0; !flow->gen; i++)
		flow++;
	assert_true(flow->flags & FLOW_APP_FINAL);
	names_talk_end(&c);
}

// What is no agreement, or another request's: the next one is looked at.
static void other_answers_agree_to_nothing(void **state)
{
	static const char upgrade[] = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\n\r\n";
	static const char tunnel[] = "CONNECT plain.example:80 HTTP/1.1\r\nHost: x\r\n\r\n";
	static const char waits[] = "HTTP/1.1 100 Continue\r\n\r\n";
	static const char switches[] = "HTTP/1.1 101 Switching Protocols\r\n\r\n";
	static const struct {
		const char *name, *first, *second, *answer;
		bool passes;
		const char *then; // by the server, too
	} rows[] = {
		{"200 to an Upgrade", upgrade, "", ANSWER, false, NULL},
		{"100 to an Upgrade", upgrade, "", waits, false, NULL},
		{"101 to CONNECT", tunnel, "", switches, false, NULL},
		{"200 to what stands before CONNECT", FIRST, tunnel, ANSWER, false, NULL},
		{"101 to what stands before an Upgrade", FIRST, upgrade, switches, false, NULL},
		{"200 to CONNECT, and HTTP all the same", tunnel, "", ANSWER, false, NULL},
		{"200 to CONNECT of a path", "CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n", "", ANSWER,
			false, NULL},
		{"101 in the body of the answer before", FIRST, upgrade,
			"HTTP/1.1 200 OK\r\nContent-Length: 36\r\n\r\n"
			"HTTP/1.1 101 Switching Protocols\r\n\r\n" ANSWER,
			false, NULL},
		{"101 in a body of chunks", FIRST, upgrade,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n24\r\n"
			"HTTP/1.1 101 Switching Protocols\r\n\r\n\r\n0\r\n\r\n" ANSWER,
			false, NULL},
		{"101 in a body of two lengths", FIRST, upgrade,
			"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 36\r\n\r\n"
			"HTTP/1.1 101 Switching Protocols\r\n\r\n" ANSWER,
			false, NULL},
		{"101 in the body behind an answer to HEAD", "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n",
			upgrade,
			"HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n"
			"HTTP/1.1 200 OK\r\nContent-Length: 41\r\n\r\nabcde"
			"HTTP/1.1 101 Switching Protocols\r\n\r\n",
			false, NULL},
		{"101 behind a body", FIRST, upgrade, ANSWER "HTTP/1.1 101 Switching\r\n\r\n", true,
			NULL},
		{"101 behind 304 and 204", FIRST FIRST, upgrade,
			"HTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"
			"HTTP/1.1 101 Switching Protocols\r\n\r\n",
			true, NULL},
		{"101 to an Upgrade", upgrade, "", switches, true, NULL},
		{"100, then 101", upgrade, "",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n\r\n",
			true, NULL},
		{"100, then 101 by itself", upgrade, "", waits, true, switches},
		{"the half of a 100, then 101", upgrade, "", "HTTP/1.1 100 Continue\r\n", false,
			switches},
		{"100, then 200 to CONNECT", tunnel, "", waits, false, ANSWER},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct names_talk c = names_talk_begin(1400);

		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, rows[i].first, strlen(rows[i].first));
		names_talk_say(&c, HALF_C2S, rows[i].second, strlen(rows[i].second));
		names_talk_say(&c, HALF_S2C, rows[i].answer, strlen(rows[i].answer));
		if (rows[i].then)
			names_talk_say(&c, HALF_S2C, rows[i].then, strlen(rows[i].then));
		assert_false(c.reset);
		names_talk_say(&c, HALF_C2S, BLOCKED, sizeof(BLOCKED) - 1);
		if (c.reset == rows[i].passes)
			fail_msg("%s: %s", rows[i].name, c.reset ? "refused" : "passed");
		names_talk_end(&c);
	}
}

// 1,050 empty lines, as nginx takes them; a header that fills 7 KiB; a request line of 3 KiB.
static void heads_beyond_two_kilobytes(void **state)
{
	static const size_t pieces[] = {1400, 536, 100};
	(void)state;

	for (unsigned i = 0; i < 9; i++) {
		struct names_talk c = names_talk_begin(pieces[i % 3]);
		size_t at = 0;

		switch (i / 3) {
		case 0:
			for (unsigned k = 0; k < 1050; k++)
				at += (size_t)snprintf(big + at, sizeof(big) - at, "\r\n");
			break;
		case 1:
			at += (size_t)snprintf(big, sizeof(big), "GET / HTTP/1.1\r\n");
			for (unsigned k = 0; k < 100; k++)
				at += (size_t)snprintf(big + at, sizeof(big) - at,
					"X-Filler-%02u: %058u\r\n", k % 100, 7u);
			at += (size_t)snprintf(
				big + at, sizeof(big) - at, "Host: blocked.example\r\n\r\n");
			break;
		default:
			at += (size_t)snprintf(big, sizeof(big), "GET /%03000u HTTP/1.1\r\n", 7u);
			break;
		}
		at += (size_t)snprintf(big + at, sizeof(big) - at,
			i / 3 == 2 ? "Host: blocked.example\r\n\r\n"
			: i / 3    ? ""
				   : BLOCKED);
		assert_true(at < 8192);
		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, big, at);
		if (!c.reset)
			fail_msg("head %u by %zu has passed", i / 3, c.piece);
		names_talk_end(&c);
	}
}

// A hello of `filler` octets of key shares in front of its name; in records of `record` octets.
static size_t hello(char *to, size_t filler, size_t record, const char *host)
{
	size_t n = strlen(host), at = 4, out = 0;
	uint8_t *b = (uint8_t *)big2;
	size_t extensions = 4 + filler + 9 + n, body = 2 + 32 + 1 + 4 + 2 + 2 + extensions;
	const uint8_t head[] = {
		1, (uint8_t)(body >> 16), (uint8_t)(body >> 8), (uint8_t)body, 3, 3};

	memcpy(b, head, 6);
	memset(b + 6, 0x5a, 32);
	at = 38;
	b[at++] = 0;
	memcpy(b + at, "\0\2\x13\1\1\0", 6);
	at += 6;
	b[at++] = (uint8_t)(extensions >> 8);
	b[at++] = (uint8_t)extensions;
	memcpy(b + at, "\xfa\xfa", 2); // one that nobody knows
	b[at + 2] = (uint8_t)(filler >> 8);
	b[at + 3] = (uint8_t)filler;
	memset(b + at + 4, 0, filler);
	at += 4 + filler;
	const uint8_t name[] = {0, 0, 0, (uint8_t)(n + 5), 0, (uint8_t)(n + 3), 0, 0, (uint8_t)n};

	memcpy(b + at, name, 9);
	memcpy(b + at + 9, host, n);
	at += 9 + n;
	for (size_t i = 0; i < at; i += record) {
		size_t here = at - i < record ? at - i : record;

		memcpy(to + out, "\x16\3\1", 3);
		to[out + 3] = (char)(here >> 8);
		to[out + 4] = (char)here;
		memcpy(to + out + 5, b + i, here);
		out += 5 + here;
	}
	return out;
}

static void hellos_beyond_two_kilobytes(void **state)
{
	static const size_t pieces[] = {1400, 536, 100};
	(void)state;

	for (unsigned i = 0; i < 12; i++) {
		struct names_talk c = names_talk_begin(pieces[i % 3]);
		bool blocked = i & 1;
		size_t at = hello(big, i / 2 & 1 ? 400 : 7000, i / 2 & 1 ? 1 : 16000,
			blocked ? "www.blocked.example" : "www.allowed.example");

		c.packet.dport = 443;
		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, big, at);
		if (c.reset != blocked)
			fail_msg("hello %u of %zu by %zu: %s", i, at, c.piece,
				blocked ? "has passed" : "was refused");
		names_talk_end(&c);
	}
}

// Of another connection through the same gateway.
static struct names_talk another(const struct names_talk *of, uint16_t port)
{
	struct names_talk c = *of;

	c.packet.sport = (uint16_t)(of->packet.sport + port);
	c.seq[0] = 1000;
	c.seq[1] = 5000;
	c.reset = false;
	return c;
}

// A server's first record: HelloRetryRequest, or a choice.
static size_t server_hello(char *to, bool again)
{
	static const char random[] = "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8"
				     "\x91\xc2\xa2\x11\x16\x7a\xbb\x8c\x5e\x07\x9e\x09\xe2\xc8\xa8"
				     "\x33\x9c";
	static const char extensions[] =
		"\0\x13\1\0\0\x0c\0\x2b\0\2\3\4\0\x33\0\2\0\x1d\x14\3\3\0\1\1";

	memcpy(to, "\x16\3\3\0\x38\2\0\0\x34\3\3", 11);
	memcpy(to + 11, random, 32);
	if (!again)
		to[20] = 'x';
	memcpy(to + 43, extensions, sizeof(extensions) - 1);
	return 43 + sizeof(extensions) - 1;
}

static const struct {
	const char *name, *first, *second;
	const char *between; // sent in front of the second
	size_t between_length, filler, record;
	bool again, quiet; // the server asks for it; it says nothing before
	bool passes;
} retries[] = {
	{"asked for", "ok.example", "blocked.example", "", 0, 10, 16000, true, false, false},
	{"another's first", "allowed.example", "blocked.example", "", 0, 10, 16000, true, false,
		false},
	{"not waited for", "allowed.example", "blocked.example", "", 0, 10, 16000, false, true,
		false},
	{"in small records", "ok.example", "blocked.example", "", 0, 10, 3, true, false, false},
	{"long ones", "ok.example", "blocked.example", "", 0, 6000, 16000, true, false, false},
	{"behind ChangeCipherSpec", "ok.example", "blocked.example", "\x14\3\3\0\1\1", 6, 10, 16000,
		true, false, false},
	{"behind early data", "ok.example", "blocked.example",
		"\x17\3\3\0\x14"
		"abcdefghijklmnopqrst",
		25, 10, 16000, true, false, false},
	{"others only", "ok.example", "other.example", "", 0, 10, 16000, true, false, true},
	{"the server has chosen", "ok.example", "blocked.example", "", 0, 10, 16000, false, false,
		true},
};

static void a_second_hello_is_read(void **state)
{
	static const size_t pieces[] = {1400, 7, 1, 100};
	(void)state;

	for (unsigned i = 0; i < 4 * sizeof(retries) / sizeof(retries[0]); i++) {
		unsigned n = i / 4;
		struct names_talk c = names_talk_begin(pieces[i % 4]);
		size_t at = hello(big, retries[n].filler, retries[n].record, retries[n].first);

		c.packet.dport = 443;
		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, big, at);
		if (!retries[n].quiet) {
			c.piece = 1400;
			names_talk_say(&c, HALF_S2C, big, server_hello(big, retries[n].again));
			c.piece = pieces[i % 4];
		}
		names_talk_say(&c, HALF_C2S, retries[n].between, retries[n].between_length);
		if (c.reset)
			fail_msg("%s, by %zu: refused too early", retries[n].name, c.piece);
		at = hello(big, retries[n].filler, retries[n].record, retries[n].second);
		names_talk_say(&c, HALF_C2S, big, at);
		if (c.reset == retries[n].passes)
			fail_msg("%s, by %zu: %s", retries[n].name, c.piece,
				c.reset ? "refused" : "passed");
		assert_int_equal(
			name_heads_left(c.pipe->dp.lcores[0]->name_heads), pipe_limits().heads);
		names_talk_end(&c);
	}
}

// Both in one segment.
static void two_hellos_at_once(void **state)
{
	struct names_talk c = names_talk_begin(1400);
	size_t at = hello(big, 10, 16000, "allowed.example");
	(void)state;

	at += hello(big + at, 10, 16000, "blocked.example");
	c.packet.dport = 443;
	names_talk_open(&c);
	names_talk_say(&c, HALF_C2S, big, at);
	assert_true(c.reset);
	names_talk_end(&c);
}

// Without room nothing passes unlooked at: the segment is dropped, and comes again.
static void without_room_a_head_waits(void **state)
{
	struct lcore_limits limits = pipe_limits();
	struct names_talk c, other;
	(void)state;

	limits.heads = 1;
	c = names_talk_begin_with(1400, &limits);
	names_talk_open(&c);
	names_talk_say(&c, HALF_C2S, "GET / HT", 8);
	assert_int_equal(name_heads_left(c.pipe->dp.lcores[0]->name_heads), 0);
	other = another(&c, 1);
	names_talk_open(&other);
	names_talk_say(&other, HALF_C2S, "GET / HT", 8);
	assert_true(other.reset);
	assert_int_equal(pipe_stats(c.pipe).names_nomem, 1);
	assert_int_equal(pipe_stats(c.pipe).dropped_pkts[DROP_UNCLASSIFIED], 1);
	names_talk_say(&c, HALF_C2S, "TP/1.1\r\nHost: other.example\r\n\r\n", 31);
	assert_false(c.reset);
	assert_int_equal(name_heads_left(c.pipe->dp.lcores[0]->name_heads), 1);
	other.seq[0] -= 8; // again
	other.reset = false;
	names_talk_say(&other, HALF_C2S, "GET / HT", 8);
	assert_false(other.reset);
	names_talk_say(&other, HALF_C2S, "TP/1.1\r\nHost: blocked.example\r\n\r\n", 33);
	assert_true(other.reset);
	names_talk_end(&c);
}

// A head that ends in a span, behind which another begins, where nobody unheard gets a place any
// more: its own is not given away while the flow writes to it.
static void a_place_has_one_flow(void **state)
{
	static const char ends[] = "b\r\n\r\nGET / HTTP/1.1\r\nA: ";
	static const char cut[] = "GET / HTTP/1.1\r\nA: ";
	static const char evil[] = "b\r\nHost: blocked.example\r\nX: ";
	struct lcore_limits limits = pipe_limits();
	struct names_talk forged, real, honest;
	const struct name_heads *heads;
	(void)state;

	limits.heads = 8;
	forged = names_talk_begin_with(1400, &limits);
	heads = forged.pipe->dp.lcores[0]->name_heads;
	names_talk_segment(&forged, HALF_C2S, TH_SYN, NULL, 0);
	names_talk_segment(&forged, HALF_C2S, TH_ACK, cut, sizeof(cut) - 1);
	assert_int_equal(name_heads_left(heads), 7);
	for (uint16_t i = 1; i <= 4; i++) {
		real = another(&forged, i);
		names_talk_open(&real);
		names_talk_say(&real, HALF_C2S, cut, sizeof(cut) - 1);
		assert_int_equal(name_heads_left(heads), 7 - i);
	}
	for (unsigned i = 0; i < 3; i++) {
		forged.seq[0] = 1001 + sizeof(cut) - 1;
		names_talk_segment(&forged, HALF_C2S, TH_ACK, ends, sizeof(ends) - 1);
		assert_int_equal(name_heads_left(heads), 3);
	}
	honest = another(&forged, 5);
	names_talk_open(&honest);
	names_talk_say(&honest, HALF_C2S, cut, sizeof(cut) - 1);
	names_talk_segment(&forged, HALF_C2S, TH_ACK, evil, sizeof(evil) - 1);
	names_talk_say(&honest, HALF_C2S, "b\r\nHost: other.example\r\n\r\n", 26);
	assert_false(honest.reset);
	assert_int_equal(name_heads_left(heads), 3);
	assert_int_equal(pipe_stats(forged.pipe).names_nomem, 0);
	names_talk_end(&forged);
}

#define PROPFIND "PROPFIND / HTTP/1.1\r\nHost: plain.example\r\nDepth: 0\r\n\r\n"

// The last word about an application: which, and that a host's name said so.
static bool is_told_by_host(const struct names_talk *c, uint16_t app, const char *name)
{
	const struct evidence_log *log = c->pipe->dp.lcores[0]->evidence;
	size_t n = strlen(name) < EVIDENCE_BYTES ? strlen(name) : EVIDENCE_BYTES;
	const struct evidence *last = NULL;

	assert_true(log->written && log->written <= log->size);
	for (uint32_t i = 0; i < log->written; i++)
		if (log->records[i].kind == EVIDENCE_USER_APP)
			last = &log->records[i];
	return last && last->app == app && last->detail == EVIDENCE_BY_HOST && last->n_bytes == n &&
	       last->offset + n == strlen(name) && memcmp(last->bytes, name + last->offset, n) == 0;
}

// What the flow is known by, however sure, is let pass: a request for what is refused is refused,
// and explain and the alert say why.
static void a_refused_name_counts_more_than_a_pattern(void **state)
{
	static const char named[] =
		"PROPFIND / HTTP/1.1\r\nHost: blocked.example\r\nDepth: 0\r\n\r\n";
	struct names_talk c;
	struct event event;
	(void)state;

	for (unsigned first = 0; first < 2; first++) {
		const char *request = first ? named : BLOCKED;

		c = names_talk_begin(1400);
		names_talk_open(&c);
		if (!first) {
			names_talk_say(&c, HALF_C2S, PROPFIND, sizeof(PROPFIND) - 1);
			names_talk_say(&c, HALF_S2C, ANSWER, sizeof(ANSWER) - 1);
			assert_false(c.reset);
		}
		names_talk_say(&c, HALF_C2S, request, strlen(request));
		assert_true(c.reset);
		assert_true(pipe_event(c.pipe, 0, EVENT_ALERT, &event));
		assert_int_equal(event.app, app_find("irc"));
		assert_int_equal(event.confidence, CONFIDENCE_DPI);
		assert_int_equal(event.rule_uid, 7);
		assert_true(is_told_by_host(&c, app_find("irc"), "blocked.example"));
		names_talk_end(&c);
	}
}

static void one_that_nobody_refuses_does_not(void **state)
{
	struct names_talk c = names_talk_begin(1400);
	const struct flow *flow;
	(void)state;

	names_talk_open(&c);
	for (unsigned i = 0; i < 3; i++) {
		names_talk_say(&c, HALF_C2S, PROPFIND, sizeof(PROPFIND) - 1);
		names_talk_say(&c, HALF_C2S, REQUEST("allowed.example"),
			sizeof(REQUEST("allowed.example")) - 1);
	}
	assert_false(c.reset);
	flow = flow_at(c.pipe->dp.lcores[0]->flows, 0);
	for (unsigned i = 0; !flow->gen; i++)
		flow = flow_at(c.pipe->dp.lcores[0]->flows, i);
	assert_int_equal(flow->app, app_find("webdav"));
	assert_int_equal(pipe_stats(c.pipe).names_changed, 0);
	names_talk_end(&c);
}

// Of two that are refused the surer one is the reason, as ever.
static void what_is_refused_itself_stays_the_reason(void **state)
{
	static const char named[] =
		"PROPFIND / HTTP/1.1\r\nHost: blocked.example\r\nDepth: 0\r\n\r\n";
	struct names_talk c = names_talk_begin(1400);
	struct policy *policy = pipe_policy(c.pipe);
	struct event event;
	(void)state;

	pipe_rule_app(policy, 7, ACTION_DROP, "irc");
	pipe_rule_app(policy, 8, ACTION_DROP, "webdav");
	policy->user_apps = user_apps_new();
	assert_int_equal(
		user_apps_add_host(policy->user_apps, app_find("irc"), "blocked.example"), 0);
	pipe_publish(c.pipe, policy);
	names_talk_open(&c);
	names_talk_say(&c, HALF_C2S, named, sizeof(named) - 1);
	assert_true(c.reset);
	assert_true(pipe_event(c.pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.app, app_find("webdav"));
	names_talk_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_requests_are_looked_at),
		cmocka_unit_test(answers_between_requests),
		cmocka_unit_test(a_tunnel_is_left_alone),
		cmocka_unit_test(other_answers_agree_to_nothing),
		cmocka_unit_test(heads_beyond_two_kilobytes),
		cmocka_unit_test(hellos_beyond_two_kilobytes),
		cmocka_unit_test(a_second_hello_is_read),
		cmocka_unit_test(two_hellos_at_once),
		cmocka_unit_test(without_room_a_head_waits),
		cmocka_unit_test(a_place_has_one_flow),
		cmocka_unit_test(a_refused_name_counts_more_than_a_pattern),
		cmocka_unit_test(one_that_nobody_refuses_does_not),
		cmocka_unit_test(what_is_refused_itself_stays_the_reason),
	};

	return cmocka_run_group_tests(tests, names_talk_setup, names_talk_teardown);
}
