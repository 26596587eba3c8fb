// SPDX-License-Identifier: BSD-3-Clause
// Who runs the scanner for a gateway: what it is handed, when it is started again, and that its
// death is told only when its whole group is dead. The scanner is a shell script; the clock is the
// test's, but for what the kernel needs to end a process.
#include "process/scan_parent.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/sluice-scan-parent-XXXXXX";
static char program[64], out[64];
static struct scan_parent parent;
static struct scan_parent_news news;
static int fds[SCAN_PARENT_CONTROLS_MAX], gateway; // its end
static uint64_t now_ms;

static void script(const char *body)
{
	FILE *file = fopen(program, "we");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\nOUT=%s\n%s\n", out, body);
	fclose(file);
	assert_int_equal(chmod(program, 0755), 0);
}

static int begin_all(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(program, sizeof(program), "%s/scan", dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	return 0;
}

static int end_all(void **state)
{
	(void)state;
	unlink(program);
	unlink(out);
	return rmdir(dir);
}

static int setup(void **state)
{
	static char words[][16] = {"--database", "/db dir"};
	static char *argv[] = {words[0], words[1], NULL};
	const struct scan_parent_plan plan = {.program = program,
		.words = argv,
		.arena = memfd_create("arena", MFD_CLOEXEC),
		.n_controls = 2};
	int ends[2];

	(void)state;
	unlink(out);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	now_ms = 1000000;
	gateway = ends[1];
	scan_parent_init(&parent, &plan, ends[0]);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	close(gateway);
	scan_parent_end(&parent, 0 /* at once */);
	scan_parent_end(&parent, 1000);
	close(parent.socket);
	close(parent.plan.arena);
	return parent.places[0].pid || parent.places[1].pid;
}

static int turn(void)
{
	assert_true(scan_parent_hear(&parent));
	return scan_parent_step(&parent, 0, now_ms);
}

// The next news; `ms` of true time at most.
static int hears_within(unsigned ms)
{
	int rc = -EAGAIN;

	for (unsigned i = 0; rc == -EAGAIN && i <= ms; i += 5) {
		turn();
		rc = scan_parent_news(gateway, &news, fds);
		if (rc == -EAGAIN)
			usleep(5000);
	}
	return rc;
}

static void close_fds(void)
{
	for (unsigned i = 0; i < news.n_fds; i++)
		close(fds[i]);
}

static void is_started(uint32_t number)
{
	assert_int_equal(hears_within(3000), 0);
	assert_int_equal(news.parent, number);
	assert_int_equal(news.n_fds, 2);
}

static void is_dead(uint32_t number)
{
	assert_int_equal(hears_within(5000), 0);
	assert_int_equal(news.parent, number);
	assert_int_equal(news.n_fds, 0);
}

static const char *written(unsigned lines)
{
	static char text[2048];

	for (unsigned i = 0; i < 600; i++) {
		FILE *file = fopen(out, "re");
		size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
		unsigned found = 0;

		if (file)
			fclose(file);
		text[n] = 0;
		for (size_t j = 0; j < n; j++)
			found += text[j] == '\n';
		if (found >= lines)
			break;
		usleep(5000);
	}
	return text;
}

static void it_is_handed_what_it_needs_and_nothing_else(void **state)
{
	int leak = dup(STDERR_FILENO); // not close-on-exec

	(void)state;
	// by a child: a shell has descriptors of its own for pipes and redirections
	script("ls /proc/$$/fd >$OUT.fds & wait; echo \"$*\" >$OUT; tr '\\n' ' ' <$OUT.fds >>$OUT; "
	       "rm $OUT.fds; echo >>$OUT; readlink "
	       "/proc/$$/fd/3 >>$OUT; "
	       "env | grep -v -e PWD -e _= -e SHLVL | sort >>$OUT; pwd >>$OUT; "
	       "echo $(ps -o pgid= -p $$) $$ >>$OUT; sleep 100");
	assert_int_equal(turn(), -1); // not before it is wished for
	assert_int_equal(parent.places[0].pid, 0);
	assert_int_equal(scan_parent_begin(gateway), 0);
	is_started(1);
	char expected[512];

	snprintf(expected, sizeof(expected),
		"--arena 3 --control 4,5 --place 0 --database /db dir\n0 1 10 2 3 4 5 "
		"\n/memfd:arena "
		"(deleted)\nLANG=C\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\n/\n%d %d\n",
		(int)parent.places[0].pid, (int)parent.places[0].pid);
	assert_string_equal(written(7), expected);
	close(leak);
	close_fds();
}

static void sockets_lead_to_it(void **state)
{
	char byte = 0;

	(void)state;
	script("printf a >&4; printf b >&5; sleep 100");
	scan_parent_begin(gateway);
	is_started(1);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(read(fds[i], &byte, 1), 1);
		assert_int_equal(byte, 'a' + (char)i);
	}
	close_fds();
}

