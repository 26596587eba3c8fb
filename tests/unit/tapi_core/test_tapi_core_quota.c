// SPDX-License-Identifier: BSD-3-Clause
// Flow limits (TA29): a quota per peer, in and out; memory that is bounded whoever sends; who holds
// most gives way; and a peer table that strangers cannot fill.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/table.h"
#include "transportapi/base/wire.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/ping.h"

#define S     1000000u
#define MS    1000u
#define QUICK "\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 1000"

static const struct wire_node_options UDP_ONLY = {.transports = "\"vudp\"", .core = QUICK};

static void meet(struct wire *wire, struct wire_node *a, struct wire_node *b)
{
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
}

// As many as it takes, for ten seconds; octets that arrived.
static uint64_t pour(struct wire *wire, struct wire_node *from, struct wire_node *to)
{
	uint64_t before = to->inbox.bytes;
	static uint8_t body[996];

	for (int i = 0; i < 10000; i++) {
		wire_send(from, to, 64, body, sizeof(body));
		wire_run(wire, 1 * MS);
	}
	return to->inbox.bytes - before;
}

static void test_quota_out(void **state)
{
	struct wire *wire = wire_new(60);
	struct wire_node *a = wire_node_add(wire, &UDP_ONLY), *b = wire_node_add(wire, &UDP_ONLY),
			 *c = wire_node_add(wire, &UDP_ONLY);
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	meet(wire, a, c);
	assert_true(pour(wire, a, b) > 9900000);
	assert_int_equal(tapi_core_quota(a->core, &b->identity.id, 0, 100000), TAPI_OK);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.out_rate, 100000);
	wire_run(wire, 1 * S);
	// A second's worth at once, then the rate.
	assert_in_range(pour(wire, a, b), 1000000, 1110000);
	assert_true(wire_counter(a, "send_full") > 5000); // the application was reported
	assert_true(pour(wire, a, c) > 9900000);          // its neighbour does not feel it
	assert_int_equal(tapi_core_quota(a->core, &b->identity.id, 0, 0), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_true(pour(wire, a, b) > 9900000);
	assert_int_equal(tapi_core_quota(a->core, &(struct tapi_peer_id){{1}}, 1, 1), TAPI_ENOADDR);
	wire_free(wire);
}

static void test_quota_in(void **state)
{
	struct wire *wire = wire_new(61);
	struct wire_node_options quota = {
		.transports = "\"vudp\"", .core = QUICK ", \"in_rate\": 100000"};
	struct wire_node *a = wire_node_add(wire, &UDP_ONLY), *b = wire_node_add(wire, &quota);

	(void)state;
	meet(wire, a, b);
	wire_run(wire, 1 * S);
	assert_in_range(pour(wire, a, b), 900000, 1110000);
	assert_true(wire_counter(b, "received_quota") > 8000);
	assert_int_equal(a->inbox.lost, 0); // PONGs of the one who is over it still come
	wire_free(wire);
}

// All queues together have 64 KiB: the one who waits most loses, not the one who comes last.
static void test_fair_drop(void **state)
{
	struct wire *wire = wire_new(62);
	struct wire_node_options small = {.transports = "\"vudp\"",
		.core = QUICK ", \"queue_total_bytes\": 65536, \"queue_bytes\": 1000000, "
			      "\"queue_msgs\": 1000"};
	struct wire_node *a = wire_node_add(wire, &small), *greedy = wire_node_add(wire, &UDP_ONLY),
			 *modest = wire_node_add(wire, &UDP_ONLY);
	static uint8_t body[1000];
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, greedy);
	meet(wire, a, modest);
	wire_no_room(a, WIRE_UDP, true);
	for (int i = 0; i < 500; i++)
		wire_send(a, greedy, 64, body, sizeof(body));
	for (int i = 0; i < 10; i++)
		assert_int_equal(wire_send(a, modest, 64, body, sizeof(body)), TAPI_OK);
	assert_true(a->core->queue_pool.bytes <= 65536);
	tapi_core_peer(a->core, &modest->identity.id, &info);
	assert_int_equal(info.queued_msgs, 10);
	tapi_core_peer(a->core, &greedy->identity.id, &info);
	assert_in_range(info.queued_msgs, 40, 60);
	assert_true(info.dropped_msgs >= 10);
	wire_no_room(a, WIRE_UDP, false);
	wire_run(wire, 1 * S);
	assert_int_equal(modest->inbox.messages, 11);
	wire_free(wire);
}

