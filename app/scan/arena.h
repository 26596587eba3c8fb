// SPDX-License-Identifier: BSD-3-Clause
// The memory that holds the bytes of files under scan, shared with the scanner: a memfd of a fixed
// size, mapped for writing by the gateway alone. It is made and mapped before any process is
// forked; then it is sealed against growing, shrinking and any further writable mapping, so that
// whoever is given its descriptor can read it, and nothing else. Memory is taken by the kernel as
// pages are first written.
//
// Each data lcore has a part of its own, in which it alone hands out room; behind the parts is what
// all of them share (pipeline/swarm), and behind that the control core's (trial.h).
#ifndef SLUICE_SCAN_ARENA_H
#define SLUICE_SCAN_ARENA_H

#include <stddef.h>
#include "scan/job.h"

struct scan_arena {
	int fd;        // -1: there is none
	uint8_t *base; // of `bytes`
	size_t bytes;  // whole pages
	size_t shared; // of these, behind the parts: all data lcores'
	size_t spare;  // ... at the end: no data lcore's
};

// Before threads and children. `bytes` is rounded up to whole parts of `unit` for each of `n_parts`
// data lcores. 0; -EINVAL, -ENOMEM, -errno with a message; `arena` is then empty.
int scan_arena_new(struct scan_arena *arena, size_t bytes, size_t unit, unsigned n_parts, char *err,
	size_t err_len);
// The same, and `spare` bytes behind the parts for the control core, rounded up to pages.
int scan_arena_new_spare(struct scan_arena *arena, size_t bytes, size_t unit, unsigned n_parts,
	size_t spare, char *err, size_t err_len);
// The same by room: `shared` bytes for all data lcores together, rounded up to `unit`, beside it.
struct scan_arena_room {
	size_t bytes, unit;
	unsigned n_parts;
	size_t shared, spare;
};
int scan_arena_new_of(
	struct scan_arena *arena, const struct scan_arena_room *room, char *err, size_t err_len);
void scan_arena_free(struct scan_arena *arena); // one that is empty is allowed

// The part of data lcore `index` of `n_parts`; any core.
uint8_t *scan_arena_part(
	const struct scan_arena *arena, unsigned index, unsigned n_parts, size_t *bytes);
// What all data lcores share (pipeline/swarm); 0 bytes: there is none.
uint8_t *scan_arena_shared(const struct scan_arena *arena, size_t *bytes);
// What belongs to no data lcore; 0 bytes: there is none.
uint8_t *scan_arena_spare(const struct scan_arena *arena, size_t *bytes);

// The extents of a file job, as far as they can be: NULL: they lie outside of the arena, are none
// or too many, are not side by side in pages, or do not come to the job's bytes. Reads the arena,
// whose extents only the gateway writes; any core.
const struct scan_extents *scan_arena_extents(
	const struct scan_arena *arena, const struct scan_job *job);

// Whether `n` extents lie in an arena of `arena_bytes`, each but the last of whole pages, and come
// to `bytes` behind the `lead` bytes that are skipped in the first one. The one check of both
// sides.
bool scan_extents_fit(const struct scan_extent *extents, uint32_t n, uint32_t lead, uint64_t bytes,
	uint64_t arena_bytes);

#endif