static void who_dies_is_started_again_ever_later(void **state)
{
	(void)state;
	script("exit 3");
	scan_parent_begin(gateway);
	for (uint32_t number = 1; number <= 8; number++) {
		static const unsigned waits[] = {1, 2, 4, 8, 16, 32, 60, 60};

		is_started(number);
		close_fds();
		is_dead(number);
		now_ms += waits[number - 1] * 1000 - 1;
		assert_int_equal(hears_within(20), -EAGAIN);
		now_ms++;
	}
	is_started(9);
	close_fds();
	now_ms += 60000; // it has lived
	is_dead(9);
	now_ms += 1000;
	is_started(10);
	close_fds();
}

// Its children outlive it: what was with one of them may still be read.
static void its_death_is_told_when_its_children_are_dead(void **state)
{
	(void)state;
	script("(trap '' HUP TERM INT; echo $(exec sh -c 'echo $PPID') >>$OUT; sleep 100; sleep "
	       "100) &"
	       "\necho $! >>$OUT; sleep 100");
	scan_parent_begin(gateway);
	is_started(1);
	close_fds();
	int child = (int)strtol(written(1), NULL, 10);

	assert_true(child > 1);
	assert_int_equal(kill(child, 0), 0);
	kill(parent.places[0].pid, SIGKILL);
	is_dead(1);
	assert_int_equal(kill(child, 0), -1);
	assert_int_equal(errno, ESRCH); // reaped, too
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void it_is_killed_when_the_gateway_says_so(void **state)
{
	(void)state;
	script("trap '' TERM INT; echo x >$OUT; while :; do sleep 1; done");
	scan_parent_begin(gateway);
	is_started(1);
	written(1);
	assert_int_equal(scan_parent_kill(gateway, 2), 0); // not that one
	assert_int_equal(hears_within(100), -EAGAIN);
	assert_int_equal(kill(parent.places[0].pid, 0), 0);
	assert_int_equal(scan_parent_kill(gateway, 1), 0);
	is_dead(1);
	close_fds();
	now_ms += 1000;
	is_started(2);
	close_fds();
}

static void one_that_is_not_installed_is_looked_for(void **state)
{
	(void)state;
	unlink(program);
	scan_parent_begin(gateway);
	assert_int_equal(hears_within(20), -EAGAIN);
	assert_true(parent.is_missing);
	assert_int_equal(parent.places[0].pid, 0);
	script("sleep 100");
	assert_int_equal(hears_within(20), -EAGAIN);
	now_ms += 60000;
	is_started(1);
	close_fds();
}

static void one_that_others_can_change_is_not_started(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	script("sleep 100");
	assert_int_equal(chmod(program, 0777), 0);
	scan_parent_begin(gateway);
	assert_int_equal(hears_within(20), -EAGAIN);
	assert_int_equal(parent.places[0].pid, 0);
	assert_int_equal(chmod(program, 0755), 0);
	now_ms += 60000;
	is_started(1);
	close_fds();
}

// A child of the caller's is left to it, others are reaped.
static void what_others_leave_is_reaped(void **state)
{
	pid_t spare = fork();

	(void)state;
	if (spare == 0)
		_exit(7);
	pid_t stranger = fork();

	if (stranger == 0)
		_exit(0);
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)spare, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(waitid(P_PID, (id_t)stranger, &info, WEXITED | WNOWAIT), 0);
	scan_parent_step(&parent, spare, now_ms);
	int status = 0;

	assert_int_equal(waitpid(spare, &status, WNOHANG), spare);
	assert_int_equal(WEXITSTATUS(status), 7);
	scan_parent_step(&parent, 0, now_ms);
	assert_int_equal(waitpid(stranger, NULL, WNOHANG), -1);
}

static void it_ends_with_its_gateway(void **state)
{
	(void)state;
	script("trap '' TERM; cat <&4 >/dev/null; echo ended >$OUT"); // as long as a socket is open
	scan_parent_begin(gateway);
	is_started(1);
	close_fds();
	pid_t pid = parent.places[0].pid;

	scan_parent_end(&parent, 5000);
	assert_string_equal(written(1), "ended\n");
	assert_int_equal(parent.places[0].pid, 0);
	assert_int_equal(kill(pid, 0), -1);
	assert_false(parent.places[0].is_killed);
}

static void a_gateway_that_has_gone_is_heard_of(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	close(gateway);
	gateway = ends[0];
	close(ends[1]);
	assert_false(scan_parent_hear(&parent));
	assert_int_equal(scan_parent_begin(gateway), -EPIPE);
	assert_int_equal(scan_parent_news(gateway, &news, fds), -EPIPE);
}

static void is_refused(void)
{
	assert_int_equal(hears_within(3000), 0);
	assert_int_equal(news.parent, 0);
	assert_int_equal(news.n_fds, 0);
}

