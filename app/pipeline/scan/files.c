// SPDX-License-Identifier: BSD-3-Clause
// The pool of files under scan, their jobs, and the way back of verdicts.
#include "pipeline/scan/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/flow/table.h"
#include "pipeline/scan/bytes.h"
#include "reassembly/tcp_track.h"

#define NONE     0  // numbers begin at 1
#define TURN_MAX 32 // time-outs, and tails, of one turn

struct place { // in a list
	uint32_t prev, next;
	bool on;
};

struct list {
	uint32_t first, last;
};

struct scan_file {
	struct scan_bytes *bytes; // NULL: the place is free
	struct open_file *owner;
	struct scan_job job; // id 0: none is out
	struct rule_scan rule;
	struct scan_result result;
	uint64_t scanned64;   // behind what was looked at
	uint64_t whole64;     // ... from the first byte on, in one job
	uint64_t gave_ns;     // its newest bytes came then
	struct place tail;    // among those whose newest bytes wait, the oldest first
	struct place waiting; // among those with a job that was not given up, the same
	uint32_t flow, generation;
	uint32_t rule_uid;
	struct item_id item; // in records
	uint32_t next_free;
	uint8_t half;
	uint8_t worker;
	uint8_t again;
	bool enforces;
	bool ended;
	bool dropped;  // its owner does not want to know
	bool given_up; // nobody waits for the job any more
};

struct scan_files {
	const struct scan_config *config;
	struct scan_worker *const *workers;
	struct scan_store store;
	unsigned n_workers;
	uint64_t next_id;
	uint32_t waiting_at[LCORES_MAX]; // jobs that each worker owes a verdict
	struct list tails, waiting;
	uint32_t free, n;
	uint8_t since;           // enum scan_since
	struct scan_file file[]; // from 1 on
};

int scan_files_new(struct lcore *lcore, const struct scan_config *config,
	struct scan_worker *const *workers, unsigned n_workers, unsigned n_lcores, char *err,
	size_t err_len)
{
	uint32_t n = config->flows;

	if (!config->arena)
		return 0;
	struct scan_files *files = rte_zmalloc_socket(
		"scan_files", sizeof(*files) + (n + 1) * sizeof(files->file[0]), 64, lcore->socket);

	if (!files || !scan_store_init(&files->store, config->arena, lcore->index, n_lcores)) {
		rte_free(files);
		snprintf(err, err_len,
			"data lcore %u: no memory for files under scan (scan.flows); lower it or "
			"give EAL more memory (hugepages, or memory.mb without them)",
			lcore->index);
		return -ENOMEM;
	}
	files->config = config;
	files->workers = workers;
	files->n_workers = n_workers;
	files->n = n;
	for (uint32_t i = 1; i <= n; i++)
		files->file[i].next_free = i < n ? i + 1 : NONE;
	files->free = 1;
	lcore->scan_files = files;
	return 0;
}

void scan_files_free(struct lcore *lcore)
{
	if (!lcore->scan_files)
		return;
	scan_store_fini(&lcore->scan_files->store);
	rte_free(lcore->scan_files);
	lcore->scan_files = NULL;
}

// ---- lists ----

static struct place *place_in(struct scan_files *files, const struct list *list, uint32_t number)
{
	return list == &files->tails ? &files->file[number].tail : &files->file[number].waiting;
}

static void list_remove(struct scan_files *files, struct list *list, uint32_t number)
{
	struct place *place = place_in(files, list, number);

	if (!place->on)
		return;
	if (place->prev)
		place_in(files, list, place->prev)->next = place->next;
	else
		list->first = place->next;
	if (place->next)
		place_in(files, list, place->next)->prev = place->prev;
	else
		list->last = place->prev;
	*place = (struct place){0};
}

static void list_append(struct scan_files *files, struct list *list, uint32_t number)
{
	*place_in(files, list, number) = (struct place){.prev = list->last, .on = true};
	if (list->last)
		place_in(files, list, list->last)->next = number;
	else
		list->first = number;
	list->last = number;
}

static bool is_of(
	const struct lcore *lcore, const struct scan_file *file, uint32_t ref, unsigned half)
{
	return file->enforces && file->flow == ref && file->half == half &&
	       file->generation == flow_at(lcore->flows, ref)->gen;
}

