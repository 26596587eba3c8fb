// SPDX-License-Identifier: BSD-3-Clause
// The way back of verdicts about files, and what time brings: tails that are looked at, and jobs
// that nobody answers.
#include <string.h>
#include "pipeline/scan/files_work.h"
#include "pipeline/scan/parts.h"
#include "reassembly/tcp_track.h"

static uint64_t span_ns(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void note(
	const struct lcore *lcore, struct scan_file *file, const struct scan_verdict *verdict)
{
	const struct scan_result was = file->result;
	bool knows = verdict->taken_ns; // else no engine has answered in time

	file->result = scan_result_of(verdict);
	file->result.queue_ns = knows ? span_ns(verdict->job.submitted_ns, verdict->taken_ns) : 0;
	file->result.run_ns = knows ? span_ns(verdict->taken_ns, verdict->done_ns) : 0;
	file->result.hold_ns = lcore->now_ns - verdict->job.submitted_ns;
	// a window that was not looked at is not made good by the next one
	if (file->rule.windows && was.value == SCAN_UNSCANNED && verdict->value == SCAN_CLEAN) {
		file->result.value = was.value;
		file->result.reason = was.reason;
	}
	file->result.told =
		was.told && was.value == file->result.value && was.reason == file->result.reason;
	file->scanned64 = verdict->job.to64;
	if (!verdict->job.from64)
		file->whole64 = verdict->job.to64;
}

// The engine has looked at what was there of the file, which is not all: what it finds of more of
// it may be another thing. A beginning that cannot be opened must not hide what follows.
static bool may_go_on(const struct scan_verdict *verdict)
{
	switch ((enum scan_reason)verdict->reason) {
	case SCAN_REASON_TOO_BIG: // a member: the file itself is not longer than is looked at
	case SCAN_REASON_TOO_DEEP:
	case SCAN_REASON_ENCRYPTED:
	case SCAN_REASON_FORMAT:
	case SCAN_REASON_LIMIT: return verdict->value == SCAN_UNSCANNED;
	default: return verdict->value == SCAN_CLEAN;
	}
}

// What is awaited of the file is there. A file that was scanned in part goes on, and may have ended
// meanwhile: then what is left is looked at before anybody is told.
static void tell(struct lcore *lcore, uint32_t number, const struct scan_verdict *verdict,
	scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	struct scan_verdict said = *verdict;

	lcore->stats.scan_pending--;
	scan_verdict_count(lcore, verdict);
	note(lcore, file, verdict);
	if (may_go_on(verdict) && file->ended && !file->dropped && !scan_work_is_looked_at(file)) {
		if (scan_work_submit_last(lcore, number))
			return;
		scan_work_unscanned(&file->result, SCAN_REASON_BUSY);
		lcore->stats.scan_unscanned++;
		said.value = SCAN_UNSCANNED;
		said.reason = SCAN_REASON_BUSY;
	}
	bool goes_on = may_go_on(verdict) && !file->ended && !file->dropped;

	if (goes_on && file->enforces && scan_bytes_end(file->bytes) > file->scanned64)
		scan_work_list_append(
			files, &files->tails, number); // of the span that closed a window
	scan_work_tell(lcore, number, &said, goes_on, obey);
}

void scan_files_verdict(struct lcore *lcore, const struct scan_verdict *verdict, scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;
	uint32_t number = verdict->job.file;

	if (files && verdict->job.flags & SCAN_JOB_SWARM) {
		scan_parts_verdict(lcore, verdict);
		return;
	}
	if (!files || !number || number > files->n || verdict->value >= SCAN_VALUES_MAX ||
		verdict->reason >= SCAN_REASONS_MAX ||
		!scan_job_same(&verdict->job, &files->file[number].job) || !verdict->job.id) {
		lcore->stats.scan_stale++;
		return;
	}
	struct scan_file *file = &files->file[number];
	struct scan_verdict sure = *verdict;

	sure.job = file->job; // what the engine says the job was is not what counts
	sure.name[SCAN_NAME_MAX - 1] = 0;
	if (sure.value == SCAN_UNSCANNED && !sure.reason)
		sure.reason = SCAN_REASON_LIMIT;
	files->waiting_at[file->worker]--;
	scan_bytes_job_over(&files->store, file->bytes, &file->job);
	scan_work_list_remove(files, &files->waiting, number);
	file->job.id = 0;
	if (file->given_up) {
		lcore->stats.scan_stale++;
		scan_work_give(lcore, number);
		return;
	}
	tell(lcore, number, &sure, obey);
}

// Its newest bytes have waited for long enough. False: there is no room for a job.
static bool look_at_tail(struct lcore *lcore, uint32_t number)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	uint64_t end64 = scan_bytes_end(file->bytes);
	// it is all there, and its sender may wait for its receiver before it says so
	bool is_complete = file->size64 && end64 == file->size64;
	bool has_grown = file->again < SCAN_AGAIN_MAX && end64 - file->whole64 >= file->whole64 / 2;
	bool all = !file->rule.windows && (has_grown || is_complete);

	file->again += all;
	return scan_work_submit(lcore, number, all ? 0 : scan_work_window_from(file));
}

static void hold_half(struct lcore *lcore, const struct scan_file *file)
{
	uint32_t track = flow_cold_at(lcore->flows, file->flow)->track;

	if (track)
		track_process(track_at(lcore->tracker, track), file->half);
}

static void no_room(struct lcore *lcore, uint32_t number, scan_told_fn *obey)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	const struct scan_verdict busy = {
		.job = {.submitted_ns = lcore->now_ns, .half = file->half},
		.value = SCAN_UNSCANNED,
		.reason = SCAN_REASON_BUSY,
	};

	lcore->stats.scan_pending++; // as if it had been asked
	tell(lcore, number, &busy, obey);
}

static void turn_tails(struct lcore *lcore, scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;

	for (unsigned i = 0; i < TURN_MAX && files->tails.first; i++) {
		uint32_t number = files->tails.first;
		struct scan_file *file = &files->file[number];

		if (lcore->now_ns < file->gave_ns + SCAN_TAIL_NS)
			return;
		scan_work_list_remove(files, &files->tails, number);
		if (!scan_work_is_here(lcore, file))
			continue; // its owner says so
		if (file->part ? scan_part_tail(lcore, number) : look_at_tail(lcore, number))
			hold_half(lcore, file);
		else
			no_room(lcore, number, obey);
	}
}

static void turn_times_out(struct lcore *lcore, scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;

	for (unsigned i = 0; i < TURN_MAX && files->waiting.first; i++) {
		uint32_t number = files->waiting.first;
		struct scan_file *file = &files->file[number];

		if (lcore->now_ns < file->job.deadline_ns)
			return;
		if (file->part) {
			scan_part_late(lcore, number, obey);
			continue;
		}
		const struct scan_verdict late = {
			.job = file->job, .done_ns = lcore->now_ns, .value = SCAN_TIMEOUT};

		scan_work_list_remove(files, &files->waiting, number);
		tell(lcore, number, &late, obey);
	}
}

void scan_files_turn(struct lcore *lcore, scan_told_fn *obey)
{
	if (!lcore->scan_files)
		return;
	turn_times_out(lcore, obey);
	turn_tails(lcore, obey);
	scan_parts_turn(lcore, obey);
}
