// SPDX-License-Identifier: BSD-3-Clause
// Assigns numbers to signatures that stay the same over reloads.
#include "control/policy/signature_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_in(const struct signature *set, unsigned n, const char *id)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(set[i].id, id))
			return true;
	return false;
}

// What names it, and nothing that a compiler or a verifier would look at.
static struct signature gone(const struct signature *before)
{
	struct signature kept = {.app = before->app, .rank = before->rank};

	memcpy(kept.id, before->id, sizeof kept.id);
	return kept;
}

int signature_order_keep(
	const struct signature *before, unsigned n_before, struct signature **now, unsigned *n_now)
{
	struct signature *set = *now, *ordered;
	unsigned n = n_before, n_gone = 0, hole = 0;

	for (unsigned i = 0; i < n_before; i++)
		n_gone += !is_in(set, *n_now, before[i].id);
	ordered = calloc(n_before + *n_now + 1, sizeof *ordered);
	if (!ordered)
		return -ENOMEM;
	for (unsigned i = 0; i < n_before; i++)
		ordered[i] = gone(&before[i]);
	for (unsigned j = 0; j < *n_now; j++) {
		for (unsigned i = 0; i < n_before; i++)
			if (!strcmp(before[i].id, set[j].id))
				ordered[i] = set[j];
	}
	for (unsigned j = 0; j < *n_now; j++) {
		if (is_in(before, n_before, set[j].id))
			continue;
		if (n_gone <= SIGNATURES_GONE_MAX) {
			ordered[n++] = set[j];
			continue;
		}
		while (!signature_is_gone(&ordered[hole]))
			hole++;
		ordered[hole] = set[j];
		n_gone--;
	}
	free(set);
	*now = ordered;
	*n_now = n;
	return 0;
}

// By member: padding, and what stands behind the end of a string, mean nothing.
static bool is_same(const struct signature *a, const struct signature *b)
{
	return !strcmp(a->id, b->id) && a->app == b->app && a->l4 == b->l4 &&
	       a->halves == b->halves && a->confidence == b->confidence && a->verify == b->verify &&
	       a->midstream == b->midstream && a->bits == b->bits && a->rank == b->rank &&
	       a->min_length == b->min_length && !strcmp(a->pattern, b->pattern) &&
	       a->caseless == b->caseless && a->dotall == b->dotall;
}

bool signature_order_same(
	const struct signature *a, unsigned n_a, const struct signature *b, unsigned n_b)
{
	if (n_a != n_b)
		return false;
	for (unsigned i = 0; i < n_a; i++) {
		if (!is_same(&a[i], &b[i]))
			return false;
	}
	return true;
}
