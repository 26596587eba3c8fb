// SPDX-License-Identifier: BSD-3-Clause
// Editions of signatures that a reload has replaced: kept until the last flow that began with one
// has been classified. Control core only.
#ifndef SLUICE_EDITIONS_H
#define SLUICE_EDITIONS_H

#include "pipeline/lcore/lcore.h"
#include "control/policy/snapshot.h"

// Flows that are undecided for longer, and those of the oldest edition where more have left, go on
// with the signatures in force.
#define EDITION_DRAIN_S    10
#define EDITIONS_LEAVE_MAX (EDITIONS_OPEN_MAX - 2)

struct editions {
	struct signature_edition *leaving; // oldest first
	unsigned n_leaving;
	uint32_t last;    // number given
	uint64_t drained; // freed because no flow used them any more
	uint64_t retired; // freed before
};

// `signatures` is about to be published, `before` (NULL: none) is in force until then.
void editions_follow(struct editions *editions, struct signature_edition *before,
	struct signature_edition *signatures, uint64_t now_ns);
// Frees those that nobody uses, and retires what is late; never blocks.
void editions_step(struct editions *editions, struct dataplane *dp, uint64_t now_ns);
void editions_free(struct editions *editions); // all lcores have left

#endif
