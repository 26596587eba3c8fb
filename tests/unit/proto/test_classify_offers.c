// SPDX-License-Identifier: BSD-3-Clause
// What messengers and Gnutella announce: XMPP's bytestreams, MSN's two ways, PUSH and GIV. Each
// whole, in pieces of every size, cut short, and with lies in it.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;
static char told[4096]; // a line each: "ADDRESS:PORT from PEER as AS user USER file FILE size"

static void put(const char *text)
{
	size_t at = strlen(told);

	snprintf(told + at, sizeof(told) - at, "%s", text);
}

static void put_address(const uint8_t address[16])
{
	static const uint8_t any[16];
	char text[40];

	if (!memcmp(address, any, 16))
		snprintf(text, sizeof(text), "any");
	else if (address[10] == 0xff)
		snprintf(text, sizeof(text), "%u.%u.%u.%u", address[12], address[13], address[14],
			address[15]);
	else
		snprintf(text, sizeof(text), "[%02x%02x..%02x]", address[0], address[1],
			address[15]);
	put(text);
}

static void hear(void *ctx, const struct expectation *expectation)
{
	char text[400];

	(void)ctx;
	put_address(expectation->address);
	snprintf(text, sizeof(text), ":%u from ", expectation->port);
	put(text);
	put_address(expectation->peer);
	snprintf(text, sizeof(text), " as %s user '%s' file '%s' %llu\n",
		expected_as_word(expectation->as), expectation->label.user, expectation->label.file,
		(unsigned long long)expectation->label.size);
	put(text);
	assert_int_equal(expectation->l4_proto,
		expectation->as == EXPECTED_MEDIA ? IPPROTO_UDP : IPPROTO_TCP);
	assert_true(expectation->ttl_s > 0 && expectation->ttl_s <= 300);
}

static void hear_transfer(void *ctx, const struct transfer_label *label)
{
	(void)ctx;
	put("carries '");
	put(label->file);
	put("'\n");
}

static struct asked requests;
static const struct decoder_sink sink = {
	.expect = hear, .transfer = hear_transfer, .asked = &requests};
// 10.0.0.7 and 10.0.0.22
static const struct flow_ends ends = {
	.address = {{[10] = 0xff, 0xff, 10, 0, 0, 7}, {[10] = 0xff, 0xff, 10, 0, 0, 22}},
	.port = {40000, 5222},
};

struct said {
	enum half half;
	const char *text;
	size_t length;
};
#define SAID(half, text)                            \
	{                                           \
		HALF_##half, text, sizeof(text) - 1 \
	}

// What is reported a conversation, `piece` octets a span, without the last `short_by`.
static const char *hears(
	const char *app, const struct said *said, unsigned n, size_t piece, size_t short_by)
{
	uint32_t state = CLASSIFY_NO_STATE;
	uint64_t offset[2] = {0};
	bool done = false;

	told[0] = 0;
	for (unsigned i = 0; i < n; i++) {
		size_t length = said[i].length - (i + 1 == n ? short_by : 0);

		for (size_t at = 0; at < length && !done; at += piece) {
			size_t here = length - at < piece ? length - at : piece;
			uint8_t *exact = malloc(here);
			const struct span span = {.offset64 = offset[said[i].half],
				.unchecked = exact,
				.extent = (uint32_t)here,
				.half = said[i].half == HALF_S2C};

			assert_non_null(exact);
			memcpy(exact, said[i].text + at, here);
			offset[said[i].half] += here;
			done = decoder_feed(rig->classifier, app_find(app), &ends, &span, &state,
				       &sink) == DECODER_DONE;
			free(exact);
		}
	}
	classify_end(rig->classifier, &state);
	return told;
}

static void means(const char *app, const struct said *said, unsigned n, const char *expected)
{
	for (size_t piece = 1; piece < 80; piece++)
		assert_string_equal(hears(app, said, n, piece, 0), expected);
	assert_string_equal(hears(app, said, n, 100000, 0), expected);
	for (size_t short_by = 1; short_by <= said[n - 1].length; short_by++)
		hears(app, said, n, 100000, short_by); // the sanitizers look on
}

static void one_means(const char *app, enum half half, const char *text, const char *expected)
{
	const struct said said = {half, text, strlen(text)};

	assert_string_equal(hears(app, &said, 1, 100000, 0), expected);
}

