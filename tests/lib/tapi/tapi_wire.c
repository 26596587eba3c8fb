// SPDX-License-Identifier: BSD-3-Clause
// The network: what is on its way, by time; nodes, by their next wish. The transports are in
// tapi_wire_transport.c and tapi_wire_take.c.
#include "tapi_wire.h"
#include "tapi_wire_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/table.h"
#include "transportapi/base/wire.h"
#include "transportapi/core/counters.h"
#include "transportapi/core/state.h"

static void timer_put(struct wire *wire, uint32_t place, struct wire_timer *timer)
{
	wire->heap[place] = timer;
	timer->place = place;
}

static bool before(const struct wire_timer *a, const struct wire_timer *b)
{
	return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static void timer_settle(struct wire *wire, uint32_t place)
{
	struct wire_timer *timer = wire->heap[place];

	for (; place > 1 && before(timer, wire->heap[place / 2]); place /= 2)
		timer_put(wire, place, wire->heap[place / 2]);
	while (2 * place <= wire->n_heap) {
		uint32_t child = 2 * place;

		child += child < wire->n_heap && before(wire->heap[child + 1], wire->heap[child]);
		if (!before(wire->heap[child], timer))
			break;
		timer_put(wire, place, wire->heap[child]);
		place = child;
	}
	timer_put(wire, place, timer);
}

static void timer_end(struct wire *wire, struct wire_timer *timer)
{
	uint32_t place = timer->place;
	struct wire_timer *last;

	if (place == 0)
		return;
	timer->place = 0;
	last = wire->heap[wire->n_heap--];
	if (last == timer)
		return;
	timer_put(wire, place, last);
	timer_settle(wire, place);
}

void wire_timer_at(struct wire *wire, struct wire_timer *timer, uint64_t due_us)
{
	timer_end(wire, timer);
	if (due_us == UINT64_MAX)
		return;
	if (wire->n_heap + 2 > wire->heap_room) {
		wire->heap_room = wire->heap_room != 0 ? 2 * wire->heap_room : 256;
		wire->heap = realloc(wire->heap, wire->heap_room * sizeof(struct wire_timer *));
		assert(wire->heap != NULL);
	}
	timer->due_us = due_us;
	timer->order = ++wire->order;
	timer_put(wire, ++wire->n_heap, timer);
	timer_settle(wire, timer->place);
}

uint64_t wire_chance(struct wire *wire)
{
	uint64_t z = (wire->chance += UINT64_C(0x9e3779b97f4a7c15)); // splitmix64

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint64_t node_now(void *context)
{
	return ((struct wire_full_node *)context)->wire->now_us;
}

static uint64_t node_wall(void *context)
{
	return WIRE_EPOCH_US + ((struct wire_full_node *)context)->wire->now_us;
}

static void node_random(void *context, void *octets, size_t length)
{
	struct wire *wire = ((struct wire_full_node *)context)->wire;

	for (size_t i = 0; i < length; i++)
		((uint8_t *)octets)[i] = (uint8_t)wire_chance(wire);
}

static void node_log(void *context, int priority, const char *text)
{
	struct wire_full_node *node = context;

	(void)priority;
	if (node->node.hark != NULL && strstr(text, node->node.hark) != NULL)
		snprintf(node->node.heard, sizeof(node->node.heard), "%s", text);
	if (getenv("WIRE_LOG") != NULL)
		fprintf(stderr, "%10.6f node %u: %s\n", (double)node->wire->now_us / 1e6,
			node->node.ip & 0xffff, text);
}

struct wire *wire_new(uint64_t seed)
{
	struct wire *wire = calloc(1, sizeof(*wire));

	assert(wire != NULL);
	wire->chance = seed;
	wire->now_us = 1000000; // 0 is "never" to some
	for (unsigned i = 0; i < WIRE_KINDS; i++)
		wire->latency_us[i] = 1000;
	return wire;
}

uint64_t wire_now(const struct wire *wire)
{
	return wire->now_us;
}

static bool blocked(const struct wire *wire, int kind, uint32_t a, uint32_t b)
{
	for (unsigned i = 0; i < wire->n_rules; i++) {
		const struct wire_rule *rule = &wire->rules[i];

		if ((rule->kind == WIRE_ANY || rule->kind == kind) &&
			(((rule->a == 0 || rule->a == a) && (rule->b == 0 || rule->b == b)) ||
				((rule->a == 0 || rule->a == b) && (rule->b == 0 || rule->b == a))))
			return true;
	}
	return false;
}

void wire_block(struct wire *wire, int kind, uint32_t ip, uint32_t other, bool on)
{
	if (on) {
		assert(wire->n_rules < WIRE_RULES_MAX);
		wire->rules[wire->n_rules++] = (struct wire_rule){kind, ip, other};
		return;
	}
	for (unsigned i = 0; i < wire->n_rules; i++)
		if (wire->rules[i].kind == kind && wire->rules[i].a == ip &&
			wire->rules[i].b == other)
			wire->rules[i--] = wire->rules[--wire->n_rules];
}

void wire_loss(struct wire *wire, int kind, double probability)
{
	for (int i = 0; i < WIRE_KINDS; i++)
		if (kind == WIRE_ANY || kind == i)
			wire->loss[i] = probability;
}

void wire_latency(struct wire *wire, int kind, uint64_t latency_us, uint64_t jitter_us)
{
	for (int i = 0; i < WIRE_KINDS; i++)
		if (kind == WIRE_ANY || kind == i) {
			wire->latency_us[i] = latency_us;
			wire->jitter_us[i] = jitter_us;
		}
}

void wire_tap(struct wire *wire,
	void (*tap)(void *context, enum wire_kind kind, uint32_t from_ip, uint32_t to_ip,
		uint8_t *message, uint32_t size),
	void *context)
{
	wire->tap = tap;
	wire->tap_context = context;
}

void wire_put(struct wire *wire, const struct wire_packet *like, const void *message, uint32_t size)
{
	struct wire_packet *packet;
	enum wire_kind kind = like->kind;
	uint64_t delay_us = wire->latency_us[kind];

	if (blocked(wire, (int)kind, like->from_ip, like->to_ip))
		return;
	if (wire->loss[kind] > 0 && (double)(wire_chance(wire) >> 11) / 0x1p53 < wire->loss[kind])
		return;
	// A stream keeps its order.
	if (wire->jitter_us[kind] != 0 && kind != WIRE_TCP)
		delay_us += wire_chance(wire) % wire->jitter_us[kind];
	packet = malloc(sizeof(*packet) + size);
	assert(packet != NULL);
	*packet = *like;
	packet->timer = (struct wire_timer){.is_packet = true};
	packet->size = size;
	if (size != 0)
		memcpy(packet->message, message, size);
	if (wire->tap != NULL && like->op == WIRE_MESSAGE)
		wire->tap(
			wire->tap_context, kind, like->from_ip, like->to_ip, packet->message, size);
	wire_timer_at(wire, &packet->timer, wire->now_us + delay_us);
}

static struct wire_full_node *node_at(struct wire *wire, uint32_t ip)
{
	struct wire_full_node *node;

	for (unsigned i = 0; i < wire->n_aliases; i++)
		if (wire->aliases[i].ip == ip)
			return wire->aliases[i].node;
	HASH_FIND(by_ip, wire->nodes, &ip, sizeof(ip), node);
	return node;
}

void wire_alias(struct wire_node *node, uint32_t ip)
{
	struct wire_full_node *full = (struct wire_full_node *)node;

	assert(full->wire->n_aliases < WIRE_THIRDS_MAX);
	full->wire->aliases[full->wire->n_aliases++] = (struct wire_alias_of){ip, full};
}

static void third_party(struct wire *wire, const struct wire_packet *packet)
{
	for (unsigned i = 0; i < wire->n_thirds; i++) {
		struct wire_third *third = &wire->thirds[i];

		if (third->ip != packet->to_ip || third->kind != (int)packet->kind)
			continue;
		if (packet->op == WIRE_SYN) {
			struct wire_packet answer = *packet;

			third->seen.connects++;
			answer.op = WIRE_SYNACK;
			answer.from_ip = packet->to_ip;
			answer.to_ip = packet->from_ip;
			wire_put(wire, &answer, NULL, 0);
		}
		if (packet->op != WIRE_MESSAGE)
			continue;
		third->seen.messages++;
		third->seen.bytes += packet->size;
		if (packet->size >= 4 && tapi_get16(&packet->message[2]) == TAPI_TYPE_PING)
			third->seen.pings++;
		else
			third->seen.others++;
	}
}

static void deliver(struct wire *wire, struct wire_packet *packet)
{
	struct wire_full_node *node = node_at(wire, packet->to_ip);

	third_party(wire, packet);
	if (node != NULL && node->ends[packet->kind] != NULL) {
		wire_end_take(node->ends[packet->kind], packet);
		wire_poke(&node->node);
	} else if (packet->op == WIRE_SYN) {
		struct wire_packet answer = *packet;
		bool somebody = node != NULL;

		for (unsigned i = 0; i < wire->n_thirds; i++)
			somebody |= wire->thirds[i].ip == packet->to_ip;
		answer.op = WIRE_RST;
		answer.from_ip = packet->to_ip;
		answer.to_ip = packet->from_ip;
		if (!somebody || node != NULL)
			wire_put(wire, &answer, NULL, 0);
	}
	free(packet);
}

static void step(struct wire *wire)
{
	struct wire_timer *timer = wire->heap[1];

	timer_end(wire, timer);
	if (timer->is_packet) {
		deliver(wire, (struct wire_packet *)timer);
	} else {
		struct wire_full_node *node =
			(struct wire_full_node *)((char *)timer -
						  offsetof(struct wire_full_node, timer));
		uint64_t wish_us = tapi_core_turn(node->node.core, wire->now_us);

		// A core that wants the same moment again and again would hold time.
		if (wish_us <= wire->now_us && node->turns_now++ > 1000) {
			fprintf(stderr, "node %u does not let time go on\n",
				node->node.ip & 0xffff);
			abort();
		}
		if (wish_us > wire->now_us)
			node->turns_now = 0;
		if (timer->place == 0 || wish_us < timer->due_us)
			wire_timer_at(wire, timer, wish_us);
	}
}

bool wire_run_until(struct wire *wire, uint64_t for_us, bool (*done)(void *context), void *context)
{
	uint64_t end_us = wire->now_us + for_us;

	while (wire->n_heap != 0 && wire->heap[1]->due_us <= end_us) {
		if (done != NULL && done(context))
			return true;
		if (wire->heap[1]->due_us > wire->now_us)
			wire->now_us = wire->heap[1]->due_us;
		step(wire);
	}
	if (done != NULL && done(context))
		return true;
	wire->now_us = end_us;
	return false;
}

void wire_run(struct wire *wire, uint64_t for_us)
{
	wire_run_until(wire, for_us, NULL, NULL);
}

void wire_poke(struct wire_node *node)
{
	struct wire_full_node *full = (struct wire_full_node *)node;

	if (full->timer.place == 0 || full->timer.due_us > full->wire->now_us)
		wire_timer_at(full->wire, &full->timer, full->wire->now_us);
}

static void on_message(void *context, const struct tapi_incoming *incoming)
{
	struct wire_inbox *inbox = &((struct wire_node *)context)->inbox;

	inbox->messages++;
	inbox->bytes += incoming->length;
	inbox->unvalidated += !incoming->validated;
	inbox->sealed += incoming->sealed;
	inbox->last_type = incoming->type;
	inbox->last_length = incoming->length;
	inbox->last_encrypted = incoming->is_encrypted;
	inbox->last_crc = incoming->crc;
	memcpy(inbox->last, incoming->body,
		incoming->length < sizeof(inbox->last) ? incoming->length : sizeof(inbox->last));
}

static void on_event(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info)
{
	struct wire_inbox *inbox = &((struct wire_node *)context)->inbox;

	inbox->reachable += what == TAPI_PEER_REACHABLE;
	inbox->switched += what == TAPI_PEER_SWITCHED;
	inbox->lost += what == TAPI_PEER_LOST;
	inbox->event = *info;
}

static struct tapi_conf *conf_of(const struct wire_node_options *options)
{
	struct tapi_error error = {.text = ""};
	struct tapi_conf *conf;
	char *text = NULL;

	if (asprintf(&text, "{\"transports\": [%s], \"core\": {%s}%s%s}",
		    options->transports != NULL ? options->transports : "\"vudp\", \"vtcp\"",
		    options->core != NULL ? options->core : "",
		    options->sections != NULL ? ", " : "",
		    options->sections != NULL ? options->sections : "") < 0)
		abort();
	conf = tapi_conf_parse(text, &error);
	if (conf == NULL) {
		fprintf(stderr, "%s\n%s\n", text, error.text);
		abort();
	}
	free(text);
	return conf;
}

enum tapi_result wire_node_try(struct wire *wire, const struct wire_node_options *options,
	struct wire_node **out, struct tapi_error *error)
{
	static const struct tapi_own_transport transports[] = {
		{"vudp", inittransport_vudp, donetransport_vudp},
		{"vtcp", inittransport_vtcp, donetransport_vtcp},
		{"vraw", inittransport_vraw, donetransport_vraw},
		{NULL, NULL, NULL},
	};
	struct wire_full_node *node = calloc(1, sizeof(*node));
	struct tapi_core_options core = {
		.now_us = node_now,
		.wall_us = node_wall,
		.random = node_random,
		.log = node_log,
		.context = node,
		.own_turns = true,
		.transports = transports,
	};
	uint8_t seed[TAPI_SEED_BYTES];
	enum tapi_result result;

	assert(node != NULL);
	*out = NULL;
	node->wire = wire;
	node->node.ip = 0x0a000001 + wire->n_nodes;
	memcpy(node->nated, options->nated, sizeof(node->nated));
	memcpy(node->cone, options->cone, sizeof(node->cone));
	node->helo_mtu = options->helo_mtu;
	node_random(node, seed, sizeof(seed));
	tapi_identity_from_seed(&node->node.identity, seed);
	node->conf = conf_of(options);
	core.conf = node->conf;
	core.identity = &node->node.identity;
	wire_building = node;
	result = tapi_core_new(&node->node.core, &core, error);
	if (result == TAPI_OK)
		result = tapi_core_start(node->node.core, error);
	wire_building = NULL;
	if (result != TAPI_OK) {
		tapi_core_free(node->node.core);
		tapi_conf_free(node->conf);
		free(node);
		return result;
	}
	if (!options->quiet) {
		for (uint16_t type = TAPI_TYPE_USER; type < TAPI_TYPE_USER + 16; type++)
			tapi_core_receive(node->node.core, type, on_message, &node->node);
		tapi_core_watch(node->node.core, on_event, &node->node);
	}
	wire->n_nodes++;
	HASH_ADD(by_ip, wire->nodes, node.ip, sizeof(node->node.ip), node);
	wire_poke(&node->node);
	*out = &node->node;
	return TAPI_OK;
}

struct wire_node *wire_node_add(struct wire *wire, const struct wire_node_options *options)
{
	static const struct wire_node_options plain;
	struct tapi_error error = {.text = ""};
	struct wire_node *node;

	if (wire_node_try(wire, options != NULL ? options : &plain, &node, &error) != TAPI_OK) {
		fprintf(stderr, "node: %s\n", error.text);
		abort();
	}
	return node;
}

enum tapi_result wire_node_reload(
	struct wire_node *node, const struct wire_node_options *options, struct tapi_error *error)
{
	struct wire_full_node *full = (struct wire_full_node *)node;
	struct tapi_conf *conf = conf_of(options);
	enum tapi_result result = tapi_core_reload(node->core, conf, error);

	if (result == TAPI_OK) {
		tapi_conf_free(full->conf);
		full->conf = conf;
	} else {
		tapi_conf_free(conf);
	}
	wire_poke(node);
	return result;
}

void wire_node_restart(struct wire_node *node)
{
	struct tapi_error error = {.text = ""};

	tapi_core_stop(node->core);
	if (tapi_core_start(node->core, &error) != TAPI_OK)
		abort();
	wire_poke(node);
}

void wire_move(struct wire_node *node, uint32_t ip)
{
	struct wire_full_node *full = (struct wire_full_node *)node;

	HASH_DELETE(by_ip, full->wire->nodes, full);
	node->ip = ip;
	HASH_ADD(by_ip, full->wire->nodes, node.ip, sizeof(node->ip), full);
}

struct introduction {
	struct wire_node *to;
	int kind;
};

static bool pass_on(void *context, const uint8_t *octets, size_t length)
{
	struct introduction *introduction = context;

	if (introduction->kind == WIRE_ANY ||
		tapi_get16(&octets[6]) == WIRE_PROTOCOL + introduction->kind)
		tapi_core_add_helo(introduction->to->core, octets, length);
	return true;
}

void wire_introduce(struct wire_node *to, struct wire_node *whom, int kind)
{
	struct introduction introduction = {to, kind};

	tapi_core_own_helos(whom->core, pass_on, &introduction);
	wire_poke(to);
}

enum tapi_result wire_send(struct wire_node *from, struct wire_node *to, uint16_t type,
	const void *body, uint32_t length)
{
	struct tapi_outgoing outgoing = {.type = type, .body = body, .length = length};
	enum tapi_result result = tapi_core_send(from->core, &to->identity.id, &outgoing);

	wire_poke(from);
	return result;
}

const struct wire_seen *wire_third_party(struct wire *wire, int kind, uint32_t ip)
{
	struct wire_third *third = &wire->thirds[wire->n_thirds];

	assert(wire->n_thirds < WIRE_THIRDS_MAX);
	wire->n_thirds++;
	third->kind = kind;
	third->ip = ip;
	return &third->seen;
}

uint64_t wire_counter(const struct wire_node *node, const char *name)
{
#define X(counter, help)                 \
	if (strcmp(name, #counter) == 0) \
		return node->core->counters.counter;
	TAPI_CORE_COUNTERS(X)
#undef X
	fprintf(stderr, "no counter %s\n", name);
	abort();
}

void wire_free(struct wire *wire)
{
	struct wire_full_node *node, *next;

	HASH_ITER(by_ip, wire->nodes, node, next)
	{
		tapi_core_free(node->node.core);
		tapi_conf_free(node->conf);
		HASH_DELETE(by_ip, wire->nodes, node);
		timer_end(wire, &node->timer);
		free(node);
	}
	while (wire->n_heap != 0) {
		struct wire_timer *timer = wire->heap[1];

		assert(timer->is_packet);
		timer_end(wire, timer);
		free(timer);
	}
	free(wire->heap);
	free(wire);
}
