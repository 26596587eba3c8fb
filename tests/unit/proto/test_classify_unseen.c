// SPDX-License-Identifier: BSD-3-Clause
// What is still known where not all was seen: connections without their beginning, or without the
// first segment of a half; one end alone; datagrams that a capture has cut.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;

static void app_is(const struct rig_flow *flow, const char *app, uint8_t confidence)
{
	assert_string_equal(rig_app(flow), app);
	if (*app)
		assert_int_equal(flow->verdict.confidence, confidence);
}

static struct rig_flow joined(uint16_t sport, uint16_t dport)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, sport, dport);

	flow.midstream = true;
	return flow;
}

static struct rig_flow lone(uint8_t l4, uint16_t sport, uint16_t dport)
{
	struct rig_flow flow = rig_flow(rig, l4, sport, dport);

	flow.one_sided = true;
	return flow;
}

// Lengths are what is looked at: octets of chance, `head` in front.
static void say(struct rig_flow *flow, unsigned half, const char *head, size_t n, size_t length)
{
	uint8_t *bytes = malloc(length);

	assert_non_null(bytes);
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(i * 151 + length);
	memcpy(bytes, head, n);
	rig_feed(flow, half, bytes, length);
	free(bytes);
}

static struct signature fixed(const char *id, uint8_t bits, uint8_t halves)
{
	struct signature s = {
		.app = app_find("fasttrack"),
		.l4 = IPPROTO_TCP,
		.halves = halves,
		.confidence = CONFIDENCE_DPI,
		.bits = bits,
	};

	snprintf(s.id, sizeof(s.id), "%s", id);
	snprintf(s.pattern, sizeof(s.pattern), "^%s", id);
	return s;
}

// Bits enough: a hint by one half, more by both, in either half where nobody knows who began.
static void test_bits(void **state)
{
	const struct signature set[] = {fixed("client", 40, 1 << HALF_C2S),
		fixed("server", 40, 1 << HALF_S2C), fixed("weak", 39, 3)};
	struct rig *own = rig_new_with(set, 3, 1);

	(void)state;
	for (unsigned turned = 0; turned < 2; turned++) {
		struct rig_flow flow = rig_flow(own, IPPROTO_TCP, 40000, 50000);

		flow.midstream = true;
		rig_feed(&flow, turned, LITERAL("client"));
		app_is(&flow, "fasttrack", CONFIDENCE_PARTIAL);
		assert_false(flow.verdict.final);
		rig_feed(&flow, !turned, LITERAL("server"));
		app_is(&flow, "fasttrack", CONFIDENCE_DPI);
		rig_end(&flow);
		flow = rig_flow(own, IPPROTO_TCP, 40000, 50000);
		flow.midstream = true;
		rig_feed(&flow, turned, LITERAL("client"));
		rig_feed(&flow, !turned, LITERAL("says nothing of it"));
		app_is(&flow, "fasttrack", CONFIDENCE_PARTIAL);
		rig_end(&flow);
		flow = rig_flow(own, IPPROTO_TCP, 40000, 50000);
		flow.midstream = true;
		rig_feed(&flow, turned, LITERAL("weak"));
		app_is(&flow, "", 0);
		rig_end(&flow);
	}
	// its beginning was seen: who began is known, and one half is enough
	struct rig_flow begun = rig_flow(own, IPPROTO_TCP, 40000, 50000);

	rig_feed(&begun, HALF_C2S, LITERAL("server"));
	app_is(&begun, "", 0);
	rig_end(&begun);
	begun = rig_flow(own, IPPROTO_TCP, 40000, 50000);
	rig_feed(&begun, HALF_C2S, LITERAL("client"));
	app_is(&begun, "fasttrack", CONFIDENCE_DPI);
	rig_end(&begun);
	rig_free(own);
}

static void gap(struct rig_flow *flow, unsigned half, uint32_t length)
{
	rig_feed_span(flow, (struct span){.offset64 = flow->offset[half],
				    .extent = length,
				    .half = (uint8_t)half,
				    .flags = SPAN_GAP});
	flow->offset[half] += length;
}

