// SPDX-License-Identifier: BSD-3-Clause
// Three cores that encrypt (two "prefer", one "require"), with new keys each 16 payloads or 10 s,
// in random weather: loss, disorder, blocked media, restarts, peers that are forgotten; and a
// forger who sends again what passed, to whom it went or back, as it was or altered. Held all the
// time:
//
// - what an application gets came sealed, is what the named sender said, and comes once: whatever
//   was doubled or sent again;
// - no message and no part is on the wire in clear;
// - keys: at most three sessions of a peer, the younger before the older; none is left after
// silence;
// - in fair weather, a minute later, everything arrives.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "operations.h"
#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/wire.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/state.h"

enum { NODES = 3, MOST = 500, SERIALS = 4096, KEPT = 64, MS = 1000, S = 1000000 };

enum what { SEND, RUN, LOSS, JITTER, BLOCK, UNBLOCK, RESTART, FORGET, REPLAY, MUTILATE, KINDS_OF };
static const char *const words[] = {"send", "run", "loss", "jitter", "block", "unblock", "restart",
	"forget", "replay", "mutilate"};

struct operation {
	enum what what;
	unsigned a, b, value;
};

struct kept {
	enum wire_kind kind;
	uint32_t from_ip, to_ip, size;
	uint8_t octets[1500];
};

struct world {
	struct wire *wire;
	struct wire_node *nodes[NODES];
	struct {
		uint8_t from, to, times;
		uint32_t size;
	} said[SERIALS];
	unsigned n_said, came;
	bool wrong;
	char why[WHY_BYTES];
	unsigned n_kept;
	struct kept kept[KEPT];
};

static void wrong_at(struct world *world, const char *why)
{
	if (!world->wrong)
		snprintf(world->why, sizeof(world->why), "at %.3f s: %s",
			(double)wire_now(world->wire) / 1e6, why);
	world->wrong = true;
}

static uint8_t octet_of(unsigned serial, uint32_t at)
{
	return (uint8_t)(serial * 31 + at * 7);
}

static void on_message(void *context, const struct tapi_incoming *in)
{
	struct wire_node *node = context;
	struct world *world = node->test;
	const uint8_t *body = in->body;
	unsigned serial = in->length >= 4 ? tapi_get32(body) : SERIALS;

	if (!in->sealed)
		wrong_at(world, "something came that was not sealed");
	if (serial >= world->n_said || world->said[serial].size != in->length) {
		wrong_at(world, "something came that nobody said");
		return;
	}
	if (world->nodes[world->said[serial].to] != node ||
		!tapi_peer_id_equal(
			&world->nodes[world->said[serial].from]->identity.id, in->sender))
		wrong_at(world, "something came to or from another");
	if (world->said[serial].times++ != 0)
		wrong_at(world, "something came twice");
	for (uint32_t i = 4; i < in->length; i++)
		if (body[i] != octet_of(serial, i))
			wrong_at(world, "something came otherwise than it was said");
	world->came++;
}

static void watch_wire(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct world *world = context;

	for (uint32_t at = 0; at + 4 <= size && tapi_get16(&message[at]) >= 4;
		at += tapi_get16(&message[at])) {
		uint16_t type = tapi_get16(&message[at + 2]);

		if (type >= TAPI_TYPE_USER || type == TAPI_TYPE_FRAGMENT)
			wrong_at(world, "a message in clear");
	}
	if (size <= sizeof(world->kept[0].octets) && kind != WIRE_TCP && size >= 4 &&
		tapi_get16(&message[2]) >= TAPI_TYPE_INITIATE) {
		struct kept *kept = &world->kept[world->n_kept++ % KEPT];

		*kept = (struct kept){
			.kind = kind, .from_ip = from_ip, .to_ip = to_ip, .size = size};
		memcpy(kept->octets, message, size);
	}
}

