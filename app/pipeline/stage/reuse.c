// SPDX-License-Identifier: BSD-3-Clause
// Detects a new TCP handshake on the tuple of a living flow.
#include "pipeline/content/flow_content.h"
#include "pipeline/stage/reuse.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include "pipeline/flow/both_ends.h"
#include "pipeline/stage/hold.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/stage/stages.h"
#include "pipeline/wire/resegment.h"
#include "pipeline/flow/ends.h"
#include "reassembly/tcp_track.h"

#define ANEW_TICK_SHIFT 30 // of flow_anew.tick
#define ANEW_TICKS(ns)  ((ns) >> ANEW_TICK_SHIFT)

// A server waits for the last part of a handshake for 64 s behind its last SYN-ACK where its
// retries are doubled (Linux drops the request 63 s after the first), for 120 s at most (the limit
// of its timer; cookies are good for as long).
#define ANSWERED_S 128

#define SWAP(a, b)                        \
	do {                              \
		__typeof__(a) kept = (a); \
		(a) = (b);                \
		(b) = kept;               \
	} while (0)

static bool is_tcp(const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK;
}

static bool is_syn(const struct pkt *pkt, uint8_t flags)
{
	return is_tcp(pkt) &&
	       (pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST | TH_FIN)) == (TH_SYN | flags);
}

// A receiver may leave the payload of a SYN (RFC 7413 section 4.2.2): what comes in its place later
// is then the first that counts, and may be something else.
static void forget_syn_data(struct lcore *lcore, struct packet_ctx *ctx, unsigned half)
{
	struct flow *flow = flow_at(lcore->flows, ctx->ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);
	uint32_t start = cold->half[half].start_seq;
	struct tcp_track *track = cold->track ? track_at(lcore->tracker, cold->track) : NULL;

	if (!cold->half[half].has_start || ctx->pkt->tcp_ack - start > flow->released[half] - start)
		return; // of no number that was sent: forged, or of a SYN before
	flow->seen[half] &= (uint8_t)~SEEN_SYN_DATA;
	if (ctx->pkt->tcp_ack != start)
		return;
	if (track ? !track->half[half].next : !cold->half[half].late)
		return; // nothing of it was taken
	if (track && !track_restart(lcore->tracker, track, half, start - 1))
		return;
	hold_anew(lcore, ctx->ref, half);
	flow_content_end(lcore, ctx->ref);
	cold->half[half].late = false;
	flow->taken_pkts = flow->taken_small = cold->half[half].taken_bytes = 0;
	flow->released[half] = start;
	classify_end(lcore->classifier, &flow->classify_state);
	classify_end(lcore->classifier, &flow->decoder_state);
	names_follow_end(lcore->name_heads, &cold->names);
	memset(&cold->names, 0, sizeof(cold->names));
	cold->meta = HANDSHAKE_META_AWAITED;
	flow_know_by_network(flow, packet_app_by_network(lcore, &cold->ends));
	learned_expected_again(lcore, flow, cold);
	flow->signature = UINT16_MAX;
	flow_life_step(flow, FLOW_STEP_ANEW);
	flow->flags &= (uint16_t) ~(FLOW_GAVEUP | FLOW_DECODED | FLOW_NOMEM);
}

static uint16_t now_tick(const struct lcore *lcore)
{
	return (uint16_t)(lcore->now_ns >> ANEW_TICK_SHIFT);
}

// What the half has begun on the flow's tuple; NULL: nothing, or it is too old.
static struct flow_half *begun_by(struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	struct flow_half *of = &cold->half[half];
	uint8_t *seen = &flow_at(lcore->flows, ref)->seen[half];
	uint64_t embryonic_ns = lcore->flows->times.normal_ns[FLOW_CLASS_EMBRYONIC];
	uint64_t lifetime_ns = *seen & SEEN_SYN_AGAIN ? RTE_MAX(embryonic_ns, ANSWERED_S * NS_PER_S)
						      : embryonic_ns;
	uint16_t age = (uint16_t)(now_tick(lcore) - cold->anew.tick[half]);

	if (of->anew && age <= ANEW_TICKS(lifetime_ns) + 1)
		return of;
	of->anew = 0;
	*seen &= (uint8_t)~SEEN_SYN_AGAIN;
	return NULL;
}

