// SPDX-License-Identifier: BSD-3-Clause
// Encryption between peers (core.encryption, TA26) that want it: sealed from the first message on,
// in loss, disorder and at once from both sides, over a change of the path, by new keys under load,
// after restarts and reloads; and with those who do not encrypt. A tap on the wire sees what goes
// in clear. Who attacks is in test_tapi_core_secure_hostile.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/tapi/tapi_wire.h"

#include "transportapi/proto/secure.h"
#include "transportapi/base/wire.h"

#define S  1000000u
#define MS 1000u
#define QUICK                                                                         \
	"\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 100, " \
	"\"retry_max_s\": 5"
#define PREFER QUICK ", \"encryption\": \"prefer\""
#define NEEDED QUICK ", \"encryption\": \"require\""

struct seen { // on the wire
	uint64_t clear, sealed, initiates, longest;
};

static void watch(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct seen *seen = context;

	(void)kind;
	(void)from_ip;
	(void)to_ip;
	for (uint32_t at = 0, n; at + 4 <= size && (n = tapi_get16(&message[at])) >= 4; at += n) {
		uint16_t type = tapi_get16(&message[at + 2]);

		seen->clear += type >= TAPI_TYPE_USER || type == TAPI_TYPE_FRAGMENT;
		seen->sealed += type == TAPI_TYPE_SEALED;
		seen->initiates += type == TAPI_TYPE_INITIATE;
	}
	if (size > seen->longest)
		seen->longest = size;
}

static struct wire_node *node(struct wire *wire, const char *core, const char *transports)
{
	struct wire_node_options options = {.core = core, .transports = transports};

	return wire_node_add(wire, &options);
}

static enum tapi_secure_state state_of(struct wire_node *at, const struct wire_node *peer)
{
	struct tapi_peer_info info;

	assert_int_equal(tapi_core_peer(at->core, &peer->identity.id, &info), TAPI_OK);
	return info.secure;
}

static bool says(struct wire_node *at, const char *what)
{
	char *text = tapi_core_stats_json(at->core, true);
	bool found = text != NULL && strstr(text, what) != NULL;

	free(text);
	return found;
}

// The first message is sealed, and so is the answer; what a path takes is less by
// TAPI_SEALED_BYTES.
static void test_sealed(void **state)
{
	struct wire *wire = wire_new(1);
	struct wire_node *a = node(wire, PREFER, "\"vudp\""), *b = node(wire, PREFER, "\"vudp\"");
	struct tapi_outgoing encrypted = {
		.type = 66, .body = "xyz", .length = 3, .is_encrypted = true, .crc = 77};
	struct tapi_peer_info info;
	struct seen seen = {0};

	(void)state;
	wire_tap(wire, watch, &seen);
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, "hello", 5);
	assert_int_equal(state_of(a, b), TAPI_SECURE_PENDING);
	wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.messages, 1);
	assert_int_equal(b->inbox.sealed, 1);
	assert_memory_equal(b->inbox.last, "hello", 5);
	wire_run(wire, 1 * S); // b asks where a is
	wire_send(b, a, 65, "and you", 7);
	wire_run(wire, 2 * S);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(a->inbox.sealed, 1);
	tapi_core_send(a->core, &b->identity.id, &encrypted);
	wire_poke(a);
	wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.last_type, 66);
	assert_true(b->inbox.last_encrypted);
	assert_int_equal(b->inbox.last_crc, 77);
	assert_int_equal(state_of(a, b), TAPI_SECURE_SEALED);
	assert_int_equal(state_of(b, a), TAPI_SECURE_SEALED);
	assert_true(says(a, "\"encryption\":\"sealed\""));
	assert_int_equal(wire_counter(a, "secure_made"), 1);
	assert_int_equal(wire_counter(b, "secure_made"), 1);
	assert_int_equal(
		wire_counter(a, "sealed_sent"), seen.sealed - wire_counter(b, "sealed_sent"));
	assert_int_equal(seen.clear, 0);
	tapi_core_best(a->core, &b->identity.id, 100, &info);
	assert_int_equal(info.mtu, 1432 - TAPI_SEALED_BYTES);
	wire_free(wire);
}

