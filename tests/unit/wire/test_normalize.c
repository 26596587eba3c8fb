// SPDX-License-Identifier: BSD-3-Clause
// What is taken out of TCP headers before inspection (pipeline/stage/normalize.c), as it leaves the
// wire: MPTCP options and URG, in both families, wherever they stand and however the packet is cut;
// and tcp.mptcp, tcp.midstream of the policy.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <cmocka.h>
#include "lib/pipeline/pipe.h"
#include "pipeline/wire/checksum.h"
#include "pipeline/operator.h"
#include "pipeline/wire/tcp_normalize.h"
#include "pipeline/vocab/stream_report.h"
#include "pipeline/flow/expect.h"
#include "pipeline/loop.h"

#define CAPABLE 30, 12, 1, 0x81, 1, 2, 3, 4, 5, 6, 7, 8 // RFC 8684 section 3.1
#define JOIN    30, 12, 0x10, 1, 9, 9, 9, 9, 8, 8, 8, 8 // section 3.2
#define MSS     2, 4, 5, 0xb4
#define TIMES   1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7
#define NOP4    1, 1, 1, 1
#define NOP12   NOP4, NOP4, NOP4

static struct policy *enforce(struct pipe *pipe)
{
	struct policy *policy = pipe_policy(pipe);

	pipe_rule_app(policy, 7, ACTION_RESET, "bittorrent");
	pipe_publish(pipe, policy);
	return policy;
}

static const struct pipe_sent *last(const struct pipe *pipe)
{
	assert_true(pipe->n_sent > 0);
	return &pipe->sent[pipe->n_sent - 1];
}

static const uint8_t *tcp_of(const struct pipe_sent *sent)
{
	return sent->frame + 14 + (sent->frame[12] == 0x08 ? 20 : 40);
}

static void expect_good_checksum(const struct pipe_sent *sent)
{
	bool v6 = sent->frame[12] != 0x08;
	uint8_t copy[2048];
	unsigned l4 = v6 ? 54 : 34;

	memcpy(copy, sent->frame, sent->length);
	checksum_fill(copy + 14, copy + l4, (uint16_t)(sent->length - l4), IPPROTO_TCP, v6);
	// 0 and 0xffff are the same number
	uint16_t is = (uint16_t)(sent->frame[l4 + 16] << 8 | sent->frame[l4 + 17]);
	uint16_t should = (uint16_t)(copy[l4 + 16] << 8 | copy[l4 + 17]);

	if (is != should && (uint16_t)(is + 1) > 1)
		fail_msg("checksum %04x should be %04x", is, should);
}

// The options leave as `expected`, with a good checksum, by a packet that came in `segments`.
static void expect_options(struct pipe *pipe, struct pipe_packet packet, const uint8_t *options,
	const uint8_t *expected, uint8_t length)
{
	packet.options = options;
	packet.options_length = length;
	for (unsigned v6 = 0; v6 < 2; v6++) {
		packet.v6 = v6;
		for (packet.segments = 1; packet.segments < 80; packet.segments += 13) {
			packet.sport++;
			assert_int_equal(pipe_run(pipe, 0, &packet), 1);
			assert_memory_equal(tcp_of(last(pipe)) + 20, expected, length);
			if (packet.payload_length)
				assert_memory_equal(tcp_of(last(pipe)) + 20 + length,
					packet.payload, packet.payload_length);
			expect_good_checksum(last(pipe));
			pipe->n_sent = 0;
		}
	}
}

#define EXPECT_OPTIONS(packet, from, to)                                                \
	do {                                                                            \
		static const uint8_t is[] = {from}, should[] = {to};                    \
		static_assert(sizeof(is) == sizeof(should) && sizeof(is) % 4 == 0, ""); \
		expect_options(pipe, packet, is, should, sizeof(is));                   \
	} while (0)
#define LIST(...) __VA_ARGS__

static const struct pipe_packet syn = {.sport = 41000, .seq = 1000, .tcp_flags = TH_SYN};

