// SPDX-License-Identifier: BSD-3-Clause
// First messages beside the usual ones: what older clients begin with, the side that speaks first
// when it usually answers, applications that are asked for by ALPN.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "lib/peers/classify_talk.h"

static struct rig *rig;

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TALK(l4_word, port, list, app_name)                                             \
	&(const struct talk)                                                            \
	{                                                                               \
		.rig = rig, .packets = list, .n = COUNT(list), .l4 = IPPROTO_##l4_word, \
		.dport = port, .app = app_name                                          \
	}

// A ClientHello whose one extension is ALPN with these names, each behind its length.
static size_t hello_of(uint8_t bytes[256], const char *names)
{
	static const uint8_t begin[] = {0x16, 3, 1, 0, 0, 1, 0, 0, 0, 3, 3};
	static const uint8_t offer[] = {0, 0, 2, 0x13, 0x01, 1, 0};
	size_t length = strlen(names), at = sizeof(begin);

	memcpy(bytes, begin, sizeof(begin));
	memset(bytes + at, 0x5a, 32);
	at += 32;
	memcpy(bytes + at, offer, sizeof(offer));
	at += sizeof(offer);
	bytes[at++] = 0;
	bytes[at++] = (uint8_t)(length + 6);
	const uint8_t extension[] = {0, 16, 0, (uint8_t)(length + 2), 0, (uint8_t)length};

	memcpy(bytes + at, extension, sizeof(extension));
	at += sizeof(extension);
	memcpy(bytes + at, names, length);
	at += length;
	bytes[4] = (uint8_t)(at - 5);
	bytes[8] = (uint8_t)(at - 9);
	return at;
}

static void by_alpn(void **state)
{
	static const struct {
		const char *names, *app;
	} cases[] = {
		{"\x07"
		 "bep/1.0",
			"syncthing"},
		{"\x09"
		 "bep-relay",
			"syncthing"},
		{"\x0b"
		 "xmpp-client",
			"xmpp"},
		{"\x0b"
		 "xmpp-server",
			"xmpp"},
		{"\x08"
		 "http/1.1\x03"
		 "irc",
			"irc"},
		{"\x04"
		 "imap",
			"imap"},
		{"\x02"
		 "h2\x08"
		 "http/1.1",
			"tls"},
		{"\x06"
		 "bep/1.",
			"tls"},
		{"\x08"
		 "bep/1.00",
			"tls"},
	};
	uint8_t bytes[256];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		size_t length = hello_of(bytes, cases[i].names);

		rig_cuts(rig, IPPROTO_TCP, HALF_C2S, bytes, length, cases[i].app);
		// what a server says is no client's wish
		assert_string_not_equal(
			rig_first(rig, IPPROTO_TCP, HALF_S2C, bytes, length), "syncthing");
	}
}

static void test_syncthing(void **state)
{
#define ID "0123456789abcdef0123456789abcdef"
	static const char *const magics[] = {
		"\x9d\x79\xbc\x39", "\x9d\x79\xbc\x40", "\x7d\x79\xbc\x40", "\x2c\xa8\x56\xf5"};

	(void)state;
	for (size_t i = 0; i < COUNT(magics); i++) {
		uint8_t bytes[40] = {[7] = 32};

		memcpy(bytes, magics[i], 4);
		memcpy(bytes + 8, ID, 32);
		assert_string_equal(
			rig_first(rig, IPPROTO_UDP, HALF_C2S, bytes, sizeof(bytes)), "syncthing");
		assert_string_equal(
			rig_first(rig, IPPROTO_UDP, HALF_C2S, bytes, sizeof(bytes) - 1), "");
		bytes[7]++;
		assert_string_equal(
			rig_first(rig, IPPROTO_UDP, HALF_C2S, bytes, sizeof(bytes)), "");
	}
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S,
		LITERAL("\x9e\x79\xbc\x40\0\0\0\x03\0\0\0\x24"
			"\0\0\0\x20" ID),
		"syncthing");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x9e\x79\xbc\x40"), "syncthing");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x9d\x79\xbc\x39"), "syncthing");
}

