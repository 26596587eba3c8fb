// SPDX-License-Identifier: BSD-3-Clause
#include "launched.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char dir[] = "/tmp/sluice-launcher.XXXXXX", hook[128], heard[128], control[128], pidfile[128];
struct gateway gateway;
static char events[] = "-", fixed[] = "--card";

// POSIX shell; $DIR is where the test's files are.
void hook_script(const char *body, mode_t mode)
{
	FILE *file = fopen(hook, "we");

	assert_non_null(file);
	fprintf(file, "#!/bin/sh\nDIR=%s\n%s\n", dir, body);
	fclose(file);
	assert_int_equal(chmod(hook, mode), 0);
	unlink(heard);
}

int launched_begin(void **state)
{
	(void)state;
	if (geteuid() == 0 && unshare(CLONE_NEWNET) < 0) // interfaces are made here
		return -1;
	assert_non_null(mkdtemp(dir));
	snprintf(hook, sizeof hook, "%s/hook", dir);
	snprintf(heard, sizeof heard, "%s/heard", dir);
	snprintf(control, sizeof control, "%s/control.sock", dir);
	snprintf(pidfile, sizeof pidfile, "%s/pid", dir);
	gateway.hook.command[0] = hook;
	gateway.hook.command[1] = fixed;
	gateway.hook.n_command = 2;
	gateway.hook.timeout_s = 5;
	gateway.paths.control = control;
	gateway.paths.pidfile = pidfile;
	gateway.paths.events = events;
	return 0;
}

int launched_end(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

int a_socket_at(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(at.sun_path, path, strnlen(path, sizeof at.sun_path - 1));
	unlink(path);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 1) < 0)
		_exit(97);
	return fd;
}

static void a_pid_at(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || flock(fd, LOCK_EX) < 0 || dprintf(fd, "%d\n", (int)getpid()) < 0)
		_exit(98);
}

// A gateway that lives `life`, in a child. Its exit code, or minus its signal.
int gateway_lives(void (*life)(struct launcher *launcher))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct launcher launcher = {0};
		if (gateway.scan.engine == SCAN_ENGINE_CLAMAV)
			launcher.arena_plus_1 = memfd_create("arena", MFD_CLOEXEC) + 1;
		char err[512] = "";

		if (launcher_start(&launcher, &gateway, "test", err, sizeof err) < 0) {
			fprintf(stderr, "%s\n", err);
			_exit(99);
		}
		a_socket_at(control);
		a_pid_at(pidfile);
		life(&launcher);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

void gone_within(const char *path, unsigned ms)
{
	for (unsigned i = 0; i < ms && is_there(path); i++)
		usleep(1000);
	assert_false(is_there(path));
}
