// SPDX-License-Identifier: BSD-3-Clause
// The answer of explain: each flow that was found with its verdict, blocked ones first, and the
// evidence of the first.
#include <stdlib.h>
#include <string.h>

#include "control/ctl/cache_json.h"
#include "control/event/eve.h"
#include "control/ctl/explain.h"
#include "control/ctl/flow_json.h"
#include "control/ctl/list_filter.h"
#include "pipeline/event/evidence.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

struct row { // a flow
	uint64_t flow_id;
	uint64_t begin_ns;
	uint64_t decided_ns; // or begin_ns
	const struct flow_record *live;
	const struct evidence *decision; // what the verdict stands on; NULL: nothing that is known
	struct flow_ends ends;
	uint8_t l4_proto; // 0: its ends are not known
	enum explain_outcome outcome;
	bool superseded; // a newer policy lets such flows pass
	char verdict[EXPLAIN_VERDICT_MAX];
};

struct answer {
	const struct explain_found *found;
	struct row rows[EXPLAIN_FLOWS_MAX]; // as they are reported
	uint32_t n_rows;
	const struct row *first;   // that it is about; NULL: no flow
	struct evidence *reported; // of the first, and of no flow
	uint32_t n_reported;
	struct conn_list stops; // entries that stop what the verdict is about
	struct explain_facts facts;
};

// Of a flow itself, not of the cache that it taught.
static bool is_of_flow(const struct evidence *evidence)
{
	switch ((enum evidence_kind)evidence->kind) {
	case EVIDENCE_CACHE_LEARNED:
	case EVIDENCE_CACHE_HIT:
	case EVIDENCE_CACHE_REVOKED:
	case EVIDENCE_CACHE_PASSED: return false;
	default: return evidence->flow_id != 0;
	}
}

static void read_row_ends(struct row *row, const struct explain_found *found)
{
	if (row->live) {
		row->ends = row->live->ends;
		row->l4_proto = row->live->l4_proto;
		row->begin_ns = row->live->start_ns;
	}
	for (uint32_t i = 0; i < found->n; i++) {
		const struct evidence *evidence = &found->evidence[i];

		if (evidence->flow_id != row->flow_id || !is_of_flow(evidence))
			continue;
		if (!row->begin_ns)
			row->begin_ns = evidence->at_ns;
		if (!row->l4_proto && evidence->flags & EVIDENCE_HAS_ENDS) {
			row->ends = evidence->ends;
			row->l4_proto = evidence->l4_proto;
		}
	}
}

static void read_row(struct row *row, const struct explain_found *found)
{
	struct explain_facts facts = {
		.context = found->context,
		.flow_id = row->flow_id,
		.live = row->live,
		.evidence = found->evidence,
		.n = found->n,
		.overwritten = found->overwritten,
	};

	if (row->live)
		facts.flow = *row->live;
	read_row_ends(row, found);
	row->outcome = explain_verdict_of_flow(&facts, row->verdict);
	row->decision = explain_last(&facts,
		row->outcome == EXPLAIN_MONITORED ? EVIDENCE_MONITOR : EVIDENCE_DECISION, true);
	row->decided_ns = row->decision ? row->decision->at_ns : row->begin_ns;
}

static bool are_alike(const struct row *one, const struct row *other)
{
	return one->l4_proto == other->l4_proto &&
	       one->ends.port[HALF_S2C] == other->ends.port[HALF_S2C] &&
	       !memcmp(one->ends.address, other->ends.address, sizeof one->ends.address);
}

// What is blocked no more need not be looked into: a later policy let pass what is alike.
static void supersede(struct answer *answer)
{
	for (uint32_t i = 0; i < answer->n_rows; i++) {
		struct row *old = &answer->rows[i];

		for (uint32_t k = 0; k < answer->n_rows && old->decision; k++) {
			const struct row *new = &answer->rows[k];

			if (new->outcome == EXPLAIN_PASS &&new->decision && are_alike(old, new))
				old->superseded |=
					new->decision->generation > old->decision->generation;
		}
	}
}

static bool is_blocked(const struct row *row)
{
	return row->outcome == EXPLAIN_BLOCKED && !row->superseded;
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *one = a, *other = b;

	if (is_blocked(one) != is_blocked(other))
		return is_blocked(one) ? -1 : 1;
	if (is_blocked(one) && one->decided_ns != other->decided_ns)
		return one->decided_ns > other->decided_ns ? -1 : 1;
	if (one->begin_ns != other->begin_ns)
		return one->begin_ns > other->begin_ns ? -1 : 1;
	return one->flow_id < other->flow_id ? -1 : one->flow_id > other->flow_id;
}

static void read_rows(struct answer *answer)
{
	const struct explain_found *found = answer->found;

	for (uint32_t i = 0; i < found->n_flows; i++) {
		struct row *row = &answer->rows[answer->n_rows++];

		row->flow_id = found->flow_ids[i];
		for (uint32_t k = 0; k < found->n_live; k++) {
			if (found->live[k].flow_id == row->flow_id)
				row->live = &found->live[k];
		}
		read_row(row, found);
	}
	supersede(answer);
	qsort(answer->rows, answer->n_rows, sizeof answer->rows[0], compare_rows);
	if (answer->n_rows)
		answer->first = &answer->rows[0];
}

