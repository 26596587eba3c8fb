// SPDX-License-Identifier: BSD-3-Clause
// Runs a function in every thread of the process by a signal.
#include "process/threads.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 1000

// SIGSYS: of the signals that signals_blockable() leaves open, the one that nothing else raises
// before the sandbox is there.
#define THREADS_SIGNAL SIGSYS

static struct { // used by one caller at a time, the control core
	int (*function)(void *ctx);
	void *ctx;
	atomic_int answers;
	atomic_int sum;
} call;

static void run_here(int number)
{
	int saved = errno;

	(void)number;
	atomic_fetch_add(&call.sum, call.function(call.ctx));
	atomic_fetch_add(&call.answers, 1);
	errno = saved;
}

static unsigned each_id(void (*visit)(pid_t thread, void *ctx), void *ctx)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned n = 0;

	if (!tasks)
		return 0;
	for (const struct dirent *entry; (entry = readdir(tasks));) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		n++;
		if (visit)
			visit((pid_t)strtol(entry->d_name, NULL, 10), ctx);
	}
	closedir(tasks);
	return n;
}

unsigned threads_count(void)
{
	return each_id(NULL, NULL);
}

static void signal_other(pid_t thread, void *ctx)
{
	int *sent = ctx;

	if (thread != gettid() && syscall(SYS_tgkill, getpid(), thread, THREADS_SIGNAL) == 0)
		++*sent;
}

int threads_each(int (*function)(void *ctx), void *ctx)
{
	struct sigaction action = {.sa_handler = run_here, .sa_flags = SA_RESTART}, old;
	struct timespec pause = {.tv_nsec = 1000000};
	int sent = 0;

	call.function = function;
	call.ctx = ctx;
	atomic_store(&call.answers, 0);
	atomic_store(&call.sum, 0);
	int sum = function(ctx);
	if (sum < 0)
		return sum; // the others would fare no better
	if (sigaction(THREADS_SIGNAL, &action, &old) < 0)
		return -errno;
	unsigned n = each_id(signal_other, &sent);
	for (unsigned ms = 0; atomic_load(&call.answers) < sent && ms < PATIENCE_MS; ms++)
		nanosleep(&pause, NULL);
	if (!n || atomic_load(&call.answers) < sent)
		return -ETIMEDOUT; // the handler stays: a late signal must not kill
	sigaction(THREADS_SIGNAL, &old, NULL);
	return sum + atomic_load(&call.sum);
}
