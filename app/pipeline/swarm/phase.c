// SPDX-License-Identifier: BSD-3-Clause
// How files of an object stand: when a job about one is due, and what its verdict makes of it.
#include "pipeline/swarm/swarm_work.h"

#include <string.h>

// ---- what proves a file ----

struct pieces {
	uint32_t first, end;
};

static struct pieces pieces_of(const struct object *object, uint64_t from, uint64_t to)
{
	if (!object->n_pieces || from >= to)
		return (struct pieces){0};
	return (struct pieces){(uint32_t)(from / object->piece_bytes),
		(uint32_t)((to - 1) / object->piece_bytes) + 1};
}

static struct pieces pieces_of_file(const struct object *object, const struct file *file)
{
	return pieces_of(object, file->from, file->from + file_end(file));
}

static bool all_proven(const struct object *object, struct pieces range)
{
	for (uint32_t i = range.first; i < range.end; i++)
		if (object->pieces[i].state != PIECE_PROVEN)
			return false;
	return range.end > range.first;
}

static bool bytes_proven(const struct object *object, const struct file *file)
{
	return object->whole == WHOLE_PROVEN || all_proven(object, pieces_of_file(object, file));
}

// Nothing that is there is still to be proven.
static bool is_settled(const struct object *object, const struct file *file)
{
	struct pieces range = pieces_of_file(object, file);

	for (uint32_t i = range.first; i < range.end; i++)
		if (object->pieces[i].state == PIECE_WHOLE || object->pieces[i].state == PIECE_READ)
			return false;
	return object->whole == WHOLE_NONE || object->whole >= WHOLE_PROVEN;
}

// Its receivers may have other bytes than those that are here.
static bool is_doubted(const struct object *object, const struct file *file)
{
	struct pieces range = pieces_of_file(object, file);

	for (uint32_t i = range.first; i < range.end; i++)
		if (object->pieces[i].doubted)
			return true;
	bool proven = object->whole == WHOLE_PROVEN && !object->trusting;

	return object->whole == WHOLE_WRONG || (object->doubted && !proven);
}

// ---- phases ----

void phase_news(struct swarm *swarm, struct file *file)
{
	file->changes++;
	atomic_fetch_add_explicit(&swarm->changes, 1, memory_order_release);
}

static bool is_whole(const struct file *file)
{
	bool ends = file->size != CONTENT_SIZE_UNKNOWN || file->sealed;

	return ends && !file->edges && file->present && file->present == file_end(file);
}

enum due { DUE_NONE, DUE_EARLY, DUE_PART, DUE_WHOLE };

static bool part_is_here(const struct object *object, const struct file *file)
{
	return file->part == SWARM_PART_DUE &&
	       space_count(object, file->from + file->part_from, file->from + file->part_to) ==
		       file->part_to - file->part_from;
}

static enum due due_of(const struct object *object, const struct file *file)
{
	if (file->job_out || file->edges || object->condemned)
		return DUE_NONE;
	if (file->phase == PHASE_WHOLE)
		return is_settled(object, file) ? DUE_WHOLE : DUE_NONE;
	if (file->phase == PHASE_OPEN && part_is_here(object, file))
		return DUE_PART;
	if (file->phase != PHASE_OPEN || file->early != EARLY_OPEN ||
		file->early_present < SWARM_EARLY_BYTES || file_end(file) <= SWARM_EARLY_BYTES)
		return DUE_NONE;
	struct pieces range = pieces_of(object, file->from, file->from + SWARM_EARLY_BYTES);

	return !object->n_pieces || all_proven(object, range) ? DUE_EARLY : DUE_NONE;
}

bool phase_job_is_due(const struct object *object, const struct file *file)
{
	return due_of(object, file) != DUE_NONE;
}

// For everybody, whatever file of it.
static void condemn(struct swarm *swarm, struct object *object, struct file *file)
{
	object->condemned = true;
	object->infected = (uint32_t)(file - swarm->files);
	swarm_count(&swarm->n_condemned);
	space_drop(swarm, object, file->from, file->from + file_end(file));
	for (uint32_t other = object->files; other; other = swarm->files[other].next)
		phase_news(swarm, &swarm->files[other]);
	if (!object->of_sender)
		condemned_push(swarm, object);
}

// What was found stands as long as the bytes do, and is the id's when they are proven.
static void settle_infected(struct swarm *swarm, struct object *object, struct file *file)
{
	if (object->condemned || !object->n_pieces)
		return;
	if (bytes_proven(object, file)) {
		condemn(swarm, object, file);
	} else if (!is_whole(file)) {
		file->phase = PHASE_OPEN;
		phase_news(swarm, file);
	}
}

void phase_settle(struct swarm *swarm, struct object *object, struct file *file)
{
	if (file->phase == PHASE_INFECTED) {
		settle_infected(swarm, object, file);
		return;
	}
	if (!is_whole(file)) {
		if (file->phase != PHASE_OPEN)
			phase_news(swarm, file);
		file->phase = PHASE_OPEN;
		file->passing = false;
	} else if (file->phase == PHASE_OPEN) {
		file->phase = PHASE_WHOLE;
	}
	if (file->phase == PHASE_WHOLE && object->whole == WHOLE_OPEN) {
		object->whole = WHOLE_DUE;
		verify_push(swarm, object);
	}
	if (due_of(object, file) != DUE_NONE) // whoever waits submits it
		atomic_fetch_add_explicit(&swarm->changes, 1, memory_order_release);
}