static void mptcp_is_stripped_wherever_it_stands(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	enforce(pipe);
	EXPECT_OPTIONS(syn, LIST(CAPABLE), LIST(NOP12));
	EXPECT_OPTIONS(syn, LIST(CAPABLE, MSS), LIST(NOP12, MSS));
	EXPECT_OPTIONS(syn, LIST(MSS, JOIN), LIST(MSS, NOP12));
	EXPECT_OPTIONS(syn, LIST(1, CAPABLE, MSS, 1, 1, 1), LIST(1, NOP12, MSS, 1, 1, 1));
	EXPECT_OPTIONS(syn, LIST(TIMES, JOIN, MSS), LIST(TIMES, NOP12, MSS));
	EXPECT_OPTIONS(syn, LIST(CAPABLE, MSS, JOIN), LIST(NOP12, MSS, NOP12));
	EXPECT_OPTIONS(syn, LIST(30, 2, 1, 30, 3, 0x20, 1, 1), LIST(NOP4, NOP4));
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.mptcp_stripped, 7 * 2 * 7);
	assert_int_equal(stats.urg_cleared, 0);
	pipe_free(pipe);
}

// Both ends: the SYN-ACK, and what is no SYN (a connection that lived before the gateway).
static void mptcp_is_stripped_from_every_segment(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet answer = {
		.from_outside = true, .sport = 41000, .seq = 5000, .tcp_flags = TH_SYN | TH_ACK};
	struct pipe_packet segment = {.seq = 1, .ack = 1, .payload = "hello", .payload_length = 5};
	(void)state;

	enforce(pipe);
	EXPECT_OPTIONS(answer, LIST(MSS, CAPABLE), LIST(MSS, NOP12));
	EXPECT_OPTIONS(
		segment, LIST(TIMES, 30, 8, 0x20, 1, 0, 0, 0, 1), LIST(TIMES, NOP4, NOP4)); // DSS
	pipe_free(pipe);
}

// No host reads on there either.
static void options_that_no_host_reads_stay(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	enforce(pipe);
	EXPECT_OPTIONS(syn, LIST(0, CAPABLE, 1, 1, 1), LIST(0, CAPABLE, 1, 1, 1)); // behind EOL
	EXPECT_OPTIONS(syn, LIST(5, 0, 30, 2), LIST(5, 0, 30, 2));                 // length 0
	EXPECT_OPTIONS(syn, LIST(5, 1, 30, 2), LIST(5, 1, 30, 2));                 // length 1
	EXPECT_OPTIONS(syn, LIST(30, 0, 30, 1), LIST(30, 0, 30, 1));
	EXPECT_OPTIONS(syn, LIST(30, 5, 1, 2), LIST(30, 5, 1, 2)); // beyond the header
	EXPECT_OPTIONS(syn, LIST(1, 1, 1, 30), LIST(1, 1, 1, 30)); // no length at all
	EXPECT_OPTIONS(syn, LIST(30, 4, 1, 2, 30, 9, 1, 1), LIST(NOP4, 30, 9, 1, 1));
	EXPECT_OPTIONS(syn, LIST(4, 6, 30, 4, 1, 1, 1, 1), LIST(4, 6, 30, 4, 1, 1, 1, 1)); // inside
	EXPECT_OPTIONS(syn, LIST(TIMES), LIST(TIMES));
	assert_int_equal(pipe_stats(pipe).mptcp_stripped, 2 * 7);
	pipe_free(pipe);
}

static void a_policy_that_enforces_nothing_changes_nothing(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet urgent = {.seq = 1001,
		.tcp_flags = TH_URG | TH_ACK,
		.urgent = 3,
		.payload = "hello",
		.payload_length = 5};
	uint8_t frame[2048];
	(void)state;

	EXPECT_OPTIONS(syn, LIST(CAPABLE, MSS), LIST(CAPABLE, MSS));
	unsigned length = pipe_build(&urgent, frame, sizeof(frame));

	assert_int_equal(pipe_run(pipe, 0, &urgent), 1);
	assert_int_equal(last(pipe)->length, length);
	assert_memory_equal(last(pipe)->frame, frame, length);
	assert_int_equal(pipe_stats(pipe).mptcp_stripped, 0);
	assert_int_equal(pipe_stats(pipe).urg_cleared, 0);
	pipe_free(pipe);
}

