// SPDX-License-Identifier: BSD-3-Clause
// A gate behind which files are scanned: the whole path in process, with an engine that looks for a
// word in the bytes that it is given. For tests of what leaves before a verdict.
#ifndef SLUICE_SCAN_GATE_H
#define SLUICE_SCAN_GATE_H

#include "lib/pipeline/content_gate.h"
#include "pipeline/operator.h"

#define EVIL         "X5O-EVIL"
#define DELAY_MS     500
#define SCANS(more)  "'rules':[{'id':'av','match':{},'scan':{" more "}}]"
#define HEAD(length) "HTTP/1.1 200 OK\r\nContent-Length: " #length "\r\n\r\n"
#define CHUNKED      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

// ---- an engine ----

#define JOBS 64

struct scan_engine {
	const struct scan_config *config;
	struct scan_verdict verdict[JOBS];
	unsigned n;
};

static unsigned jobs_seen, whole_seen;
static uint64_t last_from, last_to;
static bool is_deaf; // it answers long after anybody waits
static uint64_t (*delay_of)(const char *bytes, size_t length); // NULL: DELAY_MS for each

static inline int no_trigger(
	const struct scan_config *config, enum half half, uint64_t from64, uint64_t to64)
{
	(void)config;
	(void)half;
	(void)from64;
	(void)to64;
	return SCAN_TRIGGER_NONE;
}

static inline int finder_make(const struct scan_config *config, int socket,
	struct scan_engine **out, char *err, size_t err_len)
{
	(void)socket;
	(void)err;
	(void)err_len;
	*out = calloc(1, sizeof(**out));
	(*out)->config = config;
	return 0;
}

static inline void finder_destroy(struct scan_engine *engine)
{
	free(engine);
}

static inline int finder_submit(
	struct scan_engine *engine, const struct scan_job *job, uint64_t now_ns)
{
	const struct scan_extents *extents = scan_arena_extents(engine->config->arena, job);
	size_t length = job->to64 - job->from64, at = 0;

	assert_non_null(extents);
	char *named = malloc(length + extents->lead), *bytes = named + extents->lead;

	for (uint32_t i = 0; i < extents->n; at += extents->extent[i].bytes, i++)
		memcpy(named + at,
			engine->config->arena->base + (size_t)extents->extent[i].page * SCAN_PAGE,
			extents->extent[i].bytes);
	uint64_t delay_ns = is_deaf    ? 3600 * NS_PER_S
			    : delay_of ? delay_of(bytes, length)
				       : DELAY_MS * NS_PER_MS;
	struct scan_verdict verdict = {
		.job = *job,
		.taken_ns = now_ns,
		.done_ns = now_ns + delay_ns,
		.value = SCAN_CLEAN,
	};

	if (memmem(bytes, length, EVIL, strlen(EVIL))) {
		verdict.value = SCAN_INFECTED;
		snprintf(verdict.name, sizeof(verdict.name), "Test.Evil");
	} else if (memmem(bytes, length, "BROKEN", 6)) {
		verdict.value = SCAN_ERROR;
	} else if (memmem(bytes, length, "LOCKED", 6)) {
		verdict.value = SCAN_UNSCANNED;
		verdict.reason = SCAN_REASON_ENCRYPTED;
	} else if (memmem(bytes, length, "SWOLLEN", 7)) {
		verdict.value = SCAN_UNSCANNED;
		verdict.reason = SCAN_REASON_TOO_BIG;
	}
	free(named);
	assert_true(engine->n < JOBS);
	engine->verdict[engine->n++] = verdict;
	jobs_seen++;
	whole_seen += !!(job->flags & SCAN_JOB_WHOLE);
	last_from = job->from64;
	last_to = job->to64;
	return 0;
}

static unsigned finder_poll(
	struct scan_engine *engine, uint64_t now_ns, struct scan_verdict *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < engine->n && n < max;) {
		if (engine->verdict[i].done_ns > now_ns) {
			i++;
			continue;
		}
		out[n++] = engine->verdict[i];
		memmove(engine->verdict + i, engine->verdict + i + 1,
			(--engine->n - i) * sizeof(engine->verdict[0]));
	}
	return n;
}

static uint64_t finder_next(const struct scan_engine *engine)
{
	uint64_t next_ns = SCAN_NEVER;

	for (unsigned i = 0; i < engine->n; i++)
		next_ns = RTE_MIN(next_ns, engine->verdict[i].done_ns);
	return next_ns;
}

