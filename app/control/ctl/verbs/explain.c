// SPDX-License-Identifier: BSD-3-Clause
// The command explain: evidence, entries and cache of all lcores, one question after the other. By
// ends, host, user or rule, flows that fit are found first; the evidence of each is then asked for.
#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "control/ctl/arguments.h"
#include "control/ctl/explain.h"
#include "control/ctl/explain_cache.h"
#include "control/ctl/flow_filter.h"
#include "control/stats/top_n.h"
#include "control/ctl/list_filter.h"
#include "pipeline/event/evidence.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

#define CANDIDATES_MAX 64   // of each kind; a flow may be named several times
#define LIVE_MAX       256  // records of live flows that are kept, blocked and others
#define PIECES_MAX     4000 // of evidence
static_assert(PIECES_MAX + EXPLAIN_FLOWS_MAX < EXPLAIN_PAIRS_MAX, "all are known");
#define OTHERS_MIN 4 // places for flows that are not blocked, if there are any

struct candidate {
	uint64_t flow_id;
	uint64_t at_ns;
	bool blocked;
};

struct explain {
	struct explain_found found;
	struct top_n pieces; // struct evidence, the newest
	uint64_t n_pieces;
	struct top_n blocked; // uint64_t, flows that evidence knows as blocked, the latest first
	struct top_n others;  // the same of all
	struct top_n live[2]; // struct flow_record: passing, blocked; the latest to begin
	struct explain_cache cache;
};

static void explain_free(void *state)
{
	struct explain *explain = state;

	top_n_free(&explain->pieces);
	top_n_free(&explain->blocked);
	top_n_free(&explain->others);
	top_n_free(&explain->live[0]);
	top_n_free(&explain->live[1]);
	explain_cache_free(&explain->cache);
	conn_list_free(&explain->found.cache);
	free(explain);
}

static void ask_evidence_of(struct request *request);
static void ask_flows(struct request *request);
static void ask_cache(struct request *request);

static void keep_piece(struct explain *explain, const struct evidence *record)
{
	// of one lcore they come in their order; what is newer is better
	struct evidence *kept =
		top_n_offer(&explain->pieces, record->at_ns, UINT64_MAX - explain->n_pieces++);

	if (kept)
		*kept = *record;
}

static void keep_id(struct top_n *top_n, const struct evidence *record)
{
	uint64_t *id = top_n_offer(top_n, record->at_ns, record->flow_id);

	if (id)
		*id = record->flow_id;
}

static bool blocks(const struct evidence *record)
{
	return (record->kind == EVIDENCE_DECISION && action_blocks(record->detail)) ||
	       (record->kind == EVIDENCE_OPERATOR && record->detail == EVIDENCE_FLOW_RESET);
}

// The first round: which flows there are, and what belongs to none or speaks of the cache.
static void first_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct evidence *records = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++) {
		switch ((enum evidence_kind)records[i].kind) {
		case EVIDENCE_CACHE_LEARNED:
		case EVIDENCE_CACHE_HIT:
		case EVIDENCE_CACHE_REVOKED:
		case EVIDENCE_CACHE_PASSED: keep_piece(explain, &records[i]); continue;
		default: break;
		}
		if (!records[i].flow_id) {
			keep_piece(explain, &records[i]);
			continue;
		}
		keep_id(&explain->others, &records[i]);
		if (blocks(&records[i]))
			keep_id(&explain->blocked, &records[i]);
	}
}

static void first_end(struct request *request, const char *error)
{
	if (error)
		request_fail(request, "%s", error);
	else
		ask_flows(request);
}

static void flows_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct flow_record *records = query->out;

	(void)lcore;
	(void)last;
	if (explain->found.by_id && query->n)
		explain->found.content = query->look.content;
	for (uint32_t i = 0; i < query->n; i++) {
		bool blocked = records[i].lru_class == FLOW_CLASS_BLOCKED;
		struct flow_record *kept = top_n_offer(
			&explain->live[blocked], records[i].start_ns, records[i].flow_id);

		if (kept)
			*kept = records[i];
	}
}

static void add_candidates(
	struct candidate *candidates, uint32_t *n, const struct top_n *from, bool blocked)
{
	for (uint32_t i = 0; i < from->n && i < CANDIDATES_MAX; i++) {
		const struct top_n_node *node = &from->nodes[i];
		uint32_t at = 0;

		while (at < *n && candidates[at].flow_id != node->tie)
			at++;
		if (at == *n)
			candidates[(*n)++] = (struct candidate){
				.flow_id = node->tie, .at_ns = node->value, .blocked = blocked};
	}
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *one = a, *other = b;

