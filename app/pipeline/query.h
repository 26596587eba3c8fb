// SPDX-License-Identifier: BSD-3-Clause
// Answers the control core's questions (lcore.h, struct query), a bounded piece per turn.
#ifndef SLUICE_QUERY_H
#define SLUICE_QUERY_H

#include "pipeline/lcore.h"

void query_step(struct lcore *lcore);

#endif
