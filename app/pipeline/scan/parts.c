// SPDX-License-Identifier: BSD-3-Clause
// Flows that bring parts of files: their bytes to the swarm, its jobs to scan lcores, and who
// waits.
#include "pipeline/scan/parts.h"

#include <string.h>
#include "pipeline/scan/files_work.h"

// A part of HTTP may be all that its receiver wants: at its end it is looked at by itself, if the
// file is not whole then. Blocks of others are nothing without the rest.
enum part_alone { ALONE_NEVER, ALONE_AT_END, ALONE_ASKS, ALONE_DUE };

#define COUNT_NS NS_PER_MS // counters of all lcores are taken over so often

static struct swarm *swarm_of(const struct lcore *lcore)
{
	return lcore->scan_files->config->swarm;
}

bool scan_parts_are_joined(const struct lcore *lcore)
{
	return lcore->scan_files && swarm_of(lcore);
}

uint32_t scan_part_begin(struct lcore *lcore, const struct scan_begin *begin,
	const struct scan_part *part, struct scan_result *result)
{
	uint32_t number = scan_work_place(lcore, begin), in_swarm;

	if (!number)
		return scan_work_unscanned(result, SCAN_REASON_BUSY);
	struct scan_file *file = &lcore->scan_files->file[number];
	enum scan_reason reason = swarm_open(swarm_of(lcore), part->file, lcore->now_ns, &in_swarm);

	file->part = in_swarm;
	file->part_from = file->part_to = part->from;
	file->alone = part->file->of_sender || part->file->trusting ? ALONE_AT_END : ALONE_NEVER;
	if (in_swarm && reason) { // too big: it is told once
		scan_work_unscanned(result, reason);
		file->result = *result;
	}
	if (in_swarm)
		return number;
	lcore->stats.swarm_full += reason == SCAN_REASON_BUSY;
	scan_work_give(lcore, number);
	return scan_work_unscanned(result, reason);
}

// ---- jobs ----

static void wake_one(struct lcore *lcore, unsigned worker)
{
	struct scan_files *files = lcore->scan_files;

	if (scan_link_is_asleep(scan_worker_link(files->workers[worker], lcore->index)))
		lcore->scan_wakes |= UINT64_C(1) << worker;
}

// What is due about the swarm's file. Which scan lcore has it travels as `generation`, and by which
// rule it is asked as `flow`: it is about no flow.
static void submit(struct lcore *lcore, const struct scan_file *file)
{
	struct scan_files *files = lcore->scan_files;
	unsigned worker = scan_work_least_busy(files);
	struct scan_job job = {
		.id = files->next_id + 1,
		.submitted_ns = lcore->now_ns,
		.deadline_ns = lcore->now_ns + files->config->timeout_ns,
		.flow = file->rule_uid,
		.generation = worker,
		.lcore = (uint8_t)lcore->index,
	};

	if (!swarm_job(swarm_of(lcore), file->part, &job))
		return;
	if (!scan_link_submit(scan_worker_link(files->workers[worker], lcore->index), &job)) {
		lcore->stats.scan_ring_full++;
		swarm_job_over(swarm_of(lcore), &job, NULL);
		return; // whoever waits tries again
	}
	files->next_id++;
	files->waiting_at[worker]++;
	lcore->stats.scan_jobs++;
	wake_one(lcore, worker);
}

void scan_parts_verdict(struct lcore *lcore, const struct scan_verdict *verdict)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_verdict sure = *verdict;

	if (!swarm_of(lcore) || verdict->value >= SCAN_VALUES_MAX ||
		verdict->reason >= SCAN_REASONS_MAX ||
		!swarm_job_is(swarm_of(lcore), &verdict->job, &sure.job)) {
		lcore->stats.scan_stale++;
		return;
	}
	sure.name[SCAN_NAME_MAX - 1] = 0;
	if (sure.value == SCAN_UNSCANNED && !sure.reason)
		sure.reason = SCAN_REASON_LIMIT;
	files->waiting_at[sure.job.generation]--;
	swarm_job_over(swarm_of(lcore), &sure.job, &sure);
}

