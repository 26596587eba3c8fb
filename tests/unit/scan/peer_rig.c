// SPDX-License-Identifier: BSD-3-Clause
// The scripted scanner.
#include "peer_rig.h"

#include <sys/socket.h>
#include <unistd.h>
#include <rte_eal.h>

static struct scan_arena arena;
struct scan_config config = {.ops = &scan_engine_process,
	.arena = &arena,
	.max_file_bytes = MAX_BYTES,
	.timeout_ns = TIMEOUT,
	.flows = 64};
struct scan_engine *engine;
uint64_t now_ns;

int rig_begin(void **state)
{
	char *argv[] = {(char[]){"test"}, (char[]){"--no-shconf"}, (char[]){"--no-huge"},
		(char[]){"-m"}, (char[]){"128"}, (char[]){"--no-pci"}, (char[]){"--no-telemetry"},
		(char[]){"--log-level=3"}};
	char err[200];

	(void)state;
	return rte_eal_init(8, argv) < 0 ||
	       scan_arena_new(&arena, 1 << 20, SCAN_PAGE, 1, err, sizeof(err)) < 0;
}

int rig_end(void **state)
{
	(void)state;
	scan_arena_free(&arena);
	return 0;
}

int rig_setup(void **state)
{
	char err[200];

	(void)state;
	now_ns = T0;
	return config.ops->make(&config, SOCKET_ID_ANY, &engine, err, sizeof(err));
}

int rig_teardown(void **state)
{
	(void)state;
	config.ops->destroy(engine);
	engine = NULL;
	return 0;
}

struct peer peer_new(uint32_t number)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	config.ops->adopt(engine, &(struct scan_news){.fd = ends[1], .parent = number}, now_ns);
	return (struct peer){.control = ends[0], .file = -1, .number = number};
}

void peer_says(const struct peer *peer, enum scan_wire_kind kind, uint64_t id, int fd)
{
	struct scan_wire_control message = {.pid = 4711,
		.signatures = 23,
		.db_version = 27000 + peer->number,
		.db_time_s = 1700000000};

	scan_wire_head_set(&message.head, kind, id);
	message.digest[0] = (uint8_t)peer->number; // each has a database of its own
	if (kind != SCAN_WIRE_BORN)
		scan_wire_text(message.text, sizeof(message.text), "signal 9");
	assert_int_equal(scan_wire_send(peer->control, &message, sizeof(message), fd), 0);
}

void peer_born(struct peer *peer)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), 0);
	peer->file = ends[0];
	peer_says(peer, SCAN_WIRE_BORN, ++peer->child, ends[1]);
	close(ends[1]);
}

void peer_gone(struct peer *peer)
{
	if (peer->file >= 0)
		close(peer->file);
	peer->file = -1;
	peer_says(peer, SCAN_WIRE_GONE, peer->child, -1);
}

struct peer peer_ready(uint32_t number)
{
	struct peer peer = peer_new(number);

	peer_born(&peer);
	tells_nothing();
	assert_int_equal(status().state, SCAN_STATE_READY);
	return peer;
}

void peer_is_asked_to_replace(const struct peer *peer)
{
	struct scan_wire_control message;
	int fd;
	ssize_t n = scan_wire_receive(peer->control, &message, sizeof(message), &fd);

	assert_int_equal(n, sizeof(message));
	assert_null(scan_wire_check_control(&message, (size_t)n, true));
	assert_int_equal(message.head.id, peer->child);
	assert_true(scan_wire_receive(peer->control, &message, sizeof(message), &fd) < 0);
}

bool peer_hears(const struct peer *peer, struct scan_wire_request *out)
{
	int fd;
	ssize_t n = peer->file < 0 ? 0 : scan_wire_receive(peer->file, out, sizeof(*out), &fd);

	if (n <= 0)
		return false;
	assert_null(scan_wire_check_request(out, (size_t)n, arena.bytes));
	assert_int_equal(fd, -1);
	return true;
}

uint64_t peer_must_hear(const struct peer *peer)
{
	struct scan_wire_request request;

	assert_true(peer_hears(peer, &request));
	return request.head.id;
}

void peer_answers(const struct peer *peer, uint64_t id, enum scan_value value)
{
	struct scan_wire_verdict verdict = {.value = (uint8_t)value};

	scan_wire_head_set(&verdict.head, SCAN_WIRE_VERDICT, id);
	if (value == SCAN_INFECTED)
		scan_wire_text(verdict.name, sizeof(verdict.name), "Eicar-Test.UNOFFICIAL");
	if (value == SCAN_UNSCANNED)
		verdict.reason = SCAN_REASON_ENCRYPTED;
	assert_int_equal(scan_wire_send(peer->file, &verdict, sizeof(verdict), -1), 0);
}

void peer_close(struct peer *peer)
{
	if (peer->file >= 0)
		close(peer->file);
	if (peer->control >= 0)
		close(peer->control);
	peer->file = peer->control = -1;
}

void peer_is_dead(uint32_t number)
{
	config.ops->adopt(engine, &(struct scan_news){.fd = -1, .parent = number}, now_ns);
}

bool submit_until(uint64_t id, uint32_t bytes, uint64_t deadline_ns)
{
	uint64_t at = (id % 32) * 8 * SCAN_PAGE; // each its own part, as a data lcore would do
	struct scan_extents extents = {.n = 1, .extent[0] = {.page = 1, .bytes = bytes}};
	struct scan_job job = {.id = id,
		.to64 = bytes,
		.submitted_ns = now_ns,
		.deadline_ns = deadline_ns,
		.extents = at,
		.flags = SCAN_JOB_FILE | SCAN_JOB_WHOLE};

	memcpy(arena.base + at, &extents, sizeof(extents));
	return config.ops->submit(engine, &job, now_ns) == 0;
}

bool submit(uint64_t id, uint32_t bytes)
{
	return submit_until(id, bytes, now_ns + TIMEOUT);
}

struct scan_verdict turn(void)
{
	struct scan_verdict verdict = {0};

	config.ops->poll(engine, now_ns, &verdict, 1);
	return verdict;
}

void tells(uint64_t id, enum scan_value value, enum scan_reason reason)
{
	struct scan_verdict verdict = turn();

	assert_int_equal(verdict.job.id, id);
	assert_int_equal(verdict.value, value);
	assert_int_equal(verdict.reason, reason);
	assert_int_equal(verdict.done_ns, now_ns);
	assert_int_equal(verdict.name[0] != 0, value == SCAN_INFECTED);
}

void tells_nothing(void)
{
	assert_int_equal(turn().job.id, 0);
}

struct scan_status status(void)
{
	struct scan_status out;

	config.ops->status(engine, &out);
	return out;
}
