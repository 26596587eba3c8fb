// SPDX-License-Identifier: BSD-3-Clause
// File services of a local network: SMB, NFS with its programs, TFTP with the flow of its answer;
// and what a port scanner's questions are not.
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

static const char *udp(const void *bytes, size_t length)
{
	return rig_first(rig, IPPROTO_UDP, HALF_C2S, bytes, length);
}

static const char *tcp_to(uint16_t port, const char *bytes, size_t length)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, port);

	rig_feed(&flow, HALF_C2S, bytes, length);
	rig_end(&flow);
	return rig_app(&flow);
}

#define ZERO_16 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define SMB1    "\xffSMB\x72\0\0\0\0\x18\x53\xc8" ZERO_16 "\0\0\0\0"
#define SMB2    "\xfeSMB\x40\0\0\0\0\0\0\0\0\0\0\0" ZERO_16 ZERO_16 ZERO_16

#define NAME "ENEJFECNDDEEDGDFDFEBEBDADJEEEECA"

// RFC 1002 4.3: the session is asked for, granted, and its first message is here.
static void test_smb_session(void **state)
{
	static const char asks[] = "\x81\0\0\x44\x20" NAME "\0\x20" NAME "\0";
	static const char says[] = "\0\0\0\x23" SMB1 "\0\0\0";
	static const char answers[] = "\x82\0\0\0\0\0\0\x23" SMB1 "\0\0\0";
	static const char refuses[] = "\x83\0\0\1\x82";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL(asks));
	rig_feed(&flow, HALF_S2C, LITERAL("\x82\0\0\0"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_C2S, LITERAL(says));
	assert_string_equal(rig_app(&flow), "smb");
	// from the server's side alone
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);
	rig_feed(&flow, HALF_S2C, LITERAL(answers));
	assert_string_equal(rig_app(&flow), "smb");
	// refused, and something else behind it
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);
	rig_feed(&flow, HALF_C2S, LITERAL(asks));
	rig_feed(&flow, HALF_S2C, LITERAL(refuses));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);
	rig_feed(&flow, HALF_C2S, LITERAL(asks));
	rig_feed(&flow, HALF_C2S, LITERAL("\0\0\0\x23\xfbSMB" ZERO_16 ZERO_16));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	rig_random(rig, IPPROTO_TCP, LITERAL("\x82\0\0\0"), "smb");
}