// Behind a gap that is first, the rest may lie anywhere; a gap behind that ends the half.
static void test_first_segment_missing(void **state)
{
	const struct signature set[] = {fixed("client", 40, 1 << HALF_C2S),
		fixed("server", 40, 1 << HALF_S2C), fixed("weak", 39, 3)};
	struct rig *own = rig_new_with(set, 3, 1);
	struct rig_flow flow = rig_flow(own, IPPROTO_TCP, 40000, 50000);

	(void)state;
	gap(&flow, HALF_C2S, 100);
	rig_feed(&flow, HALF_C2S, LITERAL("cli"));
	app_is(&flow, "", 0);
	rig_feed(&flow, HALF_C2S, LITERAL("ent"));
	app_is(&flow, "fasttrack", CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_S2C, LITERAL("server"));
	app_is(&flow, "fasttrack", CONFIDENCE_DPI);
	rig_end(&flow);
	flow = rig_flow(own, IPPROTO_TCP, 40000, 50000);
	gap(&flow, HALF_C2S, 100);
	rig_feed(&flow, HALF_C2S, LITERAL("cli"));
	gap(&flow, HALF_C2S, 100);
	rig_feed(&flow, HALF_C2S, LITERAL("ent"));
	app_is(&flow, "", 0);
	uint32_t length;

	// who wants the beginning gets none
	assert_null(classify_prefix(own->classifier, flow.state, HALF_C2S, &length));
	rig_end(&flow);
	flow = rig_flow(own, IPPROTO_TCP, 40000, 50000);
	gap(&flow, HALF_C2S, 100);
	rig_feed(&flow, HALF_C2S, LITERAL("weak"));
	app_is(&flow, "", 0);
	rig_end(&flow);
	rig_free(own);
}

// The client's hello is missing: what it says behind it does not end the wait for the server's
// name.
static void test_hello_missing(void **state)
{
	static const uint8_t answer[] = {0x16, 3, 3, 0, 92, 2, 0, 0, 38, 3, 3, [47] = 11, 0, 0, 46,
		0, 0, 43, 0, 0, 40, 0x30, 38, 0x30, 36, 2, 1, 1, 0x30, 0, 0x30, 0, 0x30, 0, 0x30,
		25, 0x31, 23, 0x30, 21, 6, 3, 0x55, 4, 3, 12, 14, '*', '.', 'w', 'x', 'y', 'z', '.',
		'z', 'o', 'o', 'm', '.', 'u', 's'};

	(void)state;
	for (size_t cut = 48; cut < sizeof(answer); cut++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

		gap(&flow, HALF_C2S, 300);
		rig_feed(&flow, HALF_S2C, answer, cut);
		rig_feed(&flow, HALF_C2S, LITERAL("\x16\3\3\0\4abcd"));
		rig_feed(&flow, HALF_S2C, answer + cut, sizeof(answer) - cut);
		app_is(&flow, "zoom", CONFIDENCE_DPI);
		rig_end(&flow);
	}
}

// Signatures of the tree that are asked so: one each of text, a greeting, and of both halves.
static void test_joined(void **state)
{
	static const struct {
		const char *app, *bytes;
	} begins[] = {
		{"rsync", "@RSYNCD: 31.0\n"},
		{"ssh", "SSH-2.0-OpenSSH_9.2\r\n"},
		{"sip", "OPTIONS sip:a@b.example SIP/2.0\r\n"},
		{"vnc", "RFB 003.008\n"},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
		size_t n = strlen(begins[i].bytes);

		for (unsigned half = 0; half < 2; half++) {
			struct rig_flow flow = joined(40000, 50000);

			rig_feed(&flow, half, begins[i].bytes, n);
			app_is(&flow, begins[i].app, CONFIDENCE_PARTIAL);
			rig_feed(&flow, !half, begins[i].bytes, n);
			app_is(&flow, begins[i].app, CONFIDENCE_DPI);
			rig_end(&flow);
		}
		struct rig_flow later = joined(40000, 50000);

		rig_feed(&later, 0, LITERAL("x"));
		rig_feed(&later, 0, begins[i].bytes, n); // not where its half was joined
		app_is(&later, "", 0);
		rig_end(&later);
	}
}

