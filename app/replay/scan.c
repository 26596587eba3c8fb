// SPDX-License-Identifier: BSD-3-Clause
// Hands the jobs of replay to a scanner that is a process of its own, and waits for its verdicts.
#include "replay/scan.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <rte_malloc.h>
#include "config/gateway.h"
#include "content/memory.h"
#include "pipeline/stage/hold.h"
#include "pipeline/swarm/swarm.h"
#include "pipeline/vocab/tick.h"
#include "replay/scan_process.h"

#define EXIT_FAILED    1
#define EXIT_CONFIG    78
#define MEMORY_MB      32u
#define FILE_BYTES     2048u // of scan.flows: its places in the pools of files and of flows
#define PATIENCE       10 // a scan may take so many times scan.timeout_ms: slow machines say the same
#define START_PATIENCE (600 * NS_PER_S) // to load the signatures
#define LOOK_NS        (200 * NS_PER_MS)

struct replay_scan {
	struct scan_config config;
	struct gateway *gateway;
	struct scan_arena arena;
	struct scan_worker *worker; // the one scan lcore, in line
	struct hold_workers workers;
	struct dataplane *dp;
	struct scan_process *own;
	uint64_t later_ns;
	uint64_t real_ns; // that a job may take
	char failed[256]; // "": it works
};

// What waits for the captures' clock, about the engine that asks the scanner at the real one.
struct scan_engine {
	struct replay_scan *scan;
	struct scan_engine *inner; // of scan_engine_process: another struct
	uint32_t first, n;         // of verdicts, a ring
	struct scan_verdict verdicts[SCAN_JOBS_MAX];
};

static const struct scan_engine_ops *const inner_ops = &scan_engine_process;

static uint64_t real_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void failed(struct replay_scan *scan, const char *what, const char *why)
{
	if (!scan->failed[0])
		snprintf(scan->failed, sizeof(scan->failed), "the scanner %s%s%s", what,
			*why ? ": " : "", why);
}

// What has become of the scanner. One that has died is not started again: what follows would be
// unscanned, and no two runs the same.
static void hear(struct scan_engine *engine)
{
	struct scan_news news[SCAN_PROCESS_NEWS_MAX];
	struct scan_status status;
	unsigned n = scan_process_step(engine->scan->own, news);

	for (unsigned i = 0; i < n; i++) {
		bool dead = news[i].fd < 0;

		inner_ops->adopt(engine->inner, &news[i], real_now_ns());
		inner_ops->status(engine->inner, &status);
		if (dead)
			failed(engine->scan, "has ended", status.text);
	}
	inner_ops->status(engine->inner, &status);
	if (status.lost[0] && !engine->scan->failed[0]) {
		failed(engine->scan, "does not do what it is asked", status.text);
		scan_process_kill(engine->scan->own); // news of its death follow
	}
}

static void sleep_a_while(struct scan_engine *engine)
{
	struct pollfd wait[SCAN_FDS_MAX];
	const struct timespec time = {.tv_nsec = LOOK_NS};
	unsigned n = inner_ops->descriptors(engine->inner, wait);

	ppoll(wait, n, &time, NULL);
}

static int wait_make(const struct scan_config *config, int socket, struct scan_engine **out,
	char *err, size_t err_len)
{
	struct scan_engine *engine = rte_zmalloc_socket("scan_wait", sizeof(*engine), 64, socket);

	if (!engine) {
		snprintf(err, err_len, "no memory for %u scan jobs", SCAN_JOBS_MAX);
		return -ENOMEM;
	}
	// It is the config of a struct replay_scan, and of nothing else.
	engine->scan = (struct replay_scan *)(void *)((char *)(uintptr_t)config -
						      offsetof(struct replay_scan, config));
	int rc = inner_ops->make(config, socket, &engine->inner, err, err_len);

	if (rc < 0) {
		rte_free(engine);
		return rc;
	}
	*out = engine;
	return 0;
}

static void wait_destroy(struct scan_engine *engine)
{
	if (!engine)
		return;
	inner_ops->destroy(engine->inner);
	rte_free(engine);
}

// Until its verdict is there: the engine has one for each job, whatever becomes of the scanner.
static int ask(struct scan_engine *engine, const struct scan_job *job, struct scan_verdict *verdict)
{
	struct scan_job now = *job;

	now.submitted_ns = real_now_ns();
	now.deadline_ns = now.submitted_ns + engine->scan->real_ns;
	int rc = inner_ops->submit(engine->inner, &now, now.submitted_ns);

	while (!rc && !inner_ops->poll(engine->inner, real_now_ns(), verdict, 1)) {
		sleep_a_while(engine);
		hear(engine);
	}
	return rc;
}

