// SPDX-License-Identifier: BSD-3-Clause
// The pool of files under scan, and their jobs.
#include "pipeline/scan/files_work.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rte_malloc.h>
#include "pipeline/swarm/swarm.h"

static uint32_t part_of(uint64_t all, unsigned quarters)
{
	uint64_t part = all * quarters / 4;

	return part ? (uint32_t)part : 1;
}

static void shares_init(const struct lcore *lcore, struct scan_files *files)
{
	struct content_memory_use use;

	scan_store_look(&files->store, &use);
	files->scarce_bytes = use.bytes / 4 * SCARCE_4;
	files->places.seed = files->memory.seed = &lcore->flows->seed;
	files->places.most = part_of(files->n, SHARE_4);
	files->memory.most = part_of(use.bytes / STORE_EXTENT_MIN, SHARE_4);
}

int scan_files_new(struct lcore *lcore, const struct scan_config *config,
	struct scan_worker *const *workers, unsigned n_workers, unsigned n_lcores, char *err,
	size_t err_len)
{
	uint32_t n = config->flows;

	if (!config->arena)
		return 0;
	struct scan_files *files = rte_zmalloc_socket(
		"scan_files", sizeof(*files) + (n + 1) * sizeof(files->file[0]), 64, lcore->socket);

	if (files)
		files->halves = scan_halves_new(n, lcore->socket);
	if (!files || !files->halves ||
		!scan_store_init(&files->store, config->arena, lcore->index, n_lcores)) {
		if (files)
			scan_halves_free(files->halves);
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
	shares_init(lcore, files);
	lcore->scan_files = files;
	return 0;
}

void scan_files_free(struct lcore *lcore)
{
	if (!lcore->scan_files)
		return;
	scan_store_fini(&lcore->scan_files->store);
	scan_halves_free(lcore->scan_files->halves);
	rte_free(lcore->scan_files);
	lcore->scan_files = NULL;
}

bool scan_files_look(const struct lcore *lcore, struct scan_files_use *use)
{
	const struct scan_files *files = lcore->scan_files;

	if (!files)
		return false;
	struct content_memory_use arena;

	scan_store_look(&files->store, &arena);
	*use = (struct scan_files_use){
		.arena_bytes = arena.bytes,
		.arena_used = arena.used,
		.arena_peak = arena.peak,
		.held = __atomic_load_n(&files->n_held, __ATOMIC_RELAXED),
	};
	return true;
}

// ---- lists ----

static struct place *place_in(struct scan_files *files, const struct list *list, uint32_t number)
{
	struct scan_file *file = &files->file[number];

	if (list == &files->sharing)
		return &file->sharing;
	return list == &files->tails ? &file->tail : &file->waiting;
}

// Of a file whose half waits for it: how many of that are in the list.
static void count_in(
	struct scan_files *files, const struct list *list, uint32_t number, uint32_t change)
{
	uint32_t in_half = files->file[number].in_half;

	if (list == &files->sharing)
		files->n_sharing += change;
	if (!in_half || list == &files->sharing)
		return;
	struct scan_half *half = scan_half_at(files->halves, in_half);

	if (list == &files->tails) {
		half->n_stands += change;
		return;
	}
	files->n_held -= half->n_waits != 0;
	half->n_waits += change;
	files->n_held += half->n_waits != 0;
}

void scan_work_list_remove(struct scan_files *files, struct list *list, uint32_t number)
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
	count_in(files, list, number, UINT32_MAX);
}

void scan_work_list_append(struct scan_files *files, struct list *list, uint32_t number)
{
	*place_in(files, list, number) = (struct place){.prev = list->last, .on = true};
	if (list->last)
		place_in(files, list, list->last)->next = number;
	else
		list->first = number;
	list->last = number;
	count_in(files, list, number, 1);
}

// NULL: no file that it waits for.
static struct scan_half *half_of(struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct scan_halves *halves = lcore->scan_files->halves;
	uint32_t at = scan_half_find(halves, ref, flow_at(lcore->flows, ref)->gen, half);

	return at ? scan_half_at(halves, at) : NULL;
}

bool scan_files_stand(struct lcore *lcore, uint32_t ref, unsigned half)
{
	const struct scan_half *of = lcore->scan_files ? half_of(lcore, ref, half) : NULL;

	return of && of->n_stands;
}

bool scan_files_hold(struct lcore *lcore, uint32_t ref, unsigned half)
{
	const struct scan_half *of = lcore->scan_files ? half_of(lcore, ref, half) : NULL;

	return of && (of->n_stands || of->n_waits);
}

bool scan_work_waits(struct lcore *lcore, uint32_t ref, unsigned half)
{
	const struct scan_half *of = half_of(lcore, ref, half);

	return of && of->n_waits;
}

void scan_work_note_since(
	struct scan_files *files, const struct scan_file *file, enum scan_since what)
{
	if (!file->in_half)
		return;
	struct scan_half *half = scan_half_at(files->halves, file->in_half);

