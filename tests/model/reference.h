// SPDX-License-Identifier: BSD-3-Clause
// Runs a schedule against the packet path and says what did not go as the reference knows it.
#ifndef SLUICE_MODEL_REFERENCE_H
#define SLUICE_MODEL_REFERENCE_H

#include "schedule.h"

// Ways to make the reference, or the wire, wrong: each must be found (a test of the test).
enum mutation {
	MUTATE_NOTHING,
	MUTATE_APPLICATION, // clean connections are expected to be blocked
	MUTATE_EDGE,        // resets are expected one number further
	MUTATE_CACHE,       // no entry is expected
	MUTATE_LOSS,        // the wire loses a packet
	MUTATE_OCTET,       // the wire changes an octet
	MUTATE_ORDER,       // the wire swaps two packets
	MUTATE_LEAK,        // blocked connections are expected to go on
	MUTATIONS,
};

// NULL: all as foreseen; else what was not, in a buffer that the next call overwrites.
const char *reference_run(const struct schedule *schedule, enum mutation mutation);

#endif
