// SPDX-License-Identifier: BSD-3-Clause
// Resets or allows a flow at the operator's request.
#include <string.h>
#include "pipeline/event/flow_event.h"
#include "pipeline/operator.h"
#include "pipeline/stage/flow_report.h"
#include "pipeline/stage/teardown.h"
#include "pipeline/flow/app_usage.h"
#include "pipeline/event/evidence.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/flow/table.h"

static const union flow_key *key_at(const struct lcore *lcore, uint32_t ref, bool *v6)
{
	bool stub = ref & FLOW_REF_STUB;

	*v6 = (stub ? flow_stub_at(lcore->flows, ref)->flags : flow_at(lcore->flows, ref)->flags) &
	      FLOW_V6;
	return flow_key_of(lcore->flows,
		stub ? flow_stub_at(lcore->flows, ref)->key_pos
		     : flow_at(lcore->flows, ref)->key_pos,
		*v6);
}

static void learn(
	struct lcore *lcore, uint32_t ref, const struct event *about, uint16_t flags, uint8_t cache)
{
	bool peer = cache == CACHE_PEER, v6;
	const union flow_key *key = key_at(lcore, ref, &v6);
	struct conn_entry entry = {
		.key =
			{
				.port = peer ? 0 : about->ends.port[HALF_S2C],
				.realm = parse_key_realm(key, v6),
				.l4_proto = peer ? 0 : about->l4_proto,
				.from_inside = !!(flags & FLOW_C2S_INSIDE),
				.mode = cache,
			},
		.created_ns = lcore->now_ns,
		.flow_id = about->flow_id,
		.app = about->app,
		.confidence = about->confidence,
		.flags = CONN_ENTRY_OPERATOR,
	};

	memcpy(entry.key.initiator, about->ends.address[HALF_C2S], 16);
	memcpy(entry.key.responder, about->ends.address[HALF_S2C], 16);
	conn_cache_learn(lcore, &entry, true);
}

static void reset_stub(struct lcore *lcore, uint32_t ref)
{
	struct flow_stub *stub = flow_stub_at(lcore->flows, ref);

	flow_life_step_stub(stub, FLOW_STEP_RESET);
	stub->action = ACTION_RESET;
	stub->rule_uid = 0;
	stub->answer_tick = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT) - 1; // the next packet's
	stub->confidence = stub->app ? CONFIDENCE_IP : CONFIDENCE_NONE;       // by its network
	flow_report_end(lcore, ref, FLOW_END_FORCED); // before its class says it was reported
	app_usage_end_stub(lcore->apps, stub);
	flow_block_stub(lcore, ref);
}

unsigned operator_reset(struct lcore *lcore, uint32_t ref, uint8_t cache)
{
	bool stub = ref & FLOW_REF_STUB;
	struct event about = {0};
	unsigned sent = 0;
	uint16_t flags;

	flow_event_identify(lcore, ref, &about);
	struct evidence *evidence = evidence_add(lcore, EVIDENCE_OPERATOR, about.flow_id);

	evidence->detail = EVIDENCE_FLOW_RESET;
	evidence_set_ref(evidence, lcore, ref);
	if (stub) {
		flags = flow_stub_at(lcore->flows, ref)->flags;
	} else {
		struct flow *flow = flow_at(lcore->flows, ref);

		flow_life_step(flow, FLOW_STEP_RESET);
		flow->action = ACTION_RESET;
		flow->rule_uid = 0;
		flags = flow->flags;
		app_usage_settle(lcore->apps, flow);
		sent = teardown_flow_now(lcore, ref);
	}
	evidence_add(lcore, EVIDENCE_RESETS, about.flow_id)->length = sent;
	if (cache != CACHE_NONE)
		learn(lcore, ref, &about, flags, cache);
	lcore->stats.flows_condemned++;
	lcore->apps[about.app < APPS_MAX ? about.app : APP_NONE].flows_blocked++;
	if (stub) {
		reset_stub(lcore, ref);
		return sent;
	}
	flow_report_end(lcore, ref, FLOW_END_FORCED);
	flow_block(lcore, ref);
	return sent;
}