// An end that has acknowledged more than the other's SYN is past the handshake.
static bool is_past_handshake(struct lcore *lcore, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	for (unsigned half = 0; half < 2; half++)
		if (flow->seen[half] & SEEN_ACKED && cold->half[half].has_start &&
			flow->acked[half] != cold->half[half].start_seq)
			return true;
	return false;
}

static void note_syn(struct lcore *lcore, const struct packet_ctx *ctx)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);
	struct flow_half *of = &cold->half[ctx->half];
	uint32_t isn = ctx->pkt->tcp_seq;

	// Its SYN once more, or a new connection with the same number: the SYN-ACK says which
	if (of->has_start && of->start_seq == isn + 1 &&
		!flow_both_heard(flow_at(lcore->flows, ctx->ref)))
		return;
	if (!begun_by(lcore, ctx->ref, ctx->half))
		of->anew = ANEW_SYN;
	else if (of->anew_isn != isn)
		of->anew |= ANEW_DIFFER;
	of->anew_isn = isn;
	of->anew_scale = segment_scale(ctx->m, ctx->pkt);
	cold->anew.tick[ctx->half] = now_tick(lcore);
}

// The SYN-ACK of the connection that lives, again. One that is past its handshake has none: there
// the same numbers may be a new connection's (of cookies, which have the minute in them).
static bool is_answer_again(struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);
	const struct flow_half *own = &cold->half[ctx->half], *other = &cold->half[!ctx->half];
	const struct pkt *pkt = ctx->pkt;

	return other->has_start && other->start_seq == pkt->tcp_ack && own->has_start &&
	       own->start_seq == pkt->tcp_seq + 1 && !is_past_handshake(lcore, ctx->ref);
}

// Nobody but the ends knows the number of a SYN that was not forged. Where several came, one that
// was for the last of them goes before any that never was.
static void note_answer(struct lcore *lcore, const struct packet_ctx *ctx)
{
	struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);
	struct flow_half *of = begun_by(lcore, ctx->ref, !ctx->half);
	const struct pkt *pkt = ctx->pkt;
	uint32_t taken = pkt->tcp_ack - 1;

	if (!of || is_answer_again(lcore, ctx))
		return;
	if (taken == of->anew_isn)
		of->anew |= ANEW_TAKEN;
	else if (!(of->anew & ANEW_DIFFER) ||
		 (of->anew & ANEW_TAKEN && taken != cold->anew.taken[!ctx->half]))
		return;
	cold->anew.taken[!ctx->half] = taken;
	cold->anew.tick[!ctx->half] = now_tick(lcore);
	of->answer_isn = pkt->tcp_seq;
	of->answer_scale = segment_scale(ctx->m, pkt);
	flow_at(lcore->flows, ctx->ref)->seen[!ctx->half] |= SEEN_SYN_AGAIN;
}

// A SYN in a connection that lives is a challenge (RFC 5961 section 4) unless a SYN-ACK takes it:
// then both ends have begun anew on the same tuple.
void reuse_syn(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow *flow = flow_at(lcore->flows, ctx->ref);
	unsigned half = ctx->half;

	if (ctx->pkt->tcp_flags & TH_ACK) {
		if (flow->seen[!half] & SEEN_SYN_DATA) {
			flow_cold_at(lcore->flows, ctx->ref)->half[half].window_scale =
				segment_scale(ctx->m, ctx->pkt);
			forget_syn_data(lcore, ctx, !half);
		}
		return;
	}
	note_syn(lcore, ctx);
}

