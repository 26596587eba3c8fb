// SPDX-License-Identifier: BSD-3-Clause
// The command top: what the live flows come to, by flow, host, user, application, rule or category.
// Summed page by page as the lcores' answers come, so that the control core's loop never rests for
// long.
#include <stdio.h>
#include <stdlib.h>

#include "control/ctl/arguments.h"
#include "control/ctl/flow_filter.h"
#include "control/ctl/flow_group.h"
#include "control/ctl/flow_json.h"
#include "control/stats/top_n.h"
#include "control/ctl/list_filter.h"
#include "pipeline/limits.h"
#include "pipeline/query.h"

enum top_by { TOP_FLOW, TOP_GROUPS }; // from there on enum flow_group
#define TOP_HOST (TOP_GROUPS + FLOW_GROUP_HOST)
static const char *const by_words[] = {"flow", FLOW_GROUP_WORDS, NULL};
static const char *const order_words[] = {"rate", "bytes", "flows", NULL};
enum top_side { TOP_INSIDE, TOP_OUTSIDE, TOP_BOTH };
static const char *const side_words[] = {"inside", "outside", "both", NULL};

struct top {
	struct flow_filter filter;
	struct group_by group_by;
	struct top_n flows; // TOP_FLOW: struct flow_record
	unsigned by, side;
	unsigned order; // enum flow_group_order
	uint32_t limit;
	uint64_t total, matched, rate_bytes_s;
};

static void top_free(void *state)
{
	struct top *top = state;

	group_by_free(&top->group_by);
	top_n_free(&top->flows);
	flow_filter_free(&top->filter);
	free(top);
}

static enum flow_group group_of(const struct top *top)
{
	return (enum flow_group)(top->by - TOP_GROUPS);
}

static void add_end(struct top *top, const struct flow_record *record, enum half end)
{
	struct group_by_key key = flow_group_key(group_of(top), top->filter.apps, record, end);

	group_by_add(&top->group_by, &key, record);
}

static void add_flow(struct top *top, const struct flow_record *record)
{
	uint64_t value = top->order == FLOW_GROUP_BY_RATE ? record->rate_bytes_s
							  : record->bytes[0] + record->bytes[1];
	struct flow_record *kept = top_n_offer(&top->flows, value, record->flow_id);

	if (kept)
		*kept = *record;
}

static void add(struct top *top, const struct flow_record *record)
{
	enum half inside = flow_group_inside(record);

	if (top->by == TOP_FLOW) {
		add_flow(top, record);
		return;
	}
	// what is no end of a flow is counted once
	if (top->by != TOP_HOST || top->side != TOP_OUTSIDE)
		add_end(top, record, inside);
	if (top->by == TOP_HOST && top->side != TOP_INSIDE)
		add_end(top, record, !inside);
}

static void top_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct request *request = ctx;
	struct top *top = request->state;
	const struct flow_record *records = query->out;

	(void)lcore;
	(void)last;
	top->total += query->n;
	// a reload between two pages may have replaced the tables of names
	top->filter.apps = reload_apps(request->context->reload);
	for (uint32_t i = 0; i < query->n; i++) {
		if (!flow_filter_has(&top->filter, &records[i]))
			continue;
		top->matched++;
		top->rate_bytes_s += records[i].rate_bytes_s;
		add(top, &records[i]);
	}
}

static json_t *rows_of_flows(const struct control_context *context, struct top *top)
{
	json_t *rows = json_array();

	top_n_sort(&top->flows);
	for (uint32_t i = 0; i < top->flows.n; i++) {
		const struct flow_record *record = top_n_at(&top->flows, i);
		json_t *row = flow_json(context, record);
		char id[24];

		snprintf(id, sizeof id, "%llu", (unsigned long long)record->flow_id);
		put_text(&row, "key", id);
		put_number(&row, "bytes", record->bytes[0] + record->bytes[1]);
		put_item(&rows, row);
	}
	return rows;
}

static void top_end(struct request *request, const char *error)
{
	struct top *top = request->state;
	bool flows = top->by == TOP_FLOW;
	json_t *message;

	if (error || top->flows.no_memory || top->group_by.no_memory) {
		request_fail(request, "%s", error ? error : "no memory for the list");
		return;
	}
	message = json_object();
	put_text(&message, "by", by_words[top->by]);
	put_text(&message, "order", order_words[top->order]);
	if (top->by == TOP_HOST)
		put_text(&message, "side", side_words[top->side]);
	put_number(&message, "total", top->total);
	put_number(&message, "matched", top->matched);
	put_number(&message, "keys", flows ? top->matched : top->group_by.n);
	put_number(&message, "other_flows", top->group_by.other.flows);
	put_number(&message, "rate_bytes_s", top->rate_bytes_s);
	put_json(&message, "rows",
		flows ? rows_of_flows(request->context, top)
		      : flow_group_rows(request->context, group_of(top),
				(enum flow_group_order)top->order, top->limit, &top->group_by));
	request_ok(request, message);
}

COMMAND(top, "top", FLOW_FILTER_ARGUMENTS ", by, order, side, limit",
	"who uses the wire: flows, hosts, users, applications, rules, categories")
{
	struct top read = {.by = TOP_FLOW, .order = FLOW_GROUP_BY_RATE, .side = TOP_INSIDE}, *top;
	uint64_t limit = 20;

	if (!arguments_known(request, arguments) ||
		!argument_word(request, arguments, "by", by_words, &read.by) ||
		!argument_word(request, arguments, "order", order_words, &read.order) ||
		!argument_word(request, arguments, "side", side_words, &read.side) ||
		!argument_number(request, arguments, "limit", 1, LIST_FILTER_LIMIT_MAX, &limit))
		return;
	if (read.by == TOP_FLOW && read.order == FLOW_GROUP_BY_FLOWS) {
		request_fail(request, "order: flows come by rate or bytes");
		return;
	}
	if (argument_given(arguments, "side") && read.by != TOP_HOST) {
		request_fail(request, "side: only hosts have one; say \"by\": \"host\"");
		return;
	}
	if (!flow_filter_read(request, arguments, &read.filter))
		return;
	top = malloc(sizeof *top);
	if (!top) {
		flow_filter_free(&read.filter);
		request_fail(request, "no memory for the list");
		return;
	}
	read.limit = (uint32_t)limit;
	*top = read;
	top->group_by.seed = request->context->dp->limits->parse.seed;
	top_n_init(&top->flows, top->limit, sizeof(struct flow_record));
	request->state = top;
	request->state_free = top_free;
	request_ask(request, &(struct inquiry_question){.type = QUERY_FLOWS, .page = top_page},
		top_end);
}
