// SPDX-License-Identifier: BSD-3-Clause
// Answers queries of the control core, a few entries per turn.
#include <string.h>
#include "pipeline/stage/hold.h"
#include "pipeline/stage/inspect_track.h"
#include "pipeline/event/flow_event.h"
#include "pipeline/flow/rate.h"
#include "pipeline/stage/inspect_report.h"
#include "pipeline/operator.h"
#include "pipeline/query.h"

// Slots looked at per turn. A flow that is shown costs some cache misses, an empty slot next to
// nothing: a turn shall not last longer than the receive rings can wait.
#define QUERY_BUDGET 1024
#define QUERY_RECORD 8

static void record_stub(const struct lcore *lcore, uint32_t ref, struct flow_record *record)
{
	const struct flow_stub *stub = flow_stub_at(lcore->flows, ref);
	uint32_t age = (uint32_t)(lcore->now_ns >> STUB_TICK_SHIFT) - stub->last_tick;

	record->start_ns = stub->start_ns;
	record->last_ns = lcore->now_ns - ((uint64_t)age << STUB_TICK_SHIFT);
	record->generation =
		(uint32_t)policy_epoch_generation(stub->policy_epoch, lcore->policy->generation);
	record->flags = stub->flags;
	if (stub->lru_class != FLOW_CLASS_BLOCKED) // these bits are others' names, too
		record->flags &= (uint16_t) ~(FLOW_SYNS_DIFFER | FLOW_ANSWERS_DIFFER);
	record->action = stub->action;
	record->lru_class = stub->lru_class;
	for (unsigned half = 0; half < 2; half++) {
		record->pkts[half] = stub->pkts[half];
		record->bytes[half] = stub->bytes[half];
		record->tcp_flags[half] = stub->tcp_flags[half];
	}
}

static void record_flow(const struct lcore *lcore, uint32_t ref, struct flow_record *record)
{
	const struct flow *flow = flow_at(lcore->flows, ref);

	record->start_ns = flow->start_ns;
	record->last_ns = flow->last_ns;
	record->generation =
		(uint32_t)policy_epoch_generation(flow->policy_epoch, lcore->policy->generation);
	record->flags = flow->flags;
	record->action = flow->action;
	record->lru_class = flow->lru_class;
	record->n_data_pkts = flow->n_data_pkts;
	record->rate_bytes_s = flow_rate_bytes_s(flow, lcore->now_ns);
	for (unsigned half = 0; half < 2; half++) {
		record->pkts[half] = flow->pkts[half];
		record->bytes[half] = flow->bytes[half];
		record->tcp_flags[half] = flow->tcp_flags[half];
		record->next[half] = inspect_next(lcore, ref, half);
		record->released[half] = flow->released[half];
		record->acked[half] = flow->acked[half];
	}
}

static bool waits_for_scan(const struct lcore *lcore, uint32_t ref)
{
	struct hold_summary held = {0};

	return hold_summary(lcore, ref, &held) && (held.since_ns[0] || held.since_ns[1]);
}

static void record_entry(const struct lcore *lcore, uint32_t ref, struct flow_record *record)
{
	struct event about = {0};

	memset(record, 0, sizeof(*record));
	flow_event_identify(lcore, ref, &about);
	record->flow_id = about.flow_id;
	record->ends = about.ends;
	record->rule_uid = about.rule_uid;
	record->user_uid = about.user_uid;
	record->app = about.app;
	record->signature = about.signature;
	record->confidence = about.confidence;
	record->l4_proto = about.l4_proto;
	bool stub = ref & FLOW_REF_STUB;
	bool v6 = FLOW_V6 & (stub ? flow_stub_at(lcore->flows, ref)->flags
				  : flow_at(lcore->flows, ref)->flags);

	record->realm = parse_key_realm(flow_key_of(lcore->flows,
						stub ? flow_stub_at(lcore->flows, ref)->key_pos
						     : flow_at(lcore->flows, ref)->key_pos,
						v6),
		v6);
	record->dscp = about.dscp;
	record->heard = about.heard;
	record->has_mac = about.has_mac;
	memcpy(record->mac, about.mac, sizeof(record->mac));
	record->n_vlan = about.n_vlan;
	record->vlan[0] = about.vlan[0];
	record->vlan[1] = about.vlan[1];
	record->decided_pkts = about.n_data_pkts;
	record->lcore = (uint8_t)lcore->index;
	if (ref & FLOW_REF_STUB)
		record_stub(lcore, ref, record);
	else
		record_flow(lcore, ref, record);
	if (!stub)
		content_brief(lcore, ref, waits_for_scan(lcore, ref), &record->content);
}

