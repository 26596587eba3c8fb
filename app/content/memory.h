// SPDX-License-Identifier: BSD-3-Clause
// Memory of a data lcore for what decoders keep beside their state: inflate windows, brotli and
// zstd contexts, heads that go on. A buddy allocator over one region that is taken at the start;
// its cost is bounded by the number of size classes. Blocks are aligned to their size, up to 4 KiB.
#ifndef SLUICE_CONTENT_MEMORY_H
#define SLUICE_CONTENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTENT_BLOCK_MIN 256u
#define CONTENT_BLOCK_LARGE \
	(128u << 10) // windows of br and zstd; what gzip and heads need is smaller
#define CONTENT_BLOCK_MAX (8u << 20)

struct content_memory;

// Control core, before the data lcores run. `bytes` is rounded up to whole blocks of the largest
// class. NULL: no memory.
struct content_memory *content_memory_new(size_t bytes, int socket);
// ... over a region of the caller, of content_memory_round() bytes, which stays the caller's.
struct content_memory *content_memory_over(void *region, size_t bytes);
void content_memory_free(struct content_memory *memory); // NULL is allowed
// Whole blocks of the largest class; 0: of what no memory can be.
size_t content_memory_round(size_t bytes);

// From then on blocks of CONTENT_BLOCK_LARGE and more leave so many bytes for smaller ones: who
// declares large windows takes nothing from those who need little. Before the first block.
void content_memory_reserve(struct content_memory *memory, size_t bytes);

// The owner only. NULL: none that is large enough is free (counted); 0 bytes are one byte. Not
// zeroed.
void *content_take(struct content_memory *memory, size_t bytes);
// The owner only. More than half of it is taken: who keeps much of what one flow sends, and can do
// without, takes no more then.
bool content_memory_is_scarce(const struct content_memory *memory);
// NULL is allowed. A block that is not taken is a defect: an assertion.
void content_give(struct content_memory *memory, void *block);

// Any core.
struct content_memory_use {
	uint64_t bytes; // of the region
	uint64_t used;  // in blocks as they were handed out, rounded up
	uint64_t peak;
	uint64_t failed; // requests that could not be met
};
void content_memory_look(const struct content_memory *memory, struct content_memory_use *use);

#endif