static struct rig_flow threema(bool one_sided, unsigned half, const size_t *lengths, unsigned n)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 5222);

	flow.one_sided = one_sided;
	for (unsigned i = 0; i < n; i++) {
		bool frames = half == HALF_C2S ? i > 1 : i > 0;
		uint8_t head[34] = {0};
		unsigned at = half == HALF_S2C && i == 1 ? 32 : 0;

		head[at] = (uint8_t)(lengths[i] - at - 2);
		head[at + 1] = (uint8_t)((lengths[i] - at - 2) >> 8);
		say(&flow, half, (const char *)head, frames ? at + 2 : 0, lengths[i]);
	}
	return flow;
}

static void test_threema_alone(void **state)
{
	static const size_t client[] = {48, 191, 38, 384}, server[] = {80, 468, 38};
	static const size_t others[][4] = {
		{47, 191, 38, 384}, {48, 143, 38, 384}, {48, 401, 38, 384}};

	(void)state;
	for (unsigned n = 1; n <= 4; n++) {
		struct rig_flow flow = threema(true, HALF_C2S, client, n);

		app_is(&flow, n == 4 ? "threema" : "", CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
	for (unsigned n = 1; n <= 3; n++) {
		struct rig_flow flow = threema(true, HALF_S2C, server, n);

		app_is(&flow, n == 3 ? "threema" : "", CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct rig_flow flow = threema(true, HALF_C2S, others[i], 4);

		app_is(&flow, "", 0);
		rig_end(&flow);
	}
	struct rig_flow heard = threema(false, HALF_C2S, client, 4); // the answer may come yet

	app_is(&heard, "", 0);
	rig_end(&heard);
	struct rig_flow revoked = threema(true, HALF_C2S, client, 4);

	rig_feed(&revoked, HALF_S2C, LITERAL("this is another protocol"));
	app_is(&revoked, "", 0);
	assert_false(revoked.verdict.final);
	rig_end(&revoked);
	struct rig_flow other = threema(true, HALF_C2S, client, 4);

	rig_feed(&other, HALF_S2C, LITERAL("SSH-2.0-OpenSSH_9.2\r\n"));
	app_is(&other, "ssh", CONFIDENCE_VERIFIED);
	rig_end(&other);
}

// The lengths of both ends prove it wherever it was joined.
static void test_threema_joined(void **state)
{
	struct rig_flow flow = joined(40000, 5222);

	(void)state;
	say(&flow, HALF_C2S, "", 0, 48);
	say(&flow, HALF_S2C, "", 0, 80);
	say(&flow, HALF_C2S, "", 0, 191);
	say(&flow, HALF_S2C, "", 0, 32);
	app_is(&flow, "", 0);
	say(&flow, HALF_C2S, "\x24\0", 2, 38);
	app_is(&flow, "threema", CONFIDENCE_DPI);
	rig_end(&flow);
}

static void test_viber_alone(void **state)
{
	static const char frame[] = "\x16\0\x76\5\3\x80\xad\xd4\xdc\x17\x5c\0";
	static const char answer[] = "\5\xb8\x1a\0\x35\x18\xf5\x18\x98\x64\xe4\x47";
	struct rig_flow flow = lone(IPPROTO_TCP, 40000, 4244);

	(void)state;
	say(&flow, HALF_S2C, frame, sizeof(frame) - 1, 22);
	app_is(&flow, "viber", CONFIDENCE_PARTIAL);
	rig_feed(&flow, HALF_C2S, LITERAL("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"));
	assert_string_not_equal(rig_app(&flow), "viber");
	rig_end(&flow);
	flow = lone(IPPROTO_TCP, 40000, 4245); // not a port of its
	say(&flow, HALF_S2C, frame, sizeof(frame) - 1, 22);
	app_is(&flow, "", 0);
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 4244); // the client may speak yet
	say(&flow, HALF_S2C, frame, sizeof(frame) - 1, 22);
	app_is(&flow, "", 0);
	rig_end(&flow);
	for (size_t n = 19; n < 22; n++) {
		flow = rig_flow(rig, IPPROTO_UDP, 7987, 40000);
		say(&flow, HALF_C2S, answer, sizeof(answer) - 1, n == 21 ? 20 : n + (n == 20));
		app_is(&flow, n == 21 ? "viber" : "", CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
	flow = rig_flow(rig, IPPROTO_UDP, 7988, 40000);
	say(&flow, HALF_C2S, answer, sizeof(answer) - 1, 20);
	app_is(&flow, "", 0);
	rig_end(&flow);
}

#define COOKIE "\x21\x12\xa4\x42"
#define ID     "abcdefghijkl"

// Attributes that are not filled up: of WhatsApp's relays, and of [MS-TURN].
static void test_stun_unpadded(void **state)
{
	uint8_t ask[20 + 4 + 30] = "\0\3\0\x22" COOKIE ID "\x40\0\0\x1e";
	static const char error[] = "\1\x13\0\x17" COOKIE ID "\x80\x08\0\4\0\0\0\6"
				    "\0\x09\0\7\0\0\4\1no!\x80\x28\0\0";

	(void)state;
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, ask, sizeof(ask)), "whatsapp");
	for (size_t n = 1; n < sizeof(ask); n++)
		assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, ask, n), "");
	static const size_t changed[] = {0, 3, 4, 7, 23}; // type, lengths, cookie

	for (unsigned i = 0; i < sizeof(changed) / sizeof(changed[0]); i++) {
		ask[changed[i]] ^= 0x40;
		assert_string_not_equal(
			rig_first(rig, IPPROTO_UDP, 0, ask, sizeof(ask)), "whatsapp");
		ask[changed[i]] ^= 0x40;
	}
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, LITERAL(error)), "teams");
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, error, sizeof(error) - 2), "");
}

