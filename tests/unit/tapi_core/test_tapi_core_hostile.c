// SPDX-License-Identifier: BSD-3-Clause
// What hostile peers do to a core: they speak under one name and then another on one session, write
// the names of others on what they send, come by the thousand, and answer PINGs wrongly. Nobody
// else pays for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/proto/ping.h"
#include "transportapi/base/wire.h"

#define S     1000000u
#define MS    1000u
#define EPOCH UINT64_C(1800000000000000) // wall clock at virtual time 0 (tapi_wire)
#define THIRD 0x0a630001u                // 10.99.0.1
#define QUICK "\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 1000"

static struct tapi_identity mallory(uint8_t number)
{
	uint8_t seed[TAPI_SEED_BYTES] = {number, 3, 5};
	struct tapi_identity identity;

	tapi_identity_from_seed(&identity, seed);
	return identity;
}

static void forge(struct wire *wire, uint32_t from_ip, struct wire_node *to,
	const struct tapi_peer_id *sender, const uint8_t *message, size_t size)
{
	uint32_t crc = (uint32_t)crc32(0, message, (unsigned)size);

	wire_forge(wire, WIRE_UDP, from_ip, to, sender, message, (uint32_t)size, false, &crc);
	wire_run(wire, 1 * MS);
}

static void chat(struct wire *wire, uint32_t from_ip, struct wire_node *to,
	const struct tapi_peer_id *sender)
{
	static const uint8_t message[8] = {0, 8, 0, 64, 'h', 'i', '!', '!'};

	forge(wire, from_ip, to, sender, message, sizeof(message));
}

static void friend_helo(const struct wire *wire, struct wire_node *to,
	const struct tapi_identity *whose, uint32_t ip)
{
	uint8_t octets[TAPI_HELO_BYTES_MAX];
	struct tapi_helo helo = {.protocol = WIRE_PROTOCOL + WIRE_UDP,
		.mtu = 1432,
		.expires_us = EPOCH + wire_now(wire) + UINT64_C(3600) * S,
		.seq = EPOCH + wire_now(wire),
		.address_size = 6};

	tapi_put16(tapi_put32(helo.address, ip), WIRE_PORT);
	tapi_helo_sign(&helo, whose);
	assert_int_equal(tapi_core_add_helo(
				 to->core, octets, tapi_helo_encode(&helo, octets, sizeof(octets))),
		TAPI_OK);
	wire_poke(to);
}

static void meet(struct wire *wire, struct wire_node *a, struct wire_node *b)
{
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1);
}

// The last PING that left for THIRD.
struct caught {
	uint8_t message[TAPI_PING_BYTES_MAX];
	uint32_t size;
	unsigned pings;
};

static void catch_ping(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct caught *caught = context;

	(void)kind;
	(void)from_ip;
	if (to_ip != THIRD || size > sizeof(caught->message) || tapi_get16(&message[2]) != 2)
		return;
	memcpy(caught->message, message, size);
	caught->size = size;
	caught->pings++;
}

// Answers it, as `identity`, which is at THIRD; `harm` octets of the signature are wrong.
static void answer(struct wire *wire, struct wire_node *to, const struct caught *caught,
	const struct tapi_identity *identity, uint64_t valid_until_us, uint8_t harm)
{
	struct tapi_source source = {.family = 4};
	uint8_t octets[TAPI_PONG_BYTES];
	struct tapi_ping ping;
	struct tapi_pong pong;

	assert_int_equal(tapi_ping_decode(&ping, caught->message, caught->size), TAPI_OK);
	tapi_pong_sign(&pong, &ping, &to->identity.id, &source, valid_until_us, identity);
	pong.signature[0] ^= harm;
	forge(wire, THIRD, to, &identity->id, octets,
		tapi_pong_encode(&pong, octets, sizeof(octets)));
}

// A session of one peer is no other's, whatever came and went on it.
static void assert_sound(const struct wire_node *node)
{
	for (struct tapi_peer *peer = node->core->peers; peer != NULL; peer = peer->hh.next) {
		unsigned n = 0;
		bool found = peer->use.path == NULL;

		for (struct tapi_path *path = peer->paths; path != NULL; path = path->next, n++) {
			assert_ptr_equal(path->peer, peer);
			found |= path == peer->use.path;
			assert_true(path->address == NULL || path->address->path == path);
		}
		assert_int_equal(n, peer->n_paths);
		assert_true(found);
		for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
			assert_true(at->path == NULL ||
				    (at->path->peer == peer && at->path->address == at));
	}
}

