// SPDX-License-Identifier: BSD-3-Clause
// What the tracker found, reported: counters, anomalies, gauges, how a flow's halves stand. The
// owning lcore only.
#ifndef SLUICE_INSPECT_REPORT_H
#define SLUICE_INSPECT_REPORT_H

#include "pipeline/stage/inspect.h"

// Counts what became of the segment at hand, and tells what is an anomaly. `expected`: the offset
// of the half's next byte before it.
void inspect_report(const struct inspection *in, const struct tcp_track *track, uint64_t expected,
	const struct track_result *result);

// How a half of the flow stands. False: it is not tracked, or not any more.
bool inspect_look(const struct lcore *lcore, uint32_t ref, unsigned half, struct stream_look *look);
// A packet that was held was dropped.
void inspect_dropped(struct lcore *lcore, struct rte_mbuf *m, enum drop_reason reason);
// The gauges of reassembly.
void inspect_publish(struct lcore *lcore);
// Packets that are held. The keeper's part of pipeline_held.
unsigned inspect_held(const struct lcore *lcore);

#endif
