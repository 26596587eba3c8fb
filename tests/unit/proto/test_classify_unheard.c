// SPDX-License-Identifier: BSD-3-Clause
// The network of an application's owner as a hint, where its carrier is proven and the name that
// would tell cannot be heard; and names that other flows told, where a client's own is cut.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"

// TLS 1.0, no extension.
static const uint8_t hello[] = {0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 1, [43] = 0, 0, 2, 0, 53, 1, 0};
// The same with a name: "a.example".
static const uint8_t asks[] = {0x16, 3, 1, 0, 65, 1, 0, 0, 61, 3, 1, [43] = 0, 0, 2, 0, 53, 1, 0, 0,
	18, 0, 0, 0, 14, 0, 12, 0, 0, 9, 'a', '.', 'e', 'x', 'a', 'm', 'p', 'l', 'e'};
// The server's hello, which takes up a session of before: no certificate.
static const uint8_t resumes[] = {
	0x16, 3, 1, 0, 42, 2, 0, 0, 38, 3, 1, [46] = 0, 0x14, 3, 1, 0, 1, 1};
// Hello and the beginning of a certificate.
static const uint8_t shows[] = {0x16, 3, 3, 0, 92, 2, 0, 0, 38, 3, 3, [47] = 11, 0, 0, 46, 0, 0, 43,
	0, 0, 40, 0x30, 38, 0x30, 36, 2, 1, 1, 0x30, 0, 0x30, 0, 0x30, 0, 0x30, 25, 0x31, 23, 0x30,
	21, 6, 3, 0x55, 4, 3, 12, 14, '*', '.', 'w', 'x', 'y', 'z', '.', 'z', 'o', 'o', 'm', '.',
	'u', 's'};

static struct rig *rig;

// The pipeline has found its responder in a network of Webex's.
static struct rig_flow to_webex(bool one_sided)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	flow.one_sided = one_sided;
	flow.verdict.app = app_find("webex");
	flow.verdict.confidence = CONFIDENCE_IP;
	return flow;
}

static void app_is(const struct rig_flow *flow, const char *app, uint8_t confidence)
{
	assert_ptr_equal(app_get(flow->verdict.app), app_get(app_find(app)));
	assert_int_equal(flow->verdict.confidence, confidence);
}

static void gap(struct rig_flow *flow, unsigned half, uint32_t length)
{
	rig_feed_span(flow, (struct span){.offset64 = flow->offset[half],
				    .extent = length,
				    .half = (uint8_t)half,
				    .flags = SPAN_GAP});
	flow->offset[half] += length;
}

static void test_client_alone(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < sizeof(hello); cut++) {
		struct rig_flow flow = to_webex(true);

		rig_feed(&flow, HALF_C2S, hello, cut);
		rig_feed(&flow, HALF_C2S, hello + cut, sizeof(hello) - cut);
		app_is(&flow, "webex", CONFIDENCE_PARTIAL);
		assert_false(flow.verdict.final);
		rig_end(&flow);
	}
}

// The other end is heard after all: it agrees by its certificate, or the flow is what it was.
static void test_answered(void **state)
{
	struct rig_flow flow = to_webex(true);

	(void)state;
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	flow.one_sided = false;
	rig_feed(&flow, HALF_S2C, shows, sizeof(shows));
	app_is(&flow, "zoom", CONFIDENCE_DPI);
	rig_end(&flow);
	flow = to_webex(true);
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	flow.one_sided = false;
	rig_feed(&flow, HALF_S2C, resumes, sizeof(resumes));
	app_is(&flow, "webex", CONFIDENCE_IP);
	rig_end(&flow);
}

static void test_server_alone(void **state)
{
	struct rig_flow flow = to_webex(true);

	(void)state;
	rig_feed(&flow, HALF_S2C, resumes, sizeof(resumes));
	app_is(&flow, "webex", CONFIDENCE_PARTIAL);
	rig_end(&flow);
	flow = to_webex(true);
	rig_feed(&flow, HALF_S2C, shows, sizeof(shows)); // a name, and it says something else
	app_is(&flow, "zoom", CONFIDENCE_DPI);
	rig_end(&flow);
}

static void test_hole(void **state)
{
	struct rig_flow flow = to_webex(false);

	(void)state;
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	rig_feed(&flow, HALF_S2C, shows, 60);
	app_is(&flow, "webex", CONFIDENCE_IP); // the rest of the certificate is on its way
	gap(&flow, HALF_S2C, 300);
	app_is(&flow, "webex", CONFIDENCE_PARTIAL);
	rig_end(&flow);
	flow = to_webex(false);
	rig_feed(&flow, HALF_C2S, asks, 58);
	app_is(&flow, "webex", CONFIDENCE_IP);
	gap(&flow, HALF_C2S, sizeof(asks) - 58);
	app_is(&flow, "webex", CONFIDENCE_PARTIAL);
	rig_end(&flow);
	flow = to_webex(false); // the first segment of the server
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	gap(&flow, HALF_S2C, 300);
	rig_feed(&flow, HALF_S2C, LITERAL("the rest of a certificate"));
	app_is(&flow, "webex", CONFIDENCE_PARTIAL);
	rig_end(&flow);
}

static void test_other_carriers(void **state)
{
	static const uint8_t stun[] = {0, 3, 0, 8, 0x21, 0x12, 0xa4, 0x42, 1, 2, 3, 4, 5, 6, 7, 8,
		9, 10, 11, 12, 0, 0x19, 0, 4, 17, 0, 0, 0};
	struct rig_flow flow = to_webex(true);

	(void)state;
	rig_feed(&flow, HALF_C2S, stun, sizeof(stun));
	app_is(&flow, "webex", CONFIDENCE_PARTIAL);
	rig_end(&flow);
}

