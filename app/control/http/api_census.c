// SPDX-License-Identifier: BSD-3-Clause
// /api/hosts.json, /api/users.json: the largest of each, with what they use and what was blocked.
#include "control/http/api.h"

#include "control/http/census.h"
#include "control/event/eve.h"
#include "control/ctl/flow_group.h"
#include "control/stats/top_n.h"
#include "control/ctl/list_filter.h"

#define ROWS_MAX 25 // of each order

struct row_kind {
	const char *name;
	enum flow_group group;
	const struct census_table *table;
};

static void put_use(json_t **parent, const struct census_use *live, const struct census_use *all)
{
	put_number(parent, "bits_s", live->rate_bytes_s * 8);
	put_number(parent, "flows_active", live->flows);
	put_number(parent, "flows", all->flows);
	put_number(parent, "bytes_out", all->bytes[0]);
	put_number(parent, "bytes_in", all->bytes[1]);
}

static json_t *app_json(const struct control_context *context, const struct census_app *app)
{
	struct census_use all = census_app_use(app);
	json_t *object = json_object();

	if (app->app == UINT16_MAX) {
		put_text(&object, "app", "");
		put_text(&object, "title", "Others");
		put_text(&object, "category", "");
	} else {
		api_put_app(&object, context, app->app);
	}
	put_use(&object, &app->live, &all);
	put_number(&object, "blocked", app->blocked);
	return object;
}

static void put_peer(json_t **parent, const char *key, const uint8_t address[16], uint16_t port)
{
	json_t *end = json_object();

	put_address(&end, "ip", address);
	if (port)
		put_number(&end, "port", port);
	put_json(parent, key, end);
}

// Client and server; of the port of the client nothing is kept.
static void put_ends(json_t **parent, const uint8_t host[16], const uint8_t peer[16], uint16_t port,
	uint8_t l4_proto, bool outbound)
{
	put_peer(parent, "client", outbound ? host : peer, 0);
	put_peer(parent, "server", outbound ? peer : host, eve_has_ports(l4_proto) ? port : 0);
	put_bool(parent, "outbound", outbound);
	put_proto(parent, l4_proto);
}

static json_t *flow_json_of(const struct control_context *context, const struct census_flow *flow)
{
	json_t *object = json_object();

	put_number(&object, "flow_id", flow->flow_id);
	api_put_app(&object, context, flow->app);
	put_ends(&object, flow->host, flow->peer, flow->port, flow->l4_proto, flow->outbound);
	put_realm(&object, flow->realm);
	put_number(&object, "bits_s", flow->rate_bytes_s * 8);
	put_number(&object, "bytes", flow->bytes);
	put_text(&object, "action", action_word(flow->action));
	return object;
}

static json_t *block_json(const struct control_context *context, const struct census_block *block)
{
	const char *rule = block->rule_uid ? rule_names_get(context->names, block->rule_uid) : NULL;
	json_t *object = json_object();

	put_number(&object, "flow_id", block->flow_id & INT64_MAX);
	api_put_app(&object, context, block->app);
	put_ends(&object, block->host, block->peer, block->port, block->l4_proto, block->outbound);
	api_put_ms(&object, "time_ms", block->at_ns);
	put_number(&object, "count", block->count);
	put_text(&object, "action", action_word(block->action));
	put_bool(&object, "monitor", block->monitor);
	put_text(&object, "rule", rule ? rule : "");
	return object;
}

static void put_apps(
	json_t **row, const struct control_context *context, const struct census_row *of)
{
	json_t *apps = json_array();

	for (unsigned i = 0; i < of->n_apps; i++) {
		const struct census_app *app = &of->apps[i];

		if (app->blocked || app->live.flows || app->past.flows)
			put_item(&apps, app_json(context, app));
	}
	put_json(row, "apps", apps);
}

