// SPDX-License-Identifier: BSD-3-Clause
// Takes what other lcores have learned (lcore/hints.h) into this lcore's replicas.
#ifndef SLUICE_HINTS_APPLY_H
#define SLUICE_HINTS_APPLY_H

struct lcore;

// At most one ring's worth per call. The lcore.
void hints_apply(struct lcore *lcore);

#endif
