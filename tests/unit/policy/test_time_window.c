// SPDX-License-Identifier: BSD-3-Clause
// Time windows against a reference that asks the calendar for each minute.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "pipeline/policy/time_window.h"

#define NS_PER_MIN 60000000000ull
#define MONDAY     1767571200ull // 2026-01-05 00:00 UTC, in seconds
#define EVERY_DAY  0x7f

struct spec { // a span as an operator writes it
	unsigned window, days, from, to;
};

static struct timetable *table_new(
	int32_t zone, uint32_t n_windows, const struct spec *specs, unsigned n)
{
	struct timetable *table = calloc(1, sizeof *table);

	assert_non_null(table);
	table->zone_min = zone;
	table->n_windows = n_windows;
	table->windows = calloc(n_windows, sizeof *table->windows);
	assert_non_null(table->windows);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(time_window_add(&table->windows[specs[i].window], specs[i].days,
					 specs[i].from, specs[i].to),
			0);
	assert_int_equal(timetable_seal(table), 0);
	return table;
}

static void table_free(struct timetable *table)
{
	timetable_free(table);
	free(table);
}

// The calendar's answer: spans of today, and of yesterday behind midnight.
static uint64_t reference(int32_t zone, const struct spec *specs, unsigned n, uint64_t wall_s)
{
	time_t local = (time_t)wall_s + zone * 60;
	uint64_t active = 0;
	struct tm tm;

	gmtime_r(&local, &tm);
	unsigned day = ((unsigned)tm.tm_wday + 6) % 7, yesterday = (day + 6) % 7;
	unsigned minute = (unsigned)(tm.tm_hour * 60 + tm.tm_min);

	for (unsigned i = 0; i < n; i++) {
		const struct spec *s = &specs[i];
		bool over = s->to <= s->from;
		bool open = over ? (s->days >> day & 1 && minute >= s->from) ||
					    (s->days >> yesterday & 1 && minute < s->to)
				 : s->days >> day & 1 && minute >= s->from && minute < s->to;

		if (open)
			active |= 1ull << s->window;
	}
	return active;
}

static uint64_t at(const struct timetable *table, uint64_t wall_s)
{
	return timetable_at(table, wall_s * 1000000000ull).active;
}

static void without_windows_nothing_is_open_for_ever(void **state)
{
	const struct timetable table = {0};
	(void)state;

	struct windows_open open = timetable_at(&table, MONDAY * 1000000000ull);

	assert_int_equal(open.active, 0);
	assert_int_equal(open.set, 0);
	assert_true(open.until_ns == UINT64_MAX);
}

static void office_hours_open_and_close_to_the_nanosecond(void **state)
{
	const struct spec office = {0, 0x1f, 480, 1080}; // mon-fri 08:00-18:00
	struct timetable *table = table_new(0, 1, &office, 1);
	uint64_t eight = (MONDAY + 8 * 3600) * 1000000000ull;
	uint64_t six = (MONDAY + 18 * 3600) * 1000000000ull;
	(void)state;

	assert_int_equal(timetable_at(table, eight - 1).active, 0);
	assert_int_equal(timetable_at(table, eight - 1).until_ns, eight);
	assert_int_equal(timetable_at(table, eight).active, 1);
	assert_int_equal(timetable_at(table, eight).until_ns, six);
	assert_int_equal(timetable_at(table, six - 1).active, 1);
	assert_int_equal(timetable_at(table, six).active, 0);
	assert_int_not_equal(timetable_at(table, eight).set, timetable_at(table, six).set);
	assert_int_equal(timetable_at(table, eight).set,
		timetable_at(table, eight + 86400 * 1000000000ull).set);
	// Friday's evening is closed until Monday, with a look at the turn of the week
	uint64_t friday = (MONDAY + 4 * 86400 + 18 * 3600) * 1000000000ull;
	uint64_t turn = timetable_at(table, friday).until_ns;

	assert_int_equal(timetable_at(table, friday).active, 0);
	assert_int_equal(turn, (MONDAY + 7 * 86400) * 1000000000ull);
	assert_int_equal(timetable_at(table, turn).active, 0);
	assert_int_equal(timetable_at(table, turn).until_ns, eight + 7 * 86400 * 1000000000ull);
	table_free(table);
}

static void night_belongs_to_the_day_it_begins(void **state)
{
	const struct spec night = {0, 1 << 4 | 1 << 6, 1320, 360}; // fri, sun 22:00-06:00
	struct timetable *table = table_new(0, 1, &night, 1);
	uint64_t friday = MONDAY + 4 * 86400, sunday = MONDAY + 6 * 86400;
	(void)state;

	assert_int_equal(at(table, friday + 3600), 0); // Thursday's night is not ours
	assert_int_equal(at(table, friday + 22 * 3600), 1);
	assert_int_equal(at(table, friday + 24 * 3600 + 5 * 3600), 1);
	assert_int_equal(at(table, friday + 24 * 3600 + 6 * 3600), 0);
	assert_int_equal(at(table, friday + 46 * 3600), 0);
	assert_int_equal(at(table, sunday + 23 * 3600), 1);
	assert_int_equal(at(table, MONDAY + 3600), 1); // over the turn of the week
	assert_int_equal(at(table, MONDAY + 6 * 3600 - 1), 1);
	assert_int_equal(at(table, MONDAY + 6 * 3600), 0);
	table_free(table);
}

