// SPDX-License-Identifier: BSD-3-Clause
// DPDK's telemetry: /sluice/stats, /sluice/lcores, /sluice/policy, /sluice/flows and
// /sluice/conncache/list on the socket dpdk_telemetry.v2 in EAL's runtime folder, for
// dpdk-telemetry.py and collectors that speak it (docs/metrics.md).
//
// DPDK calls back on threads of its own. There counters are read as they are; what belongs to the
// lcores or to the control core is asked for over a hand-over to the control core's loop, one
// question at a time, for at most TELEMETRY_WAIT_MS. Replies end at 16 KiB, so lists come in pages.
#ifndef SLUICE_TELEMETRY_H
#define SLUICE_TELEMETRY_H

#include "control/ctl/socket.h"

#define TELEMETRY_WAIT_MS 2000
#define TELEMETRY_PAGE    16 // entries of a list

// After EAL (with --no-telemetry nobody ever asks); one per program. -ENOMEM, or what registering
// says.
int telemetry_start(struct control_context *context);
// The lcores have left. From here on every question is answered with an error; DPDK's threads may
// go on. May be called without a start.
void telemetry_stop(void);

#endif
