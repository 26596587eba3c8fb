// SPDX-License-Identifier: BSD-3-Clause
// Files under scan by a child: what it is asked, in which order, what waits for it and how long,
// and how a new parent takes over.
#include "peer_rig.h"

#include <unistd.h>

static void a_file_is_asked_about_and_answered(void **state)
{
	struct peer peer = peer_ready(1);
	struct scan_wire_request request;

	(void)state;
	assert_true(submit(1, 5000));
	now_ns += 3 * NS_PER_MS;
	tells_nothing();
	assert_int_equal(status().running, 1);
	assert_true(peer_hears(&peer, &request));
	assert_int_equal(request.bytes, 5000);
	assert_int_equal(request.flags, SCAN_WIRE_WHOLE);
	assert_int_equal(request.n_extents, 1);
	assert_int_equal(request.extents[0].page, 1);
	now_ns += 7 * NS_PER_MS;
	peer_answers(&peer, request.head.id, SCAN_INFECTED);
	struct scan_verdict verdict = turn();

	assert_int_equal(verdict.job.id, 1);
	assert_int_equal(verdict.value, SCAN_INFECTED);
	assert_string_equal(verdict.name, "Eicar-Test.UNOFFICIAL");
	assert_int_equal(verdict.source, SCAN_SOURCE_ENGINE);
	assert_int_equal(verdict.parent, 1);
	assert_int_equal(verdict.taken_ns, T0 + 3 * NS_PER_MS); // the queue is no part of the scan
	assert_int_equal(verdict.by, SCAN_BY_CLAMAV);
	assert_int_equal(verdict.db_version, 27001);
	assert_int_equal(verdict.done_ns, now_ns);
	struct scan_status is = status();

	assert_int_equal(is.verdicts[SCAN_INFECTED], 1);
	assert_int_equal(is.running, 0);
	assert_int_equal(is.signatures, 23);
	assert_int_equal(is.db_version, 27001);
	assert_int_equal(is.pid, 4711);
	assert_int_equal(histogram_count(&is.queue), 1);
	assert_int_equal(is.queue.max_ns, 3 * NS_PER_MS);
	assert_int_equal(histogram_count(&is.run), 1);
	assert_int_equal(is.run.max_ns, 7 * NS_PER_MS);
	tells_nothing();
	peer_close(&peer);
}

static void one_is_out_and_the_oldest_is_next(void **state)
{
	struct peer peer = peer_ready(1);
	struct scan_wire_request request;

	(void)state;
	for (uint64_t id = 1; id <= 3; id++)
		assert_true(submit(id, 100 * (uint32_t)id));
	tells_nothing();
	assert_int_equal(status().waiting, 2);
	for (uint64_t id = 1; id <= 3; id++) {
		assert_true(peer_hears(&peer, &request));
		assert_int_equal(request.bytes, 100 * id);
		assert_false(peer_hears(&peer, &(struct scan_wire_request){0}));
		peer_answers(&peer, request.head.id, id == 2 ? SCAN_UNSCANNED : SCAN_CLEAN);
		tells(id, id == 2 ? SCAN_UNSCANNED : SCAN_CLEAN,
			id == 2 ? SCAN_REASON_ENCRYPTED : SCAN_REASON_NONE);
	}
	assert_int_equal(status().unscanned[SCAN_REASON_ENCRYPTED], 1);
	peer_close(&peer);
}

static void what_is_too_big_or_no_file_is_not_asked_about(void **state)
{
	struct peer peer = peer_ready(1);
	struct scan_job stream = {.id = 3, .to64 = 10, .deadline_ns = now_ns + TIMEOUT};

	(void)state;
	assert_true(submit(1, MAX_BYTES + 1));
	tells(1, SCAN_UNSCANNED, SCAN_REASON_TOO_BIG);
	assert_true(submit(2, 0)); // extents of nothing fit no arena
	tells(2, SCAN_ERROR, SCAN_REASON_NONE);
	assert_int_equal(config.ops->submit(engine, &stream, now_ns), 0);
	tells(3, SCAN_ERROR, SCAN_REASON_NONE);
	assert_false(peer_hears(&peer, &(struct scan_wire_request){0}));
	assert_int_equal(
		config.ops->trigger(&config, HALF_S2C, 0, UINT64_C(1) << 40), SCAN_TRIGGER_NONE);
	assert_true(submit(4, MAX_BYTES));
	tells_nothing();
	assert_true(peer_must_hear(&peer));
	peer_close(&peer);
}

static void the_queue_has_an_end(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	for (uint64_t id = 1; id <= SCAN_JOBS_MAX; id++)
		assert_true(submit(id, 100));
	assert_false(submit(SCAN_JOBS_MAX + 1, 100));
	tells_nothing();
	assert_int_equal(status().waiting, SCAN_JOBS_MAX - 1);
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_true(submit(SCAN_JOBS_MAX + 1, 100));
	assert_false(submit(SCAN_JOBS_MAX + 2, 100));
	peer_close(&peer);
}

