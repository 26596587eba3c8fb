// SPDX-License-Identifier: BSD-3-Clause
// What others ask of the inspection (stage_inspect.c). The owning lcore only.
#ifndef SLUICE_INSPECT_H
#define SLUICE_INSPECT_H

#include "lcore.h"

// The half is no longer processing: what was held of it is let go, a bounded number of segments in
// each turn, in order.
void inspect_resume(struct lcore *lcore, uint32_t ref, unsigned half);

#endif