	files->n_since += !half->since;
	if (half->since < what)
		half->since = (uint8_t)what;
}

static void leave_half(struct scan_files *files, struct scan_file *file)
{
	if (!file->in_half)
		return;
	const struct scan_half *half = scan_half_at(files->halves, file->in_half);

	files->n_since -= half->n_files == 1 && half->since;
	scan_half_give(files->halves, file->in_half);
	file->in_half = 0;
}

// ---- shares ----

static struct flow_share share_of(const struct lcore *lcore, uint32_t ref)
{
	const struct flow *flow = flow_at(lcore->flows, ref);
	bool v6 = flow->flags & FLOW_V6;
	const struct flow_source source =
		flow_source_of(flow_key_of(lcore->flows, flow->key_pos, v6), flow->flags);

	return flow_share_of(&lcore->scan_files->places, &source);
}

// While places are scarce a source has no more than its share, and whoever was not heard, as
// anybody can have sent it, takes one of one half of them.
static bool has_place(const struct lcore *lcore, uint32_t ref, struct flow_share share)
{
	const struct scan_files *files = lcore->scan_files;
	uint64_t taken = lcore->stats.scan_files;

	if (!flow_both_heard(flow_at(lcore->flows, ref)) && taken >= part_of(files->n, 2))
		return false;
	return taken < part_of(files->n, SCARCE_4) || !flow_share_full(&files->places, share);
}

static uint32_t units_of(uint64_t bytes)
{
	return (uint32_t)((bytes + STORE_EXTENT_MIN - 1) / STORE_EXTENT_MIN);
}

// The file takes up so many bytes now. False: not while memory is scarce.
static bool takes_up(struct scan_files *files, struct scan_file *file, uint64_t bytes)
{
	uint32_t units = units_of(bytes), more = units - file->units;

	if (units > file->units) {
		struct content_memory_use use;

		scan_store_look(&files->store, &use);
		if (use.used > files->scarce_bytes && flow_share_full(&files->memory, file->share))
			return false;
	}
	for (unsigned row = 0; row < 2; row++)
		files->memory.count[row][file->share.at[row]] += more; // or less: modulo 2^32
	file->units = units;
	return true;
}

// ---- files ----

bool scan_work_unscanned(struct scan_result *result, enum scan_reason reason)
{
	*result = (struct scan_result){
		.known = true, .value = SCAN_UNSCANNED, .reason = (uint8_t)reason};
	return false;
}

void scan_work_give(struct lcore *lcore, uint32_t number)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];

	scan_work_list_remove(files, &files->tails, number);
	scan_work_list_remove(files, &files->waiting, number);
	leave_half(files, file);
	scan_work_list_remove(files, &files->sharing, number);
	if (file->part)
		swarm_close(files->config->swarm, file->part);
	file->part = 0;
	if (file->job.id) { // its verdict finds it
		file->owner = NULL;
		file->given_up = true;
		return;
	}
	takes_up(files, file, 0);
	flow_share_sub(&files->places, file->share);
	scan_bytes_free(&files->store, file->bytes);
	file->bytes = NULL;
	file->next_free = files->free;
	files->free = number;
	lcore->stats.scan_files--;
}

uint32_t scan_work_place(struct lcore *lcore, const struct scan_begin *begin)
{
	struct scan_files *files = lcore->scan_files;
	struct flow_share share = share_of(lcore, begin->ref);
	uint32_t number = has_place(lcore, begin->ref, share) ? files->free : NONE;

	if (!number) {
		lcore->stats.scan_files_full++;
		return NONE;
	}
	struct scan_file *file = &files->file[number];

	files->free = file->next_free;
	*file = (struct scan_file){
		.owner = begin->owner,
		.rule = *begin->rule,
		.size64 = begin->size,
		.flow = begin->ref,
		.generation = flow_at(lcore->flows, begin->ref)->gen,
		.rule_uid = begin->rule_uid,
		.item = begin->item,
		.half = begin->half,
		.enforces = begin->enforces,
		.share = share,
	};
	if (file->enforces)
		file->in_half =
			scan_half_take(files->halves, file->flow, file->generation, file->half);
	flow_share_add(&files->places, share);
	lcore->stats.scan_files++;
	return number;
}

uint32_t scan_file_begin(
	struct lcore *lcore, const struct scan_begin *begin, struct scan_result *result)
{
	struct scan_files *files = lcore->scan_files;

	if (!files)
		return scan_work_unscanned(result, SCAN_REASON_NO_ENGINE);
	uint32_t number = scan_work_place(lcore, begin);

	if (!number)
		return scan_work_unscanned(result, SCAN_REASON_BUSY);
	files->file[number].bytes = scan_bytes_new(&files->store);
	if (files->file[number].bytes)
		return number;
	scan_work_give(lcore, number);
	lcore->stats.scan_files_full++;
	return scan_work_unscanned(result, SCAN_REASON_BUSY);
}

