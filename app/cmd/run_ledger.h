// SPDX-License-Identifier: BSD-3-Clause
// The last word of a gateway: where every packet went. Control core, after lcores_stop.
#ifndef SLUICE_RUN_LEDGER_H
#define SLUICE_RUN_LEDGER_H

#include "pipeline/lcore/lcore.h"

// Logs the ledger of all lcores and standbys. `lost`: a lcore has not left its loop; what is in its
// hands, and in the others' rings, is counted as held then.
void run_ledger_print(const struct dataplane *dp, bool lost);

#endif
