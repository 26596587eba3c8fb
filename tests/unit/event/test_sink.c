// SPDX-License-Identifier: BSD-3-Clause
// The event file: the control core's own records, rotation, full disks, readers that stand still.
#include "control/event/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/control/sink_world.h"
#include "control/stats/sum.h"

static void world_open(struct sink_world *w, bool live, bool flow_events, bool drop_events)
{
	sink_world_open(w, &(struct sink_options){.source = "pcap",
				   .flow_events = flow_events,
				   .drop_events = drop_events,
				   .live = live});
}

static void records_of_the_control_core(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct config_errors errors = {0};
	json_t *list, *o;

	(void)state;
	world_open(&w, true, true, true);
	sink_policy_event(w.sink, T0, 1, true, "/etc/policy.json", NULL);
	for (unsigned i = 0; i < 50; i++)
		config_error_add(&errors, "policy.json", "$.rules[0]", "bad \"thing\" %u", i);
	sink_policy_event(w.sink, T0, 1, false, "/etc/policy.json", &errors);
	sink_set_start(w.sink, T0 - 100 * NS_PER_S);
	sink_stats_event(w.sink, T0, stats_eve_json);
	sink_flush(w.sink);
	list = lines_read(w.path);
	o = json_array_get(list, 0);
	has_text(o, "event_type", "policy");
	has_text(o, "policy.result", "ok");
	has_text(o, "policy.action", "load");
	o = json_array_get(list, 1);
	has_text(o, "policy.result", "error");
	has_number(o, "policy.errors_total", 50);
	assert_int_equal(json_array_size(at(o, "policy.errors")), 20);
	o = json_array_get(list, 2);
	has_text(o, "event_type", "stats");
	has_number(o, "stats.uptime", 100);
	assert_non_null(at(o, "stats.ips.drop_reason"));
	json_decref(list);
	config_errors_free(&errors);
	sink_world_free(&w);
}

static void unwanted_types_are_not_written(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct event flow = event_of(EVENT_FLOW), drop = event_of(EVENT_DROP);
	struct event alert = event_of(EVENT_ALERT);

	(void)state;
	world_open(&w, true, false, false);
	fake_event_send(w.dp, 0, &flow);
	fake_event_send(w.dp, 0, &drop);
	fake_event_send(w.dp, 0, &alert);
	assert_int_equal(sink_drain(w.sink, 0), 1);
	sink_world_free(&w);
}

static void count_drops(void *ctx, const struct event *event)
{
	*(unsigned *)ctx += event->type == EVENT_DROP;
}

static void listeners_see_what_is_not_written(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct event drop = event_of(EVENT_DROP), alert = event_of(EVENT_ALERT);
	unsigned seen[SINK_LISTENERS_MAX + 1] = {0};

	(void)state;
	world_open(&w, true, false, false);
	for (unsigned i = 0; i < SINK_LISTENERS_MAX; i++)
		assert_int_equal(sink_listen(w.sink, count_drops, &seen[i]), 0);
	assert_int_equal(sink_listen(w.sink, count_drops, &seen[SINK_LISTENERS_MAX]), -ENOSPC);
	fake_event_send(w.dp, 0, &drop);
	fake_event_send(w.dp, 1, &alert);
	fake_event_send(w.dp, 1, &drop);
	assert_int_equal(sink_drain(w.sink, 0), 1);
	for (unsigned i = 0; i < SINK_LISTENERS_MAX; i++)
		assert_int_equal(seen[i], 2);
	assert_int_equal(seen[SINK_LISTENERS_MAX], 0);
	sink_world_free(&w);
}

static void a_drain_is_bounded(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct event event = event_of(EVENT_ALERT);

	(void)state;
	world_open(&w, true, true, true);
	for (unsigned i = 0; i < 200; i++)
		fake_event_send(w.dp, i % 2, &event);
	assert_int_equal(sink_drain(w.sink, 70), 140);
	assert_int_equal(sink_drain(w.sink, 0), 60);
	assert_int_equal(sink_written(w.sink), 200);
	sink_world_free(&w);
}