// A file of the half is in the list.
static bool has_one(struct lcore *lcore, const struct list *list, uint32_t ref, unsigned half)
{
	struct scan_files *files = lcore->scan_files;

	for (uint32_t at = list->first; at; at = place_in(files, list, at)->next)
		if (is_of(lcore, &files->file[at], ref, half))
			return true;
	return false;
}

bool scan_files_stand(struct lcore *lcore, uint32_t ref, unsigned half)
{
	return lcore->scan_files && has_one(lcore, &lcore->scan_files->tails, ref, half);
}

// ---- files ----

static bool unscanned(struct scan_result *result, enum scan_reason reason)
{
	*result = (struct scan_result){
		.known = true, .value = SCAN_UNSCANNED, .reason = (uint8_t)reason};
	return false;
}

static void give(struct lcore *lcore, uint32_t number)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];

	list_remove(files, &files->tails, number);
	if (file->job.id) { // its verdict finds it
		file->owner = NULL;
		file->given_up = true;
		list_remove(files, &files->waiting, number);
		return;
	}
	scan_bytes_free(&files->store, file->bytes);
	file->bytes = NULL;
	file->next_free = files->free;
	files->free = number;
	lcore->stats.scan_files--;
}

uint32_t scan_file_begin(
	struct lcore *lcore, const struct scan_begin *begin, struct scan_result *result)
{
	struct scan_files *files = lcore->scan_files;

	if (!files)
		return unscanned(result, SCAN_REASON_NO_ENGINE);
	uint32_t number = files->free;
	struct scan_bytes *bytes = number ? scan_bytes_new(&files->store) : NULL;

	if (!bytes) {
		lcore->stats.scan_files_full++;
		return unscanned(result, SCAN_REASON_BUSY);
	}
	struct scan_file *file = &files->file[number];

	files->free = file->next_free;
	*file = (struct scan_file){
		.bytes = bytes,
		.owner = begin->owner,
		.rule = *begin->rule,
		.flow = begin->ref,
		.generation = flow_at(lcore->flows, begin->ref)->gen,
		.rule_uid = begin->rule_uid,
		.item = begin->item,
		.half = begin->half,
		.enforces = begin->enforces,
	};
	lcore->stats.scan_files++;
	return number;
}

static unsigned least_busy(const struct scan_files *files)
{
	unsigned best = 0;

	for (unsigned i = 1; i < files->n_workers; i++)
		if (files->waiting_at[i] < files->waiting_at[best])
			best = i;
	return best;
}

// A job about all from `from64` on. False: there is no room for it.
static bool submit(struct lcore *lcore, uint32_t number, uint64_t from64)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	unsigned worker = least_busy(files);
	struct scan_link *link = scan_worker_link(files->workers[worker], lcore->index);
	struct scan_job job = {
		.id = ++files->next_id,
		.submitted_ns = lcore->now_ns,
		.deadline_ns = lcore->now_ns + files->config->timeout_ns,
		.flow = file->flow,
		.generation = file->generation,
		.file = number,
		.lcore = (uint8_t)lcore->index,
		.half = file->half,
		.flags = file->ended ? SCAN_JOB_WHOLE : 0,
	};

	if (!scan_bytes_job(&files->store, file->bytes, from64, &job))
		return false;
	if (!scan_link_submit(link, &job)) {
		lcore->stats.scan_ring_full++;
		scan_bytes_job_over(&files->store, file->bytes, &job);
		return false;
	}
	file->job = job;
	file->worker = (uint8_t)worker;
	file->given_up = false;
	files->waiting_at[worker]++;
	list_remove(files, &files->tails, number);
	list_append(files, &files->waiting, number); // all jobs wait equally long
	lcore->stats.scan_jobs++;
	lcore->stats.scan_pending++;
	if (scan_link_is_asleep(link))
		lcore->scan_wakes |= UINT64_C(1) << worker;
	if (file->enforces)
		files->since = SCAN_SINCE_JOB;
	return true;
}

static uint64_t before(uint64_t at64, uint64_t bytes)
{
	return at64 > bytes ? at64 - bytes : 0;
}

