// SPDX-License-Identifier: BSD-3-Clause
// Anomalies as the control core gets them: whose they are, how many a second, and what of them is
// in the flow's own record when it ends.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe_evidence.h"
#include "pipeline/event/flow_event.h"
#include "lib/packet/packet.h"
#include "pipeline/wire/parse.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/vocab/stream_report.h"
#include "pipeline/event/evidence.h"
#include "pipeline/flow/table.h"
#include "pipeline/limits.h"
#include "pipeline/policy/policy.h"
#include "pipeline/loop.h"

#define ONE_SOURCE_PER_S (ANOMALY_EVENTS_PER_S / 2)

static void handshake(struct pipe *pipe)
{
	const struct pipe_packet packets[] = {
		{.seq = 99, .tcp_flags = TH_SYN},
		{.seq = 499, .ack = 100, .tcp_flags = TH_SYN | TH_ACK, .from_outside = true},
		{.seq = 100, .ack = 500},
	};

	for (unsigned i = 0; i < 3; i++)
		pipe_run(pipe, 0, &packets[i]);
}

static unsigned say(struct pipe *pipe, uint32_t seq, const void *payload, uint16_t length)
{
	return pipe_run(pipe, 0,
		&(struct pipe_packet){
			.seq = seq, .ack = 500, .payload = payload, .payload_length = length});
}

// A flow with two bytes taken.
static uint32_t begin(struct pipe *pipe)
{
	struct flow_table *flows = pipe->dp.lcores[0]->flows;

	handshake(pipe);
	say(pipe, 100, "xy", 2);
	for (uint32_t ref = 0; ref < flow_table_usage(flows).flows_max; ref++) {
		if (flow_at(flows, ref)->gen)
			return ref;
	}
	fail();
	return FLOW_REF_NONE;
}

static struct pipe *pipe_blocking(const struct lcore_limits *limits)
{
	struct pipe *pipe = pipe_new(1, limits);
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	return pipe;
}

static void a_gap_has_its_event_and_stays_with_the_flow(void **state)
{
	struct pipe *pipe = pipe_blocking(NULL);
	struct event event;
	(void)state;

	begin(pipe);
	uint64_t flow_id = pipe_only_flow(pipe).flow_id;

	for (uint32_t i = 0; i < 8; i++) // behind ten bytes that nobody sees
		say(pipe, 112 + 2 * i, "ab", 2);
	// but the server: it acknowledges them
	pipe_run(pipe, 0, &(struct pipe_packet){.seq = 500, .ack = 128, .from_outside = true});
	say(pipe, 128, "cd", 2);
	assert_true(pipe_event(pipe, 0, EVENT_ANOMALY, &event));
	assert_int_equal(event.reason, ANOMALY_GAP);
	assert_int_equal(event.flow_id, flow_id);
	assert_int_equal(event.half, HALF_C2S);
	assert_int_equal(event.ends.port[HALF_C2S], 40000);
	assert_int_equal(event.anomaly.offset, 2);
	assert_true(event.anomaly.bytes >= 10);
	uint32_t bytes = event.anomaly.bytes;

	assert_false(pipe_event(pipe, 0, EVENT_ANOMALY, &event)); // reported once
	assert_int_equal(pipe_stats(pipe).tcp_gap_bytes, bytes);
	assert_int_equal(flow_end_some(pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8), 1);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.stream.half[HALF_C2S].gaps, 1);
	assert_int_equal(event.flow.stream.half[HALF_C2S].gap_bytes, bytes);
	assert_int_equal(event.flow.stream.half[HALF_S2C].gaps, 0);
	pipe_free(pipe);
}

static unsigned told(struct pipe *pipe, enum anomaly anomaly)
{
	struct event event;
	unsigned n = 0;

	while (pipe_event(pipe, 0, EVENT_ANOMALY, &event))
		n += event.reason == anomaly;
	return n;
}

