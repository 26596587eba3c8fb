// SPDX-License-Identifier: BSD-3-Clause
// Who did not see the request teaches nothing: each kind of answer that names endpoints, names or
// flows to come, without its request, with it, with another's token, and asked by the wrong side.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;
static unsigned learned;

static void expect(void *ctx, const struct expectation *expectation)
{
	(void)ctx;
	(void)expectation;
	learned++;
}

static void endpoint(void *ctx, const struct learned_endpoint *endpoint)
{
	(void)ctx;
	(void)endpoint;
	learned++;
}

static void name(void *ctx, const struct learned_name *name)
{
	(void)ctx;
	(void)name;
	learned++;
}

static const struct flow_ends ends = {
	.address = {{[10] = 0xff, 0xff, 192, 0, 2, 1}, {[10] = 0xff, 0xff, 198, 51, 100, 2}},
	.port = {40000, 6881},
};

struct message {
	unsigned half;
	const char *bytes;
	uint32_t length;
};
#define SAID(half, text)                            \
	{                                           \
		HALF_##half, text, sizeof(text) - 1 \
	}

// `token` octets at `offset` of the request are what the answer repeats (0: nothing does).
struct row {
	const char *name, *app;
	uint8_t l4;
	struct message before[2]; // what leads to the request
	struct message request, answer;
	int offset, token;
};

#define ID         "abcdefghij0123456789"
#define TARGET     "abcdefghij012345"
#define CONTACT    TARGET "\x01\0\0\x0b\x40\x12\x36\x12\x08"
#define QUESTION   "\4chat\7example\0\0\1\0\1"
#define RECORD     "\xc0\x0c\0\1\0\1\0\0\1\x2c\0\4\xc6\x33\x64\7"
#define ANNOUNCE   "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" // of 82 octets behind the transaction
#define TIMES_5(x) x x x x x
#define ZEROS_55   TIMES_5("\0\0\0\0\0\0\0\0\0\0\0")
#define PUSH       "0123456789abcdef\x40\1\0\x1a\0\0\0" TARGET "\0\0\0\0\x0a\0\0\x63\xcb\x18"

