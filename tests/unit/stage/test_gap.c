// SPDX-License-Identifier: BSD-3-Clause
// Holes in a connection whose endpoint others have named, through the whole packet path: with both
// ends seen and with one alone, under a policy that enforces and under one that watches, whatever
// application is named and whatever looks at the flow. (Hook by hook: test_classify_gap.c.)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/flow/table.h"
#include "pipeline/stage/hold.h"
#include "pipeline/event/stream_tap.h"

#define ID      "abcdefghij0123456789"
#define MSS     1400u
#define BEHIND  (47 * MSS) // more than one side alone makes the tracker wait for
#define FIRST   100u       // number of the client's first octet
#define ENDS_AT (FIRST + 5000u)

struct hole {
	uint32_t before; // octets of the half that were seen
	uint32_t length;
	bool v6;
	bool one_sided;
};

static struct pipe *named_world(bool enforces)
{
	struct lcore_limits limits = pipe_limits();

	limits.flows = limits.embryos = limits.classifying = limits.tracker.tracks = 256;
	limits.tracker.blocks = 4096;
	limits.tracker.half_blocks = 1024;
	struct pipe *pipe = pipe_new(1, &limits);

	if (enforces) {
		struct policy *policy = pipe_policy(pipe);

		pipe_rule_app(policy, 7, ACTION_DROP, "irc"); // of which there is none here
		pipe_publish(pipe, policy);
	}
	return pipe;
}

// A DHT node that answers says that 10.0.0.5 port 51413 is a peer.
static void dht_names_the_server(struct pipe *pipe, bool v6)
{
	static const char query[] = "d1:ad2:id20:" ID "e1:q4:ping1:t2:aa1:y1:qe";
	static const char reply[] = "d1:rd2:id20:" ID "6:valuesl6:\x0a\0\0\x05\xc8\xd5"
				    "ee1:t2:aa1:y1:re";
	static const char reply6[] = "d1:rd2:id20:" ID "6:valuesl18:"
				     "\xfd\0\0\0\0\0\0\0\0\0\0\0\x0a\0\0\x05\xc8\xd5"
				     "ee1:t2:aa1:y1:re";
	struct pipe_packet packet = {.v6 = v6,
		.proto = IPPROTO_UDP,
		.server = 9,
		.sport = 6881,
		.dport = 6881,
		.payload = query,
		.payload_length = sizeof(query) - 1};

	pipe_run(pipe, 0, &packet);
	packet.from_outside = true;
	packet.payload = v6 ? reply6 : reply;
	packet.payload_length = v6 ? sizeof(reply6) - 1 : sizeof(reply) - 1;
	pipe_run(pipe, 0, &packet);
}

static void send_part(struct pipe *pipe, struct pipe_packet packet, bool from_server, uint8_t flags,
	uint32_t seq, uint32_t ack, const void *bytes, uint32_t length)
{
	packet.from_outside = from_server;
	packet.tcp_flags = flags;
	packet.seq = seq;
	packet.ack = ack;
	packet.payload = bytes;
	packet.payload_length = (uint16_t)length;
	pipe_run(pipe, 0, &packet);
}

static const uint8_t *noise(void)
{
	static uint8_t bytes[BEHIND];
	uint64_t seed = 1;

	for (uint32_t i = 0; i < sizeof(bytes); i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(seed >> 40);
	}
	return bytes;
}

static struct pipe_packet opened(struct pipe *pipe, const struct hole *hole, const void *first)
{
	static uint16_t sport = 20000;
	const struct pipe_packet packet = {
		.v6 = hole->v6, .server = 5, .sport = ++sport, .dport = 51413};

	pipe->dp.ports[PIPE_INSIDE].one_way = hole->one_sided;
	send_part(pipe, packet, false, TH_SYN, FIRST - 1, 0, NULL, 0);
	if (!hole->one_sided) {
		send_part(pipe, packet, true, TH_SYN | TH_ACK, ENDS_AT - 1, FIRST, NULL, 0);
		send_part(pipe, packet, false, TH_ACK, FIRST, ENDS_AT, NULL, 0);
	}
	if (hole->before)
		send_part(pipe, packet, false, 0, FIRST, ENDS_AT, first, hole->before);
	return packet;
}

static struct flow *flow_of(struct pipe *pipe, const struct pipe_packet *packet)
{
	struct flow_table *flows = pipe->dp.lcores[0]->flows;

	for (uint32_t i = 0; i < flow_table_usage(flows).flows_max; i++)
		if (flow_at(flows, i)->gen &&
			flow_cold_at(flows, i)->ends.port[HALF_C2S] == packet->sport)
			return flow_at(flows, i);
	return NULL;
}

// What lies behind the hole, and the receiver's acknowledgement of it all.
static void go_on_behind(
	struct pipe *pipe, const struct pipe_packet *packet, const struct hole *hole)
{
	const uint8_t *bytes = noise();
	uint32_t at = FIRST + hole->before + hole->length;

