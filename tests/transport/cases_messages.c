// SPDX-License-Identifier: BSD-3-Clause
// Messages: what is taken arrives as it was or not at all (TA10, TA11, TA12), and no send blocks.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "rows.h"

#define FLOOD      20000
#define FLOOD_SIZE 1200

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static uint64_t dropped(const struct tapi_transport_stats *stats)
{
	return stats->dropped_block + stats->dropped_rate + stats->dropped_down +
	       stats->dropped_too_big + stats->dropped_error;
}

// Each message that send() was given is in one counter, each that came in another.
static void reconciles(struct rig_node *node)
{
	const struct tapi_transport_stats *stats = rig_stats(node);

	assert_int_equal(stats->sent_msgs, node->taken);
	assert_int_equal(stats->sent_bytes, node->given_bytes);
	assert_int_equal(stats->sent_msgs + dropped(stats), node->given);
	assert_int_equal(stats->received_msgs, node->n_arrivals);
}

// The first message of a session may still wait for it to stand.
static void arrives(
	struct row_pair *pair, uint32_t serial, uint32_t size, bool is_encrypted, uint32_t crc)
{
	const struct rig_arrival *arrival;
	unsigned before = pair->a->n_arrivals;

	assert_int_equal(rig_send_as(pair->out, serial, size, is_encrypted, crc), TAPI_OK);
	if (row_has(ROW_SILENT))
		return;
	assert_true(rig_until_arrivals(pair->a, before + 1));
	arrival = &pair->a->arrivals[before];
	assert_int_equal(arrival->size, size);
	if (size >= 4)
		assert_int_equal(arrival->serial, serial);
	assert_int_equal(arrival->is_encrypted, is_encrypted);
	assert_int_equal(arrival->crc, crc);
	assert_memory_equal(&arrival->sender, &pair->b->id, sizeof(pair->b->id));
	assert_int_equal(arrival->session == NULL, row_is(TAPI_SESSIONLESS));
}

static void sizes(void **state)
{
	static const uint32_t small[] = {1, 2, 3, 4, 5, 11, 407, 1221, 1366};
	struct row_pair pair;
	uint32_t largest;

	(void)state;
	row_pair_begin(&pair);
	largest = row_helo(pair.b, pair.a).mtu; // IPv6 takes less of some
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (small[i] <= row->mtu)
			arrives(&pair, (uint32_t)i + 1, small[i], false, 0x11223344);
	for (uint32_t less = 3; less-- > 0;)
		arrives(&pair, 100 + less, largest - less, true, 0);
	assert_int_equal(rig_send(pair.out, 200, row->mtu + 1), TAPI_ETOOBIG);
	assert_int_equal(
		pair.b->api->send(pair.b->api, pair.out->session, "", UINT32_MAX, false, 0),
		TAPI_ETOOBIG); // said before the message is looked at
	assert_int_equal(rig_stats(pair.b)->dropped_too_big, 2);
	rig_pump(&pair.rig, 10);
	assert_null(rig_arrival(pair.a, 200));
	arrives(&pair, 201, 50, false, 1); // the session lives on
	row_pair_end(&pair);
}

// No octets are a message, too: taken and delivered as such, or refused; never something else.
static void nothing(void **state)
{
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	if (rig_send(pair.out, 1, 0) == TAPI_OK && !row_has(ROW_SILENT)) {
		assert_true(rig_until_arrivals(pair.a, 1));
		assert_int_equal(pair.a->arrivals[0].size, 0);
	}
	arrives(&pair, 2, 10, false, 1);
	assert_int_equal(rig_stats(pair.a)->bad_frame, 0);
	row_pair_end(&pair);
}

// Carried and never looked at, on each message anew (TA12): a checksum that is wrong, all values.
static void flag_and_checksum(void **state)
{
	static const uint32_t checksums[] = {0, 1, 0x80000000, UINT32_MAX, 0xdeadbeef};
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	for (size_t i = 0; i < sizeof(checksums) / sizeof(checksums[0]); i++) {
		arrives(&pair, (uint32_t)(2 * i), 64, false, checksums[i]);
		arrives(&pair, (uint32_t)(2 * i) + 1, 64, true, checksums[i]);
	}
	reconciles(pair.a);
	reconciles(pair.b);
	row_pair_end(&pair);
}

static bool is_quiet(void *context)
{
	struct row_pair *pair = context;
	static unsigned last;
	bool quiet = pair->a->n_arrivals == last;

	last = pair->a->n_arrivals;
	return quiet;
}

// Until nothing has come for a while.
static void settle(struct row_pair *pair)
{
	for (unsigned still = 0; still < 10; still = is_quiet(pair) ? still + 1 : 0)
		rig_pump(&pair->rig, 5);
}

