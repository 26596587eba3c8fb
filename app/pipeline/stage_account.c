// SPDX-License-Identifier: BSD-3-Clause
// Accounting of a packet on its stub or flow: direction, counters, time-out class, TCP edges, and
// the step from stub to flow when the first payload is seen.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "flow_event.h"
#include "seq.h"
#include "walk.h"

// A RST or FIN further than this from the edge is not believed: it may be forged.
#define EDGE_TOLERANCE (1u << 20)

static bool is_tcp(const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK;
}

static bool has_payload(const struct pkt *pkt)
{
	return pkt->flags & PKT_L4_OK && pkt->payload_len &&
	       (pkt->l4_proto == IPPROTO_TCP || pkt->l4_proto == IPPROTO_UDP);
}

static uint32_t sat_add(uint32_t a, uint32_t b)
{
	return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void account_stub(struct lcore *lcore, struct walk *walk)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);
	const struct pkt *pkt = walk->pkt;
	unsigned half = walk->half;

	if (stub->pkts[half] < UINT16_MAX)
		stub->pkts[half]++;
	stub->bytes[half] = sat_add(stub->bytes[half], walk->m->pkt_len);
	if (is_tcp(pkt)) {
		stub->tcp_flags[half] |= pkt->tcp_flags;
		if (pkt->tcp_flags & TH_SYN)
			stub->isn[half] = pkt->tcp_seq;
	}
	flow_touch(lcore->flows, walk->ref, stub->lru_class, lcore->now_ns);
}

// The stub's first payload: a flow takes over its key and what it knows.
static bool promote(struct lcore *lcore, struct walk *walk)
{
	const struct pkt *pkt = walk->pkt;
	struct flow_stub stub = *flow_stub_at(lcore->flows, walk->ref);
	enum flow_class class =
		stub.l4_proto == IPPROTO_TCP ? FLOW_CLASS_TCP : FLOW_CLASS_UDP_ONE_WAY;
	uint32_t ref = flow_add(lcore, walk->key, pkt->hash, walk->v6, walk->ref, class);

	if (ref == FLOW_REF_NONE)
		return false;
	walk->ref = ref;
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	flow->flags |= stub.flags;
	flow->l4_proto = stub.l4_proto;
	flow->in_port = stub.in_port;
	flow->policy_gen = stub.policy_gen;
	flow->n_vlan = pkt->n_vlan;
	memcpy(flow->vlan, pkt->vlan, sizeof(flow->vlan));
	flow_ends_of(walk->key, flow->flags, &cold->ends);
	for (unsigned half = 0; half < 2; half++) {
		flow->pkts[half] = stub.pkts[half];
		flow->bytes[half] = stub.bytes[half];
		flow->tcp_flags[half] = stub.tcp_flags[half];
		cold->half[half].window_scale = stub.window_scale[half];
		if (stub.tcp_flags[half] & TH_SYN && stub.l4_proto == IPPROTO_TCP) {
			stream_syn(&cold->half[half].stream, stub.isn[half]);
			flow->released[half] = stub.isn[half] + 1;
			flow->seen[half] |= SEEN_RELEASED;
		}
	}
	if (stub.l4_proto == IPPROTO_TCP && !((stub.tcp_flags[0] | stub.tcp_flags[1]) & TH_SYN)) {
		flow->flags |= FLOW_MIDSTREAM;
		lcore->stats.flows_midstream++;
	}
	flow->app = expect_take(
		lcore, cold->ends.address[HALF_S2C], cold->ends.port[HALF_S2C], flow->l4_proto);
	if (flow->app) {
		flow->confidence = CONFIDENCE_CACHE;
		flow->decided_pkts = 1;
		lcore->stats.classify_cache++;
	}
	walk->undecided = true;
	return true;
}

// The L2 header of the half's first packet. One that is too long leaves the half without: its
// teardown is by drop.
static void keep_template(
	struct flow *flow, struct flow_half *half, unsigned which, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->outer_l3_off > sizeof(half->l2))
		return;
	const uint8_t *l2 = rte_pktmbuf_read(m, 0, pkt->outer_l3_off, half->l2);

	if (!l2)
		return;
	if (l2 != half->l2)
		memcpy(half->l2, l2, pkt->outer_l3_off);
	flow->seen[which] |= SEEN_TEMPLATE;
	half->l2_length = (uint8_t)pkt->outer_l3_off;
	half->port = pkt->in_port;
	half->ttl = pkt->ttl;
	half->window = pkt->tcp_win;
	half->link = pkt->link;
	half->l2_flags = pkt->flags & (PKT_PPPOE | PKT_TUNNEL);
}

static bool near_edge(const struct flow *flow, unsigned half, uint32_t seq)
{
	return !(flow->seen[half] & SEEN_RELEASED) ||
	       seq - flow->released[half] + EDGE_TOLERANCE <= 2 * EDGE_TOLERANCE;
}

static enum flow_class account_tcp(struct flow *flow, const struct pkt *pkt, unsigned half)
{
	uint8_t flags = pkt->tcp_flags;

