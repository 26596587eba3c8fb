// SPDX-License-Identifier: BSD-3-Clause
// Accounting of a packet on its stub or flow: direction, counters, time-out class, TCP edges.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/content/flow_content.h"
#include "pipeline/content/incident.h"
#include "pipeline/flow/both_ends.h"
#include "pipeline/flow/rate.h"
#include "pipeline/policy/frame_marks.h"
#include "pipeline/stage/flow_report.h"
#include "pipeline/stage/inspect.h"
#include "pipeline/stage/inspect_again.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/stage/inspect_payload.h"
#include "pipeline/stage/inspect_room.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/stage/refuse.h"
#include "pipeline/wire/resegment.h"
#include "pipeline/stage/reuse.h"
#include "reassembly/seq.h"
#include "reassembly/tcp_state.h"
#include "pipeline/egress/egress.h"
#include "pipeline/stage/packet_ctx.h"
#include "pipeline/stage/promote.h"
#include "pipeline/stage/stages.h"
#include "pipeline/flow/app_usage.h"
#include "pipeline/flow/expect.h"
#include "pipeline/flow/ends.h"
#include "reassembly/tcp_track.h"

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

// The half has acknowledged the other's SYN. A RST may answer one that was forged; it is forgotten
// when both ends are heard (note_ends).
static bool has_acked(const struct flow_stub *stub, unsigned half)
{
	return (stub->tcp_flags[half] & (TH_ACK | TH_RST)) == TH_ACK;
}

// By its own SYN, or SYN-ACK.
static void begin_half(struct flow_stub *stub, struct rte_mbuf *m, unsigned half)
{
	const struct pkt *pkt = pkt_of(m);
	unsigned answered = stub->answered & ~(1u << half);

	if (pkt->tcp_flags & TH_ACK)
		answered |= 1u << half;
	stub->answered = answered & 3;
	both_ends_stub_begins(stub, half, pkt->tcp_seq, true);
	stub_scale_set(stub, half, segment_scale(m, pkt));
}

// Where the halves begin. A SYN-ACK says which of the other side's SYNs was taken; until then the
// last one holds, afterwards another SYN changes nothing.
static void account_syn(struct flow_stub *stub, struct rte_mbuf *m, unsigned half)
{
	const struct pkt *pkt = pkt_of(m);

	if (!(pkt->tcp_flags & TH_SYN))
		return;
	bool other = stub->tcp_flags[!half] & TH_SYN;

	if (other && pkt->tcp_flags & TH_ACK) {
		bool same = pkt->tcp_ack == stub->isn[!half] + 1;

		// one that was acknowledged stays, whatever another says, unless a SYN came since
		if (stub->tcp_flags[half] & TH_SYN && (has_acked(stub, !half) || half == HALF_C2S))
			return;
		if (!same)
			stub_scale_set(stub, !half, WINDOW_SCALE_MAX); // of a SYN before the last
		both_ends_stub_begins(stub, !half, pkt->tcp_ack - 1, false);
		if (stub->tcp_flags[half] & TH_SYN && stub->isn[half] != pkt->tcp_seq)
			stub->flags |= FLOW_ANSWERS_DIFFER;
		begin_half(stub, m, half);
	} else if (!other || !(stub->tcp_flags[half] & TH_SYN)) {
		if (stub->tcp_flags[half] & TH_SYN && stub->isn[half] != pkt->tcp_seq)
			stub->flags |= FLOW_SYNS_DIFFER;
		begin_half(stub, m, half);
	} else if (pkt->tcp_seq != stub->isn[half]) {
		stub->tcp_flags[half] &= (uint8_t)~TH_ACK;
		stub->flags |= FLOW_SYNS_DIFFER;
	}
}

