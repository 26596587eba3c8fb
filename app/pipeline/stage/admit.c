// SPDX-License-Identifier: BSD-3-Clause
// Stages for packets that have no flow: by link protocol, of the blocked, and the door where
// entries are made.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/policy/decide.h"
#include "pipeline/stage/notice.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/stage/stages.h"
#include "pipeline/stage/packet_invalid.h"
#include "pipeline/stage/packet_rules.h"
#include "pipeline/flow/ends.h"

#define BLOCKED_DATAGRAMS_S 30 // of flows other than TCP, at most
#define ANSWER_TICKS        1  // at most one answer per 67 ms and blocked flow

static enum verdict drop(struct packet_ctx *ctx, enum drop_reason reason)
{
	ctx->reason = reason;
	return VERDICT_DROP;
}

enum verdict stage_link(struct lcore *lcore, struct packet_ctx *ctx)
{
	uint8_t buffer[64];
	uint32_t length = ctx->m->pkt_len < sizeof(buffer) ? ctx->m->pkt_len : sizeof(buffer);

	switch (ctx->pkt->class) {
	case PKT_IP: return VERDICT_PASS;
	case PKT_LINK: {
		const uint8_t *frame = rte_pktmbuf_read(ctx->m, 0, length, buffer);
		unsigned protocol = parse_link_protocol(frame, length, ctx->pkt);

		lcore->stats.link_pkts++;
		if (protocol == LINK_PROTO_ARP)
			lcore->stats.arp_pkts++;
		ctx->flags |= CTX_REPORTED;
		return lcore->policy->link[protocol] == ACTION_PASS ? VERDICT_SEND
								    : drop(ctx, DROP_ETHERTYPE);
	}
	case PKT_MALFORMED:
		lcore->stats.malformed_pkts++;
		if (ctx->pkt->dport && packet_decide_addresses(lcore, ctx) == VERDICT_DROP)
			return VERDICT_DROP;
		return packet_invalid(lcore, ctx, DROP_MALFORMED, lcore->policy->malformed);
	case PKT_UNSUPPORTED:
		if (ctx->pkt->dport && packet_decide_addresses(lcore, ctx) == VERDICT_DROP)
			return VERDICT_DROP;
		return packet_unsupported(lcore, ctx, ctx->pkt->sport);
	default: lcore->stats.linktype_pkts++; return VERDICT_SEND;
	}
}

static bool is_syn(const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK &&
	       (pkt->tcp_flags & (TH_SYN | TH_ACK | TH_RST | TH_FIN)) == TH_SYN;
}

static bool stub_still_blocked(
	struct lcore *lcore, const struct flow_stub *stub, const struct packet_ctx *ctx)
{
	struct flow_ends ends;
	uint8_t mac[MAC_BYTES];

	flow_ends_of(ctx->key, stub->flags, &ends);
	const struct decide_input input = {
		.ends = &ends,
		.app = stub->app,
		.confidence = stub->app ? stub->confidence : CONFIDENCE_NONE,
		.l4_proto = stub->l4_proto,
		.n_vlan = ctx->pkt->n_vlan,
		.app_final = true,
		.ports_known = true,
		.c2s_from_inside = stub->flags & FLOW_C2S_INSIDE,
		.vlan = {ctx->pkt->vlan[0], ctx->pkt->vlan[1]},
		.windows = lcore->windows,
		.mac = packet_mac(lcore, ctx, stub->flags, mac),
		.dscp = stub->dscp,
	};

	lcore->stats.decisions_again++;
	return action_blocks(decide(lcore->policy, &input).action);
}

// What it drops does not prolong it.
static bool is_over(const struct lcore *lcore, const struct flow_stub *stub)
{
	uint64_t ticks = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT) - stub->last_tick;
	uint64_t limit = lcore->flows->times.normal_ns[FLOW_CLASS_BLOCKED];

	if (stub->l4_proto != IPPROTO_TCP)
		limit = RTE_MIN(limit, BLOCKED_DATAGRAMS_S * NS_PER_S);
	return ticks << STUB_TICK_SHIFT >= limit;
}

