// SPDX-License-Identifier: BSD-3-Clause
// The bytes of an object: chunks of whole pages where something has come, and a bit for each byte.
#include "pipeline/swarm/swarm_work.h"

#include <assert.h>
#include <string.h>

static_assert(SCAN_PAGE <= 1u << CHUNK_SHIFT, "chunks begin at pages");

static uint32_t chunk_bytes(const struct object *object)
{
	return 1u << object->shift;
}

static uint32_t units_of(const struct object *object)
{
	return 1u << (object->shift - CHUNK_SHIFT);
}

// A range within one chunk.
struct part {
	struct chunk *chunk;
	uint32_t at, length;
};

static struct part part_of(const struct object *object, uint64_t from, uint64_t length)
{
	uint32_t at = (uint32_t)(from & (chunk_bytes(object) - 1u));
	uint64_t index = from >> object->shift;

	assert(index < object->n_chunks);
	return (struct part){.chunk = &object->chunks[index],
		.at = at,
		.length = (uint32_t)swarm_min(length, chunk_bytes(object) - at)};
}

// ---- bits ----

// From `at` on, as many bits as are like that one, `end` at most.
static uint32_t run_of(const uint64_t *map, uint32_t at, uint32_t end, bool *set)
{
	uint32_t from = at;

	*set = map[at / 64] >> at % 64 & 1;
	while (at < end) {
		uint64_t word = map[at / 64] >> at % 64, left = 64 - at % 64;
		uint64_t other = *set ? ~word : word;
		uint64_t like = other ? (uint64_t)__builtin_ctzll(other) : 64;

		if (like < left) {
			at += (uint32_t)like;
			break;
		}
		at += (uint32_t)left;
	}
	return (at < end ? at : end) - from;
}