static void look_at(const struct lcore *lcore, uint32_t ref, struct flow_look *look)
{
	memset(look, 0, sizeof(*look));
	if (ref & FLOW_REF_STUB)
		return;
	const struct flow_cold *cold = flow_cold_at(lcore->flows, ref);
	const struct expected *expected = expect_at(lcore->expect, cold->expected);

	look->report = cold->report;
	if (expected)
		look->expected = *expected;
	content_look(lcore, ref, &look->content);
	for (unsigned half = 0; half < 2; half++)
		look->tracked = inspect_look(lcore, ref, half, &look->half[half]);
}

static bool is_asked_for(const struct lcore *lcore, uint32_t ref, const struct query *query)
{
	struct event about = {0};

	if (!query->flow_id && !query->filtered)
		return true;
	flow_event_identify(lcore, ref, &about);
	return query->flow_id ? about.flow_id == query->flow_id
			      : evidence_filter_has(lcore, &query->filter, &about.ends,
					about.l4_proto, about.rule_uid);
}

// The pools one after the other: stubs, then flows. A free slot has generation 0.
static uint32_t ref_at(const struct lcore *lcore, uint64_t cursor, struct flow_usage usage)
{
	if (cursor < usage.stubs_max) {
		uint32_t ref = (uint32_t)cursor | FLOW_REF_STUB;

		return flow_stub_at(lcore->flows, ref)->gen ? ref : FLOW_REF_NONE;
	}
	uint32_t ref = (uint32_t)(cursor - usage.stubs_max);

	return flow_at(lcore->flows, ref)->gen ? ref : FLOW_REF_NONE;
}

static void set_trace(struct lcore *lcore, uint32_t ref, bool on)
{
	uint16_t *flags = ref & FLOW_REF_STUB ? &flow_stub_at(lcore->flows, ref)->flags
					      : &flow_at(lcore->flows, ref)->flags;

	*flags = (uint16_t)(on ? *flags | FLOW_TRACE : *flags & ~FLOW_TRACE);
}

static bool is_blocked(const struct lcore *lcore, uint32_t ref)
{
	return ref & FLOW_REF_STUB &&
	       flow_stub_at(lcore->flows, ref)->lru_class == FLOW_CLASS_BLOCKED;
}

static void act(struct lcore *lcore, uint32_t ref, struct query *query)
{
	if (query->type == QUERY_FLOW_ALLOW)
		query->total = operator_allow(lcore, ref, query->ttl_ns);
	else if (!is_blocked(lcore, ref))
		query->aside = operator_reset(lcore, ref, query->cache);
}

static bool step_flows(struct lcore *lcore, struct query *query)
{
	struct flow_usage usage = flow_table_usage(lcore->flows);
	uint64_t end = (uint64_t)usage.stubs_max + usage.flows_max;
	struct flow_record *out = query->out;

	for (unsigned budget = QUERY_BUDGET; budget && query->cursor < end; budget--) {
		if (query->page && query->n == query->max)
			return true;
		uint32_t ref = ref_at(lcore, query->cursor++, usage);

		if (ref == FLOW_REF_NONE)
			continue;
		budget = budget > QUERY_RECORD ? budget - QUERY_RECORD : 1;
		if (!is_asked_for(lcore, ref, query))
			continue;
		query->total++;
		if (query->type == QUERY_FLOWS && query->flow_id)
			look_at(lcore, ref, &query->look);
		if (query->type == QUERY_TRACE)
			set_trace(lcore, ref, query->trace_on);
		else if (query->n < query->max)
			record_entry(lcore, ref, &out[query->n++]);
		if (query->type == QUERY_FLOW_RESET || query->type == QUERY_FLOW_ALLOW) {
			act(lcore, ref, query);
			return true;
		}
	}
	return query->cursor == end;
}

static bool entry_is_asked_for(
	const struct lcore *lcore, const struct conn_entry *entry, const struct query *query)
{
	struct flow_ends ends = {.port = {0, entry->key.port}};

	if (!query->filtered)
		return true;
	memcpy(ends.address[HALF_C2S], entry->key.initiator, 16);
	memcpy(ends.address[HALF_S2C], entry->key.responder, 16);
	return evidence_filter_has(
		lcore, &query->filter, &ends, entry->key.l4_proto, entry->rule_uid);
}

