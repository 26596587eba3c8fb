// SPDX-License-Identifier: BSD-3-Clause
// Datagrams of QUIC of which a capture has left the beginning alone, and those of its servers, as
// they come where the client is not heard.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

#define KEPT 200

static struct rig *rig;

// `known`: how long the header says that it is.
static void hold(
	const void *bytes, size_t length, uint16_t known, const char *app, uint8_t confidence)
{
	for (unsigned half = 0; half < 2; half++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);

		flow.datagram_bytes = known;
		rig_feed(&flow, half, bytes, length);
		assert_string_equal(rig_app(&flow), app);
		if (*app)
			assert_int_equal(flow.verdict.confidence, confidence);
		rig_end(&flow);
	}
}

// RFC 9000 15: a version that forces a negotiation, in a datagram of 1,200 octets.
static void test_reserved_version(void **state)
{
	uint8_t initial[KEPT] = "\xc0\x0a\x1a\x2a\x3a\x08"
				"01234567"
				"\0\0\x44\x9e";

	(void)state;
	hold(initial, KEPT, 1200, "quic", CONFIDENCE_PARTIAL);
	hold(initial, KEPT, 1199, "", 0);
	hold(initial, KEPT, KEPT, "", 0);
	hold(initial, 95, 1200, "", 0); // not enough of it is here
	initial[4] = 0x3b;
	hold(initial, KEPT, 1200, "", 0);
}

// Google's, up to Q043: the client's hello.
static void test_old_google(void **state)
{
	uint8_t hello[KEPT] = "\x09"
			      "01234567"
			      "Q039\1";

	(void)state;
	memcpy(hello + 30, "CHLO", 4);
	hold(hello, KEPT, 256, "quic", CONFIDENCE_DPI);
	hold(hello, KEPT, 255, "", 0);
	hold(hello, 95, 1350, "", 0);
	hello[11] = '4';
	hello[12] = '4';
	hold(hello, KEPT, 1350, "", 0);
	memcpy(hello + 30, "CHLX", 4);
	hello[11] = '3';
	hold(hello, KEPT, 1350, "quic", CONFIDENCE_PARTIAL);
}

static void put_tag(uint8_t *at, const char *tag, uint8_t end)
{
	memcpy(at, tag, 4);
	at[4] = end;
}

// The server's answer to it: of 20 tags, three are here.
static void test_google_answer(void **state)
{
	uint8_t answer[KEPT] = {0x00, 1};
	const size_t at = 40;

	(void)state;
	memcpy(answer + at, "REJ", 4);
	answer[at + 4] = 20;
	put_tag(answer + at + 8, "STK", 10);
	put_tag(answer + at + 16, "SNO", 20);
	put_tag(answer + at + 24, "PROF", 30);
	for (size_t i = 3; at + 8 + 8 * (i + 1) <= KEPT; i++)
		put_tag(answer + at + 8 + 8 * i, "CRT", 40);
	hold(answer, KEPT, 1350, "quic", CONFIDENCE_DPI);
	hold(answer, 100, 1350, "quic", CONFIDENCE_DPI);
	hold(answer, 95, 1350, "", 0);
	hold(answer, KEPT, KEPT, "", 0); // whole, and it ends in the table
	answer[at + 12] = 21;            // ends before the one in front of it
	hold(answer, KEPT, 1350, "", 0);
}

// RFC 9287: the bit that is fixed is not, where the client has said that it need not be. Then
// packets of that version fill the datagram.
static void test_greased(void **state)
{
	uint8_t datagram[120] = "\x8a\0\0\0\1\0\4"
				"0123\0\x14";
	uint8_t *second = datagram + 33;

	(void)state;
	hold(datagram, 33, 0, "quic", CONFIDENCE_DPI);
	hold(datagram, 32, 0, "", 0);
	hold(datagram, 34, 0, "", 0);
	memcpy(second,
		"\xaa\0\0\0\1\0\4"
		"0123\x14",
		12);
	hold(datagram, 33 + 32, 0, "quic", CONFIDENCE_DPI);
	second[4] = 2;
	hold(datagram, 33 + 32, 0, "", 0);
	second[4] = 1;
	second[0] = 0x2a;
	hold(datagram, 33 + 32, 0, "", 0);
	datagram[0] = 0xba; // Retry
	hold(datagram, 33 + 32, 0, "", 0);
	datagram[0] = 0xca; // with the bit
	hold(datagram, 33 + 32, 0, "quic", CONFIDENCE_DPI);
}

// Q046: what its server acknowledges with is short.
static void test_google_ack(void **state)
{
	uint8_t ack[36] = "\xc3Q046\5"
			  "01234567";

	(void)state;
	hold(ack, sizeof(ack), 0, "quic", CONFIDENCE_PARTIAL);
	ack[5] = 4; // the length of an id, as Q050 has it
	hold(ack, sizeof(ack), 0, "", 0);
	ack[5] = 5;
	ack[0] = 0x83;
	hold(ack, sizeof(ack), 0, "", 0);
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
		cmocka_unit_test(test_reserved_version),
		cmocka_unit_test(test_old_google),
		cmocka_unit_test(test_google_answer),
		cmocka_unit_test(test_greased),
		cmocka_unit_test(test_google_ack),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
