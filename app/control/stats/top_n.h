// SPDX-License-Identifier: BSD-3-Clause
// The best N of any number of records, in memory for N: a heap with the worst of them on top.
#ifndef SLUICE_TOP_N_H
#define SLUICE_TOP_N_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct top_n_node {
	uint64_t value; // more is better
	uint64_t tie;   // less is better, where values are the same
	uint32_t slot;  // of the record
};

struct top_n {
	uint32_t max;
	uint32_t n;
	uint32_t capacity;
	size_t record_size;
	bool no_memory; // something was left out
	struct top_n_node *nodes;
	char *records;
};

void top_n_init(struct top_n *top_n, uint32_t max, size_t record_size);
void top_n_free(struct top_n *top_n);
// Where the record is to be written (at once), or NULL: `max` better ones are there.
void *top_n_offer(struct top_n *top_n, uint64_t value, uint64_t tie);
// Best first; nothing can be offered afterwards.
void top_n_sort(struct top_n *top_n);
const void *top_n_at(const struct top_n *top_n, uint32_t place); // place < n

#endif
