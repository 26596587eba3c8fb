// SPDX-License-Identifier: BSD-3-Clause
// What a scanner can do wrong: each job has one verdict all the same, and none before its child has
// answered or is known to be dead.
#include "peer_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

// Job 1 is with the child, job 2 waits.
static struct peer peer_busy(uint64_t *request)
{
	struct peer peer = peer_ready(1);

	assert_true(submit(1, 100));
	assert_true(submit_until(2, 100, now_ns + 2 * TIMEOUT));
	tells_nothing();
	*request = peer_must_hear(&peer);
	return peer;
}

// The child is condemned: job 1 ends as `value` when it is dead, not before, and job 2 is next.
static void ends_when_it_is_gone(struct peer *peer, enum scan_value value)
{
	tells_nothing();
	peer_is_asked_to_replace(peer);
	now_ns += NS_PER_S;
	tells_nothing();
	peer_gone(peer);
	tells(1, value, SCAN_REASON_NONE);
	assert_int_equal(status().replaced + status().died, 1);
	peer_born(peer);
	tells_nothing();
	peer_answers(peer, peer_must_hear(peer), SCAN_CLEAN);
	tells(2, SCAN_CLEAN, SCAN_REASON_NONE);
	peer_close(peer);
}

static void who_is_too_slow_is_replaced(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	assert_int_equal(config.ops->next_ns(engine), T0 + TIMEOUT);
	now_ns = T0 + TIMEOUT;
	ends_when_it_is_gone(&peer, SCAN_TIMEOUT);
}

static void garbage_costs_the_child(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	assert_int_equal(send(peer.file, "garbage", 7, 0), 7);
	ends_when_it_is_gone(&peer, SCAN_ERROR);
	assert_int_equal(status().replaced, 1);
}

static void a_verdict_that_is_too_long_is_garbage(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);
	struct {
		struct scan_wire_verdict verdict;
		char more;
	} message = {.more = 1};

	(void)state;
	scan_wire_head_set(&message.verdict.head, SCAN_WIRE_VERDICT, request);
	assert_true(send(peer.file, &message, sizeof(message), 0) > 0);
	ends_when_it_is_gone(&peer, SCAN_ERROR);
}

static void a_verdict_for_another_request_costs_the_child(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	peer_answers(&peer, request + 1, SCAN_CLEAN);
	ends_when_it_is_gone(&peer, SCAN_ERROR);
}

static void a_verdict_with_a_descriptor_costs_the_child(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);
	struct scan_wire_verdict verdict = {.value = SCAN_CLEAN};

	(void)state;
	scan_wire_head_set(&verdict.head, SCAN_WIRE_VERDICT, request);
	assert_int_equal(scan_wire_send(peer.file, &verdict, sizeof(verdict), 0), 0);
	ends_when_it_is_gone(&peer, SCAN_ERROR);
}

static void a_closed_file_socket_costs_the_child(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	close(peer.file);
	peer.file = -1;
	ends_when_it_is_gone(&peer, SCAN_ERROR);
	assert_int_equal(status().died, 1);
}

static void a_verdict_that_nobody_asked_for_costs_the_child(void **state)
{
	struct peer peer = peer_ready(1);

	(void)state;
	peer_answers(&peer, 1, SCAN_CLEAN);
	tells_nothing();
	peer_is_asked_to_replace(&peer);
	assert_true(submit(1, 100)); // waits for the next one
	tells_nothing();
	peer_gone(&peer);
	peer_born(&peer);
	tells_nothing();
	peer_answers(&peer, peer_must_hear(&peer), SCAN_CLEAN);
	tells(1, SCAN_CLEAN, SCAN_REASON_NONE);
	peer_close(&peer);
}

static void a_child_that_dies_is_an_error(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	peer_says(&peer, SCAN_WIRE_GONE, peer.child, -1);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	assert_int_equal(status().died, 1);
	assert_int_equal(status().replaced, 0);
	assert_int_equal(status().state, SCAN_STATE_WAITING);
	assert_string_equal(status().text, "signal 9");
	close(peer.file);
	peer_born(&peer);
	tells_nothing();
	assert_true(peer_must_hear(&peer));
	peer_close(&peer);
}