	if (one->blocked != other->blocked)
		return one->blocked ? -1 : 1;
	if (one->at_ns != other->at_ns)
		return one->at_ns > other->at_ns ? -1 : 1;
	return one->flow_id < other->flow_id ? -1 : one->flow_id > other->flow_id;
}

// The latest that are blocked, and some of the others.
static void choose(struct explain *explain)
{
	struct candidate candidates[4 * CANDIDATES_MAX];
	struct explain_found *found = &explain->found;
	uint32_t n = 0, n_blocked = 0, places;

	top_n_sort(&explain->blocked);
	top_n_sort(&explain->others);
	add_candidates(candidates, &n, &explain->blocked, true);
	add_candidates(candidates, &n, &explain->live[true], true);
	add_candidates(candidates, &n, &explain->others, false);
	add_candidates(candidates, &n, &explain->live[false], false);
	qsort(candidates, n, sizeof candidates[0], compare_candidates);
	for (uint32_t i = 0; i < n; i++)
		n_blocked += candidates[i].blocked;
	places = EXPLAIN_FLOWS_MAX - (n - n_blocked < OTHERS_MIN ? n - n_blocked : OTHERS_MIN);
	for (uint32_t i = 0; i < n && found->n_flows < EXPLAIN_FLOWS_MAX; i++) {
		if (i < places || !candidates[i].blocked)
			found->flow_ids[found->n_flows++] = candidates[i].flow_id;
	}
}

static bool is_chosen(const struct explain_found *found, uint64_t flow_id)
{
	for (uint32_t i = 0; i < found->n_flows; i++) {
		if (found->flow_ids[i] == flow_id)
			return true;
	}
	return false;
}

// What the first round has kept of flows whose evidence comes whole in the second.
static void forget_chosen(struct explain *explain)
{
	struct top_n old = explain->pieces;

	top_n_init(&explain->pieces, PIECES_MAX, sizeof(struct evidence));
	top_n_sort(&old);
	for (uint32_t i = old.n; i-- > 0;) {
		const struct evidence *record = top_n_at(&old, i);

		if (!record->flow_id || !is_chosen(&explain->found, record->flow_id))
			keep_piece(explain, record);
	}
	explain->pieces.no_memory |= old.no_memory;
	top_n_free(&old);
}

static void flows_end(struct request *request, const char *error)
{
	struct explain *explain = request->state;
	struct explain_found *found = &explain->found;

	if (request_failed(request, error))
		return;
	top_n_sort(&explain->live[false]);
	top_n_sort(&explain->live[true]);
	if (!found->by_id)
		choose(explain);
	for (unsigned blocked = 0; blocked < 2; blocked++) {
		const struct top_n *from = &explain->live[blocked];

		for (uint32_t i = 0; i < from->n && found->n_live < EXPLAIN_FLOWS_MAX; i++) {
			const struct flow_record *record = top_n_at(from, i);

			if (is_chosen(found, record->flow_id))
				found->live[found->n_live++] = *record;
		}
	}
	forget_chosen(explain);
	if (found->n_flows)
		ask_evidence_of(request);
	else
		ask_cache(request);
}

// The second round: all evidence of the flows that were found.
static void second_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct evidence *records = query->out;

	(void)lcore;
	if (last)
		explain->found.overwritten += query->aside;
	for (uint32_t i = 0; i < query->n; i++)
		keep_piece(explain, &records[i]);
}

static void know_ends(struct explain *explain)
{
	struct explain_found *found = &explain->found;

	if (found->n_live) {
		found->question.ends = found->live[0].ends;
		found->question.l4_proto = found->live[0].l4_proto;
		found->has_ends = true;
	}
	for (uint32_t i = 0; i < explain->pieces.n && !found->has_ends; i++) {
		const struct evidence *record = top_n_at(&explain->pieces, i);

		if (record->kind != EVIDENCE_FLOW_MADE)
			continue;
		found->question.ends = record->ends;
		found->question.l4_proto = record->l4_proto;
		found->has_ends = true;
	}
}

static void second_end(struct request *request, const char *error)
{
	struct explain *explain = request->state;

	if (request_failed(request, error))
		return;
	if (explain->found.by_id)
		know_ends(explain);
	ask_cache(request);
}

