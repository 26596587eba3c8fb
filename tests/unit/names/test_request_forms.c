// SPDX-License-Identifier: BSD-3-Clause
// Requests in forms that servers take, or read in different ways: a name that is refused does not
// get through in any of them, whole or in segments of any size; and what honest clients send
// passes.
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
#include "pipeline/stage/hold.h"
#include "classify/handshake/http_head.h"
#include "classify/names/follow.h"
#include "classify/user_apps.h"

#define S(text)   text, sizeof(text) - 1
#define NAMED     "Host: blocked.example\r\n\r\n"
#define OTHER     "Host: plain.example\r\n\r\n"
#define POST      "POST / HTTP/1.1\r\nHost: x\r\n"
#define CHUNKED   POST "Transfer-Encoding: chunked\r\n\r\n"
#define OF_LENGTH "Content-Length: 41\r\n\r\n" // of BLOCKED

struct form {
	const char *name;
	const char *first; // passes
	size_t first_length;
	const char *request;
	size_t length;
};

// Something of `request` does not leave.
static const struct form refused[] = {
	{"a method with _", S(""), S("_GET / HTTP/1.1\r\n" NAMED)},
	{"a method with -", S(""), S("M-SEARCH / HTTP/1.1\r\n" NAMED)},
	{"a method with digits", S(""), S("GET2 / HTTP/1.1\r\n" NAMED)},
	{"a method of digits", S(""), S("7 / HTTP/1.1\r\n" NAMED)},
	{"a method of marks", S(""), S("!#$%&'*+-.^_`|~ / HTTP/1.1\r\n" NAMED)},
	{"a later method with _", S(FIRST), S("_GET / HTTP/1.1\r\n" NAMED)},
	{"a later method with digits", S(FIRST), S("X1 / HTTP/1.1\r\n" NAMED)},
	{"a method of 40 letters", S(""),
		S("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMN / HTTP/1.1\r\n" NAMED)},
	{"HTTP/2.0", S(""), S("GET / HTTP/2.0\r\n" NAMED)},
	{"a later HTTP/2.0", S(FIRST), S("GET / HTTP/2.0\r\n" NAMED)},
	{"PRI, and a request", S(""), S("PRI * HTTP/2.0\r\n\r\n" BLOCKED)},
	{"HTTP/1.9", S(""), S("GET / HTTP/1.9\r\n" NAMED)},
	{"HTTP/1.12", S(FIRST), S("GET / HTTP/1.12\r\n" NAMED)},
	{"HTTP/01.1", S(""), S("GET / HTTP/01.1\r\n" NAMED)},
	{"HTTP/3", S(""), S("GET / HTTP/3\r\n" NAMED)},
	{"HTTP/0.9 and a name", S(""), S("GET http://blocked.example/\r\n")},
	{"a later HTTP/0.9", S(FIRST), S("GET http://blocked.example/\n")},
	{"HTTP/0.9 and fields", S(""), S("GET /\r\n" NAMED)},
	{"words behind the version", S(""), S("GET / HTTP/1.1 x\r\n" NAMED)},
	{"a Host folded over a line of blanks", S(""),
		S("GET / HTTP/1.1\r\nHost:\r\n \r\n blocked.example\r\n\r\n")},
	{"a later one over two", S(FIRST),
		S("GET / HTTP/1.1\r\nHost:\r\n \r\n\t\r\n blocked.example\r\n\r\n")},
	{"a blank in the target", S(""), S("GET /a b HTTP/1.1\r\n" NAMED)},
	{"a blank in an absolute target", S(""),
		S("GET http://blocked.example/a b HTTP/1.1\r\n" OTHER)},
	{"a tab", S(""), S("GET\t/ HTTP/1.1\r\n" NAMED)},
	{"tabs", S(FIRST), S("GET\t/\tHTTP/1.1\r\n" NAMED)},
	{"tabs around a name", S(FIRST), S("GET\thttp://blocked.example/\tHTTP/1.1\r\n" OTHER)},
	{"blanks", S(FIRST), S("GET   /   HTTP/1.1   \r\n" NAMED)},
	{"a blank in front", S(""), S(" GET / HTTP/1.1\r\n" NAMED)},
	{"form feeds", S(""), S("GET\f/\vHTTP/1.1\r\n" NAMED)},
	{"CR for blanks", S(""), S("GET\r/\rHTTP/1.1\r\n" NAMED)},
	{"lines of LF", S(""), S("GET / HTTP/1.1\nHost: blocked.example\n\n")},
	{"later lines of LF", S(FIRST), S("GET / HTTP/1.1\nHost: blocked.example\n\n")},
	{"a header without end", S(""), S("GET / HTTP/1.1\r\nHost: blocked.example\r\n")},
	{"a header that CR CR LF ends", S(FIRST),
		S("GET / HTTP/1.1\r\nHost: blocked.example\r\n\r\r\n")},
	{"a header that a blank ends", S(FIRST),
		S("GET / HTTP/1.1\r\nHost: plain.example\r\n \r\n" BLOCKED)},
	{"two Hosts", S(""), S("GET / HTTP/1.1\r\nHost: plain.example\r\n" NAMED)},
	{"two Hosts, the other first", S(""),
		S("GET / HTTP/1.1\r\nHost: blocked.example\r\n" OTHER)},
	{"two Hosts, one of another application", S(""),
		S("GET / HTTP/1.1\r\nHost: allowed.example\r\n" NAMED)},
	{"two Hosts, later", S(REQUEST("allowed.example")),
		S("GET / HTTP/1.1\r\nHost: allowed.example\r\n" NAMED)},
	{"a target and another Host", S(""), S("GET http://plain.example/ HTTP/1.1\r\n" NAMED)},
	{"a target of another application", S(""),
		S("GET http://allowed.example/ HTTP/1.1\r\n" NAMED)},
	{"a target, its Host another", S(""), S("GET http://blocked.example/ HTTP/1.1\r\n" OTHER)},
	{"CONNECT and another Host", S(""), S("CONNECT plain.example:443 HTTP/1.1\r\n" NAMED)},
	{"two requests, the first of another application", S(""),
		S(REQUEST("allowed.example") BLOCKED)},
	{"a blank before the colon", S(""), S("GET / HTTP/1.1\r\nHost : blocked.example\r\n\r\n")},
	{"a tab before the colon", S(FIRST), S("GET / HTTP/1.1\r\nHost\t:blocked.example\r\n\r\n")},
	{"a Host on a line that goes on", S(""),
		S("GET / HTTP/1.1\r\nHost:\r\n blocked.example\r\n\r\n")},
	{"a blank before Host", S(""), S("GET / HTTP/1.1\r\n Host: blocked.example\r\n\r\n")},
	{"Host behind a bare CR", S(""),
		S("GET / HTTP/1.1\r\nX: y\rHost: blocked.example\r\n\r\n")},
	{"a NUL behind the name", S(""), S("GET / HTTP/1.1\r\nHost: blocked.example\0x\r\n\r\n")},
	{"a NUL before Host", S(""), S("GET / HTTP/1.1\r\nX: \0\r\n" NAMED)},
	{"a NUL in the line", S(""), S("GET /\0 HTTP/1.1\r\n" NAMED)},
	{"a port and a user", S(""), S("GET / HTTP/1.1\r\nHost: blocked.example:80@x\r\n\r\n")},
	{"a path behind the name", S(""), S("GET / HTTP/1.1\r\nHost: blocked.example/x\r\n\r\n")},
	{"a line without a colon", S(""), S("GET / HTTP/1.1\r\nfoo\r\n" NAMED)},
	{"a line that is none between", S(FIRST), S("garbage\r\n" BLOCKED)},
	{"half a line between", S(FIRST), S("(\1\2\3)\r\n" BLOCKED)},
	{"a body of GET", S("GET / HTTP/1.1\r\nHost: x\r\n" OF_LENGTH), S(BLOCKED)},
	{"a body of HEAD", S("HEAD / HTTP/1.1\r\nHost: x\r\n" OF_LENGTH), S(BLOCKED)},
	{"a body of an unknown method", S("PURGE_IT / HTTP/1.1\r\nHost: x\r\n" OF_LENGTH),
		S(BLOCKED)},
	{"a body of post", S("post / HTTP/1.1\r\nHost: x\r\n" OF_LENGTH), S(BLOCKED)},
	{"behind a body of GET", S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"),
		S(BLOCKED)},
	{"a target behind a body of GET",
		S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"),
		S("((GET http://blocked.example/ HTTP/1.1\r\n" OTHER)},
	{"a target behind a body with a colon",
		S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"),
		S("x:POST http://blocked.example HTTP/1.1\r\n" OTHER)},
	{"a target behind a body of words",
		S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"),
		S("some words http://x/ GET http://blocked.example/ HTTP/1.1\r\n" OTHER)},
	{"a target behind a body of CR",
		S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"),
		S("(\rPUT http://blocked.example/ HTTP/1.1\r\n" OTHER)},
	{"a method behind a body, CR for a blank",
		S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"),
		S("((PUT\rhttp://blocked.example/ HTTP/1.1\r\n" OTHER)},
	{"CONNECT behind a body", S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"),
		S("CONNECONNECT blocked.example:443 HTTP/1.0\r\n\r\n")},
	{"HTTP/0.9 behind a body", S("GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"),
		S("((GET http://blocked.example/\r\n")},
	{"lines of CR", S(""), S("GET / HTTP/1.1\rHost: blocked.example\r\r")},
	{"later lines of CR", S(FIRST), S("GET / HTTP/1.1\rHost: blocked.example\r\r")},
	{"chunks of GET",
		S("GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n29\r\n"),
		S(BLOCKED)},
	{"a body that is expected", S(POST "Expect: 100-continue\r\n" OF_LENGTH), S(BLOCKED)},
	{"chunks and a length", S(POST "Transfer-Encoding: chunked\r\n" OF_LENGTH), S(BLOCKED)},
	{"a length and chunks",
		S(POST "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n29\r\n"),
		S(BLOCKED)},
	{"two lengths", S(POST "Content-Length: 0\r\n" OF_LENGTH), S(BLOCKED)},
	{"two lengths in one", S(POST "Content-Length: 41, 0\r\n\r\n"), S(BLOCKED)},
	{"a length with a sign", S(POST "Content-Length: +41\r\n\r\n"), S(BLOCKED)},
	{"an octal length", S(POST "Content-Length: 051\r\n\r\n"), S(BLOCKED)},
	{"a length in a folded line", S(POST "X: y\r\n Content-Length: 41\r\n\r\n"), S(BLOCKED)},
	{"a length behind a bare CR", S(POST "X: y\rContent-Length: 41\r\n\r\n"), S(BLOCKED)},
	{"a length before a NUL", S(POST "Content-Length: 41\0\r\n\r\n"), S(BLOCKED)},
	{"a length that a colon is away from", S(POST "Content-Length : 41\r\n\r\n"), S(BLOCKED)},
	{"lines of LF and a length", S("POST / HTTP/1.1\nHost: x\nContent-Length: 41\n\n"),
		S(BLOCKED)},
	{"chunks in HTTP/1.0",
		S("POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n29\r\n"),
		S(BLOCKED)},
	{"another coding", S(POST "Transfer-Encoding: xchunked\r\n\r\n29\r\n"), S(BLOCKED)},
	{"chunked and a tab of lines", S(POST "Transfer-Encoding: chunked\v\r\n\r\n29\r\n"),
		S(BLOCKED)},
	{"a body of Upgrade that hides a length",
		S(POST "Upgrade: x\r\nContent-Length: 53\r\n\r\nPOST / HTTP/1.1\r\nHost: x\r\n"
		       "Content-Length: 9999\r\n\r\nabc"),
		S(BLOCKED)},
	{"a request in what is unclear",
		S(POST "Content-Length: 0\r\nContent-Length: 1\r\n\r\n" POST
		       "Content-Length: 9999\r\n\r\n"),
		S(BLOCKED)},
	{"a chunk's line of LF", S(CHUNKED "29\n"), S(BLOCKED)},
	{"a chunk's extension of LF", S(CHUNKED "29;a\n"), S(BLOCKED)},
	{"a chunk's extension with CR", S(CHUNKED "29;a\rb\r\n"), S(BLOCKED)},
	{"a chunk's size of another base", S(CHUNKED "0x29\r\n"), S(BLOCKED)},
	{"a chunk's size beyond 32 bits", S(CHUNKED "100000000\r\n"), S(BLOCKED)},
	{"a chunk's size with a sign", S(CHUNKED "+29\r\n"), S(BLOCKED)},
	{"a chunk of another end", S(CHUNKED "5\r\nhelloxx"), S(BLOCKED)},
	{"a chunk that LF ends", S(CHUNKED "5\r\nhello\n29\r\n"), S(BLOCKED)},
	{"last chunk of LF", S(CHUNKED "0\n"), S(BLOCKED)},
	{"a name in a trailer", S(CHUNKED "0\r\n"), S("Host: blocked.example\r\n\r\n")},
	{"a request for a trailer", S(CHUNKED "0\r\n"), S(BLOCKED)},
	{"a trailer of LF", S(CHUNKED "0\r\nX: y\n\n"), S(BLOCKED)},
	{"behind a trailer", S(CHUNKED "0\r\nX: y\r\nZ: a\r\n\r\n"), S(BLOCKED)},
};

