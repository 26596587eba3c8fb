// SPDX-License-Identifier: BSD-3-Clause
// A datagram flow's way to a name: QUIC through the classifier, with a policy's own application at
// wiki.example; and what is sent to hide it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <netinet/in.h>
#include <cmocka.h>
#include "lib/classify/classify_rig.h"
#include "lib/packet/quic_craft.h"
#include "classify/text.h"
#include "classify/user_apps.h"

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

// What a server says to the hello of the connection with that id: a ServerHello, or (`again`) a
// request for another one.
static size_t answer(const struct quic_packet *of, uint32_t offset, bool again, uint8_t *out)
{
	static const uint8_t request[] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe,
		0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c,
		0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};
	struct quic_packet packet = *of;
	uint8_t hello[90] = {2, 0, 0, 86, 3, 3}, frames[200] = {2, 0, 0, 0, 0}; // an ACK first

	if (again)
		memcpy(hello + 6, request, sizeof(request));
	packet.of_server = true;
	packet.keyed = of->keyed ? of->keyed : of->cid;
	packet.keyed_length = of->keyed ? of->keyed_length : of->cid_length;
	packet.cid_length = 0; // the client's
	return quic_seal(&packet, frames,
		5 + quic_crypto_frame(6, offset, hello, sizeof(hello), frames + 5), out);
}

static const uint8_t other_cid[] = {8, 7, 6, 5, 4, 3, 2, 1}, server_cid[] = {1, 1, 2, 3, 5};

// A whole hello for a name, with an id of the client's choice.
static size_t whole(
	const uint8_t *id, size_t id_length, const char *name, size_t size, uint8_t *out)
{
	struct quic_packet packet = plain;
	uint8_t hello[512], frames[600];

	packet.cid = id;
	packet.cid_length = (unsigned)id_length;
	packet.padded_to = size;
	return quic_seal(&packet, frames,
		quic_crypto_frame(6, 0, hello, quic_hello(name, 0, hello), frames), out);
}

static void ask(struct rig_flow *flow, const uint8_t *id, const char *name)
{
	uint8_t out[2048];

	rig_feed(flow, HALF_C2S, out, whole(id, 8, name, 1200, out));
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
	assert_int_equal(rig->work.quic_tried, 1);
	assert_int_equal(rig->work.quic_opened, 1);
	// its keys are kept until the server has answered
	assert_int_equal(classifier_states_free(rig->classifier), n_free - 1);
	rig_feed(&flow, HALF_S2C, out, answer(&plain, 0, false, out));
	assert_int_equal(classifier_states_free(rig->classifier), n_free);
	assert_int_equal(flow.verdict.app, WIKI);
	// of another name: what carries it
	flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	length = quic_hello("other.example", 0, hello);
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 0, 1, out));
	assert_true(flow.verdict.final);
	assert_string_equal(rig_app(&flow), "quic");
	rig_end(&flow);
	rig_free(rig);
}

// What a client sends early may arrive before its hello: the name is waited for.
static void test_name_behind_early_data(void **state)
{
	(void)state;
	for (unsigned half = 0; half < 2; half++) { // a hello of whichever end
		uint8_t out[2048] = {0xd0, 0, 0, 0, 1, 8, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0x40, 100};
		struct rig *rig = make();
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);

		rig_feed(&flow, HALF_C2S, out, 117);
		assert_string_equal(rig_app(&flow), "quic");
		assert_false(flow.verdict.final);
		rig_feed(&flow, half, out, whole(cid, 8, "en.wiki.example", 1200, out));
		assert_int_equal(flow.verdict.app, WIKI);
		assert_int_equal(rig->work.quic_tried, 1);
		assert_true(flow.verdict.final);
		rig_end(&flow);
		rig_free(rig);
	}
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
		rig_end(&flow);
	}
	rig_free(rig); // all states are back
}

// A part is late: the budget ends, and the flow is what carries it until the name is here.
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
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 2, 3, out));
	assert_int_equal(flow.verdict.app, WIKI);
	rig_end(&flow);
	rig_free(rig);
}

