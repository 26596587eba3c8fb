// SPDX-License-Identifier: BSD-3-Clause
// The pool of flows under scan, their jobs, and the way back of verdicts.
#include "pipeline/stage/hold.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/scan/files.h"
#include "pipeline/stage/inspect.h"
#include "pipeline/flow/ends.h"
#include "scan/job.h"

#define PLACE_NONE    UINT32_MAX
#define VERDICTS_TURN 32 // of each scan lcore, and time-outs, in one turn

// What one half waits for. Those that wait are in a list, the one that times out first in front.
struct waiting {
	struct scan_job job; // id 0: it waits for nothing
	uint64_t asked64;    // bytes of the half that the trigger has been asked about
	uint32_t prev, next; // in the list; places
	uint8_t worker;      // that has the job
	bool untaken;        // no ring took the job: it ends as an error
};

struct place { // a flow under scan
	struct waiting half[2];
	uint64_t longest_ns;
	uint32_t jobs;
	uint32_t next_free;
	uint8_t worst; // enum scan_value
	bool has_verdict;
};

struct hold {
	const struct hold_workers *workers;
	const struct scan_config *config;
	uint64_t next_id;
	uint32_t oldest, youngest; // waiting: index of the place * 2 + half
	uint32_t free;
	uint32_t waiting_at[LCORES_MAX]; // jobs that each worker owes a verdict
	struct place places[];
};

int hold_new(struct lcore *lcore, const struct hold_workers *workers, char *err, size_t err_len)
{
	uint32_t n = workers->config->flows;
	struct hold *hold = rte_zmalloc_socket(
		"hold", sizeof(*hold) + n * sizeof(hold->places[0]), 64, lcore->socket);

	if (!hold) {
		snprintf(err, err_len,
			"data lcore %u: no memory for flows under scan (scan.flows); lower it or "
			"give EAL more memory (hugepages, or memory.mb without them)",
			lcore->index);
		return -ENOMEM;
	}
	hold->workers = workers;
	hold->config = workers->config;
	hold->oldest = hold->youngest = PLACE_NONE;
	for (uint32_t i = 0; i < n; i++)
		hold->places[i].next_free = i + 1 < n ? i + 1 : PLACE_NONE;
	lcore->hold = hold;
	return scan_files_new(lcore, workers->config, workers->workers, workers->n_workers,
		lcore->dp->n_lcores, err, err_len);
}

void hold_free(struct lcore *lcore)
{
	scan_files_free(lcore);
	rte_free(lcore->hold);
	lcore->hold = NULL;
}

static struct waiting *waiting_at(struct hold *hold, uint32_t at)
{
	return &hold->places[at / 2].half[at % 2];
}

static void unlink_at(struct hold *hold, uint32_t at)
{
	struct waiting *waiting = waiting_at(hold, at);

	if (waiting->prev == PLACE_NONE)
		hold->oldest = waiting->next;
	else
		waiting_at(hold, waiting->prev)->next = waiting->next;
	if (waiting->next == PLACE_NONE)
		hold->youngest = waiting->prev;
	else
		waiting_at(hold, waiting->next)->prev = waiting->prev;
}

static void link_last(struct hold *hold, uint32_t at)
{
	struct waiting *waiting = waiting_at(hold, at);

	waiting->prev = hold->youngest;
	waiting->next = PLACE_NONE;
	if (hold->youngest == PLACE_NONE)
		hold->oldest = at;
	else
		waiting_at(hold, hold->youngest)->next = at;
	hold->youngest = at;
}

static void link_first(struct hold *hold, uint32_t at)
{
	struct waiting *waiting = waiting_at(hold, at);

	waiting->prev = PLACE_NONE;
	waiting->next = hold->oldest;
	if (hold->oldest == PLACE_NONE)
		hold->youngest = at;
	else
		waiting_at(hold, hold->oldest)->prev = at;
	hold->oldest = at;
}

