// SPDX-License-Identifier: BSD-3-Clause
// Records of the control core itself.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/event/sink_line.h"

#define POLICY_ERRORS_MAX 20
#define POLICY_LINE_MAX   (32u << 10)
#define AUDIT_LINE_MAX    (64u << 10)
#define LOST_LINE_MAX     512

// A record of the control core itself. False: there is no file (it is only counted) or no room.
static bool record_begin(
	struct sink *sink, struct json_out *line, size_t max, uint64_t now_ns, const char *type)
{
	char *room;

	if (sink->counts_only) {
		sink->written++;
		return false;
	}
	room = sink_line_begin(sink, max);
	if (!room)
		return false;
	json_out_init(line, room, max);
	eve_head(line, now_ns, type);
	return true;
}

void sink_policy_event(struct sink *sink, uint64_t now_ns, uint64_t generation, bool ok,
	const char *file, const struct config_errors *errors)
{
	size_t n = errors ? errors->n : 0;
	struct json_out line;

	if (!record_begin(sink, &line, POLICY_LINE_MAX, now_ns, "policy"))
		return;
	json_out_u64(&line, "generation", generation);
	json_out_open(&line, "policy", '{');
	json_out_string(&line, "action", generation > (ok ? 1 : 0) ? "reload" : "load");
	json_out_string(&line, "result", ok ? "ok" : "error");
	json_out_string(&line, "file", file ? file : "");
	if (n) {
		json_out_u64(&line, "errors_total", n + errors->dropped);
		json_out_open(&line, "errors", '[');
		for (size_t i = 0; i < n && i < POLICY_ERRORS_MAX; i++)
			json_out_text(
				&line, NULL, errors->lines[i], strnlen(errors->lines[i], 512));
		json_out_close(&line, ']');
	}
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
}

static void policy_reported(void *ctx, const struct reload *reload, uint64_t now_ns,
	const char *path, const struct config_errors *errors)
{
	// Numbers mean the same in both sets (signature_order), so that events of what
	// was classified with the old one are written with the new one.
	if (!errors)
		sink_set_sigdb(ctx, reload_sigdb(reload));
	sink_policy_event(ctx, now_ns, reload_generation(reload), !errors, path, errors);
}

void sink_follow(struct sink *sink, struct reload *reload)
{
	sink_set_sigdb(sink, reload_sigdb(reload));
	sink_set_apps(sink, reload_apps(reload));
	reload_set_report(reload, policy_reported, sink);
}