// One host, two names. Under the first it is validated, at its session and its address; when that
// is over it speaks under the second. The session is the second's then, with all that hangs on it:
// or the first would send on a session that ends with the second.
static void test_two_names(void **state)
{
	struct wire *wire = wire_new(80);
	struct wire_node_options options = {
		.transports = "\"vudp\"", .core = QUICK ", \"idle_close_s\": 5"};
	struct wire_node *a = wire_node_add(wire, &options);
	struct tapi_identity first = mallory(1), second = mallory(2);
	struct tapi_outgoing outgoing = {.type = 64, .body = "x", .length = 1};
	struct caught caught = {.pings = 0};
	uint64_t until_us = EPOCH + 30 * (uint64_t)S;
	struct tapi_peer_info info;
	unsigned answered = 0;

	(void)state;
	wire_tap(wire, catch_ping, &caught);
	chat(wire, THIRD, a, &first.id);
	friend_helo(wire, a, &first, THIRD);
	assert_int_equal(tapi_core_send(a->core, &first.id, &outgoing), TAPI_OK);
	wire_poke(a);
	while (EPOCH + wire_now(wire) < until_us - MS) {
		wire_run(wire, 1 * MS);
		if (caught.pings == answered)
			continue;
		answered = caught.pings;
		answer(wire, a, &caught, &first, until_us, 0);
	}
	tapi_core_peer(a->core, &first.id, &info);
	assert_int_equal(info.validated, 1);
	assert_int_equal(info.sessions, 1);
	wire_run(wire, 10 * MS); // it is over
	tapi_core_peer(a->core, &first.id, &info);
	assert_int_equal(info.validated, 0);
	chat(wire, THIRD, a, &second.id);
	assert_sound(a);
	assert_int_equal(wire_sessions(a, WIRE_UDP), 1);
	wire_run(wire, 2 * S);
	assert_sound(a);
	tapi_core_forget(a->core, &second.id);
	tapi_core_send(a->core, &first.id, &outgoing);
	wire_poke(a);
	wire_run(wire, 20 * S);
	assert_sound(a);
	wire_free(wire);
}

// The address is validated, its session was closed; now the peer writes from there. An answer needs
// no second proof of the place, and none that the limits of PINGs put off.
static void test_answer_by_address(void **state)
{
	struct wire *wire = wire_new(81);
	struct wire_node_options options = {.transports = "\"vudp\"",
		.core = "\"idle_close_s\": 5, \"ping_prefix_per_min\": 1"};
	struct wire_node *a = wire_node_add(wire, &options), *b = wire_node_add(wire, &options);
	struct tapi_identity m = mallory(1);

	(void)state;
	meet(wire, a, b);
	wire_run(wire, 100 * S);
	assert_int_equal(wire_sessions(a, WIRE_UDP), 0);
	chat(wire, (b->ip & 0xffffff00u) | 200, a, &m.id); // the PING of this minute is for it
	assert_int_equal(wire_send(b, a, 64, "ask", 3), TAPI_OK);
	wire_run(wire, 100 * MS);
	assert_int_equal(a->inbox.messages, 2);
	assert_int_equal(wire_send(a, b, 64, "answer", 6), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 2);
	assert_int_equal(a->inbox.lost, 0);
	assert_sound(a);
	wire_free(wire);
}

// The same, and somebody else wrote from there before, or wrote that source on what it sent.
static void test_session_of_a_forger(void **state)
{
	struct wire *wire = wire_new(82);
	struct wire_node_options options = {
		.transports = "\"vudp\"", .core = QUICK ", \"idle_close_s\": 5"};
	struct wire_node *a = wire_node_add(wire, &options), *b = wire_node_add(wire, &options);
	struct tapi_identity m = mallory(1);

	(void)state;
	meet(wire, a, b);
	wire_run(wire, 100 * S);
	assert_int_equal(wire_sessions(a, WIRE_UDP), 0);
	chat(wire, b->ip, a, &m.id);
	assert_int_equal(wire_sessions(a, WIRE_UDP), 1);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(wire_send(a, b, 64, "more", 4), TAPI_OK);
		wire_run(wire, 1 * S);
		chat(wire, b->ip, a, &m.id);
	}
	assert_int_equal(b->inbox.messages, 11);
	assert_int_equal(a->inbox.lost, 0);
	assert_sound(a);
	// And a HELO that names a place where another was validated: its session is given back.
	friend_helo(wire, a, &m, b->ip);
	tapi_core_send(a->core, &m.id, &(struct tapi_outgoing){.type = 64});
	wire_poke(a);
	wire_run(wire, 1 * S);
	assert_sound(a);
	wire_run(wire, 300 * S);
	assert_int_equal(wire_sessions(a, WIRE_UDP), 0);
	assert_int_equal(wire_counter(a, "connects") + wire_counter(a, "associates"),
		wire_counter(a, "disconnects"));
	wire_free(wire);
}

