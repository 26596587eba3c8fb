// SPDX-License-Identifier: BSD-3-Clause
// Keeps replaced sets of signatures until no flow uses them.
#include "control/policy/editions.h"

void editions_follow(struct editions *editions, struct signature_edition *before,
	struct signature_edition *signatures, uint64_t now_ns)
{
	struct signature_edition **end = &editions->leaving;

	if (before == signatures)
		return;
	signatures->edition->number = ++editions->last;
	if (!before)
		return;
	while (*end)
		end = &(*end)->next;
	*end = signature_edition_get(before);
	before->since_ns = now_ns;
	editions->n_leaving++;
}

static bool in_use(const struct dataplane *dp, uint32_t number)
{
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		const struct lcore *lcore = dp->lcores[i]; // NULL before the start

		if (lcore && lcore->classifier && classifier_open(lcore->classifier, number))
			return true;
	}
	return false;
}

// From the grace period on that begins here, no lcore looks into it or into an older one.
static void retire(struct signature_edition *signatures, struct dataplane *dp)
{
	atomic_store_explicit(
		&dp->oldest_edition, signatures->edition->number + 1, memory_order_release);
	signatures->token = dp->qsbr ? rte_rcu_qsbr_start(dp->qsbr) : 0;
	signatures->retired = true;
}

static bool may_go(struct editions *editions, struct signature_edition *signatures,
	struct dataplane *dp, uint64_t now_ns)
{
	bool oldest = editions->leaving == signatures;

	// While a snapshot has it, flows may still begin with it.
	if (atomic_load(&signatures->users) > 1)
		return false;
	if (!in_use(dp, signatures->edition->number)) {
		editions->drained++;
		return true;
	}
	if (oldest && !signatures->retired &&
		(now_ns - signatures->since_ns >= EDITION_DRAIN_S * NS_PER_S ||
			editions->n_leaving > EDITIONS_LEAVE_MAX))
		retire(signatures, dp);
	if (!signatures->retired ||
		(dp->qsbr && rte_rcu_qsbr_check(dp->qsbr, signatures->token, false) == 0))
		return false;
	editions->retired++;
	return true;
}

void editions_step(struct editions *editions, struct dataplane *dp, uint64_t now_ns)
{
	struct signature_edition **at = &editions->leaving;

	while (*at) {
		struct signature_edition *signatures = *at;

		if (!may_go(editions, signatures, dp, now_ns)) {
			at = &signatures->next;
			continue;
		}
		*at = signatures->next;
		editions->n_leaving--;
		signature_edition_put(signatures);
	}
}

void editions_free(struct editions *editions)
{
	while (editions->leaving) {
		struct signature_edition *signatures = editions->leaving;

		editions->leaving = signatures->next;
		signature_edition_put(signatures);
	}
	editions->n_leaving = 0;
}