// 20 octets: digits, or digits and the end of a string of C.
static void test_zoom_digits(void **state)
{
	uint8_t ask[] = "\0\1\0\x18"
			"0123456789abcdef"
			"\1\1\0\x14"
			"1234567890123456789";

	(void)state;
	assert_int_equal(sizeof(ask), 44);
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, ask, 44), "zoom");
	ask[42] = 0; // one alone
	assert_string_not_equal(rig_first(rig, IPPROTO_UDP, 0, ask, 44), "zoom");
	ask[42] = '9';
	ask[43] = 'a';
	assert_string_not_equal(rig_first(rig, IPPROTO_UDP, 0, ask, 44), "zoom");
}

// A capture has left out the end of a first datagram: its length is that of the header then.
static void test_quic_cut(void **state)
{
	uint8_t initial[214] = "\xc0\0\0\0\1\x08"
			       "01234567"
			       "\0\0\x44\x9e";
	struct rig_flow flow;

	(void)state;
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, initial, sizeof(initial)), "");
	for (unsigned known = 0; known < 2; known++) {
		flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
		flow.datagram_bytes = known ? 1200 : 1199;
		rig_feed(&flow, 0, initial, sizeof(initial));
		app_is(&flow, known ? "quic" : "", CONFIDENCE_DPI);
		rig_end(&flow);
	}
}

struct shorts {
	uint16_t port;
	uint8_t first[3];
	size_t length;
	const char *id[3];
	const char *app;
};