// The flow stays blocked for its time-out: everything is dropped, late TCP segments are answered
// so that an end that lost its RST learns of it. A new SYN is a new connection: to the cache. What
// no host accepts neither prolongs it nor is answered.
enum verdict stage_blocked(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (ctx->ref == FLOW_REF_NONE || !(ctx->ref & FLOW_REF_STUB))
		return VERDICT_PASS;
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	if (stub->lru_class != FLOW_CLASS_BLOCKED)
		return VERDICT_PASS;
	if (stub->flags & FLOW_TRACE)
		ctx->pkt->flags |= PKT_TRACE;
	bool reprieved = false;

	if (stub->policy_epoch != lcore->epoch) {
		stub->policy_epoch = lcore->epoch;
		reprieved = lcore->policy->reevaluate == REEVALUATE_ALL &&
			    !(stub->flags & (FLOW_OPERATOR | FLOW_FOUND)) &&
			    !stub_still_blocked(lcore, stub, ctx);
	}
	bool good = packet_checksum_good(lcore, ctx);
	bool over = is_over(lcore, stub);

	if (reprieved || over || (good && is_syn(ctx->pkt))) {
		if (reprieved)
			packet_evidence(lcore, ctx, EVIDENCE_REPRIEVED);
		lcore->stats.flows_ended++;
		flow_remove(lcore, ctx->ref,
			reprieved ? FLOW_STEP_REPRIEVE
			: over    ? FLOW_STEP_LAPSE
				  : FLOW_STEP_NEW_SYN);
		ctx->ref = FLOW_REF_NONE;
		ctx->flow_id = 0;
		packet_flag_if(ctx, CTX_WAS_BLOCKED, !reprieved && !over);
		return VERDICT_PASS;
	}
	ctx->rule_uid = stub->rule_uid;
	ctx->flags |= CTX_REPORTED;
	if (!good)
		return drop(ctx, DROP_BLOCKED);
	if (unlikely(notice_takes(lcore, ctx)))
		return drop(ctx, DROP_BLOCKED);
	uint32_t tick = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT);

	bool answers = stub->action == ACTION_RESET && tick - stub->answer_tick >= ANSWER_TICKS;

	if (answers) {
		stub->answer_tick = tick;
		teardown_answer(lcore, ctx->m);
	}
	if (!(stub->flags & FLOW_LATE) && (answers || stub->action != ACTION_RESET)) {
		flow_life_step_stub(stub, FLOW_STEP_NOTE_LATE);
		packet_evidence(lcore, ctx, EVIDENCE_BLOCKED)->detail = answers;
	}
	return drop(ctx, DROP_BLOCKED);
}

// Who began it: the SYN says, else (the SYN-ACK says, else) the zone, else the first packet.
static bool sender_is_initiator(const struct lcore *lcore, const struct pkt *pkt)
{
	if (pkt->l4_proto != IPPROTO_TCP || !(pkt->flags & PKT_L4_OK))
		return true;
	if (pkt->tcp_flags & TH_SYN)
		return !(pkt->tcp_flags & TH_ACK);
	if (lcore->inside_is_initiator)
		return true;
	return pkt->flags & PKT_FROM_INSIDE;
}

// The key under which the cache knows the packet's connection, made from the flow's. In words, as
// it is read again at once.
static void cache_key(const struct lcore *lcore, const struct pkt *pkt, const union flow_key *key,
	bool initiator, union conn_words *out)
{
	bool inside = (pkt->flags & PKT_FROM_INSIDE) || lcore->inside_is_initiator;
	bool a_began = !!(pkt->flags & PKT_A_TO_B) == initiator, v6 = pkt->flags & PKT_V6;
	uint16_t port = initiator ? pkt->dport : pkt->sport;

	if (v6) {
		memcpy(out->words, a_began ? key->v6.addr_a : key->v6.addr_b, 16);
		memcpy(out->words + 2, a_began ? key->v6.addr_b : key->v6.addr_a, 16);
	} else {
		const uint64_t mapped = 0xffff0000; // ::ffff:0:0/96
		uint64_t a = key->v4.addr_a, b = key->v4.addr_b;

		out->words[0] = out->words[2] = 0;
		out->words[1] = mapped | (a_began ? a : b) << 32;
		out->words[3] = mapped | (a_began ? b : a) << 32;
	}
	out->words[4] = port | (uint64_t)pkt->l4_proto << 16 |
			(uint64_t)(inside == initiator) << 24 | (uint64_t)pkt->realm << 32;
	out->words[5] = CACHE_TUPLE;
}

// The checksum stage has let it through: only what a host accepts refreshes an entry.
static bool refreshes_entry(const struct pkt *pkt)
{
	return is_syn(pkt) || pkt->l4_proto == IPPROTO_UDP;
}

bool packet_cached(struct lcore *lcore, struct packet_ctx *ctx, bool initiator)
{
	const struct pkt *pkt = ctx->pkt;
	union conn_words key;

	if (!conn_cache_count(lcore->conn_cache))
		return false;
	cache_key(lcore, pkt, ctx->key, initiator, &key);
	enum conn_verdict verdict =
		conn_cache_hit(lcore, &key.key, ctx->m->pkt_len, refreshes_entry(pkt));

	ctx->flags &= ~(uint32_t)CTX_ALLOWED;
	packet_flag_if(ctx, CTX_ALLOWED, verdict == CONN_ALLOWED);
	return verdict == CONN_DROPS;
}

