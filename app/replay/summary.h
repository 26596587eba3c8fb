// SPDX-License-Identifier: BSD-3-Clause
// What a replay came to, for a person: applications, what the rules did, and the ledger.
#ifndef SLUICE_REPLAY_SUMMARY_H
#define SLUICE_REPLAY_SUMMARY_H

#include <stdio.h>

#include "control/policy/reload.h"

// At the end of a run. -1: `out` cannot be written.
int replay_summary(FILE *out, const struct dataplane *dp, const struct reload *reload);

#endif