unsigned scan_work_least_busy(const struct scan_files *files)
{
	unsigned best = 0;

	for (unsigned i = 1; i < files->n_workers; i++)
		if (files->waiting_at[i] < files->waiting_at[best])
			best = i;
	return best;
}

// A job about all from `from64` on. False: there is no room for it.
bool scan_work_submit(struct lcore *lcore, uint32_t number, uint64_t from64)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	unsigned worker = scan_work_least_busy(files);
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

	if (!scan_bytes_job(&files->store, file->bytes, from64, &job)) {
		lcore->stats.scan_files_full++;
		return false;
	}
	if (!scan_link_submit(link, &job)) {
		lcore->stats.scan_ring_full++;
		scan_bytes_job_over(&files->store, file->bytes, &job);
		return false;
	}
	file->job = job;
	file->worker = (uint8_t)worker;
	file->given_up = false;
	files->waiting_at[worker]++;
	scan_work_list_remove(files, &files->tails, number);
	scan_work_list_append(files, &files->waiting, number); // all jobs wait equally long
	lcore->stats.scan_jobs++;
	lcore->stats.scan_pending++;
	if (scan_link_is_asleep(link))
		lcore->scan_wakes |= UINT64_C(1) << worker;
	scan_work_note_since(files, file, SCAN_SINCE_JOB);
	return true;
}

static uint64_t before(uint64_t at64, uint64_t bytes)
{
	return at64 > bytes ? at64 - bytes : 0;
}

// Where a job about what is new begins.
uint64_t scan_work_window_from(const struct scan_file *file)
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
	else if (!takes_up(files, file, end64 + length - scan_bytes_begin(file->bytes)) ||
		 !scan_bytes_add(&files->store, file->bytes, bytes, length)) {
		reason = SCAN_REASON_BUSY;
		lcore->stats.scan_files_full++;
	}
	end64 += length;
	if (!reason && file->rule.windows && !file->job.id &&
		end64 - file->scanned64 >= file->rule.window_bytes &&
		!scan_work_submit(lcore, number, scan_work_window_from(file)))
		reason = SCAN_REASON_BUSY;
	if (reason) {
		lcore->stats.scan_unscanned++;
		scan_file_drop(lcore, number); // a job that is out holds its half still
		return scan_work_unscanned(result, reason);
	}
	if (!file->enforces)
		return true;
	file->gave_ns = lcore->now_ns;
	scan_work_note_since(files, file, SCAN_SINCE_BYTES);
	scan_work_list_remove(files, &files->tails, number);
	if (!file->job.id)
		scan_work_list_append(files, &files->tails, number);
	return true;
}

// True: there is one, or its verdict is awaited.
bool scan_work_submit_last(struct lcore *lcore, uint32_t number)
{
	const struct scan_file *file = &lcore->scan_files->file[number];

	return file->job.id || scan_work_submit(lcore, number,
				       file->rule.windows ? scan_work_window_from(file) : 0);
}

bool scan_work_is_looked_at(const struct scan_file *file)
{
	uint64_t end64 = scan_bytes_end(file->bytes);

	return file->rule.windows ? file->scanned64 == end64 : file->whole64 == end64;
}

bool scan_file_end(struct lcore *lcore, uint32_t number, struct scan_result *result)
{
	struct scan_file *file = &lcore->scan_files->file[number];

	scan_work_list_remove(lcore->scan_files, &lcore->scan_files->tails, number);
	file->ended = true;
	if (!file->job.id && scan_work_is_looked_at(file)) {
		*result = file->result;
		result->known = true; // of no bytes: clean
		scan_work_give(lcore, number);
		return false;
	}
	if (scan_work_submit_last(lcore, number))
		return true;
	lcore->stats.scan_unscanned++;
	scan_work_give(lcore, number);
	return scan_work_unscanned(result, SCAN_REASON_BUSY);
}

void scan_file_drop(struct lcore *lcore, uint32_t number)
{
	struct scan_file *file = &lcore->scan_files->file[number];

	file->owner = NULL;
	file->dropped = true;
	if (!file->job.id && !file->sharing.on)
		scan_work_give(lcore, number);
}

enum scan_since scan_files_since(struct lcore *lcore, uint32_t ref, unsigned half)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_half *of;

	if (likely(!files || !files->n_since) || !(of = half_of(lcore, ref, half)) || !of->since)
		return SCAN_SINCE_NOTHING;
	enum scan_since since = of->since;

	of->since = SCAN_SINCE_NOTHING;
	files->n_since--;
	// whoever waits is let go by a verdict, or by what comes behind: that must be still to come
	if (since == SCAN_SINCE_JOB && of->n_waits)
		return SCAN_SINCE_JOB;
	return of->n_stands ? SCAN_SINCE_BYTES : SCAN_SINCE_NOTHING;
}