// The half waits no longer.
static void settle(struct lcore *lcore, uint32_t at)
{
	struct hold *hold = lcore->hold;
	struct waiting *waiting = waiting_at(hold, at);

	unlink_at(hold, at);
	if (!waiting->untaken)
		hold->waiting_at[waiting->worker]--;
	waiting->job.id = 0;
	waiting->untaken = false;
	lcore->stats.scan_pending--;
}

// The flow's place; PLACE_NONE: it has none.
static uint32_t place_of(const struct lcore *lcore, uint32_t ref)
{
	if (!lcore->hold || ref & FLOW_REF_STUB)
		return PLACE_NONE;
	return flow_cold_at(lcore->flows, ref)->hold - 1; // 0: none
}

bool hold_begin(struct lcore *lcore, uint32_t ref)
{
	struct hold *hold = lcore->hold;

	if (!hold || ref & FLOW_REF_STUB || place_of(lcore, ref) != PLACE_NONE ||
		flow_at(lcore->flows, ref)->l4_proto != IPPROTO_TCP)
		return true;
	uint32_t index = hold->free;
	bool heard = flow_both_heard(flow_at(lcore->flows, ref));

	if (index == PLACE_NONE || (!heard && lcore->stats.scan_flows >= hold->config->flows / 2)) {
		lcore->stats.scan_flows_full++;
		return false;
	}
	struct place *place = &hold->places[index];

	hold->free = place->next_free;
	memset(place, 0, sizeof(*place));
	flow_cold_at(lcore->flows, ref)->hold = index + 1;
	lcore->stats.scan_flows++;
	return true;
}

static unsigned least_busy(const struct hold *hold)
{
	unsigned best = 0;

	for (unsigned i = 1; i < hold->workers->n_workers; i++)
		if (hold->waiting_at[i] < hold->waiting_at[best])
			best = i;
	return best;
}

static void submit(struct lcore *lcore, uint32_t at)
{
	struct hold *hold = lcore->hold;
	struct waiting *waiting = waiting_at(hold, at);
	unsigned worker = least_busy(hold);
	struct scan_link *link = scan_worker_link(hold->workers->workers[worker], lcore->index);

	lcore->stats.scan_pending++;
	if (!scan_link_submit(link, &waiting->job)) {
		lcore->stats.scan_ring_full++;
		waiting->untaken = true;
		link_first(hold, at); // its end comes before any other's
		return;
	}
	lcore->stats.scan_jobs++;
	waiting->worker = (uint8_t)worker;
	hold->waiting_at[worker]++;
	link_last(hold, at); // all jobs wait equally long
	if (!hold->workers->in_line && scan_link_is_asleep(link))
		lcore->scan_wakes |= UINT64_C(1) << worker;
}

static uint64_t id_of(const struct lcore *lcore, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	bool v6 = flow->flags & FLOW_V6;

	return flow_id_of(flow_key_of(lcore->flows, flow->key_pos, v6), v6, flow->start_ns);
}

static uint32_t span_of(const struct scan_job *job)
{
	uint64_t length = job->to64 - job->from64;

	return length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
}

