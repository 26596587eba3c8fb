// SPDX-License-Identifier: BSD-3-Clause
// Drains the event rings of the lcores, and writes records to the event file.
#include "control/event/sink.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/directory.h"
#include "base/log.h"
#include "control/event/sink_line.h"

#define CLOSE_MS 1000 // that a disk is waited for in the end

static void report_handshake_meta(void *ctx, const struct handshake_record *record);

static int open_writer(
	struct sink *sink, const struct sink_options *options, char *err, size_t err_len)
{
	struct event_writer *writer = &sink->writer;
	int rc;

	*writer = (struct event_writer){
		.fd = -1,
		.live = options->live,
		.standard_output = !strcmp(options->path, "-"),
		.rotate_bytes = (uint64_t)options->file_mb << 20,
		.files = options->files ? options->files : 1,
		.buffer = sink->buffers[1],
		.path = strdup(options->path),
	};
	if (!writer->path) {
		snprintf(err, err_len, "no memory for the event file's name");
		return -ENOMEM;
	}
	if (sink->live && !writer->standard_output)
		directory_make_for(writer->path); // else opening says what is wrong
	rc = event_writer_open(writer);
	if (rc < 0)
		snprintf(err, err_len,
			"%s: cannot open the event file: %s; %s or change paths.events",
			writer->path, strerror(-rc),
			rc == -ENOENT  ? "make its folder"
			: rc == -ELOOP ? "it is a link that root did not make: name what "
					 "it leads to,"
				       : "make it writable");
	return rc;
}

static int make_parts(
	struct sink *sink, const struct sink_options *options, char *err, size_t err_len)
{
	if (options->greetings && handshake_store_new(options->greetings, report_handshake_meta,
					  sink, &sink->greetings) < 0) {
		snprintf(err, err_len, "no memory for greetings; lower limits.greetings");
		return -ENOMEM;
	}
	if (options->limits.per_s || options->limits.source_per_s) {
		sink->limit = event_limit_new(&options->limits);
		if (!sink->limit) {
			snprintf(err, err_len, "no memory for the limits of events");
			return -ENOMEM;
		}
	}
	return options->path ? open_writer(sink, options, err, err_len) : 0;
}

int sink_new(const struct sink_options *options, const struct dataplane *dp,
	const struct rule_names *names, struct sink **out, char *err, size_t err_len)
{
	struct sink *sink = calloc(1, sizeof *sink);
	int rc;

	if (!sink) {
		snprintf(err, err_len, "no memory for the event buffer");
		return -ENOMEM;
	}
	sink->live = options->live;
	sink->counts_only = !options->path;
	sink->flow_events = options->flow_events;
	sink->drop_events = options->drop_events;
	sink->greeting_events = options->greeting_events;
	sink->names = (struct eve_names){
		.dp = dp, .rules = names, .source = options->source, .redact = options->redact};
	sink->buffer = sink->buffers[0];
	rc = make_parts(sink, options, err, err_len);
	if (rc < 0) {
		free(sink->writer.path);
		event_limit_free(sink->limit);
		handshake_store_free(sink->greetings);
		free(sink);
		return rc;
	}
	*out = sink;
	return 0;
}

static bool is_wanted(const struct sink *sink, const struct event *event)
{
	if (event->type == EVENT_FLOW)
		return sink->flow_events;
	if (event->type == EVENT_DROP)
		return sink->drop_events;
	return event->type < EVENT_TYPES_MAX;
}

int sink_listen(struct sink *sink, sink_listener_fn *listener, void *ctx)
{
	if (sink->n_listeners == SINK_LISTENERS_MAX)
		return -ENOSPC;
	sink->listeners[sink->n_listeners].call = listener;
	sink->listeners[sink->n_listeners++].ctx = ctx;
	return 0;
}

static void write_line(
	struct sink *sink, const struct event *event, const struct handshake_record *meta)
{
	struct json_out line;
	char *room;

	if (sink->counts_only) {
		sink->written++;
		return;
	}
	room = sink_line_begin(
		sink, EVE_LINE_MAX + (event->heard == EVENT_UNHEARD ? HEARD_BYTES : 0));
	if (!room)
		return;
	json_out_init(&line, room, EVE_LINE_MAX);
	eve_render(&sink->names, event, meta, &line);
	sink_line_end(sink, &line);
}

static void put_line(
	struct sink *sink, const struct event *event, const struct handshake_record *meta)
{
	if (!sink->limit || event_limit_take(sink->limit, event))
		write_line(sink, event, meta);
}

// What was left out is reported now and then.
static void report_limited(struct sink *sink, bool at_once)
{
	struct event_summary summary;
	struct event event;

	if (!sink->limit || !event_limit_is_due(sink->limit, sink->latest_ns, at_once))
		return;
	while (event_limit_flow(sink->limit, &event))
		write_line(sink, &event, NULL);
	event_limit_summary(sink->limit, sink->latest_ns, &summary);
	sink_limited_event(sink, sink->latest_ns, &summary);
}

static void report_handshake_meta(void *ctx, const struct handshake_record *record)
{
	struct sink *sink = ctx;

	if (sink->greeting_events)
		put_line(sink, record->head, record);
}

