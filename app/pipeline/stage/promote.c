// SPDX-License-Identifier: BSD-3-Clause
// The step from stub to flow.
#include "pipeline/stage/promote.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include "pipeline/flow/app_usage.h"
#include "pipeline/flow/both_ends.h"
#include "pipeline/flow/ends.h"
#include "pipeline/flow/expect.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/stage/stages.h"
#include "reassembly/tcp_state.h"

static bool passes_midstream(const struct lcore *lcore, const struct flow *flow)
{
	return lcore->policy->tcp.midstream == TCP_MIDSTREAM_PASS && lcore->policy->enforces &&
	       !(flow->flags & FLOW_ALLOWED);
}

// tcp.midstream is pass: what it carries is not looked at, only its ends are. Decided for good when
// nothing before it is under inspection.
static void pass_midstream(struct lcore *lcore, uint32_t ref)
{
	struct flow *flow = flow_at(lcore->flows, ref);

	flow_life_step(flow, FLOW_STEP_CLASSIFY);
	app_usage_settle(lcore->apps, flow);
	flow_cold_at(lcore->flows, ref)->report.passed |= 1 << STREAM_TARGET_MIDSTREAM;
	lcore->stats.flows_midstream_passed++;
}

// It is known where the half begins. Where packets may have passed unseen, its next byte is the
// first all the same if this packet says so.
static bool begins_here(
	const struct flow_stub *stub, const struct pkt *pkt, unsigned half, bool unseen)
{
	if (stub->l4_proto != IPPROTO_TCP || !(stub->tcp_flags[half] & TH_SYN))
		return false;
	uint32_t first = stub->isn[half] + 1;
	bool of_sender = half == flow_half_by(stub->flags, pkt);

	return !unseen || (of_sender ? pkt->tcp_seq == first
				     : pkt->tcp_flags & TH_ACK && pkt->tcp_ack == first);
}

bool packet_promote(struct lcore *lcore, struct packet_ctx *ctx)
{
	const struct pkt *pkt = ctx->pkt;
	struct flow_stub stub = *flow_stub_at(lcore->flows, ctx->ref);
	enum flow_class class = stub_both_heard(&stub)         ? FLOW_CLASS_TCP_UNDECIDED
				: stub.l4_proto == IPPROTO_TCP ? FLOW_CLASS_TCP_UNHEARD
							       : FLOW_CLASS_UDP_ONE_WAY;
	uint32_t ref = flow_promote(lcore, ctx->key, ctx->flags & CTX_V6, ctx->ref, class);

	if (ref == FLOW_REF_NONE)
		return false;
	ctx->ref = ref;
	bool unseen = stub_is_out_of_date(lcore, &stub), known = true;
	bool differ = stub.flags & (FLOW_SYNS_DIFFER | FLOW_ANSWERS_DIFFER);
	struct flow *flow = flow_at(lcore->flows, ref);
	struct flow_cold *cold = flow_cold_at(lcore->flows, ref);

	flow->flags |= stub.flags & (uint16_t) ~(FLOW_SYNS_DIFFER | FLOW_ANSWERS_DIFFER);
	flow->l4_proto = stub.l4_proto;
	flow->in_port = stub.in_port;
	flow->tcp_state =
		(uint8_t)tcp_state_next(tcp_state_of_flags(stub.tcp_flags), TCP_EVENT_USED);
	flow->policy_epoch = stub.policy_epoch;
	flow->n_vlan = pkt->n_vlan;
	memcpy(flow->vlan, pkt->vlan, sizeof(flow->vlan));
	flow_ends_of(ctx->key, flow->flags, &cold->ends);
	cold->realm = parse_key_realm(ctx->key, ctx->flags & CTX_V6);
	cold->dscp = stub.dscp;
	for (unsigned half = 0; half < 2; half++) {
		flow->pkts[half] = stub.pkts[half];
		flow->bytes[half] = stub.bytes[half];
		flow->tcp_flags[half] = stub.tcp_flags[half];
		cold->half[half].window_scale = stub_scale(&stub, half);
		known &= begins_here(&stub, pkt, half, unseen);
		if (begins_here(&stub, pkt, half, unseen)) {
			cold->half[half].start_seq = stub.isn[half] + 1;
			cold->half[half].has_start = true;
			cold->half[half].syns_differ = differ;
			flow->released[half] = stub.isn[half] + 1;
			flow->seen[half] |= SEEN_RELEASED;
			if (stub.tcp_flags[!half] & TH_ACK) {
				flow->acked[half] = stub.isn[half] + 1;
				flow->seen[half] |= SEEN_ACKED;
			}
			if (stub.tcp_flags[half] & TH_FIN)
				flow->seen[half] |= SEEN_FIN_FIRST;
		}
	}
	both_ends_promote(flow, cold, &stub);
	if (pkt->l4_proto == IPPROTO_TCP && pkt->flags & PKT_L4_OK && pkt->tcp_flags & TH_SYN)
		flow->seen[ctx->half] |= SEEN_SYN_DATA;
	bool is_midstream =
		stub.l4_proto == IPPROTO_TCP && !((stub.tcp_flags[0] | stub.tcp_flags[1]) & TH_SYN);

	if (is_midstream || (unseen && !known && stub.l4_proto == IPPROTO_TCP)) {
		flow->flags |= FLOW_MIDSTREAM;
		lcore->stats.flows_midstream++;
	}
	// what one end alone says does not use up what was announced
	if (stub.l4_proto != IPPROTO_TCP || stub.heard & STUB_BOTH_HEARD)
		cold->expected = expect_take(lcore, cold, flow->l4_proto, &flow->app);
	if (cold->expected != EXPECT_NONE && flow->app != APP_NONE)
		flow->confidence = CONFIDENCE_CACHE;
	else if (stub.app)
		flow_know_by_network(flow, stub.app);
	learned_ask(lcore, cold, flow->l4_proto);
	if (unlikely(is_midstream && passes_midstream(lcore, flow)))
		pass_midstream(lcore, ref);
	ctx->flags |= CTX_MADE;
	if (!(stub.flags & FLOW_MONITORED)) // else its stub has said so
		packet_evidence_made(lcore, ctx);
	if (flow->app) {
		bool expected = flow->confidence == CONFIDENCE_CACHE;
		struct evidence *evidence = packet_evidence(
			lcore, ctx, expected ? EVIDENCE_EXPECTED : EVIDENCE_USER_APP);

		flow->decided_pkts = 1;
		lcore->stats.classify_cache += expected;
		evidence->app = flow->app;
		evidence->confidence = flow->confidence;
		if (!expected)
			evidence->detail = EVIDENCE_BY_ADDRESS;
		else
			learned_expected(lcore, ctx->ref, evidence);
	}
	ctx->flags |= CTX_UNDECIDED;
	return true;
}