static const size_t pieces[] = {1400, 7, 1, 30};

static void say_form(struct names_talk *c, const struct form *form)
{
	names_talk_open(c);
	names_talk_say(c, HALF_C2S, form->first, form->first_length);
	if (c->reset)
		fail_msg("%s, by %zu: refused too early", form->name, c->piece);
	names_talk_say(c, HALF_C2S, form->request, form->length);
}

static void no_form_hides_a_name(void **state)
{
	unsigned bad = 0;
	(void)state;

	for (unsigned i = 0; i < 4 * sizeof(refused) / sizeof(refused[0]); i++) {
		struct names_talk c = names_talk_begin(pieces[i % 4]);

		say_form(&c, &refused[i / 4]);
		if (!c.reset) {
			print_error("%s, by %zu: passed\n", refused[i / 4].name, c.piece);
			bad++;
		}
		names_talk_end(&c);
	}
	assert_int_equal(bad, 0);
}

#define LINES "Host: blocked.example\r\nGET http://blocked.example/ HTTP/1.1\r\n" // 61 octets

// Nothing of these is refused, though names are in their bodies.
static const struct form passing[] = {
	{"requests", S(FIRST FIRST), S(FIRST REQUEST("allowed.example") FIRST)},
	{"a body of POST", S(POST "Content-Length: 61\r\n\r\n"), S(LINES FIRST)},
	{"a body of PUT", S("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 61\r\n\r\n"),
		S(LINES FIRST)},
	{"two lengths that agree", S(POST "Content-Length: 61\r\nContent-Length: 61\r\n\r\n"),
		S(LINES FIRST)},
	{"a body of HTTP/1.0", S("POST / HTTP/1.0\r\nHost: x\r\nContent-Length: 61\r\n\r\n"),
		S(LINES FIRST)},
	{"chunks", S(CHUNKED "3d\r\n"), S(LINES "\r\n03d;a=\"b\"\r\n" LINES "\r\n0\r\n\r\n" FIRST)},
	{"a trailer", S(CHUNKED "0\r\nx-amz-checksum-crc32: AAAA==\r\n\r\n"),
		S(POST "Content-Length: 61\r\n\r\n" LINES)},
	{"an upload that waits",
		S("PUT / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: "
		  "12\r\n\r\n"),
		S("some\r\ntext\r\n" FIRST)},
	{"a search with a body",
		S("GET /_search HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n"),
		S("{\"query\": {}}" FIRST)},
	{"a body with links", S("GET /_search HTTP/1.1\r\nHost: x\r\nContent-Length: 76\r\n\r\n"),
		S("{\"a link\": \"see http://blocked.example/x and GET it\"}\r\n"
		  "CONNECT is a method.\r\n" FIRST "Referer: http://blocked.example/\r\n")},
	{"a Cookie of many letters", S("GET / HTTP/1.1\r\nCookie: host=blocked.example; a=b\r\n"),
		S("Referer: http://blocked.example/\r\nHost: x\r\n\r\n" FIRST)},
	{"the same name twice",
		S("GET http://plain.example/ HTTP/1.1\r\nHost: plain.example\r\n\r\n"),
		S("GET http://plain.example/b HTTP/1.1\r\nHost: plain.example\r\n\r\n")},
	{"no HTTP", S("SSH-2.0-OpenSSH_9.2p1\r\n"), S(BLOCKED)},
	{"RTSP", S("DESCRIBE rtsp://plain.example/a RTSP/1.0\r\nCSeq: 1\r\n\r\n"),
		S("CSeq: 2\r\n\r\n")},
	{"a store", S("get /key\r\n"), S(BLOCKED)},
};

