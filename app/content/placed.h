// SPDX-License-Identifier: BSD-3-Clause
// A file whose bytes come in blocks at offsets, as clients of SMB and NFS ask for them: mostly one
// behind the other, but in any order, and perhaps not all. Each byte of a transfer is told once:
// what is asked for again is another transfer. Any core.
#ifndef SLUICE_CONTENT_PLACED_H
#define SLUICE_CONTENT_PLACED_H

#include "content/transfer.h"

#define PLACED_RANGES 16 // with holes between them; more end the transfer

struct placed_range {
	uint64_t from, to;
};

// Zeroed at first.
struct content_placed {
	struct content_raw raw;
	uint64_t from;   // range_from
	uint64_t size;   // as it was told
	uint64_t ends64; // in the half, behind the last byte
	struct placed_range came[PLACED_RANGES];
	uint32_t n_came;
};

static inline bool content_placed_is_open(const struct content_placed *placed)
{
	return placed->raw.id != 0;
}
// Whether such a block is of the transfer at hand: it has bytes, is behind `from`, nothing of it
// came, and there is room to remember it.
bool content_placed_takes(const struct content_placed *placed, uint64_t offset, uint64_t length);
// `what` says all but where in the file it begins: at `from`.
void content_placed_open(struct content_placed *placed, const struct content_turn *turn,
	struct content_file *what, uint32_t *files, uint64_t begins64, uint64_t from);
// A block comes that it takes; its bytes are put by content_placed_put, or lost.
void content_placed_begin(struct content_placed *placed, uint64_t offset, uint64_t length);
// `at64`: offset in the half of the first. How many were taken: fewer where the budget ended.
uint32_t content_placed_put(struct content_placed *placed, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint64_t at64);
// All of the file came, from `from` to its size.
bool content_placed_is_whole(const struct content_placed *placed);
// What came has no hole, and ends there.
bool content_placed_reaches(const struct content_placed *placed, uint64_t offset);
// What came has no hole.
bool content_placed_is_one(const struct content_placed *placed);
// Nothing, if it is not open.
void content_placed_end(
	struct content_placed *placed, const struct content_turn *turn, enum content_end end);

#endif
