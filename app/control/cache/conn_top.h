// SPDX-License-Identifier: BSD-3-Clause
// The best of the connection cache's entries as they come from the lcores' replicas, in memory for
// those alone: a full cache has more entries than the control core may sort in a turn. Control
// core.
#ifndef SLUICE_CONN_TOP_H
#define SLUICE_CONN_TOP_H

#include "control/cache/conn_list.h"
#include "pipeline/policy/policy.h"
#include "control/stats/top_n.h"

struct conn_top {
	struct top_n best; // of all replicas: an entry is in each of them
	uint64_t offered[LCORES_MAX];
	uint64_t n_offered;
};

// For `n` entries of `n_lcores` replicas.
void conn_top_init(struct conn_top *top, uint32_t n, unsigned n_lcores);
// `value`: more is better.
void conn_top_offer(
	struct conn_top *top, unsigned lcore, const struct conn_entry *entry, uint64_t value);
// Adds the best; conn_list_merge puts their replicas together.
void conn_top_list(struct conn_top *top, struct conn_list *out);
bool conn_top_has_left_out(const struct conn_top *top);
// How many the fullest replica has offered: about as many as there are, where some were left out.
uint64_t conn_top_fullest(const struct conn_top *top);
void conn_top_free(struct conn_top *top);

#endif