static void send_and_drain(struct sink_world *w, unsigned n)
{
	struct event event = event_of(EVENT_ALERT);

	for (unsigned i = 0; i < n; i++) {
		fake_event_send(w->dp, 0, &event);
		sink_drain(w->sink, 0);
	}
}

static void a_link_is_told_at_once(void **state)
{
	const struct link_report reports[] = {
		{.port = "wan", .interface = "eth1", .link = PORT_LINK_DISABLED},
		{.port = "wan",
			.interface = "eth1",
			.link = PORT_LINK_UP,
			.down_ns = 2500000000,
			.again = true},
		{.port = "lan", .link = PORT_LINK_GONE, .left_out = 7},
	};
	static const char *const lines[] = {
		"{\"state\":\"down\",\"reason\":\"disabled\",\"interface\":\"eth1\"}",
		("{\"state\":\"up\",\"interface\":\"eth1\",\"down_ms\":2500,\"attached_again\":"
		 "true}"),
		"{\"state\":\"down\",\"reason\":\"gone\",\"left_out\":7}",
	};
	struct sink_world w = sink_world_new(2);

	(void)state;
	world_open(&w, true, true, true);
	for (unsigned i = 0; i < 3; i++) {
		sink_link_event(w.sink, NS_PER_S, &reports[i]); // nobody flushes
		json_t *list = lines_read(w.path), *line = json_array_get(list, i);
		json_t *want = json_loads(lines[i], 0, NULL);

		assert_non_null(want);
		assert_string_equal(json_string_value(json_object_get(line, "event_type")), "link");
		assert_string_equal(
			json_string_value(json_object_get(line, "in_iface")), reports[i].port);
		assert_true(json_equal(json_object_get(line, "link"), want));
		json_decref(want);
		json_decref(list);
	}
	sink_world_free(&w);
}

static void a_scanner_is_told_at_once(void **state)
{
	const struct scanner_report reports[] = {
		{.state = "taken",
			.reason = "",
			.in_force = true,
			.signatures = 23,
			.db_version = 27000,
			.db_time_s = 1700000000,
			.digest = {0xab, 1}},
		{.state = "refused", .reason = "db has \"no\" signatures"},
	};
	static const char *const lines[] = {
		("{\"state\":\"taken\",\"in_force\":true,\"signatures\":23,\"db_version\":27000,"
		 "\"db_time\":\"2023-11-14T22:13:20.000000+0000\",\"db_age_s\":100,\"digest\":"
		 "\"ab01000000000000000000000000000000000000000000000000000000000000\"}"),
		("{\"state\":\"refused\",\"reason\":\"db has \\\"no\\\" signatures\",\"in_force\":"
		 "false}"),
	};
	struct sink_world w = sink_world_new(2);

	(void)state;
	world_open(&w, true, true, true);
	for (unsigned i = 0; i < 2; i++) {
		sink_scanner_event(w.sink, 1700000100 * NS_PER_S, &reports[i]); // nobody flushes
		json_t *list = lines_read(w.path), *line = json_array_get(list, i);
		json_t *want = json_loads(lines[i], 0, NULL);

		assert_non_null(want);
		assert_string_equal(
			json_string_value(json_object_get(line, "event_type")), "scanner");
		assert_true(json_equal(json_object_get(line, "scanner"), want));
		json_decref(want);
		json_decref(list);
	}
	sink_world_free(&w);
}

static void a_rotation_loses_nothing(void **state)
{
	struct sink_world w = sink_world_new(2);
	char old[80];

	(void)state;
	snprintf(old, sizeof old, "%s.1", w.path);
	world_open(&w, true, true, true);
	send_and_drain(&w, 10);
	assert_int_equal(rename(w.path, old), 0);
	send_and_drain(&w, 5); // still the old file
	sink_reopen(w.sink);
	send_and_drain(&w, 3);
	sink_flush(w.sink);
	assert_int_equal(lines_count(old), 15);
	assert_int_equal(lines_count(w.path), 3);
	sink_world_free(&w);
}

