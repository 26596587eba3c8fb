// SPDX-License-Identifier: BSD-3-Clause
// Drains the event rings of the lcores, and writes records to the event file.
#include "control/event/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/log.h"
#include "control/event/sink_line.h"

static void report_handshake_meta(void *ctx, const struct handshake_record *record);

int sink_new(const struct sink_options *options, const struct dataplane *dp,
	const struct rule_names *names, struct sink **out, char *err, size_t err_len)
{
	struct sink *sink = calloc(1, sizeof *sink);
	int rc;

	if (!sink) {
		snprintf(err, err_len, "no memory for the event buffer");
		return -ENOMEM;
	}
	*sink = (struct sink){
		.fd = -1,
		.live = options->live,
		.flow_events = options->flow_events,
		.drop_events = options->drop_events,
		.greeting_events = options->greeting_events,
		.rotate_bytes = (uint64_t)options->file_mb << 20,
		.files = options->files ? options->files : 1,
		.names = {.dp = dp, .rules = names, .source = options->source},
	};
	if (options->greetings && handshake_store_new(options->greetings, report_handshake_meta,
					  sink, &sink->greetings) < 0) {
		snprintf(err, err_len, "no memory for greetings; lower limits.greetings");
		free(sink);
		return -ENOMEM;
	}
	if (options->limits.per_s || options->limits.source_per_s) {
		sink->limit = event_limit_new(&options->limits);
		if (!sink->limit) {
			snprintf(err, err_len, "no memory for the limits of events");
			handshake_store_free(sink->greetings);
			free(sink);
			return -ENOMEM;
		}
	}
	if (options->path && !strcmp(options->path, "-")) {
		sink->fd = STDOUT_FILENO;
		sink->standard_output = true;
	}
	if (options->path) {
		sink->path = strdup(options->path);
		if (!sink->path) {
			snprintf(err, err_len, "no memory for the event file's name");
			event_limit_free(sink->limit);
			handshake_store_free(sink->greetings);
			free(sink);
			return -ENOMEM;
		}
	}
	if (sink->path && !sink->standard_output) {
		if (sink->live)
			directory_make_for(sink->path); // else opening says what is wrong
		rc = sink_file_open(sink);
		if (rc < 0) {
			snprintf(err, err_len,
				"%s: cannot open the event file: %s; %s or change paths.events",
				sink->path, strerror(-rc),
				rc == -ENOENT  ? "make its folder"
				: rc == -ELOOP ? "it is a link that root did not make: name what "
						 "it leads to,"
					       : "make it writable");
			free(sink->path);
			event_limit_free(sink->limit);
			handshake_store_free(sink->greetings);
			free(sink);
			return rc;
		}
		sink->fd = rc;
	}
	if (sink->fd >= 0)
		sink_file_begin(sink);
	*out = sink;
	return 0;
}

static void write_failed(struct sink *sink, int error)
{
	sink->waiting = true;
	if (sink->reported)
		return;
	sink->reported = true;
	sink->error = error;
	sink->failed_reported = sink->failed;
	log_error("events: cannot write %s: %s; trying again, the newest events wait in memory",
		sink->path, strerror(error));
}

static void write_recovered(struct sink *sink)
{
	sink->waiting = false;
	if (!sink->reported)
		return;
	sink->reported = false;
	log_notice("events: %s is written again; %llu events were lost meanwhile", sink->path,
		(unsigned long long)(sink->failed - sink->failed_reported));
}

// How much of the first `length` bytes stands behind their last newline.
static size_t tail_of_line(const char *text, size_t length)
{
	const char *newline = length ? memrchr(text, '\n', length) : NULL;

	return newline ? length - (size_t)(newline + 1 - text) : length;
}

