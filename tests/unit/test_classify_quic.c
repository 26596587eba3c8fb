// SPDX-License-Identifier: BSD-3-Clause
// A datagram flow's way to a name: QUIC and DTLS through the classifier, with a policy's own
// application at wiki.example.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "classify_rig.h"
#include "quic_craft.h"
#include "user_apps.h"

#define WIKI ((uint16_t)(app_count() + 1))

static const uint8_t cid[] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct quic_packet plain = {
	.version = 1,
	.cid = cid,
	.cid_length = sizeof(cid),
	.number_length = 1,
	.padded_to = 1200,
};

static struct rig *make(void)
{
	struct rig *rig = rig_new();
	struct user_apps *user = user_apps_new();

	user_apps_add(user, WIKI);
	assert_int_equal(user_apps_add_host(user, WIKI, "wiki.example"), 0);
	rig_user_take(rig, user, NULL, 0);
	return rig;
}

// Datagrams of one hello, `n` of them with a part each.
static size_t datagram(const uint8_t *hello, size_t length, unsigned part, unsigned n, uint8_t *out)
{
	struct quic_packet packet = plain;
	size_t begin = length * part / n, end = length * (part + 1) / n;
	uint8_t frames[2048];

	packet.number = part;
	return quic_seal(&packet, frames,
		quic_crypto_frame(6, (uint32_t)begin, hello + begin, end - begin, frames), out);
}

static void test_name_in_one_datagram(void **state)
{
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	uint8_t hello[512], out[2048];
	size_t length = quic_hello("en.wiki.example", 0, hello);
	unsigned n_free = classifier_states_free(rig->classifier);

	(void)state;
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 0, 1, out));
	assert_true(flow.verdict.final);
	assert_int_equal(flow.verdict.app, WIKI);
	assert_int_equal(flow.verdict.confidence, CONFIDENCE_DPI);
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	assert_int_equal(classifier_states_free(rig->classifier), n_free);
	assert_int_equal(rig->work.quic_tried, 1);
	assert_int_equal(rig->work.quic_opened, 1);
	// of another name: what carries it
	flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	length = quic_hello("other.example", 0, hello);
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 0, 1, out));
	assert_true(flow.verdict.final);
	assert_string_equal(rig_app(&flow), "quic");
	rig_free(rig);
}

// What a client sends early may arrive before its hello: the name is waited for.
static void test_name_behind_early_data(void **state)
{
	static const uint8_t early[] = {0xd0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x40, 100};
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	uint8_t hello[512], out[2048] = {0};
	size_t length = quic_hello("en.wiki.example", 0, hello);

	(void)state;
	memcpy(out, early, sizeof(early));
	rig_feed(&flow, HALF_C2S, out, sizeof(early) + 100);
	assert_string_equal(rig_app(&flow), "quic");
	assert_false(flow.verdict.final);
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 0, 1, out));
	assert_int_equal(flow.verdict.app, WIKI);
	assert_true(flow.verdict.final);
	rig_free(rig);
}

static void test_name_over_datagrams(void **state)
{
	static const unsigned orders[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {1, 0, 2}};
	struct rig *rig = make();
	uint8_t hello[4096], out[2048];
	size_t length = quic_hello("wiki.example", 2400, hello);

	(void)state;
	for (unsigned i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);

		for (unsigned j = 0; j < 3; j++) {
			assert_false(flow.verdict.final);
			rig_feed(&flow, HALF_C2S, out,
				datagram(hello, length, orders[i][j], 3, out));
			if (j < 2) // the carrier is known from the first one on
				assert_string_equal(rig_app(&flow), "quic");
			// what the server says meanwhile is not the client's
			if (j < 2)
				rig_feed(&flow, HALF_S2C, out,
					datagram(hello, length, orders[i][j], 3, out));
		}
		assert_true(flow.verdict.final);
		assert_int_equal(flow.verdict.app, WIKI);
		assert_int_equal(flow.verdict.n_data_pkts, 5);
	}
	rig_free(rig); // all states are back
}