// Where a job about what is new begins.
static uint64_t window_from(const struct scan_file *file)
{
	return before(file->scanned64, file->rule.overlap_bytes);
}

bool scan_file_add(struct lcore *lcore, uint32_t number, uint64_t at, const uint8_t *bytes,
	uint32_t length, struct scan_result *result)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	uint64_t end64 = scan_bytes_end(file->bytes);
	enum scan_reason reason = SCAN_REASON_NONE;

	if (at != end64)
		reason = SCAN_REASON_PROTOCOL;
	else if (!file->rule.windows && end64 + length > file->rule.max_bytes)
		reason = SCAN_REASON_TOO_BIG;
	else if (!scan_bytes_add(&files->store, file->bytes, bytes, length))
		reason = SCAN_REASON_BUSY;
	end64 += length;
	if (!reason && file->rule.windows && !file->job.id &&
		end64 - file->scanned64 >= file->rule.window_bytes &&
		!submit(lcore, number, window_from(file)))
		reason = SCAN_REASON_BUSY;
	if (reason) {
		lcore->stats.scan_unscanned++;
		give(lcore, number);
		return unscanned(result, reason);
	}
	if (!file->enforces)
		return true;
	file->gave_ns = lcore->now_ns;
	if (files->since == SCAN_SINCE_NOTHING)
		files->since = SCAN_SINCE_BYTES;
	list_remove(files, &files->tails, number);
	if (!file->job.id)
		list_append(files, &files->tails, number);
	return true;
}

// True: there is one, or its verdict is awaited.
static bool submit_last(struct lcore *lcore, uint32_t number)
{
	const struct scan_file *file = &lcore->scan_files->file[number];

	return file->job.id || submit(lcore, number, file->rule.windows ? window_from(file) : 0);
}

static bool is_looked_at(const struct scan_file *file)
{
	uint64_t end64 = scan_bytes_end(file->bytes);

	return file->rule.windows ? file->scanned64 == end64 : file->whole64 == end64;
}

bool scan_file_end(struct lcore *lcore, uint32_t number, struct scan_result *result)
{
	struct scan_file *file = &lcore->scan_files->file[number];

	list_remove(lcore->scan_files, &lcore->scan_files->tails, number);
	file->ended = true;
	if (!file->job.id && is_looked_at(file)) {
		*result = file->result;
		result->known = true; // of no bytes: clean
		give(lcore, number);
		return false;
	}
	if (submit_last(lcore, number))
		return true;
	lcore->stats.scan_unscanned++;
	give(lcore, number);
	return unscanned(result, SCAN_REASON_BUSY);
}

void scan_file_drop(struct lcore *lcore, uint32_t number)
{
	struct scan_file *file = &lcore->scan_files->file[number];

	file->owner = NULL;
	file->dropped = true;
	if (!file->job.id)
		give(lcore, number);
}

enum scan_since scan_files_since(struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct scan_files *files = lcore->scan_files;

	if (likely(!files || !files->since))
		return SCAN_SINCE_NOTHING;
	enum scan_since since = files->since;

	files->since = SCAN_SINCE_NOTHING;
	// who gave the newest bytes is the last one: unless it was given up since
	if (since == SCAN_SINCE_BYTES &&
		(!files->tails.last || !is_of(lcore, &files->file[files->tails.last], ref, half)))
		return SCAN_SINCE_NOTHING;
	return since;
}

// ---- verdicts ----

static void count(struct lcore *lcore, const struct scan_verdict *verdict)
{
	uint64_t *const counters[SCAN_VALUES_MAX] = {
		[SCAN_CLEAN] = &lcore->stats.scan_clean,
		[SCAN_UNSCANNED] = &lcore->stats.scan_unscanned,
		[SCAN_ERROR] = &lcore->stats.scan_errors,
		[SCAN_TIMEOUT] = &lcore->stats.scan_timeouts,
		[SCAN_INFECTED] = &lcore->stats.scan_infected,
	};

	++*counters[verdict->value];
	lcore->stats.scan_pending--;
	histogram_add(&lcore->scan_hold, lcore->now_ns - verdict->job.submitted_ns, 1);
}