static struct wire_node *node_at(struct world *world, uint32_t ip)
{
	for (unsigned i = 0; i < NODES; i++)
		if (world->nodes[i]->ip == ip)
			return world->nodes[i];
	return world->nodes[0];
}

static void forge(struct world *world, unsigned value, bool mutilate)
{
	struct kept kept = world->kept[value % KEPT];
	struct wire_node *to, *sender;
	uint32_t crc;

	if (world->n_kept < KEPT)
		return;
	to = node_at(world, value & 64 ? kept.to_ip : kept.from_ip);
	sender = node_at(world, value & 128 ? kept.from_ip : kept.to_ip);
	for (unsigned i = 0; mutilate && i < 1 + value % 3; i++)
		kept.octets[4 + (value * 31 + i * 97) % (kept.size - 4)] ^=
			(uint8_t)(1u << value % 8);
	crc = (uint32_t)crc32(0, kept.octets, kept.size);
	wire_tap(world->wire, NULL, NULL);
	wire_forge(world->wire, kept.kind, value & 256 ? kept.from_ip : 0x0a500001, to,
		&sender->identity.id, kept.octets, kept.size, false, &crc);
	wire_tap(world->wire, watch_wire, world);
}

static bool say(struct world *world, unsigned from, unsigned to, uint32_t size)
{
	static uint8_t body[6000];
	unsigned serial = world->n_said;

	if (from == to || serial == SERIALS)
		return false;
	tapi_put32(body, serial);
	for (uint32_t i = 4; i < size; i++)
		body[i] = octet_of(serial, i);
	if (wire_send(world->nodes[from], world->nodes[to], 64, body, size) != TAPI_OK)
		return false;
	world->said[serial].from = (uint8_t)from;
	world->said[serial].to = (uint8_t)to;
	world->said[serial].size = size;
	world->n_said++;
	return true;
}

static void introduce_all(struct world *world)
{
	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = 0; b < NODES; b++)
			if (a != b)
				wire_introduce(world->nodes[a], world->nodes[b], WIRE_ANY);
}

static void act(struct world *world, const struct operation *op)
{
	struct wire_node *a = world->nodes[op->a], *b = world->nodes[op->b];
	int kind = (int)(op->value % 3);

	switch (op->what) {
	case SEND:
		say(world, op->a, op->b, 4 + (op->value >> 4) % (op->value % 16 ? 900 : 5000));
		break;
	case RUN: wire_run(world->wire, op->value % ((op->value & 15 ? 50u : 6000u) * MS)); break;
	case LOSS:
		wire_loss(world->wire, op->value & 1 ? WIRE_UDP : WIRE_RAW, op->value % 4 * 0.1);
		break;
	case JITTER: wire_latency(world->wire, kind, 500, op->value % (60 * MS)); break;
	case BLOCK:
		wire_block(world->wire, kind, a->ip, 0, false);
		wire_block(world->wire, kind, a->ip, 0, true);
		break;
	case UNBLOCK: wire_block(world->wire, kind, a->ip, 0, false); break;
	case RESTART: wire_node_restart(a); break;
	case FORGET:
		if (a != b) {
			tapi_core_forget(a->core, &b->identity.id);
			wire_introduce(a, b, WIRE_ANY);
		}
		break;
	case REPLAY:
	case MUTILATE: forge(world, op->value, op->what == MUTILATE); break;
	case KINDS_OF: break;
	}
	wire_poke(a);
}

static void check(struct world *world, bool silent)
{
	for (unsigned i = 0; i < NODES; i++)
		for (const struct tapi_peer *peer = world->nodes[i]->core->peers; peer != NULL;
			peer = peer->hh.next) {
			const struct tapi_secure *secure = peer->secure;

			if (secure == NULL)
				continue;
			if (silent)
				wrong_at(world, "keys are left after silence");
			if (secure->current != NULL && secure->previous != NULL &&
				secure->current->made_us < secure->previous->made_us)
				wrong_at(world, "what goes out is under the older keys");
			if (secure->previous != NULL && secure->current == NULL)
				wrong_at(world, "the older keys outlived the younger");
		}
}

