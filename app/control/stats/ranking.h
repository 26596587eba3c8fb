// SPDX-License-Identifier: BSD-3-Clause
// The best N of any number of records, in memory for N: a heap with the worst of them on top.
#ifndef SLUICE_RANKING_H
#define SLUICE_RANKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ranking_node {
	uint64_t value; // more is better
	uint64_t tie;   // less is better, where values are the same
	uint32_t slot;  // of the record
};

struct ranking {
	uint32_t max;
	uint32_t n;
	uint32_t capacity;
	size_t record_size;
	bool no_memory; // something was left out
	struct ranking_node *nodes;
	char *records;
};

void ranking_init(struct ranking *ranking, uint32_t max, size_t record_size);
void ranking_free(struct ranking *ranking);
// Where the record is to be written (at once), or NULL: `max` better ones are there.
void *ranking_offer(struct ranking *ranking, uint64_t value, uint64_t tie);
// Best first; nothing can be offered afterwards.
void ranking_sort(struct ranking *ranking);
const void *ranking_at(const struct ranking *ranking, uint32_t place); // place < n

#endif
