// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include "pipeline/flow/table.h"
#include "scenario_work.h"
#include "pipeline/cache/conn_cache.h"

#define NTP_PORT 123

struct scenario_state at;

static const char ssh_banner[] = SCENARIO_BANNER;
// A client's request (RFC 5905), of 48 octets; what answers it has another mode.
static const uint8_t ntp_request[48] = {0x23, 0, 6, 0xec};
static const uint8_t dns_query[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\3com\0\0\1\0\1";

void scenario_wire(struct rig *rig, uint32_t n, uint16_t length)
{
	struct rig_wire *wire = &rig->wire;

	free(wire->heads);
	*wire = (struct rig_wire){.n_heads = n, .length = length};
	wire->heads = aligned_alloc(64, sizeof(struct rig_head) * n);
	if (!wire->heads)
		rig_die("no memory for %u frames", n);
}

void scenario_send(struct rig *rig, const struct rig_packet *packet)
{
	uint8_t frame[2048];
	uint16_t header = packet->l4_proto == IPPROTO_TCP ? 54 : 42;

	rig_build(rig, packet, NULL, frame);
	rig_send(rig, packet->from_responder ? RIG_OUTSIDE : RIG_INSIDE, frame,
		(uint16_t)(header + packet->payload_length));
}

// What the SSH server says first decides its flow for good.
void scenario_decide_tcp(struct rig *rig, uint32_t flow)
{
	struct rig_packet packet = {
		.flow = flow, .l4_proto = IPPROTO_TCP, .seq = 1000, .tcp_flags = TH_SYN};

	scenario_send(rig, &packet);
	packet = (struct rig_packet){
		.flow = flow,
		.l4_proto = IPPROTO_TCP,
		.from_responder = true,
		.seq = 5000,
		.ack = 1001,
		.tcp_flags = TH_SYN | TH_ACK,
	};
	scenario_send(rig, &packet);
	packet.seq = 5001;
	packet.tcp_flags = TH_PUSH | TH_ACK;
	packet.payload = ssh_banner;
	packet.payload_length = sizeof(ssh_banner) - 1;
	scenario_send(rig, &packet);
	// and the client's first segment has passed, too
	packet.from_responder = false;
	packet.seq = 1001;
	packet.ack = SCENARIO_S2C_SEQ;
	scenario_send(rig, &packet);
}

// The query decides the flow; until it is answered, provisionally.
static void decide_udp_one_way(struct rig *rig, uint32_t flow)
{
	const struct rig_packet packet = {
		.flow = flow,
		.l4_proto = IPPROTO_UDP,
		.dport = 53,
		.payload = dns_query,
		.payload_length = sizeof(dns_query) - 1,
	};

	scenario_send(rig, &packet);
}

// An application that no decoder follows: its flow is final with the answer.
void scenario_decide_udp(struct rig *rig, uint32_t flow)
{
	uint8_t answer[sizeof(ntp_request)];
	struct rig_packet packet = {
		.flow = flow,
		.l4_proto = IPPROTO_UDP,
		.dport = NTP_PORT,
		.payload = ntp_request,
		.payload_length = sizeof(ntp_request),
	};

	scenario_send(rig, &packet);
	memcpy(answer, ntp_request, sizeof(answer));
	answer[0] = 0x24;
	answer[1] = 2;
	packet.payload = answer;
	packet.from_responder = true;
	scenario_send(rig, &packet);
}

// The n'th flow in an order that no cache foresees: a walk over a power of two.
uint32_t scenario_scattered(uint32_t i, uint32_t n)
{
	return (i * 2654435761u) & (n - 1);
}

void scenario_begin(struct rig *rig, uint32_t flows, uint16_t length, uint8_t l4_proto)
{
	at.flows = at.next_flow = flows;
	at.length = length;
	at.l4_proto = l4_proto;
	rig_drain_events(rig);
}

static void open_talk(struct rig *rig, const struct scenario_talk *talk, uint32_t flow)
{
	const struct rig_packet steps[] = {
		{.seq = 1000, .tcp_flags = TH_SYN},
		{.from_responder = true, .seq = 5000, .ack = 1001, .tcp_flags = TH_SYN | TH_ACK},
		{.seq = 1001,
			.ack = 5001,
			.tcp_flags = TH_PUSH | TH_ACK,
			.payload = talk->asks,
			.payload_length = talk->asks_length},
		{.from_responder = true,
			.seq = 5001,
			.ack = 1001u + talk->asks_length,
			.tcp_flags = TH_PUSH | TH_ACK,
			.payload = talk->answers,
			.payload_length = talk->answers_length},
	};

	for (unsigned i = 0; i < RTE_DIM(steps); i++) {
		struct rig_packet packet = steps[i];

		packet.flow = flow;
		packet.l4_proto = IPPROTO_TCP;
		packet.dport = talk->dport;
		scenario_send(rig, &packet);
	}
}

void scenario_open_talks(struct rig *rig, uint32_t flows, uint16_t length,
	const struct scenario_talk *talk, uint32_t n)
{
	scenario_begin(rig, flows, length, IPPROTO_TCP);
	at.sent = at.next_sent = 0;
	for (uint32_t i = 0; i < n; i++) {
		open_talk(rig, talk, i);
		scenario_drain_records(rig);
	}
	scenario_wire(rig, ROUND_PKTS, length);
	at.before = rig->lcore->stats;
}

static void setup_decided(struct rig *rig, uint32_t flows, uint16_t length, uint8_t l4_proto,
	uint16_t dport, void (*decide)(struct rig *rig, uint32_t flow))
{
	scenario_begin(rig, flows, length, l4_proto);
	for (uint32_t i = 0; i < flows; i++)
		decide(rig, i);
	scenario_wire(rig, flows, length);
	for (uint32_t i = 0; i < flows; i++) {
		const struct rig_packet packet = {
			.flow = scenario_scattered(i, flows),
			.l4_proto = l4_proto,
			.dport = dport,
			.seq = (uint32_t)SCENARIO_C2S_SEQ,
			.ack = SCENARIO_S2C_SEQ,
			.length = length,
			.tail = rig_tail_of(i),
		};

		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
	if (l4_proto == IPPROTO_TCP)
		rig->wire.advance = length - 54u;
	at.before = rig->lcore->stats;
}

static void setup_decided_tcp(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_decided(rig, flows, length, IPPROTO_TCP, 0, scenario_decide_tcp);
}

static void setup_decided_udp(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_decided(rig, flows, length, IPPROTO_UDP, NTP_PORT, scenario_decide_udp);
}

// Nobody answers: some datagrams are classified again (inspect_again.h).
static void setup_one_way_udp(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_decided(rig, flows, length, IPPROTO_UDP, 53, decide_udp_one_way);
}

static void check_decided(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->classify_pkts != at.before.classify_pkts ||
		stats->decisions != at.before.decisions ||
		stats->flows_embryonic != at.before.flows_embryonic ||
		stats->sent_pkts != at.before.sent_pkts + pkts)
		rig_die("the flows were not decided for good: of %llu packets %llu were sent, %llu "
			"classified, %llu decided on, %llu made entries; %llu flows were made, "
			"%llu "
			"evicted",
			(unsigned long long)pkts,
			(unsigned long long)(stats->sent_pkts - at.before.sent_pkts),
			(unsigned long long)(stats->classify_pkts - at.before.classify_pkts),
			(unsigned long long)(stats->decisions - at.before.decisions),
			(unsigned long long)(stats->flows_embryonic - at.before.flows_embryonic),
			(unsigned long long)stats->flows_created,
			(unsigned long long)stats->flows_evicted);
}

static void setup_new_syn(struct rig *rig, uint32_t flows, uint16_t length)
{
	scenario_begin(rig, flows, length, IPPROTO_TCP);
	scenario_wire(rig, ROUND_PKTS, length);
	at.next_flow = 0;
	at.before = rig->lcore->stats;
}

static void setup_new_udp(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup_new_syn(rig, flows, length);
	at.l4_proto = IPPROTO_UDP;
}

static void lay_out_new(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	(void)step;
	if (at.next_flow + ROUND_PKTS > at.flows) { // full: all of them end, untimed
		flow_end_all(rig->lcore, FLOW_STEP_SHUTDOWN);
		at.next_flow = 0;
	}
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		const struct rig_packet packet = {
			.flow = at.next_flow++,
			.l4_proto = at.l4_proto,
			.dport = at.l4_proto == IPPROTO_TCP ? 0 : 4000,
			.seq = 1000,
			.tcp_flags = TH_SYN,
			.length = at.length,
			.tail = rig_tail_of(i),
		};

		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
	rig_drain_events(rig);
}

static void check_new(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->flows_embryonic != at.before.flows_embryonic + pkts || stats->flows_evicted)
		rig_die("the packets did not make one new entry each");
}