static bool entry_stops(const struct conn_entry *entry, const struct flow_ends *ends)
{
	const struct conn_key *key = &entry->key;

	return !memcmp(key->initiator, ends->address[HALF_C2S], 16) &&
	       !memcmp(key->responder, ends->address[HALF_S2C], 16) &&
	       (key->mode == CACHE_PEER || !ends->port[HALF_S2C] ||
		       key->port == ends->port[HALF_S2C]);
}

static bool is_wide(const struct explain_found *found)
{
	return !found->by_id && found->question.scope != EVIDENCE_SCOPE_ENDS;
}

// Nothing of a host, a user or a rule is blocked but by an entry of the cache that still stands.
static const struct evidence *standing_hit(const struct answer *answer)
{
	const struct explain_found *found = answer->found;

	if (!is_wide(found) || (answer->first && is_blocked(answer->first)))
		return NULL;
	for (uint32_t i = found->n; i-- > 0;) {
		const struct evidence *hit = &found->evidence[i];

		if (hit->kind != EVIDENCE_CACHE_HIT || hit->flags & EVIDENCE_WAS_PASSED)
			continue;
		for (uint32_t k = 0; k < found->cache.n; k++) {
			const struct conn_entry *entry = &found->cache.entries[k];

			if (!(entry->flags & CONN_ENTRY_ALLOWED) && entry_stops(entry, &hit->ends))
				return hit;
		}
	}
	return NULL;
}

// A hit of the cache by other ends than the answer is about says nothing of it.
static bool is_of_others(const struct evidence *evidence, const struct flow_ends *ends)
{
	return evidence->kind == EVIDENCE_CACHE_HIT && evidence->flags & EVIDENCE_HAS_ENDS &&
	       (memcmp(evidence->ends.address, ends->address, sizeof ends->address) ||
		       evidence->ends.port[HALF_S2C] != ends->port[HALF_S2C]);
}

// The evidence of the first flow, and of none: the newest.
static bool keep_reported(struct answer *answer, const struct flow_ends *ends)
{
	const struct explain_found *found = answer->found;
	uint64_t flow_id = answer->first ? answer->first->flow_id : 0;

	answer->reported = calloc(EXPLAIN_EVIDENCE_MAX, sizeof answer->reported[0]);
	if (!answer->reported)
		return false;
	for (uint32_t i = found->n; i-- > 0 && answer->n_reported < EXPLAIN_EVIDENCE_MAX;) {
		const struct evidence *evidence = &found->evidence[i];

		if (is_wide(found) && ends && is_of_others(evidence, ends))
			continue;
		if (!is_of_flow(evidence) || evidence->flow_id == flow_id)
			answer->reported[EXPLAIN_EVIDENCE_MAX - ++answer->n_reported] = *evidence;
	}
	memmove(answer->reported, answer->reported + EXPLAIN_EVIDENCE_MAX - answer->n_reported,
		answer->n_reported * sizeof answer->reported[0]);
	return true;
}

// Entries that pass nothing, and of a wide question only those about the ends in question.
static bool keep_stops(struct answer *answer, const struct flow_ends *ends)
{
	const struct conn_list *cache = &answer->found->cache;
	bool wide = is_wide(answer->found);

	for (uint32_t i = 0; i < cache->n; i++) {
		const struct conn_entry *entry = &cache->entries[i];

		if (!(entry->flags & CONN_ENTRY_ALLOWED) &&
			(!wide || !ends || entry_stops(entry, ends)))
			conn_list_add(&answer->stops, entry);
	}
	return !answer->stops.no_memory;
}

// The ends that the answer is about; NULL: none alone.
static const struct flow_ends *ends_of(const struct answer *answer)
{
	const struct explain_found *found = answer->found;

	if (answer->facts.hit)
		return &answer->facts.hit->ends;
	if (answer->first && answer->first->l4_proto)
		return &answer->first->ends;
	return found->has_ends ? &found->question.ends : NULL;
}

static bool gather(struct answer *answer)
{
	const struct explain_found *found = answer->found;
	struct explain_facts *facts = &answer->facts;

	read_rows(answer);
	const struct evidence *hit = standing_hit(answer);

	if (hit)
		answer->first = NULL;
	*facts = (struct explain_facts){
		.context = found->context,
		.wide = is_wide(found),
		.hit = hit,
		.cache = &answer->stops,
		.overwritten = found->overwritten,
	};
	if (answer->first) {
		facts->flow_id = answer->first->flow_id;
		facts->live = answer->first->live;
		if (facts->live)
			facts->flow = *answer->first->live;
	}
	const struct flow_ends *ends = ends_of(answer);

	if (ends)
		facts->exempt = exemptions_cover(
			&found->context->exemptions, ends, found->context->now_ns());
	if (!keep_reported(answer, ends) || !keep_stops(answer, ends))
		return false;
	facts->evidence = answer->reported;
	facts->n = answer->n_reported;
	return true;
}