static void a_flood_of_one_kind_hides_no_other(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	uint32_t ref = begin(pipe);
	(void)state;

	for (unsigned i = 0; i < 1000; i++)
		flow_event_anomaly(lcore, ref, NULL, ANOMALY_PAWS, 0, 1, HALF_C2S);
	flow_event_anomaly(lcore, ref, NULL, ANOMALY_OVERLAP_CONFLICT, 7, 3, HALF_S2C);
	assert_int_equal(pipe_stats(pipe).anomalies, 1001);
	assert_int_equal(pipe_stats(pipe).anomalies_limited, 1000 - ONE_SOURCE_PER_S);
	struct event event;
	unsigned paws = 0;

	while (pipe_event(pipe, 0, EVENT_ANOMALY, &event) && event.reason == ANOMALY_PAWS)
		paws++;
	assert_int_equal(paws, ONE_SOURCE_PER_S);
	assert_int_equal(event.reason, ANOMALY_OVERLAP_CONFLICT);
	assert_int_equal(event.anomaly.offset, 7);
	assert_int_equal(event.anomaly.bytes, 3);
	lcore->now_ns += NS_PER_S - 1;
	flow_event_anomaly(lcore, ref, NULL, ANOMALY_PAWS, 0, 1, HALF_C2S);
	assert_int_equal(told(pipe, ANOMALY_PAWS), 0);
	lcore->now_ns += 1; // a second after the first
	flow_event_anomaly(lcore, ref, NULL, ANOMALY_PAWS, 0, 1, HALF_C2S);
	assert_int_equal(told(pipe, ANOMALY_PAWS), 1);
	pipe_free(pipe);
}

static void nor_does_one_of_one_source_hide_another(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	uint32_t noisy = begin(pipe), other = FLOW_REF_NONE;
	struct event event;
	(void)state;

	pipe_run(pipe, 0, &(struct pipe_packet){.client = 9, .payload = "xy", .payload_length = 2});
	for (uint32_t ref = 0; ref < flow_table_usage(lcore->flows).flows_max; ref++)
		if (ref != noisy && flow_at(lcore->flows, ref)->gen)
			other = ref;
	assert_int_not_equal(other, FLOW_REF_NONE);
	flow_at(lcore->flows, other)->seen[0] |= SEEN_HEARD; // the same limit holds for both
	flow_at(lcore->flows, other)->seen[1] |= SEEN_HEARD;
	for (unsigned i = 0; i < 1000; i++)
		flow_event_anomaly(lcore, noisy, NULL, ANOMALY_OVERLAP_CONFLICT, 0, 1, HALF_C2S);
	flow_event_anomaly(lcore, other, NULL, ANOMALY_OVERLAP_CONFLICT, 7, 3, HALF_S2C);
	while (pipe_event(pipe, 0, EVENT_ANOMALY, &event))
		;
	assert_int_equal(event.anomaly.offset, 7);
	pipe_free(pipe);
}

// Segments without a connection are anybody's: their records are limited apart.
static void a_flood_of_the_unheard_hides_nothing_of_the_heard(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	uint32_t heard = begin(pipe), forged = FLOW_REF_NONE;
	struct pipe_packet packet = {.sport = 50000, .payload = "xy", .payload_length = 2};
	struct event event;
	unsigned n = 0;
	(void)state;

	pipe_run(pipe, 0, &packet);
	for (uint32_t ref = 0; ref < flow_table_usage(lcore->flows).flows_max; ref++)
		if (ref != heard && flow_at(lcore->flows, ref)->gen)
			forged = ref;
	assert_int_not_equal(forged, FLOW_REF_NONE);
	while (pipe_event(pipe, 0, EVENT_ANOMALY, &event))
		; // midstream
	for (unsigned i = 0; i < 1000; i++)
		flow_event_anomaly(lcore, forged, NULL, ANOMALY_OVERLAP_CONFLICT, 0, 1, HALF_C2S);
	flow_event_anomaly(lcore, heard, NULL, ANOMALY_OVERLAP_CONFLICT, 7, 3, HALF_S2C);
	while (pipe_event(pipe, 0, EVENT_ANOMALY, &event))
		n += event.heard == EVENT_UNHEARD;
	assert_int_equal(n, ONE_SOURCE_PER_S);
	assert_int_equal(event.heard, EVENT_OF_BOTH);
	assert_int_equal(event.anomaly.offset, 7);
	pipe_free(pipe);
}

