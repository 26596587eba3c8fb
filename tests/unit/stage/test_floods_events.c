// SPDX-License-Identifier: BSD-3-Clause
// 100,000 forged packets a second, each of which would make a record or two, beside a control core
// that takes 5,000 a second: flows that a rule refuses, entries of the connection cache by a rule
// on addresses, hellos; also with the addresses of the honest clients, beside a control core that
// takes 50,000, so that the limits of types and sources are what counts. Of honest flows every
// record arrives, and is within the limits: ends, alerts, drops, entries, hellos.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/peers/forged.h"
#include "lib/peers/storm.h"
#include "control/event/limit.h"

#define STEP_NS      (100 * NS_PER_US)
#define STEP_PKTS    10
#define TAKE_EVERY   100 // steps: 10 ms, as the control core does
#define TAKE         50
#define FAST_TAKE    500
#define BLOCKED_NET  "10.99.0.0/16"
#define SERVER       0x00c80001
#define HONEST_PORT  40000
#define CLIENTS      100 // honest, of which every fifth is blocked
#define VICTIMS      10  // of these, whose addresses are forged
#define CLIENT       1000
#define CLOSING_S    15   // limits.tcp_closing_s
#define PER_S        5000 // events.per_s, events.source_per_s
#define SOURCE_PER_S 500

#define GNUTELLA "GNUTELLA CONNECT/0.6\r\nUser-Agent: LimeWire/4.12\r\n\r\n"
#define REQUEST  "GET / HTTP/1.1\r\nHost: honest.example\r\n\r\n"
#define ANSWER   "HTTP/1.1 204 No Content\r\n\r\n"

enum forged_event {
	NOTHING,
	REFUSED_PAYLOAD,
	REFUSED_ADDRESS,
	HELLO,
	MIXED,
};

struct forger {
	enum forged_event kind;
	bool from_outside;
	bool as_victim; // with addresses of the honest
};

struct scene {
	struct pipe *pipe;
	struct event_limit *limit;
	struct forger forger;
	uint64_t step;
	unsigned told[EVENT_TYPES_MAX]; // of honest clients
	unsigned ended[CLIENTS], alerts[CLIENTS];
};

static void arrive(struct pipe *pipe, const struct pipe_packet *packet, bool from_outside)
{
	uint8_t frame[512];
	unsigned length = pipe_build(packet, frame, sizeof(frame));

	pipe_run_frame(pipe, 0, frame, length, from_outside, 1);
	pipe->n_sent = 0;
}

static void forge(struct pipe *pipe, const struct forger *forger)
{
	enum forged_event kind = forger->kind;
	bool from_outside = forger->from_outside;
	struct pipe_packet packet = {
		.client = 0x01000000 + (forged_random() >> 1), // not of 10.0.0.0/8
		.server = 0x01000000 + (forged_random() >> 1),
		.sport = (uint16_t)(1024 + forged_random() % 60000),
		.dport = 80,
		.seq = forged_random(),
	};

	if (forger->as_victim) {
		packet.client = CLIENT + forged_random() % VICTIMS;
		packet.sport = (uint16_t)(1024 + forged_random() % (HONEST_PORT - 1024));
		if (forged_random() & 1)
			packet.server = SERVER;
	}
	if (kind == MIXED)
		kind = 1 + forged_random() % 3;
	if (kind == REFUSED_PAYLOAD) {
		packet.ack = forged_random();
		packet.payload = GNUTELLA;
		packet.payload_length = sizeof(GNUTELLA) - 1;
		arrive(pipe, &packet, from_outside);
		return;
	}
	packet.tcp_flags = TH_SYN;
	if (kind == REFUSED_ADDRESS)
		packet.server = 0x00630000 | (forged_random() & 0xffff);
	arrive(pipe, &packet, from_outside);
	if (kind == REFUSED_ADDRESS)
		return;
	packet.tcp_flags = 0;
	packet.seq++;
	packet.payload = REQUEST;
	packet.payload_length = sizeof(REQUEST) - 1;
	arrive(pipe, &packet, from_outside);
}

