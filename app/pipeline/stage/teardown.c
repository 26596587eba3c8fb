// SPDX-License-Identifier: BSD-3-Clause
// Sends RST to both ends of a blocked connection, or an ICMP error to the sender of a datagram.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/wire/craft.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/egress/egress.h"

struct rte_mbuf *teardown_packet(struct lcore *lcore, uint8_t in_port, uint8_t link)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(lcore->pool);

	if (!m) {
		lcore->stats.make_nomem++;
		return NULL;
	}
	struct pkt *pkt = pkt_of(m);

	memset(pkt, 0, sizeof(*pkt));
	pkt->rx_ns = lcore->now_ns;
	pkt->flow = PKT_FLOW_NONE;
	pkt->flags = PKT_INJECTED;
	pkt->in_port = in_port;
	pkt->link = link;
	return m;
}

bool teardown_may_reset(struct lcore *lcore)
{
	if (lcore->now_ns - lcore->resets_window_ns >= NS_PER_S) {
		lcore->resets_window_ns = lcore->now_ns;
		lcore->resets_in_window = 0;
	}
	if (lcore->resets_in_window >= lcore->policy->resets_per_s) {
		lcore->stats.resets_limited++;
		return false;
	}
	lcore->resets_in_window++;
	return true;
}

// A RST that travels as packets of `half` do.
static bool reset_half(struct lcore *lcore, const struct flow *flow, const struct flow_cold *cold,
	unsigned half, uint32_t seq)
{
	const struct flow_half *from = &cold->half[half];

	if (!(flow->seen[half] & SEEN_TEMPLATE) || from->l2_flags & PKT_TUNNEL ||
		!teardown_may_reset(lcore))
		return false;
	struct rte_mbuf *m = teardown_packet(lcore, from->port, from->link);

	if (!m)
		return false;
	bool acks = flow->seen[!half] & SEEN_RELEASED;
	struct craft_segment spec = {
		.l2 = from->l2,
		.l2_length = from->l2_length,
		.link = from->link,
		.pppoe = from->l2_flags & PKT_PPPOE,
		.v6 = flow->flags & FLOW_V6,
		.sport = cold->ends.port[half],
		.dport = cold->ends.port[!half],
		.seq = seq,
		.ack = acks ? flow->released[!half] : 0,
		.tcp_flags = (uint8_t)(TH_RST | (acks ? TH_ACK : 0)),
		.ttl = from->ttl,
	};
	memcpy(spec.source, cold->ends.address[half], 16);
	memcpy(spec.destination, cold->ends.address[!half], 16);
	if (craft_segment(m, &spec)) {
		rte_pktmbuf_free(m);
		return false;
	}
	lcore->stats.resets_sent++;
	egress_inject(lcore, m, FLOW_REF_NONE, EGRESS_INJECTED_FLOW);
	return true;
}

// `ctx` NULL: no packet is at hand.
static bool reset_towards_receiver(struct lcore *lcore, struct packet_ctx *ctx,
	const struct flow *flow, const struct flow_cold *cold, unsigned half)
{
	uint32_t edge;

	if (flow->seen[half] & SEEN_RELEASED)
		edge = flow->released[half];
	else if (flow->seen[half] & SEEN_ACKED)
		edge = flow->acked[half];
	else if (ctx && half == ctx->half)
		edge = ctx->pkt->tcp_seq;
	else
		return false;
	bool sent = reset_half(lcore, flow, cold, half, edge);

	if (sent && flow->seen[half] & SEEN_ACKED && flow->acked[half] != edge)
		reset_half(lcore, flow, cold, half, flow->acked[half]);
	return sent;
}

static bool reply_with(struct lcore *lcore, struct rte_mbuf *m,
	int (*craft)(struct rte_mbuf *out, struct rte_mbuf *offending))
{
	const struct pkt *pkt = pkt_of(m);
	uint8_t back = lcore->dp->ports[pkt->in_port].peer;

	if (back == PORT_NONE)
		return false;
	struct rte_mbuf *out = teardown_packet(lcore, back, pkt->link);

	if (!out)
		return false;
	if (craft(out, m)) {
		rte_pktmbuf_free(out);
		return false;
	}
	egress_inject(lcore, out, FLOW_REF_NONE, EGRESS_INJECTED_FLOW);
	return true;
}

static void answer_tcp(struct lcore *lcore, struct rte_mbuf *m)
{
	if (pkt_of(m)->tcp_flags & TH_RST)
		return; // RFC 9293 section 3.5.2: never a RST for a RST
	if (!teardown_may_reset(lcore))
		return;
	if (reply_with(lcore, m, craft_reset_reply))
		lcore->stats.resets_sent++;
	else
		lcore->stats.resets_impossible++;
}

static void answer_datagram(struct lcore *lcore, struct rte_mbuf *m)
{
	if (lcore->now_ns - lcore->icmp_window_ns >= NS_PER_S) {
		lcore->icmp_window_ns = lcore->now_ns;
		lcore->icmp_in_window = 0;
	}
	if (lcore->icmp_in_window >= lcore->policy->icmp_rejects_per_s) {
		lcore->stats.icmp_rejects_limited++;
		return;
	}
	if (reply_with(lcore, m, craft_unreachable)) {
		lcore->icmp_in_window++;
		lcore->stats.icmp_rejects_sent++;
	}
}

void teardown_answer(struct lcore *lcore, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK)
		answer_tcp(lcore, m);
	else if (pkt->l4_proto == IPPROTO_UDP)
		answer_datagram(lcore, m);
}

// A packet without ACK (a SYN that came again) does not say what its sender expects; the flow does.
static void answer_sender(struct lcore *lcore, struct packet_ctx *ctx, const struct flow *flow)
{
	struct pkt *pkt = ctx->pkt;

	if (!(pkt->tcp_flags & TH_ACK) && flow->seen[!ctx->half] & SEEN_RELEASED) {
		pkt->tcp_flags |= TH_ACK;
		pkt->tcp_ack = flow->released[!ctx->half];
	}
	answer_tcp(lcore, ctx->m);
}

void teardown_flow(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);

	if (flow->l4_proto != IPPROTO_TCP) {
		teardown_answer(lcore, ctx->m);
		return;
	}
	bool sent = reset_towards_receiver(lcore, ctx, flow, cold, ctx->half);

	// The sender of this packet: as packets of the other half look, else as its own swapped.
	if (reset_towards_receiver(lcore, ctx, flow, cold, !ctx->half))
		sent = true;
	else if (!(ctx->pkt->flags & PKT_TUNNEL))
		answer_sender(lcore, ctx, flow);
	if (!sent)
		lcore->stats.resets_impossible++;
}

void teardown_server(struct lcore *lcore, struct packet_ctx *ctx, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	if (reset_towards_receiver(lcore, ctx, flow, cold, HALF_C2S))
		return;
	if (ctx && ctx->half == HALF_S2C && !(ctx->pkt->flags & PKT_TUNNEL))
		answer_sender(lcore, ctx, flow);
	else
		lcore->stats.resets_impossible++;
}

unsigned teardown_flow_now(struct lcore *lcore, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	uint64_t before = lcore->stats.resets_sent;

	if (flow->l4_proto != IPPROTO_TCP)
		return 0;
	for (unsigned half = 0; half < 2; half++)
		reset_towards_receiver(lcore, NULL, flow, cold, half);
	if (lcore->stats.resets_sent == before)
		lcore->stats.resets_impossible++;
	return (unsigned)(lcore->stats.resets_sent - before);
}
