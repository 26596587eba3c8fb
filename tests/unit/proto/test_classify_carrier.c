// SPDX-License-Identifier: BSD-3-Clause
// HTTP, TLS, QUIC, DTLS: the carriers; and DNS, SSH, SOCKS, Git.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct bytes {
	const char *at;
	size_t length;
};

static struct rig *rig;

static const char *tcp(enum half half, const char *bytes, size_t length)
{
	return rig_first(rig, IPPROTO_TCP, half, bytes, length);
}

static const char *udp(const void *bytes, size_t length)
{
	return rig_first(rig, IPPROTO_UDP, HALF_C2S, bytes, length);
}

static const char *midstream_from(uint16_t port, const char *bytes, size_t length)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, port, 50000);

	flow.midstream = true;
	rig_feed(&flow, HALF_C2S, bytes, length);
	rig_end(&flow);
	return rig_app(&flow);
}

static const char *midstream(const char *bytes, size_t length)
{
	return midstream_from(443, bytes, length);
}

static void test_http(void **state)
{
	static const char *const good[] = {
		"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
		"HEAD /x HTTP/1.0\r\n\r\n",
		"POST http://a.example/x HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd",
		"OPTIONS * HTTP/1.1\nHost: a.example\n\n",
		"CONNECT a.example:443 HTTP/1.1\r\n\r\n",
		"REPORT /dav/ HTTP/1.1\r\nDepth: 1\r\n\r\n",
		"X-OWN_method / HTTP/1.1\r\nHost: a.example\r\n\r\n",
	};
	static const char status[] = "HTTP/1.1 200 OK\r\nServer: a\r\n\r\n";

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++)
		rig_cuts(rig, IPPROTO_TCP, HALF_C2S, good[i], strlen(good[i]), "http");
	rig_cuts(rig, IPPROTO_TCP, HALF_S2C, LITERAL(status), "http");
	assert_string_equal(midstream(LITERAL(status)), "http");
	assert_string_equal(tcp(HALF_C2S, LITERAL("GET /old\r\n")), "http");
	assert_string_equal(tcp(HALF_C2S, LITERAL("GET /old\r\n\r\n")), "http");
	// a version that nobody has
	assert_string_equal(
		tcp(HALF_C2S, LITERAL("POST /x HTTP/\0211.1\r\nHost: a.example\r\n\r\n")), "http");
}

static void test_http_refused(void **state)
{
	static const char *const bad[] = {
		"GET",
		"GET ",
		"GET rich quick\r\n",
		"GET key\r\n",
		"GET /old\r\nHost: a.example\r\n\r\n",
		"POST /x\r\n",
		"HELLO world\r\n",
		"GET / SPDY/3\r\n",
		"say HTTP/1.1\r\n",
		"\x80 / HTTP/1.1\r\n",
		"HTTP/2.0 200 OK\r\n",
		"HTTP/1.1 2x0 OK\r\n",
		"HTTP/1.1200 OK\r\n",
		"XYZ HTTP/1.1\r\nno field\r\n\r\n",
		"GET / HTTP/3\r\nno field\r\n\r\n",
		"GET / HTTP/3\r\n",
		"GET x HTTP/3\r\nHost: a.example\r\n\r\n",
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(tcp(HALF_C2S, bad[i], strlen(bad[i])), "");
	rig_random(rig, IPPROTO_TCP, LITERAL("GET "), "http");
	rig_random(rig, IPPROTO_TCP, LITERAL("HTTP/1."), "http");
}

// Until the header is whole, another application may show in it.
static void test_http_waits(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 80);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL("POST /x HTTP/1.1\r\nHost: a\r\n"));
	assert_string_equal(rig_app(&flow), "http");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_C2S, LITERAL("Content-Length: 9\r\n\r\n"));
	assert_false(flow.verdict.final);
	rig_feed(&flow, HALF_C2S, LITERAL("some=form"));
	assert_true(flow.verdict.final);
	assert_string_equal(rig_app(&flow), "http");
	assert_int_equal(flow.verdict.n_data_pkts, 1);

	// a NetBIOS session does not speak HTTP back
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);
	rig_feed(&flow, HALF_S2C, LITERAL("\x83\0\0\1\x8f"));
	rig_feed(&flow, HALF_C2S, LITERAL("GET / HTTP/1.0\r\n\r\n"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

// RFC 6455 5.2, 5.3: one frame of at most 125 octets; masked if there is a key.
static size_t frame(uint8_t *to, uint8_t first, const char *key, const char *payload)
{
	size_t n = strlen(payload), head = key ? 6 : 2;

	to[0] = first;
	to[1] = (uint8_t)(n | (key ? 0x80 : 0));
	if (key)
		memcpy(to + 2, key, 4);
	for (size_t i = 0; i < n; i++)
		to[head + i] = (uint8_t)(payload[i] ^ (key ? key[i % 4] : 0));
	return head + n;
}

static int frames_sure; // how sure the last one was

static const char *frames_of(const uint8_t *client, size_t n_client, const uint8_t *server,
	size_t n_server, bool midstreams)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 8080);

	flow.midstream = midstreams;
	if (n_client)
		rig_feed(&flow, HALF_C2S, client, n_client);
	if (n_server)
		rig_feed(&flow, HALF_S2C, server, n_server);
	rig_end(&flow);
	frames_sure = flow.verdict.confidence;
	return rig_app(&flow);
}