static void test_priority(void **state)
{
	struct wire *wire = wire_new(63);
	struct wire_node *a = wire_node_add(wire, &UDP_ONLY), *b = wire_node_add(wire, &UDP_ONLY);
	struct tapi_outgoing outgoing = {.type = 64, .body = "low", .length = 3};

	(void)state;
	meet(wire, a, b);
	wire_no_room(a, WIRE_UDP, true);
	for (int i = 0; i < 64; i++)
		tapi_core_send(a->core, &b->identity.id, &outgoing);
	outgoing = (struct tapi_outgoing){.type = 65, .body = "high", .length = 4, .priority = 3};
	assert_int_equal(tapi_core_send(a->core, &b->identity.id, &outgoing), TAPI_OK);
	outgoing.priority = 4;
	assert_int_equal(tapi_core_send(a->core, &b->identity.id, &outgoing), TAPI_EFORMAT);
	wire_poke(a);
	wire_no_room(a, WIRE_UDP, false);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 65);  // x, 63 low ones, and the high one
	assert_int_equal(b->inbox.last_type, 64); // it overtook them
	wire_free(wire);
}

// One peer with twenty addresses, one of them another's, whose session stays the other's.
static void test_many_addresses(void **state)
{
	struct wire *wire = wire_new(66);
	struct wire_node *a = wire_node_add(wire, &UDP_ONLY), *b = wire_node_add(wire, &UDP_ONLY);
	uint8_t seed[TAPI_SEED_BYTES] = {9}, octets[TAPI_HELO_BYTES_MAX];
	struct tapi_outgoing outgoing = {.type = 64, .body = "x", .length = 1};
	struct tapi_identity m;
	struct tapi_peer_info info;

	(void)state;
	tapi_identity_from_seed(&m, seed);
	meet(wire, a, b);
	for (uint32_t i = 0; i < 20; i++) {
		struct tapi_helo helo = {
			.protocol = WIRE_PROTOCOL + WIRE_UDP,
			.mtu = 1432,
			.expires_us = UINT64_C(1800003600000000),
			.seq = UINT64_C(1800000000000000) + i,
			.address_size = 6,
		};

		tapi_put16(tapi_put32(helo.address, i == 19 ? b->ip : 0x0a550001 + i), WIRE_PORT);
		tapi_helo_sign(&helo, &m);
		assert_int_equal(tapi_core_add_helo(a->core, octets,
					 tapi_helo_encode(&helo, octets, sizeof(octets))),
			TAPI_OK);
	}
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.addresses, 8);
	for (int i = 0; i < 20; i++) {
		tapi_core_send(a->core, &m.id, &outgoing);
		wire_send(a, b, 64, "x", 1);
		wire_run(wire, 1 * S);
	}
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.validated, 0);
	tapi_core_peer(a->core, &b->identity.id, &info);
	assert_int_equal(info.sessions, 1);
	assert_int_equal(info.validated, 1);
	assert_int_equal(a->inbox.lost, 0);
	assert_int_equal(b->inbox.messages, 21);
	wire_free(wire);
}

// Strangers come by the thousand; the table is bounded, and who was validated stays.
static void test_strangers(void **state)
{
	struct wire *wire = wire_new(64);
	struct wire_node_options small = {
		.transports = "\"vudp\"", .core = QUICK ", \"max_peers\": 50"};
	struct wire_node *a = wire_node_add(wire, &small), *b = wire_node_add(wire, &UDP_ONLY);
	uint8_t chat[8] = {0, 8, 0, 64, 'h', 'i', '!', '!'};
	uint32_t crc = (uint32_t)crc32(0, chat, sizeof(chat));
	struct tapi_peer_info info;

	(void)state;
	meet(wire, a, b);
	for (uint32_t i = 0; i < 5000; i++) {
		struct tapi_peer_id id = {{1}};

		memcpy(&id.octets[4], &i, sizeof(i));
		wire_forge(wire, WIRE_UDP, 0x0a640000 + i, a, &id, chat, sizeof(chat), false, &crc);
		wire_run(wire, 1 * MS);
	}
	assert_true(a->core->n_peers <= 50);
	assert_true(wire_counter(a, "peers_evicted") > 4000);
	assert_true(HASH_COUNT(a->core->probes) <= 50);
	assert_int_equal(tapi_core_peer(a->core, &b->identity.id, &info), TAPI_OK);
	assert_int_equal(info.validated, 1);
	assert_int_equal(a->inbox.messages, 5000);
	wire_free(wire);
}

static void forge(struct wire *wire, uint32_t from_ip, struct wire_node *to,
	const struct tapi_peer_id *sender, const uint8_t *message, size_t size)
{
	uint32_t crc = (uint32_t)crc32(0, message, (unsigned)size);

	wire_forge(wire, WIRE_UDP, from_ip, to, sender, message, (uint32_t)size, false, &crc);
}

