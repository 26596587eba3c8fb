// SPDX-License-Identifier: BSD-3-Clause
// The operator's list of content ids as a file: a JSON object a line, so that a torn or a foreign
// line costs itself only, and a person can read it.
#ifndef SLUICE_BLOCKED_FILE_H
#define SLUICE_BLOCKED_FILE_H

#include "control/content/blocked.h"

#define BLOCKED_LINE_MAX 2048 // bytes; a longer line is none of ours

// The text of all entries, to free(). -ENOMEM.
int blocked_file_text(const struct blocked_id *entries, size_t n, char **text, size_t *length);
// Anew: a reader finds the old file or the whole new one, also after a power cut. -errno. Any
// thread; waits for the disk.
int blocked_file_write(const char *path, const char *text, size_t length);
// Entries that end by `now_ns` are left out; *bad counts lines that are none. 0, also for a file
// that is not there; -errno. `one` says whether there was room for it.
int blocked_file_read(const char *path, uint64_t now_ns,
	bool (*one)(void *ctx, const struct blocked_id *entry), void *ctx, uint64_t *bad);

#endif
