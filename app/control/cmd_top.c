// SPDX-License-Identifier: BSD-3-Clause
// top: what the live flows come to, by flow, host, application, rule or category. Summed page by
// page as the lcores' answers come, so that the control core's loop never rests for long.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arguments.h"
#include "flow_filter.h"
#include "flow_json.h"
#include "ranking.h"
#include "selection.h"
#include "tally.h"

enum top_by { TOP_FLOW, TOP_HOST, TOP_APP, TOP_RULE, TOP_CATEGORY };
static const char *const by_words[] = {"flow", "host", "app", "rule", "category", NULL};
enum top_order { TOP_RATE, TOP_BYTES, TOP_FLOWS };
static const char *const order_words[] = {"rate", "bytes", "flows", NULL};
enum top_side { TOP_INSIDE, TOP_OUTSIDE, TOP_BOTH };
static const char *const side_words[] = {"inside", "outside", "both", NULL};

#define UNKNOWN_CATEGORY UINT32_MAX // of flows without application

struct top {
	struct flow_filter filter;
	struct tally tally;
	struct ranking flows; // TOP_FLOW: struct flow_record
	unsigned by, order, side;
	uint32_t limit;
	uint64_t total, matched, rate_bytes_s;
};

static void top_free(void *state)
{
	struct top *top = state;

	tally_free(&top->tally);
	ranking_free(&top->flows);
	flow_filter_free(&top->filter);
	free(top);
}

static struct tally_key number_key(uint32_t number)
{
	struct tally_key key = {0};

	memcpy(key.bytes, &number, sizeof number);
	return key;
}

static uint32_t key_number(const struct tally_key *key)
{
	uint32_t number;

	memcpy(&number, key->bytes, sizeof number);
	return number;
}

static void add_host(struct top *top, const struct flow_record *record, enum half half)
{
	struct tally_key key;

	memcpy(key.bytes, record->ends.address[half], sizeof key.bytes);
	tally_add(&top->tally, &key, record);
}

static void add_hosts(struct top *top, const struct flow_record *record)
{
	enum half inside = record->flags & FLOW_C2S_INSIDE ? HALF_C2S : HALF_S2C;

	if (top->side != TOP_OUTSIDE)
		add_host(top, record, inside);
	if (top->side != TOP_INSIDE)
		add_host(top, record, !inside);
}

static void add_flow(struct top *top, const struct flow_record *record)
{
	uint64_t value =
		top->order == TOP_RATE ? record->rate_bytes_s : record->bytes[0] + record->bytes[1];
	struct flow_record *kept = ranking_offer(&top->flows, value, record->flow_id);

	if (kept)
		*kept = *record;
}

