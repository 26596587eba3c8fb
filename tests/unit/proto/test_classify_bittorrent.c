// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"abcdefghij0123456789"
				"-LT2080-abcdefghijkl";

static void test_handshake(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 50000, 60163);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(handshake));
	assert_string_equal(rig_app(&flow), "bittorrent");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_VERIFIED);
	assert_true(flow.verdict.final);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	assert_string_equal(
		rig_first(rig, IPPROTO_TCP, HALF_S2C, LITERAL(handshake)), "bittorrent");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(handshake), "bittorrent");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0,
				    LITERAL("\x13"
					    "BitTorrent protozoon----------")),
		"");
}

static void test_tracker_http(void **state)
{
	static const char announce[] =
		"GET "
		"/announce?info_hash=%C2abcdefghij012345678&peer_id=-TR3000-abcdefghijkl&port=51413"
		"&left=0 HTTP/1.1\r\nHost: t.example\r\n\r\n";
	static const char scrape[] =
		"GET "
		"/scrape.php?info_hash=%00%01%02%03%04%05%06%07%08%09%0a%0b%0c%0d%0e%0f%10%11%12%13"
		" HTTP/1.0\r\n\r\n";
	static const char seed[] = "GET /s?info_hash=abcdefghij0123456789&piece=3 HTTP/1.0\r\n\r\n";

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(announce), "bittorrent");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(scrape), "bittorrent");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(seed), "bittorrent");
	// a hash that is too short, no peer, the words in a page's address
	static const char *const others[] = {
		"GET /announce?info_hash=abc&peer_id=-TR3000-abcdefghijkl HTTP/1.1\r\n\r\n",
		"GET /show?info_hash=abcdefghij0123456789 HTTP/1.1\r\n\r\n",
		"GET /wiki?q=x&info_hash=&peer_id= HTTP/1.1\r\n\r\n",
	};

	for (unsigned i = 0; i < 3; i++)
		assert_string_not_equal(
			rig_first(rig, IPPROTO_TCP, 0, others[i], strlen(others[i])), "bittorrent");
}

static void test_sync(void **state)
{
	(void)state;
	rig_cuts(rig, IPPROTO_TCP, 0, LITERAL("BSYNC\0\0\0\0:d5:nonce16:xxxxxxxxxxxxxxxxe"),
		"bittorrent");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, LITERAL("BSYNC is a word")), "");
}

static void test_dht(void **state)
{
	static const char ping[] = "d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe";
	static const char reply[] =
		"d2:ip6:abcdef1:rd2:id20:mnopqrstuvwxyz1234565:nodes0:e1:t2:aa1:y1:re";
	static const char error[] = "d1:eli201e23:A Generic Error Ocurrede1:t2:aa1:y1:ee";

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(ping), "bittorrent");
	rig_cuts(rig, IPPROTO_UDP, 1, LITERAL(reply), "bittorrent");
	rig_cuts(rig, IPPROTO_UDP, 1, LITERAL(error), "bittorrent");
	// a reply without transaction; a type without its part; a length beyond the datagram; too
	// deep; a loop
	static const char *const others[] = {
		"d1:rd2:xx20:abcdefghij0123456789e1:y1:re",
		"d1:ad2:xx20:abcdefghij0123456789e1:q4:ping1:y1:qe",
		"d1:ad2:xx20:abcdefghij0123456789e1:t2:aa1:y1:re",
		"d1:ad2:id99:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe",
		"d1:addddddddddddddddddddddddddddddddddddddddddd",
		"d1:ad4294967297:abcdefghijklmnopqrstuvwxyze1:t1:a1:y1:qe",
		"d1:eleeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee",
	};

	for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_string_equal(
			rig_first(rig, IPPROTO_UDP, 0, others[i], strlen(others[i])), "");
}

