// SPDX-License-Identifier: BSD-3-Clause
// /api/*.json: what the live page reads (docs/metrics.md describes every member). Times are
// milliseconds since the Unix epoch.
#include "control/http/api.h"

#include <errno.h>
#include <rte_mempool.h>
#include <stdlib.h>

#include "control/policy/app_names.h"
#include "control/stats/alarms.h"
#include "control/event/eve.h"
#include "control/http/site.h"
#include "control/stats/rates.h"
#include "control/event/recent_verdicts.h"
#include "control/ctl/list_filter.h"
#include "control/stats/sum.h"
#include "pipeline/limits.h"
#include "pipeline/vocab/tick.h"

int api_finish(json_t *root, struct text *out)
{
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(root);
	if (!text)
		return -ENOMEM;
	text_string(out, text);
	free(text);
	return out->failed ? -ENOMEM : 0;
}

void api_put_ms(json_t **parent, const char *key, uint64_t ns)
{
	put_number(parent, key, ns / NS_PER_MS);
}

json_t *api_begin(const struct http_site *site)
{
	json_t *root = json_object();

	api_put_ms(&root, "now_ms", site->context->now_ns());
	return root;
}

enum curve { CURVE_BITS_IN, CURVE_BITS_OUT, CURVE_PKTS_IN, CURVE_PKTS_OUT, CURVE_DROPPED };

static uint64_t point(const struct rates_sample *sample, enum curve curve)
{
	switch (curve) {
	case CURVE_BITS_IN: return sample->bytes[RATES_IN] * 8;
	case CURVE_BITS_OUT: return sample->bytes[RATES_OUT] * 8;
	case CURVE_PKTS_IN: return sample->pkts[RATES_IN];
	case CURVE_PKTS_OUT: return sample->pkts[RATES_OUT];
	case CURVE_DROPPED: break;
	}
	return sample->dropped_pkts;
}

static void put_curve(json_t **parent, const char *key, const struct rates *rates, enum curve curve)
{
	json_t *array = json_array();

	for (unsigned i = 0; i < rates->n; i++) { // oldest first
		unsigned at = (rates->next + RATES_SAMPLES - rates->n + i) % RATES_SAMPLES;

		put_item(&array, json_integer((json_int_t)point(&rates->samples[at], curve)));
	}
	put_json(parent, key, array);
}

static void put_policy(json_t **parent, const struct control_context *context)
{
	const struct policy *policy = reload_policy(context->reload);
	const char *path = reload_path(context->reload);
	json_t *object = json_object();

	put_number(&object, "generation", reload_generation(context->reload));
	put_text(&object, "path", path ? path : "");
	api_put_ms(&object, "loaded_ms", reload_loaded_ns(context->reload));
	put_number(&object, "failures", reload_failures(context->reload));
	put_number(&object, "rules", policy ? policy->n_rules : 0);
	put_bool(&object, "monitor", policy && policy->mode == MODE_MONITOR);
	put_bool(&object, "enforces", policy && policy->enforces);
	put_json(parent, "policy", object);
}

int api_summary(const struct http_site *site, struct text *out)
{
	const struct control_context *context = site->context;
	uint64_t now_ns = context->now_ns();
	json_t *root = api_begin(site), *history = json_object();
	struct stats sum;

	stats_sum(context->dp, &sum, NULL);
	put_text(&root, "version", SLUICE_VERSION);
	put_bool(&root, "actions", site->actions);
	put_number(&root, "uptime_s",
		now_ns > context->started_ns ? (now_ns - context->started_ns) / NS_PER_S : 0);
	put_policy(&root, context);
	put_number(&root, "flows_active", sum.flows_active);
	put_number(&root, "embryos_active", sum.embryos_active);
	put_number(&root, "flows_blocked", sum.flows_condemned);
	put_number(&root, "monitor_hits", sum.monitor_hits);
	put_number(&root, "received_pkts", sum.received_pkts);
	put_number(&root, "received_bytes", sum.received_bytes);
	put_number(&root, "sent_pkts", sum.sent_pkts);
	api_put_ms(&history, "end_ms", site->rates->sampled_ns);
	put_number(&history, "step_ms", 1000);
	put_curve(&history, "in_bits_s", site->rates, CURVE_BITS_IN);
	put_curve(&history, "out_bits_s", site->rates, CURVE_BITS_OUT);
	put_curve(&history, "in_pkts_s", site->rates, CURVE_PKTS_IN);
	put_curve(&history, "out_pkts_s", site->rates, CURVE_PKTS_OUT);
	put_curve(&history, "dropped_pkts_s", site->rates, CURVE_DROPPED);
	put_json(&root, "history", history);
	return api_finish(root, out);
}