// What a server discards, or answers for another connection, hides no name that is asked for behind
// it; before the flow is classified, and after.
static size_t decoy(unsigned which, unsigned n, uint8_t *out)
{
	struct quic_packet packet = plain;
	const uint8_t ping[] = {1};
	size_t length = whole(other_cid, 8, "other.example", 1200, out);

	switch (which) {
	case 0: // nothing opens it
		out[length - 1] ^= 1;
		break;
	case 1: // too small
		return whole(other_cid, 8, "other.example", 0, out);
	case 2: // an octet less than the least
		return whole(other_cid, 8, "other.example", 1199, out);
	case 3:
		packet.number = n;
		packet.cid = other_cid;
		return quic_seal(&packet, ping, sizeof(ping), out);
	case 4: // a version that nobody speaks
		memcpy(out + 1, "\x1a\x2a\x3a\x4a", 4);
		break;
	case 5: // of a server, to whoever asked first
		memset(out + 1, 0, 4);
		break;
	case 6: // an id shorter than those that clients begin with (RFC 9000 7.2)
		return whole(other_cid, 7, "other.example", 1200, out);
	case 7: // another connection
		break;
	case 8: // the same in another version
		packet.version = QUIC_VERSION_2;
		packet.cid = other_cid;
		return quic_seal(&packet, ping, sizeof(ping), out);
	case 9:
		memset(out, 0x55, length); // no QUIC at all
		break;
	case 10: // a handshake packet, or one for a connection that stands
		out[0] = 0xe0;
		break;
	default: return 0;
	}
	return length;
}

static void test_decoys_hide_nothing(void **state)
{
	static const unsigned counts[] = {1, 3, 9, 40};
	struct rig *rig = make();
	uint8_t out[2048];
	size_t length;

	(void)state;
	for (unsigned which = 0; (length = decoy(which, 0, out)); which++)
		for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);

			for (unsigned n = 0; n < counts[i]; n++)
				rig_feed(&flow, HALF_C2S, out, decoy(which, n, out));
			ask(&flow, cid, "en.wiki.example");
			if (flow.verdict.app != WIKI)
				fail_msg("decoy %u, %u times: '%s'", which, counts[i],
					rig_app(&flow));
			rig_end(&flow);
		}
	rig_free(rig);
}

// An Initial below 1,200 octets that has no part of a hello hides none, and passes: Google's
// clients acknowledge so (the capture ndpi__quic_q50). One with a part is refused.
static void test_small_datagrams_with_no_part_of_a_hello(void **state)
{
	static const struct {
		uint32_t version;
		const char *frames;
		size_t length;
		bool refused;
	} table[] = {
		{1, "\1\0\0\0", 4, false},                       // PING
		{1, "\2\1\0\0\1", 5, false},                     // ACK
		{1, "\6\0\4abcd", 7, true},                      // CRYPTO
		{1, "\2\1\0\0\1\6\0\4abcd", 12, true},           // behind an ACK
		{QUIC_VERSION_Q050, "\x40\1\0\0\1\0", 6, false}, // ACK, as in the capture
		{QUIC_VERSION_Q050, "\x40\1\0\0\1\0\x8\0\4abcd", 13, true},
		{QUIC_VERSION_Q050, "\x65\1\1\0\0\1\0\1\2\0\1\0\x8\0\4abcd", 19, true}, // blocks
		{QUIC_VERSION_Q050, "\x40\1\0\0\1\2\0\0\0\0\0\0\0\0\x8\0\4abcd", 21, true}, // times
	};
	struct rig *rig = make();
	uint8_t out[2048];

	(void)state;
	for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
		struct quic_packet packet = plain;

		ask(&flow, cid, "other.example");
		packet.version = table[i].version;
		packet.number = 7;
		packet.padded_to = 50;
		rig_feed(&flow, HALF_C2S, out,
			quic_seal(&packet, (const uint8_t *)table[i].frames, table[i].length, out));
		if (flow.refused != table[i].refused)
			fail_msg("row %u: %srefused", i, flow.refused ? "" : "not ");
		rig_end(&flow);
	}
	rig_free(rig);
}