// `at` bytes have gone out. A file is cut back to its last whole line, and that line is written
// again later: a reader, or a full disk for ever, must not find half a record.
static size_t settle_tail(struct sink *sink, size_t at)
{
	size_t tail = tail_of_line(sink->buffer, at);
	off_t end;

	if (!at)
		return 0;
	if (!tail) {
		sink->torn = false;
		return at;
	}
	if (sink->regular && !(sink->torn && tail == at)) {
		end = lseek(sink->fd, 0, SEEK_END);
		if (end >= (off_t)tail && ftruncate(sink->fd, end - (off_t)tail) == 0)
			return at - tail;
	}
	sink->torn = true;
	return at;
}

static bool can_write(const struct sink *sink, int timeout_ms)
{
	struct pollfd pollfd = {.fd = sink->fd, .events = POLLOUT};

	return poll(&pollfd, 1, timeout_ms) > 0;
}

static void write_out(struct sink *sink)
{
	size_t at = 0, wrote = 0;
	int error = 0;

	while (at < sink->used && !error) {
		size_t chunk = sink->used - at;
		ssize_t n;

		// A ready pipe takes PIPE_BUF bytes without blocking, even if standard output was
		// given to us in blocking mode.
		if (sink->live && !sink->regular) {
			if (!can_write(sink, 0)) {
				error = EAGAIN;
				break;
			}
			chunk = chunk < PIPE_BUF ? chunk : PIPE_BUF;
		}
		n = write(sink->fd, sink->buffer + at, chunk);
		if (n >= 0) {
			at += (size_t)n;
			wrote += (size_t)n;
			if (n == 0)
				error = EIO;
		} else if (errno == EAGAIN && !sink->live) {
			can_write(sink, -1);
		} else if (errno != EINTR) {
			error = errno;
		}
	}
	if (at < sink->used) {
		at = settle_tail(sink, at);
		sink->waiting = true;
		if (error != EAGAIN)
			write_failed(sink, error);
	} else {
		sink->torn = false;
		write_recovered(sink);
	}
	memmove(sink->buffer, sink->buffer + at, sink->used - at);
	sink->used -= at;
	sink_file_wrote(sink, wrote);
}

void sink_flush(struct sink *sink)
{
	if (sink->fd >= 0 && sink->used)
		write_out(sink);
}

char *sink_line_begin(struct sink *sink, size_t length)
{
	if (sink->used >= WRITE_BYTES && !sink->waiting)
		write_out(sink);
	if (sizeof sink->buffer - sink->used >= length)
		return sink->buffer + sink->used;
	if (!sink->reported) { // only a reader that stands still gets here unreported
		sink->reported = true;
		sink->error = 0;
		sink->failed_reported = sink->failed;
		log_warning("events: the reader of %s is too slow; events are lost", sink->path);
	}
	sink->failed++;
	return NULL;
}

void sink_line_end(struct sink *sink, const struct json_out *line)
{
	if (line->full) {
		sink->failed++;
		return;
	}
	sink->used += json_out_length(line);
	sink->written++;
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

	if (sink->fd < 0) {
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
	if (sink->fd < 0) {
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

	while (!max || taken < max) {
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

uint64_t sink_failed(const struct sink *sink)
{
	uint64_t waiting = 0;

	// Nobody tries again for replay: what a flush left behind has failed.
	for (size_t i = 0; !sink->live && sink->waiting && i < sink->used; i++)
		waiting += sink->buffer[i] == '\n';
	return sink->failed + waiting;
}

bool sink_is_stuck(const struct sink *sink, struct sink_stuck *out)
{
	*out = (struct sink_stuck){.path = sink->path, .error = sink->error};
	if (!sink->reported)
		return false;
	out->lost = sink->failed - sink->failed_reported;
	return true;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	report_limited(sink, true);
	sink_flush(sink);
	if (sink->used)
		log_error("events: %zu bytes of events could not be written to %s", sink->used,
			sink->path);
	if (sink->fd >= 0 && !sink->standard_output)
		close(sink->fd);
	event_limit_free(sink->limit);
	handshake_store_free(sink->greetings);
	free(sink->path);
	free(sink);
}