static void put_event(struct sink *sink, const struct event *event)
{
	struct handshake_record *meta = NULL;

	if (event->now_ns > sink->latest_ns)
		sink->latest_ns = event->now_ns;
	for (unsigned i = 0; i < sink->n_listeners; i++)
		sink->listeners[i].call(sink->listeners[i].ctx, event);
	if (event->type == EVENT_HANDSHAKE_META || event->type == EVENT_HANDSHAKE_META_MORE) {
		if (sink->greetings)
			handshake_store_add(sink->greetings, event);
		return;
	}
	if (sink->greetings && (event->type == EVENT_FLOW || event->type == EVENT_ALERT ||
				       event->type == EVENT_ELEPHANT))
		meta = handshake_store_find(sink->greetings, event->flow_id);
	// nothing more is to come, and its own record stands before that of the flow
	if (meta && event->type == EVENT_FLOW) {
		if (meta->head && event->heard < meta->head->heard)
			meta->head->heard = event->heard;
		handshake_store_emit(sink->greetings, meta);
	}
	if (is_wanted(sink, event))
		put_line(sink, event, meta);
	if (meta && event->type == EVENT_FLOW)
		handshake_store_remove(sink->greetings, meta);
}

const struct handshake_record *sink_handshake_meta(const struct sink *sink, uint64_t flow_id)
{
	return sink->greetings ? handshake_store_find(sink->greetings, flow_id) : NULL;
}

uint32_t sink_greetings(const struct sink *sink)
{
	return sink->greetings ? handshake_store_count(sink->greetings) : 0;
}

uint64_t sink_greetings_forgotten(const struct sink *sink)
{
	return sink->greetings ? handshake_store_forgotten(sink->greetings) : 0;
}

void sink_event(struct sink *sink, const struct event *event)
{
	put_event(sink, event);
}

char *sink_object_event(struct sink *sink, const struct event *event, const char *json,
	size_t json_length, size_t *length)
{
	size_t room = EVE_LINE_MAX + json_length;
	char *text = malloc(room), *at;
	struct json_out line;

	if (!text)
		return NULL;
	if (event->now_ns > sink->latest_ns)
		sink->latest_ns = event->now_ns;
	json_out_init(&line, text, room);
	eve_render_object(&sink->names, event, json, json_length, &line);
	*length = json_out_length(&line);
	if (sink->counts_only) {
		sink->written++;
	} else if ((!sink->limit || event_limit_take(sink->limit, event)) &&
		   (at = sink_line_begin(sink, *length))) {
		memcpy(at, text, *length);
		sink_line_end(sink, &line);
	}
	*length -= *length > 0; // its end
	return text;
}

static unsigned drain_lcore(struct sink *sink, struct rte_ring *ring, unsigned max)
{
	unsigned taken = 0;

	while ((!max || taken < max) && sink_has_room(sink)) {
		unsigned want = max && max - taken < BATCH ? max - taken : BATCH;
		unsigned n = rte_ring_dequeue_burst_elem(
			ring, sink->batch, sizeof *sink->batch, want, NULL);

		for (unsigned i = 0; i < n; i++)
			put_event(sink, &sink->batch[i]);
		taken += n;
		if (n < want)
			break;
	}
	return taken;
}

unsigned sink_drain(struct sink *sink, unsigned max)
{
	const struct dataplane *dp = sink->names.dp;
	uint64_t before = sink->written;

	for (unsigned i = 0; i < dp->n_lcores; i++) {
		if (dp->lcores[i] && dp->lcores[i]->events)
			drain_lcore(sink, dp->lcores[i]->events, max);
		if (dp->lcores[i] && dp->lcores[i]->stats.heartbeat_ns > sink->latest_ns)
			sink->latest_ns = dp->lcores[i]->stats.heartbeat_ns;
	}
	report_limited(sink, false);
	sink_watch_writer(sink);
	return (unsigned)(sink->written - before);
}

void sink_set_sigdb(struct sink *sink, const struct sigdb *db)
{
	sink->names.sigdb = db;
}

void sink_set_apps(struct sink *sink, const struct app_names *apps)
{
	sink->names.apps = apps;
}

void sink_set_start(struct sink *sink, uint64_t started_ns)
{
	sink->started_ns = started_ns;
}

uint64_t sink_written(const struct sink *sink)
{
	return sink->written;
}

uint64_t sink_left_out(const struct sink *sink)
{
	return sink->limit ? event_limit_left_out(sink->limit) : 0;
}

uint64_t sink_left_out_one_sided(const struct sink *sink)
{
	return sink->limit ? event_limit_one_sided(sink->limit) : 0;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	report_limited(sink, true);
	if (!sink_settle(sink, CLOSE_MS))
		log_error("events: %llu events at the end could not be written to %s",
			(unsigned long long)sink_forsake(sink), sink->writer.path);
	event_limit_free(sink->limit);
	handshake_store_free(sink->greetings);
	if (!sink->counts_only && !event_writer_close(&sink->writer, 0))
		return; // its thread hangs in the disk, and may still read what is ours
	free(sink->writer.path);
	free(sink);
}
