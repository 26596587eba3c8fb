// SPDX-License-Identifier: BSD-3-Clause
// The scanner of a gateway's launcher: its command line is that of gateway.json, it runs beside the
// hook, and ends with the gateway however that ends.
#include "lib/rig/launched.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char program[160], out[160], tmp[160], database[] = "/db", user[] = "clam";

static void scanner_script(const char *body)
{
	FILE *file = fopen(program, "we");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\nOUT=%s\n%s\n", out, body);
	fclose(file);
	assert_int_equal(chmod(program, 0755), 0);
	unlink(out);
}

static int begin(void **state)
{
	int rc = launched_begin(state);

	snprintf(program, sizeof(program), "%s/scan", dir);
	snprintf(out, sizeof(out), "%s/scanned", dir);
	snprintf(tmp, sizeof(tmp), "%s/tmp", dir);
	gateway.scan.engine = SCAN_ENGINE_CLAMAV;
	gateway.scan.program = program;
	gateway.scan.database = database;
	gateway.scan.tmp = tmp;
	gateway.scan.user = user;
	gateway.scan.timeout_ms = 1;
	gateway.scan.tmp_mb = 2;
	gateway.scan.memory_mb = 3;
	gateway.scan.jobs = 4;
	gateway.scan.max_file_mb = 5;
	gateway.scan.max_scan_mb = 6;
	gateway.scan.max_recursion = 7;
	gateway.scan.max_files = 8;
	gateway.scan.watch = true;
	gateway.scan.watch_s = 9;
	gateway.n_scan = 3;
	return rc;
}

static const char *written(void)
{
	static char text[512];

	for (unsigned i = 0; i < 600; i++) {
		FILE *file = fopen(out, "re");
		size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

		if (file)
			fclose(file);
		text[n] = 0;
		if (strchr(text, '\n'))
			break;
		usleep(5000);
	}
	return text;
}

static unsigned begun(struct launcher *launcher)
{
	struct scan_parent_news news = {0};
	int fds[SCAN_PARENT_CONTROLS_MAX], rc = -EAGAIN;

	if (scan_parent_begin(launcher_scan_fd(launcher)) < 0)
		_exit(1);
	for (unsigned i = 0; i < 600 && rc == -EAGAIN; i++) {
		rc = scan_parent_news(launcher_scan_fd(launcher), &news, fds);
		usleep(5000);
	}
	if (rc || !*written())
		_exit(2);
	return news.n_fds;
}

static void has_three(struct launcher *launcher)
{
	if (begun(launcher) != 3)
		_exit(3);
	launcher_report(launcher, LAUNCHER_FORWARDING);
	launcher_end(launcher, false);
	pid_t pid = (pid_t)strtol(written(), NULL, 10);
	_exit(pid < 2 || kill(pid, 0) == 0 || errno != ESRCH ? 4 : 0);
}

static void its_command_line_is_that_of_gateway_json(void **state)
{
	char expected[512];

	(void)state;
	hook_script("true", 0755);
	scanner_script("echo $$ $* >$OUT; sleep 100");
	assert_int_equal(gateway_lives(has_three), 0);
	snprintf(expected, sizeof(expected),
		" --arena 3 --control 4,5,6 --place 0 --database /db --tmp %s --user clam --tmp-mb "
		"2 "
		"--memory-mb 3 --jobs 4 --max-scan-ms 1 --max-file-mb 5 --max-scan-mb 6 "
		"--max-recursion 7 --max-files 8 --watch-s 9\n",
		tmp);
	assert_string_equal(strchr(written(), ' '), expected);
	assert_true(is_there(tmp));
}

static void dies(struct launcher *launcher)
{
	begun(launcher);
	raise(SIGKILL);
}

static void it_does_not_outlive_a_gateway_that_is_killed(void **state)
{
	(void)state;
	scanner_script("trap '' TERM HUP INT; echo $$ >$OUT; while :; do sleep 1; done");
	assert_int_equal(gateway_lives(dies), -SIGKILL);
	pid_t pid = (pid_t)strtol(written(), NULL, 10);

	assert_true(pid > 1);
	for (unsigned i = 0; i < 600 && kill(pid, 0) == 0; i++)
		usleep(5000);
	assert_int_equal(kill(pid, 0), -1);
}

static void has_none(struct launcher *launcher)
{
	_exit(launcher_scan_fd(launcher) != -1);
}

static void without_the_engine_there_is_none(void **state)
{
	(void)state;
	gateway.scan.engine = SCAN_ENGINE_NONE;
	assert_int_equal(gateway_lives(has_none), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_command_line_is_that_of_gateway_json),
		cmocka_unit_test(it_does_not_outlive_a_gateway_that_is_killed),
		cmocka_unit_test(without_the_engine_there_is_none),
	};

	return cmocka_run_group_tests(tests, begin, launched_end);
}