static bool step_cache(struct lcore *lcore, struct query *query)
{
	uint32_t cursor = (uint32_t)query->cursor;
	struct conn_entry *out = query->out;
	uint32_t room = query->max - query->n;
	unsigned n = conn_cache_read(lcore->conn_cache, &cursor, out + query->n,
		room < QUERY_BUDGET ? room : QUERY_BUDGET);
	uint32_t kept = query->n;

	for (unsigned i = 0; i < n; i++)
		if (entry_is_asked_for(lcore, &out[query->n + i], query))
			out[kept++] = out[query->n + i];
	query->cursor = cursor;
	query->n = kept;
	query->total = conn_cache_count(lcore->conn_cache);
	return n == 0;
}

// Of the endpoint or the name cache.
static bool step_endpoints(struct query *query, const struct endpoint_cache *cache)
{
	uint32_t cursor = (uint32_t)query->cursor, room = query->max - query->n;
	unsigned n =
		endpoint_cache_read(cache, &cursor, (struct endpoint_entry *)query->out + query->n,
			room < QUERY_BUDGET ? room : QUERY_BUDGET);

	query->cursor = cursor;
	query->n += n;
	query->total = endpoint_cache_count(cache);
	return n == 0;
}

// Entries that the operator wants gone.
static bool step_take(struct lcore *lcore, struct query *query)
{
	struct conn_match match = query->match;
	uint32_t cursor = (uint32_t)query->cursor;

	if (query->type == QUERY_EXEMPT) {
		if (!cursor)
			conn_cache_exempt(lcore, query->exemptions, query->n_exemptions);
		match.given = CONN_MATCH_EXEMPT;
	}
	query->total += conn_cache_take_out(lcore, &match, &cursor, QUERY_BUDGET);
	query->cursor = cursor;
	return cursor == UINT32_MAX;
}

// The cursor is a record's number. What is overwritten while the question is open is skipped.
static bool step_evidence(struct lcore *lcore, struct query *query)
{
	const struct evidence_log *log = lcore->evidence;
	struct evidence *out = query->out;

	query->aside = evidence_overwritten(log);
	if (query->cursor < query->aside)
		query->cursor = query->aside;
	// an address's user is searched for
	unsigned budget =
		query->filter.scope == EVIDENCE_SCOPE_USER ? QUERY_BUDGET / 4 : QUERY_BUDGET;

	for (; budget && query->cursor < log->written; budget--) {
		if (query->n == query->max)
			return true;
		const struct evidence *evidence = &log->records[query->cursor++ % log->size];

		if (!evidence_matches(lcore, evidence, &query->filter))
			continue;
		out[query->n] = *evidence;
		out[query->n++].lcore = (uint8_t)lcore->index;
		query->total++;
	}
	return query->cursor == log->written;
}

// What there was when it began; entries learned meanwhile are younger and stay.
static bool step_flush(struct lcore *lcore, struct query *query)
{
	if (!query->cursor)
		query->total = conn_cache_count(lcore->conn_cache);
	uint64_t left = query->total - query->cursor;
	unsigned n = conn_cache_flush(lcore, left < QUERY_BUDGET ? (unsigned)left : QUERY_BUDGET);

	query->cursor += n;
	return !n || query->cursor == query->total;
}

void query_step(struct lcore *lcore)
{
	void *next = NULL;

	if (!lcore->query) {
		if (likely(rte_ring_sc_dequeue(lcore->queries, &next)))
			return;
		lcore->query = next;
	}
	struct query *query = lcore->query;
	bool finished = true;

	switch (query->type) {
	case QUERY_FLOWS:
	case QUERY_TRACE:
	case QUERY_FLOW_RESET:
	case QUERY_FLOW_ALLOW: finished = step_flows(lcore, query); break;
	case QUERY_CACHE_PUT: query->total = conn_cache_put(lcore, &query->entry); break;
	case QUERY_CACHE_TAKE:
	case QUERY_EXEMPT: finished = step_take(lcore, query); break;
	case QUERY_CACHE: finished = step_cache(lcore, query); break;
	case QUERY_ENDPOINTS: finished = step_endpoints(query, lcore->endpoints); break;
	case QUERY_NAMES: finished = step_endpoints(query, lcore->names); break;
	case QUERY_EVIDENCE: finished = step_evidence(lcore, query); break;
	case QUERY_CACHE_FLUSH: finished = step_flush(lcore, query); break;
	}
	if (!finished)
		return;
	lcore->query = NULL;
	// the asker may free it from here on
	atomic_store_explicit(&query->done, true, memory_order_release);
}
