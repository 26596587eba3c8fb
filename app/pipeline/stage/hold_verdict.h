// SPDX-License-Identifier: BSD-3-Clause
// What a verdict of the scan engine does to its flow. Clean: what was held goes on. Infected: the
// flow is torn down and blocked (drop reason `infected`). Error and time-out: as on_error
// and on_timeout say, either the one or the other (drop reason `unscanned`). Where the policy in
// force would not have it scanned any more, every verdict lets it go on. The owning lcore only.
#ifndef SLUICE_HOLD_VERDICT_H
#define SLUICE_HOLD_VERDICT_H

struct lcore;

// Once a turn, after the packets: takes a bounded number of verdicts, and ends jobs that nobody has
// answered (hold.h). What is to be done is done before it returns.
void hold_poll(struct lcore *lcore);

#endif
