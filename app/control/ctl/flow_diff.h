// SPDX-License-Identifier: BSD-3-Clause
// Which living flows two policies decide otherwise: decide() is pure, so it is asked on the control
// core, on what flow records say. Nothing changes by it.
#ifndef SLUICE_FLOW_DIFF_H
#define SLUICE_FLOW_DIFF_H

#include "control/ctl/command.h"
#include "pipeline/query.h"
#include "pipeline/policy/policy.h"

struct flow_diff;

// Both policies are borrowed. `wall_ns`: the moment whose time windows count. NULL: no memory.
struct flow_diff *flow_diff_new(
	const struct policy *old, const struct policy *new, uint64_t wall_ns, unsigned examples);
void flow_diff_free(struct flow_diff *diff);
void flow_diff_look(struct flow_diff *diff, const struct flow_record *record);
// {"looked_at", "changed", "undecided", "transitions", "examples"}. NULL: no memory.
json_t *flow_diff_json(const struct flow_diff *diff, const struct control_context *context);

#endif
