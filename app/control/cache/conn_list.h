// SPDX-License-Identifier: BSD-3-Clause
// Entries of the connection cache as they come from the lcores' replicas, put together: each entry
// once, with the hits of all replicas. Control core, or whoever owns the list.
#ifndef SLUICE_CONN_LIST_H
#define SLUICE_CONN_LIST_H

#include "pipeline/cache/conn_cache.h"

struct conn_list {
	struct conn_entry *entries; // owned
	uint32_t n;
	uint32_t capacity;
	bool no_memory; // something was left out
};

void conn_list_add(struct conn_list *list, const struct conn_entry *entry);
// One entry for each key: the oldest startup, the latest end, the hits of all. Sorted by key.
void conn_list_merge(struct conn_list *list);
// Any order that is total; qsort's.
int conn_list_compare_keys(const void *a, const void *b);
void conn_list_free(struct conn_list *list); // to be used again, or not

#endif
