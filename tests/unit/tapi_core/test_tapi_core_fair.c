// SPDX-License-Identifier: BSD-3-Clause
// Few who have proven who they are, and want all PINGs there are, do not keep others from theirs;
// nor does a flood of names keep a peer behind NAT waiting, whom nobody named.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/wire.h"
#include "transportapi/core/state.h"
#include "transportapi/proto/ping.h"

#define S        1000000u
#define MS       1000u
#define EPOCH    UINT64_C(1800000000000000) // wall clock at virtual time 0 (tapi_wire)
#define HOSTILE  4u
#define EACH     8u          // addresses
#define FIRST_IP 0x0a630000u // 10.99.0.0: hostile n has 8 from n << 8

static struct tapi_identity hostile[HOSTILE];

struct caught {
	unsigned n;
	struct {
		uint8_t message[TAPI_PING_BYTES_MAX];
		uint32_t size, ip;
	} ping[64];
};

static void catch_pings(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct caught *caught = context;

	(void)kind;
	(void)from_ip;
	if (to_ip >> 16 != FIRST_IP >> 16 || size > TAPI_PING_BYTES_MAX || caught->n == 64 ||
		tapi_get16(&message[2]) != TAPI_TYPE_PING)
		return;
	memcpy(caught->ping[caught->n].message, message, size);
	caught->ping[caught->n].size = size;
	caught->ping[caught->n++].ip = to_ip;
}

static size_t helo_of(const struct wire *wire, const struct tapi_identity *identity, uint32_t ip,
	uint8_t out[TAPI_HELO_BYTES_MAX])
{
	struct tapi_helo helo = {
		.protocol = WIRE_PROTOCOL + WIRE_UDP,
		.mtu = 1432,
		.expires_us = EPOCH + wire_now(wire) + 3600 * (uint64_t)S,
		.seq = EPOCH + wire_now(wire),
		.address_size = 6,
	};

	tapi_put16(tapi_put32(helo.address, ip), WIRE_PORT);
	tapi_helo_sign(&helo, identity);
	return tapi_helo_encode(&helo, out, TAPI_HELO_BYTES_MAX);
}

// Each gets two milliseconds.
static void answer_all(struct wire *wire, struct wire_node *to, struct caught *caught)
{
	struct caught now = *caught;
	struct tapi_source source = {.family = 4};

	caught->n = 0;
	for (unsigned i = 0; i < now.n; i++) {
		const struct tapi_identity *who = &hostile[now.ping[i].ip >> 8 & 0xff];
		uint8_t octets[TAPI_PONG_BYTES];
		struct tapi_ping ping;
		struct tapi_pong pong;
		uint32_t crc, size;

		assert_int_equal(
			tapi_ping_decode(&ping, now.ping[i].message, now.ping[i].size), TAPI_OK);
		tapi_pong_sign(&pong, &ping, &to->identity.id, &source,
			EPOCH + wire_now(wire) + 2 * MS, who);
		size = (uint32_t)tapi_pong_encode(&pong, octets, sizeof(octets));
		crc = (uint32_t)crc32(0, octets, size);
		wire_forge(wire, WIRE_UDP, now.ping[i].ip, to, &who->id, octets, size, false, &crc);
	}
}

static void run(struct wire *wire, struct wire_node *a, struct caught *caught, unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		if (i % 100 == 0)
			for (unsigned n = 0; n < HOSTILE; n++)
				tapi_core_send(a->core, &hostile[n].id,
					&(struct tapi_outgoing){.type = 64});
		wire_poke(a);
		wire_run(wire, 1 * MS);
		answer_all(wire, a, caught);
	}
}

static void test_turns(void **state)
{
	struct wire *wire = wire_new(400);
	struct wire_node_options udp = {.transports = "\"vudp\"",
		.core = "\"ping_address_s\": 0, \"ping_prefix_per_min\": 1000"};
	struct wire_node *a = wire_node_add(wire, &udp);
	static struct caught caught;
	unsigned each[HOSTILE] = {0};
	uint8_t octets[TAPI_HELO_BYTES_MAX];

	(void)state;
	caught.n = 0;
	wire_tap(wire, catch_pings, &caught);
	wire_latency(wire, WIRE_ANY, 100, 0);
	for (unsigned n = 0; n < HOSTILE; n++) {
		const uint8_t seed[TAPI_SEED_BYTES] = {(uint8_t)n, 9};

		tapi_identity_from_seed(&hostile[n], seed);
		for (uint32_t i = 0; i < EACH; i++)
			assert_int_equal(tapi_core_add_helo(a->core, octets,
						 helo_of(wire, &hostile[n], FIRST_IP + (n << 8) + i,
							 octets)),
				TAPI_OK);
	}
	run(wire, a, &caught, 8000);
	assert_true(wire_counter(a, "pong_received") > 40); // they are proven, and ask for more
	// Whoever is introduced has his PING when each of the four has had one.
	for (unsigned i = 0; i < 6; i++) {
		struct wire_node *b = wire_node_add(wire, &udp);

		wire_introduce(a, b, WIRE_ANY);
		assert_int_equal(wire_send(a, b, 64, "x", 1), TAPI_OK);
		run(wire, a, &caught, 1000);
		assert_int_equal(b->inbox.messages, 1);
	}
	// In turns: each of the four gets about as much.
	for (unsigned i = 0; i < 8000; i++) {
		for (unsigned n = 0; n < caught.n; n++)
			each[caught.ping[n].ip >> 8 & 0xff]++;
		answer_all(wire, a, &caught);
		if (i % 100 == 0)
			for (unsigned n = 0; n < HOSTILE; n++)
				tapi_core_send(a->core, &hostile[n].id,
					&(struct tapi_outgoing){.type = 64});
		wire_poke(a);
		wire_run(wire, 1 * MS);
	}
	for (unsigned n = 0; n < HOSTILE; n++)
		assert_in_range(each[n], 8, 24); // of some 64
	tapi_core_stop(a->core);
	assert_true(TAILQ_EMPTY(&a->core->line));
	wire_free(wire);
}

// A thousand addresses of which strangers tell, and all of which are due: who calls from behind
// NAT is asked meanwhile, and gets its answer.
static void test_caller_beside_a_flood(void **state)
{
	struct wire *wire = wire_new(401);
	struct wire_node_options eager = {
		.transports = "\"vudp\"", .core = "\"validate\": \"eager\", \"advertise\": 0"};
	struct wire_node_options nated = {
		.transports = "\"vudp\"", .core = "\"advertise\": 0", .nated = {true}};
	struct wire_node *a = wire_node_add(wire, &eager), *b;
	uint8_t octets[TAPI_HELO_BYTES_MAX];

	(void)state;
	for (unsigned i = 0; i < 1000; i++) {
		const uint8_t seed[TAPI_SEED_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8), 7};
		struct tapi_identity m;
		uint32_t size, crc;

		tapi_identity_from_seed(&m, seed);
		size = (uint32_t)helo_of(wire, &m, 0x0b000001 + (i << 8), octets);
		crc = (uint32_t)crc32(0, octets, size);
		wire_forge(wire, WIRE_UDP, 0x0c000001, a, &m.id, octets, size, false, &crc);
		if (i % 50 == 49)
			wire_run(wire, 200 * MS);
	}
	assert_true(wire_counter(a, "ping_limited") > 500);
	b = wire_node_add(wire, &nated);
	wire_introduce(b, a, WIRE_ANY);
	assert_int_equal(wire_send(b, a, 64, "x", 1), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(wire_send(a, b, 64, "y", 1), TAPI_OK);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_caller_beside_a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