static void cache_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct explain *explain = ((struct request *)ctx)->state;
	const struct conn_entry *entries = query->out;

	(void)last;
	for (uint32_t i = 0; i < query->n; i++)
		explain_cache_offer(&explain->cache, lcore, &entries[i]);
}

static bool lacks_memory(const struct explain *explain)
{
	return explain->pieces.no_memory || explain->blocked.no_memory ||
	       explain->others.no_memory || explain->live[0].no_memory ||
	       explain->live[1].no_memory || explain->found.cache.no_memory;
}

static void cache_end(struct request *request, const char *error)
{
	struct explain *explain = request->state;
	struct explain_found *found = &explain->found;

	if (request_failed(request, error))
		return;
	if (found->by_id && !explain->pieces.n && !found->n_live) {
		request_fail(request,
			"no flow %llu, and no evidence of it: it was never here, or so long ago "
			"that its evidence has been overwritten (%llu %s; "
			"limits.evidence keeps more)",
			(unsigned long long)found->flow_ids[0],
			(unsigned long long)found->overwritten,
			plural(found->overwritten, "piece was", "pieces were"));
		return;
	}
	explain_cache_end(&explain->cache, found);
	top_n_sort(&explain->pieces);
	struct evidence *records = calloc(explain->pieces.n + 1, sizeof *records);

	if (!records || lacks_memory(explain)) {
		request_fail(request, "no memory for the evidence");
	} else {
		found->n = explain->pieces.n;
		for (uint32_t i = 0; i < found->n; i++)
			records[i] = *(const struct evidence *)top_n_at(
				&explain->pieces, found->n - 1 - i);
		found->evidence = records;
		found->left_out = explain->n_pieces > PIECES_MAX;
		request_ok(request, explain_answer(found));
	}
	free(records);
}

// Entries for these ends are what the answer may be about.
static void know_pairs(struct explain *explain)
{
	const struct explain_found *found = &explain->found;
	struct explain_cache *cache = &explain->cache;

	explain_cache_begin(cache, found->context->dp->n_lcores);
	if (found->has_ends)
		explain_cache_know(cache, &found->question.ends);
	for (uint32_t i = 0; i < found->n_live; i++)
		explain_cache_know(cache, &found->live[i].ends);
	for (uint32_t i = 0; i < explain->pieces.n; i++) {
		const struct evidence *piece = top_n_at(&explain->pieces, i);

		if (piece->flags & EVIDENCE_HAS_ENDS)
			explain_cache_know(cache, &piece->ends);
	}
	explain_cache_known(cache);
}

// The cache does not ask for the initiator's port. Without a rule an entry is the operator's.
static void ask_cache(struct request *request)
{
	struct explain *explain = request->state;
	const struct explain_found *found = &explain->found;
	struct evidence_filter filter = found->question;

	know_pairs(explain);
	memset(filter.flow_ids, 0, sizeof filter.flow_ids);
	if ((filter.scope == EVIDENCE_SCOPE_ENDS && !found->has_ends) ||
		(filter.scope == EVIDENCE_SCOPE_RULE && !filter.rule_uid)) {
		cache_end(request, NULL);
		return;
	}
	request_ask(request,
		&(struct inquiry_question){.type = QUERY_CACHE,
			.filtered = true,
			.filter = filter,
			.page = cache_page},
		cache_end);
}

static void ask_flows(struct request *request)
{
	const struct explain_found *found = &((struct explain *)request->state)->found;

	request_ask(request,
		&(struct inquiry_question){.type = QUERY_FLOWS,
			.filtered = !found->by_id,
			.flow_id = found->by_id ? found->flow_ids[0] : 0,
			.filter = found->question,
			.page = flows_page},
		flows_end);
}

static void ask_evidence_of(struct request *request)
{
	const struct explain_found *found = &((struct explain *)request->state)->found;
	struct evidence_filter filter = {0};

	memcpy(filter.flow_ids, found->flow_ids, sizeof filter.flow_ids);
	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_EVIDENCE, .filter = filter, .page = second_page},
		second_end);
}

static void ask_which(struct request *request)
{
	const struct explain_found *found = &((struct explain *)request->state)->found;

	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_EVIDENCE, .filter = found->question, .page = first_page},
		first_end);
}

