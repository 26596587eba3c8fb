// SPDX-License-Identifier: BSD-3-Clause
// Lines of the event sink on their way to the writer: one buffer is filled while the other is
// written.
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "control/event/sink_line.h"

#define WAIT_MS 10 // of one try of sink_settle

static void write_failed(struct sink *sink, int error)
{
	if (sink->reported && !sink->hangs)
		return;
	sink->reported = true;
	sink->hangs = false;
	sink->error = error;
	sink->failed_reported = sink->failed;
	log_error("events: cannot write %s: %s; trying again, the newest events wait in memory",
		sink->writer.path, strerror(error));
}

static void write_recovered(struct sink *sink)
{
	if (!sink->reported)
		return;
	sink->reported = sink->hangs = false;
	log_notice("events: %s is written again; %llu events were lost meanwhile",
		sink->writer.path, (unsigned long long)(sink->failed - sink->failed_reported));
}

void sink_line_lost(struct sink *sink)
{
	sink->failed++;
	sink->unreported++;
}

static uint64_t lines_of(const char *text, size_t length)
{
	uint64_t lines = 0;

	for (size_t i = 0; i < length; i++)
		lines += text[i] == '\n';
	return lines;
}

// What became of the buffer that the writer had.
static void take_back(struct sink *sink)
{
	struct event_writer *writer = &sink->writer;

	sink->handed = false;
	for (; writer->cut; writer->cut--) {
		sink->written--;
		sink_line_lost(sink);
	}
	sink->waiting = writer->used > 0;
	sink->handed_lines = lines_of(writer->buffer, writer->used);
	if (!sink->waiting)
		write_recovered(sink);
	else if (writer->error != EAGAIN)
		write_failed(sink, writer->error);
}

static bool is_idle(struct sink *sink)
{
	if (!event_writer_is_idle(&sink->writer))
		return false;
	if (sink->handed)
		take_back(sink);
	return true;
}

static void swap_buffers(struct sink *sink)
{
	char *filled = sink->buffer;

	sink->buffer = sink->writer.buffer;
	sink->writer.buffer = filled;
	sink->writer.used = sink->used;
	sink->handed_lines = sink->lines;
	sink->used = sink->lines = 0;
	if (sink->unreported && sink_lost_event(sink, sink->latest_ns, sink->unreported))
		sink->unreported = 0;
}

void sink_hand(struct sink *sink)
{
	struct event_writer *writer = &sink->writer;

	if (!is_idle(sink))
		return;
	if (!writer->used && sink->used)
		swap_buffers(sink);
	if (!writer->used && !sink->reopen)
		return;
	writer->reopen = sink->reopen;
	sink->reopen = false;
	sink->handed = true;
	sink->handed_ns = sink->latest_ns;
	event_writer_hand(writer);
	is_idle(sink); // it is, without a thread
}

void sink_flush(struct sink *sink)
{
	if (sink->counts_only)
		return;
	// also what was filled while the last buffer was written, and the record of what was lost
	for (unsigned n = 0; n == 0 || (n < 3 && sink->used && !sink->waiting); n++)
		sink_hand(sink);
	sink_watch_writer(sink);
}

static void report_hang(struct sink *sink)
{
	if (sink->reported)
		return;
	sink->reported = sink->hangs = true;
	sink->error = 0;
	sink->failed_reported = sink->failed;
	log_error("events: writing %s does not come to an end, its disk hangs; the newest events "
		  "wait in memory",
		sink->writer.path);
}

bool sink_settle(struct sink *sink, unsigned timeout_ms)
{
	unsigned tries = timeout_ms / WAIT_MS;

	if (sink->counts_only)
		return true;
	do {
		sink_hand(sink);
		if (is_idle(sink) && !sink->writer.used && !sink->used)
			return true;
		if (sink->waiting)
			return false; // it was tried just now
	} while (event_writer_wait(&sink->writer, WAIT_MS) || tries--);
	report_hang(sink);
	return false;
}

void sink_reopen(struct sink *sink)
{
	if (sink->counts_only || sink->writer.standard_output)
		return;
	sink->reopen = true;
	sink_flush(sink);
}

int sink_start(struct sink *sink)
{
	return sink->counts_only ? 0 : event_writer_start(&sink->writer);
}

bool sink_has_room(struct sink *sink)
{
	if (sink->counts_only || !sink->writer.threaded || sink->reported || sink->waiting)
		return true;
	if (sink->used >= WRITE_BYTES)
		sink_hand(sink);
	return sink->used < BUFFER_BYTES - HEARD_BYTES - EVE_LINE_MAX;
}

void sink_watch_writer(struct sink *sink)
{
	if (!sink->counts_only && !is_idle(sink) && sink->latest_ns - sink->handed_ns >= STUCK_NS)
		report_hang(sink);
}

char *sink_line_begin(struct sink *sink, size_t length)
{
	if (sink->used >= WRITE_BYTES && !sink->waiting)
		sink_hand(sink);
	if (BUFFER_BYTES - sink->used >= length)
		return sink->buffer + sink->used;
	if (!sink->reported) { // only a reader that stands still gets here unreported
		sink->reported = true;
		sink->error = 0;
		sink->failed_reported = sink->failed;
		log_warning(
			"events: the reader of %s is too slow; events are lost", sink->writer.path);
	}
	sink_line_lost(sink);
	return NULL;
}

void sink_line_end(struct sink *sink, const struct json_out *line)
{
	if (line->full) {
		sink_line_lost(sink);
		return;
	}
	sink->used += json_out_length(line);
	sink->lines++;
	sink->written++;
}

uint64_t sink_failed(const struct sink *sink)
{
	// Nobody tries again for replay: what a flush left behind has failed.
	uint64_t waiting = !sink->live && sink->waiting ? sink->lines + sink->handed_lines : 0;

	return sink->failed + waiting;
}

uint64_t sink_forsake(struct sink *sink)
{
	// of a writer that hangs nobody knows how far it came: what it has is lost
	uint64_t lines = sink->lines + sink->handed_lines;

	sink->used = sink->lines = sink->handed_lines = 0;
	sink->written -= lines;
	sink->failed += lines;
	return lines;
}

bool sink_is_stuck(const struct sink *sink, struct sink_stuck *out)
{
	*out = (struct sink_stuck){
		.path = sink->writer.path, .error = sink->error, .hangs = sink->hangs};
	if (!sink->reported)
		return false;
	out->lost = sink->failed - sink->failed_reported;
	return true;
}