// RFC 9000 17.3.1, RFC 9001 5.4: the id stays, what is protected varies.
static void test_quic_short(void **state)
{
#define ID8 "\x11\x22\x33\x44\x55\x66\x77\x88"
	static const struct shorts cases[] = {
		{443, {0x41, 0x5e, 0x47}, 25, {ID8, ID8, ID8}, "quic"},
		{443, {0x41, 0x41, 0x47}, 25, {ID8, ID8, ID8}, "quic"},
		{443, {0x41, 0x61, 0x41}, 25, {ID8, ID8, ID8}, ""}, // the spin bit alone varies
		{443, {0x41, 0x5e, 0x47}, 24, {ID8, ID8, ID8}, ""},
		{8443, {0x41, 0x5e, 0x47}, 25, {ID8, ID8, ID8}, ""},
		{443, {0x41, 0x41, 0x41}, 25, {ID8, ID8, ID8}, ""}, // ChannelData of TURN
		{443, {0x41, 0x5e, 0x87}, 25, {ID8, ID8, ID8}, ""},
		{443, {0x01, 0x1e, 0x07}, 25, {ID8, ID8, ID8}, ""},
		{443, {0x41, 0x5e, 0x47}, 25, {ID8, ID8, "\x11\x22\x33\x44\x55\x66\x77\x89"}, ""},
		{443, {0x41, 0x5e, 0x47}, 25, {ID8, "\x12\x22\x33\x44\x55\x66\x77\x88", ID8}, ""},
		{443, {0x41, 0x5e, 0x47}, 25,
			{"\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0"}, ""},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (unsigned half = 0; half < 2; half++) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, cases[i].port);

			for (unsigned k = 0; k < 3; k++) {
				char head[9];

				assert_string_equal(rig_app(&flow), "");
				head[0] = (char)cases[i].first[k];
				memcpy(head + 1, cases[i].id[k], 8);
				say(&flow, half, head, 9, cases[i].length);
			}
			app_is(&flow, cases[i].app, CONFIDENCE_PARTIAL);
			rig_end(&flow);
		}
	}
}

// Requests of BEP 3 prove it in pairs, each of a block that can be.
static void test_bittorrent_requests(void **state)
{
#define REQUEST(index, begin, length) "\0\0\0\x0d\6" index begin length
#define GOOD                          REQUEST("\0\0\1\2", "\0\0\x40\0", "\0\0\x40\0")
	static const struct {
		const char *bytes;
		size_t length;
		bool known;
	} cases[] = {
		{LITERAL(GOOD GOOD), true},
		{LITERAL(GOOD REQUEST("\0\0\1\2", "\0\0\x80\0", "\0\0\x12\x34")), true}, // the last
		{LITERAL(GOOD), false},
		{LITERAL(GOOD REQUEST("\0\0\1\2", "\0\0\x40\1", "\0\0\x40\0")), false},
		{LITERAL(GOOD REQUEST("\xff\0\1\2", "\0\0\x40\0", "\0\0\x40\0")), false},
		{LITERAL(GOOD REQUEST("\0\0\1\2", "\0\0\x40\0", "\0\2\0\1")), false},
		{LITERAL(GOOD REQUEST("\0\0\1\2", "\0\0\x40\0", "\0\0\0\0")), false},
		{LITERAL("\0\0\x40\x09\7\0\0\0\1\0\0\x40\0data"), true},
		{LITERAL("\0\0\x40\x09\7\xff\0\0\1\0\0\x40\0data"), false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_flow flow = joined(40000, 50000);

		rig_feed(&flow, i & 1, cases[i].bytes, cases[i].length);
		app_is(&flow, cases[i].known ? "bittorrent" : "", CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
}

struct utp {
	uint32_t stamp;
	uint16_t seq, ack;
};

static void say_utp(struct rig_flow *flow, struct utp at)
{
	const uint8_t packet[] = {0x01, 0, 0xef, 0xcb, (uint8_t)(at.stamp >> 24),
		(uint8_t)(at.stamp >> 16), (uint8_t)(at.stamp >> 8), (uint8_t)at.stamp, 0, 0, 1, 2,
		0, 0x10, 0, 0, (uint8_t)(at.seq >> 8), (uint8_t)at.seq, (uint8_t)(at.ack >> 8),
		(uint8_t)at.ack, 'x'};

	rig_feed(flow, 0, packet, sizeof(packet));
}

// BEP 29, one end alone, from the middle on: datagrams overtake each other, and some are lost.
static void test_utp_strays(void **state)
{
	static const struct {
		struct utp at[3];
		bool known;
	} cases[] = {
		{{{1000, 1, 9}, {2000, 2, 9}, {3000, 3, 9}}, true},
		{{{2000, 2, 9}, {1000, 1, 9}, {4000, 4, 9}}, true},
		{{{1000, 1, 9}, {4000, 4, 12}, {7000, 7, 9}}, true},
		{{{1000, 1, 9}, {2000, 2, 9}, {3000, 6, 9}}, false},
		{{{1000, 1, 9}, {2000, 2, 9}, {2000, 3, 9}}, false}, // the same time
		{{{1000, 1, 9}, {2000, 2, 9}, {70000000, 3, 9}}, false},
		{{{1000, 1, 9}, {2000, 2, 9}, {3000, 3, 2000}}, false},
		{{{1000, 1, 9}, {2000, 2, 9}, {3000, 65533, 9}}, false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);

		for (unsigned k = 0; k < 3; k++)
			say_utp(&flow, cases[i].at[k]);
		app_is(&flow, cases[i].known ? "bittorrent" : "", CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
}

// What looks like DNS, at another port: names of NetBIOS (RFC 1002), what a group is asked.
static void test_dns_lookalikes(void **state)
{
#define HEADER "\x12\x34\1\0\0\1\0\0\0\0\0\0"
	static const char name[] = HEADER "\7example\3org\0\0\1\0\1";
	uint8_t netbios[] = HEADER "\x20"
				   "CKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
				   "\0\0\x21\0\1";
	struct rig_flow flow;

	(void)state;
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, LITERAL(name)), "dns");
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, netbios, sizeof(netbios) - 1), "");
	netbios[13] = 'Z';
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, netbios, sizeof(netbios) - 1), "dns");
	static const uint8_t groups[][16] = {
		{[10] = 0xff, [11] = 0xff, [12] = 224, [15] = 252}, {0xff, 2, [13] = 1, [15] = 3}};

	for (unsigned i = 0; i < 2; i++) {
		flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);
		memcpy(flow.ends.address[HALF_S2C], groups[i], 16);
		rig_feed(&flow, 0, LITERAL(name));
		app_is(&flow, "", 0);
		rig_end(&flow);
	}
}

