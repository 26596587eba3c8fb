// SPDX-License-Identifier: BSD-3-Clause
// Finds the largest holder of a shared pool by classes of size.
#include "transportapi/base/holders.h"

#include <stddef.h>

enum { LOWEST_OCTAVE = 6, OCTAVES = 32, PER_OCTAVE = 8 };
_Static_assert(OCTAVES *PER_OCTAVE + 1 == TAPI_HOLDER_CLASSES, "one class per eighth of an octave");

static unsigned class_of(uint64_t bytes)
{
	unsigned octave;

	if (bytes < UINT64_C(1) << LOWEST_OCTAVE)
		return 0;
	octave = 63 - (unsigned)__builtin_clzll(bytes);
	if (octave >= LOWEST_OCTAVE + OCTAVES)
		return TAPI_HOLDER_CLASSES - 1;
	return 1 + (octave - LOWEST_OCTAVE) * PER_OCTAVE +
	       (unsigned)(bytes >> (octave - 3)) % PER_OCTAVE;
}

void tapi_holders_init(struct tapi_holders *holders)
{
	*holders = (struct tapi_holders){0};
}

void tapi_holders_set(struct tapi_holders *holders, struct tapi_holder *holder, uint64_t bytes)
{
	unsigned before = class_of(holder->bytes), after = class_of(bytes);
	bool was = holder->bytes, is = bytes;

	holder->bytes = bytes;
	if (was && is && before == after)
		return;
	if (was) {
		LIST_REMOVE(holder, next);
		if (LIST_EMPTY(&holders->lists[before]))
			holders->filled[before / 64] &= ~(UINT64_C(1) << before % 64);
	}
	if (is) {
		LIST_INSERT_HEAD(&holders->lists[after], holder, next);
		holders->filled[after / 64] |= UINT64_C(1) << after % 64;
	}
}

struct tapi_holder *tapi_holders_most(const struct tapi_holders *holders)
{
	for (unsigned word = (TAPI_HOLDER_CLASSES + 63) / 64; word-- > 0;)
		if (holders->filled[word])
			return LIST_FIRST(
				&holders->lists[word * 64 + 63 -
						(unsigned)__builtin_clzll(holders->filled[word])]);
	return NULL;
}