void api_put_app(json_t **parent, const struct control_context *context, uint16_t app)
{
	const struct app_proto *proto = app_names_get(reload_apps(context->reload), app);

	put_text(parent, "app", proto ? proto->name : "");
	put_text(parent, "title",
		proto && proto->title ? proto->title
		: proto               ? proto->name
				      : "Unknown");
	put_text(parent, "category", proto ? app_category_word(proto->category) : "");
}

int api_apps(const struct http_site *site, struct text *out)
{
	const struct control_context *context = site->context;
	json_t *root = api_begin(site), *apps = json_array();

	for (unsigned app = 0; app < APPS_MAX; app++) {
		struct app_usage usage = rates_app(context->dp, app);
		json_t *entry;

		if (!usage.flows && !usage.flows_active && !usage.flows_blocked &&
			!usage.pkts[HALF_C2S] && !usage.pkts[HALF_S2C])
			continue;
		entry = json_object();
		api_put_app(&entry, context, (uint16_t)app);
		put_number(&entry, "flows_active", usage.flows_active);
		put_number(&entry, "flows", usage.flows);
		put_number(&entry, "flows_blocked", usage.flows_blocked);
		put_number(&entry, "bytes_to_server", usage.bytes[HALF_C2S]);
		put_number(&entry, "bytes_to_client", usage.bytes[HALF_S2C]);
		put_number(&entry, "pkts", usage.pkts[HALF_C2S] + usage.pkts[HALF_S2C]);
		put_number(&entry, "bits_s", site->rates->app_bytes_s[app] * 8);
		put_item(&apps, entry);
	}
	put_json(&root, "apps", apps);
	return api_finish(root, out);
}

static void put_end(json_t **parent, const char *side, const struct event *event, unsigned half)
{
	json_t *end = json_object();

	put_address(&end, "ip", event->ends.address[half]);
	if (eve_has_ports(event->l4_proto) && (event->type != EVENT_CONNCACHE || half == HALF_S2C))
		put_number(&end, "port", event->ends.port[half]);
	put_json(parent, side, end);
}

// Who spoke to whom, about what, and by which rule.
static json_t *event_json(const struct control_context *context, const struct event *event)
{
	const char *rule = event->rule_uid ? rule_names_get(context->names, event->rule_uid) : NULL;
	json_t *object = json_object();

	api_put_ms(&object, "time_ms", event->now_ns);
	api_put_app(&object, context, event->app);
	if (event->confidence != CONFIDENCE_NONE)
		put_text(&object, "confidence", confidence_word(event->confidence));
	put_text(&object, "rule", rule ? rule : "");
	put_end(&object, "client", event, HALF_C2S);
	put_end(&object, "server", event, HALF_S2C);
	if (event->l4_proto)
		put_proto(&object, event->l4_proto);
	return object;
}

int api_verdicts(const struct http_site *site, struct text *out)
{
	const struct event *event;
	json_t *root = api_begin(site), *verdicts = json_array();

	for (unsigned i = 0; (event = recent_verdicts_at(site->recent_verdicts, i)); i++) {
		json_t *entry = event_json(site->context, event);

		put_number(&entry, "seq", site->recent_verdicts->verdicts_seen - i);
		put_number(&entry, "flow_id", event->flow_id);
		put_text(&entry, "action", action_word(event->action));
		put_bool(&entry, "monitor", event->mode == MODE_MONITOR);
		put_number(&entry, "generation", event->generation);
		put_item(&verdicts, entry);
	}
	put_number(&root, "seen", site->recent_verdicts->verdicts_seen);
	put_json(&root, "verdicts", verdicts);
	return api_finish(root, out);
}

int api_cache(const struct http_site *site, struct text *out)
{
	static const char *const states[] = {"live", "expired", "healed", "evicted", "removed"};
	const struct dataplane *dp = site->context->dp;
	const struct recent_cache_entry *recent_verdicts;
	uint64_t most = 0;
	json_t *root = api_begin(site), *entries = json_array();
	struct stats sum;

	stats_sum(dp, &sum, NULL);
	// Every lcore has a replica: the fullest one is the cache.
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		uint64_t n = __atomic_load_n(&dp->lcores[i]->stats.cache_entries, __ATOMIC_RELAXED);

		if (n > most)
			most = n;
	}
	for (unsigned i = 0; (recent_verdicts = recent_cache_entry(site->recent_verdicts, i));
		i++) {
		json_t *entry = event_json(site->context, &recent_verdicts->event);
		bool flushed = recent_verdicts->state == RECENT_LIVE &&
			       recent_verdicts->event.now_ns <= site->context->cache_flushed_ns;

		put_number(&entry, "seq", site->recent_verdicts->entries_seen - i);
		put_text(&entry, "mode",
			recent_verdicts->event.conncache.cache_mode == CACHE_PEER ? "peer"
										  : "tuple");
		put_text(&entry, "zone",
			recent_verdicts->event.conncache.from_inside ? "inside" : "outside");
		put_realm(&entry, recent_verdicts->event.conncache.realm);
		api_put_ms(&entry, "expires_ms", recent_verdicts->event.conncache.expires_ns);
		put_bool(&entry, "hit", recent_verdicts->hits > 0);
		if (recent_verdicts->event.conncache.by_hand)
			put_bool(&entry, "operator", true);
		put_text(
			&entry, "state", states[flushed ? RECENT_REMOVED : recent_verdicts->state]);
		put_item(&entries, entry);
	}
	put_number(&root, "entries", most);
	put_number(&root, "capacity", dp->limits->conn_cache);
	put_number(&root, "hits", sum.cache_hits);
	put_number(&root, "saved_bytes", sum.cache_saved_bytes);
	put_number(&root, "learned", sum.cache_learned);
	put_number(&root, "expired", sum.cache_expired);
	put_number(&root, "evicted", sum.cache_evicted);
	put_json(&root, "recent", entries);
	return api_finish(root, out);
}