#define BYTESTREAMS "xmlns='http://jabber.org/protocol/bytestreams'"

static void xmpp_offers(void **state)
{
	static const struct said said[] = {
		SAID(S2C, "<iq type='result' to='me@a.example/x' id='bind'/>"),
		// a file of ours: stream initiation, then where we are and a proxy
		SAID(C2S, "<iq type='set' to='al@b.example/y' id='1'><si id='s1' "
			  "profile='http://jabber.org/"
			  "protocol/si/profile/file-transfer'><file name='my &gt; file.txt' "
			  "size='77'>"
			  "<desc>x</desc></file></si></iq>"),
		SAID(S2C, "<message from='c@d' to='me@a.example/x'><body>a > b</body></message>"),
		SAID(C2S,
			"<iq type='set' to='al@b.example/y' id='2'><query " BYTESTREAMS
			" sid='s1' mode='tcp'>"
			"<streamhost jid='me@a.example/x' host='10.0.0.7' port='8010'/>"
			"<streamhost jid='proxy' host=\"10.0.0.99\" port='5000'/>"
			"<streamhost jid='named' host='proxy.example' port='5000'/></query></iq>"),
		// one of theirs, by Jingle
		SAID(S2C, "<iq from='al@b.example/y' to='me@a.example/x' type='set'><jingle "
			  "xmlns='urn:xmpp:jingle:1'"
			  " action='session-initiate' sid='j2'><content name='f'><description "
			  "xmlns='urn:xmpp:jingle:"
			  "apps:file-transfer:5'><file><name>f.iso</name><media-type>x</"
			  "media-type><size>4096</size>"
			  "</file></description><transport "
			  "xmlns='urn:xmpp:jingle:transports:s5b:1' sid='vj'>"
			  "<candidate cid='1' host='2001:db8::9' port='5086' type='direct'/>"
			  "</transport></content></jingle></iq>"),
		SAID(C2S, "<iq to='al@b.example/y' type='set'><jingle action='session-accept' "
			  "sid='j2'><content>"
			  "<transport><candidate host='10.0.0.7' "
			  "port='5087'/></transport></content></jingle></iq>"),
		// another session: its file was not said
		SAID(S2C, "<iq from='al@b.example/y' type='set'><query " BYTESTREAMS " sid='other'>"
			  "<streamhost host='10.0.0.98' port='5088'/></query></iq>"),
	};

	(void)state;
	means("xmpp", said, sizeof(said) / sizeof(said[0]),
		"10.0.0.7:8010 from any as socks5 user 'me@a.example/x' file 'my &gt; file.txt' "
		"77\n"
		"10.0.0.99:5000 from 10.0.0.7 as socks5 user 'me@a.example/x' file 'my &gt; "
		"file.txt' 77\n"
		"[2001..09]:5086 from 10.0.0.7 as socks5 user 'al@b.example/y' file 'f.iso' 4096\n"
		"10.0.0.7:5087 from any as socks5 user 'me@a.example/x' file 'f.iso' 4096\n"
		"10.0.0.98:5088 from 10.0.0.7 as socks5 user 'al@b.example/y' file '' 0\n");
}

static void xmpp_lies(void **state)
{
	static char longer[3 * APP_LINE_BYTES];
	(void)state;

	one_means("xmpp", HALF_S2C, "<streamhost host='10.0.0.99' port='443'/>", "");
	one_means("xmpp", HALF_S2C, "<streamhost host='10.0.0.7' port='5000'/>", ""); // to itself
	one_means("xmpp", HALF_S2C, "<streamhost host='10.0.0.999' port='5000'/>", "");
	one_means("xmpp", HALF_S2C, "<streamhost host='10.0.0.99' port='70000'/>", "");
	one_means("xmpp", HALF_S2C, "<streamhost host='10.0.0.99' port='-1'/>", "");
	one_means("xmpp", HALF_S2C, "<streamhost host='10.0.0.99'/>", "");
	one_means("xmpp", HALF_S2C, "<streamhost host=10.0.0.99 port=5000/>", "");
	// inside an attribute of something else
	one_means("xmpp", HALF_S2C, "<a b=\"<streamhost host='10.0.0.99' port='5000'/>\"/>", "");
	// behind STARTTLS nothing is read
	one_means("xmpp", HALF_S2C,
		"<proceed xmlns='x'/><streamhost host='10.0.0.99' port='5000'/>", "");
	// a tag that is too long is left out; what follows is not
	memset(longer, 'x', sizeof(longer) - 1);
	memcpy(longer, "<a b='", 6);
	const char tail[] = "'/><streamhost host='10.0.0.99' port='5000'/>";

	memcpy(longer + sizeof(longer) - sizeof(tail), tail, sizeof(tail));
	one_means("xmpp", HALF_S2C, longer,
		"10.0.0.99:5000 from 10.0.0.7 as socks5 user '' file '' 0\n");
}