// A connection that was picked up behind its handshake.
static void test_websocket_frames(void **state)
{
	static const char key[] = "\x9f\x21\xe5\x0c", json[] = "{\"op\":\"pong\",\"id\":12}";
	uint8_t client[300], server[300];
	size_t n, m;

	(void)state;
	n = frame(client, 0x81, key, "subscribe: news, weather, cats");
	assert_string_equal(frames_of(client, n, NULL, 0, true), "websocket");
	assert_string_equal(frames_of(client, n, NULL, 0, false), ""); // HTTP comes first
	for (size_t cut = 1; cut < 6 + 24; cut++)
		assert_string_equal(frames_of(client, cut, NULL, 0, true), "");
	assert_string_equal(frames_of(client, 6 + 24, NULL, 0, true), "websocket");
	assert_int_equal(frames_sure, CONFIDENCE_DPI);
	client[10] ^= 0x80; // beyond ASCII, and not UTF-8 (RFC 6455 5.6)
	assert_string_equal(frames_of(client, n, NULL, 0, true), "");
	client[10] = (uint8_t)key[0] ^ 7; // no text
	assert_string_equal(frames_of(client, n, NULL, 0, true), "");
	// RFC 3629 4: characters of two, three and four octets; one too long, half of one
	n = frame(client, 0x81, key, "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80!!");
	assert_string_equal(frames_of(client, n, NULL, 0, true), "websocket");
	assert_int_equal(frames_sure, CONFIDENCE_DPI);
	n = frame(client, 0x81, key, "gr\xc0\xbc\xc3\x9f \xe2\x82\xac and much more of it");
	assert_string_equal(frames_of(client, n, NULL, 0, true), "");
	n = frame(client, 0x81, key, "gr\xc3\xfc \xe2\x82\xac and much more of this text");
	assert_string_equal(frames_of(client, n, NULL, 0, true), "");
	n = frame(client, 0x81, key, "likes it all now");
	assert_string_equal(frames_of(client, n, NULL, 0, true), "websocket");
	assert_int_equal(frames_sure, CONFIDENCE_DPI);
	n = frame(client, 0x81, key, "likes it"); // little: a hint
	assert_string_equal(frames_of(client, n, NULL, 0, true), "websocket");
	assert_int_equal(frames_sure, CONFIDENCE_PARTIAL);
	assert_string_equal(frames_of(client, n + 1, NULL, 0, true), "");
	n = frame(client, 0x81, NULL, "not masked and no JSON");
	assert_string_equal(frames_of(client, n, NULL, 0, true), "");

	m = frame(server, 0x81, NULL, json);
	assert_string_equal(frames_of(NULL, 0, server, m, true), "websocket");
	for (size_t cut = 1; cut < m; cut++)
		assert_string_equal(frames_of(NULL, 0, server, cut, true), "");
	server[m - 1] = ',';
	assert_string_equal(frames_of(NULL, 0, server, m, true), "");

	// ping and pong, and deflated messages: by both halves
	static const uint8_t firsts[] = {0x82, 0x89, 0x8a, 0xc1, 0xc2};

	for (unsigned i = 0; i < COUNT(firsts); i++) {
		n = frame(client, firsts[i], key, "\xff\x01\x02\x03");
		m = frame(server, firsts[i], NULL, "\xfe\x01\x02\x03\x04");
		assert_string_equal(frames_of(client, n, NULL, 0, true), "");
		assert_string_equal(frames_of(NULL, 0, server, m, true), "");
		assert_string_equal(frames_of(client, n, server, m, true), "websocket");
		assert_int_equal(frames_sure, CONFIDENCE_PARTIAL);
		memcpy(client + n, client, n); // twice: three frames in all
		assert_string_equal(frames_of(client, 2 * n, server, m, true), "websocket");
		assert_int_equal(frames_sure, CONFIDENCE_DPI);
		assert_string_equal(frames_of(client, n, server, m - 1, true), "");
		assert_string_equal(frames_of(client, n, client, n, true), "");
		client[0] |= 0x10; // reserved
		assert_string_equal(frames_of(client, n, server, m, true), "");
	}
	// lengths of 16 and 64 bits, never longer than needed
	memset(client, 'a', sizeof(client));
	memcpy(client, "\x81\xfe\x00\xd0\0\0\0\0", 8);
	assert_string_equal(frames_of(client, 8 + 0xd0, NULL, 0, true), "websocket");
	client[3] = 0x7d;
	assert_string_equal(frames_of(client, 8 + 0x7d, NULL, 0, true), "");
	memcpy(client, "\x81\xff\0\0\0\0\0\x01\0\0\0\0\0\0", 14);
	assert_string_equal(frames_of(client, 200, NULL, 0, true), "websocket");
	client[7] = 0;
	assert_string_equal(frames_of(client, 200, NULL, 0, true), "");
	client[7] = 1;
	client[2] = 0x80;
	assert_string_equal(frames_of(client, 200, NULL, 0, true), "");
	// control frames are short
	memcpy(client, "\x89\xfe\x00\xd0\0\0\0\0", 8);
	assert_string_equal(frames_of(client, 8 + 0xd0, server, m, true), "");
}

