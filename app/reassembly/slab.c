// SPDX-License-Identifier: BSD-3-Clause
#include "slab.h"

void slab_init(struct slab *slab, void *memory, uint32_t n)
{
	*slab = (struct slab){.n = n};
	for (uint32_t i = n; i-- > 0;) {
		void **block = (void **)((char *)memory + (size_t)i * SLAB_BLOCK);

		*block = slab->free;
		slab->free = block;
	}
}

void *slab_take(struct slab *slab)
{
	void **block = slab->free;

	if (!block)
		return NULL;
	slab->free = *block;
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