// The first acknowledgement says which of several SYN-ACKs was taken. Where one number alone came,
// it is of what was not sent (or of a FIN, too), unless packets have passed unseen.
static void account_first_ack(
	const struct lcore *lcore, struct flow_stub *stub, const struct pkt *pkt, unsigned half)
{
	bool of_fin = stub->tcp_flags[!half] & TH_FIN && pkt->tcp_ack == stub->isn[!half] + 2;

	if ((pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST)) != TH_ACK ||
		!(stub->tcp_flags[half] & stub->tcp_flags[!half] & TH_SYN) ||
		has_acked(stub, half) || pkt->tcp_seq != stub->isn[half] + 1 ||
		pkt->tcp_ack == stub->isn[!half] + 1 || of_fin)
		return;
	if (!(stub->flags & (FLOW_SYNS_DIFFER | FLOW_ANSWERS_DIFFER)) &&
		!stub_is_out_of_date(lcore, stub))
		return;
	both_ends_stub_begins(stub, !half, pkt->tcp_ack - 1, false);
	stub_scale_set(stub, !half, WINDOW_SCALE_MAX); // of a SYN before the last
}

// A FIN that is not the first octet of its half is ahead of payload that comes later: where it lies
// is known to a flow only, and by it what its receiver may acknowledge.
static bool is_fin_ahead(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);
	const struct pkt *pkt = ctx->pkt;

	return is_tcp(pkt) && (pkt->tcp_flags & (TH_SYN | TH_RST | TH_FIN)) == TH_FIN &&
	       stub->tcp_flags[ctx->half] & TH_SYN && pkt->tcp_seq != stub->isn[ctx->half] + 1 &&
	       !(stub->flags & FLOW_UNCONFIRMED);
}

// Of a connection that is established, an end other than at its next byte is not believed.
static uint8_t believed_flags(const struct flow_stub *stub, const struct pkt *pkt, unsigned half)
{
	bool ends = stub_both_heard(stub) && pkt->tcp_seq != stub->isn[half] + 1;

	return ends ? pkt->tcp_flags & (uint8_t) ~(TH_RST | TH_FIN) : pkt->tcp_flags;
}

static void account_stub(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);
	const struct pkt *pkt = ctx->pkt;
	unsigned half = ctx->half;

	if (stub->pkts[half] < UINT16_MAX)
		stub->pkts[half]++;
	stub->bytes[half] = sat_add(stub->bytes[half], ctx->m->pkt_len);
	if (is_tcp(pkt)) {
		account_first_ack(lcore, stub, pkt, half);
		account_syn(stub, ctx->m, half);
		stub->tcp_flags[half] |= believed_flags(stub, pkt, half);
	}
	flow_touch(lcore->flows, ctx->ref, flow_class_of_stub(stub), lcore->now_ns);
}

// Of an L2 header that is too long for a template: what rules may ask for.
static void keep_macs(struct flow *flow, struct flow_half *half, unsigned which, struct rte_mbuf *m)
{
	uint8_t buffer[2 * MAC_BYTES];

	if (flow->seen[which] & SEEN_MACS)
		return;
	const uint8_t *macs = rte_pktmbuf_read(m, 0, sizeof(buffer), buffer);

	if (!macs)
		return;
	memcpy(half->l2, macs, sizeof(buffer));
	half->l2_length = sizeof(buffer);
	half->link = pkt_of(m)->link;
	flow->seen[which] |= SEEN_MACS;
}

// The L2 header of the half's first packet. One that is too long leaves the half without: its
// teardown is by drop.
static void keep_template(
	struct flow *flow, struct flow_half *half, unsigned which, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->outer_l3_off > sizeof(half->l2)) {
		keep_macs(flow, half, which, m);
		return;
	}
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

static void move(struct flow *flow, enum tcp_event event)
{
	flow->tcp_state = (uint8_t)tcp_state_next(flow->tcp_state, event);
}

