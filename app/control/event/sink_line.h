// SPDX-License-Identifier: BSD-3-Clause
// Between the files of the event sink: its file (sink_file.c), lines of lcores' events (sink.c),
// lines of the control core itself (sink_own.c). Nobody else includes it.
#ifndef SLUICE_SINK_LINE_H
#define SLUICE_SINK_LINE_H

#include "control/event/eve.h"
#include "control/event/limit.h"
#include "control/event/sink.h"

#define BUFFER_BYTES (1u << 20)
#define WRITE_BYTES  (64u << 10)  // written without waiting for the timer
#define HEARD_BYTES  (512u << 10) // of BUFFER_BYTES, for records that are not EVENT_UNHEARD
#define BATCH        64

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
	struct handshake_store *greetings; // NULL: none are kept
	uint64_t started_ns;
	uint64_t written;
	uint64_t failed;
	uint64_t failed_reported;
	int error;                 // of the write that failed; 0: its reader is too slow
	struct event_limit *limit; // NULL: nothing is left out
	uint64_t latest_ns;        // of the lcores' clock
	uint64_t file_bytes;       // in the file at hand
	uint64_t rotate_bytes;     // beyond which it is renamed; 0: never
	unsigned files;            // of those that are kept
	bool rotate_failed;        // it was said
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

// Room for a line of at most `length` bytes, or NULL: the record is lost and counted.
char *sink_line_begin(struct sink *sink, size_t length);
void sink_line_end(struct sink *sink, const struct json_out *line);

// The file; a descriptor or -errno.
int sink_file_open(const struct sink *sink);
// It is open: what kind it is, how long; a torn line at its end is removed.
void sink_file_begin(struct sink *sink);
// So many bytes were written: the file is renamed when it is long enough, and another begun.
void sink_file_wrote(struct sink *sink, size_t bytes);

void sink_limited_event(struct sink *sink, uint64_t now_ns, const struct event_summary *summary);

#endif
