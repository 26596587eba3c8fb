// SPDX-License-Identifier: BSD-3-Clause
// Parses a POSIX TZ rule, and computes when summer time begins and ends.
#include "control/policy/zone_rule.h"
#include <ctype.h>

#define DAY_S 86400

// Digits, up to `max`.
static bool number(const char **text, unsigned max, unsigned *out)
{
	if (!isdigit((unsigned char)**text))
		return false;
	for (*out = 0; isdigit((unsigned char)**text); ++*text) {
		*out = *out * 10 + (unsigned)(**text - '0');
		if (*out > max)
			return false;
	}
	return true;
}

static bool skip(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

// "CET", or "<+03>".
static bool abbreviation(const char **text)
{
	const char *begin = *text;

	if (skip(text, '<')) {
		while (isalnum((unsigned char)**text) || **text == '+' || **text == '-')
			++*text;
		return *text - begin > 3 && skip(text, '>');
	}
	while (isalpha((unsigned char)**text))
		++*text;
	return *text - begin >= 3;
}

// [+-]hh[:mm[:ss]]
static bool clock_s(const char **text, unsigned hours_max, int32_t *out)
{
	unsigned hour, minute = 0, second = 0;
	bool minus = skip(text, '-');

	if (!minus)
		skip(text, '+');
	if (!number(text, hours_max, &hour))
		return false;
	if (skip(text, ':') && !number(text, 59, &minute))
		return false;
	if (skip(text, ':') && !number(text, 59, &second))
		return false;
	*out = (int32_t)(hour * 3600 + minute * 60 + second);
	if (minus)
		*out = -*out;
	return true;
}

static bool month_day(const char **text, struct zone_change *change)
{
	unsigned month, week, day;

	if (!number(text, 12, &month) || !month || !skip(text, '.') || !number(text, 5, &week) ||
		!week || !skip(text, '.') || !number(text, 6, &day))
		return false;
	change->kind = ZONE_DAY_MONTH;
	change->month = (uint8_t)month;
	change->week = (uint8_t)week;
	change->day = (uint8_t)day;
	return true;
}

// ",M3.5.0/3"
static bool change_day(const char **text, struct zone_change *change)
{
	unsigned day;

	*change = (struct zone_change){.at_s = 2 * 3600};
	if (!skip(text, ','))
		return false;
	if (skip(text, 'M')) {
		if (!month_day(text, change))
			return false;
	} else {
		bool julian = skip(text, 'J');

		if (!number(text, 365, &day) || (julian && !day))
			return false;
		change->kind = julian ? ZONE_DAY_JULIAN : ZONE_DAY_OF_YEAR;
		change->of_year = (uint16_t)day;
	}
	return !skip(text, '/') || clock_s(text, 167, &change->at_s);
}

bool zone_rule_parse(const char *text, struct zone_rule *rule)
{
	int32_t west;

	*rule = (struct zone_rule){0};
	if (!abbreviation(&text) || !clock_s(&text, 24, &west))
		return false;
	rule->winter_s = -west; // POSIX counts to the west
	if (!*text)
		return true;
	rule->has_summer = true;
	rule->summer_s = rule->winter_s + 3600;
	if (!abbreviation(&text))
		return false;
	if (*text != ',') {
		if (!clock_s(&text, 24, &west))
			return false;
		rule->summer_s = -west;
	}
	return change_day(&text, &rule->to_summer) && change_day(&text, &rule->to_winter) && !*text;
}

static bool is_leap(int year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

// Days from 1970-01-01 to 1 January of that year.
static int64_t year_day(int year)
{
	int64_t before = year - 1;

	return before * 365 + before / 4 - before / 100 + before / 400 - 719162;
}

static int64_t month_day_of(const struct zone_change *change, int year)
{
	static const uint8_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int length = lengths[change->month - 1] + (change->month == 2 && is_leap(year));
	int64_t first = year_day(year);
	int day;

	for (unsigned m = 1; m < change->month; m++)
		first += lengths[m - 1] + (m == 2 && is_leap(year));
	// 1970-01-01 was a Thursday, day 4
	day = (int)((change->day + 7 - (first + 4) % 7) % 7) + 7 * (change->week - 1);
	while (day >= length)
		day -= 7;
	return first + day;
}

static int64_t change_s(const struct zone_change *change, int year, int32_t east_s)
{
	int64_t day = year_day(year) + change->of_year;

	if (change->kind == ZONE_DAY_MONTH)
		day = month_day_of(change, year);
	else if (change->kind == ZONE_DAY_JULIAN)
		day += (is_leap(year) && change->of_year > 59) - 1; // 60 is 1 March
	return day * DAY_S + change->at_s - east_s;
}

void zone_rule_year(const struct zone_rule *rule, int year, struct zone_shift pair[2])
{
	struct zone_shift summer = {
		change_s(&rule->to_summer, year, rule->winter_s), rule->summer_s};
	struct zone_shift winter = {
		change_s(&rule->to_winter, year, rule->summer_s), rule->winter_s};
	bool north = summer.from_s < winter.from_s;

	pair[0] = north ? summer : winter;
	pair[1] = north ? winter : summer;
}