// Each by its own time; one that would end as a time-out at once is not begun.
static void who_waits_too_long_is_told_so(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	assert_true(submit(1, 100));
	assert_true(submit_until(2, 100, T0 + 5 * NS_PER_S));
	assert_true(submit_until(3, 100, T0 + 2 * NS_PER_S));
	assert_true(submit_until(4, 100, T0 + 8 * NS_PER_S));
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), T0 + 2 * NS_PER_S);
	now_ns = T0 + 2 * NS_PER_S;
	tells(3, SCAN_TIMEOUT, SCAN_REASON_NONE);
	assert_int_equal(config.ops->next_ns(engine), T0 + 5 * NS_PER_S);
	now_ns = T0 + 5 * NS_PER_S;
	tells(2, SCAN_TIMEOUT, SCAN_REASON_NONE);
	now_ns = T0 + 8 * NS_PER_S - 1;
	uint64_t request = peer_must_hear(&peer);

	peer_answers(&peer, request, SCAN_CLEAN);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	tells(4, SCAN_TIMEOUT, SCAN_REASON_NONE);
	assert_false(peer_hears(&peer, &(struct scan_wire_request){0}));
	assert_int_equal(config.ops->next_ns(engine), SCAN_NEVER);
	assert_int_equal(status().replaced, 0);
	peer_close(&peer);
}

static void without_a_child_nothing_waits(void **state)
{
	(void)state;
	assert_true(submit(1, 100));
	tells(1, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	assert_int_equal(status().state, SCAN_STATE_ABSENT);
	struct peer peer = peer_new(1); // it loads its database

	assert_true(submit(2, 100));
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	assert_int_equal(status().state, SCAN_STATE_LOADING);
	peer_says(&peer, SCAN_WIRE_FAILED, 0, -1);
	tells_nothing();
	assert_int_equal(status().state, SCAN_STATE_FAILED);
	assert_string_equal(status().text, "signal 9");
	assert_true(submit(3, 100));
	tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	peer_born(&peer); // it has come to something after all
	tells_nothing();
	assert_true(submit(4, 100));
	tells_nothing();
	assert_true(peer_must_hear(&peer));
	peer_close(&peer);
}

static void a_new_parent_takes_over_between_two_files(void **state)
{
	struct peer old = peer_ready(1);
	char byte;

	(void)state;
	assert_true(submit(1, 100));
	assert_true(submit(2, 100));
	tells_nothing();
	struct peer new = peer_new(2);

	tells_nothing();
	assert_int_equal(status().parent, 1);
	peer_born(&new);
	tells_nothing();
	assert_int_equal(status().parent, 1); // its child scans
	peer_answers(&old, peer_must_hear(&old), SCAN_CLEAN);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_int_equal(status().parent, 2);
	assert_int_equal(status().db_version, 27002);
	assert_int_equal(read(old.control, &byte, 1), 0); // it drains
	assert_int_equal(read(old.file, &byte, 1), 0);
	peer_answers(&new, peer_must_hear(&new), SCAN_INFECTED);
	tells(2, SCAN_INFECTED, SCAN_REASON_NONE);
	peer_is_dead(1);
	tells_nothing();
	assert_int_equal(status().parent, 2);
	peer_close(&old);
	peer_close(&new);
}

static void a_new_parent_that_fails_leaves_the_old_one(void **state)
{
	struct peer old = peer_ready(1), new = peer_new(2);
	char byte;

	(void)state;
	peer_says(&new, SCAN_WIRE_FAILED, 0, -1);
	tells_nothing();
	assert_int_equal(status().parent, 1);
	assert_int_equal(status().refused, 2);
	assert_string_equal(status().refusal, "signal 9");
	assert_int_equal(read(new.control, &byte, 1), 0);
	struct peer another = peer_new(3);

	peer_close(&another);
	tells_nothing();
	assert_int_equal(status().refused, 3);
	assert_true(submit(1, 100));
	tells_nothing();
	peer_answers(&old, peer_must_hear(&old), SCAN_CLEAN);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	peer_close(&old);
	peer_close(&new);
}

static void a_later_parent_replaces_one_that_still_loads(void **state)
{
	struct peer old = peer_ready(1), second = peer_new(2), third = peer_new(3);
	char byte;

	(void)state;
	assert_int_equal(read(second.control, &byte, 1), 0);
	peer_born(&third);
	tells_nothing();
	assert_int_equal(status().parent, 3);
	peer_close(&old);
	peer_close(&second);
	peer_close(&third);
}

static void it_sleeps_on_the_sockets_that_are_open(void **state)
{
	struct pollfd fds[SCAN_FDS_MAX];

	(void)state;
	assert_int_equal(config.ops->descriptors(engine, fds), 0);
	struct peer peer = peer_ready(1);

	assert_int_equal(config.ops->descriptors(engine, fds), 2);
	assert_int_equal(poll(fds, 2, 0), 0);
	assert_true(submit(1, 100));
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	assert_int_equal(poll(fds, 2, 0), 1);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	assert_int_equal(poll(fds, 2, 0), 0);
	struct peer next = peer_new(2);

	assert_int_equal(config.ops->descriptors(engine, fds), 3);
	peer_close(&next);
	peer_close(&peer);
	tells_nothing();
	tells_nothing();
	assert_int_equal(config.ops->descriptors(engine, fds), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_file_is_asked_about_and_answered, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			one_is_out_and_the_oldest_is_next, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			what_is_too_big_or_no_file_is_not_asked_about, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(the_queue_has_an_end, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			who_waits_too_long_is_told_so, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			without_a_child_nothing_waits, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_new_parent_takes_over_between_two_files, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_new_parent_that_fails_leaves_the_old_one, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_later_parent_replaces_one_that_still_loads, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(
			it_sleeps_on_the_sockets_that_are_open, rig_setup, rig_teardown),
	};

	return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
