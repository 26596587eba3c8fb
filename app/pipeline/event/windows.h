// SPDX-License-Identifier: BSD-3-Clause
// How many records of a kind an lcore has written in this second. The owning lcore only.
#ifndef SLUICE_EVENT_WINDOWS_H
#define SLUICE_EVENT_WINDOWS_H

#include "pipeline/event/event.h"
#include "pipeline/event/fair_window.h"

struct event_windows {              // zeros at first
	struct fair_window refused; // alerts of flows of which one end is heard (stage/refuse.c)
	struct fair_window invalid[EVENT_HEARD_MAX];
	struct fair_window anomaly[EVENT_HEARD_MAX][ANOMALIES_MAX];
};

#endif
