// SPDX-License-Identifier: BSD-3-Clause
// The commands flow-list, flow-show and trace.
#include <stdlib.h>

#include "control/ctl/arguments.h"
#include "control/ctl/flow_filter.h"
#include "control/ctl/flow_group.h"
#include "control/ctl/flow_json.h"
#include "control/stats/top_n.h"
#include "control/ctl/list_filter.h"
#include "pipeline/limits.h"
#include "pipeline/query.h"

#define FLOW_OFFSET_MAX 100000

enum sort {
	SORT_BYTES,
	SORT_PACKETS,
	SORT_RATE,
	SORT_AGE,
	SORT_IDLE,
	SORT_START,
	SORT_NONE,
};
static const char *const sort_words[] = {
	[SORT_BYTES] = "bytes",
	[SORT_PACKETS] = "packets",
	[SORT_RATE] = "rate",
	[SORT_AGE] = "age",
	[SORT_IDLE] = "idle",
	[SORT_START] = "start",
	NULL,
};
static const char *const order_words[] = {"desc", "asc", NULL};
static const char *const group_words[] = {FLOW_GROUP_WORDS, NULL};

struct flow_list {
	struct flow_filter filter;
	struct top_n top_n;
	uint32_t limit, offset;
	unsigned sort;
	unsigned ascending;
	bool grouped;
	unsigned group;           // enum flow_group
	struct group_by group_by; // of all that match, not only of those that are shown
	uint64_t matched;
	uint64_t seen;
	uint32_t of_lcore[LCORES_MAX]; // matches so far
};

static void list_free(void *state)
{
	struct flow_list *list = state;

	top_n_free(&list->top_n);
	group_by_free(&list->group_by);
	flow_filter_free(&list->filter);
	free(list);
}

static uint64_t value_of(const struct flow_list *list, const struct flow_record *record)
{
	uint64_t value = 0;

	switch ((enum sort)list->sort) {
	case SORT_BYTES: value = record->bytes[0] + record->bytes[1]; break;
	case SORT_PACKETS: value = record->pkts[0] + record->pkts[1]; break;
	case SORT_RATE: value = record->rate_bytes_s; break;
	case SORT_AGE: value = UINT64_MAX - record->start_ns; break;
	case SORT_IDLE: value = UINT64_MAX - record->last_ns; break;
	case SORT_START: value = record->start_ns; break;
	case SORT_NONE: break;
	}
	return list->ascending ? UINT64_MAX - value : value;
}

static struct group_by_key group_key(const struct flow_list *list, const struct flow_record *record)
{
	return flow_group_key(
		(enum flow_group)list->group, list->filter.apps, record, flow_group_inside(record));
}

static void list_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct flow_list *list = ((struct request *)ctx)->state;
	const struct flow_record *records = query->out;

	(void)last;
	list->seen += query->n;
	// a reload between two pages may have replaced the tables of names
	list->filter.apps = reload_apps(((struct request *)ctx)->context->reload);
	for (uint32_t i = 0; i < query->n; i++) {
		const struct flow_record *record = &records[i];

		if (!flow_filter_has(&list->filter, record))
			continue;
		list->matched++;
		if (list->grouped) {
			struct group_by_key key = group_key(list, record);

			group_by_add(&list->group_by, &key, record);
		}
		// Unsorted, lists come in the same order again: lcore by lcore, as they lie.
		uint64_t tie = list->sort == SORT_NONE
				       ? (uint64_t)lcore << 32 | list->of_lcore[lcore]++
				       : record->flow_id;
		struct flow_record *kept = top_n_offer(&list->top_n, value_of(list, record), tie);

		if (kept)
			*kept = *record;
	}
}

static json_t *list_item(
	const struct control_context *context, struct flow_list *list, uint32_t place)
{
	const struct flow_record *record = top_n_at(&list->top_n, place);
	json_t *item = flow_json(context, record);

	if (list->grouped) {
		struct group_by_key key = group_key(list, record);

		flow_group_put(&item, "group", context, (enum flow_group)list->group, &key);
	}
	return item;
}

// The largest groups first, whatever the order of the flows: by rate where these are sorted by
// rate, else by bytes.
static void put_groups(
	json_t **message, const struct control_context *context, const struct flow_list *list)
{
	enum flow_group_order order =
		list->sort == SORT_RATE ? FLOW_GROUP_BY_RATE : FLOW_GROUP_BY_BYTES;

	put_text(message, "group", group_words[list->group]);
	put_json(message, "groups",
		flow_group_rows(context, (enum flow_group)list->group, order, list->limit,
			&list->group_by));
	put_number(message, "group_keys", list->group_by.n);
}

static void list_end(struct request *request, const char *error)
{
	struct flow_list *list = request->state;
	json_t *message, *flows;

	if (error || list->top_n.no_memory || list->group_by.no_memory) {
		request_fail(request, "%s", error ? error : "no memory for the list");
		return;
	}
	message = json_object();
	flows = json_array();
	top_n_sort(&list->top_n);
	for (uint32_t i = list->offset; i < list->top_n.n; i++)
		put_item(&flows, list_item(request->context, list, i));
	put_number(&message, "total", list->seen);
	put_number(&message, "matched", list->matched);
	put_number(&message, "offset", list->offset);
	if (list->grouped)
		put_groups(&message, request->context, list);
	put_json(&message, "flows", flows);
	request_ok(request, message);
}

