// SPDX-License-Identifier: BSD-3-Clause
// The event file's writer on a thread of its own: a write that hangs costs records, which are
// counted, and no time of the caller.
#include "control/event/sink.h"

#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/control/sink_world.h"

// The disk: while it hangs, a write to anything but the terminal does not return.
static sem_t disk_again;
static int disk_hangs, disk_waiting;

ssize_t __real_write(int fd, const void *bytes, size_t length);
ssize_t __wrap_write(int fd, const void *bytes, size_t length);

ssize_t __wrap_write(int fd, const void *bytes, size_t length)
{
	if (fd > STDERR_FILENO && __atomic_load_n(&disk_hangs, __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(&disk_waiting, 1, __ATOMIC_ACQ_REL);
		while (sem_wait(&disk_again))
			;
	}
	return __real_write(fd, bytes, length);
}

static void disk_hang(void)
{
	__atomic_store_n(&disk_waiting, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&disk_hangs, 1, __ATOMIC_RELEASE);
}

static void disk_go_on(void)
{
	__atomic_store_n(&disk_hangs, 0, __ATOMIC_RELEASE);
	sem_post(&disk_again);
}

// A sink with its thread. The disk does not hang yet.
static struct sink_world world_new(void)
{
	struct sink_world w = sink_world_new(1);

	sink_world_open(&w, &(struct sink_options){.live = true});
	assert_int_equal(sink_start(w.sink), 0);
	w.dp->lcores[0]->stats.heartbeat_ns = T0;
	return w;
}

static uint64_t real_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// So many events come in a turn of the control core, and the clock of the lcores goes on.
static void turn(struct sink_world *w, unsigned n, uint64_t ns)
{
	struct event event = event_of(EVENT_ALERT);

	w->dp->lcores[0]->stats.heartbeat_ns += ns;
	event.now_ns = w->dp->lcores[0]->stats.heartbeat_ns;
	for (unsigned i = 0; i < n; i++)
		fake_event_send(w->dp, 0, &event);
	sink_drain(w->sink, 0);
}

// Lines of records that were lost, and the sum of what they say.
static uint64_t told_lost(const char *path, unsigned *records)
{
	json_t *list = lines_read(path), *line;
	uint64_t lost = 0;
	size_t i;

	*records = 0;
	json_array_foreach (list, i, line) {
		json_t *limited = json_object_get(line, "limited");

		if (!limited)
			continue;
		++*records;
		lost += (uint64_t)json_integer_value(json_object_get(limited, "not_written"));
	}
	json_decref(list);
	return lost;
}

static void all_of_many_is_written_in_order(void **state)
{
	struct sink_world w = world_new();
	uint64_t offered = 0;

	(void)state;
	for (; offered < 40000; offered += 400) {
		turn(&w, 400, NS_PER_MS);
		while (!sink_has_room(w.sink))
			sink_settle(w.sink, 1000);
		sink_drain(w.sink, 0); // what waited in its ring
	}
	assert_true(sink_settle(w.sink, 5000));
	assert_int_equal(sink_written(w.sink), offered);
	assert_int_equal(sink_failed(w.sink), 0);
	json_t *list = lines_read(w.path);
	const char *before = "";

	assert_int_equal(json_array_size(list), offered);
	for (size_t i = 0; i < offered; i++) {
		const char *stamp = json_string_value(at(json_array_get(list, i), "timestamp"));

		assert_true(strcmp(before, stamp) <= 0);
		before = stamp;
	}
	json_decref(list);
	sink_world_free(&w);
}

static void a_disk_that_hangs_costs_records_and_no_time(void **state)
{
	struct sink_world w = world_new();
	struct sink_stuck stuck;
	uint64_t before = real_ms(), offered = 0;

	(void)state;
	disk_hang();
	for (unsigned i = 0; i < 100; i++, offered += 100) // 10 s of the lcores' clock
		turn(&w, 100, NS_PER_S / 10);
	sink_flush(w.sink);
	assert_true(real_ms() - before < 5000);
	assert_true(sink_is_stuck(w.sink, &stuck));
	assert_true(stuck.hangs);
	assert_true(stuck.lost > 1000);
	assert_int_equal(sink_written(w.sink) + sink_failed(w.sink), offered);
	uint64_t lost = sink_failed(w.sink);

	disk_go_on();
	assert_true(sink_settle(w.sink, 5000));
	assert_false(sink_is_stuck(w.sink, &stuck));
	turn(&w, 5, NS_PER_MS);
	offered += 5;
	assert_true(sink_settle(w.sink, 5000));
	unsigned records;

	assert_int_equal(told_lost(w.path, &records), lost);
	assert_int_equal(records, 1);
	assert_int_equal(lines_count(w.path) - records + sink_failed(w.sink), offered);
	sink_world_free(&w);
}

// A writer that is behind, but works: what it has no room for waits in the rings.
static void a_short_wait_loses_nothing(void **state)
{
	struct sink_world w = world_new();
	struct sink_stuck stuck;

	(void)state;
	disk_hang();
	turn(&w, 100, NS_PER_MS);
	sink_flush(w.sink);
	while (!__atomic_load_n(&disk_waiting, __ATOMIC_ACQUIRE))
		usleep(1000);
	for (unsigned i = 0; i < 15; i++)
		turn(&w, 100, NS_PER_MS);
	assert_false(sink_has_room(w.sink));
	assert_false(sink_is_stuck(w.sink, &stuck));
	assert_true(sink_written(w.sink) < 1600);
	disk_go_on();
	while (sink_written(w.sink) < 1600) {
		assert_true(sink_settle(w.sink, 5000));
		sink_drain(w.sink, 0);
	}
	assert_true(sink_settle(w.sink, 5000));
	assert_int_equal(lines_count(w.path), 1600);
	assert_int_equal(sink_failed(w.sink), 0);
	sink_world_free(&w);
}

static void a_rotation_waits_for_its_turn(void **state)
{
	struct sink_world w = world_new();
	char old[80];

	(void)state;
	snprintf(old, sizeof old, "%s.1", w.path);
	disk_hang();
	turn(&w, 10, NS_PER_MS);
	sink_flush(w.sink);
	while (!__atomic_load_n(&disk_waiting, __ATOMIC_ACQUIRE))
		usleep(1000);
	assert_int_equal(rename(w.path, old), 0);
	turn(&w, 5, NS_PER_MS); // the old file's
	sink_reopen(w.sink);
	disk_go_on();
	assert_true(sink_settle(w.sink, 5000));
	turn(&w, 3, NS_PER_MS);
	assert_true(sink_settle(w.sink, 5000));
	assert_int_equal(lines_count(old), 15);
	assert_int_equal(lines_count(w.path), 3);
	sink_world_free(&w);
}

static void the_end_waits_no_longer_than_a_second(void **state)
{
	struct sink_world w = world_new();
	struct sink *sink = w.sink;
	uint64_t before;

	(void)state;
	disk_hang();
	turn(&w, 100, NS_PER_MS);
	sink_flush(sink);
	while (!__atomic_load_n(&disk_waiting, __ATOMIC_ACQUIRE))
		usleep(1000);
	turn(&w, 100, NS_PER_MS);
	before = real_ms();
	sink_free(sink);
	assert_in_range(real_ms() - before, 900, 4000);
	w.sink = NULL;
	disk_go_on();
	sink_world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_many_is_written_in_order),
		cmocka_unit_test(a_disk_that_hangs_costs_records_and_no_time),
		cmocka_unit_test(a_short_wait_loses_nothing),
		cmocka_unit_test(a_rotation_waits_for_its_turn),
		cmocka_unit_test(the_end_waits_no_longer_than_a_second),
	};

	sem_init(&disk_again, 0, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