void phase_changed(struct swarm *swarm, struct object *object, struct file *file)
{
	(void)swarm;
	if (file->phase == PHASE_KNOWN)
		file->phase = PHASE_WHOLE;
	if (file->early == EARLY_DONE)
		file->early = EARLY_OPEN;
	object->whole_dirty = true;
	if (object->whole >= WHOLE_PROVEN)
		object->whole = WHOLE_OPEN;
}

void phase_settle_range(
	struct swarm *swarm, struct object *object, uint64_t from, uint64_t to, bool missing)
{
	for (uint32_t number = object->files; number; number = swarm->files[number].next) {
		struct file *file = &swarm->files[number];
		uint64_t end = file->from + file_end(file);

		if (file->from >= to || end <= from)
			continue;
		if (missing && !file->proven) {
			file->present = space_count(object, file->from, end);
			file->early_present = (uint32_t)space_count(object, file->from,
				file->from + swarm_min(SWARM_EARLY_BYTES, file_end(file)));
		}
		phase_settle(swarm, object, file);
	}
}

bool phase_is_read(
	const struct swarm *swarm, const struct object *object, uint64_t from, uint64_t to)
{
	for (uint32_t number = object->files; number; number = swarm->files[number].next) {
		const struct file *file = &swarm->files[number];

		if (file->job_out && file->from + file->job.from64 < to &&
			file->from + file->job.to64 > from)
			return true;
	}
	return false;
}

// ---- jobs and verdicts ----

bool swarm_job(struct swarm *swarm, uint32_t number, struct scan_job *job)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];

	swarm_lock(&object->lock);
	enum due due = due_of(object, file);
	uint64_t from64 = due == DUE_PART ? file->part_from : 0;
	uint64_t to64 = due == DUE_EARLY  ? SWARM_EARLY_BYTES
			: due == DUE_PART ? file->part_to
					  : file_end(file);
	bool named = due != DUE_NONE &&
		     space_job(swarm, object, file->from + from64, file->from + to64, job);

	if (named) {
		job->from64 = from64;
		job->to64 = to64;
		job->file = number;
		job->flags = SCAN_JOB_FILE | SCAN_JOB_SWARM;
		job->flags |= due == DUE_WHOLE ? SCAN_JOB_WHOLE : 0;
		file->job_out = true;
		file->job = *job;
		if (due == DUE_EARLY)
			file->early = EARLY_OUT;
		atomic_fetch_add(&file->refs, 1);
		atomic_fetch_add(&object->refs, 1);
	}
	swarm_unlock(&object->lock);
	return named;
}

// What may be otherwise when it is asked again.
static bool is_passing(const struct scan_verdict *verdict)
{
	return verdict->value == SCAN_ERROR || verdict->value == SCAN_TIMEOUT ||
	       (verdict->value == SCAN_UNSCANNED &&
		       (verdict->reason == SCAN_REASON_BUSY ||
			       verdict->reason == SCAN_REASON_NO_ENGINE));
}

// An id that is not proven is not condemned: those who bring this file now are refused. Where its
// pieces can be proven yet, what was found waits for that; else who comes later begins anew.
static void infected(struct swarm *swarm, struct object *object, struct file *file, bool proven)
{
	file->phase = PHASE_INFECTED;
	if (object->of_sender || proven) {
		condemn(swarm, object, file);
		return;
	}
	if (!object->n_pieces) {
		space_drop(swarm, object, file->from, file->from + file_end(file));
		table_unhook(swarm, object);
	}
	phase_news(swarm, file);
}

static bool is_part(const struct file *file, uint64_t from, uint64_t to)
{
	return file->part == SWARM_PART_DUE && file->part_from == from && file->part_to == to;
}

static void part_is_over(struct swarm *swarm, struct file *file, const struct scan_verdict *verdict)
{
	file->part = is_passing(verdict) ? SWARM_PART_FAILED : SWARM_PART_LOOKED;
	file->part_value = (uint8_t)verdict->value;
	file->part_reason = (uint8_t)verdict->reason;
	phase_news(swarm, file);
}

