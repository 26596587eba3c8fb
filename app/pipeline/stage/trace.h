// SPDX-License-Identifier: BSD-3-Clause
// `sluicectl trace FLOW`: what each stage said of each packet of a flow, as events. One predictable
// branch when off. Data lcores. Steps are reported while at least half of the event ring is free,
// so that a fast flow that is traced costs no other event; what is left out is stats.trace_lost.
#ifndef SLUICE_TRACE_H
#define SLUICE_TRACE_H

#include "pipeline/stage/packet_ctx.h"

void trace_stage(
	struct lcore *lcore, struct packet_ctx *ctx, const char *stage, enum verdict verdict);

#endif