static void test_smb(void **state)
{
	static const struct bytes good[] = {
		{LITERAL("\0\0\0\x23" SMB1 "\0\0\0")},
		{LITERAL("\0\0\0\x40" SMB2)},
		{LITERAL("\0\0\1\0\xfdSMB" ZERO_16 ZERO_16 ZERO_16)},
		{LITERAL("\0\0\0\x50\xfcSMB" ZERO_16 ZERO_16)},
	};
	// another mark; shorter than its header, thrice; no header size; no such command
	static const struct bytes bad[] = {
		{LITERAL("\0\0\0\x40\xfbSMB" ZERO_16 ZERO_16)},
		{LITERAL("\0\0\0\x1f" SMB1)},
		{LITERAL("\0\0\0\x3f" SMB2)},
		{LITERAL("\0\0\0\x34\xfdSMB" ZERO_16 ZERO_16 ZERO_16)},
		{LITERAL("\0\0\0\x40\xfeSMB\x41\0\0\0\0\0\0\0\0\0\0\0" ZERO_16)},
		{LITERAL("\0\0\0\x40\xfeSMB\x40\0\0\0\0\0\0\0\x14\0\0\0" ZERO_16)},
	};
	struct rig_flow flow;

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++) {
		assert_string_equal(tcp_to(445, good[i].at, good[i].length), "smb");
		for (size_t n = 0; n < 24; n++)
			assert_string_equal(tcp_to(445, good[i].at, n), "");
		// a question that is sent to any port is not an answer
		assert_string_equal(tcp_to(135, good[i].at, good[i].length), "");
	}
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(tcp_to(445, bad[i].at, bad[i].length), "");
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 4450);
	rig_feed(&flow, HALF_C2S, good[1].at, good[1].length);
	rig_feed(&flow, HALF_S2C, good[1].at, good[1].length);
	assert_string_equal(rig_app(&flow), "smb");
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 135);
	rig_feed(&flow, HALF_C2S, good[0].at, good[0].length);
	rig_feed(&flow, HALF_S2C, LITERAL("\5\0\x0d\3\x10\0\0\0\x18\0\0\0"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	// behind a NetBIOS session that was asked for and granted
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);
	rig_feed(&flow, HALF_C2S, LITERAL("\x81\0\0\x44 EBEBEBEB"));
	rig_feed(&flow, HALF_S2C, LITERAL("\x82\0\0\0"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	rig_random(rig, IPPROTO_TCP, LITERAL("\0\0\0\x40"), "smb");
}

static void test_smb_datagram(void **state)
{
	static const char slot[] = "\x11\2\x80\xde\x0a\0\0\1\0\x8a\0\x6d\0\0\x20" NAME "\0\x20" NAME
				   "\3lan\0" SMB1 "\0\0\0\0\0";
	static const struct bytes bad[] = {
		{LITERAL(
			"\x11\2\x80\xde\x0a\0\0\1\0\x8a\1\0\0\0\x20" NAME "\0\x20" NAME "\0" SMB1)},
		{LITERAL("\x11\2\x80\xde\x0a\0\0\1\0\x8a\0\x40\0\0\x20" NAME "\0\x21" NAME
			 "\0" SMB1)},
		{LITERAL("\x11\2\x80\xde\x0a\0\0\1\0\x8a\0\x40\0\0\x20" NAME "\0\x20" NAME
			 "\x40" SMB1)},
		{LITERAL("\x11\2\x80\xde\x0a\0\0\1\0\x8a\0\x40\0\0\x20" NAME "\0\x20" NAME
			 "\0\xffSMB")},
		{LITERAL("\x11\2\x80\xde\x0a\0\0\1\0\x8a\0\x40\0\0\x20" NAME "\0\x20" NAME
			 "\0x" SMB1)},
		{LITERAL("\x13\2\x80\xde\x0a\0\0\1\0\x8a\0\x40\0\0\x20" NAME "\0\x20" NAME
			 "\0" SMB1)},
	};

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(slot), "smb");
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(udp(bad[i].at, bad[i].length), "");
}

#define CALL     "\x5e\x1d\x0b\x94\0\0\0\0\0\0\0\2"
#define NO_AUTH  "\0\0\0\0\0\0\0\0"
#define SYS_AUTH "\0\0\0\1\0\0\0\x0b\0\0\0\0\0\0\0\3abc\0"
#define ASK_UDP  "\0\0\0\3udp\0"

static void test_nfs(void **state)
{
	static const struct bytes good[] = {
		{LITERAL(CALL "\0\1\x86\xa3\0\0\0\4\0\0\0\1" NO_AUTH NO_AUTH)},
		{LITERAL(CALL "\0\1\x86\xa5\0\0\0\3\0\0\0\1" SYS_AUTH NO_AUTH)},
		{LITERAL(CALL "\0\1\x86\xb5\0\0\0\4\0\0\0\7" NO_AUTH NO_AUTH)},
		{LITERAL(CALL "\0\1\x87\x83\0\0\0\3\0\0\0\1" NO_AUTH NO_AUTH)},
		// where is mount? version 2 and 3; with credentials
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\2\0\0\0\3" NO_AUTH NO_AUTH
			      "\0\1\x86\xa5\0\0\0\3\0\0\0\x11\0\0\0\0")},
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\3\0\0\0\3" NO_AUTH NO_AUTH
			      "\0\1\x86\xa3\0\0\0\2" ASK_UDP NO_AUTH)},
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\4\0\0\0\3" SYS_AUTH NO_AUTH
			      "\0\1\x86\xa3\0\0\0\4" ASK_UDP NO_AUTH)},
	};
	// version, procedure, flavour; a reply; RPC version 3; where is NIS; another procedure of
	// the mapper; credentials beyond the end; no such version is asked for
	static const struct bytes bad[] = {
		{LITERAL(CALL "\0\1\x86\xa3\0\0\0\5\0\0\0\1" NO_AUTH NO_AUTH)},
		{LITERAL(CALL "\0\1\x86\xa5\0\0\0\3\0\0\0\6" NO_AUTH NO_AUTH)},
		{LITERAL(CALL "\0\1\x86\xa3\0\0\0\3\0\0\0\1\0\0\0\7\0\0\0\0" NO_AUTH)},
		{LITERAL("\x5e\x1d\x0b\x94\0\0\0\1\0\0\0\2\0\1\x86\xa3\0\0\0\3\0\0\0\1" NO_AUTH
				NO_AUTH)},
		{LITERAL("\x5e\x1d\x0b\x94\0\0\0\0\0\0\0\3\0\1\x86\xa3\0\0\0\3\0\0\0\1" NO_AUTH
				NO_AUTH)},
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\2\0\0\0\3" NO_AUTH NO_AUTH
			      "\0\1\x86\xa4\0\0\0\2\0\0\0\x11\0\0\0\0")},
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\2\0\0\0\4" NO_AUTH NO_AUTH
			      "\0\1\x86\xa5\0\0\0\3\0\0\0\x11\0\0\0\0")},
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\2\0\0\0\3\0\0\0\1\0\0\0\xff" NO_AUTH
			      "\0\1\x86\xa5\0\0\0\3\0\0\0\x11\0\0\0\0")},
		{LITERAL(CALL "\0\1\x86\xa0\0\0\0\2\0\0\0\3" NO_AUTH NO_AUTH
			      "\0\1\x86\xa5\0\0\0\x9\0\0\0\x11\0\0\0\0")},
	};
	char framed[128];

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++) {
		assert_string_equal(udp(good[i].at, good[i].length), "nfs");
		for (size_t n = 0; n < 40; n++)
			assert_string_equal(udp(good[i].at, n), "");
		// the first of two fragments, then the last one
		for (unsigned last = 0; last < 2; last++) {
			memcpy(framed, last ? "\x80\0\0" : "\0\0\0", 3);
			framed[3] = (char)good[i].length;
			memcpy(framed + 4, good[i].at, good[i].length);
			assert_string_equal(tcp_to(2049, framed, good[i].length + 4), "nfs");
		}
	}
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(udp(bad[i].at, bad[i].length), "");
	rig_random(rig, IPPROTO_UDP, LITERAL(CALL), "nfs");
}

