// SPDX-License-Identifier: BSD-3-Clause
// Five cores, two of them partly behind a NAT, in random weather: media that are blocked, lossy,
// slow or full, cores that stop, forget, deny and reload, forgers who replay and mutilate what they
// saw. Held all the time:
//
// - nothing but PINGs, and answers to the source of a PING, goes to an address before a PONG for a
//   PING to that very address came back (counted on the wire, not by the core);
// - every message ends in one counter: of the queue, of the quota, sent; none arrives that was not
//   sent, but for what the forger replays;
// - the lists of peers, paths, addresses and PINGs agree with one another;
// - after silence no session is left, and after fair weather everybody is reached again.
//
// Leaks and double frees are AddressSanitizer's to find.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <zlib.h>

#include "operations.h"
#include "lib/tapi/tapi_wire.h"

#include "transportapi/base/table.h"
#include "transportapi/base/wire.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/state.h"
#include "transportapi/core/validate.h"

enum { NODES = 5, MOST = 400, CHALLENGES = 1 << 14, KEPT = 32, MS = 1000, S = 1000000 };

enum what {
	SEND,
	SEND_LONG,
	RUN,
	RUN_LONG,
	INTRODUCE,
	BLOCK,
	UNBLOCK,
	LOSS,
	JITTER,
	ROOM,
	RESTART,
	FORGET,
	DENY,
	RELOAD,
	QUOTA,
	REPLAY,
	MUTILATE,
	KINDS_OF,
};
static const char *const words[] = {"send", "send_long", "run", "run_long", "introduce", "block",
	"unblock", "loss", "jitter", "room", "restart", "forget", "deny", "reload", "quota",
	"replay", "mutilate"};

struct operation {
	enum what what;
	unsigned a, b, value;
};

struct kept { // what the forger saw
	enum wire_kind kind;
	uint32_t from_ip, size;
	uint8_t octets[1500];
};

struct world {
	struct wire *wire;
	struct wire_node *nodes[NODES];
	uint64_t sent, replayed;
	bool wrong;
	char why[WHY_BYTES];
	bool proven[NODES][NODES]; // by the wire: who was answered from where
	struct {
		uint64_t key; // of the challenge
		uint8_t from, to;
	} challenges[CHALLENGES];
	unsigned n_kept;
	struct kept kept[KEPT];
};

static int index_of(const struct world *world, uint32_t ip)
{
	for (int i = 0; i < NODES; i++)
		if (world->nodes[i] != NULL && world->nodes[i]->ip == ip)
			return i;
	return -1;
}

static void wrong_at(struct world *world, const char *why)
{
	if (!world->wrong)
		snprintf(world->why, sizeof(world->why), "at %.3f s: %s",
			(double)wire_now(world->wire) / 1e6, why);
	world->wrong = true;
}

// The oracle: a challenge seen from one node to another, and seen come back, proves that address.
static void watch_wire(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
	uint8_t *message, uint32_t size)
{
	struct world *world = context;
	int from = index_of(world, from_ip), to = index_of(world, to_ip);
	struct kept *kept = &world->kept[world->n_kept++ % KEPT];

	if (from < 0 || to < 0)
		return;
	if (size <= sizeof(kept->octets) && kind != WIRE_TCP) {
		kept->kind = kind;
		kept->from_ip = from_ip;
		kept->size = size;
		memcpy(kept->octets, message, size);
	} else {
		world->n_kept--;
	}
	for (uint32_t at = 0; at + 4 <= size && tapi_get16(&message[at]) >= 4;
		at += tapi_get16(&message[at])) {
		uint16_t type = tapi_get16(&message[at + 2]);
		uint64_t key;

		if ((type == TAPI_TYPE_PING || type == TAPI_TYPE_PONG) && size >= at + 36) {
			memcpy(&key, &message[at + 4], sizeof(key));
			if (type == TAPI_TYPE_PING) {
				world->challenges[key % CHALLENGES].key = key;
				world->challenges[key % CHALLENGES].from = (uint8_t)from;
				world->challenges[key % CHALLENGES].to = (uint8_t)to;
			} else if (world->challenges[key % CHALLENGES].key == key &&
				   world->challenges[key % CHALLENGES].from == to) {
				world->proven[to][world->challenges[key % CHALLENGES].to] = true;
			}
			continue;
		}
		if (!world->proven[from][to])
			wrong_at(world, "a message to an address that was not validated");
	}
}

