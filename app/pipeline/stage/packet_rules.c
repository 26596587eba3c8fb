// SPDX-License-Identifier: BSD-3-Clause
// Asks the policy about a packet by itself: addresses, tunnels, applications by network. Finds
// packets that no host accepts, and wrong checksums.
#include "pipeline/stage/packet_rules.h"
#include <string.h>
#include "pipeline/event/flow_event.h"
#include "pipeline/flow/ends.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/wire/checksum.h"
#include "pipeline/wire/parse_layers.h"

struct decide_input packet_decide_input(const struct lcore *lcore, const struct packet_ctx *ctx,
	const struct flow_ends *ends, uint8_t mac[MAC_BYTES])
{
	const struct pkt *pkt = ctx->pkt;
	bool frame = lcore->policy->asks_frame;
	bool inside = pkt->flags & PKT_FROM_INSIDE || lcore->inside_is_initiator;

	return (struct decide_input){
		.ends = ends,
		.l4_proto = pkt->l4_proto,
		.n_vlan = pkt->n_vlan,
		.app_final = true,
		.c2s_from_inside = pkt->flags & PKT_FROM_INSIDE,
		.vlan = {pkt->vlan[0], pkt->vlan[1]},
		.windows = lcore->windows,
		.mac = frame ? frame_mac(ctx->m, inside, mac) : NULL,
		.dscp = frame ? frame_dscp(ctx->m, pkt->l3_off) : 0,
	};
}

enum verdict packet_drop_by_rule(struct lcore *lcore, struct packet_ctx *ctx, uint32_t rule)
{
	if (rule != RULE_DEFAULT)
		ctx->rule_uid = lcore->policy->rules[rule].uid;
	ctx->reason = DROP_RULE;
	return VERDICT_DROP;
}

enum verdict packet_decide_addresses(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow_ends ends;

	packet_ends(ctx->m, &ends);
	uint8_t mac[MAC_BYTES];
	struct decide_input input = packet_decide_input(lcore, ctx, &ends, mac);

	input.ports_known = ctx->pkt->flags & PKT_L4_OK;
	struct decision decision = decide(lcore->policy, &input);

	lcore->stats.decisions++;
	if (!action_blocks(decision.action))
		return VERDICT_SEND;
	ctx->flags |= CTX_REPORTED;
	return packet_drop_by_rule(lcore, ctx, decision.rule);
}

static const uint8_t *read_at(struct rte_mbuf *m, uint32_t offset, uint32_t length, uint8_t *buffer)
{
	return rte_pktmbuf_read(m, offset, length, buffer);
}

// The protocol in an IPv6 header, behind its extension headers (RFC 2473 puts some there).
static uint8_t protocol_behind(struct rte_mbuf *m, uint32_t at, uint8_t proto)
{
	uint8_t buffer[8];
	const uint8_t *p;

	for (at += 40; parse_is_extension(proto); proto = p[0]) {
		p = read_at(m, at, 8, buffer);
		if (!p)
			break;
		at += parse_extension_length(proto, p);
	}
	return proto;
}

// The ends of the outermost header, and its protocol. False: there is none but the inspected one.
static bool outer_ends(const struct packet_ctx *ctx, struct flow_ends *ends, uint8_t *proto)
{
	const struct pkt *pkt = ctx->pkt;
	uint8_t buffer[40];

	if (pkt->outer_l3_off == pkt->l3_off)
		return false; // the view of a datagram: its fragments were asked for
	const uint8_t *ip = read_at(ctx->m, pkt->outer_l3_off, 20, buffer);

	memset(ends, 0, sizeof(*ends));
	if (ip && ip[0] >> 4 == 4) {
		*proto = ip[9];
		for (unsigned i = 0; i < 2; i++) {
			ends->address[i][10] = ends->address[i][11] = 0xff;
			memcpy(ends->address[i] + 12, ip + 12 + 4 * i, 4);
		}
		return true;
	}
	ip = read_at(ctx->m, pkt->outer_l3_off, 40, buffer);
	if (!ip)
		return false;
	*proto = protocol_behind(ctx->m, pkt->outer_l3_off, ip[6]);
	memcpy(ends->address, ip + 8, 32);
	return true;
}

static void swap_ends(struct flow_ends *ends)
{
	struct flow_ends as_is = *ends;

	memcpy(ends->address[0], as_is.address[1], 16);
	memcpy(ends->address[1], as_is.address[0], 16);
}

bool packet_outer_refused(struct lcore *lcore, struct packet_ctx *ctx, bool initiator)
{
	struct flow_ends ends;
	uint8_t proto;

	if (ctx->flags & CTX_ALLOWED || !outer_ends(ctx, &ends, &proto))
		return false;
	uint8_t mac[MAC_BYTES];
	struct decide_input input = packet_decide_input(lcore, ctx, &ends, mac);

	input.l4_proto = proto;
	if (lcore->policy->asks_frame)
		input.dscp = frame_dscp(ctx->m, ctx->pkt->outer_l3_off);
	input.c2s_from_inside |= lcore->inside_is_initiator && initiator;
	if (!initiator) {
		swap_ends(&ends);
		input.c2s_from_inside = !input.c2s_from_inside;
	}
	struct decision decision = decide(lcore->policy, &input);

	lcore->stats.decisions++;
	if (!action_blocks(decision.action))
		return false;
	packet_drop_by_rule(lcore, ctx, decision.rule);
	return true;
}

