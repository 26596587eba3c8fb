// SPDX-License-Identifier: BSD-3-Clause
// Forks children, kills them when a scan lcore asks, reaps them, and reports each step to it.
#include "scan/program/parent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "scan/program/database.h"
#include "scan/program/folder.h"
#include "scan/program/watch.h"
#include "scan/wire.h"

#ifndef F_SEAL_FUTURE_WRITE // of Linux 5.1; fcntl.h of Debian 12 does not have it
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum state {
	IDLE,    // no child; the next one at `due_ms`
	CLOSING, // a child closes its jail
	READY,   // it was reported
};

struct slot {        // one scan lcore
	int control; // -1: closed
	int files;   // the gateway's end of the child's socket, until it is sent; -1
	int ready;   // pipe of a child that closes its jail; -1
	enum state state;
	pid_t pid;
	uint64_t id; // of the child, 1, 2, ...
	uint64_t born_ms, due_ms;
	unsigned short_lives; // in a row
	bool asked;           // to replace it: it was killed for that
	char why[SCAN_WIRE_TEXT];
	char folder[4096];
};

struct parent {
	const struct scan_settings *settings;
	scan_look_fn *look;
	struct scan_clam clam;
	struct scan_jail jail;
	struct scan_watch watch;
	int arena, signals;
	pid_t pid; // its own
	uint64_t arena_bytes;
	unsigned n;
	struct slot slots[SCAN_CHILDREN_MAX];
};

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned number(const struct parent *parent, const struct slot *slot)
{
	return (unsigned)(slot - parent->slots);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

// Kills its child too: nobody is left who would wait for it.
static void close_slot(struct parent *parent, struct slot *slot, const char *why)
{
	if (why)
		fprintf(stderr, "sluice-scan: scan lcore %u: %s\n", number(parent, slot), why);
	close_fd(&slot->control);
	close_fd(&slot->files);
	if (slot->pid)
		kill(slot->pid, SIGKILL);
}

static void tell(struct parent *parent, struct slot *slot, enum scan_wire_kind kind,
	const char *text, int fd)
{
	struct scan_wire_control message = {.signatures = parent->clam.signatures,
		.db_version = parent->clam.db_version,
		.db_time_s = parent->clam.db_time_s};

	if (slot->control < 0)
		return;
	scan_wire_head_set(&message.head, kind, slot->id);
	if (kind == SCAN_WIRE_BORN)
		message.pid = slot->pid;
	memcpy(message.digest, parent->clam.digest, sizeof(message.digest));
	scan_wire_text(message.text, sizeof(message.text), text);
	int rc = scan_wire_send(slot->control, &message, sizeof(message), fd);

	// A scan lcore that does not read is as good as one that is gone.
	if (rc)
		close_slot(parent, slot,
			rc == -EPIPE || rc == -ECONNRESET
				? NULL
				: "it does not read; its socket is closed");
}

_Noreturn static void run_child(struct parent *parent, struct slot *slot, int files, int ready)
{
	const struct scan_child child = {.clam = &parent->clam,
		.look = parent->look,
		.jail = &parent->jail,
		.folder = slot->folder,
		.parent = parent->pid,
		.arena = parent->arena,
		.files = files,
		.ready = ready,
		.arena_bytes = parent->arena_bytes,
		.jobs = parent->settings->jobs};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	scan_child_run(&child);
}

static void later(struct slot *slot, uint64_t now)
{
	slot->state = IDLE;
	slot->due_ms = now + scan_backoff_ms(slot->short_lives);
}

static void start(struct parent *parent, struct slot *slot)
{
	int files[2] = {-1, -1}, ready[2] = {-1, -1};
	pid_t pid = -1;

	if (!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) &&
		!pipe2(ready, O_CLOEXEC | O_NONBLOCK))
		pid = fork();
	if (!pid)
		run_child(parent, slot, files[1], ready[1]);
	if (pid < 0)
		snprintf(slot->why, sizeof(slot->why), "no child can be forked: %s",
			strerror(errno));
	close_fd(&files[1]);
	close_fd(&ready[1]);
	slot->born_ms = now_ms();
	if (pid < 0) {
		close_fd(&files[0]);
		close_fd(&ready[0]);
		fprintf(stderr, "sluice-scan: %s\n", slot->why);
		slot->short_lives++;
		later(slot, slot->born_ms + 1000);
		tell(parent, slot, SCAN_WIRE_FAILED, slot->why, -1);
		return;
	}
	slot->pid = pid;
	slot->id++;
	slot->files = files[0];
	slot->ready = ready[0];
	slot->state = CLOSING;
	slot->asked = false;
	slot->why[0] = 0;
}