// A verdict that it has sent before counts.
static void what_a_child_said_before_it_died_counts(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	peer_answers(&peer, request, SCAN_INFECTED);
	peer_gone(&peer);
	tells(1, SCAN_INFECTED, SCAN_REASON_NONE);
	peer_close(&peer);
}

static void no_child_for_a_second_is_no_engine(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	peer_gone(&peer);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	assert_int_equal(config.ops->next_ns(engine), T0 + NS_PER_S);
	now_ns += NS_PER_S - 1;
	tells_nothing();
	now_ns++;
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	assert_true(submit(3, 100));
	tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	peer_born(&peer);
	tells_nothing();
	assert_true(submit(4, 100));
	tells_nothing();
	assert_true(peer_must_hear(&peer));
	peer_close(&peer);
}

// The parent is dead; its child, which may live a moment longer, still reads.
static void a_dead_parent_answers_all_but_the_one_that_is_out(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	close(peer.control);
	peer.control = -1;
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	assert_int_equal(status().lost[0], 1);
	assert_true(submit(3, 100));
	tells(3, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	now_ns += 20 * TIMEOUT;
	tells_nothing();
	peer_is_dead(7); // another
	tells_nothing();
	peer_is_dead(1);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	assert_int_equal(status().lost[0], 0);
	tells_nothing();
	struct peer next = peer_ready(2);

	assert_true(submit(4, 100));
	tells_nothing();
	assert_true(peer_must_hear(&next));
	peer_close(&peer);
	peer_close(&next);
}

// The launcher has seen it before its socket told us.
static void news_of_a_death_may_come_first(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	peer_is_dead(1);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	tells_nothing();
	peer_close(&peer);
}

static void a_parent_that_does_not_replace_is_lost(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	(void)state;
	now_ns = T0 + TIMEOUT;
	tells_nothing();
	assert_int_equal(config.ops->next_ns(engine), T0 + TIMEOUT + 2 * NS_PER_S);
	now_ns += 2 * NS_PER_S;
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	assert_int_equal(status().lost[0], 1);
	assert_non_null(strstr(status().text, "does not replace"));
	tells_nothing();
	peer_is_dead(1);
	tells(1, SCAN_TIMEOUT, SCAN_REASON_NONE);
	peer_close(&peer);
}

static void is_lost_by(void (*fault)(struct peer *peer))
{
	uint64_t request;
	struct peer peer = peer_busy(&request);

	fault(&peer);
	tells(2, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE);
	tells_nothing();
	assert_int_equal(status().lost[0], 1);
	peer_is_dead(1);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	peer_close(&peer);
}

static void says_garbage(struct peer *peer)
{
	assert_int_equal(send(peer->control, "garbage", 7, 0), 7);
}

static void bears_a_second_child(struct peer *peer)
{
	peer_born(peer);
}

static void buries_a_stranger(struct peer *peer)
{
	peer_says(peer, SCAN_WIRE_GONE, peer->child + 1, -1);
}

static void fails_with_a_child(struct peer *peer)
{
	peer_says(peer, SCAN_WIRE_FAILED, 0, -1);
}

static void asks_the_gateway_to_replace(struct peer *peer)
{
	peer_says(peer, SCAN_WIRE_REPLACE, peer->child, -1);
}

static void a_parent_that_does_not_keep_to_the_wire_is_lost(void **state)
{
	static void (*const faults[])(struct peer *) = {says_garbage, bears_a_second_child,
		buries_a_stranger, fails_with_a_child, asks_the_gateway_to_replace};

	for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		rig_teardown(state);
		assert_int_equal(rig_setup(state), 0);
		is_lost_by(faults[i]);
	}
}

static void a_child_needs_a_socket_of_its_kind(void **state)
{
	int ends[2];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct peer peer = peer_new(i + 1);

		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
		peer_says(&peer, SCAN_WIRE_BORN, 1, i == 0 ? -1 : i == 1 ? ends[0] : 0);
		tells_nothing();
		assert_int_equal(status().state, SCAN_STATE_ABSENT);
		assert_int_equal(status().lost[0], i + 1);
		close(ends[0]);
		close(ends[1]);
		peer_close(&peer);
	}
}