// Messages of the whole mtu, batches and parts stay below it; parts are put together of what came
// sealed. Without parts, what is a little too long goes the other way.
static void test_sizes(void **state)
{
	struct wire *wire = wire_new(2);
	struct wire_node *a = node(wire, PREFER, "\"vudp\""), *b = node(wire, PREFER, "\"vudp\"");
	struct wire_node *c = node(wire, PREFER ", \"fragment\": false", NULL);
	struct wire_node *d = node(wire, PREFER ", \"fragment\": false", NULL);
	static uint8_t body[30000];
	struct seen seen = {0};
	struct tapi_peer_info info;

	(void)state;
	for (uint32_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i * 7 + i / 256);
	wire_tap(wire, watch, &seen);
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, body, sizeof(body));
	wire_run(wire, 2 * S);
	assert_int_equal(b->inbox.messages, 1);
	assert_int_equal(b->inbox.sealed, 1);
	assert_int_equal(b->inbox.last_length, sizeof(body));
	assert_memory_equal(b->inbox.last, body, sizeof(body));
	for (uint32_t size = 1300; size < 1432; size++)
		wire_send(a, b, 64, body, size), wire_run(wire, 2 * MS);
	for (unsigned i = 0; i < 60; i++)
		wire_send(a, b, 64, body, 300);
	wire_run(wire, 1 * S);
	assert_int_equal(b->inbox.messages, 1 + 132 + 60);
	assert_int_equal(b->inbox.sealed, b->inbox.messages);
	assert_int_equal(seen.clear, 0);
	assert_in_range(seen.longest, 1400, 1432);
	assert_int_equal(wire_counter(a, "dropped_too_big"), 0);

	wire_introduce(c, d, WIRE_ANY);
	wire_send(c, d, 64, body, 1432 - 4 - TAPI_SEALED_BYTES);
	wire_run(wire, 2 * S);
	assert_int_equal(wire_counter(c, "sent_by_size"), 0);
	wire_send(c, d, 64, body, 1432 - 4 - TAPI_SEALED_BYTES);
	wire_send(c, d, 64, body, 1432 - 3 - TAPI_SEALED_BYTES);
	wire_run(wire, 2 * S);
	assert_int_equal(d->inbox.sealed, 3);
	assert_int_equal(wire_counter(c, "sent_by_size"), 1);
	tapi_core_best(c->core, &d->identity.id, 1432 - TAPI_SEALED_BYTES, &info);
	assert_string_equal(info.transport, "vudp");
	tapi_core_best(c->core, &d->identity.id, 1433 - TAPI_SEALED_BYTES, &info);
	assert_string_equal(info.transport, "vtcp");
	assert_int_equal(seen.clear, 0);
	wire_free(wire);
}

// Who does not encrypt is reached by "prefer", as before, and not by "require".
static void test_old_peer(void **state)
{
	struct wire *wire = wire_new(3);
	struct wire_node *a = node(wire, PREFER, NULL), *b = node(wire, QUICK, NULL);
	struct wire_node *c = node(wire, NEEDED, NULL);
	struct seen seen = {0};

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, "x", 1);
	wire_run(wire, 2 * S);
	wire_send(b, a, 64, "y", 1);
	wire_run(wire, 2 * S);
	assert_int_equal(b->inbox.messages, 1);
	assert_int_equal(a->inbox.messages, 1);
	assert_int_equal(a->inbox.sealed, 0);
	assert_int_equal(state_of(a, b), TAPI_SECURE_CLEAR);
	assert_int_equal(wire_counter(b, "sealed_unwanted"), 0);

	wire_tap(wire, watch, &seen);
	c->hark = "nothing goes there";
	wire_introduce(c, b, WIRE_ANY);
	assert_int_equal(wire_send(c, b, 64, "x", 1), TAPI_EACL);
	wire_run(wire, 5 * S);
	assert_int_equal(state_of(c, b), TAPI_SECURE_REFUSED);
	assert_true(says(c, "\"encryption\":\"refused\""));
	assert_int_equal(wire_counter(c, "send_insecure"), 1);
	assert_int_not_equal(c->heard[0], 0);
	assert_int_equal(seen.clear, 0);
	wire_introduce(b, c, WIRE_ANY);
	wire_send(b, c, 64, "x", 1);
	wire_send(b, c, 64, "0123456789012345678901234567890", 31);
	wire_run(wire, 5 * S);
	assert_int_equal(c->inbox.messages, 0);
	assert_int_equal(wire_counter(c, "clear_dropped"), 2);
	assert_int_equal(wire_counter(c, "received_msgs"), 0);
	wire_free(wire);
}

static uint64_t came(const struct wire_node *one, const struct wire_node *other)
{
	return one->inbox.messages + other->inbox.messages;
}