// The jail is closed, or why it is not.
static void hear_ready(struct parent *parent, struct slot *slot)
{
	char text[SCAN_WIRE_TEXT] = "";
	ssize_t n = read(slot->ready, text, sizeof(text) - 1);

	if (n < 0 && errno == EAGAIN)
		return;
	close_fd(&slot->ready);
	if (n == 1 && !text[0]) {
		slot->state = READY;
		tell(parent, slot, SCAN_WIRE_BORN, "", slot->files);
		close_fd(&slot->files);
	} else if (n > 0) {
		snprintf(slot->why, sizeof(slot->why), "the jail did not close: %.120s", text);
	}
}

static void hear_control(struct parent *parent, struct slot *slot)
{
	union {
		struct scan_wire_control message;
		uint8_t room[sizeof(struct scan_wire_control) + 1];
	} in;
	ssize_t n = recv(slot->control, &in, sizeof(in), MSG_DONTWAIT);
	const char *wrong;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_slot(parent, slot, NULL);
		return;
	}
	wrong = scan_wire_check_control(&in, (size_t)n, true);
	if (wrong) {
		char text[160];

		snprintf(text, sizeof(text), "its socket is closed: %s", wrong);
		close_slot(parent, slot, text);
		return;
	}
	// One that has died meanwhile was reported.
	if (slot->pid && in.message.head.id == slot->id) {
		slot->asked = true;
		kill(slot->pid, SIGKILL);
	}
}

static void describe_end(struct slot *slot, int status)
{
	if (slot->asked)
		snprintf(slot->why, sizeof(slot->why), "killed, as was asked");
	else if (slot->why[0])
		return;
	else if (WIFSIGNALED(status))
		snprintf(slot->why, sizeof(slot->why), "ended by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == SCAN_EXIT_DONE)
		snprintf(slot->why, sizeof(slot->why), "it has done its jobs");
	else if (WEXITSTATUS(status) == SCAN_EXIT_INVALID)
		snprintf(slot->why, sizeof(slot->why), "ended: a request was not sound");
	else
		snprintf(slot->why, sizeof(slot->why), "ended with exit code %d",
			WEXITSTATUS(status));
}

static void buried(struct parent *parent, struct slot *slot, int status)
{
	bool was_ready, done = WIFEXITED(status) && WEXITSTATUS(status) == SCAN_EXIT_DONE;
	uint64_t now = now_ms();

	if (slot->ready >= 0)
		hear_ready(parent, slot);
	was_ready = slot->state == READY;
	describe_end(slot, status);
	close_fd(&slot->ready);
	close_fd(&slot->files);
	slot->pid = 0;
	int rc = scan_folder_empty(slot->folder);

	if (rc)
		fprintf(stderr, "sluice-scan: %s cannot be emptied: %s\n", slot->folder,
			strerror(-rc));
	if (done || now - slot->born_ms >= SCAN_SHORT_LIFE_MS)
		slot->short_lives = 0;
	else
		slot->short_lives++;
	later(slot, now);
	if (!was_ready && slot->due_ms < now + 1000) // it will not do better at once
		slot->due_ms = now + 1000;
	if (slot->control >= 0 && !done)
		fprintf(stderr, "sluice-scan: child %llu of scan lcore %u: %s\n",
			(unsigned long long)slot->id, number(parent, slot), slot->why);
	tell(parent, slot, was_ready ? SCAN_WIRE_GONE : SCAN_WIRE_FAILED, slot->why, -1);
}

static void reap(struct parent *parent)
{
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, WNOHANG);

		if (pid <= 0)
			return;
		for (unsigned i = 0; i < parent->n; i++)
			if (parent->slots[i].pid == pid)
				buried(parent, &parent->slots[i], status);
	}
}