static void honest_clients_pass(void **state)
{
	(void)state;

	assert_int_equal(sizeof(LINES) - 1, 61);
	assert_int_equal(sizeof(BLOCKED) - 1, 41);
	for (unsigned i = 0; i < 4 * sizeof(passing) / sizeof(passing[0]); i++) {
		struct names_talk c = names_talk_begin(pieces[i % 4]);

		say_form(&c, &passing[i / 4]);
		if (c.reset)
			fail_msg("%s, by %zu: refused", passing[i / 4].name, c.piece);
		assert_int_equal(
			name_heads_left(c.pipe->dp.lcores[0]->name_heads), pipe_limits().heads);
		names_talk_end(&c);
	}
}

// Of a line of `length` octets, between two texts.
struct long_form {
	const char *name, *before;
	char filler;
	const char *behind;
};

static const struct long_form longs[] = {
	{"a path", "GET /", 'a', " HTTP/1.1\r\n" NAMED},
	{"a method", "", 'G', " / HTTP/1.1\r\n" NAMED},
	{"a path behind a name", "GET http://blocked.example/", 'a', " HTTP/1.1\r\n" OTHER},
	{"blanks in the line", "GET", ' ', "http://blocked.example/ HTTP/1.1\r\n" OTHER},
	{"a field", "GET / HTTP/1.1\r\nX: ", 'a', "\r\n" NAMED},
	{"blanks in front of the name", "GET / HTTP/1.1\r\nHost: ", ' ', "blocked.example\r\n\r\n"},
	{"a later path", FIRST "GET /", 'a', " HTTP/1.1\r\n" NAMED},
	{"a later field", FIRST "GET / HTTP/1.1\r\nX: ", 'a', "\r\n" NAMED},
	{"a trailer", CHUNKED "0\r\nX: ", 'a', "\r\n\r\n" BLOCKED},
	{"a target behind octets of no use",
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n(", 'a',
		"((GET http://blocked.example/ HTTP/1.1\r\n" OTHER},
	{"a path in a target behind a body",
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"
		"((GET http://blocked.example/",
		'a', " HTTP/1.1\r\n" OTHER},
	{"blanks in front of a target behind a body",
		"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n((PUT", ' ',
		"http://blocked.example/ HTTP/1.1\r\n" OTHER},
	{"a field, then a CR and blanks", "GET / HTTP/1.1\r\nX: ", 'a',
		" \r \rHost: blocked.example\r\n\r\n"},
	{"a target of a body", POST "X: ", 'a', "\r\nContent-Length: 61\r\n\r\n" BLOCKED},
};

static void a_long_line_hides_nothing(void **state)
{
	static const size_t lengths[] = {1500, 8180, 8192, 9000, 17000};
	static char filler[17000];
	(void)state;

	for (unsigned i = 0; i < 10 * sizeof(longs) / sizeof(longs[0]); i++) {
		const struct long_form *form = &longs[i / 10];
		size_t length = lengths[i / 2 % 5];
		struct names_talk c = names_talk_begin(i % 2 ? 536 : 1400);

		if (!strncmp(form->before, POST, sizeof(POST) - 1) && length < 8192)
			length = 8192;
		memset(filler, form->filler, length);
		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, form->before, strlen(form->before));
		names_talk_say(&c, HALF_C2S, filler, length);
		names_talk_say(&c, HALF_C2S, form->behind, strlen(form->behind));
		if (!c.reset)
			fail_msg("%s of %zu, by %zu: passed", form->name, length, c.piece);
		names_talk_end(&c);
	}
}