// What nodes accept (libtorrent: any keys in any order, ten deep; Transmission: the words anywhere
// behind a 'd').
static void test_dht_with_keys_that_nobody_knows(void **state)
{
#define ID    "2:id20:abcdefghij0123456789"
#define QUERY "1:ad" ID "e1:q4:ping1:t2:aa1:y1:q"
	static const char *const messages[] = {
		"d0:0:" QUERY "e",
		"d4:AAAA4:junk" QUERY "e",
		"d1:Ai7e" QUERY "e",
		"d1:Ad1:xl1:y" ID "ee" QUERY "e",
		"d1:Alllllllll1:xeeeeeeeee" QUERY "e",
		"d1:Adddddddddd1:xi1eeeeeeeeeee" QUERY "e",
		"d1:y1:q1:t2:aa1:q4:ping1:ad" ID "ee",
		"d1:t2:aa1:y1:q1:q9:get_peers1:ad9:info_hash20:abcdefghij0123456789" ID "ee",
		"d1:ad1:zllllllllllleeeeeeeeeee" ID "e1:q4:ping1:t2:aa1:y1:qe",
		"d2:zz3:abc1:rd" ID "5:nodes0:e1:t2:aa1:y1:re",
		"d01:y01:q01:ad" ID "e1:q4:ping1:t2:aae",
		"d1:ad" ID "e1:q4:ping1:t2:aa1:y5:querye",
		"d1:ad" ID "e1:q4:ping1:y1:qe",
		"d" QUERY "etrailing bytes e",
		"dd" QUERY,
		"d???? not bencoded ????" QUERY,
		"d1:rd" ID "5:nodes26:1:t2:aa1:y1:r",
	};
#undef QUERY
#undef ID

	(void)state;
	for (unsigned i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		for (unsigned half = 0; half < 2; half++)
			assert_string_equal(
				rig_first(rig, IPPROTO_UDP, half, messages[i], strlen(messages[i])),
				"bittorrent");
}

// Depth is bounded by the bytes: one pass, and a dictionary that nobody closes is none.
static void test_dht_as_deep_as_a_datagram(void **state)
{
	static const char query[] = "1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe";
	char message[64 + 2 * 600 + sizeof(query)] = "d1:A";

	(void)state;
	memset(message + 4, 'l', 600);
	memset(message + 604, 'e', 600);
	memcpy(message + 1204, query, sizeof(query) - 1);
	assert_string_equal(
		rig_first(rig, IPPROTO_UDP, 0, message, 1204 + sizeof(query) - 1), "bittorrent");
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, message, 604), "");
}

static void test_tracker_udp(void **state)
{
	static const char connect[] = "\0\0\x04\x17\x27\x10\x19\x80\0\0\0\0ABCD";
	uint8_t announce[98] = {0};

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(connect), "bittorrent");
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0,
				    LITERAL("\0\0\x04\x17\x27\x10\x19\x80\0\0\0\0ABCDE")),
		"");
	memcpy(announce, "connecti\0\0\0\1wxyzabcdefghij0123456789-TR3000-abcdefghijkl", 56);
	memset(announce + 92, 0xff, 4);
	announce[97] = 81;
	rig_cuts(rig, IPPROTO_UDP, 0, announce, sizeof(announce), "bittorrent");
	announce[83] = 9; // no such event
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, announce, sizeof(announce)), "");
}

static void test_lsd(void **state)
{
	static const char search[] =
		"BT-SEARCH * HTTP/1.1\r\nHost: 239.192.152.143:6771\r\nPort: 61197\r\n"
		"Infohash: ED4F1085E885F98F9A69B70EE89EB988B8FD9115\r\n\r\n\r\n";

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(search), "bittorrent");
	assert_string_equal(
		rig_first(rig, IPPROTO_UDP, 0, LITERAL("BT-SEARCH * HTTP/1.1\r\n\r\n")), "");
}