static const char read_request[] = "\0\1rfc1350.txt\0OCTET\0";

static void test_tftp(void **state)
{
	static const char options[] = "\0\2a\0octet\0blksize\0001468\0tsize\00010\0";
	static const char granted[] = "\0\6blksize\0001468\0tsize\000100000\0";
	static const struct bytes bad[] = {
		{LITERAL("\0\3a\0octet\0")},
		{LITERAL("\0\1\0octet\0")},
		{LITERAL("\0\1a\0binary\0")},
		{LITERAL("\0\1a\0octet\0blksize\0")}, // an option without a value
		{LITERAL("\0\1a\0octet\0x")},
		{LITERAL("\0\1\1\2\3\0octet\0")},
		{LITERAL("\0\6colour\00012\0")},
		{LITERAL("\0\6blksize\00012x\0")},
		{LITERAL("\0\6blksize\00012\0tsize\0")},
	};

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(read_request), "tftp");
	rig_cuts(rig, IPPROTO_UDP, HALF_C2S, LITERAL(options), "tftp");
	assert_string_equal(udp(LITERAL(granted)), "tftp");
	for (unsigned i = 0; i < COUNT(bad); i++)
		assert_string_equal(udp(bad[i].at, bad[i].length), "");
}

// One letter a datagram, upper case of the server: L leave (ACK 0), D E F data 1 to 3, A B
// acknowledgments; X: none of TFTP's.
static const char *transfer(const char *steps)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 50000);
	char block[516] = {0};

	for (; *steps; steps++) {
		size_t length = 4;

		memset(block, 0, sizeof(block));
		switch (*steps | 0x20) {
		case 'l': memcpy(block, "\0\4\0\0", 4); break;
		case 'a': memcpy(block, "\0\4\0\1", 4); break;
		case 'b': memcpy(block, "\0\4\0\2", 4); break;
		case 'd':
		case 'e':
			block[1] = 3;
			block[3] = (char)((*steps | 0x20) - 'c');
			length = sizeof(block);
			break;
		default: memset(block, 'x', length); break;
		}
		rig_feed(&flow, *steps & 0x20 ? HALF_C2S : HALF_S2C, block, length);
	}
	rig_end(&flow);
	return rig_app(&flow);
}

