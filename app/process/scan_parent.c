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

enum wish_kind { WISH_BEGIN = 1, WISH_KILL, WISH_ASIDE, WISH_ANEW };

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

static int send_news(const struct scan_parent *parent, uint32_t number, const int *fds, unsigned n)
{
	struct scan_parent_news news = {.parent = number, .n_fds = n};
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
static void become(const struct scan_parent_plan *plan, const int *controls, unsigned place)
{
	char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", language[] = "LANG=C";
	char *environment[] = {path, language, NULL};
	char arena_word[] = "--arena", control_word[] = "--control", place_word[] = "--place";
	char place_text[12];
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
	snprintf(place_text, sizeof(place_text), "%u", place);
	argv[argc++] = place_word;
	argv[argc++] = place_text;
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

static struct scan_parent_place *place_of(struct scan_parent *parent, uint32_t number)
{
	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		if (parent->places[i].pid && parent->places[i].number == number)
			return &parent->places[i];
	return NULL;
}

static struct scan_parent_place *free_place(struct scan_parent *parent)
{
	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		if (!parent->places[i].pid && !parent->places[i].is_owed)
			return &parent->places[i];
	return NULL;
}

static unsigned living(const struct scan_parent *parent)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		n += parent->places[i].pid != 0;
	return n;
}

static void took_place(struct scan_parent *parent, struct scan_parent_place *place, pid_t pid,
	const int *ours, uint64_t now_ms)
{
	setpgid(pid, pid); // whoever of the two comes first
	*place = (struct scan_parent_place){
		.pid = pid, .number = ++parent->last_number, .began_ms = now_ms};
	// Its sockets are closed with ours if nobody takes them: then it ends.
	int rc = send_news(parent, place->number, ours, parent->plan.n_controls);

	if (rc < 0)
		log_error("the scanner's sockets cannot be handed over: %s", strerror(-rc));
}

// False: there is none.
static bool start(struct scan_parent *parent, struct scan_parent_place *place, uint64_t now_ms)
{
	unsigned n = parent->plan.n_controls, made = 0;
	int ours[SCAN_PARENT_CONTROLS_MAX], theirs[SCAN_PARENT_CONTROLS_MAX];

	if (is_missing(parent, now_ms))
		return false;
	for (int ends[2]; made < n; made++) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
			break;
		ours[made] = ends[0];
		theirs[made] = ends[1];
	}
	pid_t pid = made == n ? fork() : -1;
	if (pid == 0) {
		setpgid(0, 0);
		become(&parent->plan, theirs, (unsigned)(place - parent->places));
	}
	if (pid < 0) {
		log_error("the scanner cannot be started: %s", strerror(errno));
		later(parent, now_ms);
	} else {
		took_place(parent, place, pid, ours, now_ms);
	}
	close_all(ours, made);
	close_all(theirs, made);
	return pid > 0;
}