static bool keep(struct lcore *lcore, uint32_t ref, uint64_t flow_id, uint64_t ttl_ns)
{
	struct allowances *allowances = &lcore->allowances;

	if (allowances->n == ALLOWANCES_MAX)
		return false;
	struct allowance *allowance = &allowances->at[allowances->n++];

	*allowance = (struct allowance){
		.expires_ns = lcore->now_ns + ttl_ns,
		.flow_id = flow_id,
	};
	allowance->key = *key_at(lcore, ref, &allowance->v6);
	if (allowance->expires_ns < allowances->next_ns || allowances->n == 1)
		allowances->next_ns = allowance->expires_ns;
	return true;
}

bool operator_allow(struct lcore *lcore, uint32_t ref, uint64_t ttl_ns)
{
	bool stub = ref & FLOW_REF_STUB;
	struct event about = {0};

	flow_event_identify(lcore, ref, &about);
	bool blocked = stub && flow_stub_at(lcore->flows, ref)->lru_class == FLOW_CLASS_BLOCKED;

	if (ttl_ns && !blocked && !keep(lcore, ref, about.flow_id, ttl_ns))
		return false;
	struct evidence *evidence = evidence_add(lcore, EVIDENCE_OPERATOR, about.flow_id);

	evidence->detail = EVIDENCE_FLOW_ALLOW;
	evidence_set_ref(evidence, lcore, ref);
	if (blocked) {
		lcore->stats.flows_ended++;
		flow_remove(lcore, ref, FLOW_STEP_RELEASE);
	} else if (stub) {
		flow_life_step_stub(flow_stub_at(lcore->flows, ref), FLOW_STEP_ALLOW);
	} else {
		struct flow *flow = flow_at(lcore->flows, ref);

		flow_life_step(flow, FLOW_STEP_ALLOW);
		flow->rule_uid = 0;
	}
	return true;
}

// The policy decides again, with the flow's next packet.
static void expire(struct lcore *lcore, const struct allowance *allowance)
{
	uint32_t ref = flow_find(lcore->flows, &allowance->key, allowance->v6);
	struct event about = {0};

	if (ref == FLOW_REF_NONE)
		return;
	flow_event_identify(lcore, ref, &about);
	if (about.flow_id != allowance->flow_id)
		return; // others on these ports
	if (ref & FLOW_REF_STUB) {
		struct flow_stub *stub = flow_stub_at(lcore->flows, ref);

		if (!(stub->flags & FLOW_ALLOWED))
			return;
		flow_life_step_stub(stub, FLOW_STEP_RESUME);
		stub->policy_epoch = ~lcore->epoch;
	} else {
		struct flow *flow = flow_at(lcore->flows, ref);

		if (!(flow->flags & FLOW_ALLOWED))
			return;
		flow_life_step(flow, FLOW_STEP_EXPIRE);
		flow->policy_epoch = ~lcore->epoch;
	}
	evidence_add(lcore, EVIDENCE_OPERATOR, about.flow_id)->detail = EVIDENCE_ALLOW_EXPIRED;
}

void operator_age(struct lcore *lcore)
{
	struct allowances *allowances = &lcore->allowances;

	if (!allowances->n || lcore->now_ns < allowances->next_ns)
		return;
	allowances->next_ns = UINT64_MAX;
	for (unsigned i = 0; i < allowances->n;) {
		struct allowance *allowance = &allowances->at[i];

		if (lcore->now_ns >= allowance->expires_ns) {
			expire(lcore, allowance);
			*allowance = allowances->at[--allowances->n];
			continue;
		}
		if (allowance->expires_ns < allowances->next_ns)
			allowances->next_ns = allowance->expires_ns;
		i++;
	}
}
