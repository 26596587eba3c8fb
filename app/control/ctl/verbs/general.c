// SPDX-License-Identifier: BSD-3-Clause
// The commands version, stats, stages and log-level.
#include <rte_version.h>
#include <unistd.h>

#include "base/log.h"
#include "control/ctl/list_filter.h"
#include "control/stats/sum.h"
#include "pipeline/vocab/tick.h"
#include "control/stats/alarm_counters.h"
#include "pipeline/stage/stages.h"

#define STAGES_EVERY_MAX 1000000 // bursts

static uint64_t uptime_ns(const struct control_context *context)
{
	uint64_t now_ns = context->now_ns();

	return now_ns > context->started_ns ? now_ns - context->started_ns : 0;
}

COMMAND(version, "version", "", "the program and what it is built with")
{
	json_t *message = json_object();

	(void)arguments;
	put_text(&message, "version", SLUICE_VERSION);
	put_text(&message, "dpdk", rte_version());
	put_text(&message, "clamav", SLUICE_CLAMAV);
	put_text(&message, "jansson", jansson_version_str());
	put_text(&message, "libevent", event_get_version());
	put_number(&message, "pid", (uint64_t)getpid());
	put_time(&message, "started", request->context->started_ns);
	put_number(&message, "uptime_s", uptime_ns(request->context) / NS_PER_S);
	put_number(&message, "lcores", request->context->dp->n_lcores);
	put_number(&message, "generation", reload_generation(request->context->reload));
	request_ok(request, message);
}

// What the reader of content has done: nothing, if there is none.
static void put_content(json_t **message, const struct control_context *context)
{
	struct content_reader_counters counters;
	json_t *object, *store, *audit;

	if (!context->content)
		return;
	context->content_look(context->content, &counters);
	object = json_object();
	store = json_object();
	audit = json_object();
	put_number(&object, "records", counters.records);
	put_number(&object, "files", counters.files);
	put_number(&object, "messages", counters.messages);
	put_number(&object, "lost", counters.lost);
	put_number(&store, "stored", counters.store.stored);
	put_number(&store, "duplicates", counters.store.duplicates);
	put_number(&store, "evicted", counters.store.evicted + counters.store.aged);
	put_number(&store, "refused", counters.store.refused);
	put_number(&store, "errors", counters.store.errors);
	put_number(&store, "quarantined", counters.store.quarantined);
	put_number(&store, "removed", counters.store.removed);
	put_number(&store, "used_files", counters.store.used_files);
	put_number(&store, "used_bytes", counters.store.used_bytes);
	put_json(&object, "store", store);
	put_number(&audit, "records", counters.log.records);
	put_number(&audit, "lost", counters.log.lost);
	if (*counters.head) {
		put_number(&audit, "seq", counters.head_seq);
		put_text(&audit, "head", counters.head);
	}
	put_json(&object, "audit", audit);
	put_json(message, "content", object);
}

COMMAND(stats, "stats", "", "counters, ledger, pools, ports, lcores")
{
	const struct control_context *context = request->context;
	json_t *message, *policy, *events, *look_into;
	uint64_t troubles[ALARM_COUNTERS_MAX];

	if (json_object_size(arguments)) {
		request_fail_arguments(request, "none expected");
		return;
	}
	struct reload_editions editions = reload_editions(context->reload);

	message = stats_json(context->dp, uptime_ns(context));
	policy = json_object();
	put_number(&policy, "generation", reload_generation(context->reload));
	put_time(&policy, "loaded", reload_loaded_ns(context->reload));
	put_number(&policy, "freed", reload_freed(context->reload));
	put_number(&policy, "failures", reload_failures(context->reload));
	put_number(&policy, "signature_sets_leaving", editions.leaving);
	put_number(&policy, "signature_sets_drained", editions.drained);
	put_number(&policy, "signature_sets_retired", editions.retired);
	put_json(&message, "policy", policy);
	if (context->sink) {
		events = json_object();
		put_number(&events, "written", sink_written(context->sink));
		put_number(&events, "failed", sink_failed(context->sink));
		put_number(&events, "limited", sink_left_out(context->sink));
		put_number(&events, "limited_unheard", sink_left_out_one_sided(context->sink));
		put_number(&events, "greetings", sink_greetings(context->sink));
		put_number(&events, "greetings_forgotten", sink_greetings_forgotten(context->sink));
		put_json(&message, "events", events);
	}
	put_number(&message, "lcore_stalls", context->lcore_stalls);
	if (context->state) {
		json_t *state = json_object();

		put_number(&state, "restored", context->state->restored);
		put_number(&state, "written", context->state->written);
		put_number(&state, "writings", context->state->writings);
		put_number(&state, "failures", context->state->failures);
		put_json(&message, "state", state);
	}
	put_content(&message, context);
	look_into = json_object();
	alarm_counters_read(context, troubles);
	for (unsigned i = 0; i < ALARM_COUNTERS_MAX; i++)
		if (troubles[i])
			put_number(&look_into, alarm_counter_word(i), troubles[i]);
	put_json(&message, "look_into", look_into);
	put_number(&message, "now_ns", context->now_ns());
	request_ok(request, message);
}

COMMAND(log_level, "log-level", "level", "the level of the log, and sets it")
{
	const char *word = NULL;
	json_error_t error;
	json_t *message;
	int level;

	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s?s}", "level", &word) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (word) {
		level = log_level_find(word);
		if (level < 0) {
			request_fail(request,
				"level: \"%.32s\" is not one of error, warning, "
				"notice, info, debug",
				word);
			return;
		}
		log_level_set((enum log_level)level);
	}
	message = json_object();
	put_text(&message, "level", log_level_word(log_level_get()));
	request_ok(request, message);
}

// A relaxed load of a word that the lcore writes.
static uint64_t peek(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static json_t *stage_costs(const struct dataplane *dp)
{
	json_t *list = json_array();

	for (unsigned step = 0; list && step < METER_MAX; step++) {
		uint64_t pkts = 0, cycles = 0;

		for (unsigned i = 0; i < dp->n_lcores; i++) {
			pkts += peek(&dp->lcores[i]->meter.costs[step].pkts);
			cycles += peek(&dp->lcores[i]->meter.costs[step].cycles);
		}
		if (!pkts || !stage_meter_name(step))
			continue;
		json_t *entry = json_object();

		put_text(&entry, "stage", stage_meter_name(step));
		put_number(&entry, "pkts", pkts);
		put_number(&entry, "cycles", cycles);
		put_number(&entry, "cycles_pkt", cycles / pkts);
		if (json_array_append_new(list, entry) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	return list;
}

COMMAND(stages, "stages", "every", "cycles of each stage, of one burst in so many")
{
	struct dataplane *dp = request->context->dp;
	json_error_t error;
	json_t *message;
	int every = -1;

	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s?i}", "every", &every) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (json_object_size(arguments) && (every < 0 || every > STAGES_EVERY_MAX)) {
		request_fail(request, "every: %d is not a number from 0 (off) to %d", every,
			STAGES_EVERY_MAX);
		return;
	}
	if (every >= 0)
		atomic_store(&dp->meter_every, (uint32_t)every);
	message = json_object();
	put_number(&message, "every", atomic_load(&dp->meter_every));
	put_json(&message, "stages", stage_costs(dp));
	request_ok(request, message);
}