// Ids that are condemned for everybody, since the last turn of any lcore.
static void tell_condemned(struct lcore *lcore, scan_told_fn *obey)
{
	static const struct scan_verdict infected = {.value = SCAN_INFECTED};
	struct content_id id;
	uint32_t rule_uid;

	for (unsigned i = 0; i < TURN_MAX && swarm_condemned(swarm_of(lcore), &id, &rule_uid); i++)
		obey(lcore, &(struct scan_told){.verdict = &infected,
				    .rule_uid = rule_uid,
				    .id = &id,
				    .condemned = true});
}

// ---- who waits ----

static void wait_for(struct lcore *lcore, uint32_t number)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	struct swarm_look look;

	scan_work_list_remove(files, &files->tails, number);
	if (!file->sharing.on) {
		swarm_look(swarm_of(lcore), file->part, &look);
		file->changes = look.changes;
		file->job.submitted_ns = lcore->now_ns;
		file->job.deadline_ns = lcore->now_ns + files->config->timeout_ns;
		scan_work_list_append(files, &files->waiting, number);
		scan_work_list_append(files, &files->sharing, number);
		lcore->stats.scan_pending++;
	}
	scan_work_note_since(files, file, SCAN_SINCE_JOB);
}

// Nobody waits for it any more.
static void stop_waiting(struct lcore *lcore, uint32_t number)
{
	struct scan_files *files = lcore->scan_files;

	scan_work_list_remove(files, &files->waiting, number);
	scan_work_list_remove(files, &files->sharing, number);
	lcore->stats.scan_pending--;
}

static void tell(struct lcore *lcore, uint32_t number, const struct scan_verdict *verdict,
	scan_told_fn *obey)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	struct scan_verdict said = *verdict;
	const bool was_told = file->result.told && file->result.value == said.value &&
			      file->result.reason == said.reason;

	said.job = file->job;
	said.job.half = file->half;
	said.job.to64 = verdict->job.to64;
	stop_waiting(lcore, number);
	scan_verdict_count(lcore, &said);
	file->result = scan_result_of(&said);
	file->result.hold_ns = lcore->now_ns - said.job.submitted_ns;
	file->result.told = was_told;
	scan_work_tell(lcore, number, &said,
		said.value != SCAN_INFECTED && !file->ended && !file->dropped, obey);
}

static const struct scan_verdict unfinished = {
	.value = SCAN_UNSCANNED, .reason = SCAN_REASON_PROTOCOL};

// A piece of the file was wrong: it is not whole any more, and who waits goes on.
static void let_go_on(struct lcore *lcore, uint32_t number, scan_told_fn *obey)
{
	static const struct scan_verdict nothing = {.value = SCAN_CLEAN};
	struct scan_file *file = &lcore->scan_files->file[number];

	if (file->ended) {
		tell(lcore, number, &unfinished, obey);
		return;
	}
	stop_waiting(lcore, number);
	file->result = (struct scan_result){0};
	scan_work_tell(lcore, number, &nothing, !file->dropped, obey);
}

// It was looked at by itself, and nothing found. While others bring more of its file nothing is
// made of that. `failed`: nor could it be looked at.
static void tell_alone(
	struct lcore *lcore, uint32_t number, const struct scan_verdict *failed, scan_told_fn *obey)
{
	struct scan_file *file = &lcore->scan_files->file[number];

	if (!failed && swarm_is_shared(swarm_of(lcore), file->part))
		file->rule.on_unscanned[SCAN_REASON_PROTOCOL] = SCAN_POLICY_PASS;
	tell(lcore, number, failed ? failed : &unfinished, obey);
}