static void add(struct top *top, const struct flow_record *record)
{
	const struct app_proto *app = NULL;
	struct tally_key key;

	switch ((enum top_by)top->by) {
	case TOP_FLOW: add_flow(top, record); return;
	case TOP_HOST: add_hosts(top, record); return;
	case TOP_APP: key = number_key(record->app); break;
	case TOP_RULE: key = number_key(record->rule_uid); break;
	case TOP_CATEGORY:
		app = app_names_get(top->filter.apps, record->app);
		key = number_key(app ? app->category : UNKNOWN_CATEGORY);
		break;
	}
	tally_add(&top->tally, &key, record);
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

static void put_key(json_t **row, const struct control_context *context, const struct top *top,
	const struct tally_key *key)
{
	uint32_t number = key_number(key);
	const char *text = NULL;
	const struct app_proto *app;

	switch ((enum top_by)top->by) {
	case TOP_FLOW: break;
	case TOP_HOST: put_address(row, "key", key->bytes); return;
	case TOP_APP:
		app = app_names_get(reload_apps(context->reload), (uint16_t)number);
		text = app ? app->name : "unknown";
		break;
	case TOP_RULE: text = number ? rule_names_get(context->names, number) : "default"; break;
	case TOP_CATEGORY:
		text = number == UNKNOWN_CATEGORY ? "unknown"
						  : app_category_word((enum app_category)number);
		break;
	}
	put_text(row, "key", text ? text : "?");
}

static json_t *row_sums(json_t *row, const struct tally_row *sums)
{
	put_number(&row, "flows", sums->flows);
	put_number(&row, "rate_bytes_s", sums->rate_bytes_s);
	put_number(&row, "bytes", sums->bytes[HALF_C2S] + sums->bytes[HALF_S2C]);
	put_number(&row, "bytes_toserver", sums->bytes[HALF_C2S]);
	put_number(&row, "bytes_toclient", sums->bytes[HALF_S2C]);
	put_number(&row, "pkts", sums->pkts);
	return row;
}

static uint64_t row_value(const struct top *top, const struct tally_row *row)
{
	switch ((enum top_order)top->order) {
	case TOP_RATE: return row->rate_bytes_s;
	case TOP_BYTES: return row->bytes[HALF_C2S] + row->bytes[HALF_S2C];
	case TOP_FLOWS: break;
	}
	return row->flows;
}

// Where what is asked for is the same, more bytes come first.
static json_t *rows_of_tally(const struct control_context *context, struct top *top)
{
	json_t *rows = json_array(), *row;
	struct ranking ranking;

	ranking_init(&ranking, top->limit, sizeof(struct tally_row));
	for (uint32_t i = 0; i < top->tally.n; i++) {
		const struct tally_row *sums = &top->tally.rows[i];
		struct tally_row *kept = ranking_offer(&ranking, row_value(top, sums),
			UINT64_MAX - sums->bytes[HALF_C2S] - sums->bytes[HALF_S2C]);

		if (kept)
			*kept = *sums;
	}
	ranking_sort(&ranking);
	for (uint32_t i = 0; i < ranking.n && !ranking.no_memory; i++) {
		const struct tally_row *sums = ranking_at(&ranking, i);

		row = json_object();
		put_key(&row, context, top, &sums->key);
		put_item(&rows, row_sums(row, sums));
	}
	if (top->tally.other.flows) {
		row = json_object();
		put_text(&row, "key", "other");
		put_item(&rows, row_sums(row, &top->tally.other));
	}
	ranking_free(&ranking);
	return rows;
}

static json_t *rows_of_flows(const struct control_context *context, struct top *top)
{
	json_t *rows = json_array();

	ranking_sort(&top->flows);
	for (uint32_t i = 0; i < top->flows.n; i++) {
		const struct flow_record *record = ranking_at(&top->flows, i);
		json_t *row = flow_json(context, record);
		char id[24];

		snprintf(id, sizeof id, "%llu", (unsigned long long)record->flow_id);
		put_text(&row, "key", id);
		put_number(&row, "bytes", record->bytes[0] + record->bytes[1]);
		put_item(&rows, row);
	}
	return rows;
}

static void top_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct top *top = request->state;
	bool flows = top->by == TOP_FLOW;
	json_t *message;

	request->inquiry = NULL;
	if (error || top->flows.no_memory || top->tally.no_memory) {
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
	put_number(&message, "keys", flows ? top->matched : top->tally.n);
	put_number(&message, "other_flows", top->tally.other.flows);
	put_number(&message, "rate_bytes_s", top->rate_bytes_s);
	put_json(&message, "rows",
		flows ? rows_of_flows(request->context, top)
		      : rows_of_tally(request->context, top));
	request_ok(request, message);
}

void cmd_top(struct request *request, json_t *arguments)
{
	struct top read = {.by = TOP_FLOW, .order = TOP_RATE, .side = TOP_INSIDE}, *top;
	uint64_t limit = 20;

	if (!arguments_known(request, arguments) ||
		!argument_word(request, arguments, "by", by_words, &read.by) ||
		!argument_word(request, arguments, "order", order_words, &read.order) ||
		!argument_word(request, arguments, "side", side_words, &read.side) ||
		!argument_number(request, arguments, "limit", 1, SELECTION_LIMIT_MAX, &limit))
		return;
	if (read.by == TOP_FLOW && read.order == TOP_FLOWS) {
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
	top->tally.seed = request->context->dp->limits.parse.seed;
	ranking_init(&top->flows, top->limit, sizeof(struct flow_record));
	request->state = top;
	request->state_free = top_free;
	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_FLOWS, .page = top_page, .end = top_end, .ctx = request});
}
