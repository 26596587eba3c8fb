// SPDX-License-Identifier: BSD-3-Clause
#include "name_heads.h"
#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>

// Pages are touched when a place is used first; the free list is last in, first out.
struct name_heads {
	uint8_t (*bytes)[NAME_HEAD_BYTES];
	uint32_t *free; // places, from 1
	bool *taken;    // by place
	unsigned n, n_free;
};

struct name_heads *name_heads_new(unsigned n, int socket)
{
	struct name_heads *heads = calloc(1, sizeof(*heads));

	(void)socket; // a page is taken where its lcore touches it
	if (!heads)
		return NULL;
	heads->free = calloc(n ? n : 1, sizeof(*heads->free));
	heads->taken = calloc((size_t)n + 1, sizeof(*heads->taken));
	heads->bytes = mmap(NULL, (size_t)(n ? n : 1) * NAME_HEAD_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (!heads->free || !heads->taken || heads->bytes == MAP_FAILED) {
		if (heads->bytes == MAP_FAILED)
			heads->bytes = NULL;
		name_heads_free(heads);
		return NULL;
	}
	heads->n = n;
	for (unsigned i = 0; i < n; i++)
		heads->free[i] = n - i;
	heads->n_free = n;
	return heads;
}

void name_heads_free(struct name_heads *heads)
{
	if (!heads)
		return;
	if (heads->bytes)
		munmap(heads->bytes, (size_t)(heads->n ? heads->n : 1) * NAME_HEAD_BYTES);
	free(heads->taken);
	free(heads->free);
	free(heads);
}

unsigned name_heads_left(const struct name_heads *heads)
{
	return heads->n_free;
}

uint32_t name_head_acquire(struct name_heads *heads, bool leaves_half)
{
	if (heads->n_free <= (leaves_half ? heads->n / 2 : 0))
		return 0;
	uint32_t ref = heads->free[--heads->n_free];

	heads->taken[ref] = true;
	return ref;
}

uint8_t *name_head_at(struct name_heads *heads, uint32_t ref)
{
	return heads->bytes[ref - 1];
}

void name_head_release(struct name_heads *heads, uint32_t ref)
{
	if (!ref)
		return;
	assert(heads->taken[ref]); // else two flows would write to one place
	heads->taken[ref] = false;
	heads->free[heads->n_free++] = ref;
}
