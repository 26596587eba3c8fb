// SPDX-License-Identifier: BSD-3-Clause
// The scan parent (parent.c) between scan lcores that say anything and children that end whenever
// they like; processes, signals and the clock are simulated. What it says is read by the gateway's
// own reader (peer.c), which never finds it at fault; a child is killed only where its own scan
// lcore asked for that or is gone; whoever was born is reported gone, after it was reaped and its
// folder emptied; one lcore's nonsense costs no other its child; and at the end no process and no
// descriptor is left.
//
// The input is records of 4 octets: what happens, to which scan lcore, two numbers; one kind takes
// octets of a message from behind it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "scan/arena.h"
#include "scan/peer.h"
#include "scan/program/folder.h"
#include "scan/program/database.h"
#include "scan/program/parent.h"
#include "scan/program/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define LCORES    3
#define PROCESSES 512
#define FIRST_PID 0x40000000 // beyond any real one
#define RECORD    4
#define RUN_MAX   300
#define AFTER_MAX 2000 // turns after the last record
#define FDS_HIGH  128

enum op {
	REPLACE,
	RAW,
	READY,
	TORN,
	EXIT,
	SIGNALED,
	CLOSE,
	TIME,
	NO_FORK,
	KIND,
	DEAF,
	END,
	FOLDER,
	OPS
};

struct task {
	int files, ready; // its ends
	int lcore;        // -1: nobody was told of it yet
	uint64_t id;
	bool is_dead, is_reaped;
	int status;
};

struct lcore {
	struct scan_peer peer;
	bool is_closed, is_deaf, spoke_nonsense;
	bool asks_any;             // it may have asked for any child's end
	bool asked[PROCESSES + 1]; // by id, of children that are to be killed
	int child;                 // task; -1
};

static struct scan_arena arena;
static struct task tasks[PROCESSES];
static struct lcore lcores[LCORES];
static unsigned n_processes, runs, after;
static const uint8_t *input;
static size_t left;
static bool simulated, fork_fails, is_ended;
static bool folder_changes, folder_fails; // that of the signatures
static bool is_emptied;                   // its folder, since a child was last reaped
static uint64_t now_ns;
static int last_files, last_ready, signals[2];
static FILE *screen;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(screen, "fuzz_scan_parent: %s\n", what);
	fflush(screen);
	abort();
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

// What of the program is not under test.
int scan_clam_load(
	struct scan_clam *clam, const struct scan_settings *settings, char *err, size_t err_len)
{
	static char engine;

	(void)settings;
	(void)err;
	(void)err_len;
	*clam = (struct scan_clam){.engine = (struct cl_engine *)(void *)&engine, .signatures = 23};
	return 0;
}

void scan_clam_free(struct scan_clam *clam)
{
	clam->engine = NULL;
}

const char *scan_clam_version(void)
{
	return "0";
}

void scan_clam_touch(struct scan_clam *clam)
{
	(void)clam;
}

int scan_jail_prepare(struct scan_jail *jail, const char *user, char *err, size_t len)
{
	(void)jail;
	(void)user;
	(void)err;
	(void)len;
	return 0;
}

bool scan_jail_can_mount(void)
{
	return true;
}

int scan_jail_landlock(void)
{
	return 1;
}

int scan_folder_check(const char *path, char *err, size_t len)
{
	(void)path;
	(void)err;
	(void)len;
	return 0;
}

int scan_folder_make(const char *path, const struct scan_jail *jail, char *err, size_t len)
{
	(void)path;
	(void)jail;
	(void)err;
	(void)len;
	return 0;
}

int scan_folder_empty(const char *path)
{
	(void)path;
	is_emptied = true;
	return 0;
}

void scan_watch_begin(struct scan_watch *watch, const char *folder, uint64_t every_s, uint64_t ms)
{
	(void)watch;
	(void)folder;
	(void)every_s;
	(void)ms;
}

bool scan_watch_changed(struct scan_watch *watch, uint64_t ms)
{
	bool changes = folder_changes;

	(void)watch;
	(void)ms;
	folder_changes = false;
	return changes;
}

int scan_watch_wait_ms(const struct scan_watch *watch, uint64_t ms)
{
	(void)watch;
	(void)ms;
	return -1;
}