static void urg_is_cleared_with_its_pointer(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	(void)state;

	enforce(pipe);
	for (unsigned i = 0; i < 2 * 7; i++) {
		struct pipe_packet urgent = {.v6 = i & 1,
			.segments = 1 + i / 2 * 11,
			.seq = 1001 + i,
			.ack = 1,
			.tcp_flags = TH_URG | TH_ACK | 0xc0, // and what a host may set beside it
			.urgent = (uint16_t)(1 + i * 1000),
			.payload = "h",
			.payload_length = 1};

		assert_int_equal(pipe_run(pipe, 0, &urgent), 1);
		const uint8_t *tcp = tcp_of(last(pipe));

		assert_int_equal(tcp[13], TH_ACK | 0xc0);
		assert_int_equal(tcp[18] | tcp[19], 0);
		assert_int_equal(tcp[20], 'h');
		expect_good_checksum(last(pipe));
		pipe->n_sent = 0;
	}
	assert_int_equal(pipe_stats(pipe).urg_cleared, 14);
	// a pointer without the flag says nothing to anybody
	struct pipe_packet pointer = {.seq = 1020, .ack = 1, .urgent = 7};

	assert_int_equal(pipe_run(pipe, 0, &pointer), 1);
	assert_int_equal(tcp_of(last(pipe))[19], 7);
	pipe_free(pipe);
}

// Bytes that somebody else sees, too, stay what they are.
static void shared_packets_are_copied(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	static const uint8_t options[] = {CAPABLE};
	struct pipe_packet packet = syn;
	uint8_t frame[2048];
	(void)state;

	enforce(pipe);
	packet.options = options;
	packet.options_length = sizeof(options);
	uint16_t length = (uint16_t)pipe_build(&packet, frame, sizeof(frame));
	struct rte_mbuf *m = rte_pktmbuf_alloc(pipe->pool);

	memcpy(rte_pktmbuf_append(m, length), frame, length);
	struct rte_mbuf *clone = rte_pktmbuf_clone(m, pipe->pool);

	for (unsigned i = 0; i < 2; i++) { // what is shared with a clone; the clone
		struct rte_mbuf *run = i ? clone : m;

		if (!i)
			rte_mbuf_refcnt_update(m, 1); // ours
		pipeline_receive(
			pipe->dp.lcores[0], run, PIPE_INSIDE, LINK_ETHERNET, pipe->now_ns, 0);
		pipeline_run(pipe->dp.lcores[0], &run, 1, pipe->now_ns);
		pipe_turns(pipe);
		assert_int_equal(pipe->n_sent, i + 1);
		assert_int_equal(tcp_of(last(pipe))[20], 1);
		expect_good_checksum(last(pipe));
		assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), frame, length);
	}
	rte_pktmbuf_free(m);
	pipe_free(pipe);
}

// A connection that passes for good is not touched, but a SYN on its tuple may begin another.
static void final_flows_are_left_alone_but_for_syns(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	static const uint8_t options[] = {CAPABLE};
	struct pipe_packet open = {.seq = 1000, .tcp_flags = TH_SYN};
	struct pipe_packet answer = {
		.from_outside = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK};
	(void)state;

	enforce(pipe);
	pipe_run(pipe, 0, &open);
	pipe_run(pipe, 0, &answer);
	static const uint8_t bytes[64];

	for (unsigned i = 0; i < 12; i++) { // beyond the budget
		struct pipe_packet segment = {.seq = 1001 + 64 * i,
			.ack = 5001,
			.payload = bytes,
			.payload_length = sizeof(bytes)};
		struct pipe_packet ack = {
			.from_outside = true, .seq = 5001, .ack = 1001 + 64 * (i + 1)};

		pipe_run(pipe, 0, &segment);
		pipe_run(pipe, 0, &ack);
	}
	struct pipe_packet urgent = {.seq = 1001 + 12 * 64,
		.ack = 5001,
		.urgent = 1,
		.tcp_flags = TH_URG | TH_ACK,
		.payload = "x",
		.payload_length = 1};

	assert_int_equal(pipe_run(pipe, 0, &urgent), 1);
	assert_int_equal(tcp_of(last(pipe))[13], TH_URG | TH_ACK);
	open.seq = 0x50000000;
	open.options = options;
	open.options_length = sizeof(options);
	assert_int_equal(pipe_run(pipe, 0, &open), 1);
	assert_int_equal(tcp_of(last(pipe))[20], 1);
	pipe_free(pipe);
}