static void put_lcores(json_t **root, const struct http_site *site)
{
	const struct dataplane *dp = site->context->dp;
	uint64_t now_ns = site->context->now_ns();
	json_t *lcores = json_array();

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct stats *stats = &dp->lcores[i]->stats;
		uint64_t beat = __atomic_load_n(&stats->heartbeat_ns, __ATOMIC_RELAXED);
		json_t *entry = json_object();

		put_number(&entry, "lcore", i);
		put_number(&entry, "busy_permille",
			__atomic_load_n(&stats->busy_permille, __ATOMIC_RELAXED));
		put_number(&entry, "silent_ms", now_ns > beat ? (now_ns - beat) / NS_PER_MS : 0);
		put_number(&entry, "pkts_s", site->rates->lcore_pkts_s[i]);
		put_number(&entry, "flows_active",
			__atomic_load_n(&stats->flows_active, __ATOMIC_RELAXED));
		put_number(&entry, "events_lost",
			__atomic_load_n(&stats->events_lost, __ATOMIC_RELAXED));
		put_item(&lcores, entry);
	}
	put_json(root, "lcores", lcores);
}

static void put_ports(json_t **root, const struct http_site *site)
{
	const struct dataplane *dp = site->context->dp;
	json_t *ports = json_array();

	for (unsigned i = 0; i < dp->n_ports; i++) {
		const struct port_counters *counters = &site->rates->ports[i];
		const struct port *port = &dp->ports[i];
		json_t *entry;

		if (!port->counters)
			continue;
		entry = json_object();
		put_text(&entry, "name", port->name);
		put_text(&entry, "side", port->inside ? "inside" : "outside");
		put_bool(&entry, "up", counters->link_up);
		put_number(&entry, "speed_mbps", counters->speed_mbps);
		put_number(&entry, "rx_pkts", counters->rx_pkts);
		put_number(&entry, "tx_pkts", counters->tx_pkts);
		put_number(&entry, "rx_missed", counters->rx_missed);
		put_number(&entry, "rx_nombuf", counters->rx_nombuf);
		put_number(&entry, "errors", counters->rx_errors + counters->tx_errors);
		put_item(&ports, entry);
	}
	put_json(root, "ports", ports);
}

static void put_pools(json_t **root, const struct dataplane *dp)
{
	const struct rte_mempool *pools[LCORES_MAX];
	unsigned n = stats_pools(dp, pools);
	json_t *list = json_array();

	for (unsigned i = 0; i < n; i++) {
		json_t *entry = json_object();

		put_text(&entry, "name", pools[i]->name);
		put_number(&entry, "size", pools[i]->size);
		put_number(&entry, "free", rte_mempool_avail_count(pools[i]));
		put_item(&list, entry);
	}
	put_json(root, "pools", list);
}

int api_health(const struct http_site *site, struct text *out)
{
	const struct control_context *context = site->context;
	json_t *root = api_begin(site), *events = json_object();
	struct ledger ledger;
	struct stats sum;

	stats_sum(context->dp, &sum, &ledger);
	put_json(&root, "attention", alarms_json(site->rates));
	put_lcores(&root, site);
	put_ports(&root, site);
	put_pools(&root, context->dp);
	put_json(&root, "unaccounted", json_integer(ledger.unaccounted));
	put_json(&root, "dropped", stats_dropped_json(&sum));
	put_number(&events, "written", context->sink ? sink_written(context->sink) : 0);
	put_number(&events, "failed", context->sink ? sink_failed(context->sink) : 0);
	put_number(&events, "limited", context->sink ? sink_left_out(context->sink) : 0);
	put_number(&events, "limited_unheard",
		context->sink ? sink_left_out_one_sided(context->sink) : 0);
	put_number(&events, "lost", sum.events_lost);
	put_json(&root, "events", events);
	put_policy(&root, context);
	return api_finish(root, out);
}
