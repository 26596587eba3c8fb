// SPDX-License-Identifier: BSD-3-Clause
// Formats what the scan lcores tell.
#include "control/ctl/scan_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "control/content/recent.h"
#include "control/ctl/content_json.h"
#include "control/ctl/list_filter.h"
#include "control/event/eve.h"
#include "control/policy/app_names.h"
#include "control/stats/scan_state.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"

static void put_digest(json_t **parent, const uint8_t digest[SCAN_WIRE_DIGEST])
{
	char text[2 * SCAN_WIRE_DIGEST + 1];

	for (unsigned i = 0; i < SCAN_WIRE_DIGEST; i++)
		snprintf(text + 2 * i, 3, "%02x", digest[i]);
	put_text(parent, "digest", text);
}

json_t *scan_json_database(const struct control_context *context, const struct scan_status *status)
{
	uint64_t now_s = context->now_ns() / NS_PER_S;
	json_t *object;

	if (!status->signatures)
		return NULL;
	object = json_object();
	put_number(&object, "signatures", status->signatures);
	put_number(&object, "version", status->db_version);
	if (status->db_time_s < INT64_MAX / NS_PER_S) // else it cannot be told
		put_time(&object, "time", status->db_time_s * NS_PER_S);
	put_number(&object, "age_s", now_s > status->db_time_s ? now_s - status->db_time_s : 0);
	put_digest(&object, status->digest);
	return object;
}

static void put_verdicts(json_t **parent, const struct scan_status *status)
{
	json_t *verdicts = json_object(), *reasons = json_object();

	for (unsigned value = 0; value < SCAN_VALUES_MAX; value++)
		put_number(&verdicts, scan_value_word(value), status->verdicts[value]);
	for (unsigned reason = SCAN_REASON_NONE + 1; reason < SCAN_REASONS_MAX; reason++)
		put_number(&reasons, scan_reason_word(reason), status->unscanned[reason]);
	put_json(parent, "verdicts", verdicts);
	put_json(parent, "unscanned", reasons);
}

// What need not be scanned again, by this scan lcore's files.
static json_t *known_json(const struct scan_known_status *known)
{
	json_t *object = json_object();

	put_number(&object, "hits", known->hits);
	put_number(&object, "misses", known->misses);
	put_number(&object, "joined", known->joined);
	put_number(&object, "listed", known->listed);
	return object;
}

static json_t *lcore_json(
	const struct control_context *context, unsigned lcore, const struct scan_status *status)
{
	json_t *object = json_object(), *database = scan_json_database(context, status);

	put_number(&object, "lcore", lcore);
	put_text(&object, "state", scan_state_word(status->state));
	if (status->text[0])
		put_text(&object, "last", status->text);
	if (status->parent)
		put_number(&object, "parent", status->parent);
	if (status->pid > 0)
		put_number(&object, "pid", (uint64_t)status->pid);
	put_number(&object, "replaced", status->replaced);
	put_number(&object, "died", status->died);
	put_number(&object, "finished", status->finished);
	put_number(&object, "waiting", status->waiting);
	put_number(&object, "running", status->running);
	if (database)
		put_json(&object, "database", database);
	if (status->refused)
		put_text(&object, "refused", status->refusal);
	put_verdicts(&object, status);
	put_json(&object, "known", known_json(&status->known));
	put_json(&object, "queue", stats_histogram_json(&status->queue));
	put_json(&object, "run", stats_histogram_json(&status->run));
	return object;
}

// One for all scan lcores: each tells the same.
static void put_cache(json_t **root, const struct scan_desk *desk)
{
	json_t *object = json_object();
	struct scan_status status;

	if (desk->n && desk->status(desk->ctx, 0, &status)) {
		put_number(&object, "entries", status.known.entries);
		put_number(&object, "limit", status.known.limit);
		put_number(&object, "evicted", status.known.evicted);
		put_json(root, "cache", object);
	} else {
		json_decref(object);
	}
}

static void put_event(json_t **parent, const struct control_context *context, const char *key,
	uint64_t count, uint64_t last_ns, const char *reason)
{
	uint64_t now_ns = context->now_ns();
	json_t *object = json_object();

	put_number(&object, "count", count);
	if (last_ns) {
		put_time(&object, "time", last_ns);
		put_number(&object, "age_s", now_ns > last_ns ? (now_ns - last_ns) / NS_PER_S : 0);
	}
	if (last_ns && reason)
		put_text(&object, "reason", reason);
	put_json(parent, key, object);
}

