// SPDX-License-Identifier: BSD-3-Clause
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "eve.h"
#include "log.h"
#include "stats_sum.h"

#define BUFFER_BYTES      (1u << 20)
#define WRITE_BYTES       (64u << 10) // written without waiting for the timer
#define BATCH             64
#define POLICY_ERRORS_MAX 20
#define POLICY_LINE_MAX   (32u << 10)

struct sink {
	int fd; // -1: count only
	bool standard_output;
	bool live;
	bool flow_events;
	bool drop_events;
	bool greeting_events;
	bool regular; // a file: can be cut back to its last whole line
	bool waiting; // a write failed or would block: only the timer tries again
	bool reported;
	bool torn; // the buffer starts inside a line
	struct eve_names names;
	struct greetings *greetings; // NULL: none are kept
	uint64_t started_ns;
	uint64_t written;
	uint64_t failed;
	uint64_t failed_reported;
	char *path;
	struct {
		sink_listener_fn *call;
		void *ctx;
	} listeners[SINK_LISTENERS_MAX];
	unsigned n_listeners;
	size_t used;
	struct event batch[BATCH];
	char buffer[BUFFER_BYTES];
};

static int open_path(const struct sink *sink)
{
	// O_NONBLOCK: a named pipe without a reader must not stop the gateway's start.
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC |
		    (sink->live ? O_APPEND | O_NONBLOCK | directory_follow_flag(sink->path)
				: O_TRUNC | O_APPEND);
	int fd = open(sink->path, flags, 0640);

	return fd < 0 ? -errno : fd;
}

static bool is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

// A gateway that was killed may have left half a line: it would spoil the next one, too. Only the
// last WRITE_BYTES are looked at: no line is longer.
static void cut_torn_line(const struct sink *sink)
{
	char tail[WRITE_BYTES];
	char self[32];
	struct stat st;

	// the very file that is open, whatever its name leads to by now
	snprintf(self, sizeof self, "/proc/self/fd/%d", sink->fd);
	int fd = open(self, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return; // written only: nothing can be said of it
	off_t end = fstat(fd, &st) == 0 ? st.st_size : 0;
	size_t want = end < (off_t)sizeof tail ? (size_t)end : sizeof tail;
	ssize_t n = pread(fd, tail, want, end - (off_t)want);

	close(fd);
	if (n <= 0 || tail[n - 1] == '\n')
		return;
	const char *newline = memrchr(tail, '\n', (size_t)n);
	size_t torn = newline ? (size_t)(tail + n - newline - 1) : (size_t)n;

	if (!newline && (off_t)n < end)
		return; // not a file of ours
	if (ftruncate(sink->fd, end - (off_t)torn) == 0)
		log_warning("events: %s ended in half a record, of a gateway that was killed; its "
			    "%zu bytes were removed",
			sink->path, torn);
}

static void tell_greeting(void *ctx, const struct greeting_record *record);

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
		.names = {.dp = dp, .rules = names, .source = options->source},
	};
	if (options->greetings &&
		greetings_new(options->greetings, tell_greeting, sink, &sink->greetings) < 0) {
		snprintf(err, err_len, "no memory for greetings; lower limits.greetings");
		free(sink);
		return -ENOMEM;
	}
	if (options->path && !strcmp(options->path, "-")) {
		sink->fd = STDOUT_FILENO;
		sink->standard_output = true;
	}
	if (options->path) {
		sink->path = strdup(options->path);
		if (!sink->path) {
			snprintf(err, err_len, "no memory for the event file's name");
			greetings_free(sink->greetings);
			free(sink);
			return -ENOMEM;
		}
	}
	if (sink->path && !sink->standard_output) {
		if (sink->live)
			directory_make_for(sink->path); // else opening says what is wrong
		rc = open_path(sink);
		if (rc < 0) {
			snprintf(err, err_len,
				"%s: cannot open the event file: %s; %s or change paths.events",
				sink->path, strerror(-rc),
				rc == -ENOENT  ? "make its folder"
				: rc == -ELOOP ? "it is a link that root did not make: name what "
						 "it leads to,"
					       : "make it writable");
			free(sink->path);
			greetings_free(sink->greetings);
			free(sink);
			return rc;
		}
		sink->fd = rc;
	}
	sink->regular = sink->fd >= 0 && is_regular(sink->fd);
	if (sink->regular && sink->live && !sink->standard_output)
		cut_torn_line(sink);
	*out = sink;
	return 0;
}

static void write_failed(struct sink *sink, int error)
{
	sink->waiting = true;
	if (sink->reported)
		return;
	sink->reported = true;
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
	size_t at = 0;
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
}

void sink_flush(struct sink *sink)
{
	if (sink->fd >= 0 && sink->used)
		write_out(sink);
}

// Room for a line of at most `length` bytes, or NULL: the record is lost and counted.
static char *line_begin(struct sink *sink, size_t length)
{
	if (sink->used >= WRITE_BYTES && !sink->waiting)
		write_out(sink);
	if (sizeof sink->buffer - sink->used >= length)
		return sink->buffer + sink->used;
	if (!sink->reported) { // only a reader that stands still gets here unreported
		sink->reported = true;
		sink->failed_reported = sink->failed;
		log_warning("events: the reader of %s is too slow; events are lost", sink->path);
	}
	sink->failed++;
	return NULL;
}

