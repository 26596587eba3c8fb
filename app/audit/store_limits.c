// SPDX-License-Identifier: BSD-3-Clause
// Room in a file store: what is used, and what goes for what comes.
#include "audit/store_work.h"

void store_release(struct store *store, uint64_t bytes, uint64_t files)
{
	store->counters.used_bytes -= bytes;
	store->counters.used_files -= files;
}

void store_forget(struct store *store, uint32_t number)
{
	const struct store_entry *entry = &store->index.entries[number];

	store_release(store, entry->file_bytes + entry->side_bytes,
		entry->sidecars + (entry->has_file ? 1u : 0u));
	store_index_remove(&store->index, number);
}

int store_evict(struct store *store)
{
	struct store_index *index = &store->index;
	uint32_t oldest = index->oldest;
	struct store_entry *entry = &index->entries[oldest];
	int rc = store_unlink(store, entry->sha256, entry->sidecars > 0);

	if (rc < 0) { // another one may go, a next time
		store_fail(store, rc);
		store_index_touch(index, oldest, entry->time_s);
		return rc;
	}
	store_forget(store, oldest);
	return 0;
}

static bool fits(const struct store *store, uint64_t bytes, uint64_t files)
{
	const struct store_limits *limits = &store->limits;
	const struct store_counters *counters = &store->counters;

	return (!limits->bytes || counters->used_bytes + bytes <= limits->bytes) &&
	       (!limits->files || counters->used_files + files <= limits->files);
}

bool store_charge(struct store *store, uint64_t bytes, uint64_t files)
{
	struct store_counters *counters = &store->counters;

	while (!fits(store, bytes, files)) {
		if (store->limits.full == STORE_FULL_REFUSE || counters->walking ||
			store->index.oldest == STORE_NONE || store_evict(store) < 0)
			return false;
		counters->evicted++;
	}
	counters->used_bytes += bytes;
	counters->used_files += files;
	return true;
}
