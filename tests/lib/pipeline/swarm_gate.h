// SPDX-License-Identifier: BSD-3-Clause
// A gate behind which files are scanned that come in parts: those of one id are put together.
#ifndef SLUICE_SWARM_GATE_H
#define SLUICE_SWARM_GATE_H

#include "lib/pipeline/scan_gate.h"
#include "pipeline/swarm/swarm.h"

static struct swarm *swarm;

static inline struct gate *swarm_world(unsigned n_lcores, const char *policy)
{
	struct lcore_limits limits = pipe_limits();
	char err[200];

	limits.content = (struct content_limits){.flows = 8,
		.source_pct = 100,
		.turn_bytes = 64u << 10,
		.memory_bytes = 1u << 20,
		.arena_bytes = 1,
		.refused = 64,
		.refused_s = 3600};
	struct gate *gate = gate_new_with(n_lcores, &limits, policy);

	assert_int_equal(scan_arena_new_of(&arena,
				 &(struct scan_arena_room){.bytes = 16u << 20,
					 .unit = CONTENT_BLOCK_MAX,
					 .n_parts = n_lcores,
					 .shared = 16u << 20},
				 err, sizeof(err)),
		0);
	swarm = swarm_new(&arena, &(struct swarm_limits){.seed = &limits.parse.seed,
					  .files = 16,
					  .age_ns = 300 * NS_PER_S,
					  .n_workers = 1});
	const struct scan_config config = {
		.ops = &finder,
		.arena = &arena,
		.timeout_ns = 10 * NS_PER_S,
		.flows = 16,
		.swarm = swarm,
		.side = swarm_side_work(swarm),
	};

	assert_non_null(swarm);
	pipe_scan_new(gate->pipe, &config);
	jobs_seen = whole_seen = 0;
	is_deaf = false;
	return gate;
}

static inline void swarm_world_free(struct gate *gate)
{
	world_free(gate);
	swarm_free(swarm);
}

#endif