static void line_end(struct sink *sink, const struct json_out *line)
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

static void put_line(
	struct sink *sink, const struct event *event, const struct greeting_record *greeting)
{
	struct json_out line;
	char *room;

	if (sink->fd < 0) {
		sink->written++;
		return;
	}
	room = line_begin(sink, EVE_LINE_MAX);
	if (!room)
		return;
	json_out_init(&line, room, EVE_LINE_MAX);
	eve_render(&sink->names, event, greeting, &line);
	line_end(sink, &line);
}

static void tell_greeting(void *ctx, const struct greeting_record *record)
{
	struct sink *sink = ctx;

	if (sink->greeting_events)
		put_line(sink, record->head, record);
}

static void put_event(struct sink *sink, const struct event *event)
{
	struct greeting_record *greeting = NULL;

	for (unsigned i = 0; i < sink->n_listeners; i++)
		sink->listeners[i].call(sink->listeners[i].ctx, event);
	if (event->type == EVENT_GREETING || event->type == EVENT_GREETING_MORE) {
		if (sink->greetings)
			greetings_take(sink->greetings, event);
		return;
	}
	if (sink->greetings && (event->type == EVENT_FLOW || event->type == EVENT_ALERT ||
				       event->type == EVENT_ELEPHANT))
		greeting = greetings_find(sink->greetings, event->flow_id);
	// nothing more is to come, and its own record stands before that of the flow
	if (greeting && event->type == EVENT_FLOW)
		greetings_tell(sink->greetings, greeting);
	if (is_wanted(sink, event))
		put_line(sink, event, greeting);
	if (greeting && event->type == EVENT_FLOW)
		greetings_remove(sink->greetings, greeting);
}

const struct greeting_record *sink_greeting(const struct sink *sink, uint64_t flow_id)
{
	return sink->greetings ? greetings_find(sink->greetings, flow_id) : NULL;
}

uint32_t sink_greetings(const struct sink *sink)
{
	return sink->greetings ? greetings_count(sink->greetings) : 0;
}

uint64_t sink_greetings_forgotten(const struct sink *sink)
{
	return sink->greetings ? greetings_forgotten(sink->greetings) : 0;
}

void sink_event(struct sink *sink, const struct event *event)
{
	put_event(sink, event);
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
	}
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

// A record of the control core itself. False: there is no file (it is only counted) or no room.
static bool record_begin(
	struct sink *sink, struct json_out *line, size_t max, uint64_t now_ns, const char *type)
{
	char *room;

	if (sink->fd < 0) {
		sink->written++;
		return false;
	}
	room = line_begin(sink, max);
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
	line_end(sink, &line);
}

void sink_stats_event(struct sink *sink, uint64_t now_ns)
{
	uint64_t uptime_ns = now_ns > sink->started_ns ? now_ns - sink->started_ns : 0;
	json_t *stats;
	struct json_out line;
	char *text, *room;
	size_t length;

	if (sink->fd < 0) {
		sink->written++;
		return;
	}
	stats = stats_eve_json(sink->names.dp, uptime_ns);
	text = stats ? json_dumps(stats, JSON_COMPACT) : NULL;
	json_decref(stats);
	if (!text) {
		sink->failed++;
		return;
	}
	length = strlen(text) + EVE_LINE_MAX;
	room = line_begin(sink, length);
	if (room) {
		json_out_init(&line, room, length);
		eve_head(&line, now_ns, "stats");
		json_out_raw(&line, "stats", text, strlen(text));
		json_out_close(&line, '}');
		json_out_newline(&line);
		line_end(sink, &line);
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
	line_end(sink, &line);
	sink_flush(sink); // it may be the last that is heard
}

int sink_reopen(struct sink *sink)
{
	int fd;

	if (sink->fd < 0 || sink->standard_output)
		return 0;
	sink_flush(sink);
	fd = open_path(sink);
	if (fd < 0) {
		log_error("events: cannot reopen %s: %s; going on with the old file", sink->path,
			strerror(-fd));
		return fd;
	}
	close(sink->fd);
	sink->fd = fd;
	sink->regular = is_regular(fd);
	if (sink->torn) { // the rest of that line is of no use in another file
		const char *newline = memchr(sink->buffer, '\n', sink->used);
		size_t rest = newline ? (size_t)(newline + 1 - sink->buffer) : sink->used;

		memmove(sink->buffer, sink->buffer + rest, sink->used - rest);
		sink->used -= rest;
		sink->torn = false;
		sink->failed++;
		sink->written--;
	}
	sink_flush(sink);
	return 0;
}

uint64_t sink_written(const struct sink *sink)
{
	return sink->written;
}

uint64_t sink_failed(const struct sink *sink)
{
	uint64_t waiting = 0;

	// Nobody tries again for replay: what a flush left behind has failed.
	for (size_t i = 0; !sink->live && sink->waiting && i < sink->used; i++)
		waiting += sink->buffer[i] == '\n';
	return sink->failed + waiting;
}

void sink_free(struct sink *sink)
{
	if (!sink)
		return;
	sink_flush(sink);
	if (sink->used)
		log_error("events: %zu bytes of events could not be written to %s", sink->used,
			sink->path);
	if (sink->fd >= 0 && !sink->standard_output)
		close(sink->fd);
	greetings_free(sink->greetings);
	free(sink->path);
	free(sink);
}
