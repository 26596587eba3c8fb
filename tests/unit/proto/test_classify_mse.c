// SPDX-License-Identifier: BSD-3-Clause
// Encrypted BitTorrent by its shape (mse.h): what has it, what has not, and how often chance does.
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "classify/randomness.h"
#include "lib/classify/classify_rig.h"
#include "classify/proto/bittorrent/mse.h"

static struct rig *rig;

static uint64_t seed = 1;

static uint8_t chance(void) // splitmix64
{
	uint64_t z = (seed += 0x9e3779b97f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint8_t)(z >> 56);
}

static uint8_t *fill(uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = chance();
	return bytes;
}

// Flights of these lengths, client first; the application at the end. `at`: after which it came.
static const char *flights(uint16_t port, const unsigned *lengths, unsigned n, unsigned *at)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, port);
	uint8_t bytes[1460];
	static char app[32];

	*at = 0;
	for (unsigned i = 0; i < n; i++) {
		rig_feed(&flow, i & 1, fill(bytes, lengths[i]), lengths[i]);
		if (rig_app(&flow)[0] && !*at)
			*at = i + 1;
		if (*at)
			break;
	}
	if (*at)
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
	snprintf(app, sizeof(app), "%s", rig_app(&flow));
	rig_end(&flow);
	return app;
}

static void the_shape_is_partial_at_the_third_flight(void **state)
{
	static const unsigned shapes[][4] = {
		{96, 96, 56, 14}, {608, 608, 1000, 600}, {300, 111, 124, 82}, {97, 500, 124, 82}};
	unsigned at, seen = 0;

	(void)state;
	for (unsigned i = 0; i < 400; i++) {
		const char *app = flights(51413, shapes[i & 3], 4, &at);

		// the tests of chance refuse some of what really is
		seen += !strcmp(app, "bittorrent");
		assert_true(!at || at == 3);
	}
	assert_in_range(seen, 390, 400);
}

// Each flight in pieces of 64 octets: more than the packets of the budget.
static void the_shape_is_waited_for(void **state)
{
	static const unsigned lengths[] = {400, 600, 100};
	uint8_t bytes[600];
	unsigned seen = 0;

	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 51413);

		for (unsigned flight = 0; flight < 3; flight++) {
			fill(bytes, lengths[flight]);
			for (unsigned at = 0; at < lengths[flight]; at += 64)
				rig_feed(&flow, flight & 1, bytes + at,
					lengths[flight] - at < 64 ? lengths[flight] - at : 64);
		}
		seen += !strcmp(rig_app(&flow), "bittorrent");
		rig_end(&flow);
	}
	assert_in_range(seen, 95, 100);
}

static void what_is_not_of_this_shape(void **state)
{
	static const unsigned others[][4] = {
		{95, 96, 56, 14},   // a key has 96
		{96, 95, 56, 14},   //
		{609, 96, 56, 14},  // padding ends
		{96, 609, 56, 14},  //
		{200, 210, 55, 14}, // the third flight is longer
		{200, 210, 12, 14}, //
	};
	unsigned at;

	(void)state;
	for (unsigned i = 0; i < 60; i++)
		assert_string_equal(flights(51413, others[i % 6], 4, &at), "");
	// nobody listens there
	for (unsigned i = 0; i < 20; i++)
		assert_string_equal(
			flights(443, (const unsigned[]){300, 300, 124, 82}, 4, &at), "");
}

// eMule's servers: the same keys, little padding; the first octet is no marker of eDonkey's.
static void emule_is_told_apart_by_size(void **state)
{
	static const unsigned shapes[][3] = {
		{97, 103, 38}, {112, 118, 100}, {100, 110, 90}, {105, 104, 200}};
	static const unsigned others[][3] = {{96, 103, 38}, {113, 103, 38}, {97, 102, 38},
		{97, 119, 38}, {97, 103, 37},
		{97, 105, 8}}; // the login comes with the handshake's end
	unsigned at, seen = 0;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		const char *app = flights(4661, shapes[i & 3], 3, &at);

		assert_true(!app[0] || !strcmp(app, "edonkey"));
		seen += app[0] != 0;
	}
	assert_in_range(seen, 190, 200);
	for (unsigned i = 0; i < 50; i++)
		assert_string_equal(flights(4661, others[i % 6], 3, &at), "");
	assert_string_equal(flights(443, shapes[0], 3, &at), "");
}

