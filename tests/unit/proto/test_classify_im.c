// SPDX-License-Identifier: BSD-3-Clause
// MSN, Yahoo, OSCAR and XMPP by what they say first. Payload lies in exact heap blocks (the rig).
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct rig *rig;

static const char *first(enum half half, const char *bytes)
{
	return rig_first(rig, IPPROTO_TCP, half, bytes, strlen(bytes));
}

static void is_never(const char *const lines[], unsigned n, const char *app)
{
	for (unsigned i = 0; i < n; i++) {
		assert_string_not_equal(first(HALF_C2S, lines[i]), app);
		assert_string_not_equal(first(HALF_S2C, lines[i]), app);
	}
}

// Each whole and cut in two anywhere, from either side.
static void is_always(const char *const lines[], unsigned n, const char *app)
{
	for (unsigned i = 0; i < n; i++) {
		rig_cuts(rig, IPPROTO_TCP, HALF_C2S, lines[i], strlen(lines[i]), app);
		rig_cuts(rig, IPPROTO_TCP, HALF_S2C, lines[i], strlen(lines[i]), app);
	}
}

static void test_msn_commands(void **state)
{
	static const char *const good[] = {
		"VER 0 MSNP8 CVR0\r\n",
		"VER 1 MSNP18 MSNP17 CVR0\r\n",
		"VER MSNFTP\r\n",
		"CVR 2 0x0409 winnt 5.1 i386 MSNMSGR 6.0.0602 MSMSGS a@example.com\r\n",
		"USR 3 TWN I alice@example.com\r\n",
		"USR 1 alice@example.com 17262740.1050826919.32308\r\n",
		"ANS 1 alice@example.com 1050826919.32308 17262740\r\n",
		"IRO 1 1 2 bob@example.com Bob\r\n",
		"CAL 2 bob@example.com\r\n",
		"CAL 2 RINGING 11752013\r\n",
		"JOI bob@example.com Bob 1073741824\r\n",
		"MSG 4 N 133\r\nMIME-Version: 1.0\r\n",
		"MSG bob@example.com Bob 133\r\nMIME-Version: 1.0\r\n",
		"XFR 3 NS 207.46.106.118:1863 0 207.46.104.20:1863\r\n",
		"XFR 15 SB\r\n",
		"RNG 11752013 207.46.108.38:1863 CKI 849102291.520491113 bob@example.com Bob\r\n",
		"CHG 9 NLN 0\r\n",
		"NLN NLN bob@example.com Bob 1073741824\r\n",
		"ILN 9 AWY bob@example.com Bob\r\n",
		"REM 12 FL bob@example.com\r\n",
		"BYE bob@example.com\r\n",
	};

	(void)state;
	is_always(good, COUNT(good), "msn");
}

static void test_msn_refused(void **state)
{
	static const char *const bad[] = {
		"VER 1 2 3\r\n",
		"VER x MSNP8\r\n",
		"USR 1 alice secret\r\n",
		"ANS yes\r\n",
		"IRO 1 1 2 nobody Bob\r\n",
		"CAL 2024 events\r\n",
		"MSG hello there\r\n",
		"MSG 4 N\r\n",
		"MSG 4 X 133\r\n",
		"MSG 4 N 9999999999\r\n",
		"XFR 3 NS nowhere\r\n",
		"RNG 1 1.2.3.4:1863 XXX a b\r\n",
		"CHG 9 SAD 0\r\n",
		"BYE bye\r\n",
		"REM this is a comment\r\n",
		"SYN 5 5\r\n", // alone it proves nothing
		"PNG\r\n",     // nor does this
		"VER\x01 1 MSNP8\r\n",
		"\x89PNG\r\n\x1a\n",
		"\4\0\0\0bar",
	};

	(void)state;
	is_never(bad, COUNT(bad), "msn");
}