	for (uint32_t done = 0; done < BEHIND; done += MSS)
		send_part(pipe, *packet, false, 0, at + done, ENDS_AT, bytes + done, MSS);
	if (!hole->one_sided)
		send_part(pipe, *packet, true, TH_ACK, ENDS_AT, at + BEHIND, NULL, 0);
	pipe_turns(pipe);
}

// The default policy enforces. Where the other direction does not pass (`one_way`), a hole is given
// up by 64 KiB behind it.
static void a_hole_in_front_of_a_named_peer_is_no_flight(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		const struct hole hole = {.length = 200, .v6 = v6, .one_sided = true};
		struct pipe *pipe = named_world(true);

		dht_names_the_server(pipe, v6);
		assert_int_equal(pipe_stats(pipe).endpoints_learned, 3); // TCP, UDP, the node
		struct pipe_packet packet = opened(pipe, &hole, NULL);

		go_on_behind(pipe, &packet, &hole);
		assert_int_equal(pipe_stats(pipe).tcp_gaps, 1);
		assert_int_equal(pipe_stats(pipe).tcp_gap_bytes, 200);
		assert_int_equal(pipe_stats(pipe).endpoints_hits, 0); // a hole looks like nothing
		pipe_free(pipe);
	}
}

// Monitoring: the first segment of an honest connection was lost before it came to us.
static void an_honest_flow_to_a_named_peer_may_lose_its_first_segment(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		const struct hole hole = {.length = 300, .v6 = v6};
		struct pipe *pipe = named_world(false);

		dht_names_the_server(pipe, v6);
		struct pipe_packet packet = opened(pipe, &hole, NULL);

		go_on_behind(pipe, &packet, &hole);
		assert_int_equal(pipe_stats(pipe).tcp_gaps, 1);
		assert_int_equal(pipe_stats(pipe).endpoints_hits, 0);
		pipe_free(pipe);
	}
}

// ---- the class: every application that may be named, in every state of the flow ----

static void named(struct pipe *pipe, uint16_t app, bool v6)
{
	struct lcore *lcore = pipe->dp.lcores[0];
	struct endpoint_entry entry = {
		.key = {.port = 51413, .l4_proto = IPPROTO_TCP},
		.created_ns = lcore->now_ns,
		.expires_ns = UINT64_MAX,
		.app = app,
		.from = LEARNED_PEER,
		.secret = {.has_node = 1, .has_user = 1},
	};
	static const uint8_t v4_mapped[16] = {[10] = 0xff, 0xff, 10, 0, 0, 5};
	static const uint8_t address6[16] = {0xfd, [12] = 10, 0, 0, 5};

	memcpy(entry.key.address, v6 ? address6 : v4_mapped, 16);
	assert_true(endpoint_cache_learn(lcore, lcore->endpoints, &entry));
}

enum looked_at_by {
	BY_CLASSIFIER,
	BY_DECODER, // the application is known, and has one
	BY_LISTENER,
	BY_NOBODY,
	LOOKED_AT_MAX
};

static void set_state(struct flow *flow, struct flow_cold *cold, uint16_t app, enum looked_at_by by)
{
	if (by == BY_CLASSIFIER || !flow)
		return;
	flow->app = app;
	flow->confidence = CONFIDENCE_DPI;
	flow->flags |= FLOW_APP_FINAL;
	if (by == BY_DECODER && app_has_decoder(app))
		flow->flags |= FLOW_DECODED;
	if (by == BY_LISTENER)
		cold->meta = HANDSHAKE_META_ANSWER;
}

static void hole_before(
	struct pipe *pipe, uint16_t app, const struct hole *hole, enum looked_at_by by)
{
	struct pipe_packet packet = opened(pipe, hole, noise());
	struct flow *flow = flow_of(pipe, &packet);
	uint64_t gaps = pipe_stats(pipe).tcp_gaps;

	if (flow) {
		struct flow_table *flows = pipe->dp.lcores[0]->flows;

		set_state(flow, flow_cold_at(flows, (uint32_t)(flow - flow_at(flows, 0))), app, by);
	}
	go_on_behind(pipe, &packet, hole);
	// who is asked to look at it gets the hole; without `flow` its state could not be set
	if (by == BY_CLASSIFIER || (flow && by == BY_DECODER && app_get(app)->decode))
		assert_int_equal(pipe_stats(pipe).tcp_gaps, gaps + 1);
}

struct tapped {
	uint64_t sum, gaps;
};

static void tap_span(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	struct tapped *tapped = ctx;

	(void)lcore;
	(void)ref;
	tapped->gaps += span_is_gap(span) ? span->extent : 0;
	for (uint32_t i = 0; i < span_length(span); i++)
		tapped->sum += span_bytes(span)[i];
}

static void tap_overlap(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
	uint32_t bytes, uint32_t conflict)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	(void)half;
	(void)bytes;
	(void)conflict;
}

