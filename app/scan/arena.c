// SPDX-License-Identifier: BSD-3-Clause
// Makes the memory of files under scan, and checks what claims to lie in it.
#include "scan/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE // of Linux 5.1; fcntl.h of Debian 12 does not have it
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SPARE_MAX (2 * (size_t)SCAN_FILE_MAX)

static int failed(struct scan_arena *arena, const char *what, char *err, size_t err_len)
{
	int error = errno;

	snprintf(err, err_len, "scan arena of %zu MiB: %s: %s", arena->bytes >> 20, what,
		strerror(error));
	scan_arena_free(arena);
	return -error;
}

int scan_arena_new(struct scan_arena *arena, size_t bytes, size_t unit, unsigned n_parts, char *err,
	size_t err_len)
{
	return scan_arena_new_spare(arena, bytes, unit, n_parts, 0, err, err_len);
}

int scan_arena_new_spare(struct scan_arena *arena, size_t bytes, size_t unit, unsigned n_parts,
	size_t spare, char *err, size_t err_len)
{
	const struct scan_arena_room room = {
		.bytes = bytes, .unit = unit, .n_parts = n_parts, .spare = spare};

	return scan_arena_new_of(arena, &room, err, err_len);
}

static size_t round_up(size_t bytes, size_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

static bool can_be_had(const struct scan_arena_room *room)
{
	const uint64_t most = (uint64_t)UINT32_MAX * SCAN_PAGE;

	return room->bytes && room->unit && room->unit % SCAN_PAGE == 0 && room->n_parts &&
	       room->shared <= most / 4 && room->spare <= SPARE_MAX &&
	       room->bytes <= most / 2 - room->unit * room->n_parts;
}

int scan_arena_new_of(
	struct scan_arena *arena, const struct scan_arena_room *room, char *err, size_t err_len)
{
	*arena = (struct scan_arena){.fd = -1};
	if (!can_be_had(room)) {
		snprintf(err, err_len, "scan arena: %zu bytes for %u data lcores cannot be had",
			room->bytes, room->n_parts);
		return -EINVAL;
	}
	size_t part = round_up((room->bytes + room->n_parts - 1) / room->n_parts, room->unit);

	arena->spare = round_up(room->spare, SCAN_PAGE);
	arena->shared = round_up(room->shared, room->unit);
	arena->bytes = part * room->n_parts + arena->shared + arena->spare;
	arena->fd = memfd_create("sluice-scan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (arena->fd < 0)
		return failed(arena, "memfd_create", err, err_len);
	if (ftruncate(arena->fd, (off_t)arena->bytes))
		return failed(arena, "ftruncate", err, err_len);
	arena->base = mmap(NULL, arena->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		arena->fd, 0);
	if (arena->base == MAP_FAILED) {
		arena->base = NULL;
		return failed(arena, "mmap", err, err_len);
	}
	if (fcntl(arena->fd, F_ADD_SEALS,
		    F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return failed(arena, "F_ADD_SEALS", err, err_len);
	return 0;
}

void scan_arena_free(struct scan_arena *arena)
{
	if (arena->base)
		munmap(arena->base, arena->bytes);
	if (arena->fd >= 0)
		close(arena->fd);
	*arena = (struct scan_arena){.fd = -1};
}

uint8_t *scan_arena_part(
	const struct scan_arena *arena, unsigned index, unsigned n_parts, size_t *bytes)
{
	*bytes = (arena->bytes - arena->shared - arena->spare) / n_parts;
	return arena->base + *bytes * index;
}

uint8_t *scan_arena_shared(const struct scan_arena *arena, size_t *bytes)
{
	*bytes = arena->shared;
	return arena->base + arena->bytes - arena->spare - arena->shared;
}

uint8_t *scan_arena_spare(const struct scan_arena *arena, size_t *bytes)
{
	*bytes = arena->spare;
	return arena->base + arena->bytes - arena->spare;
}

bool scan_extents_fit(const struct scan_extent *extents, uint32_t n, uint32_t lead, uint64_t bytes,
	uint64_t arena_bytes)
{
	uint64_t sum = 0;

	if (!n || n > SCAN_EXTENTS_MAX || bytes > SCAN_FILE_MAX || lead >= SCAN_PAGE ||
		lead >= extents[0].bytes)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = (uint64_t)extents[i].page * SCAN_PAGE, length = extents[i].bytes;

		if (!length || length > arena_bytes || at > arena_bytes - length ||
			(i + 1 < n && length % SCAN_PAGE))
			return false;
		sum += length;
	}
	return sum == lead + bytes;
}

const struct scan_extents *scan_arena_extents(
	const struct scan_arena *arena, const struct scan_job *job)
{
	if (!arena || !arena->base || !(job->flags & SCAN_JOB_FILE) ||
		job->extents % _Alignof(struct scan_extents) || job->to64 < job->from64 ||
		arena->bytes < sizeof(struct scan_extents) ||
		job->extents > arena->bytes - sizeof(struct scan_extents))
		return NULL;
	const struct scan_extents *extents = (const void *)(arena->base + job->extents);

	return scan_extents_fit(extents->extent, extents->n, extents->lead, job->to64 - job->from64,
		       arena->bytes)
		       ? extents
		       : NULL;
}
