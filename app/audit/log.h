// SPDX-License-Identifier: BSD-3-Clause
// The audit log: lines of JSON that are only ever appended, each with the hash of the line before
// it (record.h), so that a record that is changed, removed, inserted or moved later is found by
// whoever verifies the chain (verify.h). One thread writes: it may wait for the
// disk. One process at a time has the file (flock).
//
// A log is the file PATH and those that it was renamed to: PATH.<number of its last line>. The
// chain goes on from file to file, and over a restart. The log never deletes a byte: what a gateway
// that was killed left of a line moves to PATH.torn.<number that the line had>, and the next line
// says so.
#ifndef SLUICE_AUDIT_LOG_H
#define SLUICE_AUDIT_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "audit/record.h"

struct audit_log;

struct audit_log_options {
	const char *path;      // of the newest file; its folder exists
	const char *software;  // name and version, for the lines that open a file; ASCII
	uint8_t id[16];        // random: the name of the log, should one begin
	uint64_t file_bytes;   // a file that is so long is renamed; 0: none is
	unsigned sync_records; // fdatasync(2) after so many lines; 0: not by number
	uint64_t sync_us;      // ... and when a line has waited so long; 0: not by time
};

// Since the log was opened. What was offered is records + lost + waiting.
struct audit_log_counters {
	uint64_t records; // of the caller, written whole
	uint64_t lost;    // by append, or told by audit_log_lose
	uint64_t own_lines;
	uint64_t bytes;
	uint64_t rotations;
	uint64_t rotate_errors;
	uint64_t syncs;
	uint64_t sync_errors;
	uint64_t torn_bytes; // found at the end of the file when it was opened
	unsigned waiting;    // 1: a record is written in part, the rest waits for room
	int error;           // errno of the write that failed last; 0 since it works again
};

// Opens or creates the log, and continues its chain. `now_us` is wall-clock time since 1970 here
// and below. 0, or -errno with a sentence in `err` and all files as they were: -EBUSY (another
// process writes it), -EINVAL (the file is something else) ...
int audit_log_open(const struct audit_log_options *options, uint64_t now_us, struct audit_log **out,
	char *err, size_t err_len);
// Tries what waits once more, and syncs.
void audit_log_close(struct audit_log *log, uint64_t now_us);

// A record: the text of a JSON object ("{...}") in one line, without members "seq" and "prev". 0:
// it is written, or will be as soon as there is room for its rest. -errno: it is lost and counted,
// and the next line that can be written says how many were (`"audit":{"action":"lost","lost":N}`).
int audit_log_append(struct audit_log *log, const char *json, size_t length, uint64_t now_us);
// Records were lost before they came here, as by a full queue.
void audit_log_lose(struct audit_log *log, uint64_t records);
// To be called every now and then: what waits for room is tried again, what is due is synced.
void audit_log_tick(struct audit_log *log, uint64_t now_us);

// Renames the file now and begins another; 0 or -errno (the log goes on in the old file).
int audit_log_rotate(struct audit_log *log, uint64_t now_us);
// The file was renamed by somebody else (logrotate): begins PATH anew if it is no longer this
// file. -EEXIST: there is a file, and it is not empty; 0 or another -errno.
int audit_log_reopen(struct audit_log *log, uint64_t now_us);

// The number of the last line, and its hash: what is put where nobody can change it (syslog, mail),
// to be held against the log later. 0 and audit_prev_none: nothing is written yet.
uint64_t audit_log_head(const struct audit_log *log, char hex[AUDIT_HEX_BYTES]);
void audit_log_look(const struct audit_log *log, struct audit_log_counters *out);

#endif