bool hold_span(struct lcore *lcore, struct packet_ctx *ctx, const struct span *span)
{
	uint32_t index = place_of(lcore, ctx->ref);

	if (likely(index == PLACE_NONE))
		return false;
	const struct flow *flow = flow_at(lcore->flows, ctx->ref);

	if (flow->action != ACTION_SCAN || flow->flags & FLOW_ALLOWED)
		return false;
	struct hold *hold = lcore->hold;
	struct place *place = &hold->places[index];
	struct waiting *waiting = &place->half[span->half];
	uint64_t from64 = waiting->asked64, to64 = span->offset64 + span->extent;

	if (to64 <= from64 || waiting->job.id)
		return false;
	int trigger = hold->config->ops->trigger(hold->config, span->half, from64, to64);

	waiting->asked64 = to64;
	if (trigger == SCAN_TRIGGER_NONE)
		return false;
	uint64_t last64 = waiting->job.to64; // 0 before the first one

	waiting->job = (struct scan_job){
		.id = ++hold->next_id,
		.from64 = last64,
		.to64 = to64,
		.submitted_ns = lcore->now_ns,
		.deadline_ns = lcore->now_ns + hold->config->timeout_ns,
		.flow = ctx->ref,
		.generation = flow->gen,
		.trigger = (uint32_t)trigger,
		.lcore = (uint8_t)lcore->index,
		.half = span->half,
	};
	submit(lcore, index * 2 + span->half);
	if (!place->jobs++) {
		struct evidence *evidence =
			evidence_add(lcore, EVIDENCE_SCAN_JOB, id_of(lcore, ctx->ref));

		evidence->half = span->half;
		evidence->offset = waiting->job.from64;
		evidence->length = span_of(&waiting->job);
		evidence->rule_uid = flow->rule_uid;
	}
	return true;
}

void hold_anew(struct lcore *lcore, uint32_t ref, enum half half)
{
	uint32_t index = place_of(lcore, ref);

	if (likely(index == PLACE_NONE))
		return;
	struct waiting *waiting = &lcore->hold->places[index].half[half];

	if (waiting->job.id) {
		settle(lcore, index * 2 + half);
		lcore->stats.scan_abandoned++;
	}
	waiting->asked64 = waiting->job.to64 = 0;
}

// The first verdict of a flow, and each that is not good.
static void note_verdict(struct lcore *lcore, const struct place *place, uint32_t ref,
	const struct scan_verdict *verdict)
{
	if (place->has_verdict && verdict->value == SCAN_CLEAN)
		return;
	struct evidence *evidence = evidence_add(lcore, EVIDENCE_SCAN_VERDICT, id_of(lcore, ref));
	size_t n = strnlen(verdict->name, EVIDENCE_BYTES);

	evidence->half = verdict->job.half;
	evidence->detail = verdict->value;
	evidence->offset = verdict->job.from64;
	evidence->length = span_of(&verdict->job);
	evidence->rule_uid = flow_at(lcore->flows, ref)->rule_uid;
	evidence->n_bytes = (uint8_t)n;
	memcpy(evidence->bytes, verdict->name, n);
}

static void take_verdict(
	struct lcore *lcore, uint32_t at, const struct scan_verdict *verdict, hold_verdict_fn *obey)
{
	struct place *place = &lcore->hold->places[at / 2];
	uint64_t held_ns = lcore->now_ns - verdict->job.submitted_ns;
	uint32_t ref = verdict->job.flow;

	settle(lcore, at);
	scan_verdict_count(lcore, verdict);
	if (held_ns > place->longest_ns)
		place->longest_ns = held_ns;
	note_verdict(lcore, place, ref, verdict);
	if (verdict->value > place->worst)
		place->worst = verdict->value;
	place->has_verdict = true;
	obey(lcore, ref, verdict->job.half, verdict);
}

// Whom the verdict is for; PLACE_NONE: nobody waits for it (any more). Nothing in it is trusted.
static uint32_t asker_of(const struct lcore *lcore, const struct scan_verdict *verdict)
{
	const struct scan_job *job = &verdict->job;

	if (job->lcore != lcore->index || job->half > HALF_S2C || !job->id ||
		verdict->value >= SCAN_VALUES_MAX || job->flow >= lcore->flows->flow_pool.size ||
		flow_at(lcore->flows, job->flow)->gen != job->generation)
		return PLACE_NONE;
	uint32_t index = place_of(lcore, job->flow);

	if (index == PLACE_NONE ||
		!scan_job_same(job, &lcore->hold->places[index].half[job->half].job))
		return PLACE_NONE;
	return index * 2 + job->half;
}

