// SPDX-License-Identifier: BSD-3-Clause
// Zones of the tz database: against the C library over all years, in the two odd hours of a year,
// and damaged. The host's own tzdata is read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <arpa/inet.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/control/policy_text.h"
#include "control/policy/zone_file.h"
#include "control/policy/zone_rule.h"

#define NS_PER_S 1000000000ull

static int32_t east_at(const struct zone *zone, int64_t at)
{
	uint32_t i = 0;

	while (i + 1 < zone->n_shifts && zone->shifts[i + 1].from_s <= at)
		i++;
	return zone->shifts[i].east_s;
}

static void assert_as_libc(const char *name, const struct zone *zone, int64_t at)
{
	time_t time = (time_t)at;
	struct tm tm;

	localtime_r(&time, &tm);
	if (tm.tm_gmtoff != east_at(zone, at))
		fail_msg("%s at %lld: %ld, not %d", name, (long long)at, tm.tm_gmtoff,
			east_at(zone, at));
}

// Every zone that a policy may name has the C library's offsets, 1970 to 2137: around each change,
// and in the middle of each month.
static void offsets_are_those_of_the_c_library(void **state)
{
	char path[512], line[512], name[ZONE_NAME_SIZE];
	unsigned zones = 0;
	(void)state;

	snprintf(path, sizeof path, "%s/tzdata.zi", zone_folder());
	FILE *file = fopen(path, "re");

	if (!file)
		skip(); // this host has no tzdata
	while (fgets(line, sizeof line, file)) {
		struct zone zone;

		if (sscanf(line, "L %*s %63s", name) != 1 && sscanf(line, "Z %63s", name) != 1)
			continue;
		if (zone_file_read(name, &zone) != 0)
			continue; // some packages leave old names out
		setenv("TZ", name, 1);
		tzset();
		for (uint32_t i = 1; i < zone.n_shifts; i++) {
			if (zone.shifts[i].from_s < 0)
				continue;
			assert_as_libc(name, &zone, zone.shifts[i].from_s - 1);
			assert_as_libc(name, &zone, zone.shifts[i].from_s);
		}
		for (int64_t at = 0; at < 5270000000; at += 30 * 86400)
			assert_as_libc(name, &zone, at);
		free(zone.shifts);
		zones++;
	}
	fclose(file);
	unsetenv("TZ");
	tzset();
	assert_true(zones > 300);
}

#define DOC(body) "{'schema_version':1," body "}"

static struct policy *zoned(const char *zone, const char *windows)
{
	char text[512];

	snprintf(text, sizeof text, DOC("'time_zone':'%s','time_windows':{%s}"), zone, windows);
	return good(text);
}

static bool is_open(const struct policy *policy, int64_t at)
{
	return timetable_at(&policy->times, (uint64_t)at * NS_PER_S).active & 1;
}

// Each moment at which the window opens or closes in begin .. end.
static unsigned turns(const struct policy *policy, int64_t begin, int64_t end, int64_t *out)
{
	uint64_t ns = (uint64_t)begin * NS_PER_S;
	bool open = is_open(policy, begin);
	unsigned n = 0;

	while (ns < (uint64_t)end * NS_PER_S) {
		struct windows_open now = timetable_at(&policy->times, ns);

		assert_true(now.until_ns > ns);
		if ((now.active & 1) != open) {
			assert_true(n < 16);
			out[n++] = (int64_t)(ns / NS_PER_S) - begin;
			open = !open;
		}
		ns = now.until_ns;
	}
	return n;
}

struct odd {
	const char *zone;
	int64_t day; // 00:00 UTC of the day whose turns are reported, in seconds since 1970
	const char *window;
	bool open; // at that time
	unsigned n;
	int64_t turns[6]; // in minutes of UTC since then
};

#define DAY(days) ((int64_t)(days)*86400)

