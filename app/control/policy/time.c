// SPDX-License-Identifier: BSD-3-Clause
// Time windows of policy.json: "time_zone", "time_windows", and "time" and "not_time" of a match.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/suggest.h"
#include "control/policy/fields.h"
#include "control/policy/zone_file.h"

#define SPANS_MAX 64 // of one window
#define ALL_DAYS  0x7f

static const char *const day_words[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun", NULL};

static bool two_digits(const char *text, unsigned max, unsigned *out)
{
	if (text[0] < '0' || text[0] > '9' || text[1] < '0' || text[1] > '9')
		return false;
	*out = (unsigned)(text[0] - '0') * 10 + (unsigned)(text[1] - '0');
	return *out <= max;
}

static bool clock_text(const char *text, unsigned hours_max, unsigned *minutes)
{
	unsigned hour, minute;

	if (strlen(text) != 5 || text[2] != ':' || !two_digits(text, hours_max, &hour) ||
		!two_digits(text + 3, 59, &minute))
		return false;
	*minutes = hour * 60 + minute;
	return true;
}

static void report_no_zone(const struct json_at *at, const char *name)
{
	char suggestion[ZONE_NAME_SIZE];

	if (zone_name_suggest(name, suggestion))
		json_at_error(at, "no zone is named \"%s\" in %s; did you mean \"%s\"?", name,
			zone_folder(), suggestion);
	else
		json_at_error(at,
			"no zone is named \"%s\" in %s: expected a name as \"Europe/Berlin\" "
			"(`timedatectl list-timezones` lists them), an offset as \"+01:00\", or "
			"\"Z\"",
			name, zone_folder());
}

static void read_zone(const struct json_at *at, const char *name, struct zone *zone)
{
	int rc;

	// The host's own, by another name: what it is on another host is not the policy's to say.
	if (strcmp(name, "localtime") == 0 || strcmp(name, "posixrules") == 0) {
		json_at_error(at,
			"\"%s\" is another zone on each host: name it, as \"Europe/Berlin\"", name);
		return;
	}
	rc = zone_file_read(name, zone);
	switch (rc) {
	case 0: break;
	case -ENOENT: report_no_zone(at, name); break;
	case -ENOTDIR:
		json_at_error(at,
			"no tz database in %s for \"%s\": install the package tzdata, or write an "
			"offset as \"+01:00\"",
			zone_folder(), name);
		break;
	case -EISDIR:
		json_at_error(at,
			"\"%s\" is the first part of zones' names: write a whole one, as "
			"\"Europe/Berlin\"",
			name);
		break;
	case -ENOTSUP:
		json_at_error(at, "\"%s\" counts leap seconds: write \"%s\"", name,
			strncmp(name, "right/", 6) == 0 ? name + 6 : "Europe/Berlin");
		break;
	case -EBADMSG:
		json_at_error(at,
			"%s/%s is no zone, or is damaged: install the package tzdata again",
			zone_folder(), name);
		break;
	default: json_at_error(at, "%s/%s: %s", zone_folder(), name, strerror(-rc));
	}
}

void policy_read_time_zone(const struct json_at *at, void *ctx)
{
	struct policy_reader *reader = ctx;
	unsigned minutes = 0;
	const char *text;

	if (!json_want_text(at, 1, ZONE_NAME_SIZE - 1, &text))
		return;
	if (strcmp(text, "Z") != 0 && zone_name_is_good(text)) {
		read_zone(at, text, &reader->policy->times.zone);
		return;
	}
	if (strcmp(text, "Z") != 0 &&
		((text[0] != '+' && text[0] != '-') || !clock_text(text + 1, 14, &minutes))) {
		json_at_error(at,
			"\"%s\" is no zone: expected a name of the tz database as "
			"\"Europe/Berlin\", the offset from UTC as \"+01:00\" (up to 14 hours), or "
			"\"Z\"",
			text);
		return;
	}
	reader->policy->times.zone_min = text[0] == '-' ? -(int32_t)minutes : (int32_t)minutes;
}

struct span_reader {
	unsigned days;
	unsigned from;
	unsigned to;
	bool reported;
};

static void read_days(const struct json_at *at, void *ctx)
{
	struct json_at item = {0};
	struct span_reader *span = ctx;

	span->days = 0;
	if (!json_want_array(at, 1, 7)) {
		span->reported = true;
		return;
	}
	while (json_at_next(at, &item)) {
		unsigned day;

		if (json_want_word(&item, day_words, &day))
			span->days |= 1u << day;
		else
			span->reported = true;
	}
}

static bool read_clock(const struct json_at *at, unsigned hours_max, unsigned *out)
{
	const char *text;

	if (!json_want_text(at, 1, 5, &text))
		return false;
	if (clock_text(text, hours_max, out) && *out <= (hours_max == 23 ? 1439u : 1440u))
		return true;
	json_at_error(at, "\"%s\" is no time: expected \"00:00\" to \"%s\"", text,
		hours_max == 23 ? "23:59" : "24:00");
	return false;
}

static void read_from(const struct json_at *at, void *ctx)
{
	struct span_reader *span = ctx;

	span->reported |= !read_clock(at, 23, &span->from);
}

static void read_to(const struct json_at *at, void *ctx)
{
	struct span_reader *span = ctx;

	span->reported |= !read_clock(at, 24, &span->to);
}

const struct json_field policy_span_fields[] = {
	{.name = "time_windows[].days", .kind = JSON_KIND_READ, .read = read_days, .live = true},
	{.name = "time_windows[].from", .kind = JSON_KIND_READ, .read = read_from, .live = true},
	{.name = "time_windows[].to", .kind = JSON_KIND_READ, .read = read_to, .live = true},
	JSON_FIELD_END,
};

static void read_span(const struct json_at *at, struct time_window *window)
{
	struct span_reader span = {.days = ALL_DAYS, .from = 0, .to = DAY_MINUTES};

	json_fields_read(at, policy_span_fields, NULL, NULL, &span);
	if (span.reported || !json_is_object(at->value))
		return;
	if (span.from == span.to)
		json_at_error(at, "ends as it begins: leave from and to out for the whole day");
	else if (time_window_add(window, span.days, span.from, span.to) < 0)
		json_at_error(at, "no memory");
}

static void read_window(const struct json_at *at, struct time_window *window)
{
	struct json_at item = {0};

	if (json_is_object(at->value)) {
		read_span(at, window);
		return;
	}
	if (!json_is_array(at->value)) {
		char got[80];

		json_at_error(at,
			"expected a span {\"days\", \"from\", \"to\"} or an array of "
			"them, got %s",
			json_describe(at->value, got, sizeof got));
		return;
	}
	if (!json_want_array(at, 1, SPANS_MAX))
		return;
	while (json_at_next(at, &item))
		read_span(&item, window);
}

void policy_read_time_windows(const struct json_at *at, struct policy_reader *reader)
{
	struct timetable *times = &reader->policy->times;
	const char *name;
	json_t *value;

	if (!at->value || !json_want_object(at))
		return;
	if (json_object_size(at->value) > WINDOWS_MAX) {
		json_at_error(at, "%zu time windows: at most %d", json_object_size(at->value),
			WINDOWS_MAX);
		return;
	}
	times->windows = calloc(json_object_size(at->value) + 1, sizeof *times->windows);
	if (!times->windows) {
		json_at_error(at, "no memory");
		return;
	}
	json_object_foreach (at->value, name, value) {
		struct json_at child = json_at_key(at, name, value);
		struct time_window *window = &times->windows[times->n_windows++];

		if (policy_name_is_good(&child))
			snprintf(window->name, sizeof window->name, "%s", name);
		read_window(&child, window);
	}
}

// After both: the zone may stand behind the windows.
void policy_seal_times(const struct json_at *at, struct policy_reader *reader)
{
	int rc = timetable_seal(&reader->policy->times);

	if (rc == -E2BIG)
		json_at_error(at,
			"more than %d different sets of windows are open together in "
			"the week: use fewer windows",
			WINDOW_SETS_MAX);
	else if (rc < 0)
		json_at_error(at, "%s", strerror(-rc));
}

static bool find_window(const struct json_at *at, const struct policy *policy, uint64_t *windows)
{
	struct suggestion suggestion;
	const char *text;

	if (!json_want_text(at, 1, WINDOW_NAME_SIZE - 1, &text))
		return false;
	suggestion = suggest_for(text);
	for (uint32_t i = 0; i < policy->times.n_windows; i++) {
		if (strcmp(policy->times.windows[i].name, text) == 0) {
			*windows |= 1ull << i;
			return true;
		}
		suggest_offer(&suggestion, policy->times.windows[i].name);
	}
	policy_report_unnamed(at, "time window", &suggestion, "define it in $.time_windows");
	return false;
}

static void read_names(const struct json_at *at, struct rule_reader *reader, uint64_t *windows)
{
	struct json_at item = {0};

	if (!json_want_array(at, 1, WINDOWS_MAX)) {
		reader->match_reported = true;
		return;
	}
	while (json_at_next(at, &item))
		if (!find_window(&item, reader->reader->policy, windows))
			reader->match_reported = true;
}

void policy_read_match_time(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;

	reader->rule->has_time = true;
	read_names(at, reader, &reader->rule->windows);
}

void policy_read_match_not_time(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;

	read_names(at, reader, &reader->rule->not_windows);
}

// The dump.

static void clock_print(char out[6], unsigned minutes)
{
	snprintf(out, 6, "%02u:%02u", minutes / 60 % 100, minutes % 60);
}

json_t *policy_time_zone_json(const struct policy *policy)
{
	int32_t zone = policy->times.zone_min;
	char clock[6];

	if (policy->times.zone.n_shifts)
		return json_string(policy->times.zone.name);
	if (!zone)
		return json_string("Z");
	clock_print(clock, (unsigned)abs(zone));
	return json_sprintf("%c%s", zone < 0 ? '-' : '+', clock);
}

// A part of a day that is open, with all days that have the same one.
static int append_span(json_t *array, unsigned days, unsigned from, unsigned to)
{
	json_t *list = json_array();
	char first[6], end[6];
	int rc = 0;

	for (unsigned day = 0; day < 7; day++)
		if (days >> day & 1)
			rc |= json_array_append_new(list, json_string(day_words[day]));
	if (rc) {
		json_decref(list);
		return rc;
	}
	clock_print(first, from);
	clock_print(end, to);
	return json_array_append_new(
		array, json_pack("{s:o, s:s, s:s}", "days", list, "from", first, "to", end));
}

// Spans are cut at midnight, so that what is read back is the same minutes.
static json_t *window_json(const struct time_window *window)
{
	struct part {
		unsigned days, from, to;
	} *parts = calloc(window->n_spans * 8 + 1, sizeof *parts);
	json_t *array = json_array();
	unsigned n = 0;
	int rc = parts ? 0 : -1;

	for (uint32_t i = 0; parts && i < window->n_spans; i++) {
		unsigned at = window->spans[i].first;

		while (at < window->spans[i].end) {
			unsigned day = at / DAY_MINUTES, midnight = (day + 1) * DAY_MINUTES, k = 0;
			unsigned end = window->spans[i].end;
			struct part part = {.days = 1u << day, .from = at % DAY_MINUTES};

			end = end < midnight ? end : midnight;
			part.to = end - day * DAY_MINUTES;
			while (k < n && (parts[k].from != part.from || parts[k].to != part.to))
				k++;
			if (k == n)
				parts[n++] = part;
			else
				parts[k].days |= part.days;
			at = end;
		}
	}
	for (unsigned k = 0; k < n && !rc; k++)
		rc = append_span(array, parts[k].days, parts[k].from, parts[k].to);
	free(parts);
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}

json_t *policy_time_windows_json(const struct policy *policy)
{
	json_t *object = json_object();

	for (uint32_t i = 0; object && i < policy->times.n_windows; i++) {
		const struct time_window *window = &policy->times.windows[i];

		if (json_object_set_new(object, window->name, window_json(window)) < 0) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

json_t *policy_windows_json(const struct policy *policy, uint64_t windows)
{
	json_t *array = json_array();
	int rc = array ? 0 : -1;

	for (uint32_t i = 0; !rc && i < policy->times.n_windows; i++)
		if (windows >> i & 1)
			rc = json_array_append_new(
				array, json_string(policy->times.windows[i].name));
	if (!rc)
		return array;
	json_decref(array);
	return NULL;
}
