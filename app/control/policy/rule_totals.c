// SPDX-License-Identifier: BSD-3-Clause
// Sums the counters of each rule over all policies that were in force.
#include "control/policy/rule_totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64

int rule_counts_new(struct policy *policy, unsigned n_lcores)
{
	size_t bytes = (policy->n_rules + 1) * sizeof(struct rule_counts);

	bytes = (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; // no line has two writers
	for (unsigned i = 0; i < n_lcores; i++) {
		policy->counts[i] = aligned_alloc(CACHE_LINE, bytes);
		if (!policy->counts[i])
			return -ENOMEM;
		memset(policy->counts[i], 0, bytes);
	}
	return 0;
}

int rule_totals_reserve(struct rule_totals *totals, const struct policy *policy)
{
	uint32_t n = 1;
	struct rule_counts *grown;

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		if (policy->rules[i].uid >= n)
			n = policy->rules[i].uid + 1;
	}
	if (n <= totals->n)
		return 0;
	grown = reallocarray(totals->by_uid, n, sizeof *grown);
	if (!grown)
		return -ENOMEM;
	memset(grown + totals->n, 0, (n - totals->n) * sizeof *grown);
	totals->by_uid = grown;
	totals->n = n;
	return 0;
}

static void add(struct rule_counts *sum, const struct rule_counts *from)
{
	sum->decisions += __atomic_load_n(&from->decisions, __ATOMIC_RELAXED);
	sum->blocks += __atomic_load_n(&from->blocks, __ATOMIC_RELAXED);
	sum->monitor_hits += __atomic_load_n(&from->monitor_hits, __ATOMIC_RELAXED);
}

static void add_index(const struct policy *policy, uint32_t index, struct rule_counts *sum)
{
	for (unsigned i = 0; i < LCORES_MAX && policy->counts[i]; i++)
		add(sum, &policy->counts[i][index]);
}

void rule_totals_fold(struct rule_totals *totals, const struct policy *policy)
{
	for (uint32_t i = 0; i <= policy->n_rules; i++) {
		uint32_t uid = i < policy->n_rules ? policy->rules[i].uid : 0;

		if (uid < totals->n)
			add_index(policy, i, &totals->by_uid[uid]);
	}
}

void rule_counts_add(const struct policy *policy, uint32_t uid, struct rule_counts *sum)
{
	const struct rule *rule = uid ? policy_rule_by_uid(policy, uid) : NULL;

	if (rule)
		add_index(policy, (uint32_t)(rule - policy->rules), sum);
	else if (!uid)
		add_index(policy, policy->n_rules, sum);
}

void rule_totals_add(const struct rule_totals *totals, uint32_t uid, struct rule_counts *sum)
{
	if (uid < totals->n)
		add(sum, &totals->by_uid[uid]);
}

void rule_totals_free(struct rule_totals *totals)
{
	free(totals->by_uid);
	*totals = (struct rule_totals){0};
}