static void test_http2_git(void **state)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
	static const char pack[] = "0032git-upload-pack /project.git\0host=a.example\0";

	(void)state;
	assert_string_equal(tcp(HALF_C2S, LITERAL(preface)), "http2");
	assert_string_equal(tcp(HALF_C2S, LITERAL(pack)), "git");
	assert_string_equal(tcp(HALF_C2S, LITERAL("zz32git-upload-pack /project.git")), "");
	// from the server's side alone
#define OBJECT "7217a7c7e582c46cec22a130adf4b9d7d950fba0"
	assert_string_equal(
		tcp(HALF_S2C, LITERAL("0055" OBJECT " HEAD\0multi_ack thin-pack\n")), "git");
	assert_string_equal(tcp(HALF_S2C, LITERAL("000eversion 2\n0015agent=git/2.39\n")), "git");
	assert_string_equal(tcp(HALF_S2C, LITERAL("0055" OBJECT " HEAD\0another thing\n")), "");
	assert_string_equal(tcp(HALF_S2C, LITERAL("000eversion 7\n")), "");
	assert_string_equal(tcp(HALF_C2S, LITERAL("000eversion 2\n")), "");
#undef OBJECT
}

#define RANDOM_32 "abcdefghijklmnopqrstuvwxyz012345"