static bool flow_is_here(const struct lcore *lcore, const struct scan_file *file)
{
	return flow_at(lcore->flows, file->flow)->gen == file->generation;
}

static uint64_t span_ns(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

static void note(
	const struct lcore *lcore, struct scan_file *file, const struct scan_verdict *verdict)
{
	file->result = (struct scan_result){
		.queue_ns = span_ns(verdict->job.submitted_ns, verdict->taken_ns),
		.run_ns = span_ns(verdict->taken_ns, verdict->done_ns),
		.hold_ns = lcore->now_ns - verdict->job.submitted_ns,
		.value = verdict->value,
		.reason = verdict->reason,
		.known = true,
	};
	memcpy(file->result.name, verdict->name, sizeof(file->result.name));
	file->scanned64 = verdict->job.to64;
	if (!verdict->job.from64)
		file->whole64 = verdict->job.to64;
}

// What is awaited of the file is there. A file that was scanned in part goes on, and may have ended
// meanwhile: then what is left is looked at before anybody is told.
static void tell(struct lcore *lcore, uint32_t number, const struct scan_verdict *verdict,
	scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	bool clean = verdict->value == SCAN_CLEAN;

	count(lcore, verdict);
	note(lcore, file, verdict);
	if (clean && file->ended && !file->dropped && !is_looked_at(file)) {
		if (submit_last(lcore, number))
			return;
		unscanned(&file->result, SCAN_REASON_BUSY);
		clean = false;
	}
	bool goes_on = clean && !file->ended && !file->dropped;

	if (goes_on && file->enforces && scan_bytes_end(file->bytes) > file->scanned64)
		list_append(files, &files->tails, number); // of the span that closed a window
	struct scan_told told = {
		.verdict = verdict,
		.rule = &file->rule,
		.owner = file->owner,
		.result = file->result,
		.ref = file->flow,
		.rule_uid = file->rule_uid,
		.item = file->item,
		.half = file->half,
		.enforces = file->enforces,
		.is_here = flow_is_here(lcore, file),
		.ended = file->ended,
		.over = !goes_on,
	};
	const struct rule_scan rule = file->rule; // the file may be gone when it is asked for

	told.rule = &rule;
	if (!goes_on)
		give(lcore, number);
	else if (file->rule.windows)
		scan_bytes_forget(&files->store, file->bytes, window_from(file));
	if (told.is_here) {
		told.waits = has_one(lcore, &files->waiting, told.ref, told.half);
		told.stands = scan_files_stand(lcore, told.ref, told.half);
	}
	obey(lcore, &told);
}

void scan_files_verdict(struct lcore *lcore, const struct scan_verdict *verdict, scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;
	uint32_t number = verdict->job.file;

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
	list_remove(files, &files->waiting, number);
	file->job.id = 0;
	if (file->given_up) {
		lcore->stats.scan_stale++;
		give(lcore, number);
		return;
	}
	tell(lcore, number, &sure, obey);
}

// Its newest bytes have waited for long enough. False: there is no room for a job.
static bool look_at_tail(struct lcore *lcore, uint32_t number)
{
	struct scan_file *file = &lcore->scan_files->file[number];
	uint64_t end64 = scan_bytes_end(file->bytes);
	bool all = !file->rule.windows && file->again < SCAN_AGAIN_MAX &&
		   end64 - file->whole64 >= file->whole64 / 2;

	file->again += all;
	return submit(lcore, number, all ? 0 : window_from(file));
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
		list_remove(files, &files->tails, number);
		if (!flow_is_here(lcore, file))
			continue; // its owner says so
		if (look_at_tail(lcore, number))
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
		const struct scan_verdict late = {
			.job = file->job, .done_ns = lcore->now_ns, .value = SCAN_TIMEOUT};

		list_remove(files, &files->waiting, number);
		tell(lcore, number, &late, obey);
	}
}

void scan_files_turn(struct lcore *lcore, scan_told_fn *obey)
{
	if (!lcore->scan_files)
		return;
	turn_times_out(lcore, obey);
	turn_tails(lcore, obey);
	lcore->scan_files->since = SCAN_SINCE_NOTHING;
}