#define CUT_PLACES  72
#define BODY_OF_GET "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"

// The place where a long line is cut, or what is kept of it is, lies anywhere in a name or behind
// it.
static void no_name_is_cut(void **state)
{
	static const struct long_form cuts[] = {
		{"a target", BODY_OF_GET "GET ", 'a',
			"GET http://blocked.example/ HTTP/1.1\r\n" OTHER},
		{"a target of CONNECT", BODY_OF_GET "GET ", 'a',
			"CONNECT blocked.example:80 HTTP/1.1\r\n" OTHER},
		{"a target of HTTP/0.9", BODY_OF_GET "GET ", 'a',
			"GET http://blocked.example/\r\n"},
		{"the first of many", BODY_OF_GET "GET ", 'a',
			"GET http://blocked.example/ x://b x://c GET d://e/ CONNECT f:1 "
			"HTTP/1.1\r\n" OTHER},
		{"the last of many", BODY_OF_GET "GET ", 'a',
			"GET x://b x://c GET d://e/ CONNECT f:1 GET http://blocked.example "
			"HTTP/1.1\r\n" OTHER},
		{"a Host behind a CR", "GET / HTTP/1.1\r\nX: ", 'a',
			"\rHost: blocked.example\r\n\r\n"},
		{"a Host behind a line of blanks", "GET / HTTP/1.1\r\nX: ", 'a',
			"\r \rHost:   blocked.example\r\n\r\n"},
		{"a target behind a CR", "GET / HTTP/1.1\r\nX: ", 'a',
			"\rGET http://blocked.example/ HTTP/1.1\r\n" OTHER},
		{"a target before a CR", BODY_OF_GET "GET ", 'a',
			"GET http://blocked.example/\rHTTP/1.1\r\n" OTHER},
	};
	static char filler[3 * NAME_HEAD_BYTES];
	(void)state;

	memset(filler, 'a', sizeof(filler));
	for (unsigned i = 0; i < CUT_PLACES * sizeof(cuts) / sizeof(cuts[0]); i++) {
		const struct long_form *form = &cuts[i / CUT_PLACES];
		unsigned place = i % CUT_PLACES, again = place % 8 == 7; // it is cut twice
		size_t length = (1 + again) * (size_t)NAME_HEAD_BYTES + 5 - place;
		struct names_talk c = names_talk_begin(1400);

		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, form->before, strlen(form->before));
		names_talk_say(&c, HALF_C2S, filler, length);
		assert_false(c.reset);
		names_talk_say(&c, HALF_C2S, form->behind, strlen(form->behind));
		if (!c.reset)
			fail_msg("%s behind %zu: passed", form->name, length);
		names_talk_end(&c);
	}
}