static bool is_honest(const struct event *event)
{
	static const uint8_t server[4] = {10, SERVER >> 16, 0, SERVER & 0xff};

	return !memcmp(event->ends.address[HALF_S2C] + 12, server, sizeof(server)) &&
	       (event->type == EVENT_CONNCACHE || event->ends.port[HALF_C2S] == HONEST_PORT);
}

static void take(struct scene *scene, unsigned max)
{
	struct event event;

	for (unsigned i = 0; i < max && rte_ring_sc_dequeue_elem(scene->pipe->dp.lcores[0]->events,
						&event, sizeof(event)) == 0;
		i++) {
		const uint8_t *address = event.ends.address[HALF_C2S];
		unsigned client = (unsigned)(address[14] << 8 | address[15]) - CLIENT;

		if (!event_limit_take(scene->limit, &event))
			continue;
		if (event.type == EVENT_HANDSHAKE_META_MORE || address[12] != 10 || address[13] ||
			client >= CLIENTS || !is_honest(&event))
			continue;
		if (event.type == EVENT_CONNCACHE && event.reason != CONNCACHE_ADD)
			continue; // entries of the flood displace it
		scene->told[event.type]++;
		scene->ended[client] += event.type == EVENT_FLOW;
		scene->alerts[client] += event.type == EVENT_ALERT;
	}
}

static void segment(struct scene *scene, unsigned client, bool of_server, uint32_t seq,
	uint32_t ack, uint8_t flags, const char *text)
{
	arrive(scene->pipe,
		&(struct pipe_packet){.from_outside = of_server,
			.client = CLIENT + client,
			.server = SERVER,
			.sport = HONEST_PORT,
			.dport = 80,
			.seq = seq,
			.ack = ack,
			.tcp_flags = flags,
			.payload = text,
			.payload_length = (uint16_t)strlen(text)},
		of_server);
}

// A whole connection; that of a blocked application ends with its first payload.
static void converse(struct scene *scene, unsigned client)
{
	uint32_t c = 1001, s = 5001;

	segment(scene, client, false, c - 1, 0, TH_SYN, "");
	segment(scene, client, true, s - 1, c, TH_SYN | TH_ACK, "");
	segment(scene, client, false, c, s, TH_ACK, "");
	if (client % 5 == 0) {
		segment(scene, client, false, c, s, 0, GNUTELLA);
		return;
	}
	segment(scene, client, false, c, s, 0, REQUEST);
	c += sizeof(REQUEST) - 1;
	segment(scene, client, true, s, c, 0, ANSWER);
	s += sizeof(ANSWER) - 1;
	segment(scene, client, false, c, s, TH_FIN | TH_ACK, "");
	segment(scene, client, true, s, c + 1, TH_FIN | TH_ACK, "");
	segment(scene, client, false, c + 1, s + 1, TH_ACK, "");
}

// `honest`: the next of them begins each 5 ms.
static void flood(struct scene *scene, double seconds, bool honest)
{
	const struct forger *forger = &scene->forger;
	uint64_t end = scene->step + (uint64_t)(seconds * 1e9) / STEP_NS, from = scene->step;

	for (; scene->step < end; scene->step++) {
		for (unsigned i = 0; forger->kind && i < STEP_PKTS; i++)
			forge(scene->pipe, forger);
		if (honest && (scene->step - from) % 50 == 0 && (scene->step - from) / 50 < CLIENTS)
			converse(scene, (unsigned)(scene->step - from) / 50);
		scene->pipe->now_ns += STEP_NS;
		pipe_turns(scene->pipe);
		scene->pipe->n_sent = 0;
		if (scene->step % TAKE_EVERY == 0)
			take(scene, forger->as_victim ? FAST_TAKE : TAKE);
	}
}