// What the operator lets pass leaves as it came, from then on.
static void what_the_operator_allowed_is_left_alone(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	static const uint8_t options[] = {CAPABLE};
	struct pipe_packet open = {.seq = 1000, .tcp_flags = TH_SYN};
	struct pipe_packet urgent = {.seq = 1001,
		.ack = 1,
		.urgent = 1,
		.tcp_flags = TH_URG | TH_ACK,
		.options = options,
		.options_length = sizeof(options),
		.payload = "x",
		.payload_length = 1};
	(void)state;

	enforce(pipe);
	pipe_run(pipe, 0, &open);
	assert_int_equal(pipe_run(pipe, 0, &urgent), 1);
	assert_int_equal(tcp_of(last(pipe))[13], TH_ACK);
	assert_int_equal(tcp_of(last(pipe))[20], 1);
	assert_true(operator_allow(pipe->dp.lcores[0], 0, 0));
	urgent.seq = 1002;
	assert_int_equal(pipe_run(pipe, 0, &urgent), 1);
	assert_int_equal(tcp_of(last(pipe))[13], TH_URG | TH_ACK);
	assert_int_equal(tcp_of(last(pipe))[20], 30);
	pipe_free(pipe);
}

static bool flow_event(struct pipe *pipe, struct event *event)
{
	pipe_advance(pipe, 8000);
	return pipe_event(pipe, 0, EVENT_FLOW, event);
}

static void mptcp_passes_where_the_policy_says_so_and_its_event_says_that_too(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	static const uint8_t capable[] = {CAPABLE}, dss[] = {30, 8, 0x20, 1, 0, 0, 0, 1};
	struct pipe_packet segment = {.seq = 1001,
		.ack = 1,
		.payload = "x",
		.payload_length = 1,
		.options = dss,
		.options_length = sizeof(dss)};
	struct event event;
	(void)state;

	enforce(pipe)->tcp.mptcp = TCP_MPTCP_PASS;
	struct pipe_packet open = {.seq = 1000,
		.tcp_flags = TH_SYN,
		.options = capable,
		.options_length = sizeof(capable)};

	assert_int_equal(pipe_run(pipe, 0, &open), 1);
	assert_memory_equal(tcp_of(last(pipe)) + 20, capable, sizeof(capable));
	assert_int_equal(pipe_stats(pipe).flows_mptcp, 0); // offered, not agreed upon
	for (unsigned i = 0; i < 3; i++, segment.seq++) {
		assert_int_equal(pipe_run(pipe, 0, &segment), 1);
		assert_memory_equal(tcp_of(last(pipe)) + 20, dss, sizeof(dss));
	}
	assert_int_equal(pipe_stats(pipe).flows_mptcp, 1);
	assert_int_equal(pipe_stats(pipe).mptcp_stripped, 0);
	assert_true(flow_event(pipe, &event));
	assert_int_equal(event.flow.stream.passed, 1 << STREAM_TARGET_MPTCP);
	pipe_free(pipe);
}

static const char handshake[] = "\x13"
				"BitTorrent protocol"
				"\0\0\0\0\0\x10\0\x05"
				"AAAAAAAAAAAAAAAAAAAA-qB4520-BBBBBBBBBBBB";
static const struct pipe_packet middle = {
	.seq = 70001, .ack = 1, .payload = handshake, .payload_length = 68};