// Fields of any number: none of them is kept.
static void any_number_of_fields_is_read(void **state)
{
	static const char field[] =
		"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
	struct names_talk c = names_talk_begin(1400);
	(void)state;

	names_talk_open(&c);
	names_talk_say(&c, HALF_C2S, S("GET / HTTP/1.1\r\n"));
	for (unsigned i = 0; i < 500; i++)
		names_talk_say(&c, HALF_C2S, S(field));
	assert_false(c.reset);
	names_talk_say(&c, HALF_C2S, S(NAMED));
	assert_true(c.reset);
	names_talk_end(&c);
}

static const struct flow *flow_of(const struct names_talk *c)
{
	const struct flow *flow = flow_at(c->pipe->dp.lcores[0]->flows, 0);

	for (unsigned i = 0; !flow->gen; i++)
		flow++;
	return flow;
}

// What is no HTTP/1 (any more) takes the fast path.
static void what_is_not_read_is_left_alone(void **state)
{
	static const struct {
		const char *first;
		size_t length;
		const char *answer, *next;
	} rows[] = {
		{S("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"), "\0\0", ""},
		{S("GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n\r\n"),
			"HTTP/1.1 101 Switching Protocols\r\n\r\n", ""},
		{S("CONNECT plain.example:22 HTTP/1.1\r\nContent-Length: 0\r\nHost: x\r\n\r\n"),
			"HTTP/1.1 200 OK\r\n\r\n", "SSH-2.0-OpenSSH_9.2p1\r\n"},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct names_talk c = names_talk_begin(1400);

		names_talk_open(&c);
		names_talk_say(&c, HALF_C2S, rows[i].first, rows[i].length);
		names_talk_say(&c, HALF_S2C, rows[i].answer, strlen(rows[i].answer) + 1);
		names_talk_say(&c, HALF_C2S, rows[i].next, strlen(rows[i].next));
		names_talk_say(&c, HALF_C2S, S(BLOCKED));
		assert_false(c.reset);
		assert_true(flow_of(&c)->flags & FLOW_APP_FINAL);
		names_talk_end(&c);
	}
}

