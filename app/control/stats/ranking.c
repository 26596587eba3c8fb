// SPDX-License-Identifier: BSD-3-Clause
// A bounded heap that keeps the N best records.
#include "control/stats/ranking.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64

void ranking_init(struct ranking *ranking, uint32_t max, size_t record_size)
{
	*ranking = (struct ranking){.max = max, .record_size = record_size};
}

void ranking_free(struct ranking *ranking)
{
	free(ranking->nodes);
	free(ranking->records);
	ranking->nodes = NULL;
	ranking->records = NULL;
	ranking->n = ranking->capacity = 0;
}

static bool worse(const struct ranking_node *a, const struct ranking_node *b)
{
	return a->value != b->value ? a->value < b->value : a->tie > b->tie;
}

static void swap(struct ranking *ranking, uint32_t a, uint32_t b)
{
	struct ranking_node node = ranking->nodes[a];

	ranking->nodes[a] = ranking->nodes[b];
	ranking->nodes[b] = node;
}

static void sift_up(struct ranking *ranking, uint32_t at)
{
	while (at && worse(&ranking->nodes[at], &ranking->nodes[(at - 1) / 2])) {
		swap(ranking, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

static void sift_down(struct ranking *ranking)
{
	for (uint32_t at = 0;;) {
		uint32_t worst = at;

		for (uint32_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < ranking->n &&
				worse(&ranking->nodes[child], &ranking->nodes[worst]))
				worst = child;
		}
		if (worst == at)
			return;
		swap(ranking, at, worst);
		at = worst;
	}
}

static bool grow(struct ranking *ranking)
{
	uint32_t capacity = ranking->capacity ? ranking->capacity * 2 : FIRST_CAPACITY;
	struct ranking_node *nodes;
	char *records;

	if (capacity > ranking->max)
		capacity = ranking->max;
	nodes = reallocarray(ranking->nodes, capacity, sizeof *nodes);
	if (nodes)
		ranking->nodes = nodes;
	records = reallocarray(ranking->records, capacity, ranking->record_size);
	if (records)
		ranking->records = records;
	if (!nodes || !records) {
		ranking->no_memory = true;
		return false;
	}
	ranking->capacity = capacity;
	return true;
}

void *ranking_offer(struct ranking *ranking, uint64_t value, uint64_t tie)
{
	struct ranking_node node = {.value = value, .tie = tie, .slot = ranking->n};

	if (ranking->n == ranking->max) {
		if (!ranking->max || !worse(&ranking->nodes[0], &node))
			return NULL;
		node.slot = ranking->nodes[0].slot;
		ranking->nodes[0] = node;
		sift_down(ranking);
	} else {
		if (ranking->n == ranking->capacity && !grow(ranking))
			return NULL;
		ranking->nodes[ranking->n++] = node;
		sift_up(ranking, ranking->n - 1);
	}
	return ranking->records + node.slot * ranking->record_size;
}

static int compare(const void *a, const void *b)
{
	return worse(a, b) - worse(b, a);
}

void ranking_sort(struct ranking *ranking)
{
	if (ranking->n)
		qsort(ranking->nodes, ranking->n, sizeof ranking->nodes[0], compare);
}

const void *ranking_at(const struct ranking *ranking, uint32_t place)
{
	return ranking->records + ranking->nodes[place].slot * ranking->record_size;
}
