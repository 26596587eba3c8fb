// SPDX-License-Identifier: BSD-3-Clause
// explain: evidence, entries and cache of all lcores, one question after the other, and what they
// come to. By ends, the latest flow between them is found first.
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "cache_json.h"
#include "explain.h"
#include "flow_json.h"
#include "ranking.h"
#include "selection.h"

struct explain {
	bool by_ends;
	bool has_ends;                 // filter.ends is known
	struct evidence_filter filter; // of the question by ends, and for the cache
	uint64_t flow_id;              // 0: none
	struct ranking found;          // struct evidence, the newest
	uint64_t n_found;
	struct ranking flows; // struct flow_record, the latest to begin
	struct ranking ids;   // uint64_t of flows that evidence knows, the latest to begin
	struct conn_list cache;
	uint64_t overwritten;
	bool begun_seen; // the flow's first piece is there
};

static void explain_free(void *state)
{
	struct explain *explain = state;

	ranking_free(&explain->found);
	ranking_free(&explain->flows);
	ranking_free(&explain->ids);
	conn_list_free(&explain->cache);
	free(explain);
}

static void ask_evidence(struct request *request);
static void ask_flows(struct request *request);
static void ask_cache(struct request *request);

static void evidence_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct evidence *records = query->out;

	(void)lcore;
	if (last)
		explain->overwritten += query->aside;
	for (uint32_t i = 0; i < query->n; i++) {
		const struct evidence *record = &records[i];

		if (record->kind == EVIDENCE_FLOW_MADE && !explain->flow_id) {
			uint64_t *id = ranking_offer(&explain->ids, record->at_ns, record->flow_id);

			if (id)
				*id = record->flow_id;
		}
		if (record->kind == EVIDENCE_FLOW_MADE && record->flow_id == explain->flow_id) {
			explain->begun_seen = true;
			if (!explain->has_ends) {
				explain->filter.ends = record->ends;
				explain->filter.l4_proto = record->l4_proto;
				explain->has_ends = true;
			}
		}
		// of one lcore they come in their order; what is newer is better
		struct evidence *kept = ranking_offer(
			&explain->found, record->at_ns, UINT64_MAX - explain->n_found++);

		if (kept)
			*kept = *record;
	}
}

// By ends, the first round finds the flows and what has none; the second is about the latest flow.
static void evidence_end(void *ctx, const char *error)
{
	struct request *request = ctx;

	request->inquiry = NULL;
	if (error)
		request_fail(request, "%s", error);
	else
		ask_flows(request);
}

static void second_end(void *ctx, const char *error)
{
	struct request *request = ctx;

	request->inquiry = NULL;
	if (error)
		request_fail(request, "%s", error);
	else
		ask_cache(request);
}

static void flows_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct flow_record *records = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++) {
		struct flow_record *kept =
			ranking_offer(&explain->flows, records[i].start_ns, records[i].flow_id);

		if (kept)
			*kept = records[i];
	}
}

// Keeps of the first round what belongs to no flow, or speaks of the cache.
static void forget_flows(struct explain *explain)
{
	struct ranking old = explain->found;

	ranking_init(&explain->found, EXPLAIN_EVIDENCE_MAX, sizeof(struct evidence));
	ranking_sort(&old);
	for (uint32_t i = old.n; i-- > 0;) {
		const struct evidence *record = ranking_at(&old, i);
		bool other = record->flow_id && record->kind != EVIDENCE_CACHE_LEARNED &&
			     record->kind != EVIDENCE_CACHE_HIT &&
			     record->kind != EVIDENCE_CACHE_HEALED &&
			     record->kind != EVIDENCE_CACHE_PASSED;

		// its own come again in the second round
		if (other || (record->flow_id && record->flow_id == explain->flow_id))
			continue;
		struct evidence *kept = ranking_offer(
			&explain->found, record->at_ns, UINT64_MAX - explain->n_found++);

		if (kept)
			*kept = *record;
	}
	explain->found.no_memory |= old.no_memory;
	ranking_free(&old);
}