// type, connection id, time, delay, sequence, acknowledgement
static size_t utp(uint8_t *to, unsigned type, unsigned conn, uint32_t stamp, uint32_t delay,
	unsigned seq, unsigned ack)
{
	memset(to, 0, 20);
	to[0] = (uint8_t)(type << 4 | 1);
	to[2] = (uint8_t)(conn >> 8);
	to[3] = (uint8_t)conn;
	for (unsigned i = 0; i < 4; i++) {
		to[4 + i] = (uint8_t)(stamp >> (24 - 8 * i));
		to[8 + i] = (uint8_t)(delay >> (24 - 8 * i));
	}
	to[13] = 0x10;
	to[16] = (uint8_t)(seq >> 8);
	to[17] = (uint8_t)seq;
	to[18] = (uint8_t)(ack >> 8);
	to[19] = (uint8_t)ack;
	return 20;
}

static void test_utp_exchange(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 26881, 51416);
	uint8_t packet[64];

	(void)state;
	rig_feed(&flow, 0, packet, utp(packet, 4, 0x9c44, 1000, 0, 0x4dc4, 0));
	assert_string_equal(rig_app(&flow), "");
	assert_false(flow.verdict.final);
	rig_feed(&flow, 1, packet, utp(packet, 2, 0x9c44, 2000, 56, 0x578a, 0x4dc4));
	assert_string_equal(rig_app(&flow), "bittorrent");
	assert_int_equal(flow.verdict.n_data_pkts, 2);
	assert_true(flow.verdict.final);
}

// Each is one step away from the exchange above.
static void test_utp_refused(void **state)
{
	static const struct {
		unsigned syn_type, conn, ack;
		uint32_t delay;
		unsigned answer_half, answer_type;
	} cases[] = {
		{4, 0x9c45, 0x4dc4, 0, 1, 2}, // another connection
		{4, 0x9c44, 0x4dc5, 0, 1, 2}, // another number acknowledged
		{4, 0x9c44, 0x4dc4, 7, 1, 2}, // a SYN knows no delay
		{4, 0x9c44, 0x4dc4, 0, 0, 2}, // no answer, the same side
		{4, 0x9c44, 0x4dc4, 0, 1, 3}, // a reset
		{5, 0x9c44, 0x4dc4, 0, 1, 2}, // no such type
	};
	uint8_t packet[64];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 26881, 51416);

		rig_feed(&flow, 0, packet,
			utp(packet, cases[i].syn_type, 0x9c44, 1000, cases[i].delay, 0x4dc4, 0));
		rig_feed(&flow, cases[i].answer_half, packet,
			utp(packet, cases[i].answer_type, cases[i].conn, 2000, 56, 0x578a,
				cases[i].ack));
		assert_string_equal(rig_app(&flow), "");
		rig_end(&flow);
	}
}

// A DNS query of a name of two letters is 20 bytes and, with the id 0x4100, begins like a SYN.
static void test_utp_dns(void **state)
{
	static const char query[] = "\x41\0\x01\0\0\x01\0\0\0\0\0\0\x02"
				    "ab\0\0\x01\0\x01";
	static const char answer[] = "\x41\0\x81\x80\0\x01\0\x01\0\0\0\0\x02"
				     "ab\0\0\x01\0\x01"
				     "\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01";
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		rig_feed(&flow, HALF_C2S, LITERAL(query));
		rig_feed(&flow, HALF_S2C, LITERAL(answer));
	}
	assert_string_not_equal(rig_app(&flow), "bittorrent");
	rig_end(&flow);
}

static void test_utp_pick_up(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 62229, 6881);
	uint8_t packet[64] = {0};

	(void)state;
	// content of one half: three in a row
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(rig_app(&flow), "");
		utp(packet, 0, 0xefcb, 1000 + 500 * i, 9, 0x5c12 + i, 0x5d66);
		rig_feed(&flow, 0, packet, 40);
	}
	assert_string_equal(rig_app(&flow), "bittorrent");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	// the other half's acknowledgement makes it sure; where it was decided stays
	rig_feed(&flow, 1, packet, utp(packet, 2, 0xefcc, 9000, 9, 0x5d66, 0x5c14));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	assert_int_equal(flow.verdict.n_data_pkts, 3);
	assert_true(flow.verdict.final);
	// numbers that stand still, a clock that goes back, another connection
	static const int steps[][3] = {{0, 500, 0}, {1, -500, 0}, {1, 500, 2}};

	for (unsigned k = 0; k < 3; k++) {
		struct rig_flow other = rig_flow(rig, IPPROTO_UDP, 62229, 6881);

		for (unsigned i = 0; i < 6; i++) {
			utp(packet, 0, 0xefcb + i * (unsigned)steps[k][2],
				100000 + i * (unsigned)steps[k][1], 9,
				0x5c12 + i * (unsigned)steps[k][0], 0x5d66);
			rig_feed(&other, 0, packet, 40);
		}
		assert_string_equal(rig_app(&other), "");
		rig_end(&other);
	}
}

