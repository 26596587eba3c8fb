// SPDX-License-Identifier: BSD-3-Clause
// Takes bytes of files that several flows bring, and says what of them waits.
#include "pipeline/swarm/swarm_work.h"

#include "pipeline/vocab/pages.h"

#define EVICTIONS 8 // for room for one segment

struct swarm *swarm_new(const struct scan_arena *arena, const struct swarm_limits *limits)
{
	size_t bytes;
	uint8_t *region = scan_arena_shared(arena, &bytes);
	struct swarm *swarm = pages_new(sizeof(*swarm), -1);

	if (!swarm)
		return NULL;
	swarm->arena = arena;
	swarm->limits = *limits;
	swarm->limits.n_workers = (unsigned)swarm_min(limits->n_workers, LCORES_MAX);
	swarm->seed = *limits->seed;
	swarm->shares.seed = swarm->limits.seed = &swarm->seed;
	swarm->shares.most = (uint32_t)(bytes / 4 * SHARE_4 >> CHUNK_SHIFT);
	swarm->scarce_bytes = bytes / 4 * SCARCE_4;
	swarm->memory = bytes ? content_memory_over(region, bytes) : NULL;
	if (swarm->memory && table_new(swarm) && prove_new(swarm))
		return swarm;
	swarm_free(swarm);
	return NULL;
}

void swarm_free(struct swarm *swarm)
{
	if (!swarm)
		return;
	prove_free(swarm);
	table_free(swarm);
	content_memory_free(swarm->memory);
	munmap(swarm, sizeof(*swarm));
}

// A run of bytes in the object, of one piece.
struct run {
	uint64_t from;
	const uint8_t *bytes;
	uint32_t length;
};

static void came(struct swarm *swarm, struct object *object, struct file *file,
	const struct run *run, const struct space_wrote *wrote, bool replaces)
{
	uint64_t at = run->from - file->from;

	if (!file->edges)
		file->present += wrote->fresh;
	if (at < SWARM_EARLY_BYTES)
		file->early_present += wrote->fresh;
	if (wrote->differs) {
		swarm_count(&swarm->differs);
		if (replaces)
			phase_changed(swarm, object, file);
	}
	prove_came(swarm, object, run->from, wrote->fresh, wrote->differs);
}

// False: it differs from what is proven, which its receivers may not notice.
static bool write_run(
	struct swarm *swarm, struct object *object, struct file *file, const struct run *run)
{
	const struct piece *piece =
		object->n_pieces ? &object->pieces[run->from / object->piece_bytes] : NULL;
	bool proven = piece && piece->state == PIECE_PROVEN;
	bool replaces = !proven && object->whole != WHOLE_PROVEN &&
			!phase_is_read(swarm, object, run->from, run->from + run->length);
	struct space_wrote wrote =
		space_write(object, run->from, run->bytes, run->length, replaces);

	if ((proven || object->whole == WHOLE_PROVEN) && wrote.differs) {
		swarm_count(&swarm->poisoned);
		wrote.differs = false;
		if (object->compares)
			return false;
	}
	came(swarm, object, file, run, &wrote, replaces);
	return true;
}

// As long as it lies in one piece, and in the first bytes of the file or behind them.
static uint32_t run_length(
	const struct object *object, const struct file *file, uint64_t from, uint32_t length)
{
	uint64_t early = file->from + SWARM_EARLY_BYTES, n = length;

	if (object->n_pieces)
		n = swarm_min(n, object->piece_bytes - from % object->piece_bytes);
	if (from < early)
		n = swarm_min(n, early - from);
	return (uint32_t)n;
}

static bool has_room(struct swarm *swarm, struct object *object, uint64_t from, uint32_t length,
	struct flow_share share)
{
	for (unsigned i = 0; i < EVICTIONS; i++) {
		if (space_room(swarm, object, from, length, share))
			return true;
		if (!table_evict(swarm))
			break;
	}
	return false;
}

static enum swarm_taken write_bytes(
	struct swarm *swarm, struct object *object, struct file *file, const struct swarm_bytes *b)
{
	uint64_t from = file->from + b->at;
	const uint8_t *bytes = b->bytes;
	uint32_t left = b->length;

	if (!has_room(swarm, object, from, left, b->share))
		return SWARM_FULL;
	while (left) {
		const struct run run = {.from = from,
			.bytes = bytes,
			.length = run_length(object, file, from, left)};

		if (!write_run(swarm, object, file, &run))
			return SWARM_DIFFERS;
		from += run.length;
		bytes += run.length;
		left -= run.length;
	}
	return SWARM_TAKEN;
}