static void midstream_is_inspected_by_default(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct event event;
	(void)state;

	enforce(pipe);
	pipe_advance(pipe, 1000);
	assert_int_equal(pipe_stats(pipe).flows_midstream, 0);
	struct pipe_packet plain = {.seq = 1, .ack = 1, .payload = "hello", .payload_length = 5};

	assert_int_equal(pipe_run(pipe, 0, &plain), 1);
	assert_int_equal(pipe_stats(pipe).flows_midstream, 1);
	assert_int_equal(pipe_stats(pipe).classify_pkts, 1);
	assert_true(flow_event(pipe, &event));
	assert_true(event.flow.midstream);
	assert_int_equal(event.flow.stream.passed, 0);
	pipe_free(pipe);
}

static void midstream_that_passes_is_not_looked_at(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct event event;
	(void)state;

	enforce(pipe)->tcp.midstream = TCP_MIDSTREAM_PASS;
	assert_int_equal(pipe_run(pipe, 0, &middle), 1);
	struct stats stats = pipe_stats(pipe);

	assert_int_equal(stats.flows_midstream_passed, 1);
	assert_int_equal(stats.classify_pkts, 0);
	assert_int_equal(stats.flows_condemned, 0);
	assert_true(flow_event(pipe, &event));
	assert_int_equal(event.flow.stream.passed, 1 << STREAM_TARGET_MIDSTREAM);
	// with its SYN it is not midstream
	struct pipe_packet open = {.sport = 7, .seq = 1000, .tcp_flags = TH_SYN};
	struct pipe_packet first = middle;

	pipe_run(pipe, 0, &open);
	first.sport = 7;
	first.seq = 1001;
	pipe_run(pipe, 0, &first);
	assert_int_equal(pipe_stats(pipe).flows_condemned, 1);
	pipe_free(pipe);
}

// Address rules hold all the same.
static void midstream_that_passes_is_still_decided(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	(void)state;

	pipe_rule_app(policy, 7, ACTION_PASS, "bittorrent");
	pipe_rule(policy, 8, ACTION_DROP);
	policy->tcp.midstream = TCP_MIDSTREAM_PASS;
	pipe_publish(pipe, policy);
	assert_int_equal(pipe_run(pipe, 0, &middle), 0);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_RULE], 1);
	pipe_free(pipe);
}

static void midstream_is_dropped_but_for_the_first_minute(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet early = {.sport = 1, .seq = 9, .ack = 1},
			   open = {.sport = 2, .seq = 1000};
	struct pipe_packet late = {.sport = 3, .seq = 9, .ack = 1};
	struct event event;
	(void)state;

	enforce(pipe)->tcp.midstream = TCP_MIDSTREAM_DROP;
	early.payload = late.payload = "x";
	early.payload_length = late.payload_length = 1;
	assert_int_equal(pipe_run(pipe, 0, &early), 1); // lived before the gateway did
	const struct pipe_packet answer = {.sport = 1,
		.from_outside = true,
		.seq = 1,
		.ack = 10,
		.payload = "y",
		.payload_length = 1};
	const struct pipe_packet thanks = {.sport = 1, .seq = 10, .ack = 2};

	// both ends take part: it is no forged segment, and lives as long as any connection
	assert_int_equal(pipe_run(pipe, 0, &answer), 1);
	assert_int_equal(pipe_run(pipe, 0, &thanks), 1);
	pipe_advance(pipe, 59);
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_MIDSTREAM], 0);
	pipe_advance(pipe, 1.5);
	for (unsigned v6 = 0; v6 < 2; v6++) {
		static const uint8_t flags[] = {
			TH_ACK, TH_ACK | TH_FIN, TH_RST, 0, TH_ACK | TH_PUSH};

		for (unsigned i = 0; i < sizeof(flags); i++) {
			late.v6 = v6;
			late.tcp_flags = flags[i];
			late.from_outside = i & 1;
			assert_int_equal(pipe_run(pipe, 0, &late), 0);
		}
	}
	assert_int_equal(pipe_stats(pipe).dropped_pkts[DROP_MIDSTREAM], 10);
	assert_int_equal(pipe_stats(pipe).embryos_active, 0);
	assert_true(pipe_event(pipe, 0, EVENT_DROP, &event));
	assert_int_equal(event.reason, DROP_MIDSTREAM);
	early.seq = 10;
	assert_int_equal(pipe_run(pipe, 0, &early), 1); // it has its entry
	open.tcp_flags = TH_SYN;
	assert_int_equal(pipe_run(pipe, 0, &open), 1);
	open = (struct pipe_packet){
		.sport = 2, .seq = 1001, .ack = 5, .payload = "x", .payload_length = 1};
	assert_int_equal(pipe_run(pipe, 0, &open), 1);
	struct pipe_packet datagram = {
		.proto = IPPROTO_UDP, .sport = 3, .payload = "x", .payload_length = 1};

	assert_int_equal(pipe_run(pipe, 0, &datagram), 1); // only TCP has SYNs
	pipe_free(pipe);
}

