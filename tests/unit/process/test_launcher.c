// SPDX-License-Identifier: BSD-3-Clause
// The launcher over a gateway's life and death: which words the hook hears, what is removed. The
// gateway is a child of the test; its launcher outlives it.
#include "lib/rig/launched.h"

#include <errno.h>
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
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "process/launcher_process.h"
#include "base/options.h"

static const char *words(void)
{
	static char text[4096];
	FILE *file = fopen(heard, "re");
	size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;

	text[n] = '\0';
	if (file)
		fclose(file);
	return text;
}

// The launcher's writing may come a little after its gateway's end.
static void hears(const char *expected)
{
	for (unsigned i = 0; i < 300 && strcmp(words(), expected) != 0; i++)
		usleep(10000);
	assert_string_equal(words(), expected);
}

static void in_order(struct launcher *launcher)
{
	launcher_report(launcher, LAUNCHER_FORWARDING);
	launcher_report(launcher, LAUNCHER_STALLED);
	launcher_report(launcher, LAUNCHER_RECOVERED);
	launcher_report(launcher, LAUNCHER_STOPPING);
	launcher_end(launcher, false);
}

static void an_orderly_life(void **state)
{
	(void)state;
	hook_script("echo $1 $2 >>$DIR/heard", 0755);
	assert_int_equal(gateway_lives(in_order), 0);
	hears("--card forwarding\n--card stalled\n--card recovered\n--card stopping\n");
}

static void dies(struct launcher *launcher)
{
	launcher_report(launcher, LAUNCHER_FORWARDING);
	raise(SIGKILL);
}

static void a_killed_gateway_has_failed_and_leaves_nothing(void **state)
{
	(void)state;
	hook_script("echo $2 >>$DIR/heard", 0755);
	assert_int_equal(gateway_lives(dies), -SIGKILL);
	hears("forwarding\nfailed\n");
	assert_false(is_there(control)); // cleaned before the hook was reported
	assert_false(is_there(pidfile));
}

// Another gateway has taken the file over, and does not hold its lock yet.
static void dies_after_another(struct launcher *launcher)
{
	FILE *file = fopen(pidfile, "we");

	fprintf(file, "%d\n", (int)getppid());
	fclose(file);
	dies(launcher);
}

static void a_pidfile_of_another_gateway_stays(void **state)
{
	(void)state;
	hook_script("echo $2 >>$DIR/heard", 0755);
	assert_int_equal(gateway_lives(dies_after_another), -SIGKILL);
	hears("forwarding\nfailed\n");
	assert_false(is_there(control));
	assert_true(is_there(pidfile));
	unlink(pidfile);
}

static void dies_early(struct launcher *launcher)
{
	(void)launcher;
	raise(SIGKILL);
}

static void ends_badly(struct launcher *launcher)
{
	launcher_report(launcher, LAUNCHER_FORWARDING);
	launcher_end(launcher, true);
}

static void who_never_forwarded_has_not_failed(void **state)
{
	(void)state;
	hook_script("echo $2 >>$DIR/heard", 0755);
	assert_int_equal(gateway_lives(dies_early), -SIGKILL);
	gone_within(control, 3000);
	usleep(100000);
	assert_string_equal(words(), "");
	assert_int_equal(gateway_lives(ends_badly), 0);
	hears("forwarding\nfailed\n");
}

// launcher_end returns when all is clean, even while the hook runs.
static void ends_and_looks(struct launcher *launcher)
{
	struct timespec began, now;

	launcher_report(launcher, LAUNCHER_FORWARDING);
	launcher_report(launcher, LAUNCHER_STOPPING);
	clock_gettime(CLOCK_MONOTONIC, &began);
	// As undo() does: nothing is open any more.
	for (int fd = 3; fd < 64; fd++) {
		if (fd != launcher->fd_plus_1 - 1)
			close(fd);
	}
	launcher_end(launcher, false);
	clock_gettime(CLOCK_MONOTONIC, &now);
	_exit(is_there(control) || is_there(pidfile) || now.tv_sec - began.tv_sec > 2);
}

static void a_slow_hook_is_killed_and_delays_nobody(void **state)
{
	(void)state;
	gateway.hook.timeout_s = 1;
	// The child of the hook must go with it.
	hook_script("echo $2 >>$DIR/heard; (sleep 30; echo late >>$DIR/heard) & sleep 30", 0755);
	assert_int_equal(gateway_lives(ends_and_looks), 0);
	hears("forwarding\nstopping\n");
	gateway.hook.timeout_s = 5;
}

