// SPDX-License-Identifier: BSD-3-Clause
// The stage of packets that make no flow: fragments wait for their datagram; ICMP errors pass if
// the policy allows their own addresses, and if the flow that they quote can have caused them.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/policy/decide.h"
#include "pipeline/vocab/fault.h"
#include "pipeline/stage/fragments.h"
#include "pipeline/stage/stages.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/flow/ends.h"
#include "pipeline/wire/owner.h"

#define ICMP_REDIRECT    5
#define ICMPV6_REDIRECT  137
#define ICMP_ERROR_MAX   576  // bytes of IP (RFC 1812 section 4.3.2.3)
#define ICMPV6_ERROR_MAX 1280 // the least MTU (RFC 4443 section 2.4 (c))
#define WINDOW_UNSCALED  65535u

static enum verdict drop(struct packet_ctx *ctx, enum drop_reason reason)
{
	ctx->reason = reason;
	return VERDICT_DROP;
}

// What is known of the flow that an ICMP error quotes.
struct quoted {
	struct flow_ends ends;
	uint16_t flags; // FLOW_*
	uint16_t app;
	uint8_t confidence;
	uint8_t l4_proto;
	uint8_t dscp;  // of the flow
	unsigned half; // of the quoted packet
	uint32_t pkts; // of that half
	bool has_edges;
	uint32_t first, last; // TCP: sequence numbers that may be in flight
};

static void quote_flow(const struct lcore *lcore, uint32_t ref, struct quoted *q)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	const struct flow_half *half = &cold->half[q->half];

	q->ends = cold->ends;
	q->app = flow->app;
	q->confidence = flow->confidence;
	q->l4_proto = flow->l4_proto;
	q->dscp = cold->dscp;
	q->pkts = flow->pkts[q->half];
	q->has_edges = flow->seen[q->half] & SEEN_RELEASED;
	q->last = flow->released[q->half];
	if (flow->seen[q->half] & SEEN_ACKED)
		q->first = flow->acked[q->half];
	else
		q->first = half->has_start ? half->start_seq - 1 : q->last - WINDOW_UNSCALED;
}

static void quote_stub(
	const struct lcore *lcore, uint32_t ref, const union flow_key *key, struct quoted *q)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ref);
	uint8_t flags = stub->tcp_flags[q->half];

	flow_ends_of(key, stub->flags, &q->ends);
	q->app = stub->app;
	q->confidence = stub->app ? CONFIDENCE_IP : CONFIDENCE_NONE;
	q->l4_proto = stub->l4_proto;
	q->dscp = stub->dscp;
	q->pkts = stub->pkts[q->half];
	q->has_edges = flags & TH_SYN;
	q->first = stub->isn[q->half];
	q->last = q->first + 1 + (flags & TH_FIN ? 1 : 0);
}

// The key's direction is that of the quoted packet.
static struct quoted quote(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	bool stub = ctx->ref & FLOW_REF_STUB;
	struct quoted q = {
		.flags = stub ? flow_stub_at(lcore->flows, ctx->ref)->flags
			      : flow_at(lcore->flows, ctx->ref)->flags,
	};
	bool from_a = ctx->pkt->flags & PKT_A_TO_B;

	q.half = from_a == !!(q.flags & FLOW_INITIATOR_IS_A) ? HALF_C2S : HALF_S2C;
	if (stub)
		quote_stub(lcore, ctx->ref, ctx->key, &q);
	else
		quote_flow(lcore, ctx->ref, &q);
	return q;
}

static const uint8_t *read_ip(struct packet_ctx *ctx, uint32_t offset, uint8_t buffer[40])
{
	return rte_pktmbuf_read(ctx->m, offset, ctx->pkt->flags & PKT_V6 ? 40 : 20, buffer);
}

// An error goes to the source of the packet that it is about (RFC 792, RFC 4443 section 2.2).
static bool goes_to_quoted_source(struct packet_ctx *ctx)
{
	bool v6 = ctx->pkt->flags & PKT_V6;
	uint8_t outer[40], inner[40];
	const uint8_t *ip = read_ip(ctx, ctx->pkt->l3_off, outer);
	const uint8_t *quoted = read_ip(ctx, ctx->pkt->emb_off, inner);

	return ip && quoted &&
	       memcmp(ip + (v6 ? 24 : 16), quoted + (v6 ? 8 : 12), v6 ? 16 : 4) == 0;
}