static struct wire_node_options options_of(unsigned node, unsigned variant)
{
	static const char *const cores[] = {
		"\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 50, "
		"\"retry_max_s\": 20, \"pong_valid_s\": 300, \"helo_repeat_s\": 20",
		"\"ping_address_s\": 0, \"ping_prefix_per_min\": 100, \"ping_per_s\": 100, "
		"\"retry_max_s\": 5, \"validate\": \"eager\", \"pong_valid_s\": 60, "
		"\"queue_msgs\": 20, \"advertise\": 1, \"hysteresis_percent\": 0, "
		"\"helo_repeat_s\": 5, \"linger_s\": 5, \"idle_close_s\": 20",
		"\"ping_address_s\": 1, \"ping_prefix_per_min\": 1000, \"ping_per_s\": 50, "
		"\"retry_max_s\": 10, \"queue_total_bytes\": 20000, \"helo_repeat_s\": 10, "
		"\"fragment_total_bytes\": 30000, \"helo_lifetime_s\": 600, \"max_peers\": 3",
	};
	struct wire_node_options options = {
		.transports = node == 4 ? "\"vtcp\", \"vudp\"" : "\"vudp\", \"vtcp\", \"vraw\"",
		.core = cores[variant % 3],
	};

	options.nated[WIRE_TCP] = node >= 3;
	options.nated[WIRE_UDP] = node == 4;
	options.nated[WIRE_RAW] = node >= 3;
	return options;
}

static bool path_listed(const struct tapi_peer *peer, const struct tapi_path *path)
{
	for (const struct tapi_path *each = peer->paths; each != NULL; each = each->next)
		if (each == path)
			return true;
	return false;
}

static bool address_listed(const struct tapi_peer *peer, const struct tapi_address *at)
{
	for (const struct tapi_address *each = peer->addresses; each != NULL; each = each->next)
		if (each == at)
			return true;
	return false;
}

static const char *peer_faults(const struct tapi_peer *peer, unsigned *probes)
{
	const struct tapi_queue_counters *queue = &peer->queue.counters;
	unsigned n = 0;

	for (const struct tapi_path *path = peer->paths; path != NULL; path = path->next, n++) {
		if (path->peer != peer)
			return "a path of another peer";
		if (path->session != NULL && path->session->user != path)
			return "a session names another path";
		if (path->address != NULL &&
			(!address_listed(peer, path->address) || path->address->path != path))
			return "a path to an address that does not know it";
		if (path->probe != NULL && path->probe->path != path)
			return "a PING of another path";
		*probes += path->probe != NULL;
	}
	if (n != peer->n_paths)
		return "n_paths";
	n = 0;
	for (const struct tapi_address *at = peer->addresses; at != NULL; at = at->next, n++)
		if (at->path != NULL && (!path_listed(peer, at->path) || at->path->address != at))
			return "an address with a path that does not know it";
	if (n != peer->n_addresses)
		return "n_addresses";
	if (peer->use.path != NULL && !path_listed(peer, peer->use.path))
		return "the path in use is gone";
	if (peer->use.address != NULL && !address_listed(peer, peer->use.address))
		return "the address in use is gone";
	if (queue->queued != queue->taken + queue->expired + queue->dropped_full +
				     queue->dropped_pool + queue->dropped_too_big +
				     queue->dropped_memory + queue->dropped_forgotten +
				     peer->queue.msgs)
		return "a message of the queue ended nowhere";
	return NULL;
}

static void check(struct world *world)
{
	uint64_t came = 0;

	for (unsigned i = 0; i < NODES; i++) {
		const struct tapi_core *core = world->nodes[i]->core;
		unsigned probes = 0, peers = 0, reachable = 0;

		for (const struct tapi_peer *peer = core->peers; peer != NULL;
			peer = peer->hh.next) {
			const char *fault = peer_faults(peer, &probes);

			if (fault != NULL)
				wrong_at(world, fault);
			peers++;
			reachable += peer->reachable;
			if (peer->reachable && core->reachable[peer->reachable_index] != peer)
				wrong_at(world, "the list of the reachable");
		}
		if (probes != HASH_COUNT(core->probes))
			wrong_at(world, "PINGs that no path knows");
		if (peers != core->n_peers || reachable != core->n_reachable)
			wrong_at(world, "numbers of peers");
		if (core->depth != 0 || !TAILQ_EMPTY(&core->dead))
			wrong_at(world, "peers that ended and were not freed");
		came += world->nodes[i]->inbox.messages;
	}
	if (came > world->sent + world->replayed)
		wrong_at(world, "more messages came than were sent");
}

