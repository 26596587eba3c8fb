// SPDX-License-Identifier: BSD-3-Clause
// Merges the connection cache entries of all lcores into one list.
#include "control/cache/conn_list.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 512

void conn_list_add(struct conn_list *list, const struct conn_entry *entry)
{
	if (list->n == list->capacity) {
		uint32_t capacity = list->capacity ? list->capacity * 2 : FIRST_CAPACITY;
		struct conn_entry *grown =
			reallocarray(list->entries, capacity, sizeof *list->entries);

		if (!grown) {
			list->no_memory = true;
			return;
		}
		list->entries = grown;
		list->capacity = capacity;
	}
	list->entries[list->n++] = *entry;
}

int conn_list_compare_keys(const void *a, const void *b)
{
	return memcmp(&((const struct conn_entry *)a)->key, &((const struct conn_entry *)b)->key,
		sizeof(struct conn_key));
}

void conn_list_merge(struct conn_list *list)
{
	uint32_t n = 0;

	if (!list->n)
		return;
	qsort(list->entries, list->n, sizeof list->entries[0], conn_list_compare_keys);
	for (uint32_t i = 1; i < list->n; i++) {
		struct conn_entry *to = &list->entries[n], *from = &list->entries[i];

		if (conn_list_compare_keys(to, from)) {
			list->entries[++n] = *from;
			continue;
		}
		to->hits += from->hits;
		to->saved_bytes += from->saved_bytes;
		if (from->created_ns < to->created_ns)
			to->created_ns = from->created_ns;
		if (from->expires_ns > to->expires_ns)
			to->expires_ns = from->expires_ns;
	}
	list->n = n + 1;
}

void conn_list_free(struct conn_list *list)
{
	free(list->entries);
	*list = (struct conn_list){0};
}