#define HASH40 "0123456789abcdef0123456789ABCDEF01234567"

// The flow itself, whoever announced it or not.
static void xmpp_by_socks(void **state)
{
	static const char methods[] = "\5\1\0", request[] = "\5\1\0\3\x28" HASH40 "\0\0";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 5000);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(methods));
	rig_feed(&flow, HALF_S2C, "\5\0", 2);
	assert_string_equal(rig_app(&flow), "socks"); // so far
	assert_false(flow.verdict.final);
	rig_feed(&flow, HALF_C2S, LITERAL(request));
	assert_string_equal(rig_app(&flow), "xmpp");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_VERIFIED);
	rig_end(&flow);
	// the request in two, wherever it is cut
	for (size_t cut = 1; cut < sizeof(request) - 1; cut++) {
		flow = rig_flow(rig, IPPROTO_TCP, 40000, 5000);
		rig_feed(&flow, HALF_C2S, LITERAL(methods));
		rig_feed(&flow, HALF_S2C, "\5\0", 2);
		rig_feed(&flow, HALF_C2S, request, cut);
		assert_string_equal(rig_app(&flow), "socks");
		rig_feed(&flow, HALF_C2S, request + cut, sizeof(request) - 1 - cut);
		assert_string_equal(rig_app(&flow), "xmpp");
		rig_end(&flow);
	}
	// anybody's proxy: a name, a port, a hash that is none
	static const char *const others[] = {"\5\1\0\3\xbwww.example\0\x50",
		"\5\1\0\1\x0a\0\0\1\0\x50",
		"\5\1\0\3\x28"
		"x123456789abcdef0123456789abcdef01234567\0\0",
		"\5\1\0\3\x28" HASH40 "\0\x50"};
	static const size_t lengths[] = {18, 10, 47, 47};

	for (unsigned i = 0; i < 4; i++) {
		flow = rig_flow(rig, IPPROTO_TCP, 40000, 1080);
		rig_feed(&flow, HALF_C2S, LITERAL(methods));
		rig_feed(&flow, HALF_S2C, "\5\0", 2);
		rig_feed(&flow, HALF_C2S, others[i], lengths[i]);
		assert_string_equal(rig_app(&flow), "socks");
		assert_true(flow.verdict.final);
		assert_int_equal(flow.verdict.n_data_pkts, 2);
		rig_end(&flow);
	}
}

