// SPDX-License-Identifier: BSD-3-Clause
// Sums by key over any number of flows, in bounded memory: when GROUP_BY_KEYS_MAX keys are known,
// the flows of further ones are summed together as `other`.
#ifndef SLUICE_GROUP_BY_H
#define SLUICE_GROUP_BY_H

#include "pipeline/query.h"

#define GROUP_BY_KEYS_MAX 65536

struct group_by_key { // an address, or a number in the first four bytes
	uint8_t bytes[16];
};

struct group_by_row {
	struct group_by_key key;
	uint64_t flows;
	uint64_t rate_bytes_s;
	uint64_t bytes[2]; // by half
	uint64_t pkts;
};

struct group_by {              // zeroed but for `seed`
	struct hash_seed seed; // addresses come from packets
	uint32_t n;
	uint32_t capacity;
	struct group_by_row *rows; // n, in the order in which the keys came
	uint32_t *slots;           // open addressing: row + 1, or 0
	uint32_t n_slots;          // a power of two, more than twice n
	struct group_by_row other;
	bool no_memory; // something was left out
};

void group_by_add(struct group_by *group_by, const struct group_by_key *key,
	const struct flow_record *record);
void group_by_free(struct group_by *group_by);

#endif