static void forge(struct world *world, const struct operation *op, bool mutilate)
{
	struct kept *kept = &world->kept[op->value % KEPT];
	struct wire_node *from = world->nodes[op->a], *to = world->nodes[op->b];
	uint8_t octets[1500];
	uint32_t crc;

	if (world->n_kept < KEPT || from == to)
		return;
	memcpy(octets, kept->octets, kept->size);
	for (unsigned i = 0; mutilate && i < 1 + op->value % 3; i++)
		octets[(op->value * 31 + i * 97) % kept->size] ^= (uint8_t)(1u << op->value % 8);
	crc = (uint32_t)crc32(0, octets, kept->size);
	world->replayed += kept->size / 4; // at the most so many messages are in it
	// Its own source, so that the oracle does not take it for a node's.
	wire_tap(world->wire, NULL, NULL);
	wire_forge(world->wire, kept->kind == WIRE_RAW && op->b == 4 ? WIRE_UDP : kept->kind,
		op->value % 2 ? kept->from_ip : 0x0a500001, to, &from->identity.id, octets,
		kept->size, false, &crc);
	wire_tap(world->wire, watch_wire, world);
}

static void send(struct world *world, const struct operation *op, uint32_t most)
{
	static uint8_t body[30000];
	uint32_t length = op->value % most;
	struct tapi_outgoing outgoing = {
		.type = (uint16_t)(64 + op->value % 8),
		.body = body,
		.length = length,
		.priority = op->value % 4,
		.is_encrypted = op->value % 7 == 0,
		.deadline_us = op->value % 5 == 0 ? 1000 * (uint64_t)(op->value % 3000) : 0,
	};

	if (op->a == op->b)
		return;
	world->sent += tapi_core_send(world->nodes[op->a]->core, &world->nodes[op->b]->identity.id,
			       &outgoing) == TAPI_OK;
	wire_poke(world->nodes[op->a]);
}

static void act(struct world *world, const struct operation *op)
{
	struct wire *wire = world->wire;
	struct wire_node *a = world->nodes[op->a], *b = world->nodes[op->b];
	struct wire_node_options options;
	struct tapi_error error;

	switch (op->what) {
	case SEND: send(world, op, 1500); break;
	case SEND_LONG: send(world, op, 30000); break;
	case RUN: wire_run(wire, op->value % (20 * MS)); break;
	case RUN_LONG: wire_run(wire, op->value % (20 * S)); break;
	case INTRODUCE:
		if (a != b)
			wire_introduce(a, b, (int)(op->value % 4) - 1);
		break;
	case BLOCK:
		wire_block(
			wire, (int)(op->value % 4) - 1, a->ip, op->value & 16 ? b->ip : 0, false);
		wire_block(wire, (int)(op->value % 4) - 1, a->ip, op->value & 16 ? b->ip : 0, true);
		break;
	case UNBLOCK:
		wire_block(wire, (int)(op->value % 4) - 1, a->ip, b->ip, false);
		wire_block(wire, (int)(op->value % 4) - 1, a->ip, 0, false);
		break;
	case LOSS: wire_loss(wire, (int)(op->value % 3), op->value % 5 * 0.1); break;
	case JITTER: wire_latency(wire, (int)(op->value % 3), 500, op->value % 5000); break;
	case ROOM: wire_no_room(a, (int)(op->value % 3), op->value % 2); break;
	case RESTART: wire_node_restart(a); break;
	case FORGET: tapi_core_forget(a->core, &b->identity.id); break;
	case DENY:
		tapi_core_deny_peer(a->core, &b->identity.id,
			UINT64_C(1800000000000000) + wire_now(wire) + op->value % (5 * S));
		break;
	case RELOAD:
		options = options_of(op->a, op->value);
		if (wire_node_reload(a, &options, &error) != TAPI_OK)
			wrong_at(world, "a reload is refused");
		break;
	case QUOTA: tapi_core_quota(a->core, &b->identity.id, 0, op->value % 3 * 5000); break;
	case REPLAY:
	case MUTILATE: forge(world, op, op->what == MUTILATE); break;
	case KINDS_OF: break;
	}
	wire_poke(a);
}