static void msn_offers(void **state)
{
	static const struct said ftp[] = {
		SAID(C2S, "ANS 1 me@a.example 123.456 789\r\n"),
		SAID(S2C, "MSG al@b.example Al%20B 300\r\nContent-Type: text/x-msmsgsinvite; "
			  "charset=UTF-8\r\n\r\n"
			  "Application-Name: File Transfer\r\nInvitation-Command: "
			  "INVITE\r\nApplication-File: a b.txt\r\n"
			  "Application-FileSize: 21\r\n\r\n"),
		SAID(C2S, "MSG 2 N 100\r\nContent-Type: "
			  "text/x-msmsgsinvite\r\n\r\nInvitation-Command: ACCEPT\r\n"
			  "Launch-Application: FALSE\r\nRequest-Data: IP-Address:\r\n\r\n"),
		SAID(S2C,
			"MSG al@b.example Al%20B 300\r\n\r\nInvitation-Command: "
			"ACCEPT\r\nIP-Address: 10.0.0.99\r\n"
			"IP-Address-Internal: 192.168.1.2\r\nPort: 6891\r\nAuthCookie: 5\r\n\r\n"),
	};
	// length 638, version 2, size 21, no preview, "New.txt" in UTF-16
	static const struct said direct[] = {
		SAID(C2S, "USR 1 me@a.example;{guid} 12345\r\n"),
		SAID(C2S, "MSG 3 D 700\r\nContent-Type: "
			  "application/x-msnmsgrp2p\r\n\r\n\1\2\n\3\0\0INVITE x\r\n"
			  "EUF-GUID: {5D3E02AB}\r\nContext: "
			  "fgIAAAIAAAAVAAAAAAAAAAEAAABOAGUAdwAuAHQAeAB0AAAA\r\n"
			  "\r\n\0\0\0\1"),
		SAID(C2S, "MSG 4 D 700\r\n\r\nINVITE x\r\nBridge: TCPv1\r\nListening: true\r\n"
			  "IPv4External-Addrs: 192.0.2.1\r\nIPv4External-Port: 1\r\n"
			  "IPv4Internal-Addrs: 10.0.0.7 10.1.0.1\r\nIPv4Internal-Port: 4321\r\n"),
		SAID(S2C, "MSG al@b.example Al 9\r\n\r\nIPv4Internal-AddrsAndPorts: 10.0.0.99:5000 "
			  "10.0.0.7:5000\r\n"),
	};

	(void)state;
	means("msn", ftp, 4,
		"10.0.0.99:6891 from 10.0.0.7 as msnftp user 'al@b.example' file 'a b.txt' 21\n"
		"192.168.1.2:6891 from 10.0.0.7 as msnftp user 'al@b.example' file 'a b.txt' 21\n");
	means("msn", direct, 4,
		"10.0.0.7:4321 from any as msn-direct user 'me@a.example' file 'New.txt' 21\n"
		"10.0.0.99:5000 from 10.0.0.7 as msn-direct user 'al@b.example' file 'New.txt' "
		"21\n");
	one_means("msn", HALF_C2S, "MSG 1 N 9\r\nIP-Address: 10.0.0.99\r\nPort: 6891\r\n", "");
	one_means("msn", HALF_S2C, "MSG a@b.c A 9\r\nIP-Address: 10.0.0.99\r\nPort: 80\r\n", "");
	one_means("msn", HALF_S2C, "MSG a@b.c A 9\r\nIP-Address: 10.0.0\r\nPort: 6891\r\n", "");
	one_means("msn", HALF_S2C, "MSG a@b.c A 9\r\nPort: 6891\r\n", "");
	one_means("msn", HALF_S2C, "IP-Address: 10.0.0.99\r\nPort: 6891\r\n", ""); // in no message
	one_means("msn", HALF_S2C, "MSG a@b.c A 9\r\nContext: fgI\r\nContext: ====\r\n", "");
}

#define GUID                "0123456789abcdef"
#define PUSH(address, port) "gggggggggggggggg\x40\5\1\x1a\0\0\0" GUID "\1\0\0\0" address port
#define OTHER               "gggggggggggggggg\x80\5\1\5\0\0\0\0\0abc"

