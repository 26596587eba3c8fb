// SPDX-License-Identifier: BSD-3-Clause
// The gateway's side of the scanner (engine_process.c, peer.c) against scan parents and children
// that say anything, in any order, with any descriptors, and a launcher that tells of their deaths
// when it likes. Each job that was taken has one verdict; none is told while a child may read its
// bytes; it is clean or infected only if a child that had it said so; no child has two jobs; no
// descriptor stays open; and what is quiet does not spin.
//
// The input is records of 4 octets: what happens (64: without a turn of the engine behind it),
// which parent, two numbers; some take octets of a message from behind them.
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include "pipeline/vocab/tick.h"
#include "scan/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#define PARENTS   6
#define JOBS      64
#define PLACE     (4u * SCAN_PAGE) // of the arena, for each job: its extents, then its bytes
#define FILE_MAX  (2u * SCAN_PAGE)
#define RECORD    4
#define RUN_MAX   400 // records
#define TIMEOUT   (10 * NS_PER_S)
#define SETTLE    64
#define FDS_HIGH  128
#define QUIET_BIT 64
#define AHEAD_MAX 16

enum op { SUBMIT, OPEN, CONTROL, CONTROL_RAW, VERDICT, VERDICT_RAW, SHUT, DEAD, TIME, TURN, OPS };

struct rig_parent {        // what the launcher started
	int control, file; // our ends; -1
	uint32_t number;   // 0: there is none
	uint64_t child;    // the last that it told of
	uint64_t request;  // id of what its child was asked last
	int job;           // that the child may read; -1
	bool is_deaf;      // does not read its control socket
	unsigned n_ahead;  // verdicts on requests that have not come yet
	struct {
		uint64_t id;
		uint8_t value;
	} ahead[AHEAD_MAX];
};

struct rig_job {
	struct scan_job job;
	bool is_out;  // taken, not told
	int holder;   // parent whose child may read it; -1
	uint8_t said; // by a child that had it, soundly: a bit for each value
};

static struct scan_arena arena;
static struct scan_config config = {.ops = &scan_engine_process,
	.arena = &arena,
	.max_file_bytes = FILE_MAX,
	.timeout_ns = TIMEOUT};
static struct scan_engine *engine;
static struct rig_parent parents[PARENTS];
static struct rig_job jobs[JOBS];
static unsigned n_jobs;
static uint32_t last_number;
static uint64_t now_ns;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz_scan_engine: %s\n", what);
	abort();
}

