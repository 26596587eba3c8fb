// SPDX-License-Identifier: BSD-3-Clause
// The connection cache as a file: one JSON object a line, so that a torn or a foreign line
// costs itself only, and a person can read it. A later line about the same key replaces an earlier
// one. Rules and applications stand by name: numbers do not outlive the gateway. Any thread; what
// is pointed to by names must stay.
#ifndef SLUICE_CACHE_FILE_H
#define SLUICE_CACHE_FILE_H

#include <stddef.h>
#include "control/cache/conn_list.h"
#include "control/policy/load.h"

#define CACHE_LINE_MAX 1024 // bytes, with its newline; longer lines are refused

// An entry with its names; NULL: it has none (put there by an operator, no application).
struct cache_line {
	struct conn_entry entry;
	const char *rule;
	const char *app;
};
// Returns the length with the newline, 0 if it does not fit (it always does with CACHE_LINE_MAX).
size_t cache_line_write(const struct cache_line *line, char *out, size_t out_len);

struct cache_read {
	struct conn_list list; // owned by the caller: conn_list_free
	uint64_t lines;
	uint64_t bad;     // lines that are none of ours
	uint64_t unknown; // entries of applications that this gateway does not know
};
// Adds the entries of `path` to `read`, of which those that end by `now_ns` are left out; names are
// interned. 0, also for a file that is not there; -errno.
int cache_file_read(const char *path, struct rule_names *names, const struct app_names *apps,
	uint64_t now_ns, struct cache_read *read);
// The last line about each key, at most `max` (the latest to end), in the order of their ends.
void cache_read_settle(struct cache_read *read, uint32_t max);

// Writes all lines to `path` anew: a reader finds the old file or the whole new one, also after a
// power cut. -errno; the old file is there still.
int cache_file_write(const char *path, const struct cache_line *lines, size_t n);

#endif
