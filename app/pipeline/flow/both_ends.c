// SPDX-License-Identifier: BSD-3-Clause
// Decides from a packet whether the other end of a flow has answered.
#include "pipeline/flow/both_ends.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "reassembly/seq.h"

static bool is_one_way(const struct lcore *lcore, const struct pkt *pkt)
{
	return unlikely(lcore->dp->ports[pkt->in_port].one_way);
}

void both_ends_stub_begins(struct flow_stub *stub, unsigned half, uint32_t isn, bool own)
{
	unsigned heard = stub->heard;

	if (stub->isn[half] != isn) {
		stub->tcp_flags[half] &= (uint8_t)~TH_FIN; // it had its place by another number
		heard &= ~(STUB_HEARD(!half) | STUB_OWN_ISN(half));
	}
	if (own)
		heard |= STUB_OWN_ISN(half);
	stub->isn[half] = isn;
	stub->heard = heard & 0xf;
}

void both_ends_stub(
	const struct lcore *lcore, struct flow_stub *stub, const struct pkt *pkt, unsigned half)
{
	unsigned heard = stub->heard;

	if (is_one_way(lcore, pkt))
		heard |= STUB_BOTH_HEARD;
	if ((pkt->tcp_flags & (TH_ACK | TH_RST)) == TH_ACK && heard & STUB_OWN_ISN(!half) &&
		stub->tcp_flags[!half] & TH_SYN && pkt->tcp_ack == stub->isn[!half] + 1)
		heard |= STUB_HEARD(half);
	stub->heard = heard & 0xf;
}

void both_ends_promote(struct flow *flow, struct flow_cold *cold, const struct flow_stub *stub)
{
	if (stub->l4_proto != IPPROTO_TCP)
		return;
	for (unsigned half = 0; half < 2; half++) {
		if (stub->heard & STUB_HEARD(half))
			flow->seen[half] |= SEEN_HEARD;
		if (stub->heard & STUB_OWN_ISN(half)) {
			cold->half[half].first_seq = stub->isn[half];
			cold->half[half].has_first = true;
		}
	}
}

void both_ends_tcp(struct lcore *lcore, uint32_t ref, const struct pkt *pkt, unsigned half)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct flow_half *of = &cold->half[half];
	const struct flow_half *other = &cold->half[!half];

	if (is_one_way(lcore, pkt)) {
		flow->seen[0] |= SEEN_HEARD;
		flow->seen[1] |= SEEN_HEARD;
		return;
	}
	if (!of->has_first && !(pkt->tcp_flags & TH_RST)) {
		of->has_first = true;
		of->first_seq = pkt->tcp_seq;
	}
	// `released` is what left, as long as its receiver is not heard
	if ((pkt->tcp_flags & (TH_ACK | TH_RST)) == TH_ACK && other->has_first &&
		flow->seen[!half] & SEEN_RELEASED && seq_lt(other->first_seq, pkt->tcp_ack) &&
		!seq_lt(flow->released[!half], pkt->tcp_ack))
		flow->seen[half] |= SEEN_HEARD;
}

void both_ends_other_app(struct flow *flow)
{
	if (flow->l4_proto == IPPROTO_TCP)
		return;
	flow->seen[0] &= (uint8_t)~SEEN_HEARD;
	flow->seen[1] &= (uint8_t)~SEEN_HEARD;
}

void both_ends_datagram(const struct lcore *lcore, struct flow *flow, struct flow_cold *cold,
	const struct pkt *pkt, uint16_t app, unsigned halves)
{
	bool one_way = is_one_way(lcore, pkt);

	if (app == APP_NONE && !one_way)
		return; // what is of none, both may send without hearing each other
	if (cold->heard_app != app)
		both_ends_other_app(flow);
	cold->heard_app = app;
	if (one_way)
		halves = 3;
	for (unsigned half = 0; half < 2; half++)
		if (halves & 1u << half)
			flow->seen[half] |= SEEN_HEARD;
}