// Its packets were forwarded unseen meanwhile, SYNs among them.
static void what_began_during_a_stall_is_not_dropped(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct pipe_packet late = {.seq = 9, .ack = 1, .payload = "x", .payload_length = 1};
	(void)state;

	enforce(pipe)->tcp.midstream = TCP_MIDSTREAM_DROP;
	pipe_advance(pipe, 1);
	pipe_advance(pipe, 1000);
	atomic_store(&pipe->dp.lcores[0]->unseen_until_ns, pipe->now_ns);
	pipe_advance(pipe, 10);
	assert_int_equal(pipe_run(pipe, 0, &late), 1);
	pipe_free(pipe);
}

static void midstream_is_nothing_to_a_policy_that_enforces_nothing(void **state)
{
	struct pipe *pipe = pipe_new(1, NULL);
	struct policy *policy = pipe_policy(pipe);
	(void)state;

	policy->tcp.midstream = TCP_MIDSTREAM_DROP;
	pipe_publish(pipe, policy);
	pipe_advance(pipe, 1);
	pipe_advance(pipe, 1000);
	assert_int_equal(pipe_run(pipe, 0, &middle), 1);
	assert_int_equal(pipe_stats(pipe).classify_pkts, 1);
	pipe_free(pipe);
}

static void a_header_without_anything_is_not_changed(void **state)
{
	uint8_t header[TCP_HEADER_MAX] = {[12] = 5 << 4, [13] = TH_ACK, [16] = 0x12}, before[60];
	(void)state;

	memcpy(before, header, sizeof(header));
	struct tcp_normal found = tcp_normal_find(header, 20);

	assert_false(found.mptcp || found.urg);
	tcp_normal_apply(header, 20, found);
	assert_memory_equal(header, before, sizeof(header));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mptcp_is_stripped_wherever_it_stands),
		cmocka_unit_test(mptcp_is_stripped_from_every_segment),
		cmocka_unit_test(options_that_no_host_reads_stay),
		cmocka_unit_test(a_policy_that_enforces_nothing_changes_nothing),
		cmocka_unit_test(urg_is_cleared_with_its_pointer),
		cmocka_unit_test(shared_packets_are_copied),
		cmocka_unit_test(final_flows_are_left_alone_but_for_syns),
		cmocka_unit_test(what_the_operator_allowed_is_left_alone),
		cmocka_unit_test(mptcp_passes_where_the_policy_says_so_and_its_event_says_that_too),
		cmocka_unit_test(midstream_is_inspected_by_default),
		cmocka_unit_test(midstream_that_passes_is_not_looked_at),
		cmocka_unit_test(midstream_that_passes_is_still_decided),
		cmocka_unit_test(midstream_is_dropped_but_for_the_first_minute),
		cmocka_unit_test(what_began_during_a_stall_is_not_dropped),
		cmocka_unit_test(midstream_is_nothing_to_a_policy_that_enforces_nothing),
		cmocka_unit_test(a_header_without_anything_is_not_changed),
	};

	return cmocka_run_group_tests_name("normalize", tests, NULL, NULL);
}