// Of a connection that ends, or is said to: what an acknowledgement says goes before what comes
// with it.
static void move_state(struct flow *flow, uint8_t flags, unsigned half, bool acked)
{
	bool all = flow->seen[!half] & SEEN_RELEASED && flow->seen[!half] & SEEN_ACKED &&
		   !seq_lt(flow->acked[!half], flow->released[!half]);

	if (flow->tcp_flags[!half] & TH_FIN && all)
		move(flow, half == HALF_S2C ? TCP_EVENT_ACKED_C2S : TCP_EVENT_ACKED_S2C);
	else if (acked)
		move(flow, TCP_EVENT_GOES_ON);
	if (flags & TH_FIN)
		move(flow, half == HALF_C2S ? TCP_EVENT_FIN_C2S : TCP_EVENT_FIN_S2C);
	if (flags & TH_RST)
		move(flow, TCP_EVENT_RST);
}

// True: its time-out class may be another now.
static bool account_tcp(struct flow *flow, const struct pkt *pkt, unsigned half)
{
	uint8_t flags = pkt->tcp_flags;
	bool ends = (flow->tcp_flags[0] | flow->tcp_flags[1]) & (TH_FIN | TH_RST), acked = false;

	if (flags & (TH_RST | TH_FIN) && !near_edge(flow, half, pkt->tcp_seq))
		flags &= (uint8_t) ~(TH_RST | TH_FIN);
	flow->tcp_flags[half] |= flags;
	if (flags & TH_ACK && near_edge(flow, !half, pkt->tcp_ack) &&
		(!(flow->seen[!half] & SEEN_ACKED) || seq_lt(flow->acked[!half], pkt->tcp_ack))) {
		flow->acked[!half] = pkt->tcp_ack;
		flow->seen[!half] |= SEEN_ACKED;
		acked = true;
		// acknowledged, so it was delivered, whether or not it passed here
		if (flow->seen[half] & SEEN_HEARD && flow->seen[!half] & SEEN_RELEASED &&
			seq_lt(flow->released[!half], pkt->tcp_ack))
			flow->released[!half] = pkt->tcp_ack;
	}
	if (likely(!ends && !(flags & (TH_RST | TH_FIN))))
		return false;
	move_state(flow, flags, half, acked);
	return true;
}

// Packets of the flow may have passed unseen since its last one (bypass.h): what is known of its
// edges is out of date, and taken anew from what comes. An inspection goes on as midstream.
static void forget_edges(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	for (unsigned half = 0; half < 2; half++)
		flow->seen[half] &= SEEN_TEMPLATE | SEEN_MACS | SEEN_HEARD;
	if (cold->track)
		track_unseen(track_at(lcore->tracker, cold->track));
}

// What every packet of a flow moves, whether or not the flow is still looked at.
static void stage_account_final(
	struct lcore *lcore, uint32_t ref, struct rte_mbuf *m, unsigned half)
{
	struct flow *flow = flow_at(lcore->flows, ref);
	const struct pkt *pkt = pkt_of(m);
	enum flow_class class = flow->lru_class;

	if (unlikely(flow_rate_due(flow, lcore->now_ns))) {
		if (flow_rate_close(lcore, ref))
			flow_report_elephant(lcore, ref);
	}
	if (unlikely(flow->last_ns < unseen_until(lcore)))
		forget_edges(lcore, ref);
	flow->pkts[half]++;
	flow->bytes[half] += m->pkt_len;
	app_usage_count(lcore->apps, flow, half, m->pkt_len);
	if (has_payload(pkt) && flow->n_data_pkts < UINT8_MAX)
		flow->n_data_pkts++;
	bool tcp = is_tcp(pkt);

	if (tcp && unlikely(!flow_both_heard(flow)))
		both_ends_tcp(lcore, ref, pkt, half);
	bool moves = tcp && account_tcp(flow, pkt, half);

	bool unsettled = class < FLOW_CLASS_TCP && (tcp || flow->pkts[!half]);

