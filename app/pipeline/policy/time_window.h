// SPDX-License-Identifier: BSD-3-Clause
// Time windows of a policy: named spans of the week, by the clock on the wall of a zone: open while
// that clock shows a time within them. Of fixed offset, or with the changes of the tz database: a
// time that the clock skips never comes, one that it shows twice comes twice. Built by the policy
// loader, sealed into a timetable of the week, then read-only like the snapshot that holds it. The
// time is an argument: a lcore asks once per second or boundary (lcore_begin), replay at its own.
#ifndef SLUICE_TIME_WINDOW_H
#define SLUICE_TIME_WINDOW_H

#include <stdint.h>

#define WEEK_MINUTES     10080 // of the week, from Monday 00:00 in the zone
#define DAY_MINUTES      1440
#define WINDOWS_MAX      64   // a bit each
#define WINDOW_SETS_MAX  1024 // different sets of windows open together; 10 bits of an epoch
#define WINDOW_NAME_SIZE 64

struct week_span {
	uint16_t first;
	uint16_t end; // first < end <= WEEK_MINUTES; not part of it
};

struct time_window {
	char name[WINDOW_NAME_SIZE];
	struct week_span *spans; // owned; sorted and apart once sealed
	uint32_t n_spans;
};

struct week_slot {       // from `first` on, until the next slot
	uint64_t active; // bit i: window i is open
	uint16_t first;
	uint16_t set; // number of `active` among the different ones of this timetable
};

#define ZONE_NAME_SIZE 64

struct zone_shift {     // from then on, until the next shift
	int64_t from_s; // UTC since 1970; INT64_MIN of the first
	int32_t east_s; // of UTC
};

struct zone {
	char name[ZONE_NAME_SIZE];
	struct zone_shift *shifts; // owned; sorted; NULL: the zone has no name
	uint32_t n_shifts;
};

struct timetable {
	int32_t zone_min; // east of UTC, of a zone without a name
	struct zone zone;
	uint32_t n_windows;
	struct time_window *windows; // owned
	struct week_slot *slots;     // owned; NULL without windows
	uint32_t n_slots;
};

// Adds from .. to of each day in `days` (bit 0: Monday). `to` up to 24 * 60; not after `from`, it
// is of the next day. The caller has refused from == to. -ENOMEM.
int time_window_add(struct time_window *window, unsigned days, unsigned from, unsigned to);
// Once, after the last add. -E2BIG: more than WINDOW_SETS_MAX sets; -ENOMEM.
int timetable_seal(struct timetable *table);
void timetable_free(struct timetable *table);

struct windows_open {
	uint64_t active;
	uint64_t until_ns; // when the next one opens or closes; UINT64_MAX: never
	uint16_t set;
};
// `wall_ns` is UTC since 1970.
struct windows_open timetable_at(const struct timetable *table, uint64_t wall_ns);

#endif
