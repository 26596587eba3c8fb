// SPDX-License-Identifier: BSD-3-Clause
// Takes blocks of one size from a pool and puts them back.
#include "reassembly/slab.h"

// Nothing is written here: without hugepages, memory that is never needed is never given.
void slab_init(struct slab *slab, void *memory, uint32_t n)
{
	*slab = (struct slab){.fresh = memory, .n = n, .n_fresh = n};
}

void *slab_take(struct slab *slab)
{
	void **block = slab->free;

	if (block) {
		slab->free = *block;
	} else if (slab->n_fresh) {
		block = (void **)slab->fresh;
		slab->fresh += SLAB_BLOCK;
		slab->n_fresh--;
	} else {
		return NULL;
	}
	if (++slab->used > slab->most)
		slab->most = slab->used;
	return block;
}

void slab_put(struct slab *slab, void *block)
{
	*(void **)block = slab->free;
	slab->free = block;
	slab->used--;
}
