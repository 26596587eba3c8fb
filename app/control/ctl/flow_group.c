// SPDX-License-Identifier: BSD-3-Clause
// Derives the key under which a live flow is grouped.
#include "control/ctl/flow_group.h"

#include <string.h>

#include "control/stats/top_n.h"
#include "control/ctl/list_filter.h"
#include "pipeline/query.h"

#define UNKNOWN_CATEGORY UINT32_MAX // of flows without application

struct group_by_key flow_group_number_key(uint32_t number)
{
	struct group_by_key key = {0};

	memcpy(key.bytes, &number, sizeof number);
	return key;
}

static uint32_t key_number(const struct group_by_key *key)
{
	uint32_t number;

	memcpy(&number, key->bytes, sizeof number);
	return number;
}

enum half flow_group_inside(const struct flow_record *record)
{
	return record->flags & FLOW_C2S_INSIDE ? HALF_C2S : HALF_S2C;
}

struct group_by_key flow_group_key(enum flow_group by, const struct app_names *apps,
	const struct flow_record *record, enum half end)
{
	const struct app_proto *app;
	struct group_by_key key = {0};

	switch (by) {
	case FLOW_GROUP_HOST: memcpy(key.bytes, record->ends.address[end], sizeof key.bytes); break;
	case FLOW_GROUP_USER: return flow_group_number_key(record->user_uid);
	case FLOW_GROUP_APP: return flow_group_number_key(record->app);
	case FLOW_GROUP_RULE: return flow_group_number_key(record->rule_uid);
	case FLOW_GROUP_CATEGORY:
		app = app_names_get(apps, record->app);
		return flow_group_number_key(app ? app->category : UNKNOWN_CATEGORY);
	case FLOW_GROUPS_MAX: break;
	}
	return key;
}

static const char *number_text(
	const struct control_context *context, enum flow_group by, uint32_t number)
{
	const struct app_proto *app;

	switch (by) {
	case FLOW_GROUP_USER:
		return number ? rule_names_get(context->names, number) : FLOW_GROUP_NO_USER;
	case FLOW_GROUP_APP:
		app = app_names_get(reload_apps(context->reload), (uint16_t)number);
		return app ? app->name : "unknown";
	case FLOW_GROUP_RULE: return number ? rule_names_get(context->names, number) : "default";
	case FLOW_GROUP_CATEGORY:
		return number == UNKNOWN_CATEGORY ? "unknown"
						  : app_category_word((enum app_category)number);
	case FLOW_GROUP_HOST:
	case FLOW_GROUPS_MAX: break;
	}
	return NULL;
}

void flow_group_put(json_t **parent, const char *name, const struct control_context *context,
	enum flow_group by, const struct group_by_key *key)
{
	const char *text;

	if (by == FLOW_GROUP_HOST) {
		put_address(parent, name, key->bytes);
		return;
	}
	text = number_text(context, by, key_number(key));
	put_text(parent, name, text ? text : "?");
}

void flow_group_put_sums(json_t **parent, const struct group_by_row *sums)
{
	put_number(parent, "flows", sums->flows);
	put_number(parent, "rate_bytes_s", sums->rate_bytes_s);
	put_number(parent, "bytes", sums->bytes[HALF_C2S] + sums->bytes[HALF_S2C]);
	put_number(parent, "bytes_toserver", sums->bytes[HALF_C2S]);
	put_number(parent, "bytes_toclient", sums->bytes[HALF_S2C]);
	put_number(parent, "pkts", sums->pkts);
}

static uint64_t row_value(enum flow_group_order order, const struct group_by_row *row)
{
	switch (order) {
	case FLOW_GROUP_BY_RATE: return row->rate_bytes_s;
	case FLOW_GROUP_BY_BYTES: return row->bytes[HALF_C2S] + row->bytes[HALF_S2C];
	case FLOW_GROUP_BY_FLOWS: break;
	}
	return row->flows;
}

json_t *flow_group_rows(const struct control_context *context, enum flow_group by,
	enum flow_group_order order, uint32_t limit, const struct group_by *group_by)
{
	json_t *rows = json_array(), *row;
	struct top_n top_n;

	top_n_init(&top_n, limit, sizeof(struct group_by_row));
	for (uint32_t i = 0; i < group_by->n; i++) {
		const struct group_by_row *sums = &group_by->rows[i];
		struct group_by_row *kept = top_n_offer(&top_n, row_value(order, sums),
			UINT64_MAX - sums->bytes[HALF_C2S] - sums->bytes[HALF_S2C]);

		if (kept)
			*kept = *sums;
	}
	top_n_sort(&top_n);
	if (top_n.no_memory) {
		json_decref(rows);
		rows = NULL;
	}
	for (uint32_t i = 0; i < top_n.n; i++) {
		const struct group_by_row *sums = top_n_at(&top_n, i);

		row = json_object();
		flow_group_put(&row, "key", context, by, &sums->key);
		flow_group_put_sums(&row, sums);
		put_item(&rows, row);
	}
	if (group_by->other.flows) {
		row = json_object();
		put_text(&row, "key", "other");
		flow_group_put_sums(&row, &group_by->other);
		put_item(&rows, row);
	}
	top_n_free(&top_n);
	return rows;
}
