// SPDX-License-Identifier: BSD-3-Clause
// Records of a flow as it is, with what the scan engine has said of it. The owning lcore only.
#ifndef SLUICE_FLOW_REPORT_H
#define SLUICE_FLOW_REPORT_H

#include "pipeline/flow/flow.h"

struct lcore;

// The record of a flow's or stub's end, before its entry changes.
void flow_report_end(struct lcore *lcore, uint32_t ref, enum flow_end reason);
// The flow has just become an elephant: its record so far.
void flow_report_elephant(struct lcore *lcore, uint32_t ref);

#endif
