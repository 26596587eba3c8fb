// SPDX-License-Identifier: BSD-3-Clause
// Signals, timers and the watch over hearts, in the real loop with its real clock.
#include "control/control_loop.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/control/fake_control.h"
#include "pipeline/vocab/tick.h"

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

struct world {
	struct control_context context;
	char dir[40];
	char path[64];
	unsigned ticks;
	unsigned unhealthy;
	unsigned heart_stops_at; // tick
	void (*at_tick)(struct world *w);
};

static void tick(void *ctx, uint64_t now, bool healthy)
{
	struct world *w = ctx;

	(void)now;
	w->ticks++;
	w->unhealthy += !healthy;
	if (!w->heart_stops_at || w->ticks < w->heart_stops_at)
		w->context.dp->lcores[0]->stats.heartbeat_ns = w->ticks;
	rte_rcu_qsbr_quiescent(w->context.dp->qsbr, 0);
	w->at_tick(w);
}

static void world_new(struct world *w)
{
	struct sink_options options = {.flow_events = true, .live = true};
	struct config_errors errors = {0};
	char err[256];

	*w = (struct world){.dir = "/tmp/test_loop.XXXXXX"};
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof w->path, "%s/eve.json", w->dir);
	options.path = w->path;
	fake_signatures = "a";
	w->context.dp = fake_dataplane_new(1, true);
	w->context.names = rule_names_new();
	w->context.base = event_base_new();
	w->context.now_ns = now_ns;
	w->context.started_ns = now_ns();
	assert_int_equal(sink_new(&options, w->context.dp, w->context.names, &w->context.sink, err,
				 sizeof err),
		0);
	assert_int_equal(
		reload_new(w->context.dp, w->context.names, "signatures", NULL, &w->context.reload),
		0);
	assert_int_equal(reload_load(w->context.reload, "/etc/policy.json", 1, &errors), 0);
}

static void world_free(struct world *w)
{
	reload_free(w->context.reload);
	sink_free(w->context.sink);
	rule_names_free(w->context.names);
	event_base_free(w->context.base);
	fake_dataplane_free(w->context.dp);
	unlink(w->path);
	rmdir(w->dir);
}

static int run(struct world *w, unsigned stats_interval_s, void (*at_tick)(struct world *w))
{
	struct control_options options = {.stats_interval_s = stats_interval_s,
		.stall = {.after_ms = 300},
		.tick = tick,
		.ctx = w};

	w->at_tick = at_tick;
	return control_run(&w->context, &options);
}

static void at_tick_terminate(struct world *w)
{
	if (w->ticks == 2)
		kill(getpid(), SIGTERM);
}

static void a_signal_ends_the_loop(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	assert_int_equal(run(&w, 0, at_tick_terminate), SIGTERM);
	assert_int_equal(w.unhealthy, 0);
	// One that came before the loop (blocked: control_run opens it) ends it at once.
	w.ticks = 10;
	kill(getpid(), SIGTERM);
	assert_int_equal(run(&w, 0, at_tick_terminate), SIGTERM);
	assert_in_range(w.ticks, 10, 11);
	// Ctrl-C likewise: its default would end the process without draining the lcores.
	w.ticks = 10;
	kill(getpid(), SIGINT);
	assert_int_equal(run(&w, 0, at_tick_terminate), SIGINT);
	world_free(&w);
}

static void at_tick_reload(struct world *w)
{
	if (w->ticks == 1)
		kill(getpid(), SIGUSR2);
	if (w->ticks == 6)
		control_stop(&w->context);
}

static void usr2_reloads(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	assert_int_equal(run(&w, 0, at_tick_reload), 0);
	assert_int_equal(reload_generation(w.context.reload), 2);
	assert_int_equal(reload_freed(w.context.reload), 1);
	world_free(&w);
}

static void at_tick_rotate(struct world *w)
{
	if (w->ticks == 1) {
		unlink(w->path);
		kill(getpid(), SIGHUP);
	}
	if (w->ticks == 15)
		control_stop(&w->context);
}

static void hup_reopens_and_stats_are_written(void **state)
{
	struct event event = {.type = EVENT_TRACE};
	struct world w;
	struct stat st;

	(void)state;
	world_new(&w);
	fake_event_send(w.context.dp, 0, &event); // drained by the loop's timer
	assert_int_equal(run(&w, 1, at_tick_rotate), 0);
	assert_int_equal(stat(w.path, &st), 0); // made again, and flushed by a timer
	assert_true(st.st_size > 100);
	assert_int_equal(
		sink_written(w.context.sink), 2); // the trace, and one record of statistics
	world_free(&w);
}

static void at_tick_end(struct world *w)
{
	if (w->ticks == 12)
		control_stop(&w->context);
}

static void a_heart_that_rests_is_told_once(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	w.heart_stops_at = 3;
	assert_int_equal(run(&w, 0, at_tick_end), 0);
	assert_in_range(w.unhealthy, 3, 8);
	assert_int_equal(w.context.lcore_stalls, 1);
	world_free(&w);
}

// What asks for a reload, and hears how it went.
struct posted {
	unsigned answers;
	bool good;
	size_t errors;
	unsigned place; // of the answer among all
	struct world *w;
};

static unsigned answers;

static void answered(void *ctx, bool good, const struct config_errors *errors)
{
	struct posted *asked = ctx;

	asked->answers++;
	asked->good = good;
	asked->errors = errors->n;
	asked->place = ++answers;
}

static void ask(struct world *w, struct posted *asked, const char *path, bool check)
{
	struct reload_request *request;

	assert_int_equal(
		reload_ask(w->context.reload, path, check, now_ns(), answered, asked, &request), 0);
	assert_non_null(request);
}

