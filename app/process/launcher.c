// SPDX-License-Identifier: BSD-3-Clause
// Forks the launcher, and exchanges requests with it over a socket.
#include "process/launcher.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "process/again.h"
#include "process/held_name.h"
#include "process/launcher_process.h"
#include "base/log.h"

#define END_PATIENCE_MS      3000
#define PREVIOUS_PATIENCE_MS 3000
#define PREVIOUS_POLL_MS     20
#define DEATH_PATIENCE_MS    5000
#define HEARD_MAX            64 // words per turn, so that a hook's time limit holds

// Its end of our socket is closed before its other files are: only the process's own end means that
// none of them is open any more.
static void wait_for_death(const struct launcher_plan *plan)
{
	struct pollfd pollfd = {.fd = plan->pidfd, .events = POLLIN};

	if (plan->pidfd >= 0 && poll(&pollfd, 1, DEATH_PATIENCE_MS) == 0)
		log_warning("the gateway's process %d has let go of us, but does not end",
			(int)plan->daemon);
}

union heard {
	uint8_t word;
	struct again_request request;
	struct launcher_ports ports;
};

// One word, of n bytes. False: the gateway has ended.
static bool obey(struct launcher_plan *plan, struct hook *hook, const union heard *heard, size_t n,
	int fd, bool *announced)
{
	switch (heard->word) {
	case LAUNCHER_ENDED:
	case LAUNCHER_ENDED_BADLY: return false;
	case LAUNCHER_PORTS:
		if (n == sizeof(heard->ports))
			launcher_plan_ports_taken(plan, &heard->ports);
		break;
	case LAUNCHER_AGAIN:
		if (n == sizeof(heard->request))
			launcher_plan_again(plan, &heard->request, fd);
		break;
	default:
		if (heard->word >= LAUNCHER_FAILED)
			break;
		*announced |= heard->word == LAUNCHER_FORWARDING;
		hook_add(hook, heard->word);
	}
	return true;
}

static int wait_for_words(struct launcher_plan *plan, struct hook *hook, int fd)
{
	struct pollfd pollfds[] = {{.fd = fd, .events = POLLIN},
		{.fd = plan->has_scan ? plan->scan.socket : -1, .events = POLLIN}};
	int hook_ms = hook_step(hook), ms = launcher_plan_scan_step(plan, hook->pid);

	if (hook_ms >= 0 && (ms < 0 || hook_ms < ms))
		ms = hook_ms;
	return poll(pollfds, 2, ms) < 0 ? -1 : !!(pollfds[0].revents);
}

_Noreturn void launcher_main(struct launcher_plan *plan, int fd, int name)
{
	struct hook hook = {.gateway = plan->gateway, .daemon = plan->daemon};
	bool alive = true, announced = false, badly = true;

	while (alive) {
		int rc = wait_for_words(plan, &hook, fd);
		for (unsigned i = 0; rc > 0 && alive && i < HEARD_MAX; i++) {
			union heard heard;
			ssize_t n = recv(fd, &heard, sizeof(heard), MSG_DONTWAIT);
			if (n < 0 && (errno == EAGAIN || errno == EINTR))
				break;
			if (n <= 0) { // it has died, or is dying
				alive = false;
				wait_for_death(plan);
			} else if (!obey(plan, &hook, &heard, (size_t)n, fd, &announced)) {
				alive = false;
				badly = heard.word == LAUNCHER_ENDED_BADLY;
			}
		}
	}
	launcher_plan_scan_end(plan);
	launcher_clean(plan);
	send(fd, "", 1, MSG_NOSIGNAL); // if it still waits
	close(fd);
	wait_for_death(plan);
	launcher_clean_eal(plan);
	if (name >= 0)
		close(name);
	// Before forwarding nothing was promised to a bypass that would have to be taken back.
	if (announced && badly)
		hook_add(&hook, LAUNCHER_FAILED);
	for (int ms; (ms = hook_step(&hook)) >= 0;)
		poll(NULL, 0, ms);
	_exit(0);
}

// In a folder like /tmp the sticky bit keeps what is root's.
bool launcher_only_root_changes(const char *path, char culprit[PATH_MAX])
{
	struct stat st;

	if (!realpath(path, culprit))
		return false;
	for (;;) {
		if (stat(*culprit ? culprit : "/", &st) < 0 || st.st_uid != 0 ||
			(st.st_mode & (S_IWGRP | S_IWOTH) &&
				!(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX)))
			return false;
		if (!*culprit)
			return true;
		*strrchr(culprit, '/') = '\0';
	}
}

