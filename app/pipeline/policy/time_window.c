// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a time window is open at a given time.
#include "pipeline/policy/time_window.h"
#include <errno.h>
#include <stdlib.h>

#define NS_PER_S     1000000000ull
#define WEEK_S       (WEEK_MINUTES * 60)
#define EPOCH_WEEK_S (3 * DAY_MINUTES * 60) // 1970-01-01 was a Thursday

static int span_add(struct time_window *window, unsigned first, unsigned end)
{
	struct week_span *grown =
		reallocarray(window->spans, window->n_spans + 1, sizeof *window->spans);

	if (!grown)
		return -ENOMEM;
	window->spans = grown;
	grown[window->n_spans++] =
		(struct week_span){.first = (uint16_t)first, .end = (uint16_t)end};
	return 0;
}

int time_window_add(struct time_window *window, unsigned days, unsigned from, unsigned to)
{
	int rc = 0;

	if (to <= from)
		to += DAY_MINUTES;
	for (unsigned day = 0; day < 7 && !rc; day++) {
		unsigned first = day * DAY_MINUTES + from, end = day * DAY_MINUTES + to;

		if (!(days >> day & 1))
			continue;
		rc = span_add(window, first, end < WEEK_MINUTES ? end : WEEK_MINUTES);
		if (!rc && end > WEEK_MINUTES) // Sunday's night is Monday's morning
			rc = span_add(window, 0, end - WEEK_MINUTES);
	}
	return rc;
}

static int compare_spans(const void *a, const void *b)
{
	const struct week_span *x = a, *y = b;

	return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
				    : (x->end > y->end) - (x->end < y->end);
}

static void window_seal(struct time_window *window)
{
	uint32_t n = 0;

	if (window->n_spans)
		qsort(window->spans, window->n_spans, sizeof *window->spans, compare_spans);
	for (uint32_t i = 0; i < window->n_spans; i++) {
		struct week_span *top = n ? &window->spans[n - 1] : NULL;

		if (!top || window->spans[i].first > top->end)
			window->spans[n++] = window->spans[i];
		else if (window->spans[i].end > top->end)
			top->end = window->spans[i].end;
	}
	window->n_spans = n;
}

// The set's number: sets are few, and this runs once per policy.
static int set_number(uint64_t *sets, unsigned *n, uint64_t active)
{
	for (unsigned i = 0; i < *n; i++)
		if (sets[i] == active)
			return (int)i;
	if (*n == WINDOW_SETS_MAX)
		return -E2BIG;
	sets[*n] = active;
	return (int)(*n)++;
}

int timetable_seal(struct timetable *table)
{
	uint64_t *minutes, *sets; // who is open in each minute of the week; the different ones
	unsigned n_sets = 0;
	int rc = 0;

	if (!table->n_windows)
		return 0;
	minutes = calloc(WEEK_MINUTES + WINDOW_SETS_MAX, sizeof *minutes);
	table->slots = calloc(WEEK_MINUTES, sizeof *table->slots);
	if (!minutes || !table->slots) {
		free(minutes);
		return -ENOMEM;
	}
	sets = minutes + WEEK_MINUTES;
	for (uint32_t i = 0; i < table->n_windows; i++) {
		struct time_window *window = &table->windows[i];

		window_seal(window);
		for (uint32_t k = 0; k < window->n_spans; k++)
			for (unsigned m = window->spans[k].first; m < window->spans[k].end; m++)
				minutes[m] |= 1ull << i;
	}
	for (unsigned m = 0; m < WEEK_MINUTES; m++) {
		if (m && minutes[m] == minutes[m - 1])
			continue;
		rc = set_number(sets, &n_sets, minutes[m]);
		if (rc < 0)
			break;
		table->slots[table->n_slots++] = (struct week_slot){
			.active = minutes[m], .first = (uint16_t)m, .set = (uint16_t)rc};
	}
	free(minutes);
	if (rc >= 0) {
		struct week_slot *fit =
			reallocarray(table->slots, table->n_slots, sizeof *table->slots);

		table->slots = fit ? fit : table->slots;
	}
	return rc < 0 ? rc : 0;
}

void timetable_free(struct timetable *table)
{
	for (uint32_t i = 0; i < table->n_windows; i++)
		free(table->windows[i].spans);
	free(table->windows);
	free(table->slots);
	free(table->zone.shifts);
	*table = (struct timetable){0};
}

// The shift that holds at that time; *end_s: until then, INT64_MAX: for ever.
static int32_t east_at(const struct timetable *table, int64_t wall_s, int64_t *end_s)
{
	const struct zone *zone = &table->zone;
	uint32_t low = 0, high = zone->n_shifts;

	*end_s = INT64_MAX;
	if (!high)
		return table->zone_min * 60;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (zone->shifts[middle].from_s <= wall_s)
			low = middle;
		else
			high = middle;
	}
	if (low + 1 < zone->n_shifts)
		*end_s = zone->shifts[low + 1].from_s;
	return zone->shifts[low].east_s;
}

struct windows_open timetable_at(const struct timetable *table, uint64_t wall_ns)
{
	struct windows_open open = {.until_ns = UINT64_MAX};
	uint32_t low = 0, high = table->n_slots;
	int64_t wall_s = (int64_t)(wall_ns / NS_PER_S), end_s, of_week;

	if (!high)
		return open;
	// a week more, so that a zone west of Greenwich does not go below 1970
	of_week = (wall_s + WEEK_S + EPOCH_WEEK_S + east_at(table, wall_s, &end_s)) % WEEK_S;
	while (high - low > 1) { // the last slot that begins by now; the first begins at 0
		uint32_t middle = low + (high - low) / 2;

		if (table->slots[middle].first <= of_week / 60)
			low = middle;
		else
			high = middle;
	}
	open.active = table->slots[low].active;
	open.set = table->slots[low].set;
	if (table->n_slots == 1)
		return open;
	int64_t next = low + 1 < table->n_slots ? table->slots[low + 1].first : WEEK_MINUTES;

	next = wall_s + next * 60 - of_week;
	open.until_ns = (uint64_t)(next < end_s ? next : end_s) * NS_PER_S;
	return open;
}