// Google's acknowledgements have a form of their own: a hello behind one is read.
static void test_hello_behind_an_acknowledgement_of_google(void **state)
{
	static const struct text acks[] = {{(const uint8_t *)"\x40\1\0\0\1\0", 6},
		{(const uint8_t *)"\x65\1\1\0\0\1\0\1\2\0\1\1\x8\x8\x8\x8\x8", 17},
		{(const uint8_t *)"\x4f\1\1\1\1\1\1\0\0\1\1\1\1\1\1\0", 16}};
	struct rig *rig = make();
	uint8_t hello[512], frames[600], out[2048];
	size_t length = quic_hello("en.wiki.example", 0, hello);

	(void)state;
	for (unsigned i = 0; i < sizeof(acks) / sizeof(acks[0]); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
		struct quic_packet packet = plain;
		uint32_t at = acks[i].length;

		memcpy(frames, acks[i].at, at);
		packet.version = 0x54303530; // T050
		rig_feed(&flow, HALF_C2S, out,
			quic_seal(&packet, frames,
				at + quic_crypto_frame(8, 0, hello, length, frames + at), out));
		assert_int_equal(flow.verdict.app, WIKI);
		rig_end(&flow);
	}
	rig_free(rig);
}

// Two contents of one place: what came first has been read, and the other is not let to the server,
// whatever it has made of the first; also when it speaks with the id that the server has chosen.
static void test_two_hellos_of_one_connection(void **state)
{
	struct rig *rig = make();
	struct quic_packet packet = plain;
	uint8_t hello[512], frames[600], out[2048];
	size_t length = quic_hello("en.wiki.example", 0, hello);

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);

		ask(&flow, cid, "other.example");
		assert_string_equal(rig_app(&flow), "quic");
		if (i) {
			packet.keyed = cid;
			packet.keyed_length = sizeof(cid);
			packet.cid = server_cid;
			packet.cid_length = sizeof(server_cid);
		}
		packet.number = 5;
		rig_feed(&flow, HALF_C2S, out,
			quic_seal(&packet, frames, quic_crypto_frame(6, 0, hello, length, frames),
				out));
		assert_true(flow.refused);
		ask(&flow, cid, "other.example"); // a copy of the first is none
		assert_false(flow.refused);
		rig_end(&flow);
	}
	rig_free(rig);
}

// Parts of two connections in turns: of the one that was left nothing more is taken.
static void test_connections_in_turns(void **state)
{
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	struct quic_packet packet = plain;
	uint8_t hello[512], out[2048], frames[600];
	size_t length = quic_hello("en.wiki.example", 0, hello);

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		size_t begin = i / 2 ? 60 : 0, end = i / 2 ? length : 60;

		packet.cid = i & 1 ? other_cid : cid;
		packet.number = i;
		rig_feed(&flow, HALF_C2S, out,
			quic_seal(&packet, frames,
				quic_crypto_frame(
					6, (uint32_t)begin, hello + begin, end - begin, frames),
				out));
		assert_int_equal(flow.refused, i == 2);
	}
	assert_int_equal(flow.verdict.app, WIKI); // of the second connection
	// nor with the id that its server has chosen, once the other is answered
	packet = plain;
	packet.cid = other_cid;
	rig_feed(&flow, HALF_S2C, out, answer(&packet, 0, false, out));
	packet.keyed = cid;
	packet.keyed_length = sizeof(cid);
	packet.cid = server_cid;
	packet.cid_length = sizeof(server_cid);
	rig_feed(&flow, HALF_C2S, out,
		quic_seal(&packet, frames,
			quic_crypto_frame(6, 60, hello + 60, length - 60, frames), out));
	assert_true(flow.refused);
	rig_end(&flow);
	rig_free(rig);
}