static int wait_submit(struct scan_engine *engine, const struct scan_job *job, uint64_t now_ns)
{
	if (engine->n == SCAN_JOBS_MAX)
		return -EAGAIN;
	struct scan_verdict *verdict =
		&engine->verdicts[(engine->first + engine->n) % SCAN_JOBS_MAX];
	int rc = ask(engine, job, verdict);

	if (rc < 0)
		return rc;
	verdict->job = *job;
	verdict->taken_ns = now_ns;
	verdict->done_ns = now_ns + engine->scan->later_ns;
	engine->n++;
	return 0;
}

static unsigned wait_poll(
	struct scan_engine *engine, uint64_t now_ns, struct scan_verdict *out, unsigned max)
{
	unsigned n = 0;

	for (; n < max && engine->n && engine->verdicts[engine->first].done_ns <= now_ns; n++) {
		out[n] = engine->verdicts[engine->first];
		engine->first = (engine->first + 1) % SCAN_JOBS_MAX;
		engine->n--;
	}
	return n;
}

static uint64_t wait_next_ns(const struct scan_engine *engine)
{
	return engine->n ? engine->verdicts[engine->first].done_ns : SCAN_NEVER;
}

static int wait_trigger(
	const struct scan_config *config, enum half half, uint64_t from64, uint64_t to64)
{
	return inner_ops->trigger(config, half, from64, to64);
}

// It has nothing but what the scanner says, and that is read while it is waited for.
static void wait_adopt(struct scan_engine *engine, const struct scan_news *news, uint64_t now_ns)
{
	(void)now_ns;
	inner_ops->adopt(engine->inner, news, real_now_ns());
}

static void wait_status(struct scan_engine *engine, struct scan_status *out)
{
	hear(engine);
	inner_ops->poll(engine->inner, real_now_ns(), NULL, 0);
	inner_ops->status(engine->inner, out);
}

static const struct scan_engine_ops engine_wait = {
	.name = "clamav",
	.trigger = wait_trigger,
	.make = wait_make,
	.destroy = wait_destroy,
	.submit = wait_submit,
	.poll = wait_poll,
	.next_ns = wait_next_ns,
	.adopt = wait_adopt,
	.status = wait_status,
};

static int refused(struct replay_scan *scan, const char *path, const char *what, const char *why)
{
	fprintf(stderr, "sluice replay: --scan %s: %s%s\n", path, what, why);
	replay_scan_free(scan);
	return EXIT_CONFIG;
}

int replay_scan_read(const struct replay_options *options, struct replay_scan **out)
{
	const char *path = options->scan;
	struct config_errors errors = {0};
	struct replay_scan *scan = calloc(1, sizeof(*scan));

	if (!scan) {
		fprintf(stderr, "sluice replay: no memory\n");
		return EXIT_FAILED;
	}
	int rc = gateway_load(path, NULL, 0, &scan->gateway, &errors);

	for (size_t i = 0; i < errors.n; i++)
		fprintf(stderr, "%s\n", errors.lines[i]);
	config_errors_free(&errors);
	if (rc < 0)
		return refused(scan, path, rc == -EINVAL ? "not valid" : strerror(-rc), "");
	const struct gateway *gateway = scan->gateway;

	if (gateway->scan.engine != SCAN_ENGINE_CLAMAV)
		return refused(
			scan, path, "scan.engine is not \"clamav\"", ": no other scans files");
	scan->later_ns = options->scan_ms * NS_PER_MS;
	scan->config = (struct scan_config){
		.ops = &engine_wait,
		.max_file_bytes = (uint64_t)gateway->scan.max_file_mb << 20,
		.timeout_ns = gateway->scan.timeout_ms * NS_PER_MS,
		.flows = gateway->scan.flows,
		.on_timeout = gateway->scan.on_timeout,
		.on_error = gateway->scan.on_error,
	};
	scan->real_ns = scan->config.timeout_ns * PATIENCE;
	*out = scan;
	return -1;
}

void replay_scan_free(struct replay_scan *scan)
{
	if (!scan)
		return;
	gateway_free(scan->gateway);
	free(scan);
}

unsigned replay_scan_mb(const struct replay_scan *scan)
{
	return scan ? MEMORY_MB + (unsigned)((uint64_t)scan->config.flows * FILE_BYTES >> 20) : 0;
}

// It has a child that waits for files, or says why it will never have one.
static int wait_ready(struct replay_scan *scan, char *err, size_t err_len)
{
	uint64_t until_ns = real_now_ns() + START_PATIENCE;
	const struct timespec pause = {.tv_nsec = 5 * NS_PER_MS};
	struct scan_status status;

	for (;;) {
		scan_worker_status(scan->worker, &status);
		if (status.state == SCAN_STATE_READY)
			return 0;
		if (status.state == SCAN_STATE_FAILED)
			failed(scan, "cannot scan", status.text);
		else if (real_now_ns() >= until_ns)
			failed(scan, "does not become ready", "");
		if (scan->failed[0]) {
			snprintf(err, err_len, "%s", scan->failed);
			return -EIO;
		}
		nanosleep(&pause, NULL);
	}
}

