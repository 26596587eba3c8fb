// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

static struct rig *rig;

#define HASH   \
	"\xab" \
	"bcdefghijklmnop"
// name tag as string, version tag as number
#define TAGS "\x02\0\0\0\x02\x01\0\x01\x04\0name\x03\x01\0\x11\x3c\0\0\0"

static const char hello[] = "\xe3\x34\0\0\0\x01\x10" HASH "\x01\0\0\0\x46\x39" TAGS "\0\0\0\0\0\0";
static const char login[] = "\xe3\x2d\0\0\0\x01" HASH "\x01\0\0\0\x46\x39" TAGS;
static const char answer[] = "\xe3\x33\0\0\0\x4c" HASH "\x01\0\0\0\x46\x39" TAGS "\0\0\0\0\0\0";

static void test_hello(void **state)
{
	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(hello), "edonkey");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(login), "edonkey");
	rig_cuts(rig, IPPROTO_TCP, HALF_S2C, LITERAL(answer), "edonkey");
	// tags: a type that does not exist, far too many, one that leaves the frame
	char broken[sizeof(hello)];

	for (unsigned i = 0; i < 3; i++) {
		static const struct {
			unsigned at;
			char value;
		} damage[] = {{33, 0x33}, {30, 0x10}, {37, 0x7f}};

		memcpy(broken, hello, sizeof(hello));
		broken[damage[i].at] = damage[i].value;
		assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, broken, sizeof(broken) - 1), "");
	}
}

static void test_frames(void **state)
{
	// request a name, set the id, start an upload: three in a chain
	static const char chain[] =
		"\xe3\x11\0\0\0\x58" HASH "\xe3\x11\0\0\0\x4f" HASH "\xe3\x11\0\0\0\x54" HASH;
	static const char part[] = "\xe3\x1d\0\0\0\x46" HASH "\0\0\0\0\x04\0\0\0data";
	static const char no_part[] = "\xe3\x1d\0\0\0\x46" HASH "\0\0\0\0\x05\0\0\0data";
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(chain), "edonkey");
	rig_cuts(rig, IPPROTO_TCP, HALF_C2S, LITERAL(part), "edonkey");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, LITERAL(no_part)), "");
	// picked up at the beginning of a frame
	flow.midstream = true;
	rig_feed(&flow, 0, LITERAL(part));
	assert_string_equal(rig_app(&flow), "edonkey");
	// one frame is no chain, but a hint where its length and a hash belong together; two and
	// something else are nothing
	static const char two[] =
		"\xe3\x11\0\0\0\x58" HASH "\xe3\x11\0\0\0\x4f" HASH "GET / HTTP/1.1";

	struct rig_flow one = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	rig_feed(&one, 0, two, 22);
	assert_string_equal(rig_app(&one), "edonkey");
	assert_int_equal(one.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_end(&one);
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, two, 21), "");
	assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, LITERAL(two)), "");
}

static void test_kad_ping(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 14672, 4672);

	(void)state;
	rig_feed(&flow, 0, LITERAL("\xe4\x60"));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 1, LITERAL("\xe4\x61\x50\x39")); // 14672
	assert_string_equal(rig_app(&flow), "edonkey");
	assert_int_equal(flow.verdict.n_data_pkts, 2);
	flow = rig_flow(rig, IPPROTO_UDP, 14673, 4672); // another port than the ping's
	rig_feed(&flow, 0, LITERAL("\xe4\x60"));
	rig_feed(&flow, 1, LITERAL("\xe4\x61\x50\x39"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
	flow = rig_flow(rig, IPPROTO_UDP, 14672, 4672); // a pong that nobody asked for
	rig_feed(&flow, 1, LITERAL("\xe4\x61\x50\x39"));
	assert_string_equal(rig_app(&flow), "");
	rig_end(&flow);
}

static void test_kad(void **state)
{
	static const char request[] = "\xe4\x21\x0b" HASH HASH;
	static const char response[] =
		"\xe4\x29" HASH "\x01" HASH "\x01\x02\x03\x04\x40\x12\x36\x12\x08";
	static const char kad_hello[] = "\xe4\x11" HASH "\x36\x12\x08\x01\x89\xfc\x40";
	static const char packed[] = "\xe5\x29\x78\xda"
				     "ebcdefghijklmnop";
	char broken[64];

	(void)state;
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(request), "edonkey");
	rig_cuts(rig, IPPROTO_UDP, 1, LITERAL(response), "edonkey");
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(kad_hello), "edonkey");
	rig_cuts(rig, IPPROTO_UDP, 1, LITERAL(packed), "edonkey");
	// one that is packed is a hint, two are more
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

	rig_feed(&flow, 0, LITERAL(packed));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	rig_feed(&flow, 1, LITERAL(packed));
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&flow);
	memcpy(broken, packed, sizeof(packed));
	broken[4] = 'd'; // not the last block
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, broken, sizeof(packed) - 1), "");
	memcpy(broken, request, sizeof(request));
	memset(broken + 3, 'a', 16); // text where the target is
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, broken, sizeof(request) - 1), "");
	memcpy(broken, request, sizeof(request));
	broken[2] = 3; // nobody asks for three contacts
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, broken, sizeof(request) - 1), "");
	memcpy(broken, response, sizeof(response));
	broken[18] = 2; // one contact, two said
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, broken, sizeof(response) - 1), "");
	memcpy(broken, kad_hello, sizeof(kad_hello));
	broken[20] = 0x40; // a version from the future
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, broken, sizeof(kad_hello) - 1), "");
	memcpy(broken, packed, sizeof(packed));
	broken[3] = 0x11; // not a zlib head
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, broken, sizeof(packed) - 1), "");
	// a DNS query with the id 0xe421 and the length of a request
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0,
				    LITERAL("\xe4\x21\x01\0\0\x01\0\0\0\0\0\0\x07"
					    "example"
					    "\x05"
					    "local"
					    "\x02"
					    "ab\0\0\x01\0")),
		"");
}

