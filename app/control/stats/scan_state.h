// SPDX-License-Identifier: BSD-3-Clause
// Whether files can be scanned, for whoever reports it. Control core only.
#ifndef SLUICE_SCAN_STATE_H
#define SLUICE_SCAN_STATE_H

#include "control/stats/context.h"
#include "control/stats/scan_desk.h"

// The first rule of the policy in force that has files scanned; NULL: none.
const char *scan_state_asks(const struct control_context *context);
// Scan lcores that take jobs; those whose engine has nothing to tell do.
unsigned scan_state_ready(const struct scan_desk *desk);
// A rule has files scanned, and no scan lcore takes jobs: `why` is the reason, in words without a
// full stop. `why` may be NULL.
bool scan_state_is_missing(const struct control_context *context, char *why, size_t why_len);

#endif