// True: SIGTERM or SIGINT was among them.
static bool hear_signals(struct parent *parent)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (read(parent->signals, &info, sizeof(info)) == sizeof(info))
		end |= info.ssi_signo != SIGCHLD;
	reap(parent);
	return end;
}

static void end_children(struct parent *parent)
{
	for (unsigned i = 0; i < parent->n; i++)
		if (parent->slots[i].pid)
			kill(parent->slots[i].pid, SIGKILL);
	for (unsigned i = 0; i < parent->n; i++) {
		struct slot *slot = &parent->slots[i];

		if (slot->pid)
			waitpid(slot->pid, NULL, 0);
		close_fd(&slot->control);
		close_fd(&slot->files);
		close_fd(&slot->ready);
		scan_folder_empty(slot->folder);
		rmdir(slot->folder);
	}
	close_fd(&parent->arena);
	close_fd(&parent->signals);
}

static bool start_due(struct parent *parent, int *wait_ms)
{
	uint64_t now = now_ms();
	bool any = false;

	*wait_ms = -1;
	for (unsigned i = 0; i < parent->n; i++) {
		struct slot *slot = &parent->slots[i];

		if (slot->control >= 0 && slot->state == IDLE && parent->clam.engine) {
			if (slot->due_ms <= now)
				start(parent, slot);
			if (slot->state == IDLE &&
				(*wait_ms < 0 || slot->due_ms < now + (uint64_t)*wait_ms))
				*wait_ms = slot->due_ms > now ? (int)(slot->due_ms - now) : 0;
		}
		any |= slot->control >= 0 || slot->pid;
	}
	return any;
}

static void tell_all(struct parent *parent, enum scan_wire_kind kind, const char *text)
{
	for (unsigned i = 0; i < parent->n; i++)
		tell(parent, &parent->slots[i], kind, text, -1);
}

static void report_jail(const struct parent *parent)
{
	int landlock = scan_jail_landlock();

	fprintf(stderr, "sluice-scan: children: system calls by seccomp; %s; %s; %s\n",
		landlock ? "files by Landlock"
			 : "this kernel has no Landlock: files are protected by permissions alone",
		scan_jail_can_mount() ? "a tmpfs for each"
				      : "no CAP_SYS_ADMIN: one folder for each, of no limited size",
		parent->jail.change_user ? "their own user" : "the same user as this process");
}

static void load(struct parent *parent)
{
	char err[512];
	int rc = scan_clam_load(&parent->clam, parent->settings, err, sizeof(err));

	if (!rc) {
		scan_clam_touch(&parent->clam);
		fprintf(stderr, "sluice-scan: %s: %u signatures, version %llu; libclamav %s%s\n",
			parent->settings->database, parent->clam.signatures,
			(unsigned long long)parent->clam.db_version, scan_clam_version(),
			parent->clam.opens_rar ? "" : ", which does not open RAR");
		report_jail(parent);
		return;
	}
	fprintf(stderr, "sluice-scan: %s; no file will be scanned by this process%s\n", err,
		parent->watch.every_ms ? " until the folder changes" : "");
	tell_all(parent, SCAN_WIRE_FAILED, err);
}

// Signatures that were loaded stay: who scans on with others starts another parent for them.
// Without any there is nothing to lose.
static void look_at_folder(struct parent *parent)
{
	static struct scan_database database;
	char err[512] = "";

	if (!scan_watch_changed(&parent->watch, now_ms()))
		return;
	if (!parent->clam.engine) {
		load(parent);
		return;
	}
	if (!scan_database_list(&database, parent->settings->database, err, sizeof(err)) &&
		!database.detecting)
		snprintf(err, sizeof(err), "%s has no signatures", parent->settings->database);
	tell_all(parent, SCAN_WIRE_FOLDER, err);
}

static int sooner(int a_ms, int b_ms)
{
	return a_ms < 0 ? b_ms : b_ms < 0 || a_ms < b_ms ? a_ms : b_ms;
}