	if (unlikely(moves || unsettled)) {
		class = flow_class_of(flow);
		if (class != flow->lru_class)
			inspect_rank(lcore, ref, flow_class_rank[class]);
	}
	if (unlikely(!(flow->seen[half] & SEEN_TEMPLATE)))
		keep_template(flow, &flow_cold_at(lcore->flows, ref)->half[half], half, m);
	flow_touch(lcore->flows, ref, class, lcore->now_ns);
}

static void account_flow(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (is_tcp(ctx->pkt) && ctx->pkt->tcp_flags & TH_SYN)
		reuse_syn(lcore, ctx);
	stage_account_final(lcore, ctx->ref, ctx->m, ctx->half);
	if (ctx->pkt->l4_proto == IPPROTO_UDP &&
		flow_at(lcore->flows, ctx->ref)->look_at != AGAIN_NEVER)
		again_begin(lcore, ctx);
}

// On the tuple of a blocked flow: what is not of a new connection is of the old one.
static bool is_unconfirmed(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	if (!lcore->policy->enforces || packet_has_flow(ctx) || !has_payload(ctx->pkt) ||
		!is_tcp(ctx->pkt))
		return false;
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	return stub->flags & FLOW_UNCONFIRMED && !stub_is_out_of_date(lcore, stub);
}

// A SYN-ACK for another number than that of the one SYN that came, or of an end that has begun with
// another number itself, for a SYN that did not come: its receiver does not take it (RFC 9293
// section 3.10.7.3).
static bool is_stray_answer(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);
	const struct pkt *pkt = ctx->pkt;
	unsigned own = ctx->half, peer = !own;

	if ((pkt->tcp_flags & (TH_SYN | TH_ACK)) != (TH_SYN | TH_ACK) ||
		stub_is_out_of_date(lcore, stub))
		return false;
	if (!(stub->tcp_flags[peer] & TH_SYN))
		return stub->tcp_flags[own] & TH_SYN && !(stub->answered & 1u << own) &&
		       stub->isn[own] != pkt->tcp_seq;
	return stub->heard & STUB_OWN_ISN(peer) && !(stub->flags & FLOW_SYNS_DIFFER) &&
	       pkt->tcp_ack != stub->isn[peer] + 1;
}

static void note_ends(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);
	bool heard = stub_both_heard(stub);

	both_ends_stub(lcore, stub, ctx->pkt, ctx->half);
	if (!stub_both_heard(stub))
		return;
	if (stub->flags & FLOW_UNCONFIRMED)
		flow_life_step_stub(stub, FLOW_STEP_CONFIRM);
	if (!heard) // no end took a RST that came before
		for (unsigned half = 0; half < 2; half++)
			stub->tcp_flags[half] &= (uint8_t)~TH_RST;
}

// Kept for the case that something of its flow is refused.
static void note_packet(struct lcore *lcore, const struct packet_ctx *ctx)
{
	if (unlikely(content_is_asked(lcore)) && lcore->policy->asks_content)
		incident_note(lcore, ctx->ref, ctx->m, ctx->half);
}

enum verdict stage_account(struct lcore *lcore, struct packet_ctx *ctx)
{
	ctx->half = packet_half(lcore, ctx);
	if (packet_has_flow(ctx) && reuse_begins(flow_at(lcore->flows, ctx->ref), ctx->pkt)) {
		enum verdict verdict = reuse_account(lcore, ctx);

		if (verdict != VERDICT_PASS)
			return verdict;
	}
	if (!packet_has_flow(ctx) && is_tcp(ctx->pkt)) {
		if (unlikely(is_stray_answer(lcore, ctx))) {
			ctx->reason = DROP_NOT_TAKEN;
			return lcore->policy->enforces ? VERDICT_DROP : VERDICT_SEND;
		}
		if (unlikely(reuse_turn(lcore, ctx)) && packet_cached(lcore, ctx, false)) {
			ctx->flags |= CTX_REPORTED;
			ctx->reason = DROP_CONN_CACHE;
			return VERDICT_DROP;
		}
		note_ends(lcore, ctx);
	}
	if (is_unconfirmed(lcore, ctx)) {
		ctx->reason = DROP_NOT_TAKEN;
		return VERDICT_DROP;
	}
	uint16_t flags = packet_has_flow(ctx) ? flow_at(lcore->flows, ctx->ref)->flags
					      : flow_stub_at(lcore->flows, ctx->ref)->flags;