// How its part by itself stands; asks for it, if its turn comes, and has its job submitted.
static enum swarm_part look_alone(
	struct lcore *lcore, struct scan_file *file, struct scan_verdict *failed)
{
	struct swarm *swarm = swarm_of(lcore);
	enum swarm_part part =
		file->alone == ALONE_DUE
			? swarm_part_look(swarm, file->part, file->part_from, file->part_to, failed)
			: swarm_part(swarm, file->part, file->part_from, file->part_to);

	if (part == SWARM_PART_DUE)
		file->alone = ALONE_DUE;
	if (part == SWARM_PART_DUE || part == SWARM_PART_LATER)
		submit(lcore, file);
	else
		file->alone = ALONE_NEVER;
	return part;
}

void scan_part_late(struct lcore *lcore, uint32_t number, scan_told_fn *obey)
{
	static const struct scan_verdict late = {.value = SCAN_TIMEOUT};
	struct swarm_look look;

	swarm_look(swarm_of(lcore), lcore->scan_files->file[number].part, &look);
	tell(lcore, number, look.known ? &look.verdict : &late, obey);
}

static void look_at(struct lcore *lcore, uint32_t number, scan_told_fn *obey)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	struct swarm_look look;

	swarm_look(swarm_of(lcore), file->part, &look);
	if (file->alone >= ALONE_ASKS && !look.known && !look.waits) {
		struct scan_verdict failed = {0};
		enum swarm_part part = look_alone(lcore, file, &failed);

		if (file->alone == ALONE_NEVER)
			tell_alone(lcore, number, part == SWARM_PART_FAILED ? &failed : NULL, obey);
		return;
	}
	if (look.changes == file->changes || (look.waits && !look.passing)) {
		file->changes = look.changes;
		submit(lcore, file); // if it is due by now
		return;
	}
	if (look.known || look.waits)
		tell(lcore, number, &look.verdict, obey);
	else
		let_go_on(lcore, number, obey);
}

static void count(struct lcore *lcore)
{
	struct swarm_tally tally;
	struct swarm_use use;

	if (lcore->now_ns < lcore->scan_files->count_ns)
		return;
	lcore->scan_files->count_ns = lcore->now_ns + COUNT_NS;
	swarm_tally(swarm_of(lcore), &tally);
	lcore->stats.swarm_differs += tally.differs;
	lcore->stats.swarm_poisoned += tally.poisoned;
	lcore->stats.swarm_proven += tally.proven;
	lcore->stats.swarm_bad += tally.bad;
	lcore->stats.swarm_condemned += tally.condemned;
	lcore->stats.swarm_forgotten += tally.forgotten;
	if (lcore->index) // one of them says what all have
		return;
	swarm_use(swarm_of(lcore), &use);
	lcore->stats.swarm_files = use.files;
	lcore->stats.swarm_bytes = use.used;
}

void scan_parts_turn(struct lcore *lcore, scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;

	if (likely(!files->config->swarm))
		return;
	swarm_turn(swarm_of(lcore), lcore->now_ns);
	count(lcore);
	tell_condemned(lcore, obey);
	uint64_t changes = swarm_changes(swarm_of(lcore));

	if (changes != files->swarm_changes) {
		files->swarm_changes = changes;
		files->n_unlooked = files->n_sharing;
	}
	for (unsigned i = 0; i < TURN_MAX && files->n_unlooked && files->sharing.first; i++) {
		uint32_t number = files->sharing.first;

		files->n_unlooked--;
		scan_work_list_remove(files, &files->sharing, number);
		scan_work_list_append(files, &files->sharing, number);
		look_at(lcore, number, obey);
	}
}

// ---- bytes ----

static bool is_over(
	struct lcore *lcore, uint32_t number, enum scan_reason reason, struct scan_result *result)
{
	lcore->stats.scan_unscanned++;
	lcore->stats.swarm_full += reason == SCAN_REASON_BUSY;
	scan_file_drop(lcore, number);
	return scan_work_unscanned(result, reason);
}