// Who pierces the firewall speaks first; who had asked for it says the rest.
static void test_soulseek(void **state)
{
	static const struct packet shares[] = {
		SAYS(C2S, "\x05\0\0\0\0ABCD", 9), SAYS(S2C, "\x04\0\0\0\x04\0\0\0", 8)};
	static const struct packet transfer[] = {SAYS(C2S, "\x05\0\0\0\0ABCD", 9),
		SAYS(S2C, "\x11\x22\x33\x44", 4), SAYS(C2S, "\x10\x27\0\0\0\0\0\0", 8)};
	const struct talk *talk = TALK(TCP, 2234, shares, "soulseek");

	(void)state;
	talk_means(talk, 8);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 2, 3, 4));
	talk_hangs_on(talk, 1, OFFSETS(3, 4, 5, 6, 7));
	talk = TALK(TCP, 2234, transfer, "soulseek");
	talk_means(talk, 8);
	talk_hangs_on(talk, 2, OFFSETS(4, 7));
	rig_random(rig, IPPROTO_TCP, LITERAL("\x05\0\0\0\0"), "soulseek");
}

static void test_teamspeak_query(void **state)
{
	(void)state;
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_S2C,
				    LITERAL("TS3\n\rWelcome to the TeamSpeak 3 ServerQuery")),
		"teamspeak");
	assert_string_equal(
		rig_first(rig, IPPROTO_TCP, HALF_S2C, LITERAL("[TS]\r\n")), "teamspeak");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_C2S, LITERAL("[TS]\r\n")), "");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, HALF_S2C, LITERAL("[TS] hello\r\n")), "");
}

static void test_gnutella_agents(void **state)
{
	static const struct {
		const char *agent, *app;
	} cases[] = {
		{"LimeWire/4.18.8", "gnutella"},
		{"gtk-gnutella/1.1.15 (2020-01-06; GTK2; Linux)", "gnutella"},
		{"Shareaza 2.7.10.2", "gnutella"},
		{"BearShare Lite 5.2.5", "gnutella"},
		{"Mozilla/5.0 LimeWire/4.18.8", "http"},
		{"LimeWired/4", "http"},
	};
	char request[200];

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		int length = snprintf(request, sizeof(request),
			"GET / HTTP/1.1\r\nHost: 192.0.2.1\r\nUser-Agent: %s\r\n\r\n",
			cases[i].agent);

		rig_cuts(rig, IPPROTO_TCP, HALF_C2S, request, (size_t)length, cases[i].app);
	}
}

static void test_pplive(void **state)
{
	static const struct packet one[] = {SAYS(C2S, "\xe9\x03\x41\x01", 57)};
	static const struct packet both[] = {
		SAYS(C2S, "\xe9\x03\x41\x01", 57), SAYS(S2C, "\xe9\x03\x42\x01", 100)};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 8303);

	(void)state;
	talk_means(TALK(UDP, 8303, one, "pplive"), 8);
	talk_hangs_on(TALK(UDP, 8303, one, "pplive"), 0, OFFSETS(0, 1, 2, 3));
	for (unsigned i = 0; i < COUNT(both); i++) {
		rig_feed(&flow, both[i].half, talk_bytes(&both[i], i), both[i].length);
		assert_int_equal(flow.verdict.confidence, i ? CONFIDENCE_DPI : CONFIDENCE_PARTIAL);
	}
	rig_end(&flow);
	rig_random(rig, IPPROTO_UDP, LITERAL("\xe9"), "pplive");
}

static void test_kontiki(void **state)
{
	static const struct packet asks[] = {SAYS(C2S, "\x02\x01\x01\x00", 4)};
	static const struct packet longer[] = {SAYS(C2S,
		"\x02"
		"0123456789abcde"
		"\x02\x04\x01\x00",
		20)};
	static const struct packet other[] = {SAYS(C2S,
		"\x02"
		"0123456789a"
		"\x00\x00\x04\xe4",
		16)};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 1000);

	(void)state;
	talk_means(TALK(UDP, 1000, asks, "kontiki"), 4);
	talk_hangs_on(TALK(UDP, 1000, asks, "kontiki"), 0, OFFSETS(0, 1, 2, 3));
	talk_means(TALK(UDP, 1000, longer, "kontiki"), 20);
	talk_hangs_on(TALK(UDP, 1000, longer, "kontiki"), 0, OFFSETS(0, 16, 17, 18, 19));
	talk_means(TALK(UDP, 1000, other, "kontiki"), 16);
	talk_hangs_on(TALK(UDP, 1000, other, "kontiki"), 0, OFFSETS(0, 12, 13, 14, 15));
	rig_feed(&flow, HALF_C2S, talk_bytes(asks, 0), 4);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_S2C, talk_bytes(longer, 0), 20);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
	rig_random(rig, IPPROTO_UDP, LITERAL("\x02"), "kontiki");
}