	if (flags & (TH_RST | TH_FIN) && !near_edge(flow, half, pkt->tcp_seq))
		flags &= (uint8_t) ~(TH_RST | TH_FIN);
	flow->tcp_flags[half] |= flags;
	if (flags & TH_ACK &&
		(!(flow->seen[!half] & SEEN_ACKED) || seq_lt(flow->acked[!half], pkt->tcp_ack))) {
		flow->acked[!half] = pkt->tcp_ack;
		flow->seen[!half] |= SEEN_ACKED;
		// acknowledged, so it was delivered, whether or not it passed here
		if (flow->seen[!half] & SEEN_RELEASED &&
			seq_lt(flow->released[!half], pkt->tcp_ack))
			flow->released[!half] = pkt->tcp_ack;
	}
	bool closing = (flow->tcp_flags[0] | flow->tcp_flags[1]) & TH_RST ||
		       (flow->tcp_flags[0] & flow->tcp_flags[1] & TH_FIN);

	return closing ? FLOW_CLASS_TCP_CLOSING : FLOW_CLASS_TCP;
}

static void account_flow(struct lcore *lcore, struct walk *walk)
{
	struct flow *flow = flow_at(lcore->flows, walk->ref);
	const struct pkt *pkt = walk->pkt;
	unsigned half = walk->half;
	enum flow_class class = flow->lru_class;

	flow->pkts[half]++;
	flow->bytes[half] += walk->m->pkt_len;
	if (has_payload(pkt) && flow->n_data_pkts < UINT8_MAX)
		flow->n_data_pkts++;
	if (is_tcp(pkt))
		class = account_tcp(flow, pkt, half);
	else if (flow->pkts[HALF_C2S] && flow->pkts[HALF_S2C])
		class = FLOW_CLASS_UDP;
	if (!(flow->seen[half] & SEEN_TEMPLATE))
		keep_template(
			flow, &flow_cold_at(lcore->flows, walk->ref)->half[half], half, walk->m);
	flow_touch(lcore->flows, walk->ref, class, lcore->now_ns);
}

// A client that uses its tuple again: the old connection is over.
static bool is_reuse(const struct flow *flow, const struct pkt *pkt)
{
	return is_tcp(pkt) && flow->lru_class == FLOW_CLASS_TCP_CLOSING &&
	       (pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST)) == TH_SYN;
}

enum verdict stage_account(struct lcore *lcore, struct walk *walk)
{
	if (walk_has_flow(walk) && is_reuse(flow_at(lcore->flows, walk->ref), walk->pkt)) {
		flow_end_entry(lcore, walk->ref, FLOW_END_CLOSED);
		walk->ref = FLOW_REF_NONE;
		enum verdict verdict = stage_admit(lcore, walk);

		if (verdict != VERDICT_PASS)
			return verdict;
	}
	uint16_t flags = walk_has_flow(walk) ? flow_at(lcore->flows, walk->ref)->flags
					     : flow_stub_at(lcore->flows, walk->ref)->flags;
	bool from_a = walk->pkt->flags & PKT_A_TO_B;

	walk->half = from_a == !!(flags & FLOW_INITIATOR_IS_A) ? HALF_C2S : HALF_S2C;
	if (lcore->inside_is_initiator && walk->half == HALF_C2S)
		walk->pkt->flags |= PKT_FROM_INSIDE;
	if (flags & FLOW_TRACE)
		walk->pkt->flags |= PKT_TRACE;
	if (!walk_has_flow(walk)) {
		if (!has_payload(walk->pkt)) {
			account_stub(lcore, walk);
			return VERDICT_PASS;
		}
		struct flow_stub *stub = flow_stub_at(lcore->flows, walk->ref);

		if (is_tcp(walk->pkt) && walk->pkt->tcp_flags & TH_SYN) {
			stub->tcp_flags[walk->half] |= walk->pkt->tcp_flags;
			stub->isn[walk->half] = walk->pkt->tcp_seq;
		}
		if (!promote(lcore, walk)) {
			lcore->stats.flow_table_full++;
			walk->reason = DROP_FLOW_TABLE_FULL;
			return lcore->policy->enforces ? VERDICT_DROP : VERDICT_SEND;
		}
	}
	account_flow(lcore, walk);
	// by these whoever keeps the packet beyond this walk finds its flow again, or sees it gone
	walk->pkt->flow = walk->ref;
	walk->pkt->flow_gen = flow_at(lcore->flows, walk->ref)->gen;
	return VERDICT_PASS;
}

void walk_released(struct lcore *lcore, struct walk *walk)
{
	const struct pkt *pkt = walk->pkt;

	if (!walk_has_flow(walk) || !is_tcp(pkt) || pkt->flags & (PKT_FRAGMENT | PKT_ICMP_ERROR))
		return;
	struct flow *flow = flow_at(lcore->flows, walk->ref);
	uint32_t end = pkt->tcp_seq + pkt->payload_len + !!(pkt->tcp_flags & TH_SYN) +
		       !!(pkt->tcp_flags & TH_FIN);
	unsigned half = walk->half;

	if (!(flow->seen[half] & SEEN_RELEASED)) {
		flow->seen[half] |= SEEN_RELEASED;
		flow->released[half] = end;
	} else if (seq_lt(flow->released[half], end) && near_edge(flow, half, pkt->tcp_seq)) {
		flow->released[half] = end;
	}
}