static void take_verdicts(struct lcore *lcore, struct scan_link *link, const struct hold_obey *obey)
{
	struct scan_verdict verdicts[VERDICTS_TURN];
	unsigned n = scan_link_verdicts(link, verdicts, VERDICTS_TURN);

	for (unsigned i = 0; i < n; i++) {
		if (verdicts[i].job.flags & SCAN_JOB_FILE) {
			scan_files_verdict(lcore, &verdicts[i], obey->file);
			continue;
		}
		uint32_t at = asker_of(lcore, &verdicts[i]);

		if (at == PLACE_NONE) {
			lcore->stats.scan_stale++;
			continue;
		}
		verdicts[i].name[SCAN_NAME_MAX - 1] = 0;
		// what the engine says the job was is not what counts
		verdicts[i].job = waiting_at(lcore->hold, at)->job;
		take_verdict(lcore, at, &verdicts[i], obey->half);
	}
}

// Jobs that no ring took, and those that nobody has answered.
static void give_up(struct lcore *lcore, hold_verdict_fn *obey)
{
	struct hold *hold = lcore->hold;

	for (unsigned i = 0; i < VERDICTS_TURN && hold->oldest != PLACE_NONE; i++) {
		const struct waiting *waiting = waiting_at(hold, hold->oldest);

		if (!waiting->untaken && lcore->now_ns < waiting->job.deadline_ns)
			return;
		const struct scan_verdict verdict = {
			.job = waiting->job,
			.done_ns = lcore->now_ns,
			.value = waiting->untaken ? SCAN_ERROR : SCAN_TIMEOUT,
		};

		take_verdict(lcore, hold->oldest, &verdict, obey);
	}
}

void hold_take_verdicts(struct lcore *lcore, const struct hold_obey *obey)
{
	const struct hold_workers *workers;

	if (!lcore->hold)
		return;
	workers = lcore->hold->workers;
	for (unsigned i = 0; i < workers->n_workers; i++) {
		struct scan_worker *worker = workers->workers[i];

		while (workers->in_line && scan_worker_turn(worker, lcore->now_ns))
			;
		take_verdicts(lcore, scan_worker_link(worker, lcore->index), obey);
	}
	give_up(lcore, obey->half);
	scan_files_turn(lcore, obey->file);
}

unsigned hold_leave(struct lcore *lcore, uint32_t ref)
{
	uint32_t index = place_of(lcore, ref);
	unsigned waited = 0;

	if (likely(index == PLACE_NONE))
		return 0;
	for (uint32_t half = 0; half < 2; half++) {
		if (!lcore->hold->places[index].half[half].job.id)
			continue;
		settle(lcore, index * 2 + half);
		lcore->stats.scan_abandoned++;
		waited |= 1u << half;
	}
	return waited;
}

void hold_end(struct lcore *lcore, uint32_t ref)
{
	uint32_t index = place_of(lcore, ref);

	if (likely(index == PLACE_NONE))
		return;
	struct hold *hold = lcore->hold;
	struct place *place = &hold->places[index];

	for (uint32_t half = 0; half < 2; half++) {
		if (!place->half[half].job.id)
			continue;
		settle(lcore, index * 2 + half);
		lcore->stats.scan_abandoned++;
	}
	flow_cold_at(lcore->flows, ref)->hold = 0;
	place->next_free = hold->free;
	hold->free = index;
	lcore->stats.scan_flows--;
}

bool hold_summary(const struct lcore *lcore, uint32_t ref, struct hold_summary *out)
{
	uint32_t index = place_of(lcore, ref);

	if (index == PLACE_NONE)
		return false;
	const struct place *place = &lcore->hold->places[index];

	*out = (struct hold_summary){
		.jobs = place->jobs,
		.longest_ns = place->longest_ns,
		.worst = place->worst,
		.has_verdict = place->has_verdict,
	};
	for (unsigned half = 0; half < 2; half++)
		if (place->half[half].job.id)
			out->since_ns[half] = place->half[half].job.submitted_ns;
	return true;
}
