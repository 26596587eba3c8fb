// SPDX-License-Identifier: BSD-3-Clause
// Blocks of one size for the bytes that reassembly keeps (copies, and what was sent but not
// acknowledged) and for the places of held packets: one pool per lcore, so that nobody's receive
// buffers are pinned and the memory has one bound.
// One user: the lcore that owns it. The memory is the caller's.
#ifndef SLUICE_SLAB_H
#define SLUICE_SLAB_H

#include <stddef.h>
#include <stdint.h>

#define SLAB_BLOCK 2048u

struct slab {
	void *free;  // blocks that were used: each begins with the pointer to the next
	char *fresh; // where those begin that never were: memory that nobody has touched
	uint32_t n;
	uint32_t n_fresh;
	uint32_t used;
	uint32_t most;    // that were ever used at once
	uint32_t copies;  // blocks of it that are copies (q2.h)
	uint32_t copiers; // halves that have some
};

// `memory`: n blocks, aligned to 64.
void slab_init(struct slab *slab, void *memory, uint32_t n);
void *slab_take(struct slab *slab); // NULL: none is free; not cleared
// Sends for the first lines of the block that will be taken next: with thousands of halves it has
// left the caches long ago, and filling it would wait for each line.
static inline void slab_fetch(const struct slab *slab, uint32_t bytes)
{
	const char *next = slab->free ? slab->free : slab->fresh;

	for (uint32_t at = 0; at < bytes; at += 64)
		__builtin_prefetch(next + at, 1);
}
void slab_put(struct slab *slab, void *block);

static inline uint32_t slab_free(const struct slab *slab)
{
	return slab->n - slab->used;
}

#endif
