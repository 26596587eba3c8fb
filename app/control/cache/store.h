// SPDX-License-Identifier: BSD-3-Clause
// The connection cache over restarts: what was blocked stays blocked, also after a crash.
// Control core only.
//
// In paths.state: conn-cache.jsonl, all entries as they were at the last writing;
// conn-cache.journal, those that were learned since, each within 50 ms; conn-cache.journal.old, the
// same of before a writing that has not ended. Read in the order jsonl, old, journal they are the
// cache. A writing reads the lcores' replicas in bounded steps, and goes to the disk in a thread of
// its own, which waits for the disk so that the control loop need not. It happens every
// CACHE_STORE_INTERVAL_S if anything has changed, and at once when an operator took entries out
// (context->cache_removals). Limits: the journal ends at CACHE_JOURNAL_MAX bytes (then the next
// writing is what remains).
#ifndef SLUICE_CACHE_STORE_H
#define SLUICE_CACHE_STORE_H

#include "control/stats/context.h"

#define CACHE_STORE_INTERVAL_S 60 // between writings, if anything has changed
#define CACHE_JOURNAL_MAX      (64u << 20)

struct cache_store;

// Makes the folder; reads what is there, and gives it to every lcore, none of which runs yet. A
// file that cannot be read costs its entries and is reported in the log. -errno with a message when
// the folder cannot be used.
int cache_store_new(const struct control_context *context, const char *directory,
	struct cache_store **out, char *err, size_t err_len);
// Begins to keep what is learned; after sink_new, before control_run.
int cache_store_start(struct cache_store *store);
const struct cache_store_stats *cache_store_stats(const struct cache_store *store); // lives with it
// `lcores_left`: none runs any more, and what they know is written once more. NULL is allowed.
void cache_store_free(struct cache_store *store, bool lcores_left);

#endif