	if (lcore->inside_is_initiator && ctx->half == HALF_C2S)
		ctx->pkt->flags |= PKT_FROM_INSIDE;
	if (flags & FLOW_TRACE)
		ctx->pkt->flags |= PKT_TRACE;
	if (!packet_has_flow(ctx)) {
		if (!has_payload(ctx->pkt) && !is_fin_ahead(lcore, ctx)) {
			account_stub(lcore, ctx);
			note_packet(lcore, ctx);
			return VERDICT_PASS;
		}
		struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

		if (is_tcp(ctx->pkt) && ctx->pkt->tcp_flags & TH_SYN) {
			account_syn(stub, ctx->m, ctx->half);
			stub->tcp_flags[ctx->half] |=
				ctx->pkt->tcp_flags & (uint8_t)~TH_FIN; // behind payload
		}
		if (!packet_promote(lcore, ctx)) {
			lcore->stats.flow_table_full++;
			ctx->reason = DROP_FLOW_TABLE_FULL;
			return lcore->policy->enforces ? VERDICT_DROP : VERDICT_SEND;
		}
	}
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);
	bool unheard = !flow_both_heard(flow);

	account_flow(lcore, ctx);
	note_packet(lcore, ctx);
	if (unlikely(unheard && is_tcp(ctx->pkt) && flow_both_heard(flow)))
		packet_flag_if(ctx, CTX_UNDECIDED, refuse_settle(lcore, ctx->ref));
	// by these whoever keeps the packet beyond this call finds its flow again, or sees it gone
	ctx->pkt->flow = ctx->ref;
	ctx->pkt->flow_gen = flow->gen;
	return VERDICT_PASS;
}

// What leaves moves the edge of its half. TCP only.
static void release(struct flow *flow, const struct pkt *pkt, unsigned half)
{
	uint32_t end = pkt->tcp_seq + pkt->payload_len + !!(pkt->tcp_flags & TH_SYN) +
		       !!(pkt->tcp_flags & TH_FIN);

	if (pkt->tcp_flags & TH_RST)
		return; // its number takes no place in the stream
	if (!(flow->seen[half] & SEEN_RELEASED)) {
		flow->seen[half] |= SEEN_RELEASED;
		flow->released[half] = end;
	} else if (end != pkt->tcp_seq && seq_lt(flow->released[half], end) &&
		   near_edge(flow, half, pkt->tcp_seq)) {
		flow->released[half] = end;
	}
}

void packet_released(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;

	// a wrong checksum: its half is not known, and no receiver takes it
	if (!packet_has_flow(ctx) || !is_tcp(pkt) ||
		(pkt->flags & PKT_CSUM_BAD && !(pkt->flags & PKT_CSUM_IGNORE)) ||
		pkt->flags & (PKT_FRAGMENT | PKT_ICMP_ERROR))
		return;
	struct flow *flow = flow_at(lcore->flows, ctx->ref);

	release(flow, pkt, ctx->half);
	inspect_released(lcore, ctx->ref, ctx->half, pkt);
}

