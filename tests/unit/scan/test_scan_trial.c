// SPDX-License-Identifier: BSD-3-Clause
// A file of the control core's: its bytes in the arena's spare room, its job over a link of its
// own, and its verdict, which comes, comes late, or is not wanted any more.
#include "scan/trial.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>

#define LINK      2 // two data lcores have the others
#define MAX_BYTES (64u << 10)
#define TIMEOUT   (20 * NS_PER_S)
#define UNIT      (1u << 20)

static struct scan_arena arena;
static struct scan_config config = {.ops = &scan_engine_process,
	.max_file_bytes = MAX_BYTES,
	.timeout_ns = TIMEOUT,
	.flows = 4};
static struct scan_worker *worker;
static struct scan_trial *trial;
static uint64_t now_ns;
static uint8_t file[MAX_BYTES];
static int control = -1, child = -1; // the scanner's ends

static int begin(void **state)
{
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"128"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};
	char err[200];

	(void)state;
	for (uint32_t i = 0; i < MAX_BYTES; i++)
		file[i] = (uint8_t)(i * 7 + (i >> 9));
	return rte_eal_init(8, argv) < 0 || scan_arena_new_spare(&arena, 2 * UNIT, UNIT, 2,
						    MAX_BYTES + SCAN_PAGE, err, sizeof(err)) < 0;
}

static int setup(void **state)
{
	char err[200];

	(void)state;
	now_ns = 1000 * NS_PER_S;
	config.arena = &arena;
	if (scan_worker_new(&config, 0, LINK + 1, SOCKET_ID_ANY, &worker, err, sizeof(err)) < 0)
		return -1;
	trial = scan_trial_new(&config, &worker, 1, LINK);
	return !trial;
}

static int teardown(void **state)
{
	(void)state;
	scan_trial_free(trial);
	scan_worker_free(worker);
	if (control >= 0)
		close(control);
	if (child >= 0)
		close(child);
	control = child = -1;
	return 0;
}

static void says(enum scan_wire_kind kind, int fd)
{
	struct scan_wire_control message = {.pid = 4711, .signatures = 5, .db_version = 27001};

	scan_wire_head_set(&message.head, kind, 1);
	assert_int_equal(scan_wire_send(control, &message, sizeof(message), fd), 0);
}

static void scanner_is_ready(void)
{
	int of_control[2], of_file[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, of_control), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, of_file), 0);
	control = of_control[0];
	child = of_file[0];
	scan_worker_adopt(worker, &(struct scan_news){.fd = of_control[1], .parent = 1}, now_ns);
	says(SCAN_WIRE_BORN, of_file[1]);
	close(of_file[1]);
	scan_worker_turn(worker, now_ns);
}

static struct scan_wire_request request(void)
{
	struct scan_wire_request out;
	int fd;

	scan_worker_turn(worker, now_ns);
	assert_int_equal(scan_wire_receive(child, &out, sizeof(out), &fd), sizeof(out));
	assert_null(scan_wire_check_request(&out, sizeof(out), arena.bytes));
	return out;
}

static void answers(uint64_t id, enum scan_value value)
{
	struct scan_wire_verdict verdict = {.value = (uint8_t)value};

	scan_wire_head_set(&verdict.head, SCAN_WIRE_VERDICT, id);
	if (value == SCAN_INFECTED)
		scan_wire_text(verdict.name, sizeof(verdict.name), "Test.Eicar");
	assert_int_equal(scan_wire_send(child, &verdict, sizeof(verdict), -1), 0);
	scan_worker_turn(worker, now_ns);
}

static uint64_t begins(uint64_t bytes)
{
	uint64_t number = 0;

	assert_int_equal(scan_trial_begin(trial, bytes, now_ns, &number), 0);
	return number;
}

static int begun(uint64_t bytes)
{
	uint64_t number;

	return scan_trial_begin(trial, bytes, now_ns, &number);
}

static void runs(uint64_t number)
{
	unsigned which = 7;
	bool asleep = true;

	assert_int_equal(scan_trial_run(trial, number, now_ns, &which, &asleep), 0);
	assert_int_equal(which, 0);
	assert_false(asleep);
}

static uint64_t sent(uint64_t bytes)
{
	uint64_t number = begins(bytes);

	assert_int_equal(scan_trial_add(trial, number, 0, file, bytes, now_ns), 0);
	runs(number);
	return number;
}

static struct scan_verdict told(uint64_t number)
{
	struct scan_verdict verdict;

	assert_int_equal(scan_trial_verdict(trial, number, now_ns, &verdict), 0);
	return verdict;
}

static bool waits(uint64_t number)
{
	struct scan_verdict verdict;

	return scan_trial_verdict(trial, number, now_ns, &verdict) == -EAGAIN;
}

