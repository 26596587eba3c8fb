// SPDX-License-Identifier: BSD-3-Clause
// A growing hash table of 48-byte keys for replay, where the number of flows and senders is the
// capture's. Open addressing, no deletion.
#ifndef SLUICE_REPLAY_TABLE_H
#define SLUICE_REPLAY_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_KEY_BYTES 48u

struct replay_entry {
	uint8_t key[REPLAY_KEY_BYTES];
	uint32_t used;
	uint32_t value[3]; // 0 at first
};

struct replay_table {
	struct replay_entry *entries;
	uint32_t mask; // entries - 1
	uint32_t n;
};

int replay_table_init(struct replay_table *table); // -ENOMEM
void replay_table_fini(struct replay_table *table);
void replay_table_clear(struct replay_table *table);
struct replay_entry *replay_table_find(
	const struct replay_table *table, const uint8_t key[REPLAY_KEY_BYTES]); // NULL: not there
// Finds or makes; `*made` says which. NULL: no memory. Moves the other entries.
struct replay_entry *replay_table_get(
	struct replay_table *table, const uint8_t key[REPLAY_KEY_BYTES], bool *made);

#endif
