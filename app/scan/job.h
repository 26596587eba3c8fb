// SPDX-License-Identifier: BSD-3-Clause
// What a data lcore asks of a scan engine, and what it is reported. Both travel by value over rings
// (link.h); nothing in them points anywhere. Whoever receives a verdict holds its job against what
// it waits for: the flow may have ended since, and its place in the table may be another's. What
// does not match in every part is counted and thrown away.
#ifndef SLUICE_SCAN_JOB_H
#define SLUICE_SCAN_JOB_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define SCAN_NAME_MAX 48 // of what was found, with its end

enum scan_value {
	SCAN_CLEAN,
	SCAN_INFECTED, // `name` says what was found
	SCAN_ERROR,    // the engine cannot tell, or could not take the job
	SCAN_TIMEOUT,  // it did not tell in time
	SCAN_VALUES_MAX
};

static inline const char *scan_value_word(enum scan_value value)
{
	static const char *const words[] = {"clean", "infected", "error", "timeout"};

	return value < SCAN_VALUES_MAX ? words[value] : "?";
}

// A part of one half of a flow.
struct scan_job {
	uint64_t id;           // of its data lcore: 1, 2, ...
	uint64_t from64, to64; // offsets in the half: [from64, to64)
	uint64_t submitted_ns;
	uint64_t deadline_ns; // after that nobody waits for the verdict
	uint32_t flow;        // index in the lcore's flow pool
	uint32_t generation;  // of that entry
	uint32_t trigger;     // what the engine's trigger said
	uint8_t lcore;        // data lcore
	uint8_t half;         // enum half
	uint8_t pad[2];
};
static_assert(sizeof(struct scan_job) == 56, "a job");

struct scan_verdict {
	struct scan_job job; // as it was submitted
	uint64_t taken_ns;   // when the engine took it
	uint64_t done_ns;    // when the engine was through with it
	char name[SCAN_NAME_MAX];
	uint8_t value; // enum scan_value
	uint8_t pad[7];
};
static_assert(sizeof(struct scan_verdict) == 128, "a verdict is two cache lines");
static_assert(sizeof(struct scan_verdict) % 4 == 0, "rte_ring_elem wants multiples of 4");

// The same question: all that names it.
static inline bool scan_job_same(const struct scan_job *a, const struct scan_job *b)
{
	return a->id == b->id && a->lcore == b->lcore && a->flow == b->flow &&
	       a->generation == b->generation && a->half == b->half;
}

#endif
