// SPDX-License-Identifier: BSD-3-Clause
#include "signature_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int signature_order_keep(
	const struct signature *before, unsigned n_before, struct signature *now, unsigned n_now)
{
	struct signature *ordered;
	bool *placed, *full;
	unsigned hole = 0;

	if (!n_now)
		return 0;
	ordered = calloc(n_now, sizeof *ordered);
	placed = calloc(n_now, sizeof *placed);
	full = calloc(n_now, sizeof *full);
	if (!ordered || !placed || !full) {
		free(ordered);
		free(placed);
		free(full);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < n_before && i < n_now; i++) {
		for (unsigned j = 0; j < n_now; j++) {
			if (placed[j] || strcmp(before[i].id, now[j].id) != 0)
				continue;
			ordered[i] = now[j];
			placed[j] = full[i] = true;
			break;
		}
	}
	for (unsigned j = 0; j < n_now; j++) {
		if (placed[j])
			continue;
		while (full[hole])
			hole++;
		ordered[hole++] = now[j];
	}
	memcpy(now, ordered, n_now * sizeof *now);
	free(ordered);
	free(placed);
	free(full);
	return 0;
}

// By member: padding, and what stands behind the end of a string, mean nothing.
static bool is_same(const struct signature *a, const struct signature *b)
{
	return !strcmp(a->id, b->id) && a->app == b->app && a->l4 == b->l4 &&
	       a->halves == b->halves && a->confidence == b->confidence && a->verify == b->verify &&
	       a->midstream == b->midstream && a->rank == b->rank &&
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