static void gnutella_pushes(void **state)
{
	static const struct said said[] = {
		SAID(C2S, "GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\nAccept-Encoding: "
			  "deflate\r\n\r\n"),
		SAID(S2C, "GNUTELLA/0.6 200 OK\r\nUser-Agent: y\r\n\r\n"),
		SAID(C2S, "GNUTELLA/0.6 200 OK\r\n\r\n" OTHER PUSH("\x0a\0\0\7", "\xca\x18")),
		SAID(S2C, OTHER PUSH("\x0a\0\0\x63", "\xcb\x18") OTHER PUSH(
				  "\x0a\0\0\x63", "\x50\0") PUSH("\x0a\0\0\7", "\xca\x18")),
	};
	static const struct said deflated[] = {
		SAID(S2C, "GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n" PUSH(
				  "\x0a\0\0\x63", "\xcb\x18")),
	};
	static const struct said giv[] = {
		SAID(C2S, "GIV 5:0123456789ABCDEF0123456789ABCDEF/my song.mp3\n\n"),
		SAID(S2C, "GET /get/5/my song.mp3 HTTP/1.1\r\n\r\n"),
	};
	static const char datagram[] = PUSH("\x0a\0\0\x63", "\xcb\x18");
	struct span span = {.unchecked = (const uint8_t *)datagram,
		.extent = sizeof(datagram) - 1,
		.half = HALF_S2C,
		.flags = SPAN_DATAGRAM};
	uint32_t ref = CLASSIFY_NO_STATE;

	(void)state;
	means("gnutella", said, 4,
		"10.0.0.7:6346 from any as gnutella-push user '' file '' 0\n"
		"10.0.0.99:6347 from 10.0.0.7 as gnutella-push user '' file '' 0\n");
	means("gnutella", deflated, 1, "");
	means("gnutella", giv, 2, "carries 'my song.mp3'\n");
	told[0] = 0;
	decoder_feed(rig->classifier, app_find("gnutella"), &ends, &span, &ref, &sink);
	assert_string_equal(told, ""); // of somebody who has answered nothing
	requests.answered = 1 << HALF_S2C;
	decoder_feed(rig->classifier, app_find("gnutella"), &ends, &span, &ref, &sink);
	assert_string_equal(
		told, "10.0.0.99:6347 from 10.0.0.7 as gnutella-push user '' file '' 0\n");
	told[0] = 0;
	span.extent--;
	decoder_feed(rig->classifier, app_find("gnutella"), &ends, &span, &ref, &sink);
	assert_string_equal(told, "");
}

// Names are cut where they are too long, and never inside a letter; numbers that are none are none.
static void huge_names(void **state)
{
	char letters[1001], line[1200], expected[300];
	(void)state;

	for (size_t i = 0; i < sizeof(letters) - 1; i++)
		letters[i] = i & 1 ? '\xa9' : '\xc3';
	letters[sizeof(letters) - 1] = 0;
	for (int odd = 0; odd < 2; odd++) {
		snprintf(line, sizeof(line),
			"PRIVMSG bob :\1DCC SEND \"%s%s\" 167772167 43614 %s\1\r\n", odd ? "x" : "",
			letters, "99999999999999999999999");
		snprintf(expected, sizeof(expected),
			"10.0.0.7:43614 from any as dcc user '' file '%s%.126s' 0\n",
			odd ? "x" : "", letters);
		one_means("irc", HALF_C2S, line, expected);
	}
}

// RFC 6455, RFC 7395: what is inside is what the server says; else it stays HTTP.
static void websockets(void **state)
{
	static const char asked[] =
		"GET /ws HTTP/1.1\r\nHost: a.example\r\nConnection: Upgrade\r\n"
		"Upgrade: websocket\r\nSec-WebSocket-Protocol: xmpp, other\r\n\r\n";
	static const struct {
		const char *answer, *app, *signature;
	} cases[] = {
		{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: "
		 "x\r\n"
		 "Sec-WebSocket-Protocol: xmpp\r\n\r\n",
			"xmpp", "xmpp-websocket"},
		{"HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nSec-WebSocket-Accept: "
		 "x\r\n\r\n",
			"http", "http-websocket"},
		{"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		 "Sec-WebSocket-Protocol: xmppish\r\n\r\n",
			"http", "http-websocket"},
		{"HTTP/1.1 400 Bad Request\r\nUpgrade: websocket\r\nSec-WebSocket-Protocol: "
		 "xmpp\r\n\r\n",
			"http", "http-status"},
	};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 80);

		rig_feed(&flow, HALF_C2S, LITERAL(asked));
		assert_string_equal(rig_app(&flow), "http");
		assert_false(flow.verdict.final);
		rig_feed(&flow, HALF_S2C, cases[i].answer, strlen(cases[i].answer));
		assert_string_equal(rig_app(&flow), cases[i].app);
		assert_true(flow.verdict.final);
		assert_string_equal(
			sigdb_get(rig->db, flow.verdict.signature)->id, cases[i].signature);
		rig_end(&flow);
	}
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
		cmocka_unit_test(xmpp_offers),
		cmocka_unit_test(xmpp_lies),
		cmocka_unit_test(xmpp_by_socks),
		cmocka_unit_test(msn_offers),
		cmocka_unit_test(gnutella_pushes),
		cmocka_unit_test(huge_names),
		cmocka_unit_test(websockets),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