// A fifth is lost, what is left overtakes: they agree on keys all the same, and each message that
// arrives is whole, sealed and came once. Over datagrams alone, and without sessions.
static void test_weather(void **state)
{
	static const char *const transports[] = {
		"\"vudp\"", "\"vraw\"", "\"vtcp\", \"vraw\"", NULL};

	(void)state;
	for (unsigned round = 0; round < 12; round++) {
		struct wire *wire = wire_new(40 + round);
		struct wire_node *a = node(wire, PREFER, transports[round % 4]);
		struct wire_node *b = node(wire, NEEDED, transports[round % 4]);
		struct seen seen = {0};
		uint64_t sent = 0;

		wire_tap(wire, watch, &seen);
		wire_loss(wire, WIRE_UDP, 0.2);
		wire_loss(wire, WIRE_RAW, 0.2);
		wire_latency(wire, WIRE_ANY, 5 * MS, 40 * MS);
		wire_introduce(a, b, WIRE_ANY);
		wire_introduce(b, a, WIRE_ANY);
		for (unsigned i = 0; i < 600; i++) {
			sent += wire_send(a, b, 64, &i, sizeof(i)) == TAPI_OK;
			sent += wire_send(b, a, 64, &i, sizeof(i)) == TAPI_OK;
			wire_run(wire, 50 * MS);
		}
		wire_loss(wire, WIRE_ANY, 0);
		wire_run(wire, 20 * S);
		if (came(a, b) < sent / 2 || came(a, b) > sent)
			fail_msg("round %u: %u of %u came", round, (unsigned)came(a, b),
				(unsigned)sent);
		assert_int_equal(a->inbox.sealed + b->inbox.sealed, came(a, b));
		assert_int_equal(seen.clear, 0);
		assert_int_equal(wire_counter(a, "sealed_bad") + wire_counter(b, "sealed_bad"), 0);
		assert_int_equal(wire_counter(a, "secure_bad") + wire_counter(b, "secure_bad"), 0);
		wire_free(wire);
	}
}

// Both begin in the same moment: one session, no second one, and nothing is lost by it.
static void test_at_once(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 8; round++) {
		struct wire *wire = wire_new(60 + round);
		struct wire_node *a = node(wire, PREFER, "\"vudp\"");
		struct wire_node *b = node(wire, PREFER, "\"vudp\"");
		struct seen seen = {0};

		wire_tap(wire, watch, &seen);
		wire_latency(wire, WIRE_ANY, 20 * MS, round % 2 * 10 * MS);
		wire_introduce(a, b, WIRE_ANY);
		wire_introduce(b, a, WIRE_ANY);
		for (unsigned i = 0; i < 20; i++) {
			wire_send(a, b, 64, "x", 1);
			wire_send(b, a, 64, "x", 1);
		}
		wire_run(wire, 3 * S);
		assert_int_equal(a->inbox.sealed, 20);
		assert_int_equal(b->inbox.sealed, 20);
		assert_true(
			wire_counter(a, "secure_crossed") + wire_counter(b, "secure_crossed") > 0);
		assert_int_equal(wire_counter(a, "secure_made"), 1);
		assert_int_equal(wire_counter(b, "secure_made"), 1);
		assert_int_equal(seen.clear, 0);
		wire_free(wire);
	}
}