int scan_database_list(struct scan_database *database, const char *folder, char *err, size_t len)
{
	(void)folder;
	*database = (struct scan_database){.detecting = !folder_fails};
	snprintf(err, len, "%s", folder_fails ? "it is being written" : "");
	return folder_fails ? -EAGAIN : 0;
}

_Noreturn void scan_child_run(const struct scan_child *child)
{
	(void)child;
	abort(); // fork() never returns 0 here
}

// Processes, signals and time.
int __real_kill(pid_t pid, int signal);
int __real_poll(struct pollfd *fds, nfds_t n, int wait_ms);
int __real_clock_gettime(clockid_t clock, struct timespec *out);
pid_t __real_fork(void);
pid_t __real_waitpid(pid_t pid, int *status, int options);
int __real_socketpair(int domain, int type, int protocol, int ends[2]);
int __real_pipe2(int ends[2], int flags);
int __real_signalfd(int fd, const sigset_t *set, int flags);
int __real_sigprocmask(int how, const sigset_t *set, sigset_t *old);

int __wrap_kill(pid_t pid, int signal);
int __wrap_poll(struct pollfd *fds, nfds_t n, int wait_ms);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
pid_t __wrap_fork(void);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_pipe2(int ends[2], int flags);
int __wrap_signalfd(int fd, const sigset_t *set, int flags);
int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old);

int __wrap_socketpair(int domain, int type, int protocol, int ends[2])
{
	int rc = __real_socketpair(domain, type, protocol, ends);

	last_files = ends[1];
	return rc;
}

int __wrap_pipe2(int ends[2], int flags)
{
	int rc = __real_pipe2(ends, flags);

	last_ready = ends[1];
	return rc;
}

int __wrap_signalfd(int fd, const sigset_t *set, int flags)
{
	if (!simulated)
		return __real_signalfd(fd, set, flags);
	check(__real_pipe2(signals, O_CLOEXEC | O_NONBLOCK) == 0, "a pipe");
	return signals[0];
}

int __wrap_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return simulated ? 0 : __real_sigprocmask(how, set, old);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *out)
{
	if (!simulated)
		return __real_clock_gettime(clock, out);
	*out = (struct timespec){
		.tv_sec = (time_t)(now_ns / 1000000000u), .tv_nsec = (long)(now_ns % 1000000000u)};
	return 0;
}

static void send_signal(int number)
{
	const struct signalfd_siginfo info = {.ssi_signo = (uint32_t)number};

	(void)!write(signals[1], &info, sizeof(info));
}

static void die(struct task *task, int status)
{
	shut(&task->files);
	shut(&task->ready);
	task->is_dead = true;
	task->status = status;
	send_signal(SIGCHLD);
}

pid_t __wrap_fork(void)
{
	if (!simulated)
		return __real_fork();
	if (fork_fails || n_processes == PROCESSES) {
		fork_fails = false;
		errno = EAGAIN;
		return -1;
	}
	tasks[n_processes] =
		(struct task){.files = dup(last_files), .ready = dup(last_ready), .lcore = -1};
	return FIRST_PID + (pid_t)n_processes++;
}

static struct task *find(pid_t pid)
{
	check(pid >= FIRST_PID && pid < FIRST_PID + (pid_t)n_processes, "no child of its own");
	return &tasks[pid - FIRST_PID];
}

static bool was_asked(const struct lcore *lcore, const struct task *task)
{
	if (task->lcore >= 0)
		return lcore->asked[task->id];
	for (unsigned id = 0; id <= PROCESSES; id++)
		if (lcore->asked[id])
			return true;
	return false;
}

// Of one that nobody was told of: somebody must have asked for something.
static bool may_be_killed(const struct task *task)
{
	for (int i = 0; i < LCORES; i++)
		if ((task->lcore == i || task->lcore < 0) &&
			(lcores[i].is_closed || lcores[i].is_deaf || lcores[i].spoke_nonsense ||
				lcores[i].asks_any || was_asked(&lcores[i], task)))
			return true;
	return is_ended;
}