// Fair weather: everybody is reported everybody, and reaches whom it can; then silence.
static void settle(struct world *world)
{
	struct wire *wire = world->wire;
	struct tapi_outgoing last = {.type = 79, .body = "last", .length = 4, .priority = 3};
	struct tapi_error error;

	for (int kind = -1; kind < WIRE_KINDS; kind++)
		for (unsigned a = 0; a < NODES; a++) {
			wire_block(wire, kind, world->nodes[a]->ip, 0, false);
			for (unsigned b = 0; b < NODES; b++)
				wire_block(wire, kind, world->nodes[a]->ip, world->nodes[b]->ip,
					false);
		}
	wire_loss(wire, WIRE_ANY, 0);
	for (unsigned a = 0; a < NODES; a++) {
		struct wire_node_options options = options_of(a, 0);

		for (int kind = 0; kind < WIRE_KINDS; kind++)
			wire_no_room(world->nodes[a], kind, false);
		if (wire_node_reload(world->nodes[a], &options, &error) != TAPI_OK)
			wrong_at(world, "a reload is refused");
	}
	wire_run(wire, 40 * (uint64_t)S);
	for (unsigned round = 0; round < 2; round++)
		for (unsigned a = 0; a < NODES; a++) {
			for (unsigned b = 0; b < 3; b++) { // 3 and 4 cannot always be called
				if (a == b)
					continue;
				wire_introduce(world->nodes[a], world->nodes[b], WIRE_ANY);
				tapi_core_quota(
					world->nodes[a]->core, &world->nodes[b]->identity.id, 0, 0);
				world->sent +=
					tapi_core_send(world->nodes[a]->core,
						&world->nodes[b]->identity.id, &last) == TAPI_OK;
				wire_poke(world->nodes[a]);
			}
			wire_run(wire, 5 * (uint64_t)S);
		}
	check(world);
	for (unsigned a = 0; a < NODES; a++)
		for (unsigned b = 0; b < 3; b++) {
			struct tapi_peer_info info;

			if (a != b && (tapi_core_peer(world->nodes[a]->core,
					       &world->nodes[b]->identity.id, &info) != TAPI_OK ||
					      info.transport[0] == '\0' || info.queued_msgs != 0))
				wrong_at(world, "in fair weather somebody is not reached");
		}
	// Who was wanted is kept validated for an hour.
	wire_run(wire, 5000 * (uint64_t)S);
	check(world);
	// Node 4 keeps its sessions up, having no address; the others' are gone.
	for (unsigned a = 0; a < 4; a++)
		for (int kind = 0; kind < WIRE_KINDS; kind++)
			if (wire_sessions(world->nodes[a], (enum wire_kind)kind) > 1)
				wrong_at(world, "sessions are left after silence");
}

static bool run_all(const void *operations, unsigned n, char why[WHY_BYTES])
{
	const struct operation *op = operations;
	struct world *world = calloc(1, sizeof(*world));
	bool right;

	assert_non_null(world);
	world->wire = wire_new(77);
	for (unsigned i = 0; i < NODES; i++) {
		struct wire_node_options options = options_of(i, i);

		world->nodes[i] = wire_node_add(world->wire, &options);
	}
	wire_tap(world->wire, watch_wire, world);
	for (unsigned i = 0; i < n && !world->wrong; i++) {
		act(world, &op[i]);
		check(world);
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
	// How often each comes, of 100.
	static const uint8_t often[KINDS_OF] = {
		34, 4, 22, 4, 10, 4, 4, 2, 2, 3, 1, 2, 1, 1, 1, 3, 2};
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
		.name = "tapi_core",
		.size = sizeof(struct operation),
		.most = MOST,
		.make = make,
		.run = run_all,
		.print = print,
	};

	(void)state;
	assert_int_equal(operations_campaign(&kind, 12), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_weather),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