static bool is_oversize(const struct pkt *pkt)
{
	uint32_t length = (uint32_t)(pkt->payload_off - pkt->l3_off) + pkt->payload_len;

	return length > (pkt->flags & PKT_V6 ? ICMPV6_ERROR_MAX : ICMP_ERROR_MAX);
}

// Zones are part of the key (parse_key_zones): an error that comes from the zone of the packet that
// it quotes finds the flow under the other one.
static bool quotes_flow_of_own_zone(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	union flow_key key = *ctx->key;

	if (lcore->inside_is_initiator)
		return false;
	if (ctx->flags & CTX_V6)
		key.v6.flags ^= KEY_A_INSIDE;
	else
		key.v4.flags ^= KEY_A_INSIDE;
	return flow_find(lcore->flows, &key, ctx->flags & CTX_V6) != FLOW_REF_NONE;
}

// The counter of what is wrong with it; NULL: nothing. RFC 5927 section 4.1: the segment that is
// quoted must be in flight; hosts take one that is at the next number, too, as a bare
// acknowledgement is.
static uint64_t *fault_of(struct lcore *lcore, struct packet_ctx *ctx, const struct quoted *q)
{
	struct stats *stats = &lcore->stats;
	const struct pkt *pkt = ctx->pkt;

	if (!goes_to_quoted_source(ctx))
		return &stats->icmp_errors_receiver;
	if (is_oversize(pkt))
		return &stats->icmp_errors_oversize;
	if (!q)
		return quotes_flow_of_own_zone(lcore, ctx) ? &stats->icmp_errors_zone : NULL;
	if (!q->pkts)
		return &stats->icmp_errors_unsent;
	if (q->l4_proto == IPPROTO_TCP &&
		(!q->has_edges || pkt->tcp_ack - q->first > q->last - q->first))
		return &stats->icmp_errors_window;
	return NULL;
}

// An error is an answer within the flow that it quotes, by whoever sends it: the rules of the flow
// must allow that address in the place of the end that the quoted packet went to, or the rules must
// allow the error by itself. And no rule may refuse what its sender sends.
static enum verdict decide_error(
	struct lcore *lcore, struct packet_ctx *ctx, const struct quoted *q)
{
	struct flow_ends own, ends = q->ends;
	bool flow_from_inside = q->flags & FLOW_C2S_INSIDE;

	packet_ends(ctx->m, &own);
	if (q->flags & FLOW_ALLOWED && !memcmp(own.address[0], ends.address[!q->half], 16))
		return VERDICT_SEND;
	uint8_t mac[MAC_BYTES];
	struct decide_input input = packet_decide_input(lcore, ctx, &own, mac);
	uint32_t rule = decide_sender(lcore->policy, &input, flow_from_inside);

	lcore->stats.decisions++;
	if (rule != RULE_DEFAULT)
		return packet_drop_by_rule(lcore, ctx, rule);
	memcpy(ends.address[!q->half], own.address[0], 16);
	input.ends = &ends;
	input.app = q->app;
	input.confidence = q->confidence;
	input.l4_proto = q->l4_proto;
	input.dscp = q->dscp;
	input.ports_known = true;
	input.app_final = q->flags & FLOW_APP_FINAL ||
			  (q->l4_proto != IPPROTO_TCP && q->l4_proto != IPPROTO_UDP);
	input.c2s_from_inside = flow_from_inside;
	if (q->flags & FLOW_ALLOWED || !action_blocks(decide(lcore->policy, &input).action))
		return VERDICT_SEND;
	return packet_decide_addresses(lcore, ctx);
}

// Half of the errors may be such that quote no flow: a flood of these, which is easy to make,
// leaves room for the others.
static bool is_beyond_limit(struct lcore *lcore, bool has_flow)
{
	uint32_t limit = lcore->policy->icmp_errors_per_s;

	if (!lcore->policy->enforces)
		return false;
	if (lcore->now_ns - lcore->icmp_error_window_ns >= NS_PER_S) {
		lcore->icmp_error_window_ns = lcore->now_ns;
		lcore->icmp_errors_in_window = 0;
	}
	if (lcore->icmp_errors_in_window >= (has_flow ? limit : limit / 2))
		return true;
	lcore->icmp_errors_in_window++;
	return false;
}