// 2026: Berlin jumps on 29 March (day 20541) 01:00 UTC from 02:00 to 03:00, and goes back on 25
// October (20751) 01:00 UTC from 03:00 to 02:00. New York: 8 March (20520) 07:00 UTC, 02:00 to
// 03:00; 1 November (20758) 06:00 UTC, 02:00 to 01:00. Lord Howe by half an hour only: 4 October
// (20730) 15:30 UTC of the day before, 02:00 to 02:30; 5 April (20548) 15:00 UTC of the day
// before, 02:00 to 01:30.
static const struct odd odd[] = {
	// a window within the skipped hour never opens that day
	{"Europe/Berlin", DAY(20541), "'from':'02:00','to':'03:00'", false, 0, {0}},
	{"Europe/Berlin", DAY(20541), "'from':'02:15','to':'02:45'", false, 0, {0}},
	{"America/New_York", DAY(20520), "'from':'02:10','to':'02:50'", false, 0, {0}},
	// one that begins in it opens with the jump, one that ends in it closes with the jump
	{"Europe/Berlin", DAY(20541), "'from':'02:30','to':'06:00'", false, 2, {60, 240}},
	{"Europe/Berlin", DAY(20541), "'from':'01:00','to':'02:30'", true, 2, {60, 1380}},
	{"America/New_York", DAY(20520), "'from':'02:30','to':'06:00'", false, 2, {420, 600}},
	{"America/New_York", DAY(20520), "'from':'01:00','to':'02:30'", false, 2, {360, 420}},
	// one that spans it is an hour shorter
	{"Europe/Berlin", DAY(20541), "'from':'01:30','to':'04:00'", false, 3, {30, 120, 1410}},
	// a window within the repeated hour opens twice
	{"Europe/Berlin", DAY(20751), "'from':'02:15','to':'02:45'", false, 4, {15, 45, 75, 105}},
	{"America/New_York", DAY(20758), "'from':'01:15','to':'01:45'", false, 4,
		{315, 345, 375, 405}},
	// one that begins in it opens, closes as the clock goes back, and opens again
	{"Europe/Berlin", DAY(20751), "'from':'02:30','to':'06:00'", false, 4, {30, 60, 90, 300}},
	{"Europe/Berlin", DAY(20751), "'from':'01:00','to':'02:30'", true, 3, {30, 60, 90}},
	{"America/New_York", DAY(20758), "'from':'01:30','to':'06:00'", false, 4,
		{330, 360, 390, 660}},
	// one that holds all of it stays open, an hour longer
	{"Europe/Berlin", DAY(20751), "'from':'02:00','to':'03:00'", true, 1, {120}},
	{"America/New_York", DAY(20758), "'from':'00:30','to':'02:30'", false, 2, {270, 450}},
	// other weeks are as they are
	{"Europe/Berlin", DAY(20534), "'from':'02:30','to':'06:00'", false, 2, {90, 300}},
	{"Europe/Berlin", DAY(20548), "'from':'02:30','to':'06:00'", false, 2, {30, 240}},
	// half an hour
	{"Australia/Lord_Howe", DAY(20729), "'from':'02:00','to':'02:30'", false, 0, {0}},
	{"Australia/Lord_Howe", DAY(20547), "'from':'01:30','to':'02:00'", false, 2, {870, 930}},
	// no summer time
	{"Asia/Kathmandu", DAY(20541), "'from':'06:00','to':'07:00'", false, 2, {15, 75}},
};

static void odd_hours_are_as_the_clock_shows(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof odd / sizeof *odd; i++) {
		char window[80];
		int64_t found[16];

		snprintf(window, sizeof window, "'w':{%s}", odd[i].window);
		struct policy *policy = zoned(odd[i].zone, window);
		unsigned n = turns(policy, odd[i].day, odd[i].day + 86400, found);

		assert_int_equal(is_open(policy, odd[i].day), odd[i].open);
		if (n != odd[i].n)
			fail_msg(
				"%s %s: %u turns, not %u", odd[i].zone, odd[i].window, n, odd[i].n);
		for (unsigned k = 0; k < n; k++)
			if (found[k] != odd[i].turns[k] * 60)
				fail_msg("%s %s: turn %u after %lld min, not %lld", odd[i].zone,
					odd[i].window, k, (long long)found[k] / 60,
					(long long)odd[i].turns[k]);
		policy_free(policy);
	}
}

// Each minute of two years is open as localtime has it, whatever the window.
static void windows_are_as_localtime_has_it(void **state)
{
	static const char *const zones[] = {
		"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"};
	(void)state;

	for (unsigned z = 0; z < 4; z++) {
		struct policy *policy =
			zoned(zones[z], "'w':{'days':['sat','sun'],'from':'01:20','to':'02:40'}");

		setenv("TZ", zones[z], 1);
		tzset();
		for (time_t at = 1767225600; at < 1767225600 + 2 * 365 * 86400; at += 60) {
			struct tm tm;

			localtime_r(&at, &tm);
			int minute = tm.tm_hour * 60 + tm.tm_min;
			bool open = (tm.tm_wday == 0 || tm.tm_wday == 6) && minute >= 80 &&
				    minute < 160;

			if (is_open(policy, at) != open)
				fail_msg("%s at %lld", zones[z], (long long)at);
		}
		policy_free(policy);
	}
	unsetenv("TZ");
	tzset();
}