static uint64_t word_mask(uint32_t at, uint32_t end)
{
	uint32_t from = at % 64, n = end - at < 64 - from ? end - at : 64 - from;

	return (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << from;
}

static uint32_t next_word(uint32_t at, uint32_t end)
{
	uint32_t next = (at / 64 + 1) * 64;

	return next < end ? next : end;
}

static void set_bits(uint64_t *map, uint32_t at, uint32_t end, bool set)
{
	for (; at < end; at = next_word(at, end)) {
		uint64_t mask = word_mask(at, end);

		map[at / 64] = set ? map[at / 64] | mask : map[at / 64] & ~mask;
	}
}

// ---- room ----

static void count_units(
	struct swarm *swarm, const struct object *object, struct chunk *chunk, bool more)
{
	for (unsigned row = 0; row < 2; row++) {
		uint32_t *count = &swarm->shares.count[row][chunk->share.at[row]];

		*count += more ? units_of(object) : -units_of(object);
	}
}

static bool has_share(
	const struct swarm *swarm, const struct object *object, struct flow_share share)
{
	struct content_memory_use use;

	content_memory_look(swarm->memory, &use);
	return use.used <= swarm->scarce_bytes ||
	       (object->units < swarm->shares.most && !flow_share_full(&swarm->shares, share));
}

static bool take_chunk(
	struct swarm *swarm, struct object *object, struct chunk *chunk, struct flow_share share)
{
	swarm_lock(&swarm->lock);
	if (has_share(swarm, object, share)) {
		chunk->bytes = content_take(swarm->memory, chunk_bytes(object));
		chunk->map = content_take(swarm->memory, chunk_bytes(object) / 8);
	}
	bool taken = chunk->bytes && chunk->map;

	if (taken) {
		chunk->share = share;
		count_units(swarm, object, chunk, true);
		object->units += units_of(object);
	} else {
		content_give(swarm->memory, chunk->bytes);
		content_give(swarm->memory, chunk->map);
		chunk->bytes = NULL;
		chunk->map = NULL;
	}
	swarm_unlock(&swarm->lock);
	if (taken)
		memset(chunk->map, 0, chunk_bytes(object) / 8);
	return taken;
}

bool space_room(struct swarm *swarm, struct object *object, uint64_t from, uint32_t length,
	struct flow_share share)
{
	while (length) {
		struct part part = part_of(object, from, length);

		if (!part.chunk->bytes && !take_chunk(swarm, object, part.chunk, share))
			return false;
		from += part.length;
		length -= part.length;
	}
	return true;
}

static void give_chunk(struct swarm *swarm, struct object *object, struct chunk *chunk)
{
	content_give(swarm->memory, chunk->bytes);
	content_give(swarm->memory, chunk->map);
	count_units(swarm, object, chunk, false);
	object->units -= units_of(object);
	*chunk = (struct chunk){0};
}

void space_free(struct swarm *swarm, struct object *object)
{
	for (uint32_t i = 0; object->units && i < object->n_chunks; i++)
		if (object->chunks[i].bytes)
			give_chunk(swarm, object, &object->chunks[i]);
}

void space_drop(struct swarm *swarm, struct object *object, uint64_t from, uint64_t to)
{
	uint64_t first = (from + chunk_bytes(object) - 1) >> object->shift,
		 last = to >> object->shift;

	if (to == object->size) // the last one is not full
		last = object->n_chunks;
	swarm_lock(&swarm->lock);
	for (uint64_t i = first; i < last && i < object->n_chunks; i++)
		if (object->chunks[i].bytes)
			give_chunk(swarm, object, &object->chunks[i]);
	swarm_unlock(&swarm->lock);
}

// ---- bytes ----

uint64_t space_count(const struct object *object, uint64_t from, uint64_t to)
{
	uint64_t n = 0;

	while (from < to) {
		struct part part = part_of(object, from, to - from);
		uint32_t at = part.at, end = part.at + part.length;

		for (; part.chunk->bytes && at < end; at = next_word(at, end))
			n += (uint64_t)__builtin_popcountll(
				part.chunk->map[at / 64] & word_mask(at, end));
		from += part.length;
	}
	return n;
}

static void write_part(
	const struct part *part, const uint8_t *bytes, bool replaces, struct space_wrote *wrote)
{
	uint32_t at = part->at, end = part->at + part->length;
	struct chunk *chunk = part->chunk;

	while (at < end) {
		bool came;
		uint32_t n = run_of(chunk->map, at, end, &came);

		if (!came) {
			memcpy(chunk->bytes + at, bytes, n);
			wrote->fresh += n;
		} else if (memcmp(chunk->bytes + at, bytes, n) != 0) {
			wrote->differs = true;
			if (replaces)
				memcpy(chunk->bytes + at, bytes, n);
		}
		at += n;
		bytes += n;
	}
	set_bits(chunk->map, part->at, end, true);
}

struct space_wrote space_write(
	struct object *object, uint64_t from, const uint8_t *bytes, uint32_t length, bool replaces)
{
	struct space_wrote wrote = {0};

	while (length) {
		struct part part = part_of(object, from, length);

		write_part(&part, bytes, replaces, &wrote);
		from += part.length;
		bytes += part.length;
		length -= part.length;
	}
	return wrote;
}

void space_clear(struct object *object, uint64_t from, uint64_t to)
{
	while (from < to) {
		struct part part = part_of(object, from, to - from);

		if (part.chunk->bytes)
			set_bits(part.chunk->map, part.at, part.at + part.length, false);
		from += part.length;
	}
}

static void read_part(const struct part *part, uint8_t *to)
{
	uint32_t at = part->at, end = part->at + part->length;

	while (at < end) {
		bool came;
		uint32_t n = run_of(part->chunk->map, at, end, &came);

		if (came)
			memcpy(to, part->chunk->bytes + at, n);
		else
			memset(to, 0, n);
		at += n;
		to += n;
	}
}

void space_read(const struct object *object, uint64_t from, uint8_t *to, uint32_t length)
{
	while (length) {
		struct part part = part_of(object, from, length);

		if (part.chunk->bytes)
			read_part(&part, to);
		else
			memset(to, 0, part.length);
		from += part.length;
		to += part.length;
		length -= part.length;
	}
}

bool space_job(struct swarm *swarm, const struct object *object, uint64_t from, uint64_t to,
	struct scan_job *job)
{
	uint8_t *base = swarm->arena->base;

	swarm_lock(&swarm->lock);
	struct scan_extents *named = content_take(swarm->memory, sizeof(*named));

	swarm_unlock(&swarm->lock);
	if (!named)
		return false;
	memset(named, 0, sizeof(*named));
	named->lead = (uint32_t)(from % SCAN_PAGE);
	while (from < to && named->n < SCAN_EXTENTS_MAX) {
		struct part part = part_of(object, from, to - from);
		uint32_t skip = part.at / SCAN_PAGE * SCAN_PAGE;

		named->extent[named->n++] = (struct scan_extent){
			.page = (uint32_t)((uint64_t)(part.chunk->bytes + skip - base) / SCAN_PAGE),
			.bytes = part.at - skip + part.length};
		from += part.length;
	}
	job->extents = (uint64_t)((uint8_t *)named - base);
	if (from == to)
		return true;
	space_job_over(swarm, job);
	return false;
}

void space_job_over(struct swarm *swarm, const struct scan_job *job)
{
	swarm_lock(&swarm->lock);
	content_give(swarm->memory, swarm->arena->base + job->extents);
	swarm_unlock(&swarm->lock);
}