static void test_msn_ping(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 1037, 1863);

	(void)state;
	flow.midstream = true;
	rig_feed(&flow, HALF_C2S, LITERAL("PNG\r\n"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_S2C, LITERAL("QNG 45\r\n"));
	assert_string_equal(rig_app(&flow), "msn");
	assert_int_equal(flow.verdict.n_data_pkts, 2);
	rig_end(&flow);

	flow = rig_flow(rig, IPPROTO_TCP, 1037, 1863);
	rig_feed(&flow, HALF_C2S, LITERAL("PNG\r\n"));
	rig_feed(&flow, HALF_S2C, LITERAL("ERR 45\r\n"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static void test_msn_carried(void **state)
{
	static const char open[] =
		"POST /gateway/gateway.dll?Action=open&Server=NS&IP=messenger.example.com "
		"HTTP/1.1\r\nHost: gateway.example.com\r\nContent-Length: 18\r\n\r\n"
		"VER 1 MSNP8 CVR0\r\n";
	static const char answer[] = "HTTP/1.1 200 OK\r\nX-MSN-Messenger: SessionID=1.2; "
				     "GW-IP=gateway.example.com\r\n\r\n";
	static const char other[] =
		"POST /gateway/other.dll?Action=open HTTP/1.1\r\nHost: a\r\n\r\n";

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(open), "msn");
	assert_string_equal(first(HALF_S2C, answer), "msn");
	assert_string_equal(first(HALF_C2S, other), "http");
	// a direct connection for a file
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL("\4\0\0\0foo\0\x30\0\0\0"), "msn");
}

static void test_yahoo(void **state)
{
	static const char login[] = "YMSG\0\x10\0\0\0\x0a\0\x57\0\0\0\0ZU\xaaU"
				    "1\xc0\x80"
				    "alice\xc0\x80";
	static const char ping[] = "YMSG\0\x10\0\0\0\0\0\x4c\0\0\0\0\0\0\0\0";
	static const char old[] = "YMSG\x09\0\0\0\0\0\0\x4c\0\0\0\0\0\0\0\0";
	static const char post[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20\r\n\r\n"
				   "YMSG\0\x10\0\0\0\0\0\x4c\0\0\0\0\0\0\0\0";
	// version 0, version too high, a body that is no list of keys
	static const char *const bad[] = {
		"YMSG\0\0\0\0\0\0\0\x4c\0\0\0\0\0\0\0\0",
		"YMSG\x10\x10\0\0\0\0\0\x4c\0\0\0\0\0\0\0\0",
		"YMSG\0\xff\0\0\0\0\0\x4c\0\0\0\0\0\0\0\0",
		"YMSG\0\x10\0\0\0\4\0\x4c\0\0\0\0\0\0\0\0abcd",
	};

	(void)state;
	for (unsigned half = 0; half < 2; half++) {
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(login), "yahoo");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(ping), "yahoo");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(old), "yahoo");
	}
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(post), "yahoo");
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(
			rig_first(rig, IPPROTO_TCP, HALF_C2S, bad[i], i < 3 ? 20 : 24), "");
}

static void test_oscar(void **state)
{
	static const char hello[] = "*\1\x19\x8a\0\4\0\0\0\1";
	static const char cookie[] = "*\1\0\1\0\x0c\0\0\0\1\0\6\0\4abcd";
	static const char since_icq6[] = "*\1\0\1\0\x0c\0\0\0\1\x80\3\0\4\0\x10\0\0";
	static const char both[] = "*\1\0\1\0\x14\0\0\0\1\x80\xff\0\0\0\6\0\4abcd\x80\0\0\0";
	static const char snac[] = "*\2\x19\x8b\0\x0c\0\1\0\3\0\0\x80.}\x10\0\1";
	static const char behind[] = "*\5\0\1\0\0*\2\0\2\0\x0a\0\4\0\6\0\0\0\0\0\1";
	static const char oft[] = "OFT2\1\0\1\1abcdefgh";
	static const char odc[] = "ODC2\0\x4c\0\1abcdefgh";

	(void)state;
	for (unsigned half = 0; half < 2; half++) {
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(hello), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(cookie), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(since_icq6), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(both), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(snac), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(behind), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(oft), "oscar");
		rig_cuts(rig, IPPROTO_TCP, half, LITERAL(odc), "oscar");
	}
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL("FLAPON\r\n\r\n"), "oscar");
}

static void test_oscar_refused(void **state)
{
	// FLAP version 2; a TLV longer than its frame, and one of an impossible type; a SNAC too
	// short, of no family, of no subtype, with wild flags; channel 6; a keep-alive with a body;
	// a second frame that is none; file transfers of no type and of an impossible header
	static const struct {
		const char *bytes;
		size_t length;
	} bad[] = {
		{LITERAL("*\1\0\1\0\4\0\0\0\2")},
		{LITERAL("*\1\0\1\0\x0c\0\0\0\1\0\6\0\5abcd")},
		{LITERAL("*\1\0\1\0\x0c\0\0\0\1\xff\6\0\4abcd")},
		{LITERAL("*\1\0\1\0\x0c\0\0\0\1\2\1\0\4abcd")},
		{LITERAL("*\1\0\1\0\x0c\0\0\0\1\x7f\xff\0\4abcd")},
		{LITERAL("*\1\0\1\0\x0c\0\0\0\1\x81\0\0\4abcd")},
		{LITERAL("*\1\0\1\0\x0c\0\0\0\1\x80\3\0\5abcd")},
		{LITERAL("*\2\0\1\0\x09\0\1\0\3\0\0\0\0\0")},
		{LITERAL("*\2\0\1\0\x0a\0\0\0\3\0\0\0\0\0\0")},
		{LITERAL("*\2\0\1\0\x0a\0\1\0\0\0\0\0\0\0\0")},
		{LITERAL("*\2\0\1\0\x0a\0\1\0\3\x7f\xff\0\0\0\0")},
		{LITERAL("*\6\0\1\0\x0a\0\1\0\3\0\0\0\0\0\0")},
		{LITERAL("*\5\0\1\0\x0a\0\1\0\3\0\0\0\0\0\0")},
		{LITERAL("*\5\0\1\0\0+\2\0\2\0\x0a\0\4\0\6\0\0\0\0\0\1")},
		{LITERAL("*\5\0\1\0\0")},
		{LITERAL("OFT2\1\0\3\1abcdefgh")},
		{LITERAL("OFT2\0\x10\1\1abcdefgh")},
		{LITERAL("ODC2\0\x4c\0\2abcdefgh")},
		{LITERAL("FLAPON please\r\n")},
		{LITERAL("*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n")},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++)
		for (unsigned half = 0; half < 2; half++)
			assert_string_not_equal(
				rig_first(rig, IPPROTO_TCP, half, bad[i].bytes, bad[i].length),
				"oscar");
}

