// SPDX-License-Identifier: BSD-3-Clause
// What an operator should look into now, in words that say what, where and what to do. Made from
// the counters and the last minute (rates.h). Control core only.
#ifndef SLUICE_ALARMS_H
#define SLUICE_ALARMS_H

#include <jansson.h>
#include "control/stats/rates.h"

// [{"level":"error"|"warning"|"note","text":...}], the worst first; empty: all is well. NULL: no
// memory.
json_t *alarms_json(const struct rates *rates);

#endif