// One after the other on the same ports: each is what it asks for.
static void test_connections_one_after_the_other(void **state)
{
	static const struct {
		const char *name, *app;
	} turns[] = {{"other.example", "quic"}, {"wiki.example", NULL}, {"wiki.example", NULL},
		{"third.example", "quic"}, {"web.whatsapp.com", "whatsapp"}, {"", "quic"},
		{"a.wiki.example", NULL}};
	struct rig *rig = make();

	(void)state;
	for (unsigned answered = 0; answered < 2; answered++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);

		for (unsigned i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
			uint8_t id[8] = {(uint8_t)(i + 1)}, out[2048];
			struct quic_packet packet = plain;

			ask(&flow, id, turns[i].name);
			assert_false(flow.refused);
			if (turns[i].app)
				assert_string_equal(rig_app(&flow), turns[i].app);
			else
				assert_int_equal(flow.verdict.app, WIKI);
			packet.cid = id;
			if (answered)
				rig_feed(&flow, HALF_S2C, out, answer(&packet, 0, false, out));
			for (unsigned k = 0; k < 30; k++) // and what follows
				rig_feed(&flow, k & 1, "\x43 short", 8);
		}
		rig_end(&flow);
	}
	rig_free(rig);
}

// RFC 8446 4.1.4: the server asks for another hello, which may ask for another name.
static void test_hello_that_is_asked_for_again(void **state)
{
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	struct quic_packet packet = plain;
	uint8_t hello[512], frames[600], out[2048];
	size_t first = quic_hello("other.example", 0, hello), length;

	(void)state;
	ask(&flow, cid, "other.example");
	rig_feed(&flow, HALF_S2C, out, answer(&plain, 0, true, out));
	assert_false(flow.refused);
	length = quic_hello("en.wiki.example", 0, hello);
	packet.cid = server_cid;
	packet.cid_length = sizeof(server_cid);
	packet.keyed = cid;
	packet.keyed_length = sizeof(cid);
	rig_feed(&flow, HALF_C2S, out,
		quic_seal(&packet, frames,
			quic_crypto_frame(6, (uint32_t)first, hello, length, frames), out));
	assert_int_equal(flow.verdict.app, WIKI);
	rig_feed(&flow, HALF_S2C, out, answer(&plain, 90, false, out));
	rig_free(rig); // the state is back
}

// A server that answers has seen the whole hello. What is missing here is not asked for in vain:
// its answer is withheld, and the client sends all of it again.
static void test_answer_to_a_hello_that_is_not_whole(void **state)
{
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 443);
	uint8_t hello[4096], out[2048];
	size_t length = quic_hello("wiki.example", 2400, hello);

	(void)state;
	rig_feed(&flow, HALF_C2S, out, datagram(hello, length, 0, 3, out));
	rig_feed(&flow, HALF_S2C, out, answer(&plain, 0, false, out));
	assert_true(flow.refused);
	for (unsigned part = 0; part < 3; part++)
		rig_feed(&flow, HALF_C2S, out, datagram(hello, length, part, 3, out));
	assert_int_equal(flow.verdict.app, WIKI);
	rig_feed(&flow, HALF_S2C, out, answer(&plain, 0, false, out));
	assert_false(flow.refused);
	rig_free(rig);
}

// The first datagram was the other end's, or was forged in its name.
static void test_client_that_did_not_begin(void **state)
{
	struct rig *rig = make();
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 443, 40000);
	uint8_t out[2048];

	(void)state;
	rig_feed(&flow, HALF_C2S, "\x43 hello", 8);
	rig_feed(&flow, HALF_S2C, out, whole(cid, 8, "en.wiki.example", 1200, out));
	assert_int_equal(flow.verdict.app, WIKI);
	rig_end(&flow);
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
		cmocka_unit_test(test_decoys_hide_nothing),
		cmocka_unit_test(test_small_datagrams_with_no_part_of_a_hello),
		cmocka_unit_test(test_hello_behind_an_acknowledgement_of_google),
		cmocka_unit_test(test_two_hellos_of_one_connection),
		cmocka_unit_test(test_connections_in_turns),
		cmocka_unit_test(test_connections_one_after_the_other),
		cmocka_unit_test(test_hello_that_is_asked_for_again),
		cmocka_unit_test(test_answer_to_a_hello_that_is_not_whole),
		cmocka_unit_test(test_client_that_did_not_begin),
		cmocka_unit_test(test_no_state_free),
		cmocka_unit_test(test_answer_of_google),
		cmocka_unit_test(test_nothing_is_opened_in_vain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