static void a_file_is_looked_at(void **state)
{
	size_t part;
	uint64_t number;

	(void)state;
	scanner_is_ready();
	number = begins(MAX_BYTES);
	for (uint64_t at = 0; at < MAX_BYTES; at += 16384)
		assert_int_equal(
			scan_trial_add(trial, number, at, file + at, 16384, now_ns += NS_PER_S), 0);
	uint64_t asked_ns = now_ns;

	runs(number);
	assert_true(waits(number));
	now_ns += 3 * NS_PER_MS;
	struct scan_wire_request got = request();

	assert_int_equal(got.bytes, MAX_BYTES);
	assert_int_equal(got.flags, SCAN_WIRE_WHOLE);
	assert_int_equal(got.n_extents, 1);
	assert_memory_equal(
		arena.base + (size_t)got.extents[0].page * SCAN_PAGE, file, got.extents[0].bytes);
	scan_arena_part(&arena, 0, 2, &part);
	assert_int_equal(part, UNIT); // data lcores have what they would have without it
	assert_true((size_t)got.extents[0].page * SCAN_PAGE >= 2 * part);
	now_ns += 5 * NS_PER_MS;
	answers(got.head.id, SCAN_INFECTED);
	struct scan_verdict verdict = told(number);

	assert_int_equal(verdict.value, SCAN_INFECTED);
	assert_string_equal(verdict.name, "Test.Eicar");
	assert_int_equal(verdict.by, SCAN_BY_CLAMAV);
	assert_int_equal(verdict.db_version, 27001);
	assert_int_equal(verdict.job.submitted_ns, asked_ns);
	assert_int_equal(verdict.taken_ns, asked_ns + 3 * NS_PER_MS);
	assert_int_equal(verdict.done_ns, now_ns);
	assert_int_equal(scan_trial_verdict(trial, number, now_ns, &verdict), -ESTALE); // once
	assert_int_equal(sent(1), number + 1);
	assert_int_equal(request().bytes, 1);
}

static void what_does_not_fit_is_refused(void **state)
{
	unsigned which;
	bool asleep;

	(void)state;
	assert_int_equal(begun(0), -EINVAL);
	assert_int_equal(begun(MAX_BYTES + 1), -EFBIG);
	uint64_t number = begins(100);

	assert_int_equal(scan_trial_add(trial, number + 1, 0, file, 1, now_ns), -ESTALE);
	assert_int_equal(scan_trial_add(trial, number, 1, file, 1, now_ns), -EINVAL);
	assert_int_equal(scan_trial_add(trial, number, 0, file, 101, now_ns), -EINVAL);
	assert_int_equal(scan_trial_add(trial, number, 0, file, 60, now_ns), 0);
	assert_int_equal(scan_trial_add(trial, number, 0, file, 40, now_ns), -EINVAL);
	assert_int_equal(scan_trial_run(trial, number, now_ns, &which, &asleep), -EINVAL);
	assert_int_equal(scan_trial_add(trial, number, 60, file, 41, now_ns), -EINVAL);
	assert_int_equal(scan_trial_add(trial, number, 60, file, 40, now_ns), 0);
	assert_int_equal(scan_trial_run(trial, number + 1, now_ns, &which, &asleep), -ESTALE);
	assert_int_equal(scan_trial_run(trial, number, now_ns, &which, &asleep), 0);
	assert_int_equal(scan_trial_run(trial, number, now_ns, &which, &asleep), -ESTALE);
}

static void one_is_at_hand_until_it_is_forgotten(void **state)
{
	(void)state;
	uint64_t first = begins(100);

	now_ns += TRIAL_IDLE_NS - 1;
	assert_int_equal(begun(100), -EBUSY);
	assert_int_equal(scan_trial_add(trial, first, 0, file, 50, now_ns), 0);
	now_ns += TRIAL_IDLE_NS - 1;
	assert_int_equal(begun(100), -EBUSY);
	now_ns += 1;
	uint64_t second = begins(100);

	assert_int_equal(scan_trial_add(trial, first, 50, file, 50, now_ns), -ESTALE);
	scan_trial_drop(trial, first); // not this one
	assert_int_equal(begun(100), -EBUSY);
	scan_trial_drop(trial, second);
	begins(100);
}

static void without_an_engine_it_says_so(void **state)
{
	const struct scan_config none = {.ops = &scan_engine_process, .max_file_bytes = MAX_BYTES};
	struct scan_trial *without = scan_trial_new(&none, &worker, 1, LINK);
	uint64_t number = sent(100);

	(void)state;
	scan_worker_turn(worker, now_ns);
	struct scan_verdict verdict = told(number);

	assert_int_equal(verdict.value, SCAN_UNSCANNED);
	assert_int_equal(verdict.reason, SCAN_REASON_NO_ENGINE);
	assert_int_equal(verdict.by, SCAN_BY_NOBODY);
	assert_int_equal(scan_trial_begin(without, 1, now_ns, &number), -ENODEV);
	scan_trial_free(without);
}

// A child may read the room until it is reaped: nobody else's file goes there before.
static void a_late_verdict_keeps_the_room(void **state)
{
	(void)state;
	scanner_is_ready();
	uint64_t number = sent(100);

	request();
	now_ns += TIMEOUT - 1;
	assert_true(waits(number));
	now_ns += 1;
	assert_int_equal(told(number).value, SCAN_TIMEOUT);
	assert_int_equal(begun(100), -EBUSY);
	scan_worker_turn(worker, now_ns); // the child is condemned
	assert_int_equal(begun(100), -EBUSY);
	says(SCAN_WIRE_GONE, -1);
	scan_worker_turn(worker, now_ns);
	begins(100);
}

static void who_has_gone_leaves_the_room(void **state)
{
	struct scan_verdict verdict;

	(void)state;
	scanner_is_ready();
	uint64_t number = sent(100);
	uint64_t id = request().head.id;

	scan_trial_drop(trial, number);
	assert_int_equal(scan_trial_verdict(trial, number, now_ns, &verdict), -ESTALE);
	assert_int_equal(begun(100), -EBUSY);
	answers(id, SCAN_CLEAN);
	number = sent(100);
	answers(request().head.id, SCAN_CLEAN);
	assert_int_equal(told(number).job.id, number);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_is_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(
			one_is_at_hand_until_it_is_forgotten, setup, teardown),
		cmocka_unit_test_setup_teardown(without_an_engine_it_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(a_late_verdict_keeps_the_room, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_gone_leaves_the_room, setup, teardown),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
