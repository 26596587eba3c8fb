// SPDX-License-Identifier: BSD-3-Clause
// Ways to break the tracker, for the test that finds each of them (tests/model/model_stream.c). In
// the gateway there are none: MUTATED is false, and nothing is left of it.
#ifndef SLUICE_MUTATION_H
#define SLUICE_MUTATION_H

enum track_mutation {
	MUTATION_NONE,
	MUTATION_NO_COMPARE, // what comes again is taken for the same
	MUTATION_TAIL,       // its last byte is
	MUTATION_COPIES,     // a hole is filled, and the copies behind it are not inspected
	MUTATION_OVERTAKEN,  // what is held is overtaken
	MUTATION_FORGOTTEN,  // what was sent is not kept until it is acknowledged
	MUTATION_WRAP,       // numbers do not wrap
	MUTATION_RESET,      // a RST ends inspection
	TRACK_MUTATIONS,
};

#ifdef SLUICE_MUTATIONS
extern enum track_mutation track_mutation;
#define MUTATED(which) (track_mutation == MUTATION_##which)
#else
#define MUTATED(which) false
#endif

#endif