static json_t *row_json(const struct control_context *context, const struct row_kind *kind,
	const struct census_row *of)
{
	struct census_use live = census_row_live(of), all = census_row_use(of);
	json_t *row = json_object(), *flows = json_array(), *blocks = json_array();

	flow_group_put(&row, "key", context, kind->group, &of->key);
	if (kind->group == FLOW_GROUP_HOST)
		put_user(&row, context, of->user_uid);
	put_use(&row, &live, &all);
	put_number(&row, "blocked", of->blocked);
	put_number(&row, "would_block", of->monitored);
	api_put_ms(&row, "seen_ms", of->seen_ns);
	put_apps(&row, context, of);
	for (unsigned i = 0; i < CENSUS_FLOWS; i++) {
		if (of->flows[i].flow_id)
			put_item(&flows, flow_json_of(context, &of->flows[i]));
	}
	put_json(&row, "live", flows);
	for (unsigned i = 0; i < CENSUS_BLOCKS; i++) {
		if (of->blocks[i].count)
			put_item(&blocks, block_json(context, &of->blocks[i]));
	}
	put_json(&row, "blocks", blocks);
	return row;
}

enum order { ORDER_RATE, ORDER_BYTES, ORDER_BLOCKED, ORDERS };

static uint64_t value_of(const struct census_row *row, enum order order)
{
	struct census_use use;

	switch (order) {
	case ORDER_RATE: return census_row_live(row).rate_bytes_s;
	case ORDER_BYTES: use = census_row_use(row); return use.bytes[0] + use.bytes[1];
	case ORDER_BLOCKED: return row->blocked + row->monitored;
	case ORDERS: break;
	}
	return 0;
}

// The best of each order, each once.
static json_t *rows_json(const struct control_context *context, const struct row_kind *kind)
{
	const struct census_table *table = kind->table;
	uint32_t shown[ORDERS * ROWS_MAX];
	json_t *rows = json_array();
	bool is_whole = true;
	unsigned n = 0;

	for (unsigned order = 0; order < ORDERS; order++) {
		struct top_n top_n;

		top_n_init(&top_n, ROWS_MAX, sizeof(uint32_t));
		for (uint32_t i = 0; i < table->n; i++) {
			uint64_t value = value_of(&table->rows[i], (enum order)order);
			uint32_t *kept = value ? top_n_offer(&top_n, value, i) : NULL;

			if (kept)
				*kept = i;
		}
		for (uint32_t i = 0; i < top_n.n; i++) {
			uint32_t at = *(const uint32_t *)top_n_at(&top_n, i);
			unsigned k = 0;

			while (k < n && shown[k] != at)
				k++;
			if (k < n)
				continue;
			shown[n++] = at;
			put_item(&rows, row_json(context, kind, &table->rows[at]));
		}
		is_whole &= !top_n.no_memory;
		top_n_free(&top_n);
	}
	if (is_whole)
		return rows;
	json_decref(rows);
	return NULL;
}

static int put_kind(const struct http_site *site, const struct row_kind *kind, struct text *out)
{
	const struct census *census = site->census;
	json_t *root = api_begin(site);

	census_want(site->census);
	api_put_ms(&root, "counted_ms", census->counted_ns);
	put_number(&root, "known", kind->table->n);
	put_number(&root, "capacity", kind->table->max);
	put_number(&root, "evicted", kind->table->evicted);
	put_number(&root, "unheard", kind->table->unheard);
	put_json(&root, kind->name, rows_json(site->context, kind));
	return api_finish(root, out);
}

int api_hosts(const struct http_site *site, struct text *out)
{
	struct row_kind kind = {"hosts", FLOW_GROUP_HOST, &site->census->hosts};

	return put_kind(site, &kind, out);
}

// Without users in the policy the page shows none.
int api_users(const struct http_site *site, struct text *out)
{
	struct row_kind kind = {"users", FLOW_GROUP_USER, &site->census->users};

	return put_kind(site, &kind, out);
}
