// SPDX-License-Identifier: BSD-3-Clause
// Scenario (d): flows from their first payload on, as long as classification lasts.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "pipeline/flow/table.h"
#include "scenario_work.h"

// The table holds `flows` decided ones; 4,096 new ones at a time send random payload both ways
// until the budget of classification is spent.
static void setup_giveup(struct rig *rig, uint32_t flows, uint16_t length, uint8_t l4_proto)
{
	scenario_begin(rig, flows, length, l4_proto);
	at.dport = 47000;
	for (uint32_t i = 0; i + ROUND_PKTS < flows; i++)
		scenario_decide_udp(rig, i);
	scenario_wire(rig, ROUND_PKTS, length);
	at.before = rig->lcore->stats;
}

void setup_giveup_tcp(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_giveup(rig, flows, length, IPPROTO_TCP);
}

void setup_giveup_udp(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_giveup(rig, flows, length, IPPROTO_UDP);
}

struct rig_packet scenario_start(uint32_t i)
{
	return (struct rig_packet){
		.flow = at.flows + i,
		.l4_proto = at.l4_proto,
		.sport = 30000,
		.dport = at.dport,
	};
}

void before_giveup(struct rig *rig, unsigned round)
{
	(void)round;
	if (at.l4_proto != IPPROTO_TCP)
		return;
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = scenario_start(i);

		packet.seq = 1000;
		packet.tcp_flags = TH_SYN;
		scenario_send(rig, &packet);
		packet.from_responder = true;
		packet.seq = 5000;
		packet.ack = 1001;
		packet.tcp_flags = TH_SYN | TH_ACK;
		scenario_send(rig, &packet);
	}
}

void scenario_direction(struct rig *rig, bool back)
{
	rig->wire.cursor = 0;
	rig->wire.port = back ? RIG_OUTSIDE : RIG_INSIDE;
}

void lay_out_giveup(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	bool back = step & 1;
	uint32_t payload = at.length - (at.l4_proto == IPPROTO_TCP ? 54u : 42u);

	scenario_direction(rig, back);
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = scenario_start(i);

		packet.from_responder = back;
		packet.seq = (back ? 5001u : 1001u) + step / 2 * payload;
		packet.ack = (back ? 1001u : 5001u) + (step + 1) / 2 * payload;
		packet.tcp_flags = TH_PUSH | TH_ACK;
		packet.length = at.length;
		packet.tail = rig_tail_of(i);
		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
}

void after_giveup(struct rig *rig, unsigned round)
{
	(void)round;
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = scenario_start(i);
		struct rig_head head;
		struct pkt pkt = {.link = LINK_ETHERNET, .flags = PKT_FROM_INSIDE};
		union flow_key key;

		packet.length = RIG_FRAME_MIN;
		rig_build(rig, &packet, &head, NULL);
		parse_packet(&pkt, head.bytes, RIG_FRAME_MIN, RIG_FRAME_MIN);
		parse_flow_key(&pkt, head.bytes, &key);
		parse_key_zones(&pkt, &key);
		uint32_t ref = flow_find(rig->lcore->flows, &key, false);

		if (ref == FLOW_REF_NONE)
			rig_die("flow %u is not in the table", packet.flow);
		flow_end_entry(rig->lcore, ref, FLOW_STEP_SHUTDOWN);
	}
	rig_drain_events(rig);
}

void check_giveup(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;
	uint64_t flows = pkts / GIVE_UP_PKTS;
	uint64_t given_up = stats->classify_giveup - at.before.classify_giveup;

	// with both prefixes full a flow gives up before its tenth packet
	if (stats->classify_done != at.before.classify_done || given_up * 100 < flows * 99)
		rig_die("%llu of %llu flows gave up: the payload is not unclassifiable",
			(unsigned long long)given_up, (unsigned long long)flows);
}

void setup_quic(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_giveup(rig, flows, length, IPPROTO_UDP);
	at.dport = 443;
}

// What a flow's datagrams begin with; the rest is random.
static void lay_out_datagrams(struct rig *rig, unsigned step,
	void (*begin)(uint8_t *to, uint32_t flow, unsigned step), uint16_t bytes)
{
	scenario_direction(rig, step & 1);
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		struct rig_packet packet = scenario_start(i);
		uint8_t start[RIG_HEAD - 42];

		begin(start, packet.flow, step);
		packet.from_responder = step & 1;
		packet.length = at.length;
		packet.payload = start;
		packet.payload_length = bytes;
		packet.tail = rig_tail_of(i);
		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
}

static void put32(uint8_t *to, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		to[i] = (uint8_t)(value >> (24 - 8 * i));
}

// RFC 3550 5.1, 20 ms of sound a packet: each end has its own source, numbers and time.
static void begin_rtp(uint8_t *to, uint32_t flow, unsigned step)
{
	uint32_t source = (flow * 2 + (step & 1)) * 2654435761u, n = step / 2;

	put32(to, 0x80600000u | ((source + n) & 0xffff));
	put32(to + 4, source * 3 + n * 960);
	put32(to + 8, source);
}

void lay_out_rtp(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	lay_out_datagrams(rig, step, begin_rtp, 12);
}

// RFC 9000 17.3: a short header, whose protected bits vary, and the receiver's connection id.
static void begin_quic(uint8_t *to, uint32_t flow, unsigned step)
{
	uint32_t id = (flow * 2 + (step & 1)) * 2654435761u;

	to[0] = (uint8_t)(0x40 | ((flow + step) * 11 & 0x3f));
	put32(to + 1, id);
	put32(to + 5, id * 7);
}

void lay_out_quic(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	lay_out_datagrams(rig, step, begin_quic, 9);
}

void check_starts(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;
	uint64_t over = stats->classify_giveup - at.before.classify_giveup + stats->classify_done -
			at.before.classify_done;

	if (stats->sent_pkts - at.before.sent_pkts != pkts || over != pkts / GIVE_UP_PKTS)
		rig_die("%llu packets of %llu left, %llu of their flows were classified",
			(unsigned long long)(stats->sent_pkts - at.before.sent_pkts),
			(unsigned long long)pkts, (unsigned long long)over);
}
