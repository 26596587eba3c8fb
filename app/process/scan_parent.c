// SPDX-License-Identifier: BSD-3-Clause
// Starts and ends scan parents, and tells the gateway of it.
#include "process/scan_parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "process/launcher_process.h"

#define WAIT_MAX_S    60
#define GOOD_MS       60000 // who has lived that long has not failed at its start
#define REAP_MS       20
#define LOOK_MS       200
#define HEARD_MAX     16
#define FD_BASE       300 // above all that is open
#define EXIT_NO_START 127

enum wish_kind { WISH_BEGIN = 1, WISH_KILL };

struct wish {
	uint32_t kind;
	uint32_t parent;
};

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int) * SCAN_PARENT_CONTROLS_MAX)];
};

void scan_parent_init(struct scan_parent *parent, const struct scan_parent_plan *plan, int socket)
{
	*parent = (struct scan_parent){.plan = *plan, .socket = socket, .wait_s = 1};
	// Children of a dead parent become ours: we alone can tell when all are gone.
	prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static int send_news(struct scan_parent *parent, const int *fds, unsigned n)
{
	struct scan_parent_news news = {.parent = parent->number, .n_fds = n};
	struct iovec iov = {&news, sizeof(news)};
	union control control = {0};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int) * n),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * n);
	}
	return sendmsg(parent->socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

// In the child: what it is handed is 3, 4, ..., and nothing else is open.
static void become(const struct scan_parent_plan *plan, const int *controls)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", language[] = "LANG=C";
	char *environment[] = {path, language, NULL};
	char arena_word[] = "--arena", control_word[] = "--control";
	char program[4096], list[SCAN_PARENT_CONTROLS_MAX * 4] = "", arena[] = "3";
	char *argv[SCAN_PARENT_WORDS_MAX + 8] = {program};
	int high[SCAN_PARENT_CONTROLS_MAX + 1], fd = STDERR_FILENO + 1;
	unsigned argc = 1, n = 0;
	size_t used = 0;
	sigset_t none;

	snprintf(program, sizeof(program), "%s", plan->program);
	int null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || chdir("/") < 0)
		_exit(EXIT_NO_START);
	dup2(STDERR_FILENO, STDOUT_FILENO); // what it says is for the log
	if (plan->arena >= 0)
		high[n++] = fcntl(plan->arena, F_DUPFD, FD_BASE);
	for (unsigned i = 0; i < plan->n_controls; i++)
		high[n++] = fcntl(controls[i], F_DUPFD, FD_BASE);
	for (unsigned i = 0; i < n; i++)
		if (dup2(high[i], fd + (int)i) < 0)
			_exit(EXIT_NO_START);
	closefrom(fd + (int)n);
	if (plan->arena >= 0) {
		argv[argc++] = arena_word;
		argv[argc++] = arena;
		fd++;
	}
	for (unsigned i = 0; i < plan->n_controls; i++)
		used += (size_t)snprintf(
			list + used, sizeof(list) - used, "%s%d", i ? "," : "", fd + (int)i);
	argv[argc++] = control_word;
	argv[argc++] = list;
	for (unsigned i = 0; i < SCAN_PARENT_WORDS_MAX && plan->words[i]; i++)
		argv[argc++] = plan->words[i];
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execve(program, argv, environment);
	_exit(EXIT_NO_START);
}

static void close_all(int *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		close(fds[i]);
}

static void later(struct scan_parent *parent, uint64_t now_ms)
{
	parent->next_ms = now_ms + parent->wait_s * 1000ull;
	parent->wait_s = parent->wait_s * 2 < WAIT_MAX_S ? parent->wait_s * 2 : WAIT_MAX_S;
}

static bool is_missing(struct scan_parent *parent, uint64_t now_ms)
{
	bool missing = access(parent->plan.program, X_OK) < 0;

	if (missing && !parent->is_missing)
		log_warning("scan.program %s: %s: no file is scanned until it is there (install "
			    "sluice-scan); what becomes of files meanwhile is the policy's matter",
			parent->plan.program, strerror(errno));
	char culprit[PATH_MAX] = "";
	bool unsafe = !missing && geteuid() == 0 &&
		      !launcher_only_root_changes(parent->plan.program, culprit);

	if (unsafe && !parent->is_missing)
		log_error("scan.program %s: it is started as root, and others can change %s: no "
			  "file is scanned until that is mended: chown root: %s && chmod go-w %s",
			parent->plan.program, culprit, culprit, culprit);
	missing |= unsafe;
	parent->is_missing = missing;
	if (missing)
		later(parent, now_ms);
	return missing;
}

static void start(struct scan_parent *parent, uint64_t now_ms)
{
	unsigned n = parent->plan.n_controls, made = 0;
	int ours[SCAN_PARENT_CONTROLS_MAX], theirs[SCAN_PARENT_CONTROLS_MAX];

	if (is_missing(parent, now_ms))
		return;
	for (int ends[2]; made < n; made++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
			break;
		ours[made] = ends[0];
		theirs[made] = ends[1];
	}
	pid_t pid = made == n ? fork() : -1;
	if (pid == 0) {
		setpgid(0, 0);
		become(&parent->plan, theirs);
	}
	if (pid < 0) {
		log_error("the scanner cannot be started: %s", strerror(errno));
		later(parent, now_ms);
	} else {
		setpgid(pid, pid); // whoever of the two comes first
		parent->pid = pid;
		parent->number++;
		parent->began_ms = now_ms;
		parent->is_killed = parent->is_ended = false;
		// Its sockets are closed with ours if nobody takes them: then it ends.
		int rc = send_news(parent, ours, n);
		if (rc < 0)
			log_error("the scanner's sockets cannot be handed over: %s", strerror(-rc));
	}
	close_all(ours, made);
	close_all(theirs, made);
}