// Nobody reads at the other end: no send waits, what does not fit is dropped and counted, and the
// stream stays whole: what was taken comes.
static void flood(void **state)
{
	struct row_pair pair;
	double begin;

	(void)state;
	row_pair_begin(&pair);
	arrives(&pair, 1, 100, false, 0);
	begin = seconds();
	for (uint32_t i = 0; i < FLOOD; i++) {
		enum tapi_result result = rig_send(pair.out, 10 + i, FLOOD_SIZE);

		assert_true(result == TAPI_OK || result == TAPI_DROPPED);
	}
	if (seconds() - begin > 20)
		fail_msg("%u sends took %.1f s: they block", FLOOD, seconds() - begin);
	if (row_is(TAPI_STREAM))
		assert_true(pair.b->refused[-TAPI_DROPPED] > 0); // it would have blocked
	if (pair.b->api->send_estimate && pair.b->refused[-TAPI_DROPPED] > 0 && row_is(TAPI_STREAM))
		assert_true(pair.b->api->send_estimate(pair.b->api, pair.out->session) <
			    64 * FLOOD_SIZE);
	settle(&pair);
	reconciles(pair.a);
	reconciles(pair.b);
	assert_true(pair.a->n_arrivals <= pair.b->taken);
	if (row_is(TAPI_STREAM))
		assert_int_equal(pair.a->n_arrivals, pair.b->taken);
	assert_int_equal(rig_stats(pair.a)->bad_frame, 0);
	if (row_is(TAPI_ORDERED))
		for (unsigned i = 1; i < pair.a->n_arrivals; i++)
			assert_true(pair.a->arrivals[i].serial > pair.a->arrivals[i - 1].serial);
	// And goes on as if nothing had been.
	assert_non_null(pair.out->session);
	arrives(&pair, 9999999, 100, true, 5);
	row_pair_end(&pair);
}

// A reader that is slower than the writer: what goes in pieces comes in one piece.
static void trickle(void **state)
{
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	arrives(&pair, 1, 100, false, 0);
	for (uint32_t i = 0; i < 1500; i++) {
		uint64_t chance = rig_random(&pair.rig);
		enum tapi_result result = rig_send(
			pair.out, 10 + i, (uint32_t)(1 + chance % (i % 4 ? row->mtu : 500)));

		assert_true(result == TAPI_OK || result == TAPI_DROPPED ||
			    result == TAPI_ETOOBIG); // an mtu of IPv4, where it is IPv6's
		if ((chance >> 32) % 8 == 0) {       // one event, and no turn
			event_base_loop(pair.rig.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		}
	}
	settle(&pair);
	reconciles(pair.a);
	reconciles(pair.b);
	if (row_is(TAPI_STREAM))
		assert_int_equal(pair.a->n_arrivals, pair.b->taken);
	assert_int_equal(rig_stats(pair.a)->bad_frame, 0);
	arrives(&pair, 9999999, 100, true, 5);
	row_pair_end(&pair);
}

// What waits for a connection to stand is kept up to one mtu, and the rest is dropped
// (transport.h).
static void before_it_stands(void **state)
{
	struct row_pair pair;
	uint64_t taken_bytes;

	(void)state;
	row_pair_begin(&pair);
	for (uint32_t i = 0; i < 200; i++)
		rig_send(pair.out, 10 + i, 1000);
	taken_bytes = pair.b->taken * 1000;
	assert_true(taken_bytes >= 1000); // the first, at any rate
	settle(&pair);
	reconciles(pair.b);
	if (row_is(TAPI_STREAM))
		assert_int_equal(pair.a->n_arrivals, pair.b->taken);
	row_pair_end(&pair);
}

static void rate_limit(void **state)
{
	struct row_pair pair;
	uint64_t before;

	(void)state;
	if (!row_has(ROW_NAT)) // the transports of the Internet have the key
		skip();
	row_pair_begin_as(&pair, NULL, &(struct row_wish){.extra = "\"rate_bytes_s\": 100000"});
	arrives(&pair, 1, 100, false, 0);
	for (uint32_t i = 0; i < 1000; i++)
		rig_send(pair.out, 10 + i, 1000);
	assert_true(rig_stats(pair.b)->dropped_rate > 500); // 900, and what time let through
	reconciles(pair.b);
	before = pair.b->taken;
	pair.rig.ahead_us += 10000; // 1000 octets more
	assert_int_equal(rig_send(pair.out, 5000, 500), TAPI_OK);
	assert_int_equal(pair.b->taken, before + 1);
	row_pair_end(&pair);
}

static void session_of_a_stopped_server(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo;
	struct rig_session *session;

	(void)state;
	row_pair_begin(&pair);
	helo = row_helo(pair.b, pair.a);
	rig_stop(pair.b);
	assert_int_equal(rig_connect(pair.b, &helo, &session), TAPI_EDOWN);
	row_pair_end(&pair);
}

int cases_messages(void)
{
	const struct CMUnitTest tests[] = {
		CASE(sizes),
		CASE(nothing),
		CASE(flag_and_checksum),
		CASE(flood),
		CASE(trickle),
		CASE(before_it_stands),
		CASE(rate_limit),
		CASE(session_of_a_stopped_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