int __wrap_kill(pid_t pid, int signal)
{
	if (!simulated)
		return __real_kill(pid, signal);
	struct task *task = find(pid);

	check(signal == SIGKILL && !task->is_reaped, "a signal to one that was reaped");
	check(task->is_dead || may_be_killed(task), "it kills a child for nothing");
	if (!task->is_dead)
		die(task, SIGKILL);
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	if (!simulated)
		return __real_waitpid(pid, status, options);
	for (unsigned i = 0; i < n_processes; i++) {
		struct task *task = &tasks[i];

		if (task->is_reaped || (pid != -1 && find(pid) != task))
			continue;
		check(task->is_dead || options & WNOHANG, "it waits for one that lives");
		if (!task->is_dead)
			continue;
		task->is_reaped = true;
		check(is_emptied, "the folder of a dead child is not emptied");
		is_emptied = false;
		if (status)
			*status = task->status;
		return FIRST_PID + (pid_t)i;
	}
	if (pid == -1)
		return 0;
	check(options & WNOHANG, "it waits for one that is gone");
	return 0;
}

static void born(struct lcore *lcore)
{
	struct task *task = find(lcore->peer.born.pid);

	check(task->lcore < 0, "one process is two children");
	task->lcore = (int)(lcore - lcores);
	task->id = lcore->peer.child;
	lcore->child = lcore->peer.born.pid - FIRST_PID;
}

// As a scan lcore does.
static void hear(struct lcore *lcore)
{
	for (unsigned i = 0; i < 16 && lcore->peer.control >= 0; i++) {
		switch (scan_peer_hear(&lcore->peer, now_ns)) {
		case SCAN_PEER_QUIET: return;
		case SCAN_PEER_BORN: born(lcore); break;
		case SCAN_PEER_GONE:
			check(tasks[lcore->child].is_reaped, "gone, and not reaped");
			lcore->child = -1;
			break;
		case SCAN_PEER_FOLDER:
		case SCAN_PEER_FAILED: break;
		case SCAN_PEER_LOST:
			check(!strcmp(lcore->peer.text, "the scanner has closed its socket"),
				lcore->peer.text);
			check(lcore->spoke_nonsense || lcore->is_deaf || is_ended,
				"it closes a socket for nothing");
			scan_peer_close(&lcore->peer);
			lcore->is_closed = true;
		}
	}
}

static void replace(struct lcore *lcore, uint8_t x)
{
	struct scan_wire_control message = {0};
	uint64_t id = lcore->peer.last_child + x % 4;

	if (lcore->peer.control < 0 || !id)
		return;
	scan_wire_head_set(&message.head, SCAN_WIRE_REPLACE, id);
	if (id <= PROCESSES)
		lcore->asked[id] = true;
	(void)scan_wire_send(lcore->peer.control, &message, sizeof(message), -1);
}

static void say_kind(struct lcore *lcore, uint8_t x, uint8_t y)
{
	struct scan_wire_control message = {.pid = x};

	if (lcore->peer.control < 0)
		return;
	scan_wire_head_set(&message.head, x % SCAN_WIRE_KINDS_MAX, y);
	if (x & 64)
		message.text[y % SCAN_WIRE_TEXT] = 1;
	if (x & 128)
		message.head.zero = y;
	lcore->spoke_nonsense |= scan_wire_check_control(&message, sizeof(message), true) != NULL;
	if (!lcore->spoke_nonsense)
		lcore->asked[message.head.id] = true;
	(void)scan_wire_send(lcore->peer.control, &message, sizeof(message), -1);
}

static void say_raw(struct lcore *lcore, size_t n)
{
	uint8_t message[2048] = {0};

	n = n < left ? n : left;
	memcpy(message, input, n);
	input += n;
	left -= n;
	if (lcore->peer.control < 0 || !n)
		return;
	lcore->spoke_nonsense |= scan_wire_check_control(message, n, true) != NULL;
	if (!lcore->spoke_nonsense)
		lcore->asks_any = true;
	(void)scan_wire_send(lcore->peer.control, message, n, -1);
}

// A child that closes its jail, and one that fails to.
static void speak(struct task *task, uint8_t x, uint8_t y, bool torn)
{
	char text[256] = "";

	if (task->ready < 0)
		return;
	memset(text + !torn, y ? y : '?', x);
	(void)!write(task->ready, text, torn ? x : 1);
	shut(&task->ready);
}