static struct pipe *gateway(void)
{
	struct pipe *pipe = pipe_new(1, &storm_limits);

	pipe_signatures(pipe, storm_rig->db);
	struct policy *policy = pipe_policy(pipe);
	struct rule *addresses = pipe_rule(policy, 1, ACTION_DROP);

	addresses->has_destination = true;
	addresses->cache = CACHE_TUPLE;
	assert_int_equal(address_set_add(&addresses->destination, BLOCKED_NET), 0);
	address_set_seal(&addresses->destination);
	pipe_rule_app(policy, 2, ACTION_DROP, "gnutella")->cache = CACHE_TUPLE;
	pipe_publish(pipe, policy);
	return pipe;
}

// What is reported the honest, and that nothing of it was lost for want of room.
static struct scene scene_of(struct forger forger)
{
	const struct event_limits limits = {.per_s = PER_S, .source_per_s = SOURCE_PER_S};
	struct scene scene = {.pipe = gateway(), .forger = forger};

	scene.limit = event_limit_new(&limits);
	assert_non_null(scene.limit);
	flood(&scene, 0.5, false); // the ring fills
	flood(&scene, 0.5, true);
	for (unsigned i = 0; i < (CLOSING_S - 1) * 100; i++) {
		pipe_advance(scene.pipe, 0.01);
		scene.pipe->n_sent = 0;
		take(&scene, TAKE);
	}
	flood(&scene, 1.2, false); // while the records of their ends are due
	struct stats stats = pipe_stats(scene.pipe);

	take(&scene, UINT32_MAX);
	assert_int_equal(stats.events_lost, 0);
	if (!forger.kind) {
		assert_int_equal(stats.events_unheard_lost + stats.greetings_lost, 0);
		assert_int_equal(event_limit_left_out(scene.limit), 0);
	} else if (forger.as_victim) {
		assert_true(event_limit_left_out(scene.limit) > 0);
	} else if (forger.kind == HELLO) {
		assert_true(stats.greetings_lost > 0);
	} else {
		assert_true(stats.events_unheard_lost > 0);
	}
	assert_int_equal(event_limit_left_out(scene.limit), event_limit_one_sided(scene.limit));
	event_limit_free(scene.limit);
	pipe_free(scene.pipe);
	return scene;
}

static void assert_as_quiet(const struct scene *quiet, struct forger forger)
{
	struct scene flooded = scene_of(forger);

	assert_memory_equal(flooded.told, quiet->told, sizeof(quiet->told));
	assert_memory_equal(flooded.ended, quiet->ended, sizeof(quiet->ended));
	assert_memory_equal(flooded.alerts, quiet->alerts, sizeof(quiet->alerts));
}

static void records_of_the_honest_arrive(void **state)
{
	struct scene quiet = scene_of((struct forger){.kind = NOTHING});
	(void)state;

	for (unsigned i = 0; i < CLIENTS; i++) {
		assert_int_equal(quiet.ended[i], 1);
		assert_int_equal(quiet.alerts[i], i % 5 == 0);
	}
	assert_int_equal(quiet.told[EVENT_CONNCACHE], CLIENTS / 5);
	assert_true(quiet.told[EVENT_HANDSHAKE_META] >= CLIENTS * 4 / 5);
	assert_true(quiet.told[EVENT_DROP] >= CLIENTS / 5);
	for (enum forged_event kind = REFUSED_PAYLOAD; kind <= MIXED; kind++)
		for (unsigned outside = kind != MIXED; outside < 2; outside++)
			assert_as_quiet(&quiet, (struct forger){kind, outside, false});
	for (unsigned outside = 0; outside < 2; outside++)
		assert_as_quiet(&quiet, (struct forger){MIXED, outside, true});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_the_honest_arrive),
	};

	return cmocka_run_group_tests(tests, storm_prepare, storm_done);
}
