// SPDX-License-Identifier: BSD-3-Clause
// `sluice replay --against OLD.json`: which flows of a capture two policies decide otherwise.
//
// Each policy looks at the whole capture in a pass of its own and refuses nothing: its rules are
// turned to monitor, so that a flow that one of them would have stopped goes on, and what came of
// stopping it (retries, the connection cache, flows that were never made) hides nothing from the
// other. Both passes see the same packets and so the same flows. A flow's decision is the first
// that would have stopped it, else the rule that lets it pass at its end.
#ifndef SLUICE_REPLAY_AGAINST_H
#define SLUICE_REPLAY_AGAINST_H

#include <stdio.h>
#include "pipeline/lcore/lcore.h"
#include "control/policy/load.h"
#include "pipeline/policy/policy.h"

enum against_side { AGAINST_OLD, AGAINST_NEW };

struct against;

// `names` is that of both passes: the same rule has the same number. NULL: no memory.
struct against *against_new(const struct rule_names *names, bool has_inside);
void against_free(struct against *against);
// What follows belongs to this side, seen by the lcores of `dp`.
void against_begin(struct against *against, enum against_side side, const struct dataplane *dp);
// A sink_listener_fn; `ctx` is the struct against.
struct event;
void against_see(void *ctx, const struct event *event);
// For reload_set_adjust: the policy refuses nothing, and says what it would have.
void against_adjust(struct policy *policy);

struct against_sum {
	uint64_t flows;
	uint64_t differ;
};
// After both passes. One line per flow that differs, in the order in which they began: text, or a
// JSON object. -ENOMEM (also of a pass), -EIO.
int against_report(struct against *against, FILE *out, bool json, struct against_sum *sum);

#endif