static void begin(void)
{
	char *argv[] = {(char[]){"fuzz"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"64"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};
	char err[200];

	if (arena.base)
		return;
	check(rte_eal_init(8, argv) >= 0 &&
			scan_arena_new(&arena, JOBS * PLACE, SCAN_PAGE, 1, err, sizeof(err)) == 0,
		"EAL or arena");
}

static unsigned open_descriptors(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < FDS_HIGH; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void pair(int type, int ends[2])
{
	check(socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0, "sockets");
}

static void shut(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void release(struct rig_parent *parent)
{
	if (parent->job >= 0)
		jobs[parent->job].holder = -1;
	parent->job = -1;
}

static bool printable(const char *text, size_t room)
{
	size_t n = strnlen(text, room);

	for (size_t i = 0; i < n; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return n < room;
}

static void told(const struct scan_verdict *verdict)
{
	check(verdict->job.id >= 1 && verdict->job.id <= n_jobs, "a verdict for no job");
	struct rig_job *job = &jobs[verdict->job.id - 1];

	check(job->is_out, "a second verdict");
	job->is_out = false;
	check(!memcmp(&verdict->job, &job->job, sizeof(job->job)), "a job was changed");
	check(job->holder < 0, "a job is told while a child may read its bytes");
	check(verdict->value < SCAN_VALUES_MAX && verdict->reason < SCAN_REASONS_MAX,
		"an unknown verdict");
	check((verdict->value == SCAN_UNSCANNED) == (verdict->reason != SCAN_REASON_NONE),
		"a reason that does not fit");
	check(printable(verdict->name, sizeof(verdict->name)) &&
			(verdict->value == SCAN_INFECTED) == (verdict->name[0] != 0),
		"a name that does not fit");
	if (verdict->value == SCAN_CLEAN || verdict->value == SCAN_INFECTED)
		check(job->said & 1u << verdict->value, "a verdict that no child said");
	check(verdict->taken_ns <= verdict->done_ns && verdict->done_ns <= now_ns, "its times");
}

static void hear_request(struct rig_parent *parent)
{
	struct scan_wire_request request;
	int fd;
	ssize_t n;

	while (parent->file >= 0 &&
		(n = scan_wire_receive(parent->file, &request, sizeof(request), &fd)) > 0) {
		check(fd < 0 && !scan_wire_check_request(&request, (size_t)n, arena.bytes),
			"a request is not sound");
		check(parent->job < 0, "a child has two jobs");
		unsigned index = request.extents[0].page / (PLACE / SCAN_PAGE);
		struct rig_job *job = &jobs[index];

		check(index < n_jobs && job->is_out && job->holder < 0, "a request for no job");
		check(request.bytes == job->job.to64 - job->job.from64, "its bytes");
		check((request.flags == SCAN_WIRE_WHOLE) == !!(job->job.flags & SCAN_JOB_WHOLE),
			"its flags");
		parent->job = (int)index;
		parent->request = request.head.id;
		job->holder = (int)(parent - parents);
		job->said = 0;
		for (unsigned i = 0; i < parent->n_ahead; i++)
			if (parent->ahead[i].id == request.head.id)
				job->said |= (uint8_t)(1u << parent->ahead[i].value);
		if (job->said) // it has answered before it was asked
			release(parent);
	}
}

static void hear_control(const struct rig_parent *parent)
{
	struct scan_wire_control message;
	int fd;
	ssize_t n;

	while (parent->control >= 0 && !parent->is_deaf &&
		(n = scan_wire_receive(parent->control, &message, sizeof(message), &fd)) > 0) {
		check(fd < 0 && !scan_wire_check_control(&message, (size_t)n, true),
			"a wish is not sound");
		check(message.head.id <= parent->child, "a wish for a child that was never there");
	}
}

static void turn(unsigned max)
{
	struct scan_verdict verdicts[4];
	unsigned n = config.ops->poll(engine, now_ns, verdicts, max);

	check(n <= max, "more verdicts than room");
	for (unsigned i = 0; i < PARENTS; i++) {
		hear_request(&parents[i]);
		hear_control(&parents[i]);
	}
	for (unsigned i = 0; i < n; i++)
		told(&verdicts[i]);
}

static void submit(uint8_t x, uint8_t y)
{
	if (n_jobs == JOBS)
		return;
	struct rig_job *job = &jobs[n_jobs];
	uint64_t at = (uint64_t)n_jobs * PLACE;
	uint32_t size = 1 + (uint32_t)y * 32;
	struct scan_extents extents = {
		.n = 1, .extent[0] = {.page = (uint32_t)(at / SCAN_PAGE) + 1, .bytes = size}};

	*job = (struct rig_job){.job = {.id = ++n_jobs,
					.from64 = x & 1 ? 100 : 0,
					.submitted_ns = now_ns,
					.deadline_ns = now_ns + TIMEOUT / (1 + y % 4),
					.extents = at,
					.flow = y,
					.flags = SCAN_JOB_FILE}};
	job->job.flags |= x & 2 ? SCAN_JOB_WHOLE : 0;
	job->job.to64 = job->job.from64 + size;
	switch (x >> 4) { // what a data lcore would never ask
	case 8: job->job.flags = 0; break;
	case 9: job->job.to64 = job->job.from64 + FILE_MAX + 1; break;
	case 10: job->job.to64 = 0; break;
	case 11: extents.n = y; break;
	case 12: extents.extent[0].page = UINT32_MAX - y; break;
	case 13: job->job.extents = arena.bytes - y; break;
	case 14: job->job.deadline_ns = job->job.submitted_ns; break;
	case 15: extents.extent[0].bytes = y; break;
	}
	job->holder = -1;
	memcpy(arena.base + at, &extents, sizeof(extents));
	job->is_out = config.ops->submit(engine, &job->job, now_ns) == 0;
	check(job->is_out, "no room for a job");
}

static void open_parent(struct rig_parent *parent, uint8_t x)
{
	int ends[2];

	if (parent->number) // until its death was told
		return;
	pair(x & 1 ? SOCK_STREAM : SOCK_SEQPACKET, ends);
	*parent = (struct rig_parent){.control = ends[0],
		.file = -1,
		.number = ++last_number,
		.job = -1,
		.is_deaf = x & 2};
	if (x & 2)
		setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &(int){1}, sizeof(int));
	config.ops->adopt(
		engine, &(struct scan_news){.fd = ends[1], .parent = parent->number}, now_ns);
}

static void dead(struct rig_parent *parent)
{
	if (!parent->number)
		return;
	shut(&parent->control); // what was said before stays to be read
	shut(&parent->file);
	release(parent);
	config.ops->adopt(engine, &(struct scan_news){.fd = -1, .parent = parent->number}, now_ns);
	parent->number = 0;
}

// With up to two descriptors; scan_wire_send takes one.
static void send_with(int socket, const void *message, size_t bytes, const int *fds, unsigned n)
{
	struct iovec iov = {(void *)(uintptr_t)message, bytes};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int) * 2)];
	} with = {0};
	struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

	if (socket < 0)
		return;
	if (n) {
		header.msg_control = &with;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		with.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int) * n),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&with.header), fds, sizeof(int) * n);
	}
	(void)!sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

