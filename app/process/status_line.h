// SPDX-License-Identifier: BSD-3-Clause
// The gateway in one line, for `systemctl status`: what passes now, and what to look into. Control
// core only.
#ifndef SLUICE_STATUS_LINE_H
#define SLUICE_STATUS_LINE_H

#include "control/stats/alarm_counters.h"

#define STATUS_MEMORY_NS (60 * NS_PER_S) // how long a counter that grew is named

struct status_line { // zeroed before the first call
	uint64_t now_ns;
	uint64_t pkts;
	uint64_t bytes;
	uint64_t troubles[ALARM_COUNTERS_MAX]; // values at the last call
	uint64_t grew_ns[ALARM_COUNTERS_MAX];  // 0: never
};

// "1.2 Mpps, 9.8 Gbit/s received; 120000 flows; policy generation 3; look into: flows_evicted".
// Rates are those since the last call; the first has none.
void status_line_render(struct status_line *line, const struct control_context *context,
	uint64_t generation, uint64_t now_ns, char *out, size_t out_len);
// 1234567 -> "1.2 M"; `out` at least 16 bytes.
void status_amount(uint64_t value, char *out, size_t out_len);

#endif