static void test_xmpp_stream(void **state)
{
	static const char *const good[] = {
		("<?xml version='1.0' ?><stream:stream to='example.com' xmlns='jabber:client' "
		 "xmlns:stream='http://etherx.jabber.org/streams' version='1.0'>"),
		"<stream:stream xmlns=\"jabber:server\" from=\"a.example\" to=\"b.example\">",
		" <stream:stream\r\n xmlns:stream = 'http://etherx.jabber.org/streams'\r\n>",
		"<flash:stream xmlns='jabber:client' to='example.com' version='1.0' />",
		"</stream:stream>",
	};
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 57094, 5222);

	(void)state;
	is_always(good, COUNT(good), "xmpp");
	rig_feed(&flow, HALF_C2S, LITERAL("<?xml version='1.0' ?>"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_C2S, LITERAL("<stream:stream xmlns='jabber:client' to='a.example'>"));
	assert_string_equal(rig_app(&flow), "xmpp");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_VERIFIED);
	rig_end(&flow);
}

static void test_xmpp_stanza(void **state)
{
	static const char *const good[] = {
		"<iq type='set' id='a1' to='example.com'><query xmlns='jabber:iq:roster'/></iq>",
		"<message to='a@example.com' from='b@example.com'><body>hi</body></message>",
		"<presence><c xmlns='http://jabber.org/protocol/caps' ver='x'/></presence>",
		"<stream:features><starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
		"<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>",
		"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>AGE=</auth>",
	};
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 57149, 5222);

	(void)state;
	is_always(good, COUNT(good), "xmpp");
	flow.midstream = true;
	rig_feed(&flow, HALF_S2C, good[1], strlen(good[1]));
	assert_string_equal(rig_app(&flow), "xmpp");
	rig_end(&flow);
}

static void test_xmpp_refused(void **state)
{
	static const char *const bad[] = {
		"<stream:stream xmlns='urn:example' to='example.com'>",
		"<stream:stream xmlns='jabber:client'to='example.com'>", // not well-formed
		"<stream:stream xmlns=jabber:client>",
		"<stream:stream 'jabber:client'>",
		"<stream:stream xmlns='jabber:client' to='<'>",
		"<stream:streams xmlns='jabber:client'>",
		"<?xml version='1.0'?><rss xmlns='jabber:client'>",
		"<?xml version='1.0'?><message><body>hello</body></message>",
		"<message><a/><b/><c/><d/></message>",
		"<html><body>jabber:client</body></html>",
		"<policy-file-request/>",
		"stream:stream xmlns='jabber:client'",
	};

	(void)state;
	is_never(bad, COUNT(bad), "xmpp");
}

static void test_xmpp_bosh(void **state)
{
	static const char post[] =
		"POST /http-bind/ HTTP/1.1\r\nHost: example.com\r\nContent-Type: text/xml\r\n\r\n"
		"<body rid='1' to='example.com' xmlns='http://jabber.org/protocol/httpbind'/>";
	static const char page[] =
		"HTTP/1.1 200 OK\r\n\r\n<p>see http://jabber.org/protocol/httpbind";

	(void)state;
	assert_string_equal(first(HALF_C2S, post), "xmpp");
	assert_string_equal(first(HALF_S2C, page), "http");
}

static void test_random(void **state)
{
	(void)state;
	rig_random(rig, IPPROTO_TCP, LITERAL("MSG "), "msn");
	rig_random(rig, IPPROTO_TCP, LITERAL("VER 1 "), "msn");
	rig_random(rig, IPPROTO_TCP, LITERAL("YMSG"), "yahoo");
	rig_random(rig, IPPROTO_TCP, LITERAL("*\1"), "oscar");
	rig_random(rig, IPPROTO_TCP, LITERAL("*\2"), "oscar");
	rig_random(rig, IPPROTO_TCP, LITERAL("OFT2"), "oscar");
	rig_random(rig, IPPROTO_TCP, LITERAL("<stream:stream "), "xmpp");
	rig_random(rig, IPPROTO_TCP, LITERAL("<message "), "xmpp");
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
		cmocka_unit_test(test_msn_commands),
		cmocka_unit_test(test_msn_refused),
		cmocka_unit_test(test_msn_ping),
		cmocka_unit_test(test_msn_carried),
		cmocka_unit_test(test_yahoo),
		cmocka_unit_test(test_oscar),
		cmocka_unit_test(test_oscar_refused),
		cmocka_unit_test(test_xmpp_stream),
		cmocka_unit_test(test_xmpp_stanza),
		cmocka_unit_test(test_xmpp_refused),
		cmocka_unit_test(test_xmpp_bosh),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