// What opens or ends a connection counts on a final flow, too, and takes the long way; so do what
// is traced, a datagram that is to be classified again, and the first packet under a new policy.
bool packet_fast_path(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref)
{
	struct pkt *pkt = pkt_of(m);

	if (ref & FLOW_REF_STUB) // or FLOW_REF_NONE, which has that bit, too
		return false;
	struct flow *flow = flow_at(lcore->flows, ref);

	if ((flow->flags & (FLOW_FINAL | FLOW_TRACE)) != FLOW_FINAL ||
		flow->policy_epoch != lcore->epoch ||
		pkt->flags & (PKT_TRACE | PKT_ICMP_ERROR | PKT_CSUM_BAD))
		return false;
	bool tcp = pkt->l4_proto == IPPROTO_TCP;
	unsigned half = flow_half_by(flow->flags, pkt);

	if (tcp ? pkt->tcp_flags & FAST_PATH_NOT || flow->seen[half] & SEEN_SYN_AGAIN
		: again_is_due(flow, half))
		return false;
	if (!tcp && unlikely(datagram_asks(lcore, m, pkt)))
		return false;

	if (lcore->inside_is_initiator && half == HALF_C2S)
		pkt->flags |= PKT_FROM_INSIDE;
	STAGES(STAGE_FINAL)
	pkt->flow = ref;
	pkt->flow_gen = flow->gen;
	if (tcp && pkt->flags & PKT_L4_OK)
		release(flow, pkt, half);
	egress_packet(lcore, m, ref, EGRESS_FLOW);
	return true;
}

// Nothing but its decoder keeps the flow from being final: no stage between account and inspect,
// nor before, has anything to do for its datagrams.
static bool is_followed(const struct lcore *lcore, uint32_t ref, const struct flow *flow)
{
	const uint16_t asked =
		FLOW_APP_FINAL | FLOW_DECODED | FLOW_FINAL | FLOW_TRACE | FLOW_OPERATOR;
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	return (flow->flags & asked) == (FLOW_APP_FINAL | FLOW_DECODED) &&
	       flow->l4_proto == IPPROTO_UDP && flow->action == ACTION_PASS &&
	       flow->policy_epoch == lcore->epoch && flow_both_heard(flow) && !cold->again.on &&
	       !handshake_meta_pending(cold->meta) && cold->content == CONTENT_NONE &&
	       !content_datagrams_are_asked(lcore);
}

// Whole and in one piece; nor does it ask for a name, of which more than the decoder wants to know.
static bool is_plain_datagram(const struct lcore *lcore, struct rte_mbuf *m, const struct pkt *pkt)
{
	const uint32_t special = PKT_TRACE | PKT_ICMP_ERROR | PKT_CSUM_BAD | PKT_L4_OK;

	return (pkt->flags & special) == PKT_L4_OK && pkt->payload_len &&
	       pkt->payload_off + pkt->payload_len <= m->data_len && !datagram_asks(lcore, m, pkt);
}

bool packet_followed(struct lcore *lcore, struct rte_mbuf *m, const struct flow_lookup *lookup,
	struct packet_ctx *ctx)
{
	uint32_t ref = lookup->ref;

	if (ref & FLOW_REF_STUB) // or FLOW_REF_NONE
		return false;
	const struct flow *flow = flow_at(lcore->flows, ref);
	struct pkt *pkt = pkt_of(m);
	unsigned half = flow_half_by(flow->flags, pkt);

	if (likely(!(flow->flags & FLOW_DECODED)) || !is_followed(lcore, ref, flow) ||
		!is_plain_datagram(lcore, m, pkt) || again_is_due(flow, half) ||
		!mbuf_checksum_good(lcore, m))
		return false;
	if (lcore->inside_is_initiator && half == HALF_C2S)
		pkt->flags |= PKT_FROM_INSIDE;
	stage_account_final(lcore, ref, m, half);
	pkt->flow = ref;
	pkt->flow_gen = flow->gen;
	*ctx = (struct packet_ctx){
		.m = m,
		.pkt = pkt,
		.key = lookup->key,
		.ref = ref,
		.half = half,
		.flags = lookup->v6 ? CTX_V6 : 0,
	};
	inspect_followed(lcore, ctx);
	return true;
}