// Its verdict is there already: it is told at once, where it is not that nothing was found.
static bool is_clean(struct lcore *lcore, uint32_t number, struct scan_result *result)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	struct swarm_look look;

	swarm_look(swarm_of(lcore), file->part, &look);
	if (!look.known || look.verdict.value == SCAN_CLEAN)
		return true;
	*result = scan_result_of(&look.verdict);
	scan_file_drop(lcore, number);
	return false;
}

static void stand(struct lcore *lcore, uint32_t number)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];

	if (!file->enforces)
		return;
	file->gave_ns = lcore->now_ns;
	scan_work_note_since(files, file, SCAN_SINCE_BYTES);
	scan_work_list_append(files, &files->tails, number);
}

bool scan_part_add(struct lcore *lcore, uint32_t number, uint64_t at, const uint8_t *bytes,
	uint32_t length, struct scan_result *result)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	struct swarm_due due;
	enum swarm_taken taken = swarm_add(swarm_of(lcore), file->part,
		&(struct swarm_bytes){.at = file->part_from + at,
			.bytes = bytes,
			.length = length,
			.share = file->share,
			.now_ns = lcore->now_ns},
		&due);

	if (due.wakes)
		wake_one(lcore, scan_work_least_busy(files));
	if (due.job)
		submit(lcore, file);
	if (file->tail.on)
		scan_work_list_remove(files, &files->tails, number);
	if (file->part_from + at + length > file->part_to) // what is not taken ends the file here
		file->part_to = file->part_from + at + length;
	switch (taken) {
	case SWARM_TAKEN: break;
	case SWARM_STANDS: stand(lcore, number); break;
	case SWARM_WAITS: wait_for(lcore, number); break;
	case SWARM_KNOWN: return is_clean(lcore, number, result);
	case SWARM_FULL: return is_over(lcore, number, SCAN_REASON_BUSY, result);
	case SWARM_BUSY:
		lcore->stats.swarm_busy++;
		return is_over(lcore, number, SCAN_REASON_BUSY, result);
	case SWARM_DIFFERS:
	case SWARM_BEYOND: return is_over(lcore, number, SCAN_REASON_PROTOCOL, result);
	case SWARM_TOO_BIG: return is_over(lcore, number, SCAN_REASON_TOO_BIG, result);
	}
	return true;
}

bool scan_part_tail(struct lcore *lcore, uint32_t number)
{
	struct scan_file *file = &lcore->scan_files->file[number];

	if (!swarm_seal(swarm_of(lcore), file->part))
		return false;
	submit(lcore, file);
	wait_for(lcore, number);
	return true;
}

bool scan_part_end(struct lcore *lcore, uint32_t number, struct scan_result *result)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	struct swarm_look look;

	scan_work_list_remove(lcore->scan_files, &lcore->scan_files->tails, number);
	if (!file->size64)
		swarm_seal(swarm_of(lcore), file->part);
	swarm_look(swarm_of(lcore), file->part, &look);
	if (look.waits || file->sharing.on) {
		file->ended = true;
		submit(lcore, file);
		wait_for(lcore, number);
		return true;
	}
	if (!look.known && file->alone == ALONE_AT_END && file->part_to > file->part_from) {
		file->alone = ALONE_ASKS;
		if (look_alone(lcore, file, NULL) != SWARM_PART_GONE) {
			file->ended = true;
			wait_for(lcore, number);
			return true;
		}
	}
	if (look.known) {
		*result = scan_result_of(&look.verdict);
		result->told = look.verdict.value == file->result.value && file->result.told;
	} else if (file->result.known && file->result.reason == SCAN_REASON_TOO_BIG) {
		*result = file->result;
		result->told = true;
	} else {
		lcore->stats.scan_unscanned++;
		scan_work_unscanned(result, SCAN_REASON_PROTOCOL);
		result->told = swarm_is_shared(swarm_of(lcore), file->part);
	}
	scan_work_give(lcore, number);
	return false;
}
