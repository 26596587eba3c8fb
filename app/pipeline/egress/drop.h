// SPDX-License-Identifier: BSD-3-Clause
// The end of a packet that does not leave. The lcore.
#ifndef SLUICE_DROP_H
#define SLUICE_DROP_H

#include <rte_mbuf.h>
#include "pipeline/vocab/verdict.h"

struct lcore;

// Frees a packet that ends here, counted by its reason. Takes it.
void packet_drop(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason);
void packets_drop(
	struct lcore *lcore, struct rte_mbuf **mbufs, unsigned n, enum drop_reason reason);

#endif