// The SYN-ACK of a handshake on this tuple was acknowledged: its ends have a new connection, and
// the old one is over.
static __rte_noinline enum verdict begin_anew(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ctx->ref);
	const struct flow_half of = cold->half[ctx->half];
	uint32_t taken = cold->anew.taken[ctx->half];

	flow_end_entry(lcore, ctx->ref, FLOW_STEP_REUSE);
	ctx->ref = FLOW_REF_NONE;
	ctx->flow_id = 0;
	ctx->flags |= CTX_BEGAN;
	enum verdict verdict = stage_admit(lcore, ctx);

	if (verdict != VERDICT_PASS || ctx->ref == FLOW_REF_NONE)
		return verdict;
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	ctx->half = packet_half(lcore, ctx);
	unsigned half = ctx->half;

	stub->tcp_flags[half] = TH_SYN;
	stub->tcp_flags[!half] = TH_SYN | TH_ACK;
	stub_scale_set(stub, half, taken == of.anew_isn ? of.anew_scale : WINDOW_SCALE_MAX);
	stub_scale_set(stub, !half, of.answer_scale);
	both_ends_stub_begins(stub, half, taken, true);
	both_ends_stub_begins(stub, !half, of.answer_isn, true);
	stub->heard = 0xf; // either has acknowledged the other's number
	return VERDICT_PASS;
}

// The last part of a handshake on the flow's tuple. What is not of it is of the old connection.
static bool completes_anew(struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;

	if (!(flow_at(lcore->flows, ctx->ref)->seen[ctx->half] & SEEN_SYN_AGAIN) || !is_tcp(pkt))
		return false;
	const struct flow_half *of = begun_by(lcore, ctx->ref, ctx->half);
	uint32_t taken = flow_cold_at(lcore->flows, ctx->ref)->anew.taken[ctx->half];

	return of && (pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST)) == TH_ACK &&
	       pkt->tcp_ack == of->answer_isn + 1 && pkt->tcp_seq - (taken + 1) < EDGE_TOLERANCE;
}

// Not inline, as begin_anew: their arrays would bring a guard of the stack to each packet.
static __rte_noinline void turn(
	struct lcore *lcore, struct flow_stub *stub, const struct packet_ctx *ctx)
{
	SWAP(stub->pkts[0], stub->pkts[1]);
	SWAP(stub->bytes[0], stub->bytes[1]);
	SWAP(stub->isn[0], stub->isn[1]);
	SWAP(stub->tcp_flags[0], stub->tcp_flags[1]);
	stub->scales = (uint8_t)(stub->scales << 4 | stub->scales >> 4);
	stub->heard = ((stub->heard & 5u) << 1 | (stub->heard & 10u) >> 1) & 0xf;
	stub->answered = ((stub->answered & 1u) << 1 | stub->answered >> 1) & 3;
	stub->flags ^= FLOW_INITIATOR_IS_A | FLOW_C2S_INSIDE | FLOW_FROM_RESPONDER;
	stub->in_port = lcore->dp->ports[stub->in_port].peer;
	if (!app_networks_empty(&lcore->policy->app_networks)) {
		struct flow_ends ends;

		flow_ends_of(ctx->key, stub->flags, &ends);
		stub->app = packet_app_by_network(lcore, &ends);
	}
}

bool reuse_turn(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	// an end that has answered a SYN, the other's or one that was forged, has not begun it
	if (ctx->half != HALF_C2S || !is_syn(ctx->pkt, TH_ACK) ||
		stub->heard & STUB_HEARD(HALF_S2C) || stub->answered & 1u << HALF_S2C ||
		!(stub->heard & STUB_OWN_ISN(HALF_S2C)) ||
		ctx->pkt->tcp_ack != stub->isn[HALF_S2C] + 1)
		return false;
	turn(lcore, stub, ctx);
	ctx->half = packet_half(lcore, ctx);
	ctx->flags |= CTX_UNDECIDED;
	return true;
}

// The tuple of a flow is used again.
enum verdict reuse_account(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);

	if (is_syn(ctx->pkt, TH_ACK))
		note_answer(lcore, ctx);
	else if (completes_anew(lcore, ctx))
		return begin_anew(lcore, ctx);
	// the SYN is believed when it is taken, but a blocked peer shall not get so far
	if (is_syn(ctx->pkt, 0) && flow->lru_class == FLOW_CLASS_TCP_CLOSING &&
		packet_cached(lcore, ctx, true)) {
		ctx->flags |= CTX_REPORTED;
		ctx->reason = DROP_CONN_CACHE;
		return VERDICT_DROP;
	}
	return VERDICT_PASS;
}
