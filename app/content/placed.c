// SPDX-License-Identifier: BSD-3-Clause
// Blocks of a file at their offsets.
#include "content/placed.h"

// The first range that ends at `offset` or behind.
static uint32_t find(const struct content_placed *placed, uint64_t offset)
{
	uint32_t i = 0;

	while (i < placed->n_came && placed->came[i].to < offset)
		i++;
	return i;
}

bool content_placed_takes(const struct content_placed *placed, uint64_t offset, uint64_t length)
{
	uint32_t i = find(placed, offset);
	uint64_t to = offset + length;

	if (!placed->raw.id || offset < placed->from || to <= offset)
		return false;
	if (i < placed->n_came && placed->came[i].to == offset) { // it goes on
		i++;
		return i == placed->n_came || placed->came[i].from >= to;
	}
	if (i < placed->n_came && placed->came[i].from < to)
		return false;
	return placed->n_came < PLACED_RANGES || (i < placed->n_came && placed->came[i].from == to);
}

void content_placed_open(struct content_placed *placed, const struct content_turn *turn,
	struct content_file *what, uint32_t *files, uint64_t begins64, uint64_t from)
{
	*placed = (struct content_placed){.from = from, .size = what->size, .ends64 = begins64};
	what->range_from = from;
	what->partial = from > 0;
	what->scattered = true;
	content_raw_open(&placed->raw, turn, what, files, begins64);
}

static void insert(struct content_placed *placed, uint32_t i, struct placed_range range)
{
	memmove(placed->came + i + 1, placed->came + i,
		(placed->n_came - i) * sizeof(placed->came[0]));
	placed->came[i] = range;
	placed->n_came++;
}

static void join_next(struct content_placed *placed, uint32_t i)
{
	if (i + 1 >= placed->n_came || placed->came[i + 1].from != placed->came[i].to)
		return;
	placed->came[i].to = placed->came[i + 1].to;
	placed->n_came--;
	memmove(placed->came + i + 1, placed->came + i + 2,
		(placed->n_came - i - 1) * sizeof(placed->came[0]));
}

void content_placed_begin(struct content_placed *placed, uint64_t offset, uint64_t length)
{
	uint32_t i = find(placed, offset);

	placed->raw.at = offset - placed->from;
	if (i < placed->n_came && placed->came[i].to == offset) {
		placed->came[i].to += length;
		join_next(placed, i);
	} else if (i < placed->n_came && placed->came[i].from == offset + length) {
		placed->came[i].from = offset;
	} else {
		insert(placed, i, (struct placed_range){offset, offset + length});
	}
}

uint32_t content_placed_put(struct content_placed *placed, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	uint32_t n = content_raw_put(&placed->raw, turn, bytes, length);

	placed->ends64 = at64 + n;
	return n;
}

bool content_placed_is_one(const struct content_placed *placed)
{
	return placed->n_came == 1 && placed->came[0].from == placed->from;
}

bool content_placed_reaches(const struct content_placed *placed, uint64_t offset)
{
	return content_placed_is_one(placed) && placed->came[0].to == offset;
}

bool content_placed_is_whole(const struct content_placed *placed)
{
	return placed->size != CONTENT_SIZE_UNKNOWN && content_placed_is_one(placed) &&
	       placed->came[0].to >= placed->size;
}

void content_placed_end(
	struct content_placed *placed, const struct content_turn *turn, enum content_end end)
{
	content_raw_end(&placed->raw, turn, end, placed->ends64);
}