static void test_aimini(void **state)
{
	static const struct packet row[] = {SAYS(C2S, "\x01\x0b", 64), SAYS(S2C, "\x01\x15", 300)};
	static const struct packet broken[] = {
		SAYS(C2S, "\x01\x0b", 64), SAYS(S2C, "\x09", 20), SAYS(S2C, "\x01\x15", 300)};
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 1000);

	(void)state;
	talk_means(TALK(UDP, 1000, row, "aimini"), 88);
	talk_hangs_on(TALK(UDP, 1000, row, "aimini"), 0, OFFSETS(0, 1));
	talk_hangs_on(TALK(UDP, 1000, row, "aimini"), 1, OFFSETS(0, 1));
	assert_string_equal(talk_after(TALK(UDP, 1000, row, "aimini"), 0, -1, 63), "");
	assert_string_equal(talk_after(TALK(UDP, 1000, broken, "aimini"), 9, -1, -1), "");
	for (unsigned i = 0; i < 3; i++)
		rig_feed(&flow, HALF_C2S, talk_bytes(&row[i & 1], i), row[i & 1].length);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
	rig_random(rig, IPPROTO_UDP, LITERAL("\x01\x0b"), "aimini");
}

// Google's QUIC without a name, then media in the same flow.
// Sessions whose beginning was not seen.
static void test_directconnect_midstream(void **state)
{
	static const struct {
		const char *text, *app;
	} cases[] = {
		{"$MyINFO $ALL nick description<++ V:0.868>$ $100\x01$$0$|", "directconnect"},
		{"$Direction Download 21034|", "directconnect"},
		{"$ADCGET file TTH/ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFG 0 100|",
			"directconnect"},
		{"$NickList a$$b$$|", "directconnect"},
		{"$Search Hub:nick F?T?0?1?text|", "directconnect"},
		{"BINF ABCD ID4MQ5PDWHYX4XRPEYQQXYCQGGQB24ONTKPNGSBSY NIx\n", "directconnect"},
		{"ISID ABCD\n", "directconnect"},
		{"$MyINFO $ALL|", ""},
		{"$Direction Sideways 1|", ""},
		{"BINF abcd\n", ""},
		{"$HOME/bin:$PATH|", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 411);

		flow.midstream = true;
		rig_feed(&flow, HALF_C2S, cases[i].text, strlen(cases[i].text));
		assert_string_equal(rig_app(&flow), cases[i].app);
		rig_end(&flow);
	}
}

// What looks like two commands of IRC and is none.
static void test_not_irc(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 8080);

	(void)state;
	flow.midstream = true;
	rig_feed(&flow, HALF_C2S, LITERAL("PING 1404134592\n"));
	rig_feed(&flow, HALF_S2C, LITERAL("PONG 1404134592000\n"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 119);
	rig_feed(&flow, HALF_C2S, LITERAL("MODE READER\r\n"));
	assert_string_not_equal(rig_app(&flow), "irc");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 6667);
	rig_feed(&flow, HALF_S2C, LITERAL("PING :irc.example\r\n"));
	assert_string_equal(rig_app(&flow), "irc");
	rig_end(&flow);
}

// STUN's answers have lengths of Aimini's.
static void test_stun_is_not_aimini(void **state)
{
	static const struct packet answers[] = {SAYS(S2C, "\x01\x01\0\x44\x21\x12\xa4\x42", 88),
		SAYS(S2C, "\x01\x01\0\x44\x21\x12\xa4\x42", 88)};
	static const struct packet aimini[] = {
		SAYS(S2C, "\x01\x01\0\0", 88), SAYS(S2C, "\x01\x01\0\0", 88)};

	(void)state;
	assert_string_not_equal(
		talk_after(TALK(UDP, 3478, answers, "aimini"), 9, -1, -1), "aimini");
	assert_string_equal(talk_after(TALK(UDP, 3478, aimini, "aimini"), 9, -1, -1), "aimini");
}