static void put_row_ends(json_t **object, const struct row *row)
{
	bool ports = eve_has_ports(row->l4_proto);

	if (!row->l4_proto)
		return;
	put_proto(object, row->l4_proto);
	put_address(object, "src_ip", row->ends.address[HALF_C2S]);
	if (ports)
		put_number(object, "src_port", row->ends.port[HALF_C2S]);
	put_address(object, "dest_ip", row->ends.address[HALF_S2C]);
	if (ports)
		put_number(object, "dest_port", row->ends.port[HALF_S2C]);
}

static json_t *row_json(const struct control_context *context, const struct row *row)
{
	const struct evidence *decision = row->decision;
	const struct flow_record *live = row->live;
	uint16_t app = decision && decision->kind == EVIDENCE_DECISION ? decision->app
		       : live                                          ? live->app
								       : APP_NONE;
	const struct app_proto *proto = app_names_get(reload_apps(context->reload), app);
	uint32_t rule_uid = decision ? decision->rule_uid : live ? live->rule_uid : 0;
	json_t *object = json_object();

	put_number(&object, "flow_id", row->flow_id & INT64_MAX);
	put_row_ends(&object, row);
	put_text(&object, "outcome", explain_outcome_word(row->outcome));
	put_text(&object, "verdict", row->verdict);
	if (app && proto)
		put_text(&object, "app", proto->name);
	put_rule(&object, context, rule_uid);
	if (decision)
		put_text(&object, "action", action_word(decision->detail));
	if (decision)
		put_number(&object, "generation", decision->generation);
	put_bool(&object, "live", live);
	put_time(&object, "start", row->begin_ns);
	put_time(&object, "decided", row->decided_ns);
	return object;
}

static void put_rows(json_t **message, const struct answer *answer)
{
	json_t *flows = json_array(), *verdicts = json_array();

	for (uint32_t i = 0; i < answer->n_rows; i++) {
		const struct row *row = &answer->rows[i];

		put_item(&flows, json_integer((json_int_t)(row->flow_id & INT64_MAX)));
		put_item(&verdicts, row_json(answer->found->context, row));
	}
	put_json(message, "flows", flows);
	put_json(message, "verdicts", verdicts);
}

static void put_cache(json_t **message, const struct explain_found *found)
{
	json_t *cache = json_array();

	for (uint32_t i = 0; i < found->cache.n && i < EXPLAIN_CACHE_MAX; i++)
		put_item(&cache, cache_entry_json(found->context, &found->cache.entries[i]));
	put_json(message, "cache", cache);
	put_number(message, "cache_entries", found->cache_entries);
	put_bool(message, "cache_truncated", found->cache_left_out);
}

// Of a stub that passes there is no evidence yet.
static bool is_truncated(const struct answer *answer)
{
	const struct explain_found *found = answer->found;
	const struct explain_facts *facts = &answer->facts;
	bool silent = facts->live && facts->flow.lru_class <= FLOW_CLASS_STATELESS;

	return found->left_out || (facts->flow_id && found->overwritten && !silent &&
					  !explain_last(facts, EVIDENCE_FLOW_MADE, true));
}

static json_t *answer_json(const struct answer *answer)
{
	const struct explain_found *found = answer->found;
	const struct explain_facts *facts = &answer->facts;
	json_t *message = json_object(), *evidence = json_array(), *exempt = json_array();
	char verdict[EXPLAIN_VERDICT_MAX];

	if (facts->flow_id)
		put_number(&message, "flow_id", facts->flow_id & INT64_MAX);
	put_rows(&message, answer);
	put_bool(&message, "live", facts->live);
	if (facts->live)
		put_json(&message, "flow",
			flow_json_whole(found->context, &facts->flow, NULL,
				found->by_id ? &found->content : NULL));
	put_cache(&message, found);
	if (facts->exempt)
		put_item(&exempt, json_string(facts->exempt));
	put_json(&message, "exempt", exempt);
	for (uint32_t i = 0; i < facts->n; i++)
		put_item(&evidence, explain_evidence_json(found->context, &facts->evidence[i]));
	put_json(&message, "evidence", evidence);
	put_bool(&message, "truncated", is_truncated(answer));
	put_number(&message, "overwritten", found->overwritten);
	put_text(&message, "outcome", explain_outcome_word(explain_verdict(facts, verdict)));
	put_text(&message, "verdict", verdict);
	return message;
}

json_t *explain_answer(const struct explain_found *found)
{
	struct answer *answer = calloc(1, sizeof *answer);
	json_t *message = NULL;

	if (!answer)
		return NULL;
	answer->found = found;
	if (gather(answer))
		message = answer_json(answer);
	conn_list_free(&answer->stops);
	free(answer->reported);
	free(answer);
	return message;
}
