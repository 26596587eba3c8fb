// SPDX-License-Identifier: BSD-3-Clause
// Processes, namespaces, clocks, and the words of the command line.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tp.h"

static volatile sig_atomic_t expired;

uint64_t tp_now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t tp_cpu_ns(pid_t pid)
{
	clockid_t clock;
	struct timespec time;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void on_alarm(int number)
{
	(void)number;
	expired = 1;
}

void tp_deadline(double seconds)
{
	// Rings on: a call that begins right after the first bell must not sleep for ever.
	struct itimerval bell = {};
	bell.it_value.tv_sec = (time_t)seconds;
	bell.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
	bell.it_interval.tv_usec = seconds > 0 ? 50000 : 0;
	const struct sigaction action = {.sa_handler = on_alarm};
	expired = 0;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &bell, NULL);
}

bool tp_expired(void)
{
	return expired;
}

int tp_pin(int cpu)
{
	cpu_set_t set;
	if (cpu < 0)
		return 0;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

int tp_enter_namespace(const char *name)
{
	char path[256];
	if (!name || !*name)
		return 0;
	snprintf(path, sizeof(path), "/run/netns/%s", name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int error = setns(fd, CLONE_NEWNET) ? -errno : 0;
	close(fd);
	return error;
}

int tp_fork(struct tp_child *child, int *to_parent)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	const pid_t parent = getpid();
	pid_t pid = fork();
	if (pid < 0) {
		int error = -errno;
		close(ends[0]);
		close(ends[1]);
		return error;
	}
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(1);
		close(ends[0]);
		*to_parent = ends[1];
		return 0;
	}
	close(ends[1]);
	*child = (struct tp_child){.pid = pid, .from_child = ends[0]};
	return 1;
}

void tp_reap(struct tp_child *child)
{
	if (child->pid <= 0)
		return;
	close(child->from_child);
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
		;
	child->pid = 0;
}

void tp_usage(const char *program, const char *format, ...)
{
	va_list words;
	fprintf(stderr, "%s: ", program);
	va_start(words, format);
	vfprintf(stderr, format, words);
	va_end(words);
	fprintf(stderr, "; %s --help tells the options\n", program);
	exit(2);
}

long tp_number(const char *program, const char *option, const char *text, long least, long most)
{
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most)
		tp_usage(program, "%s %s: not a whole number from %ld to %ld", option, text, least,
			most);
	return value;
}

unsigned tp_numbers(const char *program, const char *option, const char *text, uint32_t *list,
	unsigned room, long most)
{
	unsigned count = 0;
	char *copy = strdup(text), *rest = copy, *word;
	while (copy && (word = strsep(&rest, ","))) {
		if (count == room)
			tp_usage(program, "%s: more than %u numbers", option, room);
		list[count++] = (uint32_t)tp_number(program, option, word, 1, most);
	}
	free(copy);
	return count;
}

void tp_print_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else if ((unsigned char)*text < 32)
			fprintf(out, "\\u%04x", (unsigned char)*text);
		else
			fputc(*text, out);
	}
	fputc('"', out);
}
