// SPDX-License-Identifier: BSD-3-Clause
// The rule for summer time at the end of a zone's file: the TZ of POSIX, as RFC 8536 section 3.3
// has it ("CET-1CEST,M3.5.0,M10.5.0/3"). Pure.
#ifndef SLUICE_ZONE_RULE_H
#define SLUICE_ZONE_RULE_H

#include <stdbool.h>
#include "pipeline/policy/time_window.h"

enum zone_day_kind {
	ZONE_DAY_MONTH,  // M: month, week (5: the last), day of the week (0: Sunday)
	ZONE_DAY_JULIAN, // J: 1 to 365, 29 February is never counted
	ZONE_DAY_OF_YEAR // 0 to 365
};

struct zone_change {
	uint8_t kind; // enum zone_day_kind
	uint8_t month, week, day;
	uint16_t of_year;
	int32_t at_s; // of the clock before the change; may be before or behind that day
};

struct zone_rule {
	int32_t winter_s; // east of UTC
	int32_t summer_s;
	bool has_summer;
	struct zone_change to_summer, to_winter;
};

// False: it is none.
bool zone_rule_parse(const char *text, struct zone_rule *rule);
// has_summer: the two changes of that year, the earlier first.
void zone_rule_year(const struct zone_rule *rule, int year, struct zone_shift pair[2]);

#endif