static const char client_hello[] =
	"\x16\3\1\0\x31\1\0\0\x2d\3\3" RANDOM_32 "\0\0\4\x13\1\x13\2\1\0\0\0";
static const char server_hello[] = "\x16\3\3\0\x2a\2\0\0\x26\3\3" RANDOM_32 "\0\x13\1\0";

static void test_tls(void **state)
{
	static const char ssl2[] = "\x80\x1f\1\3\1\0\6\0\0\0\x10"
				   "\0\0\4\0\0\5"
				   "0123456789abcdef";

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(client_hello), "tls");
	rig_cuts(rig, IPPROTO_TCP, HALF_S2C, LITERAL(server_hello), "tls");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(ssl2), "tls");
	// the longest session id
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S,
		LITERAL("\x16\3\1\0\x51\1\0\0\x4d\3\3" RANDOM_32 "\x20" RANDOM_32
			"\0\4\x13\1\x13\2\1\0\0\0"),
		"tls");
	rig_cuts(rig, IPPROTO_TCP, HALF_S2C,
		LITERAL("\x16\3\3\0\x4a\2\0\0\x46\3\3" RANDOM_32 "\x20" RANDOM_32 "\x13\1\0"),
		"tls");
	assert_string_equal(tcp(HALF_S2C, LITERAL("\x15\3\1\0\2\2\x28")), "tls");
}

static void test_tls_refused(void **state)
{
	// version; no such handshake; hello too short; session id too long; odd
	// suites; suites beyond the message; no compression; an alert of no level; data at once
	static const struct bytes bad[] = {
		{LITERAL("\x16\x10\5\0\x31\1\0\0\x2d\3\3" RANDOM_32 "\0\0\4\x13\1\x13\2\1\0")},
		{LITERAL("\x16\3\1\0\x31\3\0\0\x2d\3\3" RANDOM_32 "\0\0\4\x13\1\x13\2\1\0")},
		{LITERAL("\x16\3\1\0\x14\1\0\0\x10\3\3" RANDOM_32)},
		{LITERAL("\x16\3\1\0\x31\1\0\0\x2d\3\3" RANDOM_32 "\x21\0\4\x13\1\x13\2\1\0")},
		{LITERAL("\x16\3\1\0\x31\1\0\0\x2d\3\3" RANDOM_32 "\0\0\3\x13\1\x13\2\1\0")},
		{LITERAL("\x16\3\1\0\x31\1\0\0\x2d\3\3" RANDOM_32 "\0\1\4\x13\1\x13\2\1\0")},
		{LITERAL("\x16\3\1\0\x31\1\0\0\x2d\3\3" RANDOM_32 "\0\0\4\x13\1\x13\2\0\0")},
		{LITERAL("\x16\3\3\0\x2a\2\0\0\x26\3\3" RANDOM_32 "\x21\x13\1\0")},
		// a session id of 33 bytes is all that is wrong
		{LITERAL("\x16\3\1\0\x52\1\0\0\x4e\3\3" RANDOM_32 "\x21" RANDOM_32
			 "6\0\4\x13\1\x13\2\1\0\0\0")},
		{LITERAL("\x16\3\3\0\x4b\2\0\0\x47\3\3" RANDOM_32 "\x21" RANDOM_32 "6\x13\1\0")},
		{LITERAL("\x15\3\1\0\2\3\x28")}, {LITERAL("\x17\3\3\0\4abcd")},
		{LITERAL("\x16\3\1\0\0")},
		{LITERAL("\x80\x20\1\3\1\0\6\0\0\0\x10\0\0\4\0\0\5")}, // lengths that do not add up
		{LITERAL("\x80\x1f\1\3\1\0\5\0\0\0\x11\0\0\4\0\0\5")}, // no threes
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(tcp(HALF_C2S, bad[i].at, bad[i].length), "");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x16\3\1"), "tls");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x80"), "tls");
}