// One that has ended by itself is reaped at the next step.
static bool has_ended(const struct scan_parent *parent)
{
	siginfo_t info = {0};

	return parent->is_ended ||
	       waitid(P_PID, (id_t)parent->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid;
}

static void kill_group(struct scan_parent *parent)
{
	parent->is_killed = true;
	kill(-parent->pid, SIGKILL);
}

static void report_end(const struct scan_parent *parent, int status)
{
	if (parent->is_killed)
		log_error("the scanner (process %d) was killed: it did not do as it was asked",
			(int)parent->pid);
	else if (WIFSIGNALED(status))
		log_error("the scanner (process %d) was ended by signal %d", (int)parent->pid,
			WTERMSIG(status));
	else if (WEXITSTATUS(status) == EXIT_NO_START)
		log_error("the scanner %s could not be started", parent->plan.program);
	else if (WEXITSTATUS(status))
		log_error("the scanner (process %d) ended with exit code %d", (int)parent->pid,
			WEXITSTATUS(status));
	else
		log_notice("the scanner (process %d) has ended", (int)parent->pid);
}

// Of the group that began with `pid`: the leader first, then what it leaves to us.
static void reap(struct scan_parent *parent, uint64_t now_ms)
{
	int status = 0;
	pid_t pid;

	if (!parent->is_ended) {
		pid = waitpid(parent->pid, &status, WNOHANG);
		if (pid == 0)
			return;
		report_end(parent, pid < 0 ? 0 : status);
		parent->is_ended = true;
		kill(-parent->pid, SIGKILL); // children that have not heard of its end yet
	}
	while ((pid = waitpid(-parent->pid, NULL, WNOHANG)) > 0)
		;
	if (pid == 0)
		return; // some live
	if (now_ms - parent->began_ms >= GOOD_MS)
		parent->wait_s = 1;
	parent->pid = 0;
	parent->is_owed = true;
	later(parent, now_ms);
}

// What others of the caller's children have left: nobody else would reap it.
static void reap_strangers(const struct scan_parent *parent, pid_t spare)
{
	siginfo_t info = {0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
		info.si_pid != spare && info.si_pid != parent->pid) {
		waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

int scan_parent_step(struct scan_parent *parent, pid_t spare, uint64_t now_ms)
{
	if (parent->pid)
		reap(parent, now_ms);
	reap_strangers(parent, spare);
	if (parent->is_owed) {
		int rc = send_news(parent, NULL, 0);
		parent->is_owed = rc == -EAGAIN || rc == -ENOBUFS;
	}
	if (!parent->pid && !parent->is_owed && parent->is_begun && now_ms >= parent->next_ms)
		start(parent, now_ms);
	if (parent->is_owed || (parent->pid && (parent->is_ended || parent->is_killed)))
		return REAP_MS;
	return parent->is_begun ? LOOK_MS : -1;
}

bool scan_parent_hear(struct scan_parent *parent)
{
	for (unsigned i = 0; i < HEARD_MAX; i++) {
		struct wish wish;
		ssize_t n = recv(parent->socket, &wish, sizeof(wish), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		if (n != (ssize_t)sizeof(wish))
			continue;
		if (wish.kind == WISH_BEGIN)
			parent->is_begun = true;
		else if (wish.kind == WISH_KILL && parent->pid && wish.parent == parent->number &&
			 !has_ended(parent))
			kill_group(parent);
	}
	return true;
}

void scan_parent_end(struct scan_parent *parent, unsigned patience_ms)
{
	const struct timespec pause = {.tv_nsec = REAP_MS * 1000000};

	parent->is_begun = false;
	for (unsigned ms = 0; parent->pid && ms < 2 * patience_ms; ms += REAP_MS) {
		if (ms >= patience_ms && !parent->is_killed)
			kill_group(parent);
		reap(parent, 0);
		if (parent->pid)
			nanosleep(&pause, NULL);
	}
}

static int wish(int socket, enum wish_kind kind, uint32_t number)
{
	const struct wish wish = {.kind = kind, .parent = number};

	if (send(socket, &wish, sizeof(wish), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	return errno == EAGAIN || errno == ENOBUFS ? -EAGAIN : -EPIPE;
}

int scan_parent_begin(int socket)
{
	return wish(socket, WISH_BEGIN, 0);
}

int scan_parent_kill(int socket, uint32_t number)
{
	return wish(socket, WISH_KILL, number);
}

int scan_parent_news(int socket, struct scan_parent_news *out, int fds[SCAN_PARENT_CONTROLS_MAX])
{
	struct iovec iov = {out, sizeof(*out)};
	union control control;
	struct msghdr message = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = CMSG_LEN(sizeof(int) * SCAN_PARENT_CONTROLS_MAX)};
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	unsigned came = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;
	const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
		came = (unsigned)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(header), came * sizeof(int));
	}
	if (n == (ssize_t)sizeof(*out) && came == out->n_fds &&
		!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	close_all(fds, came);
	return n ? -EPROTO : -EPIPE;
}