static void serve(struct parent *parent)
{
	struct pollfd fds[1 + 2 * SCAN_CHILDREN_MAX];
	int wait_ms;

	while (start_due(parent, &wait_ms)) {
		fds[0] = (struct pollfd){.fd = parent->signals, .events = POLLIN};
		for (unsigned i = 0; i < parent->n; i++) {
			fds[1 + 2 * i] =
				(struct pollfd){.fd = parent->slots[i].control, .events = POLLIN};
			fds[2 + 2 * i] =
				(struct pollfd){.fd = parent->slots[i].ready, .events = POLLIN};
		}
		wait_ms = sooner(wait_ms, scan_watch_wait_ms(&parent->watch, now_ms()));
		if (poll(fds, 1 + 2 * parent->n, wait_ms) < 0)
			continue;
		for (unsigned i = 0; i < parent->n; i++) {
			if (fds[2 + 2 * i].revents && parent->slots[i].ready >= 0)
				hear_ready(parent, &parent->slots[i]);
			if (fds[1 + 2 * i].revents && parent->slots[i].control >= 0)
				hear_control(parent, &parent->slots[i]);
		}
		if (fds[0].revents && hear_signals(parent))
			return;
		look_at_folder(parent);
	}
}

// For reading alone; and of a kind that cannot shrink under a child that reads it.
static int open_arena(struct parent *parent, char *err, size_t len)
{
	const int wanted = F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE;
	int seals = fcntl(parent->settings->arena, F_GET_SEALS);
	char path[64];
	struct stat st;

	if (seals < 0 || (seals & wanted) != wanted || fstat(parent->settings->arena, &st) ||
		!st.st_size || st.st_size % SCAN_PAGE) {
		snprintf(err, len,
			"--arena is no memfd of whole pages, sealed against shrinking "
			"and further writers");
		return -EINVAL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", parent->settings->arena);
	parent->arena = open(path, O_RDONLY | O_CLOEXEC);
	if (parent->arena < 0) {
		snprintf(err, len, "the arena cannot be opened for reading: %s", strerror(errno));
		return -errno;
	}
	parent->arena_bytes = (uint64_t)st.st_size;
	close(parent->settings->arena);
	return 0;
}

static int make_slots(struct parent *parent, char *err, size_t len)
{
	const struct scan_settings *settings = parent->settings;
	int rc = scan_folder_check(settings->tmp, err, len);

	parent->n = settings->n_controls;
	for (unsigned i = 0; i < parent->n && !rc; i++) {
		struct slot *slot = &parent->slots[i];

		*slot = (struct slot){.control = settings->controls[i], .files = -1, .ready = -1};
		fcntl(slot->control, F_SETFD, FD_CLOEXEC);
		snprintf(slot->folder, sizeof(slot->folder), "%s/%llu", settings->tmp,
			(unsigned long long)settings->place * SCAN_CHILDREN_MAX + i);
		rc = scan_folder_make(slot->folder, &parent->jail, err, len);
	}
	return rc;
}

static int open_signals(struct parent *parent)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	parent->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return parent->signals < 0 ? -errno : 0;
}

int scan_parent_run(const struct scan_settings *settings, scan_look_fn *look)
{
	static struct parent parent;
	char err[512] = "signals cannot be taken";

	parent = (struct parent){.settings = settings,
		.look = look,
		.pid = getpid(),
		.jail = {.tmp_bytes = settings->tmp_mb << 20,
			.memory_bytes = settings->memory_mb << 20}};
	prctl(PR_SET_NAME, "sluice-scan");
	if (open_signals(&parent) ||
		scan_jail_prepare(&parent.jail, settings->user, err, sizeof(err)) ||
		open_arena(&parent, err, sizeof(err)) || make_slots(&parent, err, sizeof(err))) {
		fprintf(stderr, "sluice-scan: %s\n", err);
		return 1;
	}
	scan_watch_begin(&parent.watch, settings->database, settings->watch_s, now_ms());
	load(&parent);
	serve(&parent);
	end_children(&parent);
	scan_clam_free(&parent.clam);
	return 0;
}
