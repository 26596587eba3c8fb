// SPDX-License-Identifier: BSD-3-Clause
// Random operations against a model: a run per seed; what fails is cut down, operation by
// operation, and printed. SLUICE_SEED=N: that one; SLUICE_LONG=1: a hundred times as many.
#ifndef SLUICE_OPERATIONS_H
#define SLUICE_OPERATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHY_BYTES 256

struct operations {
	const char *name;
	size_t size;   // of one operation
	unsigned most; // operations of a run
	// The index-th operation. Chance: operations_below().
	void (*make)(void *operation, unsigned index, uint64_t *random);
	// All of them, from a fresh start, with nothing left behind. false: *why.
	bool (*run)(const void *operations, unsigned n, char why[WHY_BYTES]);
	void (*print)(const void *operation);
};

uint32_t operations_below(uint64_t *random, uint32_t limit);
// How many seeds failed, at most one: the first is reported and ends it.
unsigned operations_campaign(const struct operations *kind, unsigned seeds);

#endif
