// SPDX-License-Identifier: BSD-3-Clause
// What the rules did, over reloads: each snapshot of a policy counts by itself, one array per
// lcore (struct rule_counts, policy.h), and leaves its counts here when it is freed. So a rule
// keeps its numbers as long as its id lives, and also if it goes and comes again. Control core
// only.
#ifndef SLUICE_RULE_TOTALS_H
#define SLUICE_RULE_TOTALS_H

#include "pipeline/policy/policy.h"

struct rule_totals {                // {0} is an empty one
	struct rule_counts *by_uid; // [0] is of policies' defaults
	uint32_t n;
};

// The arrays of a policy that is about to be published to `n_lcores`. -ENOMEM.
int rule_counts_new(struct policy *policy, unsigned n_lcores);
// Room for what that policy's rules will leave behind. -ENOMEM.
int rule_totals_reserve(struct rule_totals *totals, const struct policy *policy);
// Takes the counts of a policy that no lcore uses any more.
void rule_totals_fold(struct rule_totals *totals, const struct policy *policy);
// Adds what one policy has counted for `uid` so far; its lcores may go on meanwhile.
void rule_counts_add(const struct policy *policy, uint32_t uid, struct rule_counts *sum);
void rule_totals_add(const struct rule_totals *totals, uint32_t uid, struct rule_counts *sum);
void rule_totals_free(struct rule_totals *totals);

#endif