// Two beside each other: each has a place, and each death is told by its number.
static void one_aside_has_a_place_of_its_own(void **state)
{
	(void)state;
	script("echo $6 >>$OUT; cat <&4 >/dev/null");
	scan_parent_begin(gateway);
	is_started(1);
	int first[2] = {fds[0], fds[1]};

	assert_string_equal(written(1), "0\n");
	assert_int_equal(scan_parent_aside(gateway), 0);
	is_started(2);
	assert_string_equal(written(2), "0\n1\n");
	assert_int_equal(scan_parent_aside(gateway), 0);
	is_refused(); // there is no third
	close(first[0]);
	close(first[1]);
	is_dead(1);                                   // it was let go
	assert_int_equal(hears_within(100), -EAGAIN); // and no other is started in its place
	now_ms += 120000;
	assert_int_equal(hears_within(100), -EAGAIN);
	assert_int_equal(scan_parent_aside(gateway), 0);
	is_started(3);
	assert_string_equal(written(3), "0\n1\n0\n");
	close_fds(); // it is not taken
	is_dead(3);
	assert_true(parent.places[1].pid > 0);
	assert_int_equal(kill(parent.places[1].pid, 0), 0);
}

static void the_last_of_two_is_started_again(void **state)
{
	(void)state;
	script("echo x >>$OUT; sleep 100");
	scan_parent_begin(gateway);
	is_started(1);
	close_fds();
	scan_parent_aside(gateway);
	is_started(2);
	close_fds();
	written(2);
	assert_int_equal(scan_parent_kill(gateway, 2), 0);
	is_dead(2);
	assert_int_equal(kill(parent.places[0].pid, 0), 0);
	assert_int_equal(scan_parent_kill(gateway, 1), 0);
	is_dead(1);
	assert_int_equal(hears_within(50), -EAGAIN);
	now_ms += 1000;
	is_started(3);
	close_fds();
}

static void one_aside_of_none_is_the_next(void **state)
{
	(void)state;
	script("exit 3");
	assert_int_equal(scan_parent_aside(gateway), 0);
	assert_int_equal(hears_within(50), -EAGAIN); // nobody has wished for a scanner
	scan_parent_begin(gateway);
	is_started(1);
	close_fds();
	is_dead(1);
	assert_int_equal(hears_within(50), -EAGAIN);
	scan_parent_aside(gateway);
	is_started(2); // without waiting
	close_fds();
	is_dead(2);
	assert_int_equal(hears_within(50), -EAGAIN);
	unlink(program);
	scan_parent_aside(gateway);
	is_refused();
	assert_int_equal(hears_within(50), -EAGAIN);
}

static void one_that_is_made_anew_is_not_waited_for(void **state)
{
	(void)state;
	script("echo x >>$OUT; sleep 100");
	scan_parent_begin(gateway);
	is_started(1);
	close_fds();
	written(1);
	assert_int_equal(scan_parent_anew(gateway), 0);
	assert_int_equal(hears_within(50), -EAGAIN); // it runs still
	assert_int_equal(scan_parent_kill(gateway, 1), 0);
	is_dead(1);
	is_started(2);
	close_fds();
	written(2);
	assert_int_equal(scan_parent_kill(gateway, 2), 0);
	is_dead(2);
	assert_int_equal(hears_within(50), -EAGAIN); // once
}

// It hears nothing while it loads: to end it then is no fault of it.
static void one_that_loads_at_the_end_has_done_nothing_wrong(void **state)
{
	char text[512] = "";
	int log[2], before = dup(STDERR_FILENO);

	(void)state;
	script("trap '' TERM HUP; echo x >$OUT; while :; do sleep 1; done");
	scan_parent_begin(gateway);
	is_started(1);
	close_fds();
	written(1);
	assert_int_equal(pipe(log), 0);
	dup2(log[1], STDERR_FILENO);
	close(log[1]);
	scan_parent_end(&parent, 100);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_true(read(log[0], text, sizeof(text) - 1) > 0);
	close(log[0]);
	assert_non_null(strstr(text, "was ended with its gateway"));
	assert_null(strstr(text, "did not do as it was asked"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_handed_what_it_needs_and_nothing_else),
		TEST(sockets_lead_to_it),
		TEST(who_dies_is_started_again_ever_later),
		TEST(its_death_is_told_when_its_children_are_dead),
		TEST(it_is_killed_when_the_gateway_says_so),
		TEST(one_that_is_not_installed_is_looked_for),
		TEST(one_that_others_can_change_is_not_started),
		TEST(what_others_leave_is_reaped),
		TEST(it_ends_with_its_gateway),
		TEST(a_gateway_that_has_gone_is_heard_of),
		TEST(one_aside_has_a_place_of_its_own),
		TEST(the_last_of_two_is_started_again),
		TEST(one_aside_of_none_is_the_next),
		TEST(one_that_is_made_anew_is_not_waited_for),
		TEST(one_that_loads_at_the_end_has_done_nothing_wrong),
	};

	return cmocka_run_group_tests(tests, begin_all, end_all);
}