// Who says that its child is gone has reaped it.
static void note_control(struct rig_parent *parent, const void *message, size_t bytes)
{
	struct scan_wire_control said;

	if (bytes != sizeof(said))
		return;
	memcpy(&said, message, sizeof(said));
	if (said.head.kind == SCAN_WIRE_BORN && said.head.id > parent->child)
		parent->child = said.head.id;
	if (said.head.kind == SCAN_WIRE_GONE && said.head.id == parent->child)
		release(parent);
}

// Of BORN, and of what should have none.
static void send_control(struct rig_parent *parent, const void *message, size_t bytes, uint8_t with)
{
	int ends[2] = {-1, -1}, more[2] = {-1, -1};

	if (parent->control < 0)
		return;
	note_control(parent, message, bytes);
	if (with % 4)
		pair(with % 4 == 2 ? SOCK_STREAM : SOCK_SEQPACKET, ends);
	if (with % 4 == 3)
		pair(SOCK_SEQPACKET, more);
	send_with(parent->control, message, bytes, (int[]){ends[1], more[1]},
		with % 4 == 3 ? 2 : with % 4 != 0);
	shut(&ends[1]);
	shut(&more[0]);
	shut(&more[1]);
	if (ends[0] < 0)
		return;
	if (parent->job < 0) {
		shut(&parent->file);
		parent->file = ends[0];
		parent->n_ahead = 0;
		return;
	}
	close(ends[0]); // a child that lives keeps its socket
}

static void control(struct rig_parent *parent, uint8_t x, uint8_t y)
{
	static const enum scan_wire_kind kinds[] = {SCAN_WIRE_BORN, SCAN_WIRE_GONE, SCAN_WIRE_BORN,
		SCAN_WIRE_GONE, SCAN_WIRE_FAILED, SCAN_WIRE_REPLACE, SCAN_WIRE_VERDICT,
		SCAN_WIRE_KINDS_MAX};
	struct scan_wire_control message = {
		.pid = y & 64 ? -1 : 4711, .signatures = y, .db_version = y, .db_time_s = y};
	enum scan_wire_kind kind = kinds[x & 7];
	uint64_t id = parent->child;

	if (kind == SCAN_WIRE_BORN)
		id++;
	if (x & 8)
		id += (uint64_t)(x >> 4) - 8;
	scan_wire_head_set(&message.head, kind, id);
	scan_wire_text(message.text, sizeof(message.text), y & 32 ? "signal 9" : "");
	if (y & 16)
		message.text[y & 7] = (char)(y << 4);
	send_control(parent, &message, sizeof(message), kind == SCAN_WIRE_BORN ? (y ^ 1) : y);
}

// False: more is said than is noted here.
static bool note_said(struct rig_parent *parent, const void *message, size_t bytes)
{
	struct scan_wire_verdict said;

	if (bytes != sizeof(said) || parent->file < 0)
		return true;
	memcpy(&said, message, sizeof(said));
	if (scan_wire_check_verdict(&said, bytes, said.head.id))
		return true;
	if (parent->job >= 0 && said.head.id == parent->request) {
		jobs[parent->job].said |= (uint8_t)(1u << said.value);
		release(parent);
		return true;
	}
	if (parent->n_ahead == AHEAD_MAX)
		return false;
	parent->ahead[parent->n_ahead].id = said.head.id;
	parent->ahead[parent->n_ahead++].value = said.value;
	return true;
}

