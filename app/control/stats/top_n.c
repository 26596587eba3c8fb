// SPDX-License-Identifier: BSD-3-Clause
// A bounded heap that keeps the N best records.
#include "control/stats/top_n.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

void top_n_init(struct top_n *top_n, uint32_t max, size_t record_size)
{
	*top_n = (struct top_n){.max = max, .record_size = record_size};
}

void top_n_free(struct top_n *top_n)
{
	free(top_n->nodes);
	free(top_n->records);
	top_n->nodes = NULL;
	top_n->records = NULL;
	top_n->n = top_n->capacity = 0;
}

static bool worse(const struct top_n_node *a, const struct top_n_node *b)
{
	return a->value != b->value ? a->value < b->value : a->tie > b->tie;
}

static void swap(struct top_n *top_n, uint32_t a, uint32_t b)
{
	struct top_n_node node = top_n->nodes[a];

	top_n->nodes[a] = top_n->nodes[b];
	top_n->nodes[b] = node;
}

static void sift_up(struct top_n *top_n, uint32_t at)
{
	while (at && worse(&top_n->nodes[at], &top_n->nodes[(at - 1) / 2])) {
		swap(top_n, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void sift_down(struct top_n *top_n)
{
	for (uint32_t at = 0;;) {
		uint32_t worst = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < top_n->n && worse(&top_n->nodes[child], &top_n->nodes[worst]))
				worst = child;
		}
		if (worst == at)
			return;
		swap(top_n, at, worst);
		at = worst;
	}
}

static bool grow(struct top_n *top_n)
{
	uint32_t capacity = top_n->capacity ? top_n->capacity * 2 : FIRST_CAPACITY;
	struct top_n_node *nodes;
	char *records;

	if (capacity > top_n->max)
		capacity = top_n->max;
	nodes = reallocarray(top_n->nodes, capacity, sizeof *nodes);
	if (nodes)
		top_n->nodes = nodes;
	records = reallocarray(top_n->records, capacity, top_n->record_size);
	if (records)
		top_n->records = records;
	if (!nodes || !records) {
		top_n->no_memory = true;
		return false;
	}
	top_n->capacity = capacity;
	return true;
}

void *top_n_offer(struct top_n *top_n, uint64_t value, uint64_t tie)
{
	struct top_n_node node = {.value = value, .tie = tie, .slot = top_n->n};

	if (top_n->n == top_n->max) {
		if (!top_n->max || !worse(&top_n->nodes[0], &node))
			return NULL;
		node.slot = top_n->nodes[0].slot;
		top_n->nodes[0] = node;
		sift_down(top_n);
	} else {
		if (top_n->n == top_n->capacity && !grow(top_n))
			return NULL;
		top_n->nodes[top_n->n++] = node;
		sift_up(top_n, top_n->n - 1);
	}
	return top_n->records + node.slot * top_n->record_size;
}

static int compare(const void *a, const void *b)
{
	return worse(a, b) - worse(b, a);
}

void top_n_sort(struct top_n *top_n)
{
	if (top_n->n)
		qsort(top_n->nodes, top_n->n, sizeof top_n->nodes[0], compare);
}

const void *top_n_at(const struct top_n *top_n, uint32_t place)
{
	return top_n->records + top_n->nodes[place].slot * top_n->record_size;
}