// Sessions under the name of B by the dozen: B is still called, and still answered.
static void test_name_taken(void **state)
{
	struct wire *wire = wire_new(83);
	struct wire_node_options udp = {.transports = "\"vudp\"", .core = QUICK};
	struct wire_node_options nated = {
		.transports = "\"vudp\"", .core = QUICK, .nated = {true, true, true}};
	struct wire_node *a = wire_node_add(wire, &udp), *b = wire_node_add(wire, &udp),
			 *c = wire_node_add(wire, &nated);

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		chat(wire, THIRD + i, a, &b->identity.id);
		chat(wire, THIRD + 256 + i, a, &c->identity.id);
	}
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1);
	wire_introduce(c, a, WIRE_ANY);
	for (int i = 0; i < 30; i++) {
		wire_send(c, a, 64, "x", 1);
		wire_send(a, c, 64, "y", 1);
		for (uint32_t j = 0; j < 40; j++)
			chat(wire, THIRD + 256 + j, a, &c->identity.id);
		wire_run(wire, 1 * S);
	}
	assert_true(c->inbox.messages >= 15);
	assert_int_equal(a->inbox.lost, 0);
	assert_sound(a);
	wire_free(wire);
}

// Who was introduced, or was validated once and is away, is not forgotten for made-up names.
static void test_friends_stay(void **state)
{
	struct wire *wire = wire_new(84);
	struct wire_node_options small = {
		.transports = "\"vudp\"", .core = QUICK ", \"max_peers\": 50"};
	struct wire_node_options udp = {.transports = "\"vudp\"", .core = QUICK};
	struct wire_node *a = wire_node_add(wire, &small), *b = wire_node_add(wire, &udp);
	struct tapi_identity m = mallory(1);
	struct tapi_peer_info info;

	(void)state;
	friend_helo(wire, a, &m, THIRD);
	meet(wire, a, b);
	wire_block(wire, WIRE_ANY, b->ip, 0, true);
	wire_send(a, b, 64, "x", 1);
	wire_run(wire, 20 * S);
	assert_int_equal(a->inbox.lost, 1);
	for (uint32_t i = 0; i < 1000; i++) {
		struct tapi_peer_id id = {{1}};

		memcpy(&id.octets[4], &i, sizeof(i));
		chat(wire, 0x0a640000 + i, a, &id);
	}
	assert_true(a->core->n_peers <= 50);
	assert_true(wire_counter(a, "peers_evicted") > 900);
	assert_int_equal(wire_counter(a, "peers_refused"), 0);
	assert_int_equal(tapi_core_peer(a->core, &m.id, &info), TAPI_OK);
	assert_int_equal(info.addresses, 1);
	wire_block(wire, WIRE_ANY, b->ip, 0, false);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 60 * S);
	assert_int_equal(a->inbox.reachable, 2);
	wire_free(wire);
}

// A signature costs a tenth of a millisecond: one PING has so many answers looked at, and no more.
static void test_wrong_pongs(void **state)
{
	struct wire *wire = wire_new(85);
	struct wire_node_options udp = {.transports = "\"vudp\"", .core = QUICK};
	struct wire_node *a = wire_node_add(wire, &udp);
	struct tapi_identity m = mallory(1);
	struct caught caught = {.pings = 0};
	struct tapi_peer_info info;

	(void)state;
	wire_tap(wire, catch_ping, &caught);
	chat(wire, THIRD, a, &m.id);
	wire_run(wire, 10 * MS);
	assert_int_equal(caught.pings, 1);
	answer(wire, a, &caught, &m, EPOCH + wire_now(wire) + 60 * S, 1);
	for (int i = 0; i < 1000; i++)
		answer(wire, a, &caught, &m, EPOCH + wire_now(wire) + 60 * S, 1);
	assert_true(wire_counter(a, "pong_wrong") <= 8);
	assert_int_equal(wire_counter(a, "pong_wrong") + wire_counter(a, "pong_unknown"), 1001);
	tapi_core_peer(a->core, &m.id, &info);
	assert_int_equal(info.transport[0], '\0');
	// The next PING, right answered, is believed: after a few wrong ones, too.
	caught.pings = 0;
	for (int i = 0; i < 30 && caught.pings == 0; i++) {
		chat(wire, THIRD, a, &m.id);
		wire_run(wire, 1 * S);
	}
	assert_int_equal(caught.pings, 1);
	for (int i = 0; i < 3; i++)
		answer(wire, a, &caught, &m, EPOCH + wire_now(wire) + 60 * S, 1);
	answer(wire, a, &caught, &m, EPOCH + wire_now(wire) + 60 * S, 0);
	wire_run(wire, 10 * MS);
	tapi_core_peer(a->core, &m.id, &info);
	assert_string_equal(info.transport, "vudp");
	wire_free(wire);
}

