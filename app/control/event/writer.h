// SPDX-License-Identifier: BSD-3-Clause
// The writer of the event file: takes a buffer of lines, and brings it to the file. Inline, or on a
// thread of its own, so that a disk that hangs stops that thread alone.
//
// The control core and the writer own the buffer and the file in turn: event_writer_hand gives
// them away, event_writer_is_idle says that they are back. Nothing is shared in between, so there
// is no lock. Only event_writer_stop waits, and no longer than it is told.
#ifndef SLUICE_EVENT_WRITER_H
#define SLUICE_EVENT_WRITER_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_writer {
	char *path; // NULL: there is no file
	bool standard_output;
	bool live;             // append, and never wait for a reader
	uint64_t rotate_bytes; // the file is renamed when it is longer; 0: never
	unsigned files;        // of those that are kept

	// the control core's while the writer is idle, else the writer's
	int fd;
	bool regular;       // a file: can be cut back to its last whole line
	bool torn;          // the buffer starts inside a line
	bool rotate_failed; // it was logged
	bool reopen;        // wanted, ahead of what is in the buffer behind the first write
	uint64_t file_bytes;
	int error;    // of the last turn: EAGAIN, the reader is not ready; 0, all was written
	uint64_t cut; // lines that a reopen lost half of; who reads it resets it
	size_t used;  // of the buffer; what could not be written stays there
	char *buffer; // borrowed

	bool threaded;
	pthread_t thread;
	sem_t work, done;
	int state; // enum event_writer_state; atomic
};

// Opens the file: 0 or -errno. `writer` has the members of the first group.
int event_writer_open(struct event_writer *writer);
// A thread takes over. -errno.
int event_writer_start(struct event_writer *writer);
bool event_writer_is_idle(const struct event_writer *writer);
// The buffer is written, the file reopened if that is wanted. Idle before; without a thread
// afterwards, too.
void event_writer_hand(struct event_writer *writer);
// Until it is idle, at most so long.
bool event_writer_wait(struct event_writer *writer, unsigned timeout_ms);
// Ends the thread, and closes the file. False: the thread hangs in the disk, and goes on to use
// `writer` and its buffer.
bool event_writer_close(struct event_writer *writer, unsigned timeout_ms);

// writer_file.c: the file. A descriptor or -errno.
int event_file_open(const struct event_writer *writer);
// It is open: what kind it is, how long; a torn line at its end is removed.
void event_file_begin(struct event_writer *writer);
// So many bytes were written: the file is renamed when it is long enough, and another begun.
void event_file_wrote(struct event_writer *writer, size_t bytes);
// The file is opened anew, by its name. On failure the old one stays in use.
void event_file_reopen(struct event_writer *writer);

#endif