static const struct scan_engine_ops finder = {
	.name = "finder",
	.trigger = no_trigger,
	.make = finder_make,
	.destroy = finder_destroy,
	.submit = finder_submit,
	.poll = finder_poll,
	.next_ns = finder_next,
};

// ---- a world ----

static struct scan_arena arena;

// An engine, for a gate that has none yet.
static inline void world_scans(struct gate *gate, uint32_t files, size_t bytes)
{
	const struct scan_config config = {
		.ops = &finder,
		.arena = &arena,
		.timeout_ns = 10 * NS_PER_S,
		.flows = files,
	};
	char err[200];

	assert_int_equal(scan_arena_new(&arena, bytes, CONTENT_BLOCK_MAX, 1, err, sizeof(err)), 0);
	pipe_scan_new(gate->pipe, &config);
	jobs_seen = whole_seen = 0;
	is_deaf = false;
}

static inline struct gate *world_of(
	const char *policy, uint32_t files, uint32_t flows, size_t bytes)
{
	struct gate *gate = gate_with_places(flows, policy);

	world_scans(gate, files, bytes);
	return gate;
}

static inline struct gate *world_with(const char *policy, uint32_t files)
{
	return world_of(policy, files, 8, 32u << 20);
}

static inline struct gate *world(const char *policy)
{
	return world_with(policy, 16);
}

// Files and jobs are all given back (pipe_scan_free asserts it of jobs).
static inline void world_free(struct gate *gate)
{
	is_deaf = false;
	pipe_advance(gate->pipe, 4000); // what was asked is answered, whoever waits
	pipe_advance(gate->pipe, 200);
	assert_int_equal(stats(gate).scan_files, 0);
	assert_int_equal(stats(gate).scan_pending, 0);
	gate_free(gate);
	scan_arena_free(&arena);
	delay_of = NULL;
}

// Octets of payload that left to the client in those frames, in order; resets are counted.
struct left {
	char bytes[20000];
	size_t length;
	unsigned resets;
};

static inline void take(struct gate *gate, struct left *left, unsigned from, unsigned to)
{
	for (unsigned i = from; i < to; i++) {
		const struct pipe_sent *sent = &gate->pipe->sent[i];
		const uint8_t *ip = sent->frame + 14, *tcp = ip + (ip[0] & 15) * 4;
		size_t header = (size_t)(tcp - sent->frame) + (tcp[12] >> 4) * 4u;
		size_t length = (size_t)(ip[2] << 8 | ip[3]) + 14 - header;

		left->resets += !!(tcp[13] & TH_RST);
		if (sent->port != PIPE_INSIDE || !length)
			continue;
		assert_true(left->length + length < sizeof(left->bytes));
		memcpy(left->bytes + left->length, sent->frame + header, length);
		left->length += length;
	}
}

static inline void passes(struct gate *gate, double seconds, struct left *left)
{
	unsigned from = gate->pipe->n_sent;

	for (; seconds > 0.005; seconds -= 0.005) // the loop does not sleep for longer
		pipe_advance(gate->pipe, 0.005);
	pipe_advance(gate->pipe, seconds);
	pipe_turns(gate->pipe);
	take(gate, left, from, gate->pipe->n_sent);
	gate->pipe->n_sent = 0; // as gate_run leaves it
}

static inline void says(
	struct gate *gate, struct gate_tcp *tcp, const char *text, struct left *left)
{
	unsigned n = answers(gate, tcp, text);

	take(gate, left, 0, n);
	passes(gate, 0, left);
}

static inline void fin(struct gate *gate, struct gate_tcp *tcp, struct left *left)
{
	const struct pipe_packet packet = {.from_outside = true,
		.client = tcp->client,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.seq = tcp->seq[1]++,
		.ack = tcp->seq[0],
		.tcp_flags = TH_FIN | TH_ACK};

	unsigned n = gate_run(gate, &packet);

	take(gate, left, 0, n);
	passes(gate, 0, left);
}

// A RST of the client, which a flow that was reset does not let pass.
static inline void gives_up(struct gate *gate, const struct gate_tcp *tcp)
{
	const struct pipe_packet packet = {.client = tcp->client,
		.sport = tcp->sport,
		.dport = tcp->dport,
		.seq = tcp->seq[0],
		.ack = tcp->seq[1],
		.tcp_flags = TH_RST | TH_ACK};

	gate_run(gate, &packet);
	pipe_advance(gate->pipe, 200); // beyond what a closed flow stays
}

static inline bool has(const struct left *left, const char *text)
{
	return memmem(left->bytes, left->length, text, strlen(text));
}

#endif