static void verdict(struct rig_parent *parent, uint8_t x, uint8_t y)
{
	struct scan_wire_verdict message = {.scan_ns = y, .value = x & 7, .reason = y & 15};
	int fd = y & 64 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	scan_wire_head_set(&message.head, x & 64 ? SCAN_WIRE_REQUEST : SCAN_WIRE_VERDICT,
		parent->request + (x & 8 ? (uint64_t)(x >> 4 & 3) - 1 : 0));
	if (message.value == SCAN_INFECTED || y & 32)
		scan_wire_text(message.name, sizeof(message.name), "Eicar-Test");
	if (x & 128)
		message.zero[y % sizeof(message.zero)] = y;
	if (fd >= 0 || note_said(parent, &message, sizeof(message)))
		send_with(parent->file, &message, sizeof(message), &fd, fd >= 0);
	shut(&fd);
}

static void shut_ends(struct rig_parent *parent, uint8_t x)
{
	if (x & 1)
		shut(&parent->control);
	if (x & 2)
		shut(&parent->file);
}

static void settle(void)
{
	struct pollfd fds[SCAN_FDS_MAX];

	for (unsigned i = 0; i < SETTLE; i++)
		turn(4);
	unsigned n = config.ops->descriptors(engine, fds);

	check(n <= SCAN_FDS_MAX, "too many descriptors");
	check(poll(fds, n, 0) == 0, "what nobody reads keeps its descriptor ready");
	check(config.ops->next_ns(engine) > now_ns, "it wants a turn that it has no use for");
}

static void end(unsigned descriptors)
{
	struct scan_status status;

	settle();
	for (unsigned i = 0; i < PARENTS; i++)
		dead(&parents[i]);
	now_ns += 3 * TIMEOUT;
	settle();
	config.ops->status(engine, &status);
	check(!status.waiting && !status.running && status.state == SCAN_STATE_ABSENT,
		"something is left");
	for (unsigned i = 0; i < n_jobs; i++)
		check(!jobs[i].is_out, "a job without a verdict");
	config.ops->destroy(engine);
	for (unsigned i = 0; i < PARENTS; i++) {
		shut(&parents[i].control);
		shut(&parents[i].file);
	}
	check(open_descriptors() == descriptors, "a descriptor is left open");
}

static size_t raw(struct rig_parent *parent, bool is_file, const uint8_t *bytes, size_t most)
{
	if (is_file) {
		if (note_said(parent, bytes, most))
			send_with(parent->file, bytes, most, NULL, 0);
	} else {
		send_control(parent, bytes, most, most & 3);
	}
	return most;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char err[200];

	begin();
	unsigned descriptors = open_descriptors();

	now_ns = 1000 * NS_PER_S;
	n_jobs = last_number = 0;
	for (unsigned i = 0; i < PARENTS; i++)
		parents[i] = (struct rig_parent){.control = -1, .file = -1, .job = -1};
	check(config.ops->make(&config, SOCKET_ID_ANY, &engine, err, sizeof(err)) == 0, "memory");
	for (unsigned run = 0; run < RUN_MAX && len >= RECORD; run++) {
		const uint8_t op = bytes[0], x = bytes[2], y = bytes[3];
		struct rig_parent *parent = &parents[bytes[1] % PARENTS];
		size_t most;

		bytes += RECORD;
		len -= RECORD;
		most = x * 4u < len ? x * 4u : len;
		switch ((enum op)(op % 16 % OPS)) {
		case SUBMIT: submit(x, y); break;
		case OPEN: open_parent(parent, x); break;
		case CONTROL: control(parent, x, y); break;
		case CONTROL_RAW: raw(parent, false, bytes, most); break;
		case VERDICT: verdict(parent, x, y); break;
		case VERDICT_RAW: raw(parent, true, bytes, most); break;
		case SHUT: shut_ends(parent, x); break;
		case DEAD: dead(parent); break;
		case TIME: now_ns += ((uint64_t)x << (y % 8)) * NS_PER_MS; break;
		case TURN: turn(x % 5); break;
		case OPS: break;
		}
		if (op % 16 % OPS == CONTROL_RAW || op % 16 % OPS == VERDICT_RAW) {
			bytes += most;
			len -= most;
		}
		if (!(op & QUIET_BIT))
			turn(4);
	}
	end(descriptors);
	return 0;
}