COMMAND(flow_list, "flow-list", FLOW_FILTER_ARGUMENTS ", limit, offset, sort, order, group",
	"live flows")
{
	struct flow_filter filter;
	uint64_t limit = 100, offset = 0;
	unsigned sort = SORT_NONE, ascending = 0, group = 0;
	struct flow_list *list;

	if (!arguments_known(request, arguments) ||
		!argument_number(request, arguments, "limit", 1, LIST_FILTER_LIMIT_MAX, &limit) ||
		!argument_number(request, arguments, "offset", 0, FLOW_OFFSET_MAX, &offset) ||
		!argument_word(request, arguments, "sort", sort_words, &sort) ||
		!argument_word(request, arguments, "order", order_words, &ascending) ||
		!argument_word(request, arguments, "group", group_words, &group))
		return;
	if (sort == SORT_NONE && argument_given(arguments, "order")) {
		request_fail(request, "order: of what? Say sort, too");
		return;
	}
	if (!flow_filter_read(request, arguments, &filter))
		return;
	list = calloc(1, sizeof *list);
	if (!list) {
		flow_filter_free(&filter);
		request_fail(request, "no memory for the list");
		return;
	}
	list->filter = filter;
	list->limit = (uint32_t)limit;
	list->offset = (uint32_t)offset;
	list->sort = sort;
	list->ascending = ascending;
	list->grouped = argument_given(arguments, "group");
	list->group = group;
	list->group_by.seed = request->context->dp->limits->parse.seed;
	top_n_init(&list->top_n, list->offset + list->limit, sizeof(struct flow_record));
	request->state = list;
	request->state_free = list_free;
	request_ask(request, &(struct inquiry_question){.type = QUERY_FLOWS, .page = list_page},
		list_end);
}

struct one_flow {
	bool found;
	struct flow_record record;
	struct flow_look look;
	uint64_t flow_id;
	uint64_t traced;
	bool trace_on;
};

static bool read_flow_id(struct request *request, json_int_t flow_id)
{
	if (flow_id > 0)
		return true;
	request_fail(request, "flow_id is a positive number, as flow-list and events show it");
	return false;
}

static struct one_flow *one_flow_new(struct request *request, json_int_t flow_id)
{
	struct one_flow *one = calloc(1, sizeof *one);

	if (!one) {
		request_fail(request, "no memory");
		return NULL;
	}
	one->flow_id = (uint64_t)flow_id;
	request->state = one;
	request->state_free = free;
	return one;
}

static void show_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct one_flow *one = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	if (query->n) {
		one->found = true;
		one->record = ((const struct flow_record *)query->out)[0];
		one->look = query->look;
	}
}

static void fail_no_flow(struct request *request, uint64_t flow_id)
{
	request_fail(request, "no flow %llu: it has ended, or was never here",
		(unsigned long long)flow_id);
}

static void show_end(struct request *request, const char *error)
{
	struct one_flow *one = request->state;

	if (request_failed(request, error))
		return;
	if (!one->found) {
		fail_no_flow(request, one->flow_id);
		return;
	}
	request_ok(request,
		flow_json_whole(request->context, &one->record, &one->look, &one->look.content));
}

COMMAND(flow_show, "flow-show", "flow_id", "one flow, everything")
{
	json_int_t flow_id;
	json_error_t error;

	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s:I}", "flow_id", &flow_id) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (!read_flow_id(request, flow_id) || !one_flow_new(request, flow_id))
		return;
	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_FLOWS, .flow_id = (uint64_t)flow_id, .page = show_page},
		show_end);
}

static void trace_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct one_flow *one = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	one->traced += query->total;
}

static void trace_end(struct request *request, const char *error)
{
	struct one_flow *one = request->state;
	json_t *message;

	if (request_failed(request, error))
		return;
	if (!one->traced) {
		fail_no_flow(request, one->flow_id);
		return;
	}
	message = json_object();
	put_number(&message, "flow_id", one->flow_id);
	put_bool(&message, "trace", one->trace_on);
	request_ok(request, message);
}

COMMAND(trace, "trace", "flow_id, on", "logs each stage of a flow's packets as events")
{
	json_int_t flow_id;
	json_error_t error;
	struct one_flow *one;
	int on;

	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s:I, s:b}", "flow_id", &flow_id, "on",
		    &on) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (!read_flow_id(request, flow_id))
		return;
	one = one_flow_new(request, flow_id);
	if (!one)
		return;
	one->trace_on = on;
	request_ask(request,
		&(struct inquiry_question){.type = QUERY_TRACE,
			.trace_on = on,
			.flow_id = (uint64_t)flow_id,
			.page = trace_page},
		trace_end);
}
