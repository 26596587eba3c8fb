// SPDX-License-Identifier: BSD-3-Clause
// The memory of decoders: a buddy allocator. Blocks of order n have CONTENT_BLOCK_MIN << n
// bytes; free ones are in lists by order, whose links lie in the blocks themselves. What order a
// block has, and whether it is taken, stands in a byte for each smallest block, outside of the
// region: who writes beyond a block does not take the allocator with it.
#include "content/memory.h"
#include "pipeline/vocab/pages.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ORDERS    16   // 256 bytes to 8 MiB
#define TAKEN     0x80 // of the byte of a block's first smallest block; beside it its order
#define FREE_HERE 0x40 // the same, of a free block
static_assert(CONTENT_BLOCK_MIN << (ORDERS - 1) == CONTENT_BLOCK_MAX, "orders");

struct free_block {
	struct free_block *next, *previous;
};

struct content_memory {
	uint8_t *region;
	uint8_t *kinds; // of each smallest block
	size_t bytes;
	size_t reserve; // that large blocks leave
	bool is_mapped; // by content_memory_new
	struct free_block *free_of[ORDERS];
	struct content_memory_use use; // the owner writes, any core reads
};

static size_t order_bytes(unsigned order)
{
	return (size_t)CONTENT_BLOCK_MIN << order;
}

static size_t index_of(const struct content_memory *memory, const void *block)
{
	return (size_t)((const uint8_t *)block - memory->region) / CONTENT_BLOCK_MIN;
}

static void count(uint64_t *counter, uint64_t value)
{
	__atomic_store_n(counter, value, __ATOMIC_RELAXED);
}

static void list_free(struct content_memory *memory, uint8_t *at, unsigned order)
{
	struct free_block *block = (void *)at, *first = memory->free_of[order];

	block->next = first;
	block->previous = NULL;
	if (first)
		first->previous = block;
	memory->free_of[order] = block;
	memory->kinds[index_of(memory, at)] = (uint8_t)(FREE_HERE | order);
}

static void unlist(struct content_memory *memory, uint8_t *at, unsigned order)
{
	struct free_block *block = (void *)at;

	if (block->previous)
		block->previous->next = block->next;
	else
		memory->free_of[order] = block->next;
	if (block->next)
		block->next->previous = block->previous;
	memory->kinds[index_of(memory, at)] = 0;
}

size_t content_memory_round(size_t bytes)
{
	size_t n_largest = bytes / CONTENT_BLOCK_MAX + !!(bytes % CONTENT_BLOCK_MAX);

	return n_largest > SIZE_MAX / CONTENT_BLOCK_MAX ? 0 : n_largest * CONTENT_BLOCK_MAX;
}

struct content_memory *content_memory_over(void *region, size_t bytes)
{
	struct content_memory *memory = calloc(1, sizeof(*memory));
	uint8_t *kinds = calloc(bytes / CONTENT_BLOCK_MIN, 1);

	if (!memory || !kinds) {
		free(memory);
		free(kinds);
		return NULL;
	}
	memory->region = region;
	memory->bytes = memory->use.bytes = bytes;
	memory->kinds = kinds;
	for (size_t at = bytes; at > 0; at -= CONTENT_BLOCK_MAX)
		list_free(memory, memory->region + at - CONTENT_BLOCK_MAX, ORDERS - 1);
	return memory;
}

struct content_memory *content_memory_new(size_t bytes, int socket)
{
	size_t whole = content_memory_round(bytes);
	struct content_memory *memory;
	uint8_t *region;

	if (!whole)
		return NULL;
	region = pages_new(whole, socket);
	if (!region)
		return NULL;
	memory = content_memory_over(region, whole);
	if (!memory)
		munmap(region, whole);
	else
		memory->is_mapped = true;
	return memory;
}

void content_memory_free(struct content_memory *memory)
{
	if (!memory)
		return;
	if (memory->is_mapped)
		munmap(memory->region, memory->bytes);
	free(memory->kinds);
	free(memory);
}

void content_memory_reserve(struct content_memory *memory, size_t bytes)
{
	memory->reserve = bytes < memory->bytes ? bytes : memory->bytes;
}

static bool is_reserved(const struct content_memory *memory, unsigned order)
{
	return order < ORDERS && order_bytes(order) >= CONTENT_BLOCK_LARGE &&
	       memory->bytes - memory->use.used < order_bytes(order) + memory->reserve;
}

void *content_take(struct content_memory *memory, size_t bytes)
{
	unsigned order = 0, from;

	while (order < ORDERS && order_bytes(order) < bytes)
		order++;
	for (from = order; from < ORDERS && !memory->free_of[from]; from++)
		;
	if (from >= ORDERS || is_reserved(memory, order)) {
		count(&memory->use.failed, memory->use.failed + 1);
		return NULL;
	}
	uint8_t *at = (void *)memory->free_of[from];

	unlist(memory, at, from);
	while (from > order) {
		from--;
		list_free(memory, at + order_bytes(from), from);
	}
	memory->kinds[index_of(memory, at)] = (uint8_t)(TAKEN | order);
	count(&memory->use.used, memory->use.used + order_bytes(order));
	if (memory->use.used > memory->use.peak)
		count(&memory->use.peak, memory->use.used);
	return at;
}

bool content_memory_is_scarce(const struct content_memory *memory)
{
	return memory->use.used > memory->bytes / 2;
}

void content_give(struct content_memory *memory, void *block)
{
	if (!block)
		return;
	uint8_t *at = block, kind = memory->kinds[index_of(memory, at)];
	unsigned order = kind & (FREE_HERE - 1);

	assert(kind & TAKEN);
	if (!(kind & TAKEN))
		return;
	memory->kinds[index_of(memory, at)] = 0;
	count(&memory->use.used, memory->use.used - order_bytes(order));
	for (; order < ORDERS - 1; order++) {
		size_t offset = (size_t)(at - memory->region) ^ order_bytes(order);
		uint8_t *buddy = memory->region + offset;

		if (memory->kinds[index_of(memory, buddy)] != (FREE_HERE | order))
			break;
		unlist(memory, buddy, order);
		at = buddy < at ? buddy : at;
	}
	list_free(memory, at, order);
}

void content_memory_look(const struct content_memory *memory, struct content_memory_use *use)
{
	use->bytes = memory->bytes;
	use->used = __atomic_load_n(&memory->use.used, __ATOMIC_RELAXED);
	use->peak = __atomic_load_n(&memory->use.peak, __ATOMIC_RELAXED);
	use->failed = __atomic_load_n(&memory->use.failed, __ATOMIC_RELAXED);
}
