// SPDX-License-Identifier: BSD-3-Clause
// Scan lcores, files under scan and the slowest of them, as `sluicectl scan` and the page have
// them.
#ifndef SLUICE_SCAN_JSON_H
#define SLUICE_SCAN_JSON_H

#include <jansson.h>
#include "control/stats/scan_desk.h"
#include "control/stats/context.h"

// All of it (docs/control-socket.md). `names`: of files, too; without, it is
// for the page. NULL: no memory.
json_t *scan_json(const struct control_context *context, bool names);
// "signatures", "version", "time", "age_s", "digest": with what a scan lcore's child looks. NULL:
// it has none, or there is no memory.
json_t *scan_json_database(const struct control_context *context, const struct scan_status *status);

#endif
