// SPDX-License-Identifier: BSD-3-Clause
// Finds the largest holder of a shared pool by classes of size.
#include "transportapi/base/memory_accounting.h"

#include <stddef.h>

enum { LOWEST_OCTAVE = 6, OCTAVES = 32, PER_OCTAVE = 8 };
_Static_assert(OCTAVES *PER_OCTAVE + 1 == TAPI_MEMORY_CLASSES, "one class per eighth of an octave");

static unsigned class_of(uint64_t bytes)
{
	unsigned octave;

	if (bytes < UINT64_C(1) << LOWEST_OCTAVE)
		return 0;
	octave = 63 - (unsigned)__builtin_clzll(bytes);
	if (octave >= LOWEST_OCTAVE + OCTAVES)
		return TAPI_MEMORY_CLASSES - 1;
	return 1 + (octave - LOWEST_OCTAVE) * PER_OCTAVE +
	       (unsigned)(bytes >> (octave - 3)) % PER_OCTAVE;
}

void tapi_memory_set(struct tapi_memory *memory, struct tapi_memory_user *holder, uint64_t bytes)
{
	unsigned before = class_of(holder->bytes), after = class_of(bytes);
	bool was = holder->bytes, is = bytes;

	holder->bytes = bytes;
	if (was && is && before == after)
		return;
	if (was) {
		LIST_REMOVE(holder, next);
		if (LIST_EMPTY(&memory->lists[before]))
			memory->filled[before / 64] &= ~(UINT64_C(1) << before % 64);
	}
	if (is) {
		LIST_INSERT_HEAD(&memory->lists[after], holder, next);
		memory->filled[after / 64] |= UINT64_C(1) << after % 64;
	}
}

struct tapi_memory_user *tapi_memory_largest(const struct tapi_memory *memory)
{
	for (unsigned word = (TAPI_MEMORY_CLASSES + 63) / 64; word-- > 0;)
		if (memory->filled[word])
			return LIST_FIRST(
				&memory->lists[word * 64 + 63 -
					       (unsigned)__builtin_clzll(memory->filled[word])]);
	return NULL;
}