static int lcores_join(struct replay_scan *scan, char *err, size_t err_len)
{
	int rc = scan_worker_new(
		&scan->config, 0, scan->dp->n_lcores, SOCKET_ID_ANY, &scan->worker, err, err_len);

	scan->workers = (struct hold_workers){
		.config = &scan->config, .workers = &scan->worker, .n_workers = 1, .in_line = true};
	for (unsigned i = 0; !rc && i < scan->dp->n_lcores; i++)
		rc = hold_new(scan->dp->lcores[i], &scan->workers, err, err_len);
	if (!rc)
		scan->dp->scan = &scan->config;
	return rc;
}

static int make_swarm(struct replay_scan *scan, char *err, size_t err_len)
{
	if (!scan->arena.shared)
		return 0;
	scan->config.swarm = swarm_new(
		&scan->arena, &(struct swarm_limits){.seed = &scan->dp->lcores[0]->parse.seed,
				      .files = scan->gateway->scan.swarm_files,
				      .age_ns = scan->gateway->scan.swarm_s * NS_PER_S,
				      .n_workers = 1});
	if (!scan->config.swarm) {
		snprintf(err, err_len, "no memory for files in parts (scan.swarm_files)");
		return -ENOMEM;
	}
	scan->config.side = swarm_side_work(scan->config.swarm);
	return 0;
}

int replay_scan_begin(struct replay_scan *scan, struct dataplane *dp, char *err, size_t err_len)
{
	scan->dp = dp;
	scan->failed[0] = '\0';
	scan->config.flows = (scan->gateway->scan.flows + dp->n_lcores - 1) / dp->n_lcores;
	const struct scan_arena_room room = {
		.bytes = (size_t)scan->gateway->scan.arena_mb << 20,
		.unit = CONTENT_BLOCK_MAX,
		.n_parts = dp->n_lcores,
		.shared = (size_t)scan->gateway->scan.swarm_mb << 20,
	};
	int rc = scan_arena_new_of(&scan->arena, &room, err, err_len);

	if (rc < 0)
		return rc;
	scan->config.arena = &scan->arena;
	rc = make_swarm(scan, err, err_len);
	if (rc < 0)
		return rc;
	rc = scan_process_new(
		scan->gateway, scan->arena.fd, scan->real_ns / NS_PER_MS, &scan->own, err, err_len);
	if (!rc)
		rc = lcores_join(scan, err, err_len);
	return rc ? rc : wait_ready(scan, err, err_len);
}

void replay_scan_end(struct replay_scan *scan)
{
	if (!scan || !scan->dp)
		return;
	for (unsigned i = 0; i < scan->dp->n_lcores; i++)
		if (scan->dp->lcores[i])
			hold_free(scan->dp->lcores[i]);
	scan->dp->scan = NULL;
	scan_worker_free(scan->worker); // closes the scanner's sockets: it ends
	scan->worker = NULL;
	scan_process_free(scan->own);
	scan->own = NULL;
	swarm_free(scan->config.swarm);
	scan->config.swarm = NULL;
	if (scan->config.arena)
		scan_arena_free(&scan->arena);
	scan->config.arena = NULL;
	scan->dp = NULL;
}

bool replay_scan_is_due(struct replay_scan *scan, uint64_t now_ns)
{
	if (!scan)
		return false;
	if (!scan_worker_may_sleep(scan->worker))
		return true;
	scan_worker_woke(scan->worker);
	return scan_worker_next_ns(scan->worker) <= now_ns;
}

uint64_t replay_scan_step(
	const struct replay_scan *scan, uint64_t now_ns, uint64_t passed_ns, uint64_t step_ns)
{
	uint64_t due_ns = scan ? scan_worker_next_ns(scan->worker) : SCAN_NEVER;
	bool waits = false;

	for (unsigned i = 0; scan && i < scan->dp->n_lcores; i++)
		waits |= scan->dp->lcores[i]->stats.scan_files != 0;
	if (waits)
		step_ns = RTE_MIN(step_ns, RTE_MAX(SCAN_TAIL_NS, passed_ns / 16));
	return due_ns > now_ns ? RTE_MIN(step_ns, due_ns - now_ns) : step_ns;
}

uint64_t replay_scan_patience(const struct replay_scan *scan)
{
	return scan ? SCAN_TAIL_NS + 2 * RTE_MIN(scan->later_ns, scan->config.timeout_ns) : 0;
}

const char *replay_scan_failed(const struct replay_scan *scan)
{
	return scan && scan->failed[0] ? scan->failed : NULL;
}
