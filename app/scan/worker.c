// SPDX-License-Identifier: BSD-3-Clause
// Takes scan jobs from the data lcores, runs the engine and returns verdicts.
#include "scan/worker.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <rte_malloc.h>
#include "scan/front.h"

#define TURN_MAX 64 // jobs of one lcore, and verdicts, in one turn

struct scan_worker {
	struct scan_front *front;
	struct scan_side_work side;
	unsigned index;
	_Atomic bool asleep;
	unsigned n_links;
	struct {
		struct scan_link link;
		uint32_t owed; // verdicts of jobs that were taken
	} asker[];             // by data lcore
};

int scan_worker_new(const struct scan_config *config, unsigned index, unsigned n_lcores, int socket,
	struct scan_worker **out, char *err, size_t err_len)
{
	struct scan_worker *worker = rte_zmalloc_socket(
		"scan_worker", sizeof(*worker) + n_lcores * sizeof(worker->asker[0]), 64, socket);
	int rc = worker ? 0 : -ENOMEM;

	snprintf(err, err_len,
		"scan lcore %u: no memory; give EAL more (hugepages, or memory.mb without them)",
		index);
	if (!rc) {
		worker->side = config->side;
		worker->index = index;
	}
	for (unsigned i = 0; !rc && i < n_lcores; i++) {
		worker->asker[i].link.asleep = &worker->asleep;
		rc = scan_link_init(&worker->asker[i].link, i, index, socket);
		worker->n_links += !rc;
	}
	if (!rc)
		rc = scan_front_new(config, socket, &worker->front, err, err_len);
	if (rc < 0) {
		scan_worker_free(worker);
		return rc;
	}
	*out = worker;
	return 0;
}

void scan_worker_free(struct scan_worker *worker)
{
	if (!worker)
		return;
	scan_front_free(worker->front);
	for (unsigned i = 0; i < worker->n_links; i++)
		scan_link_fini(&worker->asker[i].link);
	rte_free(worker);
}

struct scan_link *scan_worker_link(struct scan_worker *worker, unsigned lcore)
{
	return lcore < worker->n_links ? &worker->asker[lcore].link : NULL;
}

static void report(struct scan_worker *worker, struct scan_verdict *verdict)
{
	unsigned lcore = verdict->job.lcore;

	if (lcore >= worker->n_links)
		return; // no engine invents one: the data lcore put its own number into the job
	int rc = rte_ring_sp_enqueue_elem(
		worker->asker[lcore].link.verdicts, verdict, sizeof(*verdict));

	assert(!rc && worker->asker[lcore].owed); // take_jobs left room for it
	(void)rc;
	worker->asker[lcore].owed--;
}

static void refuse(struct scan_worker *worker, const struct scan_job *job, uint64_t now_ns,
	enum scan_value value)
{
	struct scan_verdict refused = {
		.job = *job, .taken_ns = now_ns, .done_ns = now_ns, .value = (uint8_t)value};

	report(worker, &refused);
}

// Each job that is taken has a verdict, also if the engine has no room for it or nobody waits for
// it any more: its flow would else be held, and its file kept, for nothing. So no more are taken
// than there is room for verdicts.
static unsigned take_jobs(struct scan_worker *worker, unsigned lcore, uint64_t now_ns)
{
	struct scan_link *link = &worker->asker[lcore].link;
	struct scan_job jobs[TURN_MAX];
	unsigned room = rte_ring_free_count(link->verdicts), owed = worker->asker[lcore].owed;
	unsigned max = room > owed ? room - owed : 0;
	unsigned n = rte_ring_sc_dequeue_burst_elem(
		link->jobs, jobs, sizeof(jobs[0]), max < TURN_MAX ? max : TURN_MAX, NULL);

	worker->asker[lcore].owed += n;
	for (unsigned i = 0; i < n; i++) {
		jobs[i].lcore = (uint8_t)lcore;
		if (now_ns >= jobs[i].deadline_ns)
			refuse(worker, &jobs[i], now_ns, SCAN_TIMEOUT);
		else if (scan_front_submit(worker->front, &jobs[i], now_ns) < 0)
			refuse(worker, &jobs[i], now_ns, SCAN_ERROR);
	}
	return n;
}

bool scan_worker_turn(struct scan_worker *worker, uint64_t now_ns)
{
	struct scan_verdict verdicts[TURN_MAX];
	unsigned taken = 0;

	for (unsigned i = 0; i < worker->n_links; i++)
		taken += take_jobs(worker, i, now_ns);
	unsigned n = scan_front_poll(worker->front, now_ns, verdicts, TURN_MAX);

	for (unsigned i = 0; i < n; i++)
		report(worker, &verdicts[i]);
	bool more = worker->side.turn && worker->side.turn(worker->side.ctx, worker->index, now_ns);

	return taken || n || more;
}

unsigned scan_worker_descriptors(const struct scan_worker *worker, struct pollfd out[SCAN_FDS_MAX])
{
	return scan_front_descriptors(worker->front, out);
}

void scan_worker_adopt(struct scan_worker *worker, const struct scan_news *news, uint64_t now_ns)
{
	scan_front_adopt(worker->front, news, now_ns);
}

bool scan_worker_status(struct scan_worker *worker, struct scan_status *out)
{
	return scan_front_status(worker->front, out);
}

uint64_t scan_worker_next_ns(const struct scan_worker *worker)
{
	return scan_front_next_ns(worker->front);
}

bool scan_worker_may_sleep(struct scan_worker *worker)
{
	atomic_store_explicit(&worker->asleep, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	for (unsigned i = 0; i < worker->n_links; i++) {
		if (!rte_ring_empty(worker->asker[i].link.jobs)) {
			scan_worker_woke(worker);
			return false;
		}
	}
	if (worker->side.is_due && worker->side.is_due(worker->side.ctx)) {
		scan_worker_woke(worker);
		return false;
	}
	return true;
}

void scan_worker_woke(struct scan_worker *worker)
{
	atomic_store_explicit(&worker->asleep, false, memory_order_relaxed);
}