// The launcher runs it with its own rights: nobody with fewer may be able to change it.
int launcher_check_hook(const struct gateway *gateway, char *err, size_t err_len)
{
	const char *path = gateway->hook.command[0];
	char culprit[PATH_MAX] = "";
	struct stat st;
	int rc = 0;

	if (!gateway->hook.n_command)
		return 0;
	if (stat(path, &st) < 0 || access(path, X_OK) < 0) {
		rc = -errno;
		snprintf(err, err_len,
			"hook.command %s: %s; make it executable, or set \"hook\": {\"command\": "
			"null}",
			path, strerror(-rc));
	} else if (!S_ISREG(st.st_mode)) {
		rc = -EPERM;
		snprintf(err, err_len, "hook.command %s: it is no file", path);
	} else if (geteuid() == 0 && !launcher_only_root_changes(path, culprit)) {
		rc = -EPERM;
		snprintf(err, err_len,
			"hook.command %s: it is run as root, and others can change %s: "
			"chown root: %s && chmod go-w %s",
			path, *culprit ? culprit : "/", *culprit ? culprit : "/",
			*culprit ? culprit : "/");
	}
	return rc;
}

static bool gateway_answers(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(address.sun_path))
		return false;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc = fd < 0 ? -1 : connect(fd, (const struct sockaddr *)&address, sizeof(address));
	bool answers = rc == 0 || (fd >= 0 && errno == EAGAIN);
	if (fd >= 0)
		close(fd);
	return answers;
}

// A name that one launcher per control socket holds until it has cleaned up. Taken by the next
// gateway's, so that the old one does not clean away what the new one has made. -1: without.
static int take_name(const struct gateway *gateway)
{
	uint64_t hash = 14695981039346656037ull; // FNV-1a: a path may be longer than a name
	struct timespec pause = {.tv_nsec = PREVIOUS_POLL_MS * 1000000};
	struct name_holder holder;
	uint64_t begin_ms = launcher_now_ms();
	char name[64];

	for (const char *c = gateway->paths.control; *c; c++)
		hash = (hash ^ (uint8_t)*c) * 1099511628211ull;
	snprintf(name, sizeof(name), "sluice-launcher-%016llx", (unsigned long long)hash);
	for (;;) {
		int fd = held_name_take(name, &holder);
		if (fd >= 0)
			return fd;
		// Of a gateway that runs: who starts twice is told so by its control socket.
		if (fd != -EADDRINUSE || gateway_answers(gateway->paths.control))
			return -1;
		if (!holder.believed) { // anybody can sit on a name
			log_warning("the name \"%s\" is taken, and not by a launcher; going on "
				    "without",
				name);
			return -1;
		}
		if (launcher_now_ms() - begin_ms >= PREVIOUS_PATIENCE_MS) {
			log_warning("the launcher of a gateway before this one still cleans up; "
				    "going on without waiting");
			return -1;
		}
		nanosleep(&pause, NULL);
	}
}

// What ps shows of us, in the place of the gateway's command line, which fork has copied.
static void title(void)
{
	static const char text[] = "sluice: launcher";
	unsigned long begin = 0, end = 0;
	char stat[2048];
	FILE *file = fopen("/proc/self/stat", "re");
	size_t n = file ? fread(stat, 1, sizeof(stat) - 1, file) : 0;

	if (file)
		fclose(file);
	stat[n] = '\0';
	char *at = strrchr(stat, ')'); // the name before it may have blanks
	for (unsigned field = 2; at && field < 48; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, " %lu %lu", &begin, &end) != 2 || end <= begin + sizeof(text))
		return;
	memset((void *)begin, 0, end - begin);
	memcpy((void *)begin, text, sizeof(text));
}

// In the child. Nobody's signal is for us: we end with the gateway, and hear of that by our socket.
static void separate(void)
{
	setsid();
	prctl(PR_SET_NAME, "sluice-launcher");
	title();
}

