// SPDX-License-Identifier: BSD-3-Clause
// What a file store has, by SHA-256, and in the order in which it goes: longest ago first.
#ifndef SLUICE_AUDIT_STORE_INDEX_H
#define SLUICE_AUDIT_STORE_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define STORE_NONE UINT32_MAX

struct store_entry {
	uint8_t sha256[32];
	int64_t time_s; // of the last transfer
	uint64_t file_bytes;
	uint64_t side_bytes; // of the sidecars
	uint32_t sidecars;
	bool has_file; // else it has sidecars alone
	uint32_t older, newer;
	uint32_t next; // in its chain, or of those that are free
};

struct store_index { // store_index_init
	struct store_entry *entries;
	uint32_t n, room, free;
	uint32_t *chains;
	uint32_t n_chains; // a power of two
	uint32_t oldest, newest;
};

void store_index_init(struct store_index *index);
void store_index_free(struct store_index *index);
// Both: an entry's number, or STORE_NONE (there is none; no memory). A new one is the newest.
uint32_t store_index_find(const struct store_index *index, const uint8_t sha256[32]);
uint32_t store_index_add(struct store_index *index, const uint8_t sha256[32], int64_t time_s);
void store_index_remove(struct store_index *index, uint32_t number);
// It becomes the newest.
void store_index_touch(struct store_index *index, uint32_t number, int64_t time_s);
// By time, however they were added. -ENOMEM: the order is as it was.
int store_index_sort(struct store_index *index);

#endif
