// SPDX-License-Identifier: BSD-3-Clause
// A hash of the halves that have files under scan: chains in a pool of as many as there are files.
#include "pipeline/scan/halves.h"
#include <rte_common.h>
#include <rte_malloc.h>

#define NONE 0

struct scan_halves {
	struct scan_half *half; // from 1 on
	uint32_t *bucket;       // first of its chain
	uint32_t mask, free;
};

struct scan_halves *scan_halves_new(uint32_t n, int socket)
{
	struct scan_halves *halves = rte_zmalloc_socket("scan_halves", sizeof(*halves), 64, socket);
	uint32_t buckets = rte_align32pow2(n + 1);

	if (!halves)
		return NULL;
	halves->half =
		rte_zmalloc_socket("scan_halves", (n + 1ull) * sizeof(halves->half[0]), 64, socket);
	halves->bucket = rte_zmalloc_socket(
		"scan_halves", (size_t)buckets * sizeof(halves->bucket[0]), 64, socket);
	halves->mask = buckets - 1;
	if (!halves->half || !halves->bucket) {
		scan_halves_free(halves);
		return NULL;
	}
	for (uint32_t i = 1; i <= n; i++)
		halves->half[i].next = i < n ? i + 1 : NONE;
	halves->free = 1;
	return halves;
}

void scan_halves_free(struct scan_halves *halves)
{
	if (!halves)
		return;
	rte_free(halves->half);
	rte_free(halves->bucket);
	rte_free(halves);
}

// Places of flows are ours to give: nobody chooses them so that they share a chain.
static uint32_t *bucket_of(const struct scan_halves *halves, uint32_t flow, unsigned half)
{
	return &halves->bucket[(flow * 2 + half) & halves->mask];
}

struct scan_half *scan_half_at(struct scan_halves *halves, uint32_t number)
{
	return &halves->half[number];
}

uint32_t scan_half_find(
	const struct scan_halves *halves, uint32_t flow, uint32_t generation, unsigned half)
{
	uint32_t at = *bucket_of(halves, flow, half);

	while (at && (halves->half[at].flow != flow || halves->half[at].generation != generation ||
			     halves->half[at].half != half))
		at = halves->half[at].next;
	return at;
}

uint32_t scan_half_take(
	struct scan_halves *halves, uint32_t flow, uint32_t generation, unsigned half)
{
	uint32_t number = scan_half_find(halves, flow, generation, half);
	uint32_t *bucket = bucket_of(halves, flow, half);

	if (!number) { // there is one for each file
		number = halves->free;
		halves->free = halves->half[number].next;
		halves->half[number] = (struct scan_half){.flow = flow,
			.generation = generation,
			.half = (uint8_t)half,
			.next = *bucket};
		*bucket = number;
	}
	halves->half[number].n_files++;
	return number;
}

void scan_half_give(struct scan_halves *halves, uint32_t number)
{
	struct scan_half *half = &halves->half[number];
	uint32_t *at = bucket_of(halves, half->flow, half->half);

	if (--half->n_files)
		return;
	while (*at != number)
		at = &halves->half[*at].next;
	*at = half->next;
	half->next = halves->free;
	halves->free = number;
}