static const struct row rows[] = {
	{"a DHT reply", "bittorrent", IPPROTO_UDP, {},
		SAID(C2S, "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe"),
		SAID(S2C, "d1:rd2:id20:" ID "5:nodes26:" ID "\x0b\0\0\1\x1a\xe1"
			  "e1:t2:aa1:y1:re"),
		48, 2},
	{"a DHT reply of the initiator", "bittorrent", IPPROTO_UDP, {},
		SAID(S2C, "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe"),
		SAID(C2S, "d1:rd2:id20:" ID "e1:t2:aa1:y1:re"), 48, 2},
	{"an announcement in the DHT, by a node's token", "bittorrent", IPPROTO_UDP,
		{SAID(S2C, "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe")},
		SAID(C2S, "d1:rd2:id20:" ID "5:token2:xye1:t2:aa1:y1:re"),
		SAID(S2C, "d1:ad2:id20:" ID
			  "4:porti51413e5:token2:xye1:q13:announce_peer1:t1:b1:y1:qe"),
		42, 2},
	{"a UDP tracker's answer", "bittorrent", IPPROTO_UDP, {},
		SAID(C2S, "connecti\0\0\0\1abcd" TIMES_5(ANNOUNCE) "\0\0"),
		SAID(S2C, "\0\0\0\1abcd\0\0\7\x08\0\0\0\1\0\0\0\2\x0b\0\0\1\x1a\xe1"), 12, 4},
	{"an announcement to a UDP tracker, by its connection", "bittorrent", IPPROTO_UDP,
		{SAID(C2S, "\0\0\x04\x17\x27\x10\x19\x80\0\0\0\0conn")},
		SAID(S2C, "\0\0\0\0connconnecti"),
		SAID(C2S, "connecti\0\0\0\1abcd" TIMES_5(ANNOUNCE) "\1\1"), 8, 8},
	{"an HTTP tracker's answer", "bittorrent", IPPROTO_TCP, {},
		SAID(C2S, "GET /announce?info_hash=" ID "&peer_id=" ID " HTTP/1.1\r\n\r\n"),
		SAID(S2C, "HTTP/1.1 200 OK\r\n\r\nd5:peers6:\x0b\0\0\1\x1a\xe1"
			  "e"),
		0, 0},
	{"a DNS answer", "dns", IPPROTO_UDP, {},
		SAID(C2S, "\x12\x34\x01\0\0\1\0\0\0\0\0\0" QUESTION),
		SAID(S2C, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0" QUESTION RECORD), 0, 2},
	{"a DNS answer to another question", "dns", IPPROTO_UDP, {},
		SAID(C2S, "\x12\x34\x01\0\0\1\0\0\0\0\0\0" QUESTION),
		SAID(S2C, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0" QUESTION RECORD), 13, 4},
	{"a DNS answer over TCP", "dns", IPPROTO_TCP, {},
		SAID(C2S, "\0\x1e\x12\x34\x01\0\0\1\0\0\0\0\0\0" QUESTION),
		SAID(S2C, "\0\x2e\x12\x34\x81\x80\0\1\0\1\0\0\0\0" QUESTION RECORD), 2, 2},
	{"Kad: other nodes", "edonkey", IPPROTO_UDP, {}, SAID(C2S, "\xe4\x01"),
		SAID(S2C, "\xe4\x09" TARGET "\x36\x12\x08\x01\0" CONTACT), 0, 0},
	{"Kad: a hello's answer", "edonkey", IPPROTO_UDP, {},
		SAID(C2S, "\xe4\x11" TARGET "\x36\x12\x08\0"),
		SAID(S2C, "\xe4\x19" TARGET "\x36\x12\x08\0"), 0, 0},
	{"Kad: that it was received", "edonkey", IPPROTO_UDP, {},
		SAID(S2C, "\xe4\x19" TARGET "\x36\x12\x08\0"), SAID(C2S, "\xe4\x22" TARGET "\0"), 0,
		0},
	{"Kad: nodes near a target", "edonkey", IPPROTO_UDP, {},
		SAID(C2S, "\xe4\x21\x02" TARGET TARGET),
		SAID(S2C, "\xe4\x29" TARGET "\x01" CONTACT), 3, 16},
	{"Kad: sources", "edonkey", IPPROTO_UDP, {}, SAID(C2S, "\xe4\x34" TARGET "0123456789"),
		SAID(S2C, "\xe4\x3b"
			  "ABCDEFGHIJ012345" TARGET "\x01\0" TARGET
			  "\x02\x03\x01\0\xfe\x03\0\0\x0b\x08\x01\0\xfd\x36\x12"),
		2, 16},
	{"Kad: a pong", "edonkey", IPPROTO_UDP, {}, SAID(C2S, "\xe4\x60"),
		SAID(S2C, "\xe4\x61\x40\x12"), 0, 0},
	{"an eDonkey server's sources", "edonkey", IPPROTO_UDP, {}, SAID(C2S, "\xe3\x9a" TARGET),
		SAID(S2C, "\xe3\x9b" TARGET "\x01\x0b\0\0\x04\x36\x12"), 2, 16},
	{"the same over TCP", "edonkey", IPPROTO_TCP, {},
		SAID(C2S, "\xe3\x15\0\0\0\x19" TARGET "\1\2\3\4"),
		SAID(S2C, "\xe3\x18\0\0\0\x42" TARGET "\x01\x0b\0\0\x04\x36\x12"), 6, 16},
	{"an eMule client's sources", "edonkey", IPPROTO_TCP, {},
		SAID(C2S, "\xc5\x14\0\0\0\x83\x04\0\0" TARGET "\0"),
		SAID(S2C, "\xc5\x31\0\0\0\x84\x04" TARGET
			  "\x01\0\x07\0\0\x0b\x36\x12\0\0\0\0\0\0" TARGET "\x03"),
		9, 16},
	{"a Gnutella PUSH of who has answered", "gnutella", IPPROTO_UDP,
		{SAID(C2S, "0123456789abcdef\x00\1\0\0\0\0\0")},
		SAID(S2C, "0123456789abcdef\x01\1\0\0\0\0\0"), SAID(S2C, PUSH), 0, 16},
	{"an FTP server that listens", "ftp", IPPROTO_TCP, {}, SAID(C2S, "PASV\r\n"),
		SAID(S2C, "227 Entering Passive Mode (198,51,100,2,200,1)\r\n"), 0, 4},
	{"a voice server of Discord", "discord", IPPROTO_UDP, {},
		SAID(C2S, "\0\1\0\x46SSRC" ZEROS_55 "\0\0\0\0\0\0\0\0\0\x1a\xe1"),
		SAID(S2C, "\0\2\0\x46SSRC192.0.2.1" ZEROS_55 "\x1a\xe1"), 4, 4},
};

// Those who say nothing but of themselves, or offer to whom they speak to, in a connection: that
// both its ends were heard is asked by the pipeline. TFTP's request names its answer itself.
static const char *const of_themselves[] = {"irc", "xmpp", "msn", "sip", "tftp"};

struct flow {
	const struct row *row;
	struct asked asked;
	struct decoder_sink sink;
	uint64_t offset64[2];
	uint32_t state;
};

static void said(struct flow *flow, const struct message *message, const char *bytes)
{
	const struct row *row = flow->row;
	uint8_t *exact = malloc(message->length + 1);

	if (!message->length) {
		free(exact);
		return;
	}
	memcpy(exact, bytes, message->length);
	const struct span span = {
		.offset64 = flow->offset64[message->half],
		.unchecked = exact,
		.extent = message->length,
		.half = (uint8_t)message->half,
		.flags = row->l4 == IPPROTO_UDP ? SPAN_DATAGRAM : 0,
	};

	flow->offset64[message->half] += message->length;
	decoder_feed(rig->classifier, app_find(row->app), &ends, &span, &flow->state, &flow->sink);
	free(exact);
}

enum asks {
	NOBODY,
	THE_OTHER,
	WITH_ANOTHER_TOKEN,
	THE_SAME_SIDE,
	N_ASKS,
};

// How much the answer teaches.
static unsigned taught(const struct row *row, enum asks asks)
{
	struct flow flow = {.row = row, .state = CLASSIFY_NO_STATE};
	struct message request = row->request;
	char *bytes = malloc(request.length);

	flow.sink = (struct decoder_sink){
		.expect = expect, .endpoint = endpoint, .name = name, .asked = &flow.asked};
	memcpy(bytes, request.bytes, request.length);
	if (asks == WITH_ANOTHER_TOKEN)
		for (int i = 0; i < row->token; i++)
			bytes[row->offset + i] ^= 2;
	if (asks == THE_SAME_SIDE)
		request.half = row->answer.half;
	for (unsigned i = 0; i < 2 && asks != NOBODY; i++)
		said(&flow, &row->before[i], row->before[i].bytes);
	if (asks != NOBODY)
		said(&flow, &request, bytes);
	learned = 0;
	said(&flow, &row->answer, row->answer.bytes);
	free(bytes);
	classify_end(rig->classifier, &flow.state);
	return learned;
}

static struct expectation announced;

static void keep(void *ctx, const struct expectation *expectation)
{
	(void)ctx;
	announced = *expectation;
}

// TFTP's request names the port of its answer, and the file that this one will carry.
static void a_request_names_the_file(void **state)
{
	static const struct row row = {"", "tftp", IPPROTO_UDP, {},
		SAID(C2S, "\0\1rfc1350.txt\0octet\0"), SAID(S2C, ""), 0, 0};
	struct flow flow = {.row = &row, .state = CLASSIFY_NO_STATE, .sink = {.expect = keep}};

	(void)state;
	said(&flow, &row.request, row.request.bytes);
	assert_int_equal(announced.port, ends.port[HALF_C2S]);
	assert_int_equal(announced.l4_proto, IPPROTO_UDP);
	assert_string_equal(announced.label.file, "rfc1350.txt");
	classify_end(rig->classifier, &flow.state);
}

static void who_did_not_see_the_request_teaches_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];

		if (taught(row, NOBODY))
			fail_msg("%s: learned without a request", row->name);
		if (!taught(row, THE_OTHER))
			fail_msg("%s: not learned", row->name);
		if (row->token && taught(row, WITH_ANOTHER_TOKEN))
			fail_msg("%s: learned by another's token", row->name);
		if (row->request.half != row->answer.half && taught(row, THE_SAME_SIDE))
			fail_msg("%s: it asks itself", row->name);
	}
}

// As many as it says, and all of one length: else it is read in the wrong places.
static void lists_that_do_not_add_up_teach_nothing(void **state)
{
	static const char head[] = "\xc5\0\0\0\0\x84\x04" TARGET "\x02\0",
			  source[] = "\x07\0\0\x0b\x36\x12\0\0\0\0\0\0";
	char answer[sizeof(head) + 80] = {0};
	struct row row = {"", "edonkey", IPPROTO_TCP, {},
		SAID(C2S, "\xc5\x14\0\0\0\x83\x04\0\0" TARGET "\0"), {HALF_S2C, answer, 0}, 9, 16};
	(void)state;

	memcpy(answer, head, sizeof(head) - 1);
	for (unsigned i = 0; i < 2; i++)
		memcpy(answer + sizeof(head) - 1 + i * (sizeof(source) - 1), source,
			sizeof(source) - 1);
	for (uint8_t left = 0; left < 64; left++) {
		row.answer.length = (uint32_t)(sizeof(head) - 1 + left);
		answer[1] = (char)(20 + left); // what follows these five octets
		unsigned n = taught(&row, THE_OTHER);

		if (!!n != (left == 24 || left == 58)) // 12 octets each, or 29
			fail_msg("%u octets: %u learned", left, n);
	}
}

static void every_decoder_is_held_to_it(void **state)
{
	(void)state;
	for (uint16_t app = 1; app <= app_count(); app++) {
		const char *word = app_get(app)->name;
		bool known = !app_has_decoder(app);

		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			known |= !strcmp(rows[i].app, word);
		for (unsigned i = 0; i < sizeof(of_themselves) / sizeof(of_themselves[0]); i++)
			known |= !strcmp(of_themselves[i], word);
		if (!known)
			fail_msg("%s decodes: which requests do its answers need?", word);
	}
}

// Transactions of 16 bits are not guessed: after ASKED_WRONG_MAX answers to nothing the flow
// teaches no more. And the newest ASKED_MAX requests count.
static void guesses_are_few(void **state)
{
	const struct row *row = &rows[0];
	struct flow flow = {.row = row, .state = CLASSIFY_NO_STATE};
	char bytes[128];

	(void)state;
	flow.sink = (struct decoder_sink){.endpoint = endpoint, .asked = &flow.asked};
	learned = 0;
	memcpy(bytes, row->request.bytes, row->request.length);
	for (unsigned i = 0; i < ASKED_MAX; i++) {
		bytes[row->offset] = (char)('b' + i);
		said(&flow, &row->request, bytes);
	}
	said(&flow, &row->answer, row->answer.bytes); // "aa"
	assert_int_equal(learned, 0);
	said(&flow, &row->request, row->request.bytes);
	said(&flow, &row->answer, row->answer.bytes);
	assert_int_not_equal(learned, 0);
	memcpy(bytes, row->answer.bytes, row->answer.length);
	char *t = memmem(bytes, row->answer.length, "2:aa", 4);

	for (unsigned i = 0; i < ASKED_WRONG_MAX; i++) {
		t[2] = 1;
		t[3] = (char)i;
		said(&flow, &row->answer, bytes);
	}
	learned = 0;
	said(&flow, &row->answer, row->answer.bytes);
	assert_int_equal(learned, 0);
}

static int end(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_names_the_file),
		cmocka_unit_test(who_did_not_see_the_request_teaches_nothing),
		cmocka_unit_test(lists_that_do_not_add_up_teach_nothing),
		cmocka_unit_test(every_decoder_is_held_to_it),
		cmocka_unit_test(guesses_are_few),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, end);
}