static void test_search(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 4672, 4672);
	static const char search[] = "\xe4\x34" HASH "\0\0\x01\0\0\0\0\0\0\0";
	static const char found[] = "\xe4\x3b"
				    "0123456789abcdef" HASH "\x01\0"
				    "answeranswer";

	(void)state;
	rig_feed(&flow, 0, LITERAL(search));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 1, LITERAL(found));
	assert_string_equal(rig_app(&flow), "edonkey");
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 1, LITERAL(found)), "");
	// results, published words, a published source: tags that end with the datagram
	static const char results[] = "\xe4\x3b"
				      "0123456789abcdef" HASH "\x01\0" HASH
				      "\x02\x02\x01\0\x01\x04\0name\x03\x01\0\x02\x3c\0\0\0";
	static const char words[] = "\xe4\x43" HASH "\x01\0" HASH "\x01\x02\x01\0\x01\x04\0name";
	static const char source[] = "\xe4\x44" HASH HASH "\x01\x09\x01\0\xff\x04";

	rig_cuts(rig, IPPROTO_UDP, 1, LITERAL(results), "edonkey");
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(words), "edonkey");
	rig_cuts(rig, IPPROTO_UDP, 0, LITERAL(source), "edonkey");
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 0, words, sizeof(words)), ""); // one more
	static const char information[] =
		"\xc5\x12\0\0\0\x01\x47\x01\x01\0\0\0\x02\x01\0\x94\x05\0Linux";

	rig_cuts(rig, IPPROTO_TCP, 1, LITERAL(information), "edonkey");
}

static void test_server_udp(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 4672, 4665);

	(void)state;
	assert_string_equal(
		rig_first(rig, IPPROTO_UDP, 0, LITERAL("\xe3\x96\x12\x34\xaa\x55")), "edonkey");
	rig_feed(&flow, 0, LITERAL("\xe3\x96\x12\x34\x56\x78"));
	assert_string_equal(rig_app(&flow), "");
	struct rig_flow other = flow;

	rig_feed(&flow, 1, LITERAL("\xe3\x97\x12\x34\x56\x78\1\0\0\0\2\0\0\0"));
	assert_string_equal(rig_app(&flow), "edonkey");
	other = rig_flow(rig, IPPROTO_UDP, 4672, 4665);
	rig_feed(&other, 0, LITERAL("\xe3\x96\x12\x34\x56\x78"));
	rig_feed(&other, 1, LITERAL("\xe3\x97\x12\x34\x56\x79\1\0\0\0\2\0\0\0"));
	assert_string_equal(rig_app(&other), "");
	rig_end(&other);
	other = rig_flow(rig, IPPROTO_UDP, 4672, 4672);
	rig_feed(&other, 0, LITERAL("\xc5\x90" HASH));
	assert_string_equal(rig_app(&other), "");
	rig_feed(&other, 1, LITERAL("\xc5\x93"));
	assert_string_equal(rig_app(&other), "edonkey");
	assert_int_equal(other.verdict.confidence, CONFIDENCE_VERIFIED);
	assert_string_equal(rig_first(rig, IPPROTO_UDP, 1, LITERAL("\xc5\x93")), "");
}

static void test_random(void **state)
{
	(void)state;
	rig_random(rig, IPPROTO_TCP, LITERAL("\xe3\x20\0\0\0"), "edonkey");
	rig_random(rig, IPPROTO_TCP, LITERAL("\xc5\x20\0\0\0"), "edonkey");
	rig_random(rig, IPPROTO_UDP, LITERAL(""), "edonkey");
	// every opcode that the signatures name
	static const char opcodes[] = "\x01\x09\x11\x19\x20\x21\x28\x29\x33\x34\x35\x3b\x43\x44"
				      "\x4b\x50\x53\x58\x60\x61\x90\x91\x92\x93\x96\x97\x98\x99\x9a"
				      "\x9b\xa2\xa3";

	for (unsigned i = 0; i < sizeof(opcodes) - 1; i++) {
		const char prefixes[3][2] = {
			{'\xe3', opcodes[i]}, {'\xe4', opcodes[i]}, {'\xc5', opcodes[i]}};

		for (unsigned k = 0; k < 3; k++)
			rig_random(rig, IPPROTO_UDP, prefixes[k], 2, "edonkey");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_kad_ping),
		cmocka_unit_test(test_kad),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_server_udp),
		cmocka_unit_test(test_random),
	};

	rig = rig_new();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rig_free(rig);
	return failed;
}