// The cache knows every initiator and responder of the tuples.
static void setup_cache(struct rig *rig, uint32_t flows, uint16_t length)
{
	scenario_begin(rig, flows, length, length == RIG_FRAME_MIN ? IPPROTO_TCP : IPPROTO_UDP);
	scenario_wire(rig, flows, length);
	// what the data path reads once a loop
	rig->lcore->policy = rig->policy;
	rig->lcore->now_ns = rig->now_ns;
	for (uint32_t i = 0; i < flows; i++) {
		struct conn_entry entry = {
			.key =
				{
					.port = at.l4_proto == IPPROTO_TCP ? 22 : 4000,
					.l4_proto = at.l4_proto,
					.from_inside = true,
					.mode = CACHE_TUPLE,
				},
			.created_ns = rig->now_ns,
		};
		const struct rig_packet packet = {
			// the source port is no part of the key: a peer for each
			.flow = scenario_scattered(i, flows),
			.l4_proto = at.l4_proto,
			.dport = entry.key.port,
			.seq = 1000,
			.tcp_flags = TH_SYN,
			.length = length,
			.tail = rig_tail_of(i),
		};
		uint8_t *ip = rig->wire.heads[i].bytes + 14;

		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
		memset(entry.key.initiator + 10, 0xff, 2);
		memset(entry.key.responder + 10, 0xff, 2);
		memcpy(entry.key.initiator + 12, ip + 12, 4);
		memcpy(entry.key.responder + 12, ip + 16, 4);
		conn_cache_learn(rig->lcore, &entry, false);
	}
	rig_drain_events(rig);
	at.before = rig->lcore->stats;
}

