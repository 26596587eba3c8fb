// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the event sink: lines of lcores' events (sink.c), lines of the control core
// itself (sink_own.c), and their way to the writer (sink_write.c). Nobody else includes it.
#ifndef SLUICE_SINK_LINE_H
#define SLUICE_SINK_LINE_H

#include "control/event/eve.h"
#include "control/event/limit.h"
#include "control/event/sink.h"
#include "control/event/writer.h"

#define BUFFER_BYTES (1u << 20)   // of which there are two: one is filled, one is written
#define WRITE_BYTES  (64u << 10)  // written without waiting for the timer
#define HEARD_BYTES  (512u << 10) // of BUFFER_BYTES, for records that are not EVENT_UNHEARD
#define STUCK_NS     NS_PER_S     // a writer that is busy for so long hangs
#define BATCH        64

struct sink {
	bool counts_only; // there is no file
	bool live;
	bool flow_events;
	bool drop_events;
	bool greeting_events;
	bool waiting; // a write failed or would block: only the timer tries again
	bool reported;
	bool handed; // to the writer, and not taken back
	bool reopen; // wanted; not handed yet
	struct eve_names names;
	struct handshake_store *greetings; // NULL: none are kept
	uint64_t started_ns;
	uint64_t written;
	uint64_t failed;
	uint64_t failed_reported;
	uint64_t unreported;       // records that were lost, and that no record tells of
	uint64_t handed_ns;        // when the writer got the buffer that it has
	int error;                 // of the write that failed; 0: its reader is too slow
	bool hangs;                // ... or it does not come back
	struct event_limit *limit; // NULL: nothing is left out
	uint64_t latest_ns;        // of the lcores' clock
	struct {
		sink_listener_fn *call;
		void *ctx;
	} listeners[SINK_LISTENERS_MAX];
	unsigned n_listeners;
	struct event batch[BATCH];
	struct event_writer writer;
	uint64_t lines, handed_lines; // in `buffer`; in the writer's that are not written
	size_t used;                  // of `buffer`, which is filled; the writer has the other one
	char *buffer;
	char buffers[2][BUFFER_BYTES];
};

// Room for a line of at most `length` bytes, or NULL: the record is lost and counted.
char *sink_line_begin(struct sink *sink, size_t length);
void sink_line_end(struct sink *sink, const struct json_out *line);
// A record that never became a line.
void sink_line_lost(struct sink *sink);

// Hands the writer what there is, if it is idle, and looks at what became of the last buffer.
void sink_hand(struct sink *sink);
// What was not written by now never is: it is counted as failed; how many records.
uint64_t sink_forsake(struct sink *sink);
// Reports a writer that does not come back.
void sink_watch_writer(struct sink *sink);

void sink_limited_event(struct sink *sink, uint64_t now_ns, const struct event_summary *summary);
// Records were lost since the last one of these. False: there is no room for it.
bool sink_lost_event(struct sink *sink, uint64_t now_ns, uint64_t lost);

#endif