static void flows_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct explain *explain = request->state;
	uint64_t begun = 0;

	request->inquiry = NULL;
	if (error) {
		request_fail(request, "%s", error);
		return;
	}
	ranking_sort(&explain->flows);
	if (!explain->by_ends) {
		if (explain->flows.n && !explain->has_ends) {
			const struct flow_record *flow = ranking_at(&explain->flows, 0);

			explain->filter.ends = flow->ends;
			explain->filter.l4_proto = flow->l4_proto;
			explain->has_ends = true;
		}
		ask_cache(request);
		return;
	}
	if (explain->flows.n) {
		const struct flow_record *flow = ranking_at(&explain->flows, 0);

		explain->flow_id = flow->flow_id;
		begun = flow->start_ns;
	}
	ranking_sort(&explain->ids);
	// what has ended may be later than what lives: a flow on other ports
	if (explain->ids.n && explain->ids.nodes[0].value > begun &&
		(!explain->flows.n || explain->ids.nodes[0].tie != explain->flow_id)) {
		bool lives = false;

		for (uint32_t i = 0; i < explain->flows.n; i++)
			lives |= explain->flows.nodes[i].tie == explain->ids.nodes[0].tie;
		if (!lives || !explain->flows.n)
			explain->flow_id = *(const uint64_t *)ranking_at(&explain->ids, 0);
	}
	forget_flows(explain);
	if (explain->flow_id)
		ask_evidence(request);
	else
		ask_cache(request);
}

static void cache_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct conn_entry *entries = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++)
		conn_list_add(&explain->cache, &entries[i]);
}