static void put_reloads(json_t **root, const struct control_context *context)
{
	const struct scan_reloads *reloads = context->scan_reloads;
	json_t *object;

	if (!reloads)
		return;
	object = json_object();
	put_text(&object, "mode", reloads->is_sequential ? "sequential" : "concurrent");
	put_bool(&object, "loading", reloads->is_loading);
	put_event(&object, context, "taken", reloads->taken, reloads->taken_ns, NULL);
	put_event(&object, context, "refused", reloads->refused, reloads->refused_ns,
		reloads->refusal);
	put_json(root, "reloads", object);
}

static void put_lcores(json_t **root, const struct control_context *context)
{
	const struct scan_desk *desk = context->scan;
	json_t *lcores = json_array();

	for (unsigned i = 0; i < desk->n; i++) {
		struct scan_status status;

		if (desk->status(desk->ctx, i, &status))
			put_item(&lcores, lcore_json(context, i, &status));
	}
	put_json(root, "lcores", lcores);
}

static void put_files(json_t **root, const struct control_context *context)
{
	const struct scan_desk *desk = context->scan;
	json_t *list = json_array();

	for (unsigned i = 0; i < context->dp->n_lcores; i++) {
		struct scan_files_use use;
		struct stats stats;
		json_t *object;

		if (!context->dp->lcores[i] || !desk->files(desk->ctx, i, &use))
			continue;
		stats_lcore(context->dp->lcores[i], &stats);
		object = json_object();
		put_number(&object, "lcore", i);
		put_number(&object, "files", stats.scan_files);
		put_number(&object, "pending", stats.scan_pending);
		put_number(&object, "held", use.held);
		put_number(&object, "arena_bytes", use.arena_bytes);
		put_number(&object, "arena_used_bytes", use.arena_used);
		put_number(&object, "arena_peak_bytes", use.arena_peak);
		put_item(&list, object);
	}
	put_json(root, "data", list);
}

static json_t *slow_json(
	const struct control_context *context, const struct recent_entry *entry, bool names)
{
	const struct event *event = &entry->event;
	const struct content_item *item = &entry->item;
	const struct app_proto *app = app_names_get(reload_apps(context->reload), event->app);
	const struct scan_result *av = &item->av;
	json_t *object = json_object();
	char id[EVE_ITEM_ID_BYTES];

	if (names)
		put_time(&object, "time", event->now_ns);
	else // as the page has times
		put_number(&object, "time_ms", event->now_ns / NS_PER_MS);
	put_number(&object, "flow_id", event->flow_id & INT64_MAX);
	eve_item_id(event, id);
	if (*id)
		put_text(&object, "item_id", id);
	if (app)
		put_text(&object, "app", app->name);
	put_rule(&object, context, event->rule_uid);
	if (names && item->name.length)
		content_json_put_bytes(&object, "filename", item->name_bytes, item->name.length);
	put_number(&object, "bytes", item->bytes & INT64_MAX);
	put_text(&object, "verdict", scan_value_word(av->value));
	if (av->value == SCAN_UNSCANNED)
		put_text(&object, "reason", scan_reason_word(av->reason));
	if (av->value == SCAN_INFECTED)
		put_text(&object, "signature", av->name);
	put_number(&object, "queue_ms", av->queue_ns / NS_PER_MS);
	put_number(&object, "scan_ms", av->run_ns / NS_PER_MS);
	put_number(&object, "hold_ms", av->hold_ns / NS_PER_MS);
	return object;
}

static void put_slowest(json_t **root, const struct control_context *context, bool names)
{
	const struct recent_entry *entry;
	json_t *list = json_array();

	for (unsigned i = 0; context->recent &&
			     (entry = content_recent_slow(context->recent, context->now_ns(), i));
		i++)
		put_item(&list, slow_json(context, entry, names));
	put_json(root, "slowest", list);
}

json_t *scan_json(const struct control_context *context, bool names)
{
	const struct scan_desk *desk = context->scan;
	const char *rule = scan_state_asks(context);
	json_t *root = json_object();
	struct histogram hold;
	char why[256];

	put_text(&root, "engine", desk ? desk->config->ops->name : "none");
	put_number(&root, "ready", desk ? scan_state_ready(desk) : 0);
	if (rule)
		put_text(&root, "asked_by", rule);
	if (scan_state_is_missing(context, why, sizeof why))
		put_text(&root, "problem", why);
	if (!desk)
		return root;
	put_number(&root, "max_file_bytes", desk->config->max_file_bytes);
	put_number(&root, "timeout_ms", desk->config->timeout_ns / NS_PER_MS);
	put_cache(&root, desk);
	put_reloads(&root, context);
	put_lcores(&root, context);
	put_files(&root, context);
	stats_hold(context->dp, &hold);
	put_json(&root, "hold", stats_histogram_json(&hold));
	put_slowest(&root, context, names);
	return root;
}