bool packet_tunnel_refused(struct lcore *lcore, struct packet_ctx *ctx)
{
	struct flow_ends ends;
	uint8_t proto;

	if (!outer_ends(ctx, &ends, &proto))
		return false;
	uint8_t mac[MAC_BYTES];
	struct decide_input input = packet_decide_input(lcore, ctx, &ends, mac);

	input.l4_proto = proto;
	if (lcore->policy->asks_frame)
		input.dscp = frame_dscp(ctx->m, ctx->pkt->outer_l3_off);
	uint32_t rule = decide_sender(lcore->policy, &input, input.c2s_from_inside);

	if (rule == RULE_DEFAULT && packet_outer_refused(lcore, ctx, true))
		return packet_outer_refused(lcore, ctx, false);
	if (rule != RULE_DEFAULT)
		packet_drop_by_rule(lcore, ctx, rule);
	return rule != RULE_DEFAULT;
}

bool packet_app_is_blocked(
	struct lcore *lcore, const struct packet_ctx *ctx, uint16_t app, enum confidence confidence)
{
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);
	const struct decide_input input = {
		.ends = &flow_cold_at(lcore->flows, ctx->ref)->ends,
		.l4_proto = flow->l4_proto,
		.n_vlan = flow->n_vlan,
		.vlan = {flow->vlan[0], flow->vlan[1]},
		.mac = flow_mac(flow, flow_cold_at(lcore->flows, ctx->ref)),
		.dscp = flow_cold_at(lcore->flows, ctx->ref)->dscp,
		.ports_known = true,
		.windows = lcore->windows,
		.app = app,
		.confidence = (uint8_t)confidence,
		.app_final = true,
		.c2s_from_inside = flow->flags & FLOW_C2S_INSIDE,
	};

	return action_blocks(decide(lcore->policy, &input).action);
}

uint16_t packet_app_by_network(const struct lcore *lcore, const struct flow_ends *ends)
{
	return app_networks_find(&lcore->policy->app_networks, ends->address[HALF_S2C]);
}

// ---- what no host accepts (packet_invalid.h) ----

bool mbuf_checksum_good(struct lcore *lcore, struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);

	if (pkt->flags & PKT_CSUM_IGNORE)
		return true;
	if (!(pkt->flags & (PKT_CSUM_GOOD | PKT_CSUM_BAD)) && checksum_verify(m))
		lcore->stats.checksum_verified_pkts++;
	return !(pkt->flags & PKT_CSUM_BAD);
}

enum verdict packet_invalid(struct lcore *lcore, struct packet_ctx *ctx, enum drop_reason reason,
	enum invalid_action action)
{
	struct evidence *evidence = evidence_add_loose(lcore, EVIDENCE_INVALID);

	flow_event_invalid(lcore, ctx->m, reason);
	ctx->flags |= CTX_REPORTED;
	ctx->reason = reason;
	if (evidence) {
		evidence_set_packet(evidence, ctx->m);
		evidence->detail = (uint8_t)reason;
		evidence->flags |= action == INVALID_DROP ? EVIDENCE_WAS_DROPPED : 0;
		if (ctx->ref != FLOW_REF_NONE)
			evidence->flow_id = packet_flow_id(lcore, ctx);
	}
	return action == INVALID_DROP ? VERDICT_DROP : VERDICT_SEND;
}

static void count_unsupported(struct stats *stats, enum unsupported_cause cause)
{
	stats->unsupported_pkts++;
	switch (cause) {
	case UNSUPPORTED_HEADERS: stats->unsupported_headers++; break;
	case UNSUPPORTED_TUNNELS: stats->unsupported_tunnels++; break;
	case UNSUPPORTED_ROUTING: stats->unsupported_routing++; break;
	case UNSUPPORTED_FRAGMENTS: stats->unsupported_fragments++; break;
	case UNSUPPORTED_MAX: break;
	}
}

enum verdict packet_unsupported(struct lcore *lcore, struct packet_ctx *ctx, unsigned cause)
{
	count_unsupported(&lcore->stats, cause);
	return packet_invalid(lcore, ctx, DROP_UNSUPPORTED, policy_unsupported(lcore->policy));
}

enum verdict packet_bad_checksum(struct lcore *lcore, struct packet_ctx *ctx)
{
	bool alone = ctx->ref == FLOW_REF_NONE || ctx->pkt->flags & PKT_ICMP_ERROR;

	lcore->stats.bad_checksum_pkts++;
	if (alone && packet_decide_addresses(lcore, ctx) == VERDICT_DROP)
		return VERDICT_DROP;
	return packet_invalid(lcore, ctx, DROP_BAD_CHECKSUM, lcore->policy->malformed);
}