static void anomaly_of(struct pipe *pipe, uint32_t ref, const struct pipe_packet *packet)
{
	uint8_t frame[256];
	unsigned length = pipe_build(packet, frame, sizeof(frame));
	struct rte_mbuf *m = packet_mbuf(pipe->pool, frame, length, LINK_ETHERNET, 1);
	union flow_key key;

	assert_true(parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key));
	pkt_of(m)->flags |= packet->from_outside ? 0 : PKT_FROM_INSIDE;
	flow_event_anomaly(pipe->dp.lcores[0], ref, m, ANOMALY_OVERLAP_CONFLICT, 0, 1, HALF_S2C);
	rte_pktmbuf_free(m);
}

// A server outside that misbehaves in connections of many hosts inside counts as one source,
// outside.
static void who_sends_it_is_counted(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	uint32_t ref = begin(pipe);
	(void)state;

	told(pipe, ANOMALY_OVERLAP_CONFLICT);
	for (unsigned i = 0; i < 1000; i++)
		anomaly_of(pipe, ref,
			&(struct pipe_packet){.from_outside = true,
				.client = (uint8_t)(i % 100),
				.seq = 500,
				.ack = 100});
	assert_int_equal(told(pipe, ANOMALY_OVERLAP_CONFLICT), ONE_SOURCE_PER_S);
	for (unsigned i = 0; i < 1000; i++)
		anomaly_of(pipe, ref, &(struct pipe_packet){.client = 7, .seq = 100, .ack = 500});
	assert_int_equal(told(pipe, ANOMALY_OVERLAP_CONFLICT), ONE_SOURCE_PER_S);
	pipe_free(pipe);
}

static void a_conflict_is_evidence(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	uint32_t ref = begin(pipe);
	const struct evidence_filter filter = {.flow_ids = {pipe_only_flow(pipe).flow_id}};
	struct evidence found[16];
	(void)state;

	flow_event_anomaly(
		pipe->dp.lcores[0], ref, NULL, ANOMALY_OVERLAP_CONFLICT, 1448, 17, HALF_S2C);
	unsigned n = pipe_evidence(pipe, &filter, found, 16);

	assert_true(n > 0);
	assert_int_equal(found[n - 1].kind, EVIDENCE_CONFLICT);
	assert_int_equal(found[n - 1].half, HALF_S2C);
	assert_int_equal(found[n - 1].offset, 1448);
	assert_int_equal(found[n - 1].length, 17);
	flow_event_anomaly(pipe->dp.lcores[0], ref, NULL, ANOMALY_PAWS, 0, 1, HALF_S2C);
	assert_int_equal(pipe_evidence(pipe, &filter, found, 16), n); // others are not
	pipe_free(pipe);
}

