// SPDX-License-Identifier: BSD-3-Clause
// Makes and frees the data lcores with all that is theirs, and begins their turns.
#ifndef SLUICE_LCORES_H
#define SLUICE_LCORES_H

#include <stddef.h>
#include "pipeline/lcore/lcore.h"

// Rings, tables and states of lcore `index` (dp->ports, n_lcores and limits are set). Called for
// every lcore before any starts; `lcores_connect` then makes the ring matrix. -ENOMEM, message.
int lcore_new(struct dataplane *dp, unsigned index, int socket, struct rte_mempool *pool,
	struct lcore **out, char *err, size_t err_len);
// What is read once per loop: the time, the policy in force, its open time windows. The lcore.
void lcore_begin(struct lcore *lcore, const struct policy *policy, uint64_t now_ns);
int lcores_connect(struct dataplane *dp, char *err, size_t err_len);
void lcore_free(struct lcore *lcore);

// Deals the slots of flow owners to the lcores as NICs fill their redirection tables: slot modulo
// table size modulo queues. dp->reta_size is the NICs' table size, or 0.
void dataplane_owner_fill(struct dataplane *dp);

#endif