static struct posted first, second, third, forgotten;

static void at_tick_build(struct world *w)
{
	if (w->ticks == 1)
		ask(w, &first, "/etc/policy.json", false);
	if (w->ticks == 8) { // hearts were watched meanwhile
		assert_true(reload_is_building(w->context.reload));
		fake_build_ms = 0;
	}
	if (first.answers)
		control_stop(&w->context);
}

static void a_build_does_not_stop_the_loop(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	first = (struct posted){0};
	fake_build_ms = FAKE_BUILD_HELD;
	assert_int_equal(run(&w, 0, at_tick_build), 0);
	assert_true(first.good);
	assert_true(w.ticks >= 8);
	assert_int_equal(reload_generation(w.context.reload), 2);
	world_free(&w);
}

static void at_tick_usr2_twice(struct world *w)
{
	if (w->ticks == 1)
		kill(getpid(), SIGUSR2);
	if (w->ticks == 2 || w->ticks == 3) {
		assert_true(reload_is_building(w->context.reload));
		kill(getpid(), SIGUSR2);
	}
	if (w->ticks == 4)
		fake_build_ms = 0;
	if (w->ticks >= 14 && !reload_is_building(w->context.reload))
		control_stop(&w->context);
}

// The file may have been written while it was being read: it is read once more, and not thrice.
static void usr2_during_a_build_is_not_lost(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	fake_build_ms = FAKE_BUILD_HELD;
	assert_int_equal(run(&w, 0, at_tick_usr2_twice), 0);
	assert_int_equal(reload_generation(w.context.reload), 3);
	world_free(&w);
}

static void at_tick_turns(struct world *w)
{
	struct reload_request *gone;

	if (w->ticks == 1) {
		ask(w, &first, "/etc/other.json", false);
		ask(w, &second, "/etc/bad.json", false);
		assert_int_equal(reload_ask(w->context.reload, NULL, false, now_ns(), answered,
					 &forgotten, &gone),
			0);
		reload_forget(gone);
		ask(w, &third, "/etc/policy.json", true);
		assert_int_equal(answers, 0);
	}
	if (third.answers)
		control_stop(&w->context);
}

static void requests_take_turns_and_each_is_answered(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	first = second = third = forgotten = (struct posted){0};
	answers = 0;
	fake_build_ms = 50;
	assert_int_equal(run(&w, 0, at_tick_turns), 0);
	fake_build_ms = 0;
	assert_int_equal(first.answers + second.answers + third.answers, 3);
	assert_int_equal(forgotten.answers, 0);
	assert_int_equal(first.place, 1);
	assert_int_equal(second.place, 2);
	assert_true(first.good);
	assert_false(second.good);
	assert_int_equal(second.errors, 2);
	assert_true(third.good); // a check
	// first, and the one whose asker has gone: of the file that was in force by then
	assert_int_equal(reload_generation(w.context.reload), 3);
	assert_string_equal(reload_path(w.context.reload), "/etc/other.json");
	assert_int_equal(reload_failures(w.context.reload), 1);
	world_free(&w);
}

static void too_many_are_refused(void **state)
{
	struct reload_request *request;
	struct world w;

	(void)state;
	world_new(&w);
	assert_int_equal(reload_start(w.context.reload), 0);
	fake_build_ms = FAKE_BUILD_HELD;
	for (unsigned i = 0; i <= RELOAD_REQUESTS_MAX; i++)
		ask(&w, &first, "/etc/policy.json", false);
	assert_int_equal(
		reload_ask(w.context.reload, NULL, false, now_ns(), answered, &first, &request),
		-EBUSY);
	assert_null(request);
	fake_build_ms = 0;
	world_free(&w);
}

static void at_tick_leave(struct world *w)
{
	if (w->ticks == 1)
		ask(w, &first, "/etc/policy.json", false);
	if (w->ticks == 2)
		control_stop(&w->context);
}

static void the_gateway_ends_during_a_build(void **state)
{
	struct world w;

	(void)state;
	world_new(&w);
	first = (struct posted){0};
	fake_build_ms = FAKE_BUILD_HELD;
	assert_int_equal(run(&w, 0, at_tick_leave), 0);
	assert_true(reload_is_building(w.context.reload));
	fake_build_ms = 0;
	world_free(&w);
	assert_int_equal(first.answers, 0);
	assert_int_equal(fake_scratches, 0);
}

// Nobody waits for a compiler that takes minutes. In a process of its own, which ends under it.
static void the_gateway_does_not_wait_for_a_long_build(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (!child) {
		struct world w;
		uint64_t began;

		world_new(&w);
		fake_build_ms = 20000;
		run(&w, 0, at_tick_leave);
		began = now_ns();
		bool left = !reload_free(w.context.reload);

		_exit(!(left && now_ns() - began < 3 * NS_PER_S));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_ends_the_loop),
		cmocka_unit_test(usr2_reloads),
		cmocka_unit_test(a_build_does_not_stop_the_loop),
		cmocka_unit_test(usr2_during_a_build_is_not_lost),
		cmocka_unit_test(requests_take_turns_and_each_is_answered),
		cmocka_unit_test(too_many_are_refused),
		cmocka_unit_test(the_gateway_ends_during_a_build),
		cmocka_unit_test(the_gateway_does_not_wait_for_a_long_build),
		cmocka_unit_test(hup_reopens_and_stats_are_written),
		cmocka_unit_test(a_heart_that_rests_is_told_once),
	};
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL); // as before EAL starts
	return cmocka_run_group_tests(tests, NULL, NULL);
}