// A parent aside scans on when the old one dies in the middle of a file.
static void the_one_aside_takes_over_from_the_dead(void **state)
{
	uint64_t request;
	struct peer peer = peer_busy(&request);
	struct peer next = peer_new(2);

	(void)state;
	peer_born(&next);
	tells_nothing();
	close(peer.control);
	peer.control = -1;
	tells_nothing(); // job 1 may still be read, job 2 goes to the new child
	peer_answers(&next, peer_must_hear(&next), SCAN_CLEAN);
	tells(2, SCAN_CLEAN, SCAN_REASON_NONE);
	peer_is_dead(1);
	tells(1, SCAN_ERROR, SCAN_REASON_NONE);
	peer_close(&peer);
	peer_close(&next);
}

static int descriptors_open(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += dup2(fd, fd) == fd;
	return n;
}

#define STEPS   30000
#define JOBS    2000
#define PARENTS 2000

// Any order of what can happen. Each job has one verdict; one that a child was given has it only
// after that child's answer or end; and no descriptor stays open.
struct random_run {
	struct peer peers[2];
	unsigned n_peers;
	uint32_t last_number;
	uint64_t submitted;
	uint8_t verdicts[JOBS + 1];
	struct {
		uint64_t job;     // that its child was given, and that has no verdict yet; 0
		uint64_t request; // of it
		bool is_known;    // the answer, or the end, was said
	} out[PARENTS];           // by parent
};

static void note(struct random_run *run, const struct scan_verdict *verdict)
{
	uint64_t id = verdict->job.id;

	assert_in_range(id, 1, run->submitted);
	assert_int_equal(run->verdicts[id]++, 0);
	for (uint32_t i = 1; i <= run->last_number; i++) {
		if (run->out[i].job != id)
			continue;
		assert_true(run->out[i].is_known);
		run->out[i].job = 0;
	}
}

static void look(struct random_run *run)
{
	struct scan_verdict verdict;

	while ((verdict = turn()).job.id)
		note(run, &verdict);
	for (unsigned i = 0; i < run->n_peers; i++) {
		struct scan_wire_request request;
		struct scan_wire_control asked;
		struct peer *peer = &run->peers[i];
		int fd;

		if (peer_hears(peer, &request)) {
			assert_int_equal(run->out[peer->number].job, 0);
			// a job's bytes are its id
			run->out[peer->number].job = request.bytes;
			run->out[peer->number].request = request.head.id;
			run->out[peer->number].is_known = false;
		}
		while (peer->control >= 0 &&
			scan_wire_receive(peer->control, &asked, sizeof(asked), &fd) > 0)
			;
	}
}

static void drop_peer(struct random_run *run, unsigned i)
{
	uint32_t number = run->peers[i].number;

	peer_close(&run->peers[i]);
	look(run); // it may be heard before or after its death is known
	run->out[number].is_known = true;
	peer_is_dead(number);
	run->peers[i] = run->peers[--run->n_peers];
	look(run);
}

static void child_step(struct random_run *run, struct peer *peer, int choice)
{
	bool has = run->out[peer->number].job != 0;
	bool *is_known = &run->out[peer->number].is_known;
	static const enum scan_value values[] = {
		SCAN_CLEAN, SCAN_UNSCANNED, SCAN_ERROR, SCAN_INFECTED};

	if (choice < 5 && has && !*is_known) {
		*is_known = true; // also if it was condemned: then it ends below
		struct scan_wire_verdict verdict = {.value = (uint8_t)values[(unsigned)choice % 4]};

		scan_wire_head_set(
			&verdict.head, SCAN_WIRE_VERDICT, run->out[peer->number].request);
		if (verdict.value == SCAN_INFECTED)
			verdict.name[0] = 'X';
		if (verdict.value == SCAN_UNSCANNED)
			verdict.reason = SCAN_REASON_LIMIT;
		scan_wire_send(peer->file, &verdict, sizeof(verdict), -1);
	} else if (choice == 5 && has) {
		(void)!write(peer->file, "?", 1);
	} else if (choice == 6 && rand() % 8 == 0) {
		*is_known = true;
		close(peer->file);
		peer->file = -1;
		struct scan_wire_control gone = {0};

		scan_wire_head_set(&gone.head, SCAN_WIRE_GONE, peer->child);
		scan_wire_send(peer->control, &gone, sizeof(gone), -1);
	}
}

