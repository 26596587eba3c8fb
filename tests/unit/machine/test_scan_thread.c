// SPDX-License-Identifier: BSD-3-Clause
// A scan lcore's thread asleep: what wakes it is mail from the control core, and what its engine
// hears from its scanner.
#include "machine/scan_thread.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>

#include "pipeline/vocab/tick.h"

static uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static struct dataplane dp = {.clock_ns = clock_now};
static struct gateway gateway = {
	.n_data = 1, .scan = {.engine = SCAN_ENGINE_CLAMAV, .max_file_mb = 1}};

static int start(void **state)
{
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"128"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};

	(void)state;
	return rte_eal_init(8, argv) < 0;
}

static struct scan_threads *threads_new(void)
{
	struct scan_threads *threads;
	char err[200];

	assert_int_equal(scan_threads_new(&dp, &gateway, NULL, &threads, err, sizeof(err)), 0);
	assert_int_equal(scan_threads_count(threads), 1);
	return threads;
}

static struct scan_status comes_to(struct scan_threads *threads, enum scan_state state)
{
	struct scan_status status;

	for (unsigned ms = 0; ms < 5000; ms += 5) {
		assert_true(scan_threads_status(threads, 0, &status));
		if (status.state == state)
			break;
		usleep(5000);
	}
	assert_int_equal(status.state, state);
	return status;
}

static void says(int control, enum scan_wire_kind kind, uint64_t id, int fd)
{
	struct scan_wire_control message = {.pid = 4711, .signatures = 5};

	scan_wire_head_set(&message.head, kind, id);
	assert_int_equal(scan_wire_send(control, &message, sizeof(message), fd), 0);
}

// Nothing is due by the clock: only its sockets can wake it.
static void it_wakes_for_its_scanner(void **state)
{
	struct scan_threads *threads = threads_new();
	int control[2], file[2];
	char byte;

	(void)state;
	assert_false(scan_threads_status(threads, 1, &(struct scan_status){0}));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, file), 0);
	usleep(50000); // it sleeps
	assert_int_equal(
		scan_threads_tell(threads, 0, &(struct scan_news){.fd = control[1], .parent = 1}),
		0);
	comes_to(threads, SCAN_STATE_LOADING);
	usleep(50000);
	says(control[0], SCAN_WIRE_BORN, 1, file[1]);
	assert_int_equal(comes_to(threads, SCAN_STATE_READY).signatures, 5);
	close(file[1]);
	close(file[0]);
	comes_to(threads, SCAN_STATE_WAITING);
	says(control[0], SCAN_WIRE_GONE, 1, -1);
	close(control[0]);
	comes_to(threads, SCAN_STATE_ABSENT);
	assert_int_equal(
		scan_threads_tell(threads, 0, &(struct scan_news){.fd = -1, .parent = 1}), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
	assert_int_equal(
		scan_threads_tell(threads, 0, &(struct scan_news){.fd = control[1], .parent = 2}),
		0);
	comes_to(threads, SCAN_STATE_LOADING);
	scan_threads_free(threads);
	assert_int_equal(read(control[0], &byte, 1), 0); // nothing stays open
	close(control[0]);
}

// A thread that is gone reads no mail: its room has an end, and what is in it is closed.
static void mail_has_an_end(void **state)
{
	struct scan_threads *threads = threads_new();
	int control[2], rc = 0;
	unsigned n = 0;
	char byte;

	(void)state;
	scan_threads_stop(threads);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, control), 0);
	assert_int_equal(
		scan_threads_tell(threads, 0, &(struct scan_news){.fd = control[1], .parent = 1}),
		0);
	while (!rc && n < 100) {
		rc = scan_threads_tell(threads, 0, &(struct scan_news){.fd = -1, .parent = 1});
		n += !rc;
	}
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(n, 15);
	scan_threads_free(threads);
	assert_int_equal(read(control[0], &byte, 1), 0);
	close(control[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_wakes_for_its_scanner),
		cmocka_unit_test(mail_has_an_end),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