static void test_utp_handshake(void **state)
{
	uint8_t packet[128];
	size_t n = utp(packet, 0, 0x9c45, 1000, 9, 0x4dc5, 0x5789);

	(void)state;
	memcpy(packet + n, handshake, sizeof(handshake) - 1);
	rig_cuts(rig, IPPROTO_UDP, 0, packet, n + sizeof(handshake) - 1, "bittorrent");
}

static void test_midstream(void **state)
{
	// the end of a block, then requests
	static const char tail[] = "tail of a piece"
				   "\0\0\0\x0d\x06\0\0\0\x01\0\0\x40\0\0\0\x40\0"
				   "\0\0\0\x0d\x06\0\0\0\x01\0\0\x80\0\0\0\x40\0";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	struct rig_flow begun = flow;

	(void)state;
	flow.midstream = true;
	rig_feed(&flow, 0, LITERAL(tail));
	assert_string_equal(rig_app(&flow), "bittorrent");
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_end(&flow);
	// not on a flow whose beginning was seen: that one begins with a handshake
	rig_feed(&begun, 0, LITERAL(tail));
	assert_string_equal(rig_app(&begun), "");
	rig_end(&begun);
	// the head of one block is enough; one request is not
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	flow.midstream = true;
	rig_feed(&flow, 0, tail, 15 + 17);
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 1, LITERAL("rest\0\0\x40\x09\x07\0\0\0\x01\0\x01\x40\0"));
	assert_string_equal(rig_app(&flow), "bittorrent");
	rig_end(&flow);
	assert_string_equal(
		rig_first(rig, IPPROTO_TCP, 1, LITERAL("\0\0\0\xe7\x14\0d1:ei0e4:ipv4")),
		"bittorrent");
	struct rig_flow zeros = rig_flow(rig, IPPROTO_TCP, 40000, 50000);
	uint8_t zero[2000] = {0};

	zeros.midstream = true;
	rig_feed(&zeros, 0, zero, sizeof(zero));
	assert_string_equal(rig_app(&zeros), "");
	rig_end(&zeros);
}

static void test_random(void **state)
{
	(void)state;
	// (of TCP an encrypted connection is made to look like chance: test_classify_mse.c)
	rig_random(rig, IPPROTO_TCP,
		LITERAL("\x13"
			"Bit ten zeros: \0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		"bittorrent");
	rig_random(rig, IPPROTO_UDP, LITERAL(""), "bittorrent");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x01\0"), "bittorrent");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x41\0"), "bittorrent");
	rig_random(rig, IPPROTO_UDP, LITERAL("d1:ad2:id20:"), "bittorrent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshake),
		cmocka_unit_test(test_tracker_http),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_dht),
		cmocka_unit_test(test_dht_with_keys_that_nobody_knows),
		cmocka_unit_test(test_dht_as_deep_as_a_datagram),
		cmocka_unit_test(test_tracker_udp),
		cmocka_unit_test(test_lsd),
		cmocka_unit_test(test_utp_exchange),
		cmocka_unit_test(test_utp_refused),
		cmocka_unit_test(test_utp_dns),
		cmocka_unit_test(test_utp_pick_up),
		cmocka_unit_test(test_utp_handshake),
		cmocka_unit_test(test_midstream),
		cmocka_unit_test(test_random),
	};

	rig = rig_new();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rig_free(rig);
	return failed;
}
