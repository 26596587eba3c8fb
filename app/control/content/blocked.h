// SPDX-License-Identifier: BSD-3-Clause
// The operator's list of content ids that are refused whatever rules say (content-add): kept over
// restarts in a file of JSON lines, and published to the data lcores as a set that does not change.
// Control core only, but for the writing, which a thread does that waits for the disk.
//
// Limits: BLOCKED_IDS_MAX ids; a further one is refused, and counted. What changes is written
// anew at the next step after it, by a file beside the old one and a rename: a reader finds one of
// them whole. A line that cannot be read costs itself and is counted.
#ifndef SLUICE_BLOCKED_IDS_H
#define SLUICE_BLOCKED_IDS_H

#include <stddef.h>
#include "pipeline/lcore/dataplane.h"
#include "pipeline/vocab/content_id.h"

#define BLOCKED_IDS_MAX     100000
#define BLOCKED_COMMENT_MAX 255 // bytes
#define BLOCKED_FILE        "content-ids.jsonl"

struct blocked_ids;

struct blocked_id {
	struct content_id id;
	uint64_t added_ns;   // by the wall clock
	uint64_t expires_ns; // 0: never
	char *comment;       // owned by the list; NULL: none
};

struct blocked_counters {
	uint64_t restored; // from the file, at the start
	uint64_t bad;      // lines of it that are none
	uint64_t refused;  // ids that found the list full
	uint64_t expired;
	uint64_t written;  // times
	uint64_t failures; // of writing; `failing`: the last one
	bool failing;
};

// `folder` NULL: nothing outlives a restart. Reads what is there and publishes it; no lcore runs
// yet. -ENOMEM.
int blocked_ids_new(
	struct dataplane *dp, const char *folder, uint64_t now_ns, struct blocked_ids **out);
// Lcores have left. Waits for the file to be written. NULL is allowed.
void blocked_ids_free(struct blocked_ids *blocked);

// `expires_ns` 0: never. One that is there gets the new end, and the comment if there is one. 1: it
// is new; 0: it was there; -ENOSPC; -ENOMEM.
int blocked_ids_add(struct blocked_ids *blocked, const struct content_id *id, const char *comment,
	uint64_t now_ns, uint64_t expires_ns);
int blocked_ids_remove(struct blocked_ids *blocked, const struct content_id *id); // -ENOENT
size_t blocked_ids_flush(struct blocked_ids *blocked); // how many there were
// What was changed reaches the lcores: their next turn sees it. -ENOMEM: not yet, later.
int blocked_ids_publish(struct blocked_ids *blocked);

// In the order in which they were added. Valid until the next change.
const struct blocked_id *blocked_ids_list(const struct blocked_ids *blocked, size_t *n);
const struct blocked_counters *blocked_ids_counters(const struct blocked_ids *blocked);
// Now and then: ends what has expired, frees what no lcore reads any more, writes the file.
void blocked_ids_step(struct blocked_ids *blocked, uint64_t now_ns);

#endif