static void random_step(struct random_run *run)
{
	int choice = rand() % 16;

	now_ns += (unsigned)(rand() % 4 * (rand() % 100)) * NS_PER_MS;
	if (choice < 5 && run->submitted < JOBS) {
		uint64_t id = ++run->submitted;
		uint64_t patience = (unsigned)(1 + rand() % 8) * NS_PER_S;

		assert_true(submit_until(id, (uint32_t)id, now_ns + patience));
	} else if (choice == 5 && run->n_peers < 2 && run->last_number < PARENTS - 1 &&
		   rand() % 4 == 0) {
		run->peers[run->n_peers++] = peer_new(++run->last_number);
	} else if (choice == 6 && run->n_peers && rand() % 30 == 0) {
		drop_peer(run, (unsigned)rand() % run->n_peers);
	} else if (run->n_peers) {
		struct peer *peer = &run->peers[(unsigned)rand() % run->n_peers];

		if (peer->file >= 0) {
			child_step(run, peer, choice - 8);
		} else if (choice > 8 && rand() % 4) {
			int ends[2];
			struct scan_wire_control born = {.pid = 99};

			assert_int_equal(
				socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
			scan_wire_head_set(&born.head, SCAN_WIRE_BORN, ++peer->child);
			scan_wire_send(peer->control, &born, sizeof(born), ends[1]);
			peer->file = ends[0];
			close(ends[1]);
		}
	}
	look(run);
}

static void any_order_of_events_ends_each_job_once(void **state)
{
	uint64_t seen[SCAN_VALUES_MAX + 2] = {0};
	int before = descriptors_open();

	for (unsigned seed = 1; seed <= 20; seed++) {
		static struct random_run run;
		unsigned told = 0;

		srand(seed);
		rig_teardown(state);
		assert_int_equal(rig_setup(state), 0);
		run = (struct random_run){0};
		for (unsigned i = 0; i < STEPS && (run.submitted < JOBS || i < 20000); i++)
			random_step(&run);
		while (run.n_peers)
			drop_peer(&run, 0);
		now_ns += 3600 * NS_PER_S;
		look(&run);
		for (uint64_t id = 1; id <= run.submitted; id++)
			told += run.verdicts[id];
		if (told != run.submitted)
			printf("seed %u\n", seed);
		assert_int_equal(told, run.submitted);
		assert_int_equal(run.submitted, JOBS);
		struct scan_status is = status();

		for (unsigned i = 0; i < SCAN_VALUES_MAX; i++)
			seen[i] += is.verdicts[i];
		seen[SCAN_VALUES_MAX] += is.died;
		seen[SCAN_VALUES_MAX + 1] += is.replaced;
		assert_int_equal(descriptors_open(), before);
	}
	for (unsigned i = 0; i < SCAN_VALUES_MAX + 2; i++)
		assert_true(seen[i] > 20);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_too_slow_is_replaced),
		TEST(garbage_costs_the_child),
		TEST(a_verdict_that_is_too_long_is_garbage),
		TEST(a_verdict_for_another_request_costs_the_child),
		TEST(a_verdict_with_a_descriptor_costs_the_child),
		TEST(a_closed_file_socket_costs_the_child),
		TEST(a_verdict_that_nobody_asked_for_costs_the_child),
		TEST(a_child_that_dies_is_an_error),
		TEST(what_a_child_said_before_it_died_counts),
		TEST(no_child_for_a_second_is_no_engine),
		TEST(a_dead_parent_answers_all_but_the_one_that_is_out),
		TEST(news_of_a_death_may_come_first),
		TEST(a_parent_that_does_not_replace_is_lost),
		TEST(a_parent_that_does_not_keep_to_the_wire_is_lost),
		TEST(a_child_needs_a_socket_of_its_kind),
		TEST(the_one_aside_takes_over_from_the_dead),
		TEST(any_order_of_events_ends_each_job_once),
	};

	return cmocka_run_group_tests(tests, rig_begin, rig_end);
}