static void environment_is_ours(struct launcher *launcher)
{
	launcher_report(launcher, LAUNCHER_FORWARDING);
	launcher_end(launcher, false);
}

static void the_command_sees_nothing_of_ours(void **state)
{
	(void)state;
	setenv("SECRET", "x", 1);
	int leak = open("/dev/zero", O_RDONLY); // without O_CLOEXEC
	hook_script("exec >>$DIR/heard\nenv | grep -v -e PWD -e _= -e SHLVL | grep -v SLUICE_PID |"
		    " sort\nls -l /proc/$$/fd | grep -o /dev/zero\npwd\nread x || "
		    "echo eof",
		0755);
	assert_int_equal(gateway_lives(environment_is_ours), 0);
	hears("LANG=C\nPATH=/usr/sbin:/usr/bin:/sbin:/bin\nSLUICE_WORD=forwarding\n/\neof\n");
	close(leak);
	unsetenv("SECRET");
}

static void tells_its_pid(struct launcher *launcher)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof path, "%s/pid", dir);
	file = fopen(path, "we");
	fprintf(file, "%d\n", (int)getpid());
	fclose(file);
	launcher_report(launcher, LAUNCHER_FORWARDING);
	launcher_end(launcher, false);
}

static void the_command_knows_whose_word_it_is(void **state)
{
	(void)state;
	hook_script(
		"echo $2 $SLUICE_WORD $((SLUICE_PID - $(cat $DIR/pid))) >>$DIR/heard\nrm $DIR/pid",
		0755);
	assert_int_equal(gateway_lives(tells_its_pid), 0);
	hears("forwarding forwarding 0\n");
}

static void beats(struct launcher *launcher)
{
	launcher_report(launcher, LAUNCHER_FORWARDING);
	for (unsigned i = 0; i < 5; i++) { // the first is still at work
		launcher_report(launcher, LAUNCHER_HEARTBEAT);
		usleep(10000);
	}
	usleep(600000);
	launcher_report(launcher, LAUNCHER_HEARTBEAT);
	usleep(600000);
	launcher_end(launcher, false);
}

static void heartbeats_never_queue(void **state)
{
	(void)state;
	hook_script("echo $2 >>$DIR/heard; sleep 0.3", 0755);
	assert_int_equal(gateway_lives(beats), 0);
	hears("forwarding\n"); // not asked for
	gateway.hook.heartbeat = true;
	unlink(heard);
	assert_int_equal(gateway_lives(beats), 0);
	hears("forwarding\nheartbeat\n");
	gateway.hook.heartbeat = false;
}

static void a_hook_that_others_can_change_is_refused(void **state)
{
	struct launcher launcher = {0};
	char err[512] = "";

	(void)state;
	hook_script("true", 0644);
	assert_int_equal(launcher_start(&launcher, &gateway, "x", err, sizeof err), -EACCES);
	assert_non_null(strstr(err, hook));
	if (geteuid() == 0) {
		hook_script("true", 0777);
		assert_int_equal(launcher_start(&launcher, &gateway, "x", err, sizeof err), -EPERM);
		assert_non_null(strstr(err, "chmod go-w"));
		hook_script("true", 0755);
		assert_int_equal(chmod(dir, 0775), 0); // who may write there may put another
		assert_int_equal(launcher_start(&launcher, &gateway, "x", err, sizeof err), -EPERM);
		assert_non_null(strstr(err, "others can change /"));
		assert_int_equal(chmod(dir, 0700), 0);
	}
	unlink(hook);
	assert_int_equal(launcher_start(&launcher, &gateway, "x", err, sizeof err), -ENOENT);
	assert_int_equal(launcher.fd_plus_1, 0);
}

static void without_a_hook_it_only_cleans(void **state)
{
	(void)state;
	gateway.hook.n_command = 0;
	assert_int_equal(gateway_lives(dies), -SIGKILL);
	gone_within(control, 3000);
	gone_within(pidfile, 3000);
	gateway.hook.n_command = 2;
}

static void is_killed_itself(struct launcher *launcher)
{
	kill(launcher->pid, SIGTERM); // it has no ear for that
	launcher_report(launcher, LAUNCHER_FORWARDING);
	usleep(200000);
	kill(launcher->pid, SIGKILL);
	waitpid(launcher->pid, NULL, 0);
	launcher_report(launcher, LAUNCHER_STALLED);
	if (!launcher->lost)
		_exit(1);
	launcher_report(launcher, LAUNCHER_RECOVERED);
	launcher_end(launcher, false);
}