// What strangers send under a peer's name is not paid from its quota, and has one of its own.
static void test_quota_of_another(void **state)
{
	struct wire *wire = wire_new(86);
	struct wire_node_options udp = {.transports = "\"vudp\"", .core = QUICK};
	struct wire_node_options quota = {
		.transports = "\"vudp\"", .core = QUICK ", \"in_rate\": 100000"};
	struct wire_node *a = wire_node_add(wire, &udp), *b = wire_node_add(wire, &quota);
	static uint8_t body[996], big[1000];
	uint64_t strange;

	(void)state;
	meet(wire, a, b);
	tapi_put16(tapi_put16(big, sizeof(big)), 65);
	for (int i = 0; i < 2000; i++) { // 1 MB/s, and 50 kB/s
		forge(wire, THIRD, b, &a->identity.id, big, sizeof(big));
		if (i % 20 == 0)
			wire_send(a, b, 64, body, sizeof(body));
	}
	wire_run(wire, 1 * S);
	strange = b->inbox.unvalidated; // and the first one of A's
	assert_int_equal(b->inbox.messages - strange, 100);
	assert_in_range(strange, 200, 400);
	wire_free(wire);
}

// A peer that grants two milliseconds each time: it is asked again at its own cost, the PINGs of a
// second are not all for it.
static void test_short_pongs(void **state)
{
	struct wire *wire = wire_new(88);
	struct wire_node_options udp = {.transports = "\"vudp\""};
	struct wire_node *a = wire_node_add(wire, &udp);
	struct tapi_identity m = mallory(1);
	struct caught caught = {.pings = 0};
	unsigned answered = 0;

	(void)state;
	wire_tap(wire, catch_ping, &caught);
	wire_latency(wire, WIRE_ANY, 100, 0);
	friend_helo(wire, a, &m, THIRD);
	for (int i = 0; i < 10 * 1000; i++) {
		if (i % 100 == 0)
			tapi_core_send(a->core, &m.id, &(struct tapi_outgoing){.type = 64});
		wire_poke(a);
		wire_run(wire, 1 * MS);
		if (caught.pings == answered)
			continue;
		answered = caught.pings;
		answer(wire, a, &caught, &m, EPOCH + wire_now(wire) + 2 * MS, 0);
	}
	assert_in_range(caught.pings, 2, 25);
	wire_free(wire);
}

// Two thousand sources that nobody will answer for wait for their PING. Who was introduced, and is
// wanted, does not stand in their line.
static void test_line_of_strangers(void **state)
{
	struct wire *wire = wire_new(87);
	struct wire_node_options udp = {.transports = "\"vudp\""};
	struct wire_node *a = wire_node_add(wire, &udp), *b = wire_node_add(wire, &udp);

	(void)state;
	for (uint32_t i = 0; i < 2000; i++) {
		struct tapi_peer_id id = {{1}};

		memcpy(&id.octets[4], &i, sizeof(i));
		chat(wire, 0x0b000001 + (i << 8), a, &id);
	}
	wire_introduce(a, b, WIRE_ANY);
	assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
	wire_run(wire, 2 * S);
	assert_int_equal(b->inbox.messages, 1);
	assert_true(wire_counter(a, "ping_sent_address") <= 1);
	assert_true(wire_counter(a, "ping_sent") <= 8 + 8 * 5);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_names),
		cmocka_unit_test(test_answer_by_address),
		cmocka_unit_test(test_session_of_a_forger),
		cmocka_unit_test(test_name_taken),
		cmocka_unit_test(test_friends_stay),
		cmocka_unit_test(test_wrong_pongs),
		cmocka_unit_test(test_quota_of_another),
		cmocka_unit_test(test_short_pongs),
		cmocka_unit_test(test_line_of_strangers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