static void test_refused(void **state)
{
	struct rig_flow flow = to_webex(false);

	(void)state;
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello)); // the server is about to answer
	app_is(&flow, "webex", CONFIDENCE_IP);
	rig_feed(&flow, HALF_S2C, resumes, sizeof(resumes)); // both were heard
	app_is(&flow, "webex", CONFIDENCE_IP);
	rig_end(&flow);
	flow = to_webex(true);
	rig_feed(&flow, HALF_C2S, asks, sizeof(asks)); // it asks for somebody else
	app_is(&flow, "webex", CONFIDENCE_IP);
	rig_end(&flow);
	flow = to_webex(true);
	rig_feed(&flow, HALF_C2S, LITERAL("no protocol that anybody knows"));
	app_is(&flow, "webex", CONFIDENCE_IP);
	rig_end(&flow);
	flow = to_webex(true);
	rig_feed(&flow, HALF_C2S, LITERAL("SSH-2.0-OpenSSH_9.2\r\n"));
	app_is(&flow, "ssh", CONFIDENCE_VERIFIED);
	rig_end(&flow);
	flow = to_webex(true);
	flow.verdict.app = APP_NONE;
	flow.verdict.confidence = CONFIDENCE_NONE;
	rig_feed(&flow, HALF_C2S, hello, sizeof(hello));
	app_is(&flow, "tls", CONFIDENCE_VERIFIED);
	rig_end(&flow);
}

// A name that is cut off by a hole does not come any more: what others know of the address counts.
static void test_name_awaited(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 443);

	(void)state;
	rig_feed(&flow, HALF_C2S, asks, 58);
	assert_true(rig->work.awaits_name);
	gap(&flow, HALF_C2S, sizeof(asks) - 58);
	assert_false(rig->work.awaits_name);
	app_is(&flow, "tls", CONFIDENCE_VERIFIED);
	assert_true(flow.verdict.final);
	rig_end(&flow);
}

// What is left of a segment that a capture has cut, and that something is missing behind it.
static void say_cut(struct rig_flow *flow, unsigned half, const uint8_t *bytes, uint32_t length,
	uint32_t cut, uint8_t flags)
{
	rig_feed(flow, half, bytes, length);
	if (!cut)
		return;
	rig_feed_span(flow, (struct span){.offset64 = flow->offset[half],
				    .extent = cut,
				    .half = (uint8_t)half,
				    .flags = (uint8_t)(SPAN_GAP | flags)});
	flow->offset[half] += cut;
}

static const uint8_t *chance(void)
{
	static uint8_t bytes[1000];
	uint64_t seed = 7;

	for (unsigned i = 0; i < sizeof(bytes); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(seed >> 40);
	}
	return bytes;
}

// BitTorrent, encrypted: flights of 300, 400 and 200 octets, of which 150 each are here.
static struct rig_flow flights(uint8_t flags)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50001);

	say_cut(&flow, HALF_C2S, chance(), 150, 150, flags);
	say_cut(&flow, HALF_S2C, chance() + 200, 150, 250, flags);
	say_cut(&flow, HALF_C2S, chance() + 400, 150, 50, flags);
	return flow;
}

static void test_cut_flights(void **state)
{
	struct rig_flow flow = flights(SPAN_CUT);

	(void)state;
	app_is(&flow, "bittorrent", CONFIDENCE_PARTIAL);
	rig_end(&flow);
	flow = flights(0);
	// lost, not cut: what is missing may be as long as it likes
	assert_int_equal(flow.verdict.app, APP_NONE);
	rig_end(&flow);
}

// Threema: 48, 80, a login of 191, of which one octet is cut, and a frame.
static void test_cut_login(void **state)
{
	static const uint8_t frame[38] = {36};

	(void)state;
	for (unsigned lost = 0; lost < 2; lost++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 5222);

		say_cut(&flow, HALF_C2S, chance(), 48, 0, 0);
		say_cut(&flow, HALF_S2C, chance() + 100, 80, 0, 0);
		say_cut(&flow, HALF_C2S, chance() + 200, 190, 1, SPAN_CUT);
		say_cut(&flow, HALF_S2C, chance() + 400, 200, 300, SPAN_CUT);
		if (lost)
			gap(&flow, HALF_C2S, 10);
		rig_feed(&flow, HALF_C2S, frame, sizeof(frame));
		if (lost)
			assert_int_equal(flow.verdict.app, APP_NONE);
		else
			app_is(&flow, "threema", CONFIDENCE_DPI);
		rig_end(&flow);
	}
}

// Nothing that goes by what it reads sees what stands behind a hole as if it followed.
static void test_nothing_is_joined(void **state)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 50000);

	(void)state;
	say_cut(&flow, HALF_C2S, (const uint8_t *)"@RSYN", 5, 5, SPAN_CUT);
	rig_feed(&flow, HALF_C2S, LITERAL("CD: 31.0\n"));
	assert_int_equal(flow.verdict.app, APP_NONE);
	rig_end(&flow);
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
		cmocka_unit_test(test_client_alone),
		cmocka_unit_test(test_answered),
		cmocka_unit_test(test_server_alone),
		cmocka_unit_test(test_hole),
		cmocka_unit_test(test_other_carriers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_name_awaited),
		cmocka_unit_test(test_cut_flights),
		cmocka_unit_test(test_cut_login),
		cmocka_unit_test(test_nothing_is_joined),
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