static void without_a_flow_it_is_the_packet_s(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct lcore *lcore = pipe->dp.lcores[0];
	struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);
	union flow_key key;
	struct event event;
	uint8_t frame[256];
	(void)state;

	unsigned length = pipe_build(
		&(struct pipe_packet){
			.proto = IPPROTO_UDP, .payload = "12345678", .payload_length = 8},
		frame, sizeof(frame));

	memcpy(rte_pktmbuf_append(m, (uint16_t)length), frame, length);
	pipeline_receive(lcore, m, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
	assert_true(parse_mbuf(m, &PARSE_SETTINGS_FIXED, &key));
	flow_event_anomaly(lcore, FLOW_REF_NONE, m, ANOMALY_FRAGMENT_OVERLAP, 1480, 8, HALF_C2S);
	assert_true(pipe_event(pipe, 0, EVENT_ANOMALY, &event));
	assert_int_equal(event.reason, ANOMALY_FRAGMENT_OVERLAP);
	assert_int_equal(event.flow_id, 0);
	assert_int_equal(event.l4_proto, IPPROTO_UDP);
	assert_int_equal(event.ends.address[HALF_C2S][15], 1);
	assert_int_equal(event.ends.address[HALF_S2C][15], 2);
	assert_int_equal(event.anomaly.offset, 1480);
	rte_pktmbuf_free(m);
	pipe_free(pipe);
}

static void a_segment_that_is_held_for_too_long(void **state)
{
	struct lcore_limits limits = pipe_limits();
	struct event event;
	(void)state;

	limits.tracker.fast_pass = false;
	limits.tracker.hold_ns = NS_PER_S;
	struct pipe *pipe = pipe_blocking(&limits);

	begin(pipe);
	assert_int_equal(say(pipe, 110, "late", 4), 0);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).tcp_held_active, 1);
	pipe_advance(pipe, 2);
	pipe_turns(pipe);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_HELD_TIMEOUT], 1);
	assert_true(pipe_event(pipe, 0, EVENT_ANOMALY, &event));
	assert_int_equal(event.reason, ANOMALY_HELD_TIMEOUT);
	assert_int_equal(event.half, HALF_C2S);
	assert_int_equal(event.anomaly.offset, 10);
	assert_int_equal(event.anomaly.bytes, 4);
	assert_true(event.flow_id);
	flow_end_some(pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.stream.half[HALF_C2S].held_pkts, 1);
	assert_true(event.flow.stream.half[HALF_C2S].held_cs >= 100);
	pipe_free(pipe);
}

static void a_half_that_keeps_too_much(void **state)
{
	struct lcore_limits limits = pipe_limits();
	struct event event;
	(void)state;

	limits.tracker.half_blocks = 10; // of which copies leave 5 to what is in order
	struct pipe *pipe = pipe_blocking(&limits);
	uint32_t offset = 10;

	begin(pipe);
	while (say(pipe, 100 + offset, "??", 2)) // each in a block of its own
		offset += 10;
	assert_true(offset > 10 && offset <= 70);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_STREAM_LIMIT], 1);
	assert_int_equal(pipe_stats(pipe).tcp_half_limit_drops, 1);
	assert_true(pipe_event(pipe, 0, EVENT_ANOMALY, &event));
	assert_int_equal(event.reason, ANOMALY_LIMIT);
	assert_int_equal(event.anomaly.offset, offset);
	assert_int_equal(event.anomaly.bytes, 2);
	flow_end_some(pipe->dp.lcores[0], FLOW_STEP_SHUTDOWN, 8);
	assert_true(pipe_event(pipe, 0, EVENT_FLOW, &event));
	assert_int_equal(event.flow.stream.dropped, 1 << STREAM_TARGET_HALF_LIMIT);
	assert_int_equal(event.flow.stream.passed | event.flow.stream.ignored, 0);
	pipe_free(pipe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_has_its_event_and_stays_with_the_flow),
		cmocka_unit_test(a_flood_of_one_kind_hides_no_other),
		cmocka_unit_test(nor_does_one_of_one_source_hide_another),
		cmocka_unit_test(a_flood_of_the_unheard_hides_nothing_of_the_heard),
		cmocka_unit_test(who_sends_it_is_counted),
		cmocka_unit_test(a_conflict_is_evidence),
		cmocka_unit_test(without_a_flow_it_is_the_packet_s),
		cmocka_unit_test(a_segment_that_is_held_for_too_long),
		cmocka_unit_test(a_half_that_keeps_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
