// SPDX-License-Identifier: BSD-3-Clause
// Keeps the bytes of files in extents of the arena, and names them to jobs.
#include "pipeline/scan/bytes.h"

#include <string.h>

static_assert(CONTENT_BLOCK_MAX % SCAN_PAGE == 0 && STORE_EXTENT_MIN % SCAN_PAGE == 0,
	"extents are of whole pages");
// Blocks of the memory are aligned to their size, up to 4 KiB: so are extents to pages.
static_assert(SCAN_PAGE == 4096, "where an extent begins");
// A file of the largest size has room, if each extent is as large as it may be.
static_assert((uint64_t)(SCAN_EXTENTS_MAX - 16) * STORE_EXTENT_MAX >= SCAN_FILE_MAX, "extents");

struct extent {
	uint8_t *at;
	uint32_t room, used;
};

struct scan_bytes {
	uint64_t begin64, end64; // of the bytes that are kept
	uint32_t n_extents, n_jobs;
	uint32_t next_room; // of the extent that is taken next
	bool given_up;
	struct extent extent[SCAN_EXTENTS_MAX];
};

bool scan_store_init(
	struct scan_store *store, const struct scan_arena *arena, unsigned part, unsigned n_parts)
{
	size_t bytes;
	uint8_t *region = scan_arena_part(arena, part, n_parts, &bytes);

	store->arena = arena->base;
	store->memory = content_memory_over(region, bytes);
	return store->memory;
}

void scan_store_fini(struct scan_store *store)
{
	content_memory_free(store->memory);
	store->memory = NULL;
}

void scan_store_look(const struct scan_store *store, struct content_memory_use *use)
{
	content_memory_look(store->memory, use);
}

struct scan_bytes *scan_bytes_new(struct scan_store *store)
{
	struct scan_bytes *bytes = content_take(store->memory, sizeof(*bytes));

	if (!bytes)
		return NULL;
	memset(bytes, 0, sizeof(*bytes));
	bytes->next_room = STORE_EXTENT_MIN;
	return bytes;
}

uint64_t scan_bytes_end(const struct scan_bytes *bytes)
{
	return bytes->end64;
}

uint64_t scan_bytes_begin(const struct scan_bytes *bytes)
{
	return bytes->begin64;
}

static uint32_t room_left(const struct scan_bytes *bytes)
{
	if (!bytes->n_extents)
		return 0;
	const struct extent *last = &bytes->extent[bytes->n_extents - 1];

	return last->room - last->used;
}

// One more extent; a smaller one where memory is in pieces. False: there is none.
static bool grow(struct scan_store *store, struct scan_bytes *bytes)
{
	uint32_t room = bytes->next_room;
	uint8_t *at = NULL;

	if (bytes->n_extents == SCAN_EXTENTS_MAX)
		return false;
	while (!(at = content_take(store->memory, room)) && room > STORE_EXTENT_MIN)
		room /= 2;
	if (!at)
		return false;
	bytes->extent[bytes->n_extents++] = (struct extent){.at = at, .room = room};
	if (bytes->next_room < STORE_EXTENT_MAX)
		bytes->next_room *= 2;
	return true;
}

// What was taken and is not used goes back: bytes are added as a whole or not at all.
static void shrink(struct scan_store *store, struct scan_bytes *bytes, uint32_t n_extents)
{
	while (bytes->n_extents > n_extents)
		content_give(store->memory, bytes->extent[--bytes->n_extents].at);
}

bool scan_bytes_add(
	struct scan_store *store, struct scan_bytes *bytes, const uint8_t *from, uint32_t length)
{
	uint32_t before = bytes->n_extents, at = before ? before - 1 : 0;
	uint64_t room = room_left(bytes);

	if (length > SCAN_FILE_MAX || bytes->end64 - bytes->begin64 > SCAN_FILE_MAX - length)
		return false;
	while (room < length) {
		if (!grow(store, bytes)) {
			shrink(store, bytes, before);
			return false;
		}
		room += bytes->extent[bytes->n_extents - 1].room;
	}
	while (length) {
		struct extent *extent = &bytes->extent[at];
		uint32_t here = extent->room - extent->used;

		if (here > length)
			here = length;
		memcpy(extent->at + extent->used, from, here);
		extent->used += here;
		bytes->end64 += here;
		from += here;
		length -= here;
		at++;
	}
	return true;
}

void scan_bytes_forget(struct scan_store *store, struct scan_bytes *bytes, uint64_t before64)
{
	uint32_t n = 0;

	while (!bytes->n_jobs && n + 1 < bytes->n_extents &&
		bytes->begin64 + bytes->extent[n].used <= before64) {
		content_give(store->memory, bytes->extent[n].at);
		bytes->begin64 += bytes->extent[n].used;
		n++;
	}
	if (!n)
		return;
	bytes->n_extents -= n;
	memmove(bytes->extent, bytes->extent + n, bytes->n_extents * sizeof(bytes->extent[0]));
}

static struct scan_extent extent_of(
	const struct scan_store *store, const struct extent *extent, uint32_t skip)
{
	return (struct scan_extent){
		.page = (uint32_t)((uint64_t)(extent->at - store->arena + skip) / SCAN_PAGE),
		.bytes = extent->used - skip,
	};
}

bool scan_bytes_job(
	struct scan_store *store, struct scan_bytes *bytes, uint64_t from64, struct scan_job *job)
{
	struct scan_extents *named;
	uint64_t at64 = bytes->begin64;
	uint32_t i = 0;

	while (i < bytes->n_extents && at64 + bytes->extent[i].used <= from64)
		at64 += bytes->extent[i++].used;
	if (i == bytes->n_extents || !(named = content_take(store->memory, sizeof(*named))))
		return false;
	uint32_t skip = from64 > at64 ? (uint32_t)(from64 - at64) / SCAN_PAGE * SCAN_PAGE : 0;

	memset(named, 0, sizeof(*named));
	job->from64 = at64 + skip;
	job->to64 = bytes->end64;
	job->extents = (uint64_t)((uint8_t *)named - store->arena);
	job->flags |= SCAN_JOB_FILE;
	for (; i < bytes->n_extents; i++, skip = 0)
		if (bytes->extent[i].used)
			named->extent[named->n++] = extent_of(store, &bytes->extent[i], skip);
	bytes->n_jobs++;
	return true;
}

static void release(struct scan_store *store, struct scan_bytes *bytes)
{
	if (bytes->n_jobs || !bytes->given_up)
		return;
	shrink(store, bytes, 0);
	content_give(store->memory, bytes);
}

void scan_bytes_job_over(
	struct scan_store *store, struct scan_bytes *bytes, const struct scan_job *job)
{
	assert(bytes->n_jobs);
	content_give(store->memory, store->arena + job->extents);
	bytes->n_jobs--;
	release(store, bytes);
}

void scan_bytes_free(struct scan_store *store, struct scan_bytes *bytes)
{
	if (!bytes)
		return;
	bytes->given_up = true;
	release(store, bytes);
}