int launcher_start(struct launcher *launcher, const struct gateway *gateway,
	const char *file_prefix, char *err, size_t err_len)
{
	static struct launcher_plan plan;
	sigset_t all, before;
	int ends[2], scan[2] = {-1, -1};
	int rc = launcher_check_hook(gateway, err, err_len);

	if (rc < 0)
		return rc;
	int name = take_name(gateway);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
		(launcher->arena_plus_1 &&
			socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, scan) < 0)) {
		rc = -errno;
		snprintf(err, err_len, "launcher: %s", strerror(-rc));
		if (name >= 0)
			close(name);
		return rc;
	}
	launcher_plan_init(&plan, gateway, file_prefix);
	plan.pidfd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before); // for the child, from its first moment
	pid_t pid = fork();
	if (pid == 0) {
		close(ends[0]);
		separate();
		if (launcher->arena_plus_1) {
			close(scan[0]);
			launcher_plan_scan(&plan, launcher->arena_plus_1 - 1, scan[1]);
		}
		launcher_main(&plan, ends[1], name);
	}
	rc = pid < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (scan[1] >= 0)
		close(scan[1]);
	if (plan.pidfd >= 0)
		close(plan.pidfd);
	if (name >= 0)
		close(name);
	if (rc < 0) {
		snprintf(err, err_len, "launcher: cannot fork: %s", strerror(-rc));
		close(ends[0]);
		if (scan[0] >= 0)
			close(scan[0]);
		return rc;
	}
	*launcher = (struct launcher){
		.fd_plus_1 = ends[0] + 1, .pid = pid, .scan_fd_plus_1 = scan[0] + 1};
	return 0;
}

static void has_died(struct launcher *launcher, int error)
{
	if (launcher->lost)
		return;
	launcher->lost = true;
	log_error("the launcher has died (%s): no hook command is run any more, no interface that "
		  "is made again is taken up, and what the gateway leaves behind is not removed; "
		  "restart when convenient",
		strerror(error));
}

// 0, -EAGAIN: it does not listen, -EPIPE.
static int report(struct launcher *launcher, const void *message, size_t length)
{
	if (!launcher->fd_plus_1 || launcher->lost)
		return -EPIPE;
	if (send(launcher->fd_plus_1 - 1, message, length, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (errno == EAGAIN || errno == ENOBUFS)
		return -EAGAIN;
	has_died(launcher, errno);
	return -EPIPE;
}

void launcher_report(struct launcher *launcher, enum launcher_word word)
{
	uint8_t byte = (uint8_t)word;

	if (report(launcher, &byte, 1) == -EAGAIN)
		log_warning("launcher: it does not listen; a word to the hook is lost");
}

void launcher_report_ports(struct launcher *launcher, struct launcher_ports *ports)
{
	ports->word = LAUNCHER_PORTS;
	if (report(launcher, ports, sizeof(*ports)) == -EAGAIN)
		log_warning(
			"launcher: it does not listen; it will not clean the ports' interfaces");
}

int launcher_fd(const struct launcher *launcher)
{
	return launcher->fd_plus_1 - 1;
}

int launcher_scan_fd(const struct launcher *launcher)
{
	return launcher->scan_fd_plus_1 - 1;
}

int launcher_ask(struct launcher *launcher, struct again_request *request)
{
	request->word = LAUNCHER_AGAIN;
	return report(launcher, request, sizeof(*request));
}

int launcher_answer(
	struct launcher *launcher, const struct again_request *request, struct again_sockets *out)
{
	if (!launcher->fd_plus_1 || launcher->lost)
		return -EPIPE;
	for (;;) {
		int rc = again_receive_sockets(launcher->fd_plus_1 - 1, out);

		if (rc == -EAGAIN)
			return rc;
		if (rc < 0 && rc != -EPROTO) {
			has_died(launcher, -rc);
			return -EPIPE;
		}
		if (!rc && out->answer.sequence == request->sequence &&
			out->answer.port == request->port)
			return 0;
		again_close(out);
	}
}

// Until it has cleaned up, or is gone. What comes before is an answer that nobody waits for.
static bool wait_for_end(int fd)
{
	struct pollfd pollfd = {.fd = fd, .events = POLLIN};
	struct again_sockets late;
	int rc = 0;

	while (!rc && poll(&pollfd, 1, END_PATIENCE_MS) > 0) {
		do {
			rc = again_receive_sockets(fd, &late);
			again_close(&late);
		} while (!rc);
		rc = rc == -EAGAIN ? 0 : rc;
	}
	return rc < 0;
}

void launcher_end(struct launcher *launcher, bool badly)
{
	if (!launcher->fd_plus_1)
		return;
	launcher_report(launcher, badly ? LAUNCHER_ENDED_BADLY : LAUNCHER_ENDED);
	if (!launcher->lost && !wait_for_end(launcher->fd_plus_1 - 1))
		log_warning("the launcher has not cleaned up after %d s", END_PATIENCE_MS / 1000);
	close(launcher->fd_plus_1 - 1);
	if (launcher->scan_fd_plus_1)
		close(launcher->scan_fd_plus_1 - 1);
	waitpid(launcher->pid, NULL, WNOHANG); // it may still run the hook: init takes it over
	*launcher = (struct launcher){0};
}