static void settle(struct world *world)
{
	struct wire *wire = world->wire;
	unsigned said, came;

	for (unsigned a = 0; a < NODES; a++)
		for (int kind = 0; kind < WIRE_KINDS; kind++)
			wire_block(wire, kind, world->nodes[a]->ip, 0, false);
	wire_loss(wire, WIRE_ANY, 0);
	wire_latency(wire, WIRE_ANY, 1 * MS, 0);
	introduce_all(world);
	for (unsigned round = 0; round < 60; round++) {
		for (unsigned a = 0; a < NODES; a++)
			for (unsigned b = 0; b < NODES; b++)
				say(world, a, b, 50);
		wire_run(wire, 1 * S);
	}
	wire_run(wire, 12 * S);
	said = world->n_said;
	came = world->came;
	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = 0; b < NODES; b++)
			say(world, a, b, 3000);
	wire_run(wire, 2 * S);
	if (world->n_said - said != NODES * (NODES - 1))
		wrong_at(world, "in fair weather something is refused");
	if (world->came - came != world->n_said - said)
		wrong_at(world, "in fair weather something does not arrive");
	check(world, false);
	wire_run(wire, 60 * (uint64_t)S);
	check(world, true);
}

static bool run_all(const void *operations, unsigned n, char why[WHY_BYTES])
{
	static const char *const modes[NODES] = {"prefer", "prefer", "require"};
	const struct operation *op = operations;
	struct world *world = calloc(1, sizeof(*world));
	bool right;

	assert_non_null(world);
	world->wire = wire_new(78);
	for (unsigned i = 0; i < NODES; i++) {
		char core[300];
		struct wire_node_options options = {
			.transports = "\"vudp\", \"vtcp\", \"vraw\"", .core = core};

		snprintf(core, sizeof(core),
			"\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 50, "
			"\"retry_max_s\": 5, \"encryption\": \"%s\", \"rekey_msgs\": 16, "
			"\"rekey_s\": 10",
			modes[i]);
		world->nodes[i] = wire_node_add(world->wire, &options);
		world->nodes[i]->test = world;
		tapi_core_receive(world->nodes[i]->core, 64, on_message, world->nodes[i]);
	}
	wire_tap(world->wire, watch_wire, world);
	introduce_all(world);
	for (unsigned i = 0; i < n && !world->wrong; i++) {
		act(world, &op[i]);
		check(world, false);
	}
	if (!world->wrong)
		settle(world);
	right = !world->wrong;
	if (!right)
		memcpy(why, world->why, WHY_BYTES);
	wire_free(world->wire);
	free(world);
	return right;
}

static void make(void *operation, unsigned index, uint64_t *random)
{
	static const uint8_t often[KINDS_OF] = {38, 28, 3, 3, 3, 6, 1, 2, 10, 6}; // of 100
	struct operation *op = operation;
	uint32_t drawn = operations_below(random, 100);

	(void)index;
	for (op->what = SEND; op->what < MUTILATE && drawn >= often[op->what]; op->what++)
		drawn -= often[op->what];
	op->a = operations_below(random, NODES);
	op->b = operations_below(random, NODES);
	op->value = operations_below(random, UINT32_MAX);
}

static void print(const void *operation)
{
	const struct operation *op = operation;

	print_message("\t{%s, %u, %u, %u}\n", words[op->what], op->a, op->b, op->value);
}

static void any_weather(void **state)
{
	static const struct operations kind = {
		.name = "tapi_secure",
		.size = sizeof(struct operation),
		.most = MOST,
		.make = make,
		.run = run_all,
		.print = print,
	};

	(void)state;
	assert_int_equal(operations_campaign(&kind, 30), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_weather),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