void sink_stats_event(struct sink *sink, uint64_t now_ns,
	json_t *(*make)(const struct dataplane *dp, uint64_t uptime_ns))
{
	uint64_t uptime_ns = now_ns > sink->started_ns ? now_ns - sink->started_ns : 0;
	json_t *stats;
	struct json_out line;
	char *text, *room;
	size_t length;

	if (sink->counts_only) {
		sink->written++;
		return;
	}
	stats = make(sink->names.dp, uptime_ns);
	text = stats ? json_dumps(stats, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(stats);
	if (!text) {
		sink_line_lost(sink);
		return;
	}
	length = strlen(text) + EVE_LINE_MAX;
	room = sink_line_begin(sink, length);
	if (room) {
		json_out_init(&line, room, length);
		eve_head(&line, now_ns, "stats");
		json_out_raw(&line, "stats", text, strlen(text));
		json_out_close(&line, '}');
		json_out_newline(&line);
		sink_line_end(sink, &line);
	}
	free(text);
}

void sink_stall_event(struct sink *sink, uint64_t now_ns, const struct stall_report *report)
{
	static const char *const states[] = {"begin", "bypass", "end"};
	struct json_out line;

	if (!record_begin(sink, &line, EVE_LINE_MAX, now_ns, "stall"))
		return;
	json_out_u64(&line, "lcore", report->lcore);
	json_out_open(&line, "stall", '{');
	json_out_string(&line, "state", states[report->state]);
	json_out_u64(&line, "rested_ms", report->rested_ns / NS_PER_MS);
	json_out_string(&line, "policy", report->fail_open ? "open" : "closed");
	json_out_string(&line, "action", report->bypassed ? "bypass" : "none");
	if (report->fail_open && !report->bypassed)
		json_out_string(&line, "reason", "driver");
	json_out_u64(&line, "bypassed_pkts", report->bypassed_pkts);
	json_out_u64(&line, "bypassed_bytes", report->bypassed_bytes);
	json_out_u64(&line, "rx_missed", report->rx_missed);
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
	sink_flush(sink); // it may be the last that is heard
}

void sink_link_event(struct sink *sink, uint64_t now_ns, const struct link_report *report)
{
	struct json_out line;

	if (!record_begin(sink, &line, EVE_LINE_MAX, now_ns, "link"))
		return;
	json_out_string(&line, "in_iface", report->port);
	json_out_open(&line, "link", '{');
	json_out_string(&line, "state", report->link == PORT_LINK_UP ? "up" : "down");
	if (report->link != PORT_LINK_UP)
		json_out_string(&line, "reason", port_link_word(report->link));
	if (report->interface)
		json_out_string(&line, "interface", report->interface);
	if (report->down_ns)
		json_out_u64(&line, "down_ms", report->down_ns / NS_PER_MS);
	if (report->again)
		json_out_bool(&line, "attached_again", true);
	if (report->left_out)
		json_out_u64(&line, "left_out", report->left_out);
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
	sink_flush(sink); // somebody may wait for it
}

static void put_database(
	struct json_out *line, uint64_t now_ns, const struct scanner_report *report)
{
	uint64_t now_s = now_ns / NS_PER_S;
	char text[2 * sizeof(report->digest) + 1];

	json_out_u64(line, "signatures", report->signatures);
	json_out_u64(line, "db_version", report->db_version);
	eve_timestamp(report->db_time_s * NS_PER_S, text, sizeof text);
	json_out_string(line, "db_time", text);
	json_out_u64(line, "db_age_s", now_s > report->db_time_s ? now_s - report->db_time_s : 0);
	for (unsigned i = 0; i < sizeof(report->digest); i++)
		snprintf(text + 2 * i, 3, "%02x", report->digest[i]);
	json_out_string(line, "digest", text);
}

void sink_scanner_event(struct sink *sink, uint64_t now_ns, const struct scanner_report *report)
{
	struct json_out line;

	if (!record_begin(sink, &line, EVE_LINE_MAX, now_ns, "scanner"))
		return;
	json_out_open(&line, "scanner", '{');
	json_out_string(&line, "state", report->state);
	if (*report->reason)
		json_out_text(&line, "reason", report->reason, strnlen(report->reason, 512));
	json_out_bool(&line, "in_force", report->in_force);
	if (report->in_force)
		put_database(&line, now_ns, report);
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
	sink_flush(sink); // somebody may wait for it
}

void sink_audit_event(struct sink *sink, uint64_t now_ns, const struct audit_report *report)
{
	struct json_out line;

	if (!record_begin(sink, &line, AUDIT_LINE_MAX, now_ns, "audit"))
		return;
	json_out_open(&line, "audit", '{');
	json_out_string(&line, "via", "page");
	json_out_string(&line, "peer", report->peer);
	json_out_text(&line, "command", report->command, strnlen(report->command, 64));
	json_out_raw(&line, "arguments", report->arguments, strlen(report->arguments));
	json_out_string(&line, "result", report->result);
	if (*report->message)
		json_out_text(&line, "message", report->message, strnlen(report->message, 512));
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
	sink_flush(sink); // it may be asked for
}

static const char *const limited_words[EVENT_TYPES_MAX] = {
	[EVENT_FLOW] = "flow",
	[EVENT_ALERT] = "alert",
	[EVENT_DROP] = "drop",
	[EVENT_CONNCACHE] = "conncache",
	[EVENT_INVALID] = "invalid",
	[EVENT_ANOMALY] = "anomaly",
	[EVENT_ELEPHANT] = "elephant",
	[EVENT_TRANSFER] = "transfer",
	[EVENT_FILE] = "transfer",
	[EVENT_FILEINFO] = "fileinfo",
	[EVENT_CHAT] = "chat",
	[EVENT_EVIDENCE] = "evidence",
	[EVENT_HANDSHAKE_META] = "greeting",
};

static void put_left_out(struct json_out *line, const char *key, const uint64_t *by_type)
{
	json_out_open(line, key, '{');
	for (unsigned type = 0; type < EVENT_TYPES_MAX; type++)
		if (by_type[type] && limited_words[type])
			json_out_u64(line, limited_words[type], by_type[type]);
	json_out_close(line, '}');
}

void sink_limited_event(struct sink *sink, uint64_t now_ns, const struct event_summary *summary)
{
	struct json_out line;
	char stamp[40];

	if (!record_begin(sink, &line, EVE_LINE_MAX, now_ns, "limited"))
		return;
	json_out_open(&line, "limited", '{');
	eve_timestamp(summary->since_ns, stamp, sizeof stamp);
	json_out_string(&line, "since", stamp);
	json_out_u64(&line, "flows_put_together", summary->put_together);
	put_left_out(&line, "left_out", summary->left_out);
	put_left_out(&line, "unheard", summary->unheard);
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
}

bool sink_lost_event(struct sink *sink, uint64_t now_ns, uint64_t lost)
{
	struct json_out line;

	if (!record_begin(sink, &line, LOST_LINE_MAX, now_ns, "limited"))
		return false;
	json_out_open(&line, "limited", '{');
	json_out_u64(&line, "not_written", lost);
	json_out_close(&line, '}');
	json_out_close(&line, '}');
	json_out_newline(&line);
	sink_line_end(sink, &line);
	return true;
}