static void zones_are_named_and_written_back(void **state)
{
	struct policy *policy = zoned("Europe/Berlin", "'w':{'from':'08:00'}");
	char *text = policy_dump(policy, names);
	struct policy *again;
	(void)state;

	assert_non_null(strstr(text, "\"time_zone\": \"Europe/Berlin\""));
	again = good(text);
	assert_int_equal(again->times.zone.n_shifts, policy->times.zone.n_shifts);
	free(text);
	policy_free(again);
	policy_free(policy);
	policy = good(DOC("'time_windows':{'w':{}},'time_zone':'Etc/GMT+5'"));
	assert_int_equal(policy->times.zone.n_shifts, 1);
	assert_int_equal(policy->times.zone.shifts[0].east_s, -5 * 3600);
	policy_free(policy);
}

static void wrong_names_are_told(void **state)
{
	(void)state;
	BAD(DOC("'time_zone':'Europe/Berln'"), "$.time_zone", "no zone is named \"Europe/Berln\"",
		"did you mean \"Europe/Berlin\"?");
	BAD(DOC("'time_zone':'europe/berlin'"), "did you mean \"Europe/Berlin\"?");
	BAD(DOC("'time_zone':'Middle-Earth/Hobbiton'"), "timedatectl list-timezones", "+01:00");
	BAD(DOC("'time_zone':'Europe'"), "the first part of zones' names");
	BAD(DOC("'time_zone':'localtime'"), "another zone on each host");
	BAD(DOC("'time_zone':'right/Europe/Berlin'"), "leap seconds", "write \"Europe/Berlin\"");
	BAD(DOC("'time_zone':'tzdata'"), "no zone is named");
	BAD(DOC("'time_zone':'../../../etc/passwd'"), "is no zone");
	BAD(DOC("'time_zone':'Europe/../Berlin'"), "is no zone");
	BAD(DOC("'time_zone':'Europe//Berlin'"), "is no zone");
	BAD(DOC("'time_zone':'/usr/share/zoneinfo/CET'"), "is no zone");
	BAD(DOC("'time_zone':'Europe/Berlin/'"), "is no zone");
	BAD(DOC("'time_zone':''"), "must not be empty");
}

static void put(const char *folder, const char *name, const void *octets, size_t n)
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, octets, n), n);
	close(fd);
}

static size_t berlin(uint8_t *octets, size_t room)
{
	int fd = open("/usr/share/zoneinfo/Europe/Berlin", O_RDONLY);
	ssize_t n;

	assert_true(fd >= 0);
	n = read(fd, octets, room);
	close(fd);
	assert_true(n > 100);
	return (size_t)n;
}

// The first type's offset, in the block with times of 8 octets (RFC 8536 3.2), is not one of a day:
// of 32 bits the one that has no absolute value.
static void spoil_offset(uint8_t *octets, size_t n)
{
	uint8_t *header = memmem(octets + 4, n - 4, "TZif", 4);
	uint32_t times;

	assert_non_null(header);
	memcpy(&times, header + 32, 4);
	memcpy(header + 44 + ntohl(times) * 9u, "\x80\0\0\0", 4);
}

static void broken_database_is_told(void **state)
{
	char folder[] = "/tmp/test_zone.XXXXXX", path[256];
	static uint8_t octets[70000], spoilt[70000];
	size_t n = berlin(octets, sizeof octets);

	memcpy(spoilt, octets, n);
	spoil_offset(spoilt, n);
	(void)state;

	assert_non_null(mkdtemp(folder));
	setenv("TZDIR", folder, 1);
	put(folder, "Cut", octets, n / 2);
	put(folder, "Text", "Europe/Berlin\n", 14);
	put(folder, "Empty", "", 0);
	put(folder, "Long", octets, sizeof octets);
	put(folder, "Good", octets, n);
	put(folder, "Offset", spoilt, n);
	snprintf(path, sizeof path, "%s/Pipe", folder);
	assert_int_equal(mkfifo(path, 0644), 0); // nobody waits at it
	BAD(DOC("'time_zone':'Cut'"), "$.time_zone", "/Cut is no zone, or is damaged");
	BAD(DOC("'time_zone':'Text'"), "damaged");
	BAD(DOC("'time_zone':'Empty'"), "damaged");
	BAD(DOC("'time_zone':'Long'"), "damaged");
	BAD(DOC("'time_zone':'Pipe'"), "damaged");
	BAD(DOC("'time_zone':'Offset'"), "damaged");
	BAD(DOC("'time_zone':'Godo'"), "no zone is named \"Godo\" in /tmp/test_zone.");
	policy_free(zoned("Good", "'w':{}"));
	for (unsigned i = 0; i < 7; i++) {
		static const char *const made[] = {
			"Cut", "Text", "Empty", "Long", "Good", "Pipe", "Offset"};

		snprintf(path, sizeof path, "%s/%s", folder, made[i]);
		unlink(path);
	}
	rmdir(folder);
	BAD(DOC("'time_zone':'Good'"), "no tz database in /tmp/test_zone.", "package tzdata");
	unsetenv("TZDIR");
}