static void the_gateway_lives_on_without_it(void **state)
{
	char path[128], log[1024] = "";
	int before = dup(STDERR_FILENO);

	(void)state;
	snprintf(path, sizeof path, "%s/log", dir);
	hook_script("echo $2 >>$DIR/heard", 0755);
	assert_non_null(freopen(path, "we", stderr));
	int code = gateway_lives(is_killed_itself);

	dup2(before, STDERR_FILENO);
	close(before);
	assert_int_equal(code, 0);
	hears("forwarding\n");
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	log[fread(log, 1, sizeof log - 1, file)] = '\0';
	fclose(file);
	const char *told = strstr(log, "the launcher has died");

	assert_non_null(told);
	assert_null(strstr(told + 1, "the launcher has died")); // once
}

// What another gateway has put in its place stays; so does what is no socket.
static void only_dead_sockets_are_removed(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof path, "%s/live.sock", dir);
	int fd = a_socket_at(path);
	launcher_remove_socket(path, SOCK_STREAM);
	assert_true(is_there(path));
	close(fd);
	launcher_remove_socket(path, SOCK_STREAM);
	assert_false(is_there(path));
	hook_script("true", 0755);
	launcher_remove_socket(hook, SOCK_STREAM);
	assert_true(is_there(hook));
}

static void dies_slowly(struct launcher *launcher)
{
	launcher_report(launcher, LAUNCHER_FORWARDING);
	usleep(300000);
	raise(SIGKILL);
}

// The next gateway's launcher waits for the cleaning, not for the hook's "failed".
static void the_next_one_waits_for_the_cleaning(void **state)
{
	struct launcher launcher = {0};
	char err[512] = "";

	(void)state;
	hook_script("echo $2 >>$DIR/heard; test $2 = forwarding || sleep 2", 0755);
	assert_int_equal(gateway_lives(dies_slowly), -SIGKILL);
	assert_int_equal(launcher_start(&launcher, &gateway, "test", err, sizeof err), 0);
	assert_false(is_there(control));
	assert_false(is_there(pidfile));
	launcher_end(&launcher, false);
	hears("forwarding\nfailed\n");
}

// Anybody can sit on the name of a launcher; nobody waits for him.
static void a_stranger_on_its_name_is_not_waited_for(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct launcher launcher = {0};
	uint64_t hash = 14695981039346656037ull;
	char err[512] = "", byte, another[128];
	int ready[2];

	(void)state;
	if (geteuid() != 0)
		skip();
	hook_script("true", 0755);
	snprintf(another, sizeof another, "%s/another.sock", dir);
	gateway.paths.control = another;
	for (const char *c = another; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211ull;
	int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
		"sluice-launcher-%016llx", (unsigned long long)hash);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
		if (setuid(65534) || bind(fd, (const struct sockaddr *)&address, length) ||
			listen(fd, 1) || write(ready[1], "", 1) != 1)
			_exit(1);
		alarm(20); // if the test fails
		pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	uint64_t begin_ms = launcher_now_ms();
	assert_int_equal(launcher_start(&launcher, &gateway, "test", err, sizeof err), 0);
	assert_true(launcher_now_ms() - begin_ms < 1000);
	launcher_end(&launcher, false);
	gateway.paths.control = control;
	close(ready[0]);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_orderly_life),
		cmocka_unit_test(a_killed_gateway_has_failed_and_leaves_nothing),
		cmocka_unit_test(a_pidfile_of_another_gateway_stays),
		cmocka_unit_test(who_never_forwarded_has_not_failed),
		cmocka_unit_test(a_slow_hook_is_killed_and_delays_nobody),
		cmocka_unit_test(the_command_sees_nothing_of_ours),
		cmocka_unit_test(the_command_knows_whose_word_it_is),
		cmocka_unit_test(heartbeats_never_queue),
		cmocka_unit_test(a_hook_that_others_can_change_is_refused),
		cmocka_unit_test(without_a_hook_it_only_cleans),
		cmocka_unit_test(the_gateway_lives_on_without_it),
		cmocka_unit_test(only_dead_sockets_are_removed),
		cmocka_unit_test(the_next_one_waits_for_the_cleaning),
		cmocka_unit_test(a_stranger_on_its_name_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, launched_begin, launched_end);
}