// One that has ended by itself is reaped at the next step.
static bool has_ended(const struct scan_parent_place *place)
{
	siginfo_t info = {0};

	return place->is_ended ||
	       waitid(P_PID, (id_t)place->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid;
}

static void kill_group(struct scan_parent_place *place)
{
	place->is_killed = true;
	kill(-place->pid, SIGKILL);
}

static void report_end(
	const struct scan_parent *parent, const struct scan_parent_place *place, int status)
{
	int pid = (int)place->pid;

	if (place->is_killed && parent->is_ending)
		log_notice("the scanner (process %d) was ended with its gateway", pid);
	else if (place->is_killed)
		log_error(
			"the scanner (process %d) was killed: it did not do as it was asked", pid);
	else if (WIFSIGNALED(status))
		log_error("the scanner (process %d) was ended by signal %d", pid, WTERMSIG(status));
	else if (WEXITSTATUS(status) == EXIT_NO_START)
		log_error("the scanner %s could not be started", parent->plan.program);
	else if (WEXITSTATUS(status))
		log_error("the scanner (process %d) ended with exit code %d", pid,
			WEXITSTATUS(status));
	else
		log_notice("the scanner (process %d) has ended", pid);
}

// Of the group that began with `pid`: the leader first, then what it leaves to us.
static void reap(struct scan_parent *parent, struct scan_parent_place *place, uint64_t now_ms)
{
	int status = 0;
	pid_t pid;

	if (!place->is_ended) {
		pid = waitpid(place->pid, &status, WNOHANG);
		if (pid == 0)
			return;
		report_end(parent, place, pid < 0 ? 0 : status);
		place->is_ended = true;
		kill(-place->pid, SIGKILL); // children that have not heard of its end yet
	}
	while ((pid = waitpid(-place->pid, NULL, WNOHANG)) > 0)
		;
	if (pid == 0)
		return; // some live
	if (now_ms - place->began_ms >= GOOD_MS)
		parent->wait_s = 1;
	place->pid = 0;
	place->is_owed = true;
	if (!living(parent))
		later(parent, now_ms);
}

static bool is_ours(const struct scan_parent *parent, pid_t pid)
{
	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		if (parent->places[i].pid == pid)
			return true;
	return false;
}

// What others of the caller's children have left: nobody else would reap it.
static void reap_strangers(const struct scan_parent *parent, pid_t spare)
{
	siginfo_t info = {0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid &&
		info.si_pid != spare && !is_ours(parent, info.si_pid)) {
		waitpid(info.si_pid, NULL, WNOHANG);
		info.si_pid = 0;
	}
}

// What could not be told yet. True: some of it still could not.
static bool tell_owed(struct scan_parent *parent)
{
	bool owes = false;

	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++) {
		struct scan_parent_place *place = &parent->places[i];

		if (!place->is_owed)
			continue;
		int rc = send_news(parent, place->number, NULL, 0);

		place->is_owed = rc == -EAGAIN || rc == -ENOBUFS;
		owes |= place->is_owed;
	}
	if (parent->owes_no) {
		int rc = send_news(parent, 0, NULL, 0);

		parent->owes_no = rc == -EAGAIN || rc == -ENOBUFS;
	}
	return owes || parent->owes_no;
}

// The one aside is the next one, where none is left that it could be beside.
static void start_what_is_due(struct scan_parent *parent, uint64_t now_ms)
{
	struct scan_parent_place *place = free_place(parent);
	bool at_once = parent->at_once || parent->is_aside;

	if (living(parent) ? !parent->is_aside
			   : !parent->is_begun || (!at_once && now_ms < parent->next_ms))
		return;
	if (!living(parent)) {
		parent->wait_s = at_once ? 1 : parent->wait_s;
		parent->at_once = false;
	}
	bool started = place && start(parent, place, now_ms);

	parent->owes_no = parent->is_aside && !started;
	parent->is_aside = false;
}

int scan_parent_step(struct scan_parent *parent, pid_t spare, uint64_t now_ms)
{
	bool is_soon = false;

	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		if (parent->places[i].pid)
			reap(parent, &parent->places[i], now_ms);
	reap_strangers(parent, spare);
	is_soon = tell_owed(parent);
	if (!is_soon)
		start_what_is_due(parent, now_ms);
	for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++)
		is_soon |= parent->places[i].pid &&
			   (parent->places[i].is_ended || parent->places[i].is_killed);
	if (is_soon || parent->owes_no)
		return REAP_MS;
	return parent->is_begun ? LOOK_MS : -1;
}

static void obey(struct scan_parent *parent, const struct wish *wish)
{
	struct scan_parent_place *place;

	switch (wish->kind) {
	case WISH_BEGIN: parent->is_begun = true; break;
	case WISH_ASIDE: parent->is_aside = parent->is_begun; break;
	case WISH_ANEW: parent->at_once = parent->is_begun; break;
	case WISH_KILL:
		place = place_of(parent, wish->parent);
		if (place && !has_ended(place))
			kill_group(place);
		break;
	default: break;
	}
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
		if (n == (ssize_t)sizeof(wish))
			obey(parent, &wish);
	}
	return true;
}

void scan_parent_end(struct scan_parent *parent, unsigned patience_ms)
{
	const struct timespec pause = {.tv_nsec = REAP_MS * 1000000};

	parent->is_begun = false;
	parent->is_ending = true;
	for (unsigned ms = 0; living(parent) && ms < 2 * patience_ms; ms += REAP_MS) {
		for (unsigned i = 0; i < SCAN_PARENT_PLACES; i++) {
			struct scan_parent_place *place = &parent->places[i];

			if (place->pid && ms >= patience_ms && !place->is_killed)
				kill_group(place);
			if (place->pid)
				reap(parent, place, 0);
		}
		if (living(parent))
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

int scan_parent_aside(int socket)
{
	return wish(socket, WISH_ASIDE, 0);
}

int scan_parent_anew(int socket)
{
	return wish(socket, WISH_ANEW, 0);
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