// Keys are of the peers, not of the path: a blocked udp is left for tcp with no new handshake.
static void test_switch(void **state)
{
	struct wire *wire = wire_new(70);
	struct wire_node *a = node(wire, PREFER, NULL), *b = node(wire, PREFER, NULL);
	struct seen seen = {0};
	uint64_t got;

	(void)state;
	wire_tap(wire, watch, &seen);
	wire_introduce(a, b, WIRE_ANY);
	for (unsigned i = 0; i < 50; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(a->inbox.switched, 0);
	wire_block(wire, WIRE_UDP, 0, 0, true);
	for (unsigned i = 0; i < 150; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	got = b->inbox.messages;
	assert_int_equal(a->inbox.switched, 1);
	for (unsigned i = 0; i < 20; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.messages, got + 20);
	assert_int_equal(b->inbox.sealed, b->inbox.messages);
	assert_int_equal(wire_counter(a, "secure_made"), 1);
	assert_int_equal(wire_counter(a, "secure_begun") + wire_counter(b, "secure_begun"), 1);
	assert_int_equal(seen.clear, 0);
	wire_free(wire);
}

// New keys after 16 payloads, and after 10 s, while messages go both ways and overtake: none is
// lost.
static void test_rekey(void **state)
{
	struct wire *wire = wire_new(80);
	struct wire_node *a = node(wire, PREFER ", \"rekey_msgs\": 40", "\"vudp\"");
	struct wire_node *b = node(wire, PREFER ", \"rekey_msgs\": 40", "\"vudp\"");
	struct wire_node *c = node(wire, PREFER ", \"rekey_s\": 10", "\"vudp\"");
	struct wire_node *d = node(wire, PREFER ", \"rekey_s\": 10", "\"vudp\"");
	struct seen seen = {0};
	uint64_t made;

	(void)state;
	wire_tap(wire, watch, &seen);
	wire_latency(wire, WIRE_ANY, 5 * MS, 15 * MS);
	wire_introduce(a, b, WIRE_ANY);
	wire_introduce(c, d, WIRE_ANY);
	for (unsigned i = 0; i < 2000; i++) {
		wire_send(a, b, 64, &i, sizeof(i));
		wire_send(c, d, 64, &i, sizeof(i));
		if (i > 200) {
			wire_send(b, a, 64, &i, sizeof(i));
			wire_send(d, c, 64, &i, sizeof(i));
		}
		wire_run(wire, 30 * MS);
	}
	wire_run(wire, 2 * S);
	assert_int_equal(b->inbox.sealed, 2000);
	assert_int_equal(a->inbox.sealed, 1799);
	assert_int_equal(d->inbox.sealed, 2000);
	assert_int_equal(c->inbox.sealed, 1799);
	assert_in_range(wire_counter(a, "secure_made"), 20, 120);
	assert_in_range(wire_counter(c, "secure_made"), 5, 9); // of 60 s
	assert_int_equal(wire_counter(a, "sealed_unknown") + wire_counter(d, "sealed_unknown"), 0);
	assert_int_equal(seen.clear, 0);
	// Who is silent makes no new keys, and the last ones end: for good after three times 10 s.
	made = wire_counter(c, "secure_made");
	wire_run(wire, 40 * S);
	assert_int_equal(wire_counter(c, "secure_made"), made);
	assert_int_equal(state_of(c, d), TAPI_SECURE_PENDING);
	assert_true(wire_counter(c, "secure_ended") > 0);
	wire_send(d, c, 64, "x", 1);
	wire_run(wire, 2 * S);
	assert_int_equal(c->inbox.sealed, 1800);
	wire_free(wire);
}

// One side loses its keys: the other's messages make it ask for new ones.
static void test_restart(void **state)
{
	struct wire *wire = wire_new(90);
	struct wire_node *a = node(wire, PREFER, NULL), *b = node(wire, PREFER, NULL);
	struct seen seen = {0};
	uint64_t got;

	(void)state;
	wire_tap(wire, watch, &seen);
	wire_introduce(a, b, WIRE_ANY);
	for (unsigned i = 0; i < 20; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.sealed, 20);
	wire_node_restart(b);
	wire_poke(b);
	for (unsigned i = 0; i < 100; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	got = b->inbox.sealed;
	for (unsigned i = 0; i < 20; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.sealed, got + 20);
	assert_in_range(got, 20 + 50, 120);
	assert_int_equal(b->inbox.sealed, b->inbox.messages);
	assert_int_equal(seen.clear, 0);
	wire_free(wire);
}

// Switched on and off while running: each finds out by the other's newest HELO, or its handshake.
static void test_reload(void **state)
{
	struct wire *wire = wire_new(91);
	struct wire_node *a = node(wire, PREFER, NULL), *b = node(wire, QUICK, NULL);
	struct wire_node_options on = {.core = PREFER}, off = {.core = QUICK};
	struct tapi_error error;
	struct seen seen = {0};
	uint64_t got;

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	for (unsigned i = 0; i < 20; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.messages, 20);
	assert_int_equal(b->inbox.sealed, 0);
	assert_int_equal(wire_node_reload(b, &on, &error), TAPI_OK);
	for (unsigned i = 0; i < 100; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	wire_tap(wire, watch, &seen);
	got = b->inbox.sealed;
	for (unsigned i = 0; i < 20; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.sealed, got + 20);
	assert_int_equal(seen.clear, 0);
	assert_int_equal(wire_node_reload(b, &off, &error), TAPI_OK);
	for (unsigned i = 0; i < 200; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_true(wire_counter(b, "sealed_unwanted") > 0);
	got = b->inbox.messages;
	for (unsigned i = 0; i < 20; i++)
		wire_send(a, b, 64, "x", 1), wire_run(wire, 100 * MS);
	assert_int_equal(b->inbox.messages, got + 20);
	assert_int_equal(state_of(a, b), TAPI_SECURE_CLEAR);
	wire_free(wire);
}

// Behind NAT: no address, but a HELO that says so, and that it encrypts.
static void test_nated(void **state)
{
	struct wire *wire = wire_new(92);
	struct wire_node_options inside = {
		.core = NEEDED, .transports = "\"vudp\"", .nated = {true}};
	struct wire_node *a = wire_node_add(wire, &inside), *b = node(wire, NEEDED, "\"vudp\"");

	(void)state;
	wire_introduce(a, b, WIRE_ANY);
	wire_send(a, b, 64, "x", 1);
	wire_run(wire, 2 * S);
	assert_int_equal(b->inbox.sealed, 1);
	for (unsigned i = 0; i < 10; i++)
		wire_send(b, a, 64, "y", 1), wire_run(wire, 1 * S);
	assert_int_equal(a->inbox.sealed, 10);
	wire_free(wire);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_old_peer),
		cmocka_unit_test(test_weather),
		cmocka_unit_test(test_at_once),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_rekey),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_nated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
