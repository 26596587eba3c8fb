// SPDX-License-Identifier: BSD-3-Clause
// Ranges in an array: found by halving, merged where they touch.
#include "audit/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The first range that ends at `from` or behind it.
static unsigned find(const struct ranges *ranges, uint64_t from)
{
	unsigned low = 0, high = ranges->n;

	if (ranges->n && ranges->at[ranges->n - 1].to < from) // behind all: what comes in order
		return ranges->n;
	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		if (ranges->at[middle].to < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int insert(struct ranges *ranges, unsigned at, uint64_t from, uint64_t to)
{
	if (ranges->n == RANGES_MAX)
		return -E2BIG;
	if (ranges->n == ranges->room) {
		unsigned room = ranges->room ? 2 * ranges->room : 4;
		struct range *more = realloc(ranges->at, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		ranges->at = more;
		ranges->room = room;
	}
	memmove(&ranges->at[at + 1], &ranges->at[at], (ranges->n - at) * sizeof(*ranges->at));
	ranges->at[at] = (struct range){from, to};
	ranges->n++;
	ranges->bytes += to - from;
	return 0;
}

int ranges_add(struct ranges *ranges, uint64_t from, uint64_t to)
{
	unsigned first = find(ranges, from), end = first;

	if (from >= to)
		return 0;
	while (end < ranges->n && ranges->at[end].from <= to)
		end++;
	if (end == first)
		return insert(ranges, first, from, to);
	// Those from `first` to `end` become one.
	for (unsigned i = first; i < end; i++)
		ranges->bytes -= ranges->at[i].to - ranges->at[i].from;
	struct range *one = &ranges->at[first];
	if (from < one->from)
		one->from = from;
	one->to = ranges->at[end - 1].to > to ? ranges->at[end - 1].to : to;
	ranges->bytes += one->to - one->from;
	memmove(one + 1, &ranges->at[end], (ranges->n - end) * sizeof(*one));
	ranges->n -= end - first - 1;
	return 0;
}

uint64_t ranges_end(const struct ranges *ranges)
{
	return ranges->n ? ranges->at[ranges->n - 1].to : 0;
}

void ranges_free(struct ranges *ranges)
{
	free(ranges->at);
	*ranges = (struct ranges){0};
}
