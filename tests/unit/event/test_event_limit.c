// SPDX-License-Identifier: BSD-3-Clause
// How many records a flood writes: of each type, of one source, in how long a file; what is left
// out is reported, flows of one packet are put together, and who stays below the limits loses
// nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/control/sink_world.h"
#include "control/event/sink.h"
#include "pipeline/event/event.h"
#include "pipeline/lcore/lcore.h"

#define FLOOD 32000u
#define TYPE  5000u // gateway.json: events.per_s, source_per_s
#define ONE   500u

static struct sink_world world_new(uint32_t file_mb, bool limited)
{
	struct sink_world w = sink_world_new(1);

	sink_world_open(&w,
		&(struct sink_options){
			.source = "wire/pcap",
			.flow_events = true,
			.drop_events = true,
			.live = true,
			.limits = {.per_s = limited ? TYPE : 0, .source_per_s = limited ? ONE : 0},
			.file_mb = file_mb,
			.files = 2,
		});
	return w;
}

static json_t *close_and_read(struct sink_world *w)
{
	sink_world_close(w);
	return lines_read(w->path);
}

static off_t bytes(const struct sink_world *w, const char *suffix)
{
	char path[120];
	struct stat st;

	snprintf(path, sizeof path, "%s%s", w->path, suffix);
	return stat(path, &st) == 0 ? st.st_size : -1;
}

// A record of a source, whose number is the end of its address.
static struct event record(enum event_type type, uint32_t source, uint64_t now_ns)
{
	struct event event = event_of(type);

	memcpy(event.ends.address[HALF_C2S] + 12, &source, 4);
	event.now_ns = now_ns;
	if (type == EVENT_FLOW) {
		event.action = ACTION_PASS;
		event.flow.pkts[HALF_C2S] = 1;
		event.flow.pkts[HALF_S2C] = 0;
		event.flow.bytes[HALF_C2S] = 60;
		event.flow.start_ns = event.flow.end_ns = now_ns;
	}
	return event;
}

static void send(struct sink_world *w, enum event_type type, uint32_t source, uint64_t now_ns)
{
	struct event event = record(type, source, now_ns);

	sink_event(w->sink, &event);
}

static json_int_t number_or_0(json_t *object, const char *outer, const char *inner)
{
	return json_integer_value(json_object_get(json_object_get(object, outer), inner));
}

static bool is_type(json_t *line, const char *type)
{
	return !strcmp(json_string_value(json_object_get(line, "event_type")), type);
}

static void a_flood_of_one_source_is_put_together(void **state)
{
	struct sink_world w = world_new(0, true);
	json_int_t told = 0, left_out = 0, honest = 0;
	size_t i, n_lines;
	json_t *line;
	(void)state;

	for (uint32_t k = 0; k < FLOOD; k++) {
		send(&w, EVENT_FLOW, 1, T0);
		if (k % 1000 == 0)
			send(&w, EVENT_FLOW, 2, T0);
	}
	json_t *lines = close_and_read(&w);

	n_lines = json_array_size(lines);
	json_array_foreach (lines, i, line) {
		const char *source = json_string_value(json_object_get(line, "src_ip"));
		json_int_t of = number_or_0(line, "flow", "aggregated");

		if (is_type(line, "limited"))
			left_out +=
				number_or_0(json_object_get(line, "limited"), "left_out", "flow");
		else if (!strcmp(source, "2.0.0.0"))
			honest++;
		else
			told += of ? of : 1;
	}
	print_message("%u flows of one packet: %zu records, %lld bytes\n", FLOOD, n_lines,
		(long long)bytes(&w, ""));
	assert_int_equal(told, FLOOD); // each is reported
	assert_int_equal(left_out, FLOOD - ONE);
	assert_int_equal(honest, 32);
	assert_true(bytes(&w, "") < 1 << 20);
	json_decref(lines);
	sink_world_free(&w);
}

// Every type that a packet can cause, from as many sources as there are packets.
static void every_type_has_its_limit(void **state)
{
	static const enum event_type types[] = {EVENT_FLOW, EVENT_ALERT, EVENT_DROP,
		EVENT_CONNCACHE, EVENT_INVALID, EVENT_ANOMALY, EVENT_ELEPHANT, EVENT_TRANSFER};
	(void)state;

	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		struct sink_world w = world_new(0, true);
		json_int_t left_out = 0;
		size_t i, written = 0;
		json_t *line;

		for (uint32_t k = 0; k < FLOOD; k++)
			send(&w, types[t], k, T0);
		assert_int_equal(sink_left_out(w.sink), FLOOD - TYPE);
		json_t *lines = close_and_read(&w);

		json_array_foreach (lines, i, line) {
			json_t *inner =
				json_object_get(json_object_get(line, "limited"), "left_out");
			const char *key;
			json_t *value;

			json_object_foreach (inner, key, value)
				left_out += json_integer_value(value);
			written += !inner && !number_or_0(line, "flow", "aggregated");
		}
		assert_int_equal(written, TYPE);
		assert_int_equal(left_out, FLOOD - TYPE);
		json_decref(lines);
		sink_world_free(&w);
	}
}