static bool read_ends(struct request *request, const json_t *arguments, struct explain_found *found)
{
	struct flow_ends *ends = &found->question.ends;
	uint64_t sport = 0, dport = 0;

	if (!argument_given(arguments, "src_ip") || !argument_given(arguments, "dest_ip")) {
		request_fail_arguments(request,
			"say flow_id, or src_ip and dest_ip, or one of host, user and rule");
		return false;
	}
	if (!argument_address(request, arguments, "src_ip", ends->address[HALF_C2S]) ||
		!argument_address(request, arguments, "dest_ip", ends->address[HALF_S2C]) ||
		!argument_number(request, arguments, "src_port", 1, UINT16_MAX, &sport) ||
		!argument_number(request, arguments, "dest_port", 1, UINT16_MAX, &dport))
		return false;
	ends->port[HALF_C2S] = (uint16_t)sport;
	ends->port[HALF_S2C] = (uint16_t)dport;
	found->has_ends = true;
	return argument_proto(request, arguments, "proto", &found->question.l4_proto);
}

static bool read_host(struct request *request, const json_t *arguments, struct explain_found *found)
{
	struct evidence_filter *question = &found->question;
	uint64_t port = 0;

	question->scope = EVIDENCE_SCOPE_HOST;
	if (!argument_address(request, arguments, "host", question->ends.address[0]) ||
		!argument_number(request, arguments, "port", 1, UINT16_MAX, &port))
		return false;
	question->ends.port[0] = (uint16_t)port;
	return argument_proto(request, arguments, "proto", &question->l4_proto);
}

static bool read_user(struct request *request, const json_t *arguments, struct explain_found *found)
{
	const char *name = NULL;

	found->question.scope = EVIDENCE_SCOPE_USER;
	return argument_text(request, arguments, "user", &name) &&
	       flow_filter_user(request, name, &found->question.user_uid);
}

static bool read_rule(struct request *request, const json_t *arguments, struct explain_found *found)
{
	const char *id = NULL;

	found->question.scope = EVIDENCE_SCOPE_RULE;
	return argument_text(request, arguments, "rule", &id) &&
	       flow_filter_rule(request, id, &found->question.rule_uid);
}

typedef bool question_reader(
	struct request *request, const json_t *arguments, struct explain_found *found);

static bool read_id(struct request *request, const json_t *arguments, struct explain_found *found)
{
	found->by_id = true;
	found->n_flows = 1;
	return argument_flow_id(request, arguments, &found->flow_ids[0]);
}

// A question is one row; the rest must not be there.
static bool read_question(struct request *request, json_t *arguments, struct explain_found *found)
{
	static const struct {
		const char *key;
		question_reader *read;
		const char *more[2];
	} rows[] = {{"flow_id", read_id, {0}}, {"host", read_host, {"port", "proto"}},
		{"user", read_user, {0}}, {"rule", read_rule, {0}}};
	const char *key;
	json_t *value;

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		if (!argument_given(arguments, rows[i].key))
			continue;
		json_object_foreach (arguments, key, value) {
			bool fits = !strcmp(key, rows[i].key);

			for (unsigned k = 0; k < 2 && rows[i].more[k]; k++)
				fits |= !strcmp(key, rows[i].more[k]);
			if (fits)
				continue;
			request_fail(request, "%s: a %s says it already; leave one of them out",
				key, rows[i].key);
			return false;
		}
		return rows[i].read(request, arguments, found);
	}
	return read_ends(request, arguments, found);
}

COMMAND(explain, "explain",
	"flow_id, src_ip, src_port, dest_ip, dest_port, proto, host, port, user, rule",
	"why something happened to a flow, or to what never became one")
{
	struct explain *explain = calloc(1, sizeof *explain);

	if (!explain) {
		request_fail(request, "no memory");
		return;
	}
	explain->found.context = request->context;
	top_n_init(&explain->pieces, PIECES_MAX, sizeof(struct evidence));
	top_n_init(&explain->blocked, CANDIDATES_MAX, sizeof(uint64_t));
	top_n_init(&explain->others, CANDIDATES_MAX, sizeof(uint64_t));
	top_n_init(&explain->live[false], LIVE_MAX, sizeof(struct flow_record));
	top_n_init(&explain->live[true], LIVE_MAX, sizeof(struct flow_record));
	if (!arguments_known(request, arguments) ||
		!read_question(request, arguments, &explain->found)) {
		explain_free(explain);
		return;
	}
	request->state = explain;
	request->state_free = explain_free;
	if (explain->found.by_id)
		ask_flows(request);
	else
		ask_which(request);
}
