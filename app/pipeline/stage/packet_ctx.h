// SPDX-License-Identifier: BSD-3-Clause
// A packet on its way through the stages (stages.h), and what several of them share.
// Data lcores only; everything is the lcore's own.
#ifndef SLUICE_PACKET_CTX_H
#define SLUICE_PACKET_CTX_H

#include "pipeline/cache/conn_cache.h"
#include "pipeline/event/evidence.h"
#include "pipeline/flow/table.h"
#include "pipeline/policy/frame_marks.h"
#include "pipeline/lcore/lcore.h"

enum { // struct packet_ctx.flags
	CTX_V6 = 1 << 0,
	CTX_BEGAN = 1 << 1,       // its sender began the connection, whatever the packet says
	CTX_REFUSED = 1 << 2,     // a datagram like one that was (refuse.h)
	CTX_STARVED = 1 << 3,     // no classifier state was free for it
	CTX_UNDECIDED = 1 << 4,   // the decision is to be made (again)
	CTX_WAS_BLOCKED = 1 << 5, // its SYN opens the tuple of a blocked flow
	CTX_REPORTED = 1 << 6,    // the drop has its event already, or needs none
	CTX_MADE = 1 << 7,        // its flow began with this packet
	CTX_AGAIN = 1 << 8,       // it is decided again, after a reload
	CTX_RESUMED = 1 << 9,     // was held before
	CTX_ALLOWED = 1 << 10,    // the operator lets connections of these ends pass
	CTX_DECODED = 1 << 11,    // its decoder has seen enough
	CTX_WHOLE = 1 << 12,      // its last fragment came: the datagram waits to be inspected

	// `m` is the view of a datagram (fragments.h): it can be read, and is gone when the last
	// stage ends. To keep or change it is to say VERDICT_DROP.
	CTX_VIEW = 1 << 13,

	CTX_ID_REFUSED = 1 << 15, // a datagram that names a content id which is refused

	CTX_LATER = 1 << 14, // a decoder of content has no budget left: the span comes again
};

struct packet_ctx {
	struct rte_mbuf *m;
	struct pkt *pkt;
	const union flow_key *key;
	uint64_t flow_id;  // of `ref`; 0: not asked yet (packet_flow_id)
	uint32_t ref;      // FLOW_REF_*
	uint32_t rule_uid; // of a drop, for its event
	uint32_t traced;   // number of the traced packet; 0: none of its stages is reported yet
	unsigned half;     // enum half of this packet in its flow
	enum drop_reason reason; // set with VERDICT_DROP
	uint32_t flags;          // CTX_*
};

// Sets it if `on`. A call: what says `on` may set other flags, so it comes first.
static inline void packet_flag_if(struct packet_ctx *ctx, uint32_t flag, bool on)
{
	ctx->flags |= on ? flag : 0;
}

// All stages of a packet whose flow is decided for good, by the column `final` of stages.h, and
// egress. False: not such a packet, and nothing was done.
bool packet_fast_path(struct lcore *lcore, struct rte_mbuf *m, uint32_t ref);

// The same of a datagram whose flow passes, and is not final only because a decoder follows it
// (DNS, the DHT): its checksum, what it counts, and the decoder, but not egress. `ctx` is filled:
// where the decoder found something to decide, its flags say so. False: not such a packet, and
// nothing was done.
bool packet_followed(struct lcore *lcore, struct rte_mbuf *m, const struct flow_lookup *lookup,
	struct packet_ctx *ctx);

// The fast path of a packet without a flow whose peer is blocked: what link, stateless, blocked,
// checksum and admit come to for it. Asked for a whole burst, so that the cache's lines are on
// their way; answered true, the packet is to be dropped (conn_cache), else nothing was done.
struct cache_question {
	union conn_words tuple;
	uint32_t hash;
};
void packet_cache_ask(const struct lcore *lcore, const struct pkt *pkt, const union flow_key *key,
	struct cache_question *question);
bool packet_refused(struct lcore *lcore, struct rte_mbuf *m, const struct cache_question *question);

// After the last stage, before tx: what leaves moves the released edge.
void packet_released(struct lcore *lcore, struct packet_ctx *ctx);

// The connection cache refuses a packet that its sender, or else its receiver, began.
bool packet_cached(struct lcore *lcore, struct packet_ctx *ctx, bool initiator);

// The evidence of the packet's flow or stub.
uint64_t packet_flow_id(const struct lcore *lcore, struct packet_ctx *ctx);
struct evidence *packet_evidence(
	struct lcore *lcore, struct packet_ctx *ctx, enum evidence_kind kind);
void packet_evidence_ends(
	const struct lcore *lcore, const struct packet_ctx *ctx, struct evidence *evidence);
// That its flow began, with its ends.
void packet_evidence_made(struct lcore *lcore, struct packet_ctx *ctx);

// A packet whose bytes others see, too, is replaced by a copy: it may be written then. False: there
// is no room for one. Not of a view (CTX_VIEW).
bool packet_make_ours(struct lcore *lcore, struct packet_ctx *ctx);
// The same; in one piece, too, if it fits into a buffer.
bool packet_make_whole(struct lcore *lcore, struct packet_ctx *ctx);

// Of the inside end of the flow or stub with these flags; NULL: not known, or no rule asks.
static inline const uint8_t *packet_mac(const struct lcore *lcore, const struct packet_ctx *ctx,
	uint16_t flags, uint8_t buffer[MAC_BYTES])
{
	bool inside = ctx->pkt->flags & PKT_FROM_INSIDE;

	if (!lcore->policy->asks_mac)
		return NULL;
	if (lcore->inside_is_initiator)
		inside = flow_half_by(flags, ctx->pkt) == HALF_C2S;
	return frame_mac(ctx->m, inside, buffer);
}

static inline bool packet_has_flow(const struct packet_ctx *ctx)
{
	return ctx->ref != FLOW_REF_NONE && !(ctx->ref & FLOW_REF_STUB);
}

// Of a half of a flow: no packet is at hand.
static inline struct packet_ctx packet_ctx_of(
	const struct lcore *lcore, uint32_t ref, unsigned half)
{
	const struct flow *flow = flow_at(lcore->flows, ref);

	return (struct packet_ctx){
		.ref = ref,
		.half = half,
		.flags = flow->flags & FLOW_V6 ? CTX_V6 : 0,
		.key = flow_key_of(lcore->flows, flow->key_pos, flow->flags & FLOW_V6),
	};
}

static inline unsigned packet_half(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	return flow_half_by(packet_has_flow(ctx) ? flow_at(lcore->flows, ctx->ref)->flags
						 : flow_stub_at(lcore->flows, ctx->ref)->flags,
		ctx->pkt);
}

#endif