static void happen(enum op op, uint8_t who, uint8_t x, uint8_t y)
{
	struct lcore *lcore = &lcores[who % LCORES];
	struct task *task = n_processes ? &tasks[n_processes - 1 - who % n_processes] : NULL;
	bool lives = task && !task->is_dead;

	switch (op) {
	case REPLACE: replace(lcore, x); break;
	case RAW: say_raw(lcore, x * 2u); break;
	case READY:
	case TORN:
		if (lives)
			speak(task, x, y, op == TORN);
		break;
	case EXIT:
	case SIGNALED:
		if (lives)
			die(task, op == EXIT ? (x % 4 ? 0 : y) << 8 : 1 + x % 64);
		break;
	case CLOSE:
		scan_peer_close(&lcore->peer);
		lcore->is_closed = true;
		break;
	case TIME: now_ns += ((uint64_t)x << y % 8) * 1000000u; break;
	case NO_FORK: fork_fails = true; break;
	case KIND: say_kind(lcore, x, y); break;
	case DEAF: lcore->is_deaf = true; break;
	case END:
		if (x == 0xe7)
			send_signal(SIGTERM);
		is_ended |= x == 0xe7;
		break;
	case FOLDER:
		folder_changes = true;
		folder_fails = x & 1;
		break;
	case OPS: break;
	}
}

static void next_record(void)
{
	if (runs++ >= RUN_MAX || left < RECORD) {
		for (unsigned i = 0; i < LCORES; i++)
			happen(CLOSE, (uint8_t)i, 0, 0);
		now_ns += 1000000000u;
		check(after++ < AFTER_MAX, "it does not end when all sockets are closed");
		return;
	}
	uint8_t op = input[0], who = input[1], x = input[2], y = input[3];

	input += RECORD;
	left -= RECORD;
	happen((enum op)(op % 16 % OPS), who, x, y);
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int wait_ms)
{
	if (!simulated)
		return __real_poll(fds, n, wait_ms);
	uint64_t until_ns = now_ns + (uint64_t)(wait_ms < 0 ? 0 : wait_ms) * 1000000u;
	int ready;

	for (;;) {
		for (unsigned i = 0; i < LCORES; i++)
			if (!lcores[i].is_deaf)
				hear(&lcores[i]);
		ready = __real_poll(fds, n, 0);
		if (ready || (wait_ms >= 0 && now_ns >= until_ns && runs))
			return ready;
		next_record();
	}
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < FDS_HIGH; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void begin(struct scan_settings *settings)
{
	char err[200];

	if (!arena.base) {
		screen = stderr;
		check(scan_arena_new(&arena, 8 * SCAN_PAGE, SCAN_PAGE, 1, err, sizeof(err)) == 0,
			err);
		stderr = fopen("/dev/null", "we"); // what it says to people
		check(stderr, "/dev/null");
	}
	n_processes = runs = after = 0;
	fork_fails = is_ended = folder_changes = false;
	is_emptied = true;
	now_ns = 1000000000u;
	settings->arena = fcntl(arena.fd, F_DUPFD_CLOEXEC, 3);
	settings->n_controls = LCORES;
	for (unsigned i = 0; i < LCORES; i++) {
		int ends[2];

		check(__real_socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0,
			"sockets");
		lcores[i] = (struct lcore){.child = -1};
		scan_peer_open(&lcores[i].peer, &(struct scan_news){.fd = ends[0], .parent = 1});
		settings->controls[i] = ends[1];
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &(int){1}, sizeof(int));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct scan_settings settings = {.database = "signatures",
		.tmp = "/nowhere",
		.tmp_mb = 1,
		.memory_mb = 1,
		.jobs = 1};
	unsigned descriptors;

	begin(&settings);
	descriptors = open_descriptors() - 2 * LCORES - 1;
	input = bytes;
	left = len;
	simulated = true;
	check(scan_parent_run(&settings, NULL) == 0, "an exit code");
	simulated = false;
	shut(&signals[1]);
	for (unsigned i = 0; i < n_processes; i++) {
		check(tasks[i].is_reaped, "a child is left");
		shut(&tasks[i].files);
		shut(&tasks[i].ready);
	}
	for (unsigned i = 0; i < LCORES; i++)
		scan_peer_close(&lcores[i].peer);
	check(open_descriptors() == descriptors, "a descriptor is left open");
	return 0;
}