void packet_cache_ask(const struct lcore *lcore, const struct pkt *pkt, const union flow_key *key,
	struct cache_question *question)
{
	cache_key(lcore, pkt, key, sender_is_initiator(lcore, pkt), &question->tuple);
	question->hash = conn_words_hash(&lcore->parse.seed, &question->tuple);
	conn_cache_prefetch(lcore->conn_cache, question->hash);
}

bool packet_refused(struct lcore *lcore, struct rte_mbuf *m, const struct cache_question *question)
{
	const struct pkt *pkt = pkt_of(m);

	return !(pkt->flags & (PKT_ICMP_ERROR | PKT_TRACE)) && mbuf_checksum_good(lcore, m) &&
	       conn_cache_drops(
		       lcore, &question->tuple, question->hash, m->pkt_len, refreshes_entry(pkt));
}

static enum flow_class stub_class(const struct pkt *pkt)
{
	return pkt->l4_proto == IPPROTO_TCP ? FLOW_CLASS_EMBRYONIC : FLOW_CLASS_STATELESS;
}

// A connection that may have lived before the gateway did, or that began while its lcore stood
// still, is picked up for a while, and then has its entry: a restart cuts nobody who is not silent.
static bool is_within_grace(const struct lcore *lcore)
{
	uint64_t unseen = atomic_load_explicit(&lcore->unseen_until_ns, memory_order_relaxed);

	return lcore->now_ns < RTE_MAX(lcore->began_ns, unseen) + MIDSTREAM_GRACE_S * NS_PER_S;
}

static bool refuses_midstream(const struct lcore *lcore, const struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;

	return lcore->policy->tcp.midstream == TCP_MIDSTREAM_DROP && lcore->policy->enforces &&
	       pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK &&
	       !(pkt->tcp_flags & TH_SYN) && !(ctx->flags & (CTX_BEGAN | CTX_ALLOWED)) &&
	       !is_within_grace(lcore);
}

static uint16_t whose(const struct lcore *lcore, const struct pkt *pkt, bool initiator)
{
	bool inside = (pkt->flags & PKT_FROM_INSIDE) || lcore->inside_is_initiator;
	uint16_t flags = initiator ? 0 : FLOW_FROM_RESPONDER;

	if (!!(pkt->flags & PKT_A_TO_B) == initiator)
		flags |= FLOW_INITIATOR_IS_A;
	if (inside == initiator)
		flags |= FLOW_C2S_INSIDE;
	return flags;
}

// Nothing deep before payload: an entry begins as a 64-byte stub; the account stage makes a flow of
// it when the first payload is there, which for a datagram is now.
enum verdict stage_admit(struct lcore *lcore, struct packet_ctx *ctx)
{
	if (ctx->ref != FLOW_REF_NONE)
		return VERDICT_PASS;
	const struct pkt *pkt = ctx->pkt;
	bool initiator = ctx->flags & CTX_BEGAN || sender_is_initiator(lcore, pkt);

	if (packet_cached(lcore, ctx, initiator)) {
		ctx->flags |= CTX_REPORTED;
		return drop(ctx, DROP_CONN_CACHE);
	}
	if (unlikely(refuses_midstream(lcore, ctx)))
		return drop(ctx, DROP_MIDSTREAM);
	if (unlikely(pkt->flags & PKT_TUNNEL) && packet_outer_refused(lcore, ctx, initiator))
		return VERDICT_DROP;
	uint16_t flags = whose(lcore, pkt, initiator);

	ctx->ref = flow_stub_add(lcore, ctx->key, ctx->flags & CTX_V6, stub_class(pkt), flags);
	if (ctx->ref == FLOW_REF_NONE) {
		lcore->stats.flow_table_full++;
		return lcore->policy->enforces ? drop(ctx, DROP_FLOW_TABLE_FULL) : VERDICT_SEND;
	}
	struct flow_stub *stub = flow_stub_at(lcore->flows, ctx->ref);

	stub->l4_proto = pkt->l4_proto;
	stub->dscp = frame_dscp(ctx->m, pkt->l3_off) & 0x3fu;
	stub->in_port = initiator ? pkt->in_port : lcore->dp->ports[pkt->in_port].peer;
	if (ctx->flags & CTX_WAS_BLOCKED)
		flow_life_step_stub(stub, FLOW_STEP_DOUBT);
	if (ctx->flags & CTX_ALLOWED)
		flow_life_step_stub(stub, FLOW_STEP_ALLOW);
	if (unlikely(!app_networks_empty(&lcore->policy->app_networks))) {
		struct flow_ends ends;

		flow_ends_of(ctx->key, stub->flags, &ends);
		stub->app = packet_app_by_network(lcore, &ends);
	}
	ctx->flags |= CTX_UNDECIDED;
	return VERDICT_PASS;
}