static void test_tls_empty(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 13392);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL("\x16\3\1\0\0"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_S2C, LITERAL("\x15\3\1\0\0"));
	assert_string_equal(rig_app(&flow), "tls");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 13392);
	rig_feed(&flow, HALF_C2S, LITERAL("\x16\3\1\0\0"));
	rig_feed(&flow, HALF_S2C, LITERAL("\x17\3\2\0\0")); // another version
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static void test_tls_midstream(void **state)
{
	(void)state;
	assert_string_equal(midstream(LITERAL("\x17\3\3\0\4abcd")), "tls");
	assert_string_equal(midstream(LITERAL("\x17\3\3\0\4abcd\x17\3\3\0\4abcd")), "tls");
	assert_string_equal(midstream(LITERAL("\x17\3\3\0\4abcd\x17\3\3\0\x40xy")), "tls");
	assert_string_equal(midstream(LITERAL("\x17\3\3\0\4abcdefghijk")), "");
	// half a record: on HTTPS's port it may be one, elsewhere it may be anything
	assert_string_equal(midstream(LITERAL("\x17\3\3\0\x40xy")), "tls");
	assert_string_equal(midstream_from(5223, LITERAL("\x17\3\3\0\x40xy")), "");
	assert_string_equal(midstream(LITERAL("\x17\3\3\x60\0abcdefghijk")), "");
	assert_string_equal(midstream(LITERAL("abcd\x17\3\3\0\4abcd")), "");
}

// Known by whose network it is, and the port.
static void test_applepush(void **state)
{
	static const struct {
		uint8_t address[4];
		uint16_t port;
		const char *app;
	} cases[] = {
		{{17, 1, 2, 3}, 5223, "applepush"},
		{{17, 1, 2, 3}, 443, "tls"},
		{{18, 1, 2, 3}, 5223, "tls"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(cases); i++)
		for (unsigned half = 0; half < 2; half++) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 40001);

			memset(flow.ends.address[half] + 10, 0xff, 2);
			memcpy(flow.ends.address[half] + 12, cases[i].address, 4);
			flow.ends.port[half] = cases[i].port;
			flow.midstream = true;
			rig_feed(&flow, HALF_C2S, LITERAL("\x17\3\3\0\4abcd"));
			assert_string_equal(rig_app(&flow), cases[i].app);
			rig_end(&flow);
		}
	// not even there anything else than TLS
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 5223);

	memcpy(flow.ends.address[HALF_S2C] + 10, "\xff\xff\x11\1\2\3", 6);
	rig_feed(&flow, HALF_C2S, LITERAL("\x17\3\5\0\4abcd"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static void test_ssh(void **state)
{
	static const char *const bad[] = {"SSH-3.0-a\r\n", "SSH-2.0\r\n", "SSH-2.1-a\r\n",
		"SSH-1.x-a\r\n", "SSH-2.0-\x01\r\n"};

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL("SSH-2.0-OpenSSH_9.2 Debian\r\n"), "ssh");
	rig_cuts(rig, IPPROTO_TCP, HALF_S2C, LITERAL("SSH-1.99-OpenSSH_6.6\n"), "ssh");
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(tcp(HALF_C2S, bad[i], strlen(bad[i])), "");
}

static const char *answered(const char *asked, size_t n_asked, const char *answer, size_t n_answer)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	rig_feed(&flow, HALF_C2S, asked, n_asked);
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_S2C, answer, n_answer);
	rig_end(&flow);
	return rig_app(&flow);
}