static void whole_days_and_overlaps_become_one(void **state)
{
	const struct spec specs[] = {
		{0, EVERY_DAY, 0, 1440}, {1, 1, 60, 120}, {1, 1, 100, 180}, {1, 1, 180, 200}};
	struct timetable *table = table_new(0, 2, specs, 4);
	(void)state;

	assert_int_equal(table->windows[0].n_spans, 1);
	assert_int_equal(table->windows[0].spans[0].first, 0);
	assert_int_equal(table->windows[0].spans[0].end, WEEK_MINUTES);
	assert_int_equal(table->windows[1].n_spans, 1);
	assert_int_equal(table->windows[1].spans[0].end, 200);
	assert_int_equal(at(table, MONDAY + 150 * 60), 3);
	assert_int_equal(at(table, MONDAY + 200 * 60), 1);
	table_free(table);

	table = table_new(0, 1, specs, 1);
	assert_true(timetable_at(table, MONDAY).until_ns == UINT64_MAX); // always open
	assert_int_equal(at(table, 0), 1);
	table_free(table);
}

static void zones_shift_the_week(void **state)
{
	const struct spec monday = {0, 1, 0, 1440};
	(void)state;

	for (int32_t zone = -14 * 60; zone <= 14 * 60; zone += 45) {
		struct timetable *table = table_new(zone, 1, &monday, 1);
		uint64_t begin = (uint64_t)((int64_t)MONDAY - zone * 60);

		assert_int_equal(at(table, begin - 1), 0);
		assert_int_equal(at(table, begin), 1);
		assert_int_equal(at(table, begin + 86400 - 1), 1);
		assert_int_equal(at(table, begin + 86400), 0);
		at(table, 0); // 1970, west of Greenwich: no wrap
		table_free(table);
	}
}

static void too_many_sets_are_refused(void **state)
{
	struct timetable table = {.n_windows = 11, .windows = calloc(11, sizeof *table.windows)};
	(void)state;

	assert_non_null(table.windows);
	for (unsigned i = 0; i < 2000; i++) // bit patterns 1 .. 2000, a minute each
		for (unsigned w = 0; w < 11; w++)
			if (i >> w & 1)
				assert_int_equal(time_window_add(&table.windows[w],
							 1u << (i / 1440), i % 1440, i % 1440 + 1),
					0);
	assert_int_equal(timetable_seal(&table), -7); // -E2BIG
	timetable_free(&table);
}

static void random_tables_agree_with_the_calendar(void **state)
{
	const char *fixed = getenv("SLUICE_SEED");
	unsigned seed = fixed ? (unsigned)strtoul(fixed, NULL, 10) : (unsigned)time(NULL);
	(void)state;

	printf("SLUICE_SEED=%u\n", seed);
	srand(seed);
	for (unsigned round = 0; round < 60; round++) {
		uint32_t n_windows = 1 + (uint32_t)rand() % 6;
		unsigned n = n_windows + (unsigned)rand() % 8;
		int32_t zone = rand() % (29 * 60) - 14 * 60;
		struct spec specs[16];

		for (unsigned i = 0; i < n; i++) {
			specs[i] = (struct spec){
				.window = i < n_windows ? i : (unsigned)rand() % n_windows,
				.days = 1 + (unsigned)rand() % EVERY_DAY,
				.from = (unsigned)rand() % 1440};
			do
				specs[i].to = (unsigned)rand() % 1441;
			while (specs[i].to == specs[i].from);
		}
		struct timetable *table = table_new(zone, n_windows, specs, n);
		uint64_t start = MONDAY + (uint64_t)rand() % (400u * 86400u);

		for (unsigned minute = 0; minute < WEEK_MINUTES + 100; minute++) {
			uint64_t wall_s = start + minute * 60;
			struct windows_open open = timetable_at(table, wall_s * 1000000000ull);

			if (open.active != reference(zone, specs, n, wall_s))
				fail_msg("seed %u, round %u, minute %u", seed, round, minute);
			// what it promises until then holds
			uint64_t last = open.until_ns - 1;

			if (open.until_ns != UINT64_MAX) {
				assert_true(open.until_ns > wall_s * 1000000000ull);
				assert_int_equal(open.until_ns % NS_PER_MIN, 0);
				assert_int_equal(open.active,
					reference(zone, specs, n, last / 1000000000ull));
			}
		}
		table_free(table);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_windows_nothing_is_open_for_ever),
		cmocka_unit_test(office_hours_open_and_close_to_the_nanosecond),
		cmocka_unit_test(night_belongs_to_the_day_it_begins),
		cmocka_unit_test(whole_days_and_overlaps_become_one),
		cmocka_unit_test(zones_shift_the_week),
		cmocka_unit_test(too_many_sets_are_refused),
		cmocka_unit_test(random_tables_agree_with_the_calendar),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