static void a_live_file_is_appended_to_and_a_replays_is_new(void **state)
{
	struct sink_world w = sink_world_new(2);

	(void)state;
	for (unsigned round = 1; round <= 3; round++) {
		world_open(&w, round < 3, true, true);
		send_and_drain(&w, 1);
		sink_flush(w.sink);
		assert_int_equal(lines_count(w.path), round < 3 ? round : 1);
		sink_free(w.sink);
		w.sink = NULL;
	}
	sink_world_free(&w);
}

// A limit on the file's size takes a part of a write and refuses the rest, as a full disk does.
static void half_a_record_of_a_killed_gateway_is_removed(void **state)
{
	static const char *const ends[] = {"{\"event_type\":\"al", "{\"a\":1}\n{\"b", ""};
	static const size_t whole[] = {0, 1, 0};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct sink_world w = sink_world_new(2);
		FILE *file = fopen(w.path, "w");

		fputs(ends[i], file);
		fclose(file);
		world_open(&w, true, true, true);
		send_and_drain(&w, 2);
		sink_flush(w.sink);
		assert_int_equal(lines_count(w.path), whole[i] + 2);
		sink_world_free(&w);
	}
}

// The gateway's user, once taken over, could have root append to any file at the next start.
static void root_follows_no_link_of_another_user(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct sink_options options = {.path = w.path, .source = "pcap", .live = true};
	char victim[64], err[256] = "";

	(void)state;
	if (geteuid() != 0)
		skip();
	snprintf(victim, sizeof victim, "%s/victim", w.dir);
	FILE *file = fopen(victim, "w");
	fputs("half", file);
	fclose(file);
	assert_int_equal(symlink(victim, w.path), 0);
	assert_int_equal(chown(w.dir, 65534, (gid_t)-1), 0);
	assert_int_equal(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err), -ELOOP);
	assert_non_null(strstr(err, "link"));
	assert_int_equal(chown(w.dir, 0, (gid_t)-1), 0); // root's own link is an operator's wish
	world_open(&w, true, true, true);
	send_and_drain(&w, 1);
	sink_flush(w.sink);
	assert_int_equal(lines_count(victim), 1);
	unlink(victim);
	sink_world_free(&w);
}

static void a_full_disk_never_tears_a_line(void **state)
{
	struct rlimit limit, old;
	struct sink_world w = sink_world_new(2);
	struct sink_stuck stuck;
	size_t n;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 10000;
	world_open(&w, true, true, true);
	assert_false(sink_is_stuck(w.sink, &stuck));
	setrlimit(RLIMIT_FSIZE, &limit);
	send_and_drain(&w, 100);
	sink_flush(w.sink);
	assert_true(sink_is_stuck(w.sink, &stuck));
	assert_int_equal(stuck.error, EFBIG);
	assert_int_equal(stuck.lost, 0);
	assert_string_equal(stuck.path, w.path);
	n = lines_count(w.path); // fails on half a line
	assert_in_range(n, 5, 30);
	sink_flush(w.sink);
	assert_int_equal(lines_count(w.path), n);
	setrlimit(RLIMIT_FSIZE, &old);
	sink_flush(w.sink);
	assert_int_equal(lines_count(w.path), 100);
	assert_int_equal(sink_failed(w.sink), 0);
	assert_false(sink_is_stuck(w.sink, &stuck));
	sink_world_free(&w);
}

static void what_the_buffer_cannot_hold_is_counted(void **state)
{
	struct rlimit limit, old;
	struct sink_world w = sink_world_new(2);
	struct sink_stuck stuck;
	uint64_t failed;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	limit.rlim_cur = 10000;
	world_open(&w, true, true, true);
	setrlimit(RLIMIT_FSIZE, &limit);
	send_and_drain(&w, 5000);
	setrlimit(RLIMIT_FSIZE, &old);
	failed = sink_failed(w.sink);
	assert_in_range(failed, 500, 4500);
	assert_true(sink_is_stuck(w.sink, &stuck));
	assert_int_equal(stuck.lost, failed);
	assert_int_equal(sink_written(w.sink) + failed, 5000);
	sink_flush(w.sink);
	assert_int_equal(lines_count(w.path), sink_written(w.sink));
	json_t *list = lines_read(w.path);

	// the next one that can be written says so
	has_number(json_array_get(list, json_array_size(list) - 1), "limited.not_written",
		(json_int_t)failed);
	json_decref(list);
	sink_world_free(&w);
}