static void test_socks(void **state)
{
	static const char connect4[] = "\4\1\0\x50\x0a\0\0\1me";
	static const char connect4a[] = "\4\1\0\x50\0\0\0\1me\0a.example";
	static const char granted[] = "\0\x5a\0\0\0\0\0\0";

	(void)state; // sizeof: with the closing zero
	assert_string_equal(answered(connect4, sizeof(connect4), LITERAL(granted)), "socks");
	assert_string_equal(answered(connect4a, sizeof(connect4a), LITERAL(granted)), "socks");
	assert_string_equal(
		answered(connect4, sizeof(connect4), LITERAL("\0\x59\0\0\0\0\0\0")), "");
	assert_string_equal(answered(connect4, sizeof(connect4) - 1, LITERAL(granted)), "");
	assert_string_equal(answered(LITERAL("\5\2\0\1"), LITERAL("\5\0")), "socks");
	assert_string_equal(answered(LITERAL("\5\1\0"), LITERAL("\5\xff")), "socks");
	assert_string_equal(answered(LITERAL("\5\2\0\1"), LITERAL("\5\2")), "");
	assert_string_equal(answered(LITERAL("\5\2\0\1"), LITERAL("\4\0")), "");
	assert_string_equal(answered(LITERAL("\5\2\0\1x"), LITERAL("\5\0")), "");
}

static const char query[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";
static const char answer[] = "\x12\x34\x81\x80\0\1\0\1\0\0\0\0\3www\7example\3com\0\0\1\0\1"
			     "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\1";

static void test_dns(void **state)
{
	static const char in_tcp[] =
		"\0\x21\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";
	// EDNS: OPT's class is the size that the client takes, 1232 and 4096 (RFC 6891 6.1.2)
	static const char edns[] = "\x12\x34\1\x20\0\1\0\0\0\0\0\1\3www\7example\3com\0\0\1\0\1"
				   "\0\0\x29\4\xd0\0\0\x80\0\0\0";
	static const char edns_answer[] =
		"\x12\x34\x81\x80\0\1\0\1\0\0\0\1\3www\7example\3com\0\0\1\0\1"
		"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\x0a\0\0\1\0\0\x29\x10\0\0\0\0\0\0\0";
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 5353, 5353);

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(query), "dns");
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(edns), "dns");
	rig_cuts(rig, IPPROTO_UDP, HALF_S2C, LITERAL(edns_answer), "dns");
	rig_cuts(rig, IPPROTO_UDP, HALF_S2C, LITERAL(answer), "dns");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(in_tcp), "dns");
	rig_feed(&flow, HALF_C2S, LITERAL(query)); // multicast DNS has a name of its own
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static void test_dns_refused(void **state)
{
	// two questions; reserved bit; a query with a result, with answers; a label too long; a
	// pointer forwards; class 7; one byte too many; an answer beyond the end; opcode 3
	static const struct bytes bad[] = {
		{LITERAL("\x12\x34\1\0\0\2\0\0\0\0\0\0\1a\0\0\1\0\1")},
		{LITERAL("\x12\x34\1\x40\0\1\0\0\0\0\0\0\1a\0\0\1\0\1")},
		{LITERAL("\x12\x34\1\3\0\1\0\0\0\0\0\0\1a\0\0\1\0\1")},
		{LITERAL("\x12\x34\1\0\0\1\0\1\0\0\0\0\1a\0\0\1\0\1")},
		{LITERAL("\x12\x34\1\0\0\1\0\0\0\0\0\0\x41z\0\0\1\0\1")},
		{LITERAL("\x12\x34\1\0\0\1\0\0\0\0\0\0\xc0\x20\0\1\0\1\0\0")},
		{LITERAL("\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\7")},
		{LITERAL("\x12\x34\1\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1x")},
		{LITERAL("\x12\x34\x81\0\0\1\0\1\0\0\0\0\1a\0\0\1\0\1\1b\0\0\1\0\1\0\0\0\0\0\4ab")},
		{LITERAL("\x12\x34\x19\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1")},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(udp(bad[i].at, bad[i].length), "");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x12\x34\1\0\0\1\0\0\0\0\0\0"), "dns");
}

static void test_quic(void **state)
{
	uint8_t initial[1200] = "\xc3\0\0\0\1\4abcd\4efgh\0\x44\x9e";
	static const char negotiation[] = "\x80\0\0\0\0\4abcd\4efgh\0\0\0\1\x1a\x2a\x3a\x4a";
	static const char retry[] = "\xf0\0\0\0\1\4abcd\4efghtoken0123456789abcdef";

	(void)state;
	assert_string_equal(udp(initial, sizeof(initial)), "quic");
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, initial, sizeof(initial), "quic");
	assert_string_equal(udp(LITERAL(negotiation)), "quic");
	assert_string_equal(udp(LITERAL(retry)), "quic");
	memcpy(initial + 1, "\x6b\x33\x43\xcf", 4);
	initial[0] = 0xd3; // version 2 numbers its types in another way
	assert_string_equal(udp(initial, sizeof(initial)), "quic");
	memcpy(initial + 1, "Q050", 4);
	assert_string_equal(udp(initial, sizeof(initial)), "quic");
	memcpy(initial,
		"\x0d"
		"abcdefghQ043\1",
		14);
	assert_string_equal(udp(initial, sizeof(initial)), "quic");
	memcpy(initial + 9, "Q044", 4); // has a long header
	assert_string_equal(udp(initial, sizeof(initial)), "");
}