// No packet of its flow can have caused it. A policy that enforces nothing drops nothing.
static enum verdict refuse_error(struct lcore *lcore, struct packet_ctx *ctx)
{
	return lcore->policy->enforces
		       ? drop(ctx, DROP_ICMP_ERROR)
		       : packet_invalid(lcore, ctx, DROP_ICMP_ERROR, INVALID_OBSERVE);
}

static bool is_blocked(const struct lcore *lcore, uint32_t ref)
{
	return ref != FLOW_REF_NONE && ref & FLOW_REF_STUB &&
	       flow_stub_at(lcore->flows, ref)->lru_class == FLOW_CLASS_BLOCKED;
}

static enum verdict admit_error(struct lcore *lcore, struct packet_ctx *ctx)
{
	bool has_flow = ctx->ref != FLOW_REF_NONE;
	struct quoted quoted;

	lcore->stats.icmp_error_pkts++;
	if (is_blocked(lcore, ctx->ref)) {
		ctx->flags |= CTX_REPORTED;
		return drop(ctx, DROP_BLOCKED);
	}
	if (!packet_checksum_good(lcore, ctx))
		return packet_bad_checksum(lcore, ctx);
	if (unlikely(ctx->pkt->flags & PKT_TUNNEL) && packet_tunnel_refused(lcore, ctx))
		return VERDICT_DROP;
	if (has_flow)
		quoted = quote(lcore, ctx);
	uint64_t *fault = fault_of(lcore, ctx, has_flow ? &quoted : NULL);

	if (fault) {
		++*fault;
		return refuse_error(lcore, ctx);
	}
	enum verdict verdict =
		has_flow ? decide_error(lcore, ctx, &quoted) : packet_decide_addresses(lcore, ctx);

	if (verdict == VERDICT_SEND && is_beyond_limit(lcore, has_flow)) {
		lcore->stats.icmp_errors_limited++;
		return drop(ctx, DROP_ICMP_LIMIT);
	}
	return verdict;
}

static bool is_redirect(const struct pkt *pkt)
{
	if (!(pkt->flags & PKT_L4_OK))
		return false;
	return pkt->l4_proto == IPPROTO_ICMP
		       ? pkt->sport == ICMP_REDIRECT
		       : pkt->l4_proto == IPPROTO_ICMPV6 && pkt->sport == ICMPV6_REDIRECT;
}

// Held until its datagram is whole. A header with a bad checksum is of no datagram: no host takes
// it.
static enum verdict take_fragment(struct lcore *lcore, struct packet_ctx *ctx)
{
	uint16_t known = PKT_SETTLED | PKT_MOVED;

	if (ctx->flags & CTX_VIEW && !fragments_can_nest(lcore, ctx->pkt))
		return packet_unsupported(lcore, ctx, UNSUPPORTED_FRAGMENTS);
	lcore->stats.fragment_pkts += !(ctx->flags & CTX_VIEW) && !(ctx->pkt->owner_slot & known);
	if (unlikely(ctx->pkt->flags & PKT_TUNNEL) && packet_tunnel_refused(lcore, ctx))
		return VERDICT_DROP;
	if (packet_checksum_good(lcore, ctx))
		return fragments_take(lcore, ctx);
	return packet_bad_checksum(lcore, ctx);
}

enum verdict stage_stateless(struct lcore *lcore, struct packet_ctx *ctx)
{
	uint8_t proto = ctx->pkt->l4_proto;

	if (likely((proto == IPPROTO_TCP || proto == IPPROTO_UDP) &&
		    !(ctx->pkt->flags & (PKT_FRAGMENT | PKT_ICMP_ERROR))))
		return VERDICT_PASS;
	if (ctx->pkt->flags & PKT_FRAGMENT)
		return take_fragment(lcore, ctx);
	if (unlikely(is_redirect(ctx->pkt))) {
		lcore->stats.icmp_redirects++;
		if (policy_drops_redirects(lcore->policy))
			return drop(ctx, DROP_ICMP_REDIRECT);
	}
	if (FAULT(ICMP_RULES) && ctx->pkt->flags & PKT_ICMP_ERROR && ctx->ref != FLOW_REF_NONE)
		return VERDICT_SEND;
	return ctx->pkt->flags & PKT_ICMP_ERROR ? admit_error(lcore, ctx) : VERDICT_PASS;
}