static void test_tftp_lock_step(void **state)
{
	static const char *const good[] = {"DaEb", "dAeB", "lDa", "lDDa", "DaaEb", "DaDaEb", "LdA"};
	static const char *const bad[] = {"", "D", "Da", "lD", "a", "ab", "DE", "DEab", "DAEB",
		"DaEa", "Dxa", "DaXEb", "lda", "DaeB", "EbDa", "Db"};

	(void)state;
	for (unsigned i = 0; i < COUNT(good); i++)
		if (strcmp(transfer(good[i]), "tftp"))
			fail_msg("%s is not TFTP", good[i]);
	for (unsigned i = 0; i < COUNT(bad); i++)
		if (strcmp(transfer(bad[i]), ""))
			fail_msg("%s is TFTP", bad[i]);
}

struct heard {
	struct expectation last;
	unsigned n;
};

static void hear(void *ctx, const struct expectation *expectation)
{
	struct heard *heard = ctx;

	heard->last = *expectation;
	heard->n++;
}

static void test_tftp_expected(void **state)
{
	struct flow_ends ends = {.port = {[HALF_C2S] = 40000, [HALF_S2C] = 69}};
	struct heard heard = {0};
	const struct decoder_sink sink = {.expect = hear, .ctx = &heard};
	struct span span = {.unchecked = (const uint8_t *)read_request,
		.extent = sizeof(read_request) - 1,
		.half = HALF_C2S,
		.flags = SPAN_DATAGRAM};
	uint32_t ref = CLASSIFY_NO_STATE;

	(void)state;
	memcpy(ends.address[HALF_C2S], "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
	assert_int_equal(
		decoder_feed(rig->classifier, app_find("tftp"), &ends, &span, &ref, &sink), 0);
	assert_int_equal(heard.n, 1);
	assert_int_equal(heard.last.port, 40000);
	assert_int_equal(heard.last.l4_proto, IPPROTO_UDP);
	assert_int_equal(heard.last.app, app_find("tftp"));
	assert_memory_equal(heard.last.address, ends.address[HALF_C2S], 16);
	span.half = HALF_S2C;
	decoder_feed(rig->classifier, app_find("tftp"), &ends, &span, &ref, &sink);
	span.half = HALF_C2S;
	span.extent--;
	decoder_feed(rig->classifier, app_find("tftp"), &ends, &span, &ref, &sink);
	span.unchecked = (const uint8_t *)"\0\4\0\1";
	span.extent = 4;
	decoder_feed(rig->classifier, app_find("tftp"), &ends, &span, &ref, &sink);
	assert_int_equal(heard.n, 1);
	classify_end(rig->classifier, &ref);
}

// What a scanner asks of every port is named where it is answered.
static void test_scanned(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);

	(void)state;
	rig_feed(&flow, HALF_C2S, LITERAL("GET / HTTP/1.0\r\n\r\n"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, HALF_S2C, LITERAL("\x83\0\0\1\x8f"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_TCP, 40000, 139);
	rig_feed(&flow, HALF_C2S, LITERAL("GET / HTTP/1.0\r\n\r\n"));
	rig_feed(&flow, HALF_S2C, LITERAL("HTTP/1.0 200 OK\r\n\r\n"));
	assert_string_equal(rig_app(&flow), "http");
	rig_end(&flow);
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
		cmocka_unit_test(test_smb),
		cmocka_unit_test(test_smb_session),
		cmocka_unit_test(test_smb_datagram),
		cmocka_unit_test(test_nfs),
		cmocka_unit_test(test_tftp),
		cmocka_unit_test(test_tftp_lock_step),
		cmocka_unit_test(test_tftp_expected),
		cmocka_unit_test(test_scanned),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