static void take_verdict(struct swarm *swarm, struct object *object, const struct scan_job *job,
	const struct scan_verdict *verdict)
{
	struct file *file = &swarm->files[job->file];
	// more of it may have come, where nobody had said its size
	bool whole = job->flags & SCAN_JOB_WHOLE && job->to64 == file_end(file);

	if (file->early == EARLY_OUT)
		file->early = EARLY_DONE;
	if (is_part(file, job->from64, job->to64))
		part_is_over(swarm, file, verdict);
	if (!whole && verdict->value != SCAN_INFECTED)
		return;
	file->verdict = *verdict;
	if (verdict->value == SCAN_INFECTED) {
		struct pieces looked_at =
			pieces_of(object, file->from + job->from64, file->from + job->to64);

		infected(swarm, object, file,
			whole ? bytes_proven(object, file) : all_proven(object, looked_at));
		return;
	}
	if (file->verdict.value == SCAN_CLEAN && is_doubted(object, file)) {
		file->verdict.value = SCAN_UNSCANNED;
		file->verdict.reason = SCAN_REASON_PROTOCOL;
	}
	file->passing = is_passing(verdict);
	if (!file->passing)
		file->phase = PHASE_KNOWN;
	file->proven =
		file->phase == PHASE_KNOWN && !object->compares && bytes_proven(object, file);
	if (file->proven)
		space_drop(swarm, object, file->from, file->from + file_end(file));
	phase_news(swarm, file);
}

bool swarm_job_is(struct swarm *swarm, const struct scan_job *job, struct scan_job *ours)
{
	if (!job->file || job->file > swarm->limits.files)
		return false;
	struct file *file = &swarm->files[job->file];

	if (!atomic_load(&file->refs))
		return false;
	struct object *object = &swarm->objects[file->object];

	swarm_lock(&object->lock);
	bool is_it = file->job_out && scan_job_same(job, &file->job);

	*ours = file->job;
	swarm_unlock(&object->lock);
	return is_it;
}

// Whoever waits tries again.
static void not_submitted(struct swarm *swarm, struct file *file)
{
	if (file->early == EARLY_OUT)
		file->early = EARLY_OPEN;
	atomic_fetch_add_explicit(&swarm->changes, 1, memory_order_release);
}

void swarm_job_over(
	struct swarm *swarm, const struct scan_job *job, const struct scan_verdict *verdict)
{
	struct file *file = &swarm->files[job->file];
	struct object *object = &swarm->objects[file->object];

	swarm_lock(&object->lock);
	space_job_over(swarm, job);
	file->job_out = false;
	if (verdict) {
		take_verdict(swarm, object, job, verdict);
		phase_settle(swarm, object, file);
	} else {
		not_submitted(swarm, file);
	}
	// pieces that it named could not be read meanwhile, as they may have to be thrown away
	if (object->first_whole || object->whole == WHOLE_DUE)
		verify_push(swarm, object);
	swarm_unlock(&object->lock);
	atomic_fetch_sub(&file->refs, 1);
	atomic_fetch_sub(&object->refs, 1);
}

void swarm_look(struct swarm *swarm, uint32_t number, struct swarm_look *look)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];

	swarm_lock(&object->lock);
	*look = (struct swarm_look){
		.changes = file->changes,
		.waits = file->phase == PHASE_WHOLE && !object->condemned,
		.passing = file->passing,
		.known = file->phase >= PHASE_KNOWN || object->condemned,
		.condemned = object->condemned && !object->of_sender,
		.id = object->id,
		.verdict = file->verdict,
	};
	if (object->condemned && file->phase != PHASE_INFECTED)
		look->verdict = swarm->files[object->infected].verdict;
	swarm_unlock(&object->lock);
}

uint64_t swarm_changes(const struct swarm *swarm)
{
	return atomic_load_explicit(&swarm->changes, memory_order_acquire);
}

enum swarm_part swarm_part(struct swarm *swarm, uint32_t number, uint64_t from, uint64_t to)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];
	enum swarm_part due = SWARM_PART_GONE;

	swarm_lock(&object->lock);
	if (file->part == SWARM_PART_DUE &&
		(file->job_out || file->phase != PHASE_OPEN || part_is_here(object, file))) {
		due = SWARM_PART_LATER;
	} else if (file->phase == PHASE_OPEN && !file->edges && from < to && to <= file_end(file)) {
		file->part_from = from;
		file->part_to = to;
		file->part = SWARM_PART_DUE;
		if (!part_is_here(object, file))
			file->part = SWARM_PART_GONE;
		due = file->part;
	}
	swarm_unlock(&object->lock);
	return due;
}

enum swarm_part swarm_part_look(struct swarm *swarm, uint32_t number, uint64_t from, uint64_t to,
	struct scan_verdict *failed)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];
	enum swarm_part part = SWARM_PART_GONE;

	swarm_lock(&object->lock);
	if (file->part_from == from && file->part_to == to)
		part = file->part;
	if (part == SWARM_PART_DUE && !file->job_out &&
		(file->phase != PHASE_OPEN || !part_is_here(object, file)))
		part = SWARM_PART_GONE;
	if (part == SWARM_PART_FAILED)
		*failed = (struct scan_verdict){
			.value = file->part_value, .reason = file->part_reason};
	swarm_unlock(&object->lock);
	return part;
}

bool swarm_seal(struct swarm *swarm, uint32_t number)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];

	swarm_lock(&object->lock);
	bool sealed = file->present && file->present == file->reached;

	if (file->size == CONTENT_SIZE_UNKNOWN && sealed) {
		file->sealed = true;
		phase_settle(swarm, object, file);
	}
	swarm_unlock(&object->lock);
	return sealed;
}