// Where no state is free such bytes are left out as if they had not come, even what they hint at;
// a beginning ends without one.
static void test_no_state_left(void **state)
{
	const struct signature set[] = {fixed("client", 40, 1 << HALF_C2S)};
	struct rig *own = rig_new_with(set, 1, 1);
	struct rig_flow first = rig_flow(own, IPPROTO_TCP, 40000, 50000), begun = first,
			middle = first;

	(void)state;
	middle.midstream = true;
	rig_feed(&first, HALF_C2S, LITERAL("?"));
	rig_feed(&begun, HALF_C2S, LITERAL("?"));
	assert_true(begun.verdict.final && begun.verdict.nomem);
	assert_false(own->work.left_out);
	rig_feed(&middle, HALF_C2S, LITERAL("client"));
	app_is(&middle, "", 0);
	assert_false(middle.verdict.final || middle.verdict.nomem);
	assert_true(own->work.left_out);
	rig_end(&first);
	rig_feed(&middle, HALF_C2S, LITERAL("client"));
	app_is(&middle, "fasttrack", CONFIDENCE_PARTIAL);
	assert_int_equal(classifier_states_free(own->classifier), 0);
	rig_end(&middle);
	rig_free(own);
}

static int make(void **state)
{
	(void)state;
	rig = rig_new();
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bits),
		cmocka_unit_test(test_no_state_left),
		cmocka_unit_test(test_first_segment_missing),
		cmocka_unit_test(test_hello_missing),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_threema_alone),
		cmocka_unit_test(test_threema_joined),
		cmocka_unit_test(test_viber_alone),
		cmocka_unit_test(test_stun_unpadded),
		cmocka_unit_test(test_zoom_digits),
		cmocka_unit_test(test_quic_cut),
		cmocka_unit_test(test_quic_short),
		cmocka_unit_test(test_bittorrent_requests),
		cmocka_unit_test(test_utp_strays),
		cmocka_unit_test(test_dns_lookalikes),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
