// SPDX-License-Identifier: BSD-3-Clause
// Between launcher and scan lcores: the launcher is a true one, the scanner a shell script that
// says nonsense when it is told to. Who does so is killed, whichever was started later.
#include "cmd/run_scan.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_eal.h>

#include "pipeline/vocab/tick.h"
#include "scan/hash_list.h"

static unsigned told;
static char last_state[16], last_reason[192];

void sink_scanner_event(struct sink *sink, uint64_t now_ns, const struct scanner_report *report)
{
	(void)sink;
	(void)now_ns;
	told++;
	snprintf(last_state, sizeof(last_state), "%s", report->state);
	snprintf(last_reason, sizeof(last_reason), "%s", report->reason);
}

static uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static char dir[] = "/tmp/sluice-run-scan-XXXXXX", program[64], tmp[64], denied[64];
static struct dataplane dp = {.clock_ns = clock_now};
static struct gateway gateway = {.n_data = 1,
	.scan = {.engine = SCAN_ENGINE_CLAMAV,
		.max_file_mb = 1,
		.arena_mb = 4,
		.timeout_ms = 1000,
		.flows = 64}};
static struct control_context context = {.dp = &dp, .gateway = &gateway, .now_ns = clock_now};
static struct run_scan scan;
static struct scan_parent parents; // the launcher's half
static uint64_t launcher_ms = 1000000;

static int begin(void **state)
{
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"128"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};
	FILE *file;

	(void)state;
	if (rte_eal_init(8, argv) < 0 || !mkdtemp(dir))
		return -1;
	snprintf(program, sizeof(program), "%s/scan", dir);
	snprintf(tmp, sizeof(tmp), "%s/go", dir);
	snprintf(denied, sizeof(denied), "%s/deny", dir);
	gateway.scan.deny = denied;
	file = fopen(denied, "we");
	if (!file)
		return -1;
	fclose(file);
	file = fopen(program, "we");
	if (!file)
		return -1;
	// $6 is its place: each speaks when its file is there.
	fprintf(file,
		"#!/bin/sh\nwhile [ ! -e %s$6 ]; do sleep 0.02; done\nprintf nonsense >&4\n"
		"sleep 60\n",
		tmp);
	fclose(file);
	context.sink = (struct sink *)&told; // only ever passed on
	return chmod(program, 0755);
}

static int end(void **state)
{
	char path[80];

	(void)state;
	for (unsigned place = 0; place < 2; place++) {
		snprintf(path, sizeof(path), "%s%u", tmp, place);
		unlink(path);
	}
	unlink(program);
	unlink(denied);
	return rmdir(dir);
}

static void speak(unsigned place, bool now)
{
	char path[80];

	snprintf(path, sizeof(path), "%s%u", tmp, place);
	if (now)
		close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	else
		unlink(path);
}

static bool lives(uint32_t number)
{
	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		if (parents.places[i].pid && parents.places[i].number == number)
			return true;
	return false;
}

// Until `number` lives, or does not.
static void comes_to(uint32_t number, bool alive)
{
	for (unsigned ms = 0; ms < 10000 && lives(number) != alive; ms += 10) {
		scan_parent_hear(&parents);
		scan_parent_step(&parents, 0, launcher_ms);
		run_scan_tick(&scan, 1);
		usleep(10000);
	}
	assert_int_equal(lives(number), alive);
}

static void settle(void)
{
	for (unsigned ms = 0; ms < 10000 && scan.reload.state != SCAN_RELOAD_IDLE; ms += 10) {
		scan_parent_hear(&parents);
		scan_parent_step(&parents, 0, launcher_ms);
		run_scan_tick(&scan, 1);
		usleep(10000);
	}
	assert_int_equal(scan.reload.state, SCAN_RELOAD_IDLE);
}

static void lists(const char *text)
{
	FILE *file = fopen(denied, "we");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static bool denies(void)
{
	static const uint8_t zeros[32];
	struct scan_known known;

	return scan_lists_find(dp.scan->lists, zeros, &known);
}

// A wrong line costs neither the lists in force nor a scan parent.
static void the_lists_are_read_by_a_reload(void)
{
	static const char zeros[] =
		"0000000000000000000000000000000000000000000000000000000000000000  Zero\n";
	const char *why;
	char where[80];

	snprintf(where, sizeof(where), "%s:2", denied);
	lists(zeros);
	assert_false(denies());
	lists("# a list\nnonsense\n");
	why = context.scan_reloads->ask(context.scan_reloads->ctx);
	assert_non_null(why);
	assert_non_null(strstr(why, where));
	assert_false(denies());
	assert_false(context.scan_reloads->is_loading);
	lists(zeros);
}

static void who_says_nonsense_is_killed_whatever_its_number(void **state)
{
	static char *words[] = {NULL};
	struct launcher launcher = {0};
	char err[200];
	int ends[2];

	(void)state;
	assert_int_equal(run_scan_arena(&scan, &gateway, &launcher, err, sizeof(err)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	launcher.scan_fd_plus_1 = ends[0] + 1;
	scan_parent_init(&parents,
		&(struct scan_parent_plan){.program = program,
			.words = words,
			.arena = scan.arena.fd,
			.n_controls = 1},
		ends[1]);
	assert_int_equal(run_scan_new(&scan, &context, &launcher, err, sizeof(err)), 0);
	assert_non_null(context.scan_reloads);
	comes_to(1, true);

	the_lists_are_read_by_a_reload();
	assert_null(context.scan_reloads->ask(context.scan_reloads->ctx));
	assert_non_null(context.scan_reloads->ask(context.scan_reloads->ctx)); // under way
	assert_true(context.scan_reloads->is_loading);
	assert_true(denies());
	comes_to(2, true);
	speak(1, true);
	comes_to(2, false);
	assert_true(lives(1)); // the old one stays
	settle();
	assert_int_equal(told, 1);
	assert_string_equal(last_state, "refused");
	assert_true(last_reason[0]);
	assert_int_equal(context.scan_reloads->refused, 1);
	assert_string_equal(context.scan_reloads->refusal, last_reason);

	speak(0, true); // the one that was started before it
	comes_to(1, false);
	assert_int_equal(told, 2);
	assert_string_equal(last_state, "gone");
	speak(0, false);
	launcher_ms += 60000;
	comes_to(3, true);

	close(ends[1]); // the launcher dies
	run_scan_tick(&scan, 1);
	assert_true(scan.is_lost);
	assert_non_null(context.scan_reloads->ask(context.scan_reloads->ctx));
	run_scan_free(&scan);
	assert_null(context.scan_reloads);
	parents.socket = -1;
	scan_parent_end(&parents, 100);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_says_nonsense_is_killed_whatever_its_number),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
