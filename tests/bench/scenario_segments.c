// SPDX-License-Identifier: BSD-3-Clause
// Scenarios (e) and (f): segments of 1,460 bytes, as packets of flows that are decided for good, of
// flows under inspection, and of flows under inspection without the tracker.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/flow/table.h"
#include "scenario_work.h"
#include "pipeline/event/stream_tap.h"

// Flows under inspection: a tap keeps them there, the policy has decided, and nobody looks at the
// bytes, so that what is beyond the same packets of decided flows is the tracker's. Each round
// every flow sends what the steps say, and its server acknowledges it.
static void tap_nothing(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span)
{
	(void)ctx;
	(void)lcore;
	(void)ref;
	(void)span;
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

void setup_segments(struct rig *rig, uint32_t flows, uint16_t length)
{
	if (flows != ROUND_PKTS)
		rig_die("a round is one segment of each flow: --flows %u", ROUND_PKTS);
	scenario_begin(rig, flows, length, IPPROTO_TCP);
	for (uint32_t i = 0; i < flows; i++)
		scenario_decide_tcp(rig, i);
	scenario_wire(rig, flows, length);
	at.before = rig->lcore->stats;
	at.sent = at.next_sent = 0;
}

void scenario_tap(struct rig *rig)
{
	static const struct stream_tap tap = {
		.span = tap_nothing, .overlap = tap_overlap, .end = tap_end};

	rig->lcore->tap = &tap;
}

void setup_tapped(struct rig *rig, uint32_t flows, uint16_t length)
{
	scenario_tap(rig);
	setup_segments(rig, flows, length);
}

// What a flow under inspection would cost if its bytes were looked at as they come: the whole walk,
// the checksum over the payload, and the tap, but no tracker.
void setup_untracked(struct rig *rig, uint32_t flows, uint16_t length)
{
	reassembly_off = true;
	setup_tapped(rig, flows, length);
}

// `ahead`: segments before the one that is sent next. The acknowledgement is of all so far.
static void lay_out_segment(struct rig *rig, bool is_ack, uint32_t ahead)
{
	uint32_t payload = at.length - 54u, seq = (uint32_t)SCENARIO_C2S_SEQ;

	rig->wire.cursor = 0;
	rig->wire.advanced = 0;
	rig->wire.port = is_ack ? RIG_OUTSIDE : RIG_INSIDE;
	rig->wire.length = is_ack ? RIG_FRAME_MIN : at.length;
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = {
			.flow = scenario_scattered(i, ROUND_PKTS),
			.l4_proto = IPPROTO_TCP,
			.from_responder = is_ack,
			.seq = is_ack ? SCENARIO_S2C_SEQ : seq + at.sent + ahead * payload,
			.ack = is_ack ? seq + at.next_sent : SCENARIO_S2C_SEQ,
			.length = rig->wire.length,
			.bare = is_ack,
			.tail = rig_tail_of(i),
		};

		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
}

void before_in_order(struct rig *rig, unsigned round)
{
	(void)rig;
	(void)round;
	at.sent = at.next_sent;
	at.next_sent += at.length - 54u;
}

void lay_out_in_order(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	lay_out_segment(rig, step == 1, 0);
}

// The second comes before the first.
void before_hole(struct rig *rig, unsigned round)
{
	(void)rig;
	(void)round;
	at.sent = at.next_sent;
	at.next_sent += 2 * (at.length - 54u);
}

void lay_out_hole(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	lay_out_segment(rig, step == 2, step == 0);
}

void check_segments(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts - at.before.sent_pkts != pkts ||
		stats->tcp_copied_pkts != at.before.tcp_copied_pkts || rig->lcore->tap)
		rig_die("the flows were not decided for good");
}

void check_tapped(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts - at.before.sent_pkts != pkts || stats->tcp_gaps ||
		stats->tcp_conflict_pkts || rig->lcore->tracker->n_free + at.flows != 65536)
		rig_die("the flows were not tracked");
}