static size_t helo_of(const struct wire *wire, const struct tapi_identity *identity, uint32_t ip,
	uint8_t out[TAPI_HELO_BYTES_MAX])
{
	const uint64_t wall_us = UINT64_C(1800000000000000) + wire_now(wire); // tapi_wire's
	struct tapi_helo helo = {.protocol = WIRE_PROTOCOL + WIRE_UDP,
		.mtu = 1432,
		.expires_us = wall_us + 3600 * (uint64_t)S,
		.seq = wall_us,
		.address_size = 6};

	tapi_put16(tapi_put32(helo.address, ip), WIRE_PORT);
	tapi_helo_sign(&helo, identity);
	return tapi_helo_encode(&helo, out, TAPI_HELO_BYTES_MAX);
}

// Strangers ask and advertise a hundred times as much as is answered and checked: they are cut
// short, and a peer that was validated is answered, and heard, all the same.
static void test_flood(void **state)
{
	static const char slow[] = QUICK ", \"pongs_per_s\": 17, \"helos_per_s\": 17";
	struct wire *wire = wire_new(66);
	struct wire_node_options few = {.transports = "\"vudp\"", .core = slow};
	struct wire_node *a = wire_node_add(wire, &few), *b = wire_node_add(wire, &UDP_ONLY);
	uint8_t ping[TAPI_PING_BYTES_MAX], helo[TAPI_HELO_BYTES_MAX], seed[TAPI_SEED_BYTES] = {7};
	struct tapi_ping asks = {.target = a->identity.id};
	size_t ping_size = tapi_ping_encode(&asks, ping, sizeof(ping)), helo_size;
	struct tapi_identity stranger;
	uint64_t answered, stored;

	(void)state;
	meet(wire, b, a);
	answered = wire_counter(b, "pong_received");
	for (uint32_t i = 0; i < 30 * 1000; i++) {
		uint32_t ip = 0x0a640000 + i % 5000;

		memcpy(&seed[8], &i, sizeof(i));
		if (i % 10 == 0)
			tapi_identity_from_seed(&stranger, seed);
		for (int j = 0; j < 4; j++)
			forge(wire, ip, a, &stranger.id, ping, ping_size);
		helo_size = helo_of(wire, &stranger, ip, helo);
		if (i % 10 == 0)
			forge(wire, ip, a, &stranger.id, helo, helo_size);
		if (i % 500 == 0) // one way: B has to ask whether A still hears it
			assert_int_equal(wire_send(b, a, 64, "x", 1), TAPI_OK);
		wire_run(wire, 1 * MS);
	}
	assert_true(wire_counter(a, "ping_limited_in") > 100000);
	assert_true(wire_counter(a, "helo_limited") > 2000);
	assert_true(wire_counter(b, "pong_received") - answered >= 5);
	assert_int_equal(wire_counter(b, "ping_unanswered"), 0);
	assert_int_equal(wire_counter(b, "paths_lost"), 0);
	stored = wire_counter(a, "helo_stored");
	helo_size = helo_of(wire, &b->identity, b->ip, helo);
	forge(wire, b->ip, a, &b->identity.id, helo, helo_size);
	wire_run(wire, 10 * MS);
	assert_int_equal(wire_counter(a, "helo_stored"), stored + 1);
	wire_free(wire);
}

// 2,000 peers that are idle: what one costs, reported; and a turn finds nothing to do.
static void test_idle_peers(void **state)
{
	struct wire *wire = wire_new(65);
	struct wire_node_options hub = {.transports = "\"vudp\"",
		.core = "\"max_peers\": 5000, \"ping_prefix_per_min\": 1000000, "
			"\"ping_per_s\": 100000, \"idle_close_s\": 0",
		.sections = "\"vudp\": {\"max_sessions\": 5000}"};
	struct wire_node_options leaf = {.transports = "\"vudp\"", .core = QUICK, .quiet = true};
	struct wire_node *a = wire_node_add(wire, &hub);

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct wire_node *b = wire_node_add(wire, &leaf);

		wire_introduce(a, b, WIRE_ANY);
		wire_send(a, b, 64, "x", 1);
		wire_run(wire, 5 * MS);
	}
	wire_run(wire, 1 * S);
	assert_int_equal(a->core->n_reachable, 2000);
	assert_true(tapi_core_turn(a->core, wire_now(wire)) > wire_now(wire));
	printf("a peer %zu, an address %zu, a path %zu octets\n", sizeof(struct tapi_peer),
		sizeof(struct tapi_address) + TAPI_HELO_FIXED_BYTES + 6, sizeof(struct tapi_path));
	assert_true(sizeof(struct tapi_peer) < 1024);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quota_out),
		cmocka_unit_test(test_quota_in),
		cmocka_unit_test(test_fair_drop),
		cmocka_unit_test(test_priority),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_idle_peers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