// Whoever forges the victim's address, or more sources than there may be, uses up a limit of his
// own. What is answered is no proof either.
static void what_is_forged_uses_up_no_limit_of_the_heard(void **state)
{
	static const enum event_type types[] = {EVENT_FLOW, EVENT_ALERT, EVENT_DROP,
		EVENT_CONNCACHE, EVENT_INVALID, EVENT_ANOMALY, EVENT_ELEPHANT, EVENT_TRANSFER};
	const uint32_t victim = 1;
	(void)state;

	for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
		struct sink_world w = world_new(0, true);
		struct event event;

		for (uint32_t k = 0; k < FLOOD; k++) {
			event = record(types[t], k & 1 ? victim : k, T0);
			event.heard = EVENT_UNHEARD;
			sink_event(w.sink, &event);
			if (k % (FLOOD / ONE) == 0) {
				event.heard = EVENT_OF_BOTH;
				memcpy(event.ends.address[HALF_C2S] + 12, &victim, 4);
				sink_event(w.sink, &event);
			}
			if (k % (FLOOD / ONE) == 1) {
				event.heard = EVENT_ANSWERED;
				sink_event(w.sink, &event);
			}
		}
		assert_int_equal(sink_left_out(w.sink), FLOOD - TYPE);
		assert_int_equal(sink_left_out_one_sided(w.sink), FLOOD - TYPE);
		json_decref(close_and_read(&w));
		sink_world_free(&w);
	}
}

static void what_stays_below_the_limits_loses_nothing(void **state)
{
	struct sink_world w = world_new(0, true);
	unsigned sent = 0;
	(void)state;

	for (unsigned second = 0; second < 5; second++)
		for (uint32_t source = 0; source < 9; source++)
			for (unsigned i = 0; i < ONE; i++, sent++)
				send(&w, EVENT_FLOW, source << 8, T0 + second * NS_PER_S);
	assert_int_equal(sink_left_out(w.sink), 0);
	json_t *lines = close_and_read(&w);

	assert_int_equal(json_array_size(lines), sent);
	json_decref(lines);
	sink_world_free(&w);
}

static void summaries_come_while_it_lasts(void **state)
{
	struct sink_world w = world_new(0, true);
	unsigned n = 0;
	size_t i;
	json_t *line;
	(void)state;

	for (unsigned second = 0; second < 35; second++) {
		for (unsigned k = 0; k < 2 * ONE; k++)
			send(&w, EVENT_ALERT, 1, T0 + second * NS_PER_S);
		sink_drain(w.sink, 0);
	}
	json_t *lines = close_and_read(&w);

	json_array_foreach (lines, i, line)
		n += is_type(line, "limited");
	assert_in_range(n, 3, 5);
	json_decref(lines);
	sink_world_free(&w);
}

static void a_long_file_is_renamed_at_once(void **state)
{
	struct sink_world w = world_new(1, false);
	(void)state;

	for (uint32_t k = 0; k < 8000; k++)
		send(&w, EVENT_FLOW, k, T0);
	json_t *lines = close_and_read(&w);

	assert_true(bytes(&w, "") >= 0 && bytes(&w, "") < 1200 << 10);
	assert_in_range(bytes(&w, ".over1"), 1 << 20, 1200 << 10);
	assert_in_range(bytes(&w, ".over2"), 1 << 20, 1200 << 10);
	assert_int_equal(bytes(&w, ".over3"), -1);
	json_decref(lines);
	char path[120];

	snprintf(path, sizeof path, "%s.over1", w.path);
	json_decref(lines_read(path)); // whole lines
	sink_world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_one_source_is_put_together),
		cmocka_unit_test(every_type_has_its_limit),
		cmocka_unit_test(what_is_forged_uses_up_no_limit_of_the_heard),
		cmocka_unit_test(what_stays_below_the_limits_loses_nothing),
		cmocka_unit_test(summaries_come_while_it_lasts),
		cmocka_unit_test(a_long_file_is_renamed_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