// A second flight of the client before the server has spoken is of another protocol.
static void flights_do_not_overlap(void **state)
{
	uint8_t bytes[1460];

	(void)state;
	for (unsigned i = 0; i < 20; i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 51413);

		rig_feed(&flow, HALF_C2S, fill(bytes, 500), 500);
		rig_feed(&flow, HALF_C2S, fill(bytes, 200), 200);
		rig_feed(&flow, HALF_S2C, fill(bytes, 200), 200);
		rig_feed(&flow, HALF_C2S, fill(bytes, 200), 200);
		assert_string_equal(rig_app(&flow), "");
		rig_end(&flow);
	}
}

// Many small messages in turn are none, however many octets they come to.
static void a_conversation_is_no_flight(void **state)
{
	uint8_t bytes[200];

	(void)state;
	for (unsigned size = 20; size < 94; size += 5) { // from 94 on it may be eMule
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 51413);

		for (unsigned i = 0; i < 10; i++)
			rig_feed(&flow, i & 1, fill(bytes, size), size);
		assert_string_equal(rig_app(&flow), "");
		rig_end(&flow);
	}
}

// Flights of any length are cut into segments somewhere: the same.
static void flights_in_segments(void **state)
{
	unsigned seen = 0;
	uint8_t bytes[3][600];

	(void)state;
	for (unsigned i = 1; i < 96; i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_TCP, 40000, 51413);
		static const unsigned lengths[3] = {200, 220, 130};

		for (unsigned k = 0; k < 3; k++) {
			fill(bytes[k], lengths[k]);
			rig_feed(&flow, k & 1, bytes[k], i);
			rig_feed(&flow, k & 1, bytes[k] + i, lengths[k] - i);
		}
		seen += !strcmp(rig_app(&flow), "bittorrent");
		rig_end(&flow);
	}
	assert_in_range(seen, 90, 95);
}

static void structure_is_not_chance(void **state)
{
	uint8_t bytes[400];

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)('a' + chance() % 26);
	assert_false(mse_is_flight(bytes, 400)); // text
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	assert_false(mse_is_flight(bytes, 400)); // a counter
	fill(bytes, 400);
	memset(bytes + 40, 0, 20);
	assert_false(mse_is_flight(bytes, 400)); // fields that are empty
	for (unsigned i = 0; i < 5; i++) {
		fill(bytes, 400);
		bytes[i] = 0x01; // the length of what follows, big-endian
		bytes[i + 1] = (uint8_t)(0x90 - 2 - i);
		assert_false(mse_is_flight(bytes, 400));
		fill(bytes, 400);
		bytes[i + 1] = 0x01; // of all, little-endian
		bytes[i] = 0x90;
		assert_false(mse_is_flight(bytes, 400));
	}
	assert_false(mse_is_flight(fill(bytes, 95), 95));
	assert_false(randomness_looks_random(bytes, 0));
	assert_true(randomness_is_framed(bytes, 3));
}

// Three flights of chance, lengths 1..1460, have the shape as often as their lengths say, and never
// more than PARTIAL: 0.351 ^ 2 that both keys have the room, 0.962 that the third is long enough.
static void the_rate_of_chance(void **state)
{
	enum { FLOWS = 20000 };
	unsigned seen = 0, at;

	(void)state;
	for (unsigned i = 0; i < FLOWS; i++) {
		unsigned lengths[3];

		for (unsigned k = 0; k < 3; k++)
			lengths[k] = 1 + (unsigned)(chance() << 8 | chance()) % 1460;
		seen += flights(51413, lengths, 3, &at)[0] != 0;
	}
	print_message("MSE-shaped: %u of %u flows of chance\n", seen, (unsigned)FLOWS);
	assert_in_range(seen, FLOWS * 10 / 100, FLOWS * 13 / 100); // eMule's are one in 8,000
}

static int end(void **state)
{
	(void)state;
	rig_free(rig);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_shape_is_partial_at_the_third_flight),
		cmocka_unit_test(the_shape_is_waited_for),
		cmocka_unit_test(what_is_not_of_this_shape),
		cmocka_unit_test(emule_is_told_apart_by_size),
		cmocka_unit_test(flights_do_not_overlap),
		cmocka_unit_test(a_conversation_is_no_flight),
		cmocka_unit_test(flights_in_segments),
		cmocka_unit_test(structure_is_not_chance),
		cmocka_unit_test(the_rate_of_chance),
	};

	rig = rig_new();
	return cmocka_run_group_tests(tests, NULL, end);
}
