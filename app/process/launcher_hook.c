// SPDX-License-Identifier: BSD-3-Clause
// Runs the hook command for each change of state, with a time limit.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "process/launcher_process.h"
#include "base/log.h"

#define POLL_MS       20
#define EXIT_NO_START 127

static const char *const words[] = {
	[LAUNCHER_FORWARDING] = "forwarding",
	[LAUNCHER_STALLED] = "stalled",
	[LAUNCHER_RECOVERED] = "recovered",
	[LAUNCHER_STOPPING] = "stopping",
	[LAUNCHER_HEARTBEAT] = "heartbeat",
	[LAUNCHER_FAILED] = "failed",
};

uint64_t launcher_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// In the child, which has one thread: nothing of the gateway's leaks into the command.
static void become(const struct hook *hook, const char *word)
{
	const struct gateway *gateway = hook->gateway;
	char *argv[GATEWAY_HOOK_MAX + 2];
	char pid[32], said[32], path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
				language[] = "LANG=C";
	char *environment[] = {path, language, pid, said, NULL};
	char last[16];
	sigset_t none;
	unsigned n = 0;

	for (; n < gateway->hook.n_command; n++)
		argv[n] = gateway->hook.command[n];
	snprintf(last, sizeof(last), "%s", word);
	argv[n] = last;
	argv[n + 1] = NULL;
	snprintf(pid, sizeof(pid), "SLUICE_PID=%d", (int)hook->daemon);
	snprintf(said, sizeof(said), "SLUICE_WORD=%s", word);
	int null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || chdir("/") < 0)
		_exit(EXIT_NO_START);
	dup2(STDERR_FILENO, STDOUT_FILENO); // what it says is for the log
	closefrom(STDERR_FILENO + 1);
	setpgid(0, 0); // so that a time-out reaches its children, too
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execve(argv[0], argv, environment);
	_exit(EXIT_NO_START);
}

static void start(struct hook *hook)
{
	enum launcher_word word = hook->queue[0];

	memmove(hook->queue, hook->queue + 1, --hook->n * sizeof(hook->queue[0]));
	pid_t pid = fork();
	if (pid < 0) {
		log_error("hook %s: cannot fork: %s", words[word], strerror(errno));
		return;
	}
	if (pid == 0)
		become(hook, words[word]);
	hook->pid = pid;
	hook->word = word;
	hook->began_ms = launcher_now_ms();
	hook->killed = false;
}

static void report_end(const struct hook *hook, int status)
{
	uint64_t ms = launcher_now_ms() - hook->began_ms;
	const char *command = hook->gateway->hook.command[0];

	if (hook->killed)
		log_error("hook %s: %s did not end within %u s and was killed", words[hook->word],
			command, hook->gateway->hook.timeout_s);
	else if (WIFSIGNALED(status))
		log_error("hook %s: %s was ended by signal %d", words[hook->word], command,
			WTERMSIG(status));
	else if (WEXITSTATUS(status) == EXIT_NO_START)
		log_error("hook %s: %s could not be started", words[hook->word], command);
	else if (WEXITSTATUS(status))
		log_error("hook %s: %s ended with exit code %d", words[hook->word], command,
			WEXITSTATUS(status));
	else if (hook->word == LAUNCHER_HEARTBEAT)
		log_debug("hook heartbeat: exit code 0 after %" PRIu64 " ms", ms);
	else
		log_notice("hook %s: exit code 0 after %" PRIu64 " ms", words[hook->word], ms);
}

// A command that runs: over, out of time, or neither.
static void look(struct hook *hook)
{
	int status;
	pid_t pid = waitpid(hook->pid, &status, WNOHANG);

	if (pid == hook->pid || (pid < 0 && errno == ECHILD)) {
		report_end(hook, pid < 0 ? 0 : status);
		hook->pid = 0;
	} else if (!hook->killed &&
		   launcher_now_ms() - hook->began_ms > hook->gateway->hook.timeout_s * 1000ull) {
		hook->killed = true;
		// It may not have come to setpgid yet.
		if (kill(-hook->pid, SIGKILL) < 0)
			kill(hook->pid, SIGKILL);
	}
}

void hook_add(struct hook *hook, enum launcher_word word)
{
	if (!hook->gateway->hook.n_command)
		return;
	if (word == LAUNCHER_HEARTBEAT && (hook->n || hook->pid || !hook->gateway->hook.heartbeat))
		return;
	if (hook->n == HOOK_QUEUE_MAX) { // stalled, recovered, ...: the newest say how it is
		log_warning(
			"hook: the command is too slow, \"%s\" is left out", words[hook->queue[0]]);
		memmove(hook->queue, hook->queue + 1, --hook->n * sizeof(hook->queue[0]));
	}
	hook->queue[hook->n++] = word;
}

int hook_step(struct hook *hook)
{
	if (hook->pid)
		look(hook);
	if (!hook->pid && hook->n)
		start(hook);
	return hook_busy(hook) ? POLL_MS : -1;
}

bool hook_busy(const struct hook *hook)
{
	return hook->pid || hook->n;
}