// Of a file that is too big: what of it lies in pieces that other files have a part of.
static enum swarm_taken write_edges(
	struct swarm *swarm, struct object *object, struct file *file, const struct swarm_bytes *b)
{
	uint64_t from = file->from, to = from + file->size, piece = object->piece_bytes;
	uint64_t head_end = from % piece ? swarm_min(to, (from / piece + 1) * piece) : from;
	uint64_t tail_from = swarm_max(head_end, (to - 1) / piece * piece);
	uint64_t at = from + b->at, end = at + b->length;
	struct swarm_bytes part = *b;

	if (at < head_end) {
		part.length = (uint32_t)(swarm_min(end, head_end) - at);
		enum swarm_taken taken = write_bytes(swarm, object, file, &part);

		if (taken != SWARM_TAKEN)
			return taken;
	}
	if (end <= tail_from || to % piece == 0)
		return SWARM_TAKEN;
	part.at = swarm_max(at, tail_from) - from;
	part.bytes = b->bytes + (part.at - b->at);
	part.length = (uint32_t)(end - from - part.at);
	return write_bytes(swarm, object, file, &part);
}

static enum swarm_taken stands(const struct file *file)
{
	switch ((enum phase)file->phase) {
	case PHASE_WHOLE: return SWARM_WAITS;
	case PHASE_KNOWN:
	case PHASE_INFECTED: return SWARM_KNOWN;
	case PHASE_OPEN: break;
	}
	return file->size == CONTENT_SIZE_UNKNOWN && file->present == file->reached ? SWARM_STANDS
										    : SWARM_TAKEN;
}

static enum swarm_taken add(
	struct swarm *swarm, struct object *object, struct file *file, const struct swarm_bytes *b)
{
	uint64_t most = file->size == CONTENT_SIZE_UNKNOWN ? file->max_bytes : file->size;

	atomic_store_explicit(&object->last_ns, b->now_ns, memory_order_relaxed);
	if (object->condemned || file->phase == PHASE_INFECTED || file->proven)
		return SWARM_KNOWN;
	if (b->at > most || b->length > most - b->at)
		return file->size == CONTENT_SIZE_UNKNOWN ? SWARM_TOO_BIG : SWARM_BEYOND;
	if (file->edges)
		return write_edges(swarm, object, file, b);
	enum swarm_taken taken = write_bytes(swarm, object, file, b);

	if (taken != SWARM_TAKEN)
		return taken;
	if (b->at + b->length > file->reached) {
		file->reached = b->at + b->length;
		file->sealed = false;
	}
	phase_settle(swarm, object, file);
	return stands(file);
}

enum swarm_taken swarm_add(struct swarm *swarm, uint32_t number, const struct swarm_bytes *bytes,
	struct swarm_due *due)
{
	struct file *file = &swarm->files[number];
	struct object *object = &swarm->objects[file->object];

	*due = (struct swarm_due){0};
	if (!bytes->length)
		return SWARM_TAKEN;
	if (!swarm_lock_within(&object->lock, SWARM_YIELDS))
		return SWARM_BUSY;
	enum swarm_taken taken = add(swarm, object, file, bytes);

	due->job = phase_job_is_due(object, file);
	swarm_unlock(&object->lock);
	due->wakes = swarm_work_is_due(swarm);
	return taken;
}

static uint64_t take_count(_Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed)
		       ? atomic_exchange_explicit(counter, 0, memory_order_relaxed)
		       : 0;
}

void swarm_tally(struct swarm *swarm, struct swarm_tally *since)
{
	*since = (struct swarm_tally){
		.differs = take_count(&swarm->differs),
		.poisoned = take_count(&swarm->poisoned),
		.proven = take_count(&swarm->proven),
		.bad = take_count(&swarm->bad),
		.condemned = take_count(&swarm->n_condemned),
		.forgotten = take_count(&swarm->forgotten),
	};
}

void swarm_use(const struct swarm *swarm, struct swarm_use *use)
{
	struct content_memory_use memory;

	content_memory_look(swarm->memory, &memory);
	*use = (struct swarm_use){
		.bytes = memory.bytes,
		.used = memory.used,
		.peak = memory.peak,
		.files = atomic_load_explicit(&swarm->n_files, memory_order_relaxed),
	};
}
