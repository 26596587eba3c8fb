// SPDX-License-Identifier: BSD-3-Clause
// Keeps the control core's file, and its job.
#include "scan/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES SCAN_PAGE // of the spare room, for the extents; the file is behind it

static_assert(sizeof(struct scan_extents) <= HEAD_BYTES, "they have room");

enum stage {
	STAGE_NONE,
	STAGE_COMES, // its bytes do
	STAGE_ASKED, // a job is out, and somebody waits
	STAGE_LEFT,  // ... and nobody does
};

struct scan_trial {
	const struct scan_config *config;
	struct scan_worker *const *workers;
	unsigned n_workers, link;
	uint8_t *room;
	size_t room_bytes; // for the file
	enum stage stage;
	uint64_t number; // of the one at hand, or the last
	uint64_t bytes, have;
	uint64_t touched_ns;
	unsigned worker; // that has the job
	struct scan_job job;
};

struct scan_trial *scan_trial_new(const struct scan_config *config,
	struct scan_worker *const *workers, unsigned n_workers, unsigned link)
{
	struct scan_trial *trial = calloc(1, sizeof(*trial));
	size_t spare = 0;

	if (!trial)
		return NULL;
	trial->config = config;
	trial->workers = workers;
	trial->n_workers = n_workers;
	trial->link = link;
	if (config->arena && config->arena->base)
		trial->room = scan_arena_spare(config->arena, &spare);
	trial->room_bytes = spare > HEAD_BYTES ? spare - HEAD_BYTES : 0;
	return trial;
}

void scan_trial_free(struct scan_trial *trial)
{
	free(trial);
}

// The verdict of the job that is out, if it is there. One of another job cannot be: no job goes out
// before the last one's verdict has come.
static bool collect(struct scan_trial *trial, struct scan_verdict *out)
{
	struct scan_link *link;

	if (trial->stage != STAGE_ASKED && trial->stage != STAGE_LEFT)
		return false;
	link = scan_worker_link(trial->workers[trial->worker], trial->link);
	if (!scan_link_verdicts(link, out, 1))
		return false;
	out->job = trial->job; // what the engine says the job was is not what counts
	out->name[SCAN_NAME_MAX - 1] = 0;
	trial->stage = STAGE_NONE;
	return true;
}

int scan_trial_begin(struct scan_trial *trial, uint64_t bytes, uint64_t now_ns, uint64_t *number)
{
	struct scan_verdict late;

	if (trial->stage == STAGE_LEFT)
		collect(trial, &late);
	if (trial->stage == STAGE_COMES && now_ns - trial->touched_ns >= TRIAL_IDLE_NS)
		trial->stage = STAGE_NONE;
	if (!trial->room_bytes)
		return -ENODEV;
	if (!bytes)
		return -EINVAL;
	if (bytes > trial->config->max_file_bytes || bytes > trial->room_bytes)
		return -EFBIG;
	if (trial->stage != STAGE_NONE)
		return -EBUSY;
	trial->stage = STAGE_COMES;
	trial->bytes = bytes;
	trial->have = 0;
	trial->touched_ns = now_ns;
	*number = ++trial->number;
	return 0;
}

static bool comes(const struct scan_trial *trial, uint64_t number)
{
	return trial->stage == STAGE_COMES && number == trial->number;
}

int scan_trial_add(struct scan_trial *trial, uint64_t number, uint64_t at, const uint8_t *bytes,
	size_t length, uint64_t now_ns)
{
	if (!comes(trial, number))
		return -ESTALE;
	if (at != trial->have || length > trial->bytes - trial->have)
		return -EINVAL;
	memcpy(trial->room + HEAD_BYTES + at, bytes, length);
	trial->have += length;
	trial->touched_ns = now_ns;
	return 0;
}

// That is ready, with the shortest queue; the first one, if none is.
static unsigned choose(const struct scan_trial *trial)
{
	uint64_t least = UINT64_MAX;
	unsigned chosen = 0;

	for (unsigned i = 0; i < trial->n_workers; i++) {
		struct scan_status status;

		if (!scan_worker_status(trial->workers[i], &status) ||
			status.state != SCAN_STATE_READY)
			continue;
		if ((uint64_t)status.waiting + status.running < least) {
			least = (uint64_t)status.waiting + status.running;
			chosen = i;
		}
	}
	return chosen;
}

int scan_trial_run(
	struct scan_trial *trial, uint64_t number, uint64_t now_ns, unsigned *worker, bool *asleep)
{
	struct scan_extents *named = (void *)trial->room;
	struct scan_link *link;

	if (!comes(trial, number))
		return -ESTALE;
	if (trial->have != trial->bytes)
		return -EINVAL;
	uint64_t at = (uint64_t)(trial->room - trial->config->arena->base);

	memset(named, 0, sizeof(*named));
	named->n = 1;
	named->extent[0] = (struct scan_extent){
		.page = (uint32_t)((at + HEAD_BYTES) / SCAN_PAGE), .bytes = (uint32_t)trial->bytes};
	trial->job = (struct scan_job){.id = number,
		.to64 = trial->bytes,
		.submitted_ns = now_ns,
		.deadline_ns = now_ns + trial->config->timeout_ns,
		.extents = at,
		.lcore = (uint8_t)trial->link,
		.flags = SCAN_JOB_FILE | SCAN_JOB_WHOLE};
	trial->worker = choose(trial);
	link = scan_worker_link(trial->workers[trial->worker], trial->link);
	if (!scan_link_submit(link, &trial->job))
		return -EAGAIN;
	trial->stage = STAGE_ASKED;
	*worker = trial->worker;
	*asleep = scan_link_is_asleep(link);
	return 0;
}

int scan_trial_verdict(
	struct scan_trial *trial, uint64_t number, uint64_t now_ns, struct scan_verdict *out)
{
	if (trial->stage != STAGE_ASKED || number != trial->number)
		return -ESTALE;
	if (collect(trial, out))
		return 0;
	if (now_ns < trial->job.deadline_ns)
		return -EAGAIN;
	*out = (struct scan_verdict){.job = trial->job, .done_ns = now_ns, .value = SCAN_TIMEOUT};
	trial->stage = STAGE_LEFT; // its bytes are read until its verdict
	return 0;
}

void scan_trial_drop(struct scan_trial *trial, uint64_t number)
{
	if (number != trial->number)
		return;
	if (trial->stage == STAGE_ASKED)
		trial->stage = STAGE_LEFT;
	else if (trial->stage == STAGE_COMES)
		trial->stage = STAGE_NONE;
}