// As records tell it.
static void records_tell_these_forms(void **state)
{
	static const struct {
		const char *request;
		enum http_seen seen;
		const char *method, *host;
	} rows[] = {
		{"_GET / HTTP/1.1\r\n" NAMED, HTTP_WHOLE, "_GET", "blocked.example"},
		{"X1 http://blocked.example:80/ HTTP/2.0\r\n" OTHER, HTTP_WHOLE, "X1",
			"blocked.example"},
		{"GET\t/\tHTTP/1.12\r\n" NAMED, HTTP_WHOLE, "GET", "blocked.example"},
		{"M-SEARCH * HT", HTTP_MORE, "", ""},
		{"GET /\r\n" NAMED, HTTP_NONE, "", ""},
		{"(\1\2", HTTP_NONE, "", ""},
	};
	(void)state;

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct http_request request;
		struct text half = {
			(const uint8_t *)rows[i].request, (uint32_t)strlen(rows[i].request)};

		assert_int_equal(http_request_read(half, &request), rows[i].seen);
		if (rows[i].seen != HTTP_WHOLE)
			continue;
		assert_true(text_is(request.method, rows[i].method));
		assert_true(text_is(request.host, rows[i].host));
	}
}

// The request waits for a verdict of the scan engine: what it names is decided upon when it goes
// on.
static void a_name_in_a_held_request_is_refused_later(void **state)
{
	const struct scan_config config = {
		.timeout_ns = 10 * NS_PER_S,
		.flows = 16,
		.n_script = 1,
		.script = {{.half = HALF_C2S,
			.after_bytes = sizeof(FIRST) - 1 + sizeof(BLOCKED) - 1,
			.delay_ms = 3000}},
	};
	struct names_talk c = names_talk_begin(1400);
	struct event event;
	(void)state;

	pipe_scan_new(c.pipe, &config);
	pipe_rule(c.pipe->policy, 8, ACTION_SCAN)->l4_proto = 0;
	names_talk_open(&c);
	names_talk_say(&c, HALF_C2S, S(FIRST));
	names_talk_say(&c, HALF_S2C, S(ANSWER));
	assert_false(c.reset);
	assert_int_equal(pipe_stats(c.pipe).scan_flows, 1);
	names_talk_segment(&c, HALF_C2S, TH_ACK, S(BLOCKED));
	assert_int_equal(pipe_stats(c.pipe).scan_pending, 1);
	assert_int_equal(pipe_stats(c.pipe).flows_condemned, 0);
	pipe_advance(c.pipe, 0.001); // the engine has it now
	pipe_advance(c.pipe, 3.01);
	assert_int_equal(pipe_stats(c.pipe).scan_clean, 1);
	assert_int_equal(pipe_stats(c.pipe).flows_condemned, 1);
	assert_true(pipe_event(c.pipe, 0, EVENT_ALERT, &event));
	assert_int_equal(event.rule_uid, 7);
	names_talk_end(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_form_hides_a_name),
		cmocka_unit_test(honest_clients_pass),
		cmocka_unit_test(a_long_line_hides_nothing),
		cmocka_unit_test(no_name_is_cut),
		cmocka_unit_test(any_number_of_fields_is_read),
		cmocka_unit_test(what_is_not_read_is_left_alone),
		cmocka_unit_test(records_tell_these_forms),
		cmocka_unit_test(a_name_in_a_held_request_is_refused_later),
	};

	return cmocka_run_group_tests(tests, names_talk_setup, names_talk_teardown);
}