// A part never comes: the budget ends it, and the flow is what carries it.
static void test_hello_without_end(void **state)
{
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	uint8_t hello[4096], out[2048];
	size_t length = quic_hello("wiki.example", 2400, hello);

	(void)state;
	for (unsigned i = 0; i < CLASSIFY_BUDGET_PKTS + 2; i++)
		rig_feed(&flow, HALF_C2S, out, datagram(hello, length, i & 1, 3, out));
	assert_true(flow.verdict.final);
	assert_string_equal(rig_app(&flow), "quic");
	assert_int_equal(flow.verdict.n_data_pkts, 1);
	assert_in_range(rig->work.quic_tried, 2, 8);
	rig_free(rig);
}

// No state is free: an answer all the same, and nobody's bytes are mixed.
static void test_no_state_free(void **state)
{
	struct rig *rig = make();
	struct rig_flow flows[512];
	uint8_t hello[4096], out[2048];
	size_t length = quic_hello("wiki.example", 2400, hello);
	unsigned n_free = classifier_states_free(rig->classifier), n = n_free + 1, n_nomem = 0;

	(void)state;
	assert_in_range(n, 2, 512);
	for (unsigned i = 0; i < n; i++) {
		flows[i] = rig_flow(rig, IPPROTO_UDP, 40000, 443);
		rig_feed(&flows[i], HALF_C2S, out, datagram(hello, length, 0, 2, out));
		n_nomem += flows[i].verdict.nomem;
	}
	assert_int_equal(n_nomem, 1);
	for (unsigned i = 0; i < n; i++) {
		rig_feed(&flows[i], HALF_C2S, out, datagram(hello, length, 1, 2, out));
		if (flows[i].verdict.nomem)
			assert_string_equal(rig_app(&flows[i]), "quic");
		else
			assert_int_equal(flows[i].verdict.app, WIKI);
		rig_end(&flows[i]);
	}
	rig_free(rig);
}

// Nobody asks for names: nothing is opened.
static void test_nothing_is_opened_in_vain(void **state)
{
	struct rig *rig = rig_new();
	struct user_apps *user = rig->user;
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	uint8_t hello[512], out[2048];
	size_t length = quic_hello("wiki.example", 0, hello);

	(void)state;
	rig->user = NULL; // neither files nor policy have hosts
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 0, 1, out));
	assert_string_equal(rig_app(&flow), "quic");
	assert_int_equal(rig->work.quic_tried, 0);
	rig->user = user;
	rig_free(rig);
}

// Google's before Initial packets: the server's side alone, where the first message is in clear.
static void test_answer_of_google(void **state)
{
	static const char entries[] =
		"STK\0\x38\0\0\0SNO\0\x6c\0\0\0PROF\x6c\1\0\0CRT\xff\x80\4\0\0";
	struct rig *rig = rig_new();
	uint8_t out[1350];
	struct {
		size_t at;
		uint8_t octet;
	} wrong[] = {{0, 0x40}, {31, 'j'}, {33, 1}, {34, 2}, {34, 65}, {36, 1}, {38, 's'},
		{45, 0xff}, {50, 0x10}, {41, 'x'}};

	(void)state;
	memset(out, 0x5a, sizeof(out));
	out[0] = 0x08;
	memcpy(out + 26, "\xa0\1\0\4", 4);
	memcpy(out + 30, "REJ\0\4\0\0\0", 8);
	memcpy(out + 38, entries, sizeof(entries) - 1);
	for (unsigned half = 0; half < 2; half++)
		assert_string_equal(rig_first(rig, IPPROTO_UDP, half, out, sizeof(out)), "quic");
	rig_cuts(rig, IPPROTO_UDP, HALF_S2C, out, 400, "quic");
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		uint8_t was = out[wrong[i].at];

		out[wrong[i].at] = wrong[i].octet;
		assert_string_equal(rig_first(rig, IPPROTO_UDP, HALF_S2C, out, sizeof(out)), "");
		out[wrong[i].at] = was;
	}
	rig_random(rig, IPPROTO_UDP, out, 38, "quic");
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name_in_one_datagram),
		cmocka_unit_test(test_name_behind_early_data),
		cmocka_unit_test(test_name_over_datagrams),
		cmocka_unit_test(test_hello_without_end),
		cmocka_unit_test(test_no_state_free),
		cmocka_unit_test(test_answer_of_google),
		cmocka_unit_test(test_nothing_is_opened_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