static void test_quic_refused(void **state)
{
	uint8_t initial[1200] = "\xc3\0\0\0\1\4abcd\4efgh\0\x44\x9e";
	static const struct {
		unsigned at;
		uint8_t byte;
	} wrong[] = {
		{0, 0x43},      // no long header
		{4, 3},         // no such version
		{5, 21},        // a connection id too long
		{10, 21},       // and the other
		{15, 0x7f},     // a token beyond the end
		{16, 0x44 + 2}, // a length beyond the end
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		uint8_t right = initial[wrong[i].at];

		initial[wrong[i].at] = wrong[i].byte;
		assert_string_equal(udp(initial, sizeof(initial)), "");
		initial[wrong[i].at] = right;
	}
	assert_string_equal(udp(LITERAL("\x80\0\0\0\0\4abcd\4efgh\1\2\3\4")), "");
	assert_string_equal(udp(LITERAL("\x80\0\0\0\0\4abcd\4efgh\0\0\0\1\0")), "");
}

static void test_dtls(void **state)
{
	static const char hello[] = "\x16\xfe\xff\0\0\0\0\0\0\0\0\0\x10"
				    "\1\0\0\4\0\0\0\0\0\0\0\4"
				    "abcd";
	static const char sealed[] = "\x17\xfe\xfd\0\1\0\0\0\0\0\5\0\4abcd";
	static const struct bytes bad[] = {
		{LITERAL("\x16\xfe\xfc\0\0\0\0\0\0\0\0\0\4abcd")}, // version
		{LITERAL("\x19\xfe\xfd\0\0\0\0\0\0\0\0\0\4abcd")}, // type
		{LITERAL("\x17\xfe\xfd\0\1\0\0\0\0\0\5\0\5abcd")}, // longer than the datagram
		{LITERAL("\x17\xfe\xfd\0\1\0\0\0\0\0\5\0\3abcd")}, // something behind it
		{LITERAL("\x17\xfe\xfd\0\1\0\0\0\0\0\5\0\0")},
	};

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(hello), "dtls");
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(sealed), "dtls");
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(udp(bad[i].at, bad[i].length), "");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x16\xfe\xfd"), "dtls");
}

static int setup(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),
		cmocka_unit_test(test_http_refused),
		cmocka_unit_test(test_http_waits),
		cmocka_unit_test(test_websocket_frames),
		cmocka_unit_test(test_http2_git),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_tls_refused),
		cmocka_unit_test(test_tls_empty),
		cmocka_unit_test(test_tls_midstream),
		cmocka_unit_test(test_applepush),
		cmocka_unit_test(test_ssh),
		cmocka_unit_test(test_socks),
		cmocka_unit_test(test_dns),
		cmocka_unit_test(test_dns_refused),
		cmocka_unit_test(test_quic),
		cmocka_unit_test(test_quic_refused),
		cmocka_unit_test(test_dtls),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