static void a_reader_that_stands_still_costs_no_time(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct timespec before, after;
	int reader;

	(void)state;
	assert_int_equal(mkfifo(w.path, 0600), 0);
	reader = open(w.path, O_RDONLY | O_NONBLOCK);
	world_open(&w, true, true, true);
	clock_gettime(CLOCK_MONOTONIC, &before);
	send_and_drain(&w, 5000);
	sink_flush(w.sink);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(after.tv_sec - before.tv_sec < 5);
	assert_true(sink_failed(w.sink) > 0);
	assert_int_equal(sink_written(w.sink) + sink_failed(w.sink), 5000);
	close(reader);
	sink_world_free(&w);
}

// What anybody may have sent fills no more than half of what waits for the reader.
static void what_is_not_heard_leaves_room_for_the_heard(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct event event = event_of(EVENT_ALERT);
	int reader;

	(void)state;
	assert_int_equal(mkfifo(w.path, 0600), 0);
	reader = open(w.path, O_RDONLY | O_NONBLOCK);
	world_open(&w, true, true, true);
	event.heard = EVENT_UNHEARD;
	for (unsigned i = 0; i < 5000; i++)
		sink_event(w.sink, &event);
	uint64_t failed = sink_failed(w.sink);

	assert_true(failed > 0);
	send_and_drain(&w, 300);
	assert_int_equal(sink_failed(w.sink), failed);
	close(reader);
	sink_world_free(&w);
}

static void a_pipe_without_a_reader_is_an_error_at_start(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct sink_options options = {.path = w.path, .live = true};
	char err[256] = "";

	(void)state;
	assert_int_equal(mkfifo(w.path, 0600), 0);
	assert_true(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err) < 0);
	assert_non_null(strstr(err, w.path));
	options.path = "/nonexistent/no/eve.json";
	assert_int_equal(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err), -2);
	assert_non_null(strstr(err, "paths.events"));
	w.sink = NULL;
	sink_world_free(&w);
}

static void without_a_path_events_are_counted(void **state)
{
	struct sink_world w = sink_world_new(2);
	struct sink_options options = {.flow_events = true};
	char err[256];

	(void)state;
	assert_int_equal(sink_new(&options, w.dp, w.names, &w.sink, err, sizeof err), 0);
	send_and_drain(&w, 7);
	sink_flush(w.sink);
	assert_int_equal(sink_written(w.sink), 7);
	sink_world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_the_control_core),
		cmocka_unit_test(unwanted_types_are_not_written),
		cmocka_unit_test(listeners_see_what_is_not_written),
		cmocka_unit_test(a_drain_is_bounded),
		cmocka_unit_test(a_rotation_loses_nothing),
		cmocka_unit_test(a_live_file_is_appended_to_and_a_replays_is_new),
		cmocka_unit_test(half_a_record_of_a_killed_gateway_is_removed),
		cmocka_unit_test(root_follows_no_link_of_another_user),
		cmocka_unit_test(a_link_is_told_at_once),
		cmocka_unit_test(a_scanner_is_told_at_once),
		cmocka_unit_test(a_full_disk_never_tears_a_line),
		cmocka_unit_test(what_the_buffer_cannot_hold_is_counted),
		cmocka_unit_test(a_reader_that_stands_still_costs_no_time),
		cmocka_unit_test(what_is_not_heard_leaves_room_for_the_heard),
		cmocka_unit_test(a_pipe_without_a_reader_is_an_error_at_start),
		cmocka_unit_test(without_a_path_events_are_counted),
	};

	signal(SIGPIPE, SIG_IGN); // as the control loop does
	return cmocka_run_group_tests(tests, NULL, NULL);
}