static void check_cache(struct rig *rig, uint64_t pkts)
{
	if (rig->lcore->stats.cache_hits != at.before.cache_hits + pkts)
		rig_die("not every packet was a hit of the connection cache");
}

const struct scenario scenarios[] = {
	{.name = "decided-udp",
		.what = "datagrams of flows that are decided for good",
		.letter = 'a',
		.way = WAY_FINAL,
		.setup = setup_decided_udp,
		.check = check_decided},
	{.name = "one-way-udp",
		.what = "datagrams of flows of DNS that nobody answers",
		.letter = 'a',
		.setup = setup_one_way_udp,
		.check = check_decided},
	{.name = "followed-dns",
		.what = "a query of a flow of DNS, and its answer, of which a name is learned",
		.letter = 'a',
		.by_flow = true,
		.length = DNS_FRAME,
		.steps = 2,
		.way = WAY_FOLLOWED,
		.setup = setup_dns,
		.lay_out = lay_out_dns,
		.check = check_dns},
	{.name = "followed-dht",
		.what = "a query of a node of the DHT, and its answer",
		.letter = 'a',
		.by_flow = true,
		.length = DHT_FRAME,
		.steps = 2,
		.way = WAY_FOLLOWED,
		.setup = setup_dht,
		.lay_out = lay_out_dht,
		.check = check_followed},
	{.name = "decided-tcp",
		.what = "segments of flows that are decided for good",
		.letter = 'a',
		.way = WAY_FINAL,
		.setup = setup_decided_tcp,
		.check = check_decided},
	{.name = "new-syn",
		.what = "SYN of a new connection",
		.letter = 'b',
		.length = RIG_FRAME_MIN,
		.setup = setup_new_syn,
		.lay_out = lay_out_new,
		.check = check_new},
	{.name = "new-udp",
		.what = "first datagram of a flow, random payload, with its scan",
		.letter = 'b',
		.hyperscan = true,
		.setup = setup_new_udp,
		.lay_out = lay_out_new,
		.check = check_new},
	{.name = "cache-hit",
		.what = "a blocked peer comes back (SYN at 64 B, datagram at 1,250 B)",
		.letter = 'c',
		.way = WAY_REFUSED,
		.setup = setup_cache,
		.check = check_cache},
	{.name = "unclassifiable-tcp",
		.what = "ten segments of random payload, both ways, until classification gives up",
		.letter = 'd',
		.by_flow = true,
		.hyperscan = true,
		.steps = GIVE_UP_PKTS,
		.way = WAY_CLASSIFIED,
		.setup = setup_giveup_tcp,
		.before = before_giveup,
		.lay_out = lay_out_giveup,
		.after = after_giveup,
		.check = check_giveup},
	{.name = "unclassifiable-udp",
		.what = "the same with ten datagrams",
		.letter = 'd',
		.by_flow = true,
		.hyperscan = true,
		.steps = GIVE_UP_PKTS,
		.way = WAY_CLASSIFIED,
		.setup = setup_giveup_udp,
		.before = before_giveup,
		.lay_out = lay_out_giveup,
		.after = after_giveup,
		.check = check_giveup},
	{.name = "rtp-like",
		.what = "ten datagrams as RTP has them, both ways, of calls that nobody announced",
		.letter = 'd',
		.by_flow = true,
		.hyperscan = true,
		.length = 42 + 12 + 160,
		.steps = GIVE_UP_PKTS,
		.way = WAY_CLASSIFIED,
		.setup = setup_giveup_udp,
		.lay_out = lay_out_rtp,
		.after = after_giveup,
		.check = check_starts},
	{.name = "quic-like",
		.what = "ten datagrams as QUIC has them behind its handshake, which was not seen",
		.letter = 'd',
		.by_flow = true,
		.hyperscan = true,
		.length = 1246,
		.steps = GIVE_UP_PKTS,
		.way = WAY_CLASSIFIED,
		.setup = setup_quic,
		.lay_out = lay_out_quic,
		.after = after_giveup,
		.check = check_starts},
	{.name = "tcp-64",
		.what = "connections whose ends begin with 64 random octets, ten segments",
		.letter = 'd',
		.by_flow = true,
		.hyperscan = true,
		.length = 54 + 64,
		.steps = GIVE_UP_PKTS,
		.way = WAY_CLASSIFIED,
		.setup = setup_giveup_tcp,
		.before = before_giveup,
		.lay_out = lay_out_giveup,
		.after = after_giveup,
		.check = check_giveup},
	{.name = "plain-in-order",
		.what = "1,460 bytes of a decided flow, and their acknowledgement",
		.letter = 'e',
		.by_flow = true,
		.length = 1514,
		.steps = 2,
		.way = WAY_FINAL,
		.setup = setup_segments,
		.before = before_in_order,
		.lay_out = lay_out_in_order,
		.check = check_segments},
	{.name = "later-requests",
		.what = "a later request of a kept-alive HTTP connection, and its acknowledgement",
		.letter = 'e',
		.by_flow = true,
		.length = 89,
		.steps = 2,
		.setup = setup_requests,
		.before = before_requests,
		.lay_out = lay_out_requests,
		.check = check_requests},
	{.name = "untracked-in-order",
		.what = "the same of a flow under inspection without reassembly",
		.letter = 'e',
		.by_flow = true,
		.length = 1514,
		.steps = 2,
		.setup = setup_untracked,
		.before = before_in_order,
		.lay_out = lay_out_in_order,
		.check = check_untracked},
	{.name = "tracked-in-order",
		.what = "the same of a flow under inspection",
		.letter = 'e',
		.by_flow = true,
		.length = 1514,
		.steps = 2,
		.setup = setup_tapped,
		.before = before_in_order,
		.lay_out = lay_out_in_order,
		.check = check_tapped},
	{.name = "plain-hole",
		.what = "twice 1,460 bytes of a decided flow, the second first, acknowledged",
		.letter = 'f',
		.by_flow = true,
		.length = 1514,
		.steps = 3,
		.way = WAY_FINAL,
		.setup = setup_segments,
		.before = before_hole,
		.lay_out = lay_out_hole,
		.check = check_segments},
	{.name = "untracked-hole",
		.what = "the same of a flow under inspection without reassembly",
		.letter = 'f',
		.by_flow = true,
		.length = 1514,
		.steps = 3,
		.setup = setup_untracked,
		.before = before_hole,
		.lay_out = lay_out_hole,
		.check = check_untracked},
	{.name = "tracked-hole",
		.what = "the same of a flow under inspection: one copy, one hole filled",
		.letter = 'f',
		.by_flow = true,
		.length = 1514,
		.steps = 3,
		.setup = setup_tapped,
		.before = before_hole,
		.lay_out = lay_out_hole,
		.check = check_tapped},
	{.name = "http-inspected",
		.what = "1,460 bytes of an HTTP download under inspection, and their "
			"acknowledgement",
		.letter = 'g',
		.by_flow = true,
		.length = 1514,
		.steps = 2,
		.setup = setup_inspected,
		.before = before_downloads,
		.lay_out = lay_out_downloads,
		.check = check_inspected},
	{.name = "http-identity",
		.what = "the same, decoded and recorded",
		.letter = 'g',
		.by_flow = true,
		.length = 1514,
		.steps = 2,
		.setup = setup_identity,
		.before = before_downloads,
		.lay_out = lay_out_downloads,
		.check = check_decoded},
	{.name = "chat-inspected",
		.what = "a message of IRC under inspection, and its acknowledgement",
		.letter = 'h',
		.by_flow = true,
		.length = CHAT_FRAME,
		.steps = 2,
		.setup = setup_chat_inspected,
		.before = before_messages,
		.lay_out = lay_out_messages,
		.check = check_inspected},
	{.name = "chat-1-keyword",
		.what = "a message of IRC that is held against one keyword, and its "
			"acknowledgement",
		.letter = 'h',
		.by_flow = true,
		.hyperscan = true,
		.length = CHAT_FRAME,
		.steps = 2,
		.setup = setup_keyword,
		.before = before_messages,
		.lay_out = lay_out_messages,
		.check = check_messages},
	{.name = "chat-10000-keywords",
		.what = "the same message, held against 10,000 keywords",
		.letter = 'h',
		.by_flow = true,
		.hyperscan = true,
		.length = CHAT_FRAME,
		.steps = 2,
		.setup = setup_keywords,
		.before = before_messages,
		.lay_out = lay_out_messages,
		.check = check_messages},
};
const unsigned n_scenarios = RTE_DIM(scenarios);