static void tap_end(void *ctx, const struct lcore *lcore, uint32_t ref)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
}

static void each_hole(
	uint16_t app, bool enforces, bool v6, enum looked_at_by by, struct stream_tap *tap)
{
	// a first flight of MSE or eMule would be as long as some of these holes
	static const uint32_t lengths[] = {1, 14, 200}, before[] = {0, 5, 700};
	struct pipe *pipe = named_world(enforces);

	pipe->dp.lcores[0]->tap = tap;
	named(pipe, app, v6);
	for (unsigned i = 0; i < 2 * 3 * 3; i++) {
		const struct hole hole = {.before = before[i / 6],
			.length = lengths[i / 2 % 3],
			.v6 = v6,
			.one_sided = enforces && i & 1};

		hole_before(pipe, app, &hole, by);
		pipe->n_sent = 0;
	}
	pipe->dp.lcores[0]->tap = NULL;
	pipe_free(pipe);
}

static void every_application_may_be_named_in_front_of_a_hole(void **state)
{
	(void)state;
	for (uint16_t app = 1; app <= app_count(); app++) {
		const struct app_proto *proto = app_get(app);

		if (!proto->disguised && !proto->uncloaks && !proto->decode)
			continue; // nothing of it looks at spans
		for (unsigned i = 0; i < 2 * 2 * LOOKED_AT_MAX; i++)
			each_hole(app, i & 1, i & 2, i / 4, NULL);
	}
}

static void the_tap_gets_holes_without_bytes(void **state)
{
	struct tapped tapped = {0};
	struct stream_tap tap = {
		.ctx = &tapped, .span = tap_span, .overlap = tap_overlap, .end = tap_end};
	(void)state;

	each_hole(app_find("bittorrent"), false, false, BY_CLASSIFIER, &tap);
	assert_true(tapped.gaps > 0 && tapped.sum > BEHIND);
}

// What waits for the scan engine may be behind a hole, or be one.
static void a_half_that_is_scanned_may_have_holes(void **state)
{
	const struct scan_config config = {
		.timeout_ns = 30 * NS_PER_S,
		.flows = 8,
		.n_script = 1,
		.script = {{.half = HALF_C2S, .after_bytes = 100, .every = true, .delay_ms = 1}},
	};
	const struct hole hole = {.length = 200};
	(void)state;

	for (unsigned named_too = 0; named_too < 2; named_too++) {
		struct pipe *pipe = named_world(false);

		pipe_scan_new(pipe, &config);
		struct policy *policy = pipe_policy(pipe);

		pipe_rule(policy, 7, ACTION_SCAN);
		pipe_publish(pipe, policy);
		if (named_too)
			dht_names_the_server(pipe, false);
		struct pipe_packet packet = opened(pipe, &hole, NULL);

		go_on_behind(pipe, &packet, &hole);
		assert_true(pipe_stats(pipe).tcp_gaps >= 1);
		pipe_advance(pipe, 60);
		pipe_free(pipe);
	}
}

static void run_cut(struct pipe *pipe, const struct pipe_packet *packet, uint32_t kept)
{
	uint8_t frame[2048];

	assert_true(pipe_build(packet, frame, sizeof(frame)) >= kept);
	pipe_run_frame(pipe, 0, frame, kept, packet->from_outside, 1);
}

// A capture that has kept the first octets of each packet: where the next segment lies is known by
// the header's length.
static void what_a_capture_has_cut_is_a_hole_at_once(void **state)
{
	(void)state;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		const struct hole hole = {.v6 = v6};
		struct pipe *pipe = named_world(false);
		struct pipe_packet packet = opened(pipe, &hole, NULL);
		uint32_t head = v6 ? 74 : 54;

		pipe->rx_flags = PKT_CAPTURED | PKT_CSUM_IGNORE;
		packet.payload = noise();
		packet.payload_length = 300;
		packet.seq = FIRST;
		packet.ack = ENDS_AT;
		run_cut(pipe, &packet, head + 300);
		assert_int_equal(pipe_stats(pipe).tcp_gaps, 0);
		packet.seq += 300;
		run_cut(pipe, &packet, head + 100);
		assert_int_equal(pipe_stats(pipe).tcp_gaps, 1);
		assert_int_equal(pipe_stats(pipe).tcp_gap_bytes, 200);
		packet.seq += 300;
		run_cut(pipe, &packet, head + 300); // right behind it
		assert_int_equal(pipe_stats(pipe).tcp_gaps, 1);
		pipe_free(pipe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hole_in_front_of_a_named_peer_is_no_flight),
		cmocka_unit_test(an_honest_flow_to_a_named_peer_may_lose_its_first_segment),
		cmocka_unit_test(every_application_may_be_named_in_front_of_a_hole),
		cmocka_unit_test(the_tap_gets_holes_without_bytes),
		cmocka_unit_test(a_half_that_is_scanned_may_have_holes),
		cmocka_unit_test(what_a_capture_has_cut_is_a_hole_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
