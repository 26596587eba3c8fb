// SPDX-License-Identifier: BSD-3-Clause
// `sluicectl trace FLOW`: what each stage said of each packet of a flow, as events. One predictable
// branch when off.
#ifndef SLUICE_TRACE_H
#define SLUICE_TRACE_H

#include "walk.h"

void trace_stage(
	struct lcore *lcore, const struct walk *walk, const char *stage, enum verdict verdict);

#endif