void check_untracked(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts - at.before.sent_pkts != pkts ||
		stats->checksum_verified_pkts - at.before.checksum_verified_pkts != pkts ||
		rig->lcore->tracker->n_free != rig->lcore->tracker->limits.tracks)
		rig_die("the flows were not looked at, or tracked");
}

// A kept-alive connection of HTTP under a policy that refuses names: each round every flow asks
// again, and its server acknowledges it.
#define REQUEST       "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"
#define REQUEST_BYTES ((uint32_t)sizeof(REQUEST) - 1)

static struct rig_packet request(uint32_t flow, bool is_ack)
{
	return (struct rig_packet){
		.flow = flow,
		.l4_proto = IPPROTO_TCP,
		.dport = 80,
		.from_responder = is_ack,
		.seq = is_ack ? 5001 : 1001 + at.sent,
		.ack = is_ack ? 1001 + at.next_sent : 5001,
		.tcp_flags = is_ack ? TH_ACK : TH_PUSH | TH_ACK,
		.length = is_ack ? RIG_FRAME_MIN : (uint16_t)(54 + REQUEST_BYTES),
		.payload = is_ack ? NULL : REQUEST,
		.payload_length = is_ack ? 0 : REQUEST_BYTES,
		.bare = is_ack,
	};
}

static void open_http(struct rig *rig, uint32_t flow)
{
	struct rig_packet packet = request(flow, false);
	uint8_t frame[2048];

	for (unsigned step = 0; step < 3; step++) {
		packet.from_responder = step == 1;
		packet.seq = step == 1 ? 5000 : 1000 + step / 2;
		packet.ack = step ? (step == 1 ? 1001 : 5001) : 0;
		packet.tcp_flags = step == 0   ? TH_SYN
				   : step == 1 ? TH_SYN | TH_ACK
					       : TH_PUSH | TH_ACK;
		packet.payload_length = step == 2 ? REQUEST_BYTES : 0;
		packet.length = 0;
		rig_build(rig, &packet, NULL, frame);
		rig_send(rig, step == 1 ? RIG_OUTSIDE : RIG_INSIDE, frame,
			(uint16_t)(54 + packet.payload_length));
	}
}

void setup_requests(struct rig *rig, uint32_t flows, uint16_t length)
{
	if (flows != ROUND_PKTS)
		rig_die("a round is one request of each flow: --flows %u", ROUND_PKTS);
	rig->policy->enforces_app = true;
	// the rest of a request is what frames have in common
	for (uint32_t i = 0; i < RIG_TAILS; i++)
		memcpy(rig->tails[i], &REQUEST[RIG_HEAD - 54], REQUEST_BYTES - (RIG_HEAD - 54));
	scenario_begin(rig, flows, length, IPPROTO_TCP);
	for (uint32_t i = 0; i < flows; i++)
		open_http(rig, i);
	scenario_wire(rig, flows, length);
	at.before = rig->lcore->stats;
	at.sent = at.next_sent = REQUEST_BYTES;
}

void before_requests(struct rig *rig, unsigned round)
{
	(void)rig;
	(void)round;
	at.sent = at.next_sent;
	at.next_sent += REQUEST_BYTES;
}

void lay_out_requests(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	rig->wire.cursor = 0;
	rig->wire.advanced = 0;
	rig->wire.port = step ? RIG_OUTSIDE : RIG_INSIDE;
	rig->wire.length = step ? RIG_FRAME_MIN : (uint16_t)(54 + REQUEST_BYTES);
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = request(scenario_scattered(i, ROUND_PKTS), step);

		packet.tail = rig_tail_of(i);
		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
}

void check_requests(struct rig *rig, uint64_t pkts)
{
	if (rig->lcore->stats.names_requests != at.before.names_requests + pkts / 2)
		rig_die("not every request was looked at");
}