static void test_snapchat_call(void **state)
{
#define Q046(tag)                \
	"\xc3Q046\x50"           \
	"12345678"               \
	"\0\0\0\1"               \
	"abcdefghijkl\xa0\1\0\4" \
	"CHLO\2\0\0\0" tag "\4\0\0\0VER\0\x8\0\0\0"
	static const struct packet call[] = {ZEROS(C2S, Q046("PAD\0"), 1200), SAYS(S2C, "\x43", 60),
		SAYS(C2S, "\x80\x6f\0\1", 120)};
	static const struct packet web[] = {ZEROS(C2S, Q046("SNI\0"), 1200), SAYS(S2C, "\x43", 60),
		SAYS(C2S, "\x80\x6f\0\1", 120)};
	const struct talk *talk = TALK(UDP, 443, call, "snapchat");

	(void)state;
	talk_means(talk, 12);
	talk_hangs_on(talk, 0, OFFSETS(0, 1, 4, 34, 37));
	talk_hangs_on(talk, 2, OFFSETS(0, 1));
	assert_string_equal(talk_after(TALK(UDP, 443, web, "snapchat"), 9, -1, -1), "quic");
	rig_random(rig, IPPROTO_UDP, LITERAL("\xc3Q046"), "snapchat");
}

static void test_files(void **state)
{
	static const struct {
		enum half half;
		const char *text, *app;
	} cases[] = {
		{HALF_S2C, "@RSYNCD: 31.0 sha512 sha256 sha1 md5 md4\n", "rsync"},
		{HALF_C2S, "@RSYNCD: 29\n", "rsync"},
		{HALF_S2C, "@RSYNCD: OK\n", ""},
		{HALF_C2S, "PROPFIND /a HTTP/1.1\r\nHost: a.example\r\nDepth: 1\r\n\r\n", "webdav"},
		{HALF_C2S, "MKCOL /a/ HTTP/1.1\r\nHost: a.example\r\n\r\n", "webdav"},
		{HALF_C2S,
			"MOVE /a HTTP/1.1\r\nHost: a.example\r\ndestination: "
			"http://a.example/b\r\n\r\n",
			"webdav"},
		{HALF_C2S, "MOVE /a HTTP/1.1\r\nHost: a.example\r\n\r\n", "http"},
		{HALF_C2S,
			"OPTIONS / HTTP/1.1\r\nUser-Agent: "
			"Microsoft-WebDAV-MiniRedir/10.0.19041\r\nHost: a.example\r\n\r\n",
			"webdav"},
		{HALF_S2C, "HTTP/1.1 207 Multi-Status\r\nContent-Length: 0\r\n\r\n", "webdav"},
		{HALF_S2C, "HTTP/1.1 200 OK\r\nDAV: 1\r\nContent-Length: 0\r\n\r\n", "http"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		assert_string_equal(rig_first(rig, IPPROTO_TCP, cases[i].half, cases[i].text,
					    strlen(cases[i].text)),
			cases[i].app);
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, cases[5].text, strlen(cases[5].text), "webdav");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, cases[7].text, strlen(cases[7].text), "webdav");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_alpn),
		cmocka_unit_test(test_syncthing),
		cmocka_unit_test(test_soulseek),
		cmocka_unit_test(test_teamspeak_query),
		cmocka_unit_test(test_gnutella_agents),
		cmocka_unit_test(test_pplive),
		cmocka_unit_test(test_kontiki),
		cmocka_unit_test(test_aimini),
		cmocka_unit_test(test_directconnect_midstream),
		cmocka_unit_test(test_not_irc),
		cmocka_unit_test(test_stun_is_not_aimini),
		cmocka_unit_test(test_snapchat_call),
		cmocka_unit_test(test_files),
	};
	int failed;

	rig = rig_new();
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rig_free(rig);
	return failed;
}