static json_t *flow_ids(const struct explain *explain)
{
	json_t *list = json_array();
	uint64_t told[EXPLAIN_FLOWS_MAX];
	uint32_t n = 0;

	if (explain->flow_id)
		told[n++] = explain->flow_id;
	for (unsigned round = 0; round < 2; round++) {
		const struct ranking *from = round ? &explain->ids : &explain->flows;

		for (uint32_t i = 0; i < from->n && n < EXPLAIN_FLOWS_MAX; i++) {
			uint64_t id = from->nodes[i].tie;
			bool known = false;

			for (uint32_t k = 0; k < n; k++)
				known |= told[k] == id;
			if (!known)
				told[n++] = id;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		put_item(&list, json_integer((json_int_t)(told[i] & INT64_MAX)));
	return list;
}

// Of a stub that passes there is no evidence yet.
static bool is_truncated(const struct explain *explain, const struct explain_facts *facts)
{
	bool silent = facts->live && facts->flow.lru_class <= FLOW_CLASS_STATELESS;

	return explain->n_found > EXPLAIN_EVIDENCE_MAX ||
	       (facts->flow_id && explain->overwritten && !explain->begun_seen && !silent);
}

static void answer(struct request *request, struct explain *explain, struct evidence *records)
{
	const struct control_context *context = request->context;
	char verdict[EXPLAIN_VERDICT_MAX];
	json_t *message = json_object(), *evidence = json_array(), *cache = json_array(),
	       *exempt = json_array();
	struct explain_facts facts = {
		.context = context,
		.flow_id = explain->flow_id,
		.evidence = records,
		.n = explain->found.n,
		.cache = &explain->cache,
		.overwritten = explain->overwritten,
	};

	for (uint32_t i = 0; i < facts.n; i++)
		records[i] = *(const struct evidence *)ranking_at(&explain->found, facts.n - 1 - i);
	for (uint32_t i = 0; i < explain->flows.n; i++) {
		const struct flow_record *flow = ranking_at(&explain->flows, i);

		if (flow->flow_id != explain->flow_id)
			continue;
		facts.live = true;
		facts.flow = *flow;
	}
	if (explain->has_ends)
		facts.exempt = exemptions_cover(
			&context->exemptions, &explain->filter.ends, context->now_ns());
	if (explain->flow_id)
		put_number(&message, "flow_id", explain->flow_id & INT64_MAX);
	put_json(&message, "flows", flow_ids(explain));
	put_bool(&message, "live", facts.live);
	if (facts.live)
		put_json(&message, "flow", flow_json_whole(context, &facts.flow, NULL));
	for (uint32_t i = 0; i < explain->cache.n; i++)
		put_item(&cache, cache_entry_json(context, &explain->cache.entries[i]));
	put_json(&message, "cache", cache);
	if (facts.exempt)
		put_item(&exempt, json_string(facts.exempt));
	put_json(&message, "exempt", exempt);
	for (uint32_t i = 0; i < facts.n; i++)
		put_item(&evidence, explain_evidence_json(context, &records[i]));
	put_json(&message, "evidence", evidence);
	put_bool(&message, "truncated", is_truncated(explain, &facts));
	put_number(&message, "overwritten", explain->overwritten);
	put_text(&message, "outcome", explain_outcome_word(explain_verdict(&facts, verdict)));
	put_text(&message, "verdict", verdict);
	request_ok(request, message);
}

static void cache_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct explain *explain = request->state;
	bool known = explain->found.n || explain->flows.n;

	request->inquiry = NULL;
	if (error) {
		request_fail(request, "%s", error);
		return;
	}
	if (!explain->by_ends && !known) {
		request_fail(request,
			"no flow %llu, and no evidence of it: it was never here, or so long ago "
			"that its evidence has been overwritten (%llu pieces were; "
			"limits.evidence keeps more)",
			(unsigned long long)explain->flow_id,
			(unsigned long long)explain->overwritten);
		return;
	}
	conn_list_merge(&explain->cache);
	ranking_sort(&explain->found);
	struct evidence *records = calloc(explain->found.n + 1, sizeof *records);

	if (!records || explain->found.no_memory || explain->flows.no_memory ||
		explain->ids.no_memory || explain->cache.no_memory)
		request_fail(request, "no memory for the evidence");
	else
		answer(request, explain, records);
	free(records);
}

// The cache does not ask for the initiator's port.
static void ask_cache(struct request *request)
{
	struct explain *explain = request->state;
	struct evidence_filter filter = explain->filter;

	if (!explain->has_ends) {
		cache_end(request, NULL);
		return;
	}
	filter.flow_id = 0;
	request_ask(request, &(struct inquiry_question){.type = QUERY_CACHE,
				     .filtered = true,
				     .filter = filter,
				     .page = cache_page,
				     .end = cache_end,
				     .ctx = request});
}

static void ask_flows(struct request *request)
{
	struct explain *explain = request->state;

	request_ask(request, &(struct inquiry_question){.type = QUERY_FLOWS,
				     .filtered = explain->by_ends,
				     .flow_id = explain->flow_id,
				     .filter = explain->filter,
				     .page = flows_page,
				     .end = flows_end,
				     .ctx = request});
}

static void ask_evidence(struct request *request)
{
	struct explain *explain = request->state;
	bool second = explain->by_ends && explain->flow_id;
	struct evidence_filter filter = explain->filter;

	filter.flow_id = explain->flow_id;
	explain->overwritten = 0;
	request_ask(request, &(struct inquiry_question){.type = QUERY_EVIDENCE,
				     .filter = filter,
				     .page = evidence_page,
				     .end = second ? second_end : evidence_end,
				     .ctx = request});
}

static bool read_ends(struct request *request, const json_t *arguments, struct explain *explain)
{
	struct flow_ends *ends = &explain->filter.ends;
	uint64_t sport = 0, dport = 0;

	if (!argument_given(arguments, "src_ip") || !argument_given(arguments, "dest_ip")) {
		request_fail_arguments(request, "say flow_id, or src_ip and dest_ip");
		return false;
	}
	if (!argument_address(request, arguments, "src_ip", ends->address[HALF_C2S]) ||
		!argument_address(request, arguments, "dest_ip", ends->address[HALF_S2C]) ||
		!argument_number(request, arguments, "src_port", 1, UINT16_MAX, &sport) ||
		!argument_number(request, arguments, "dest_port", 1, UINT16_MAX, &dport) ||
		!argument_proto(request, arguments, "proto", &explain->filter.l4_proto))
		return false;
	ends->port[HALF_C2S] = (uint16_t)sport;
	ends->port[HALF_S2C] = (uint16_t)dport;
	explain->by_ends = explain->has_ends = true;
	return true;
}

static bool read_question(struct request *request, const json_t *arguments, struct explain *explain)
{
	static const char *const ends[] = {"src_ip", "dest_ip", "src_port", "dest_port", "proto"};

	if (!argument_given(arguments, "flow_id"))
		return read_ends(request, arguments, explain);
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		if (!argument_given(arguments, ends[i]))
			continue;
		request_fail(
			request, "%s: a flow_id says it already; leave one of them out", ends[i]);
		return false;
	}
	return argument_flow_id(request, arguments, &explain->flow_id);
}

void cmd_explain(struct request *request, json_t *arguments)
{
	struct explain *explain = calloc(1, sizeof *explain);

	if (!explain) {
		request_fail(request, "no memory");
		return;
	}
	ranking_init(&explain->found, EXPLAIN_EVIDENCE_MAX, sizeof(struct evidence));
	ranking_init(&explain->flows, EXPLAIN_FLOWS_MAX, sizeof(struct flow_record));
	ranking_init(&explain->ids, EXPLAIN_FLOWS_MAX, sizeof(uint64_t));
	if (!arguments_known(request, arguments) || !read_question(request, arguments, explain)) {
		explain_free(explain);
		return;
	}
	request->state = explain;
	request->state_free = explain_free;
	ask_evidence(request);
}