// Whatever is in such a file, it is read within its bounds (ASan), and what is taken is in order.
static void any_octets_are_read_safely(void **state)
{
	static uint8_t good_octets[70000];
	size_t n = berlin(good_octets, sizeof good_octets);
	uint64_t random = 7;
	(void)state;

	for (unsigned round = 0; round < 20000; round++) {
		size_t length = round < n ? round : n;
		uint8_t *octets = malloc(length + 1);
		struct zone zone = {0};

		assert_non_null(octets);
		memcpy(octets, good_octets, length);
		for (unsigned k = 0; round >= n && k < 1 + round % 3; k++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			octets[(random >> 33) % length] = (uint8_t)(random >> 25);
		}
		uint8_t *exact = malloc(length ? length : 1);

		assert_non_null(exact);
		memcpy(exact, octets, length);
		if (zone_parse(exact, length, "x", &zone) == 0) {
			assert_true(zone.n_shifts > 0);
			assert_true(zone.shifts[0].from_s == INT64_MIN);
			for (uint32_t i = 1; i < zone.n_shifts; i++)
				assert_true(zone.shifts[i].from_s > zone.shifts[i - 1].from_s);
		} else {
			assert_null(zone.shifts);
		}
		free(zone.shifts);
		free(exact);
		free(octets);
	}
}

static void rules_are_read(void **state)
{
	static const char *const bad_rules[] = {"", "C", "CET", "CET-1CEST", "CET-1CEST,M3.5.0",
		"CET-1CEST,M3.5.0,M13.5.0", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,M3.5.7,M10.5.0",
		"CET-1CEST,J0,J365", "CET-1CEST,M3.5.0,M10.5.0x", "CET-25", "CET-1:60", "<+3-1",
		"CET-1CEST,M3.5.0/168,M10.5.0", "CET-1CEST,366,1"};
	struct zone_shift pair[2];
	struct zone_rule rule;
	(void)state;

	for (unsigned i = 0; i < sizeof bad_rules / sizeof *bad_rules; i++)
		if (zone_rule_parse(bad_rules[i], &rule))
			fail_msg("\"%s\" is taken", bad_rules[i]);
	assert_true(zone_rule_parse("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", &rule)); // Nuuk
	assert_int_equal(rule.winter_s, -7200);
	assert_int_equal(rule.summer_s, -3600);
	zone_rule_year(&rule, 2026, pair);
	assert_int_equal(pair[0].from_s, 1774746000);                // 2026-03-29 01:00 UTC
	assert_int_equal(pair[1].from_s, 1792890000);                // 2026-10-25 01:00 UTC
	assert_true(zone_rule_parse("XXX3EDT4,0/0,J365/23", &rule)); // summer time all year
	assert_true(zone_rule_parse("AEST-10AEDT,M10.1.0,M4.1.0/3", &rule));
	zone_rule_year(&rule, 2026, pair);
	assert_int_equal(pair[0].east_s, 36000); // the south's winter comes first
	assert_true(zone_rule_parse("A-B", &rule) == false);
	assert_true(zone_rule_parse("IST-5:30", &rule));
	assert_int_equal(rule.winter_s, 19800);
	assert_false(rule.has_summer);
	// 29 February: J60 is 1 March of every year, 59 is 29 February or 1 March
	assert_true(zone_rule_parse("AAA0BBB,J60/0,59/0", &rule));
	zone_rule_year(&rule, 2024, pair);
	assert_int_equal(pair[0].from_s, 1709164800 - 3600); // 2024-02-29 00:00 of summer
	assert_int_equal(pair[1].from_s, 1709251200);        // 2024-03-01
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_are_those_of_the_c_library),
		cmocka_unit_test(odd_hours_are_as_the_clock_shows),
		cmocka_unit_test(windows_are_as_localtime_has_it),
		cmocka_unit_test(zones_are_named_and_written_back),
		cmocka_unit_test(wrong_names_are_told),
		cmocka_unit_test(broken_database_is_told),
		cmocka_unit_test(any_octets_are_read_safely),
		cmocka_unit_test(rules_are_read),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
