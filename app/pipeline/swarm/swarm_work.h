// SPDX-License-Identifier: BSD-3-Clause
// What the sources of this folder share; nobody else includes it.
//
// Locks: an object's own one for its bytes, pieces and files; the swarm's for the table, lists,
// memory and shares. The swarm's is taken within an object's, never the other way round, but by
// swarm_try. An object is freed under the swarm's lock while nobody refers to it: `refs` leaves 0
// under that lock only.
#ifndef SLUICE_SWARM_WORK_H
#define SLUICE_SWARM_WORK_H

#include "pipeline/swarm/lock.h"
#include "pipeline/swarm/swarm.h"
#include "pipeline/vocab/sizes.h"

#define NONE            0 // numbers begin at 1
#define CHUNK_SHIFT     14
#define CHUNK_SHIFT_MAX 22
#define CHUNKS_OF_FILE  (SCAN_EXTENTS_MAX - 8u)
#define CHUNKS_MAX      (1u << 19)
#define PIECES_MAX      (1u << 18)
#define SCARCE_4        3 // quarters of the memory taken: an id, and a source, have shares ...
#define SHARE_4         1 // ... of so many quarters each
#define STEP            (16u << 10) // bytes that are read for a digest under the lock

static_assert(1u << CHUNK_SHIFT_MAX <= CONTENT_BLOCK_MAX, "a chunk is a block");
static_assert((uint64_t)CHUNKS_OF_FILE << CHUNK_SHIFT_MAX >= SCAN_FILE_MAX, "a job has room");

// Of the object's space; bit i of the map: byte i has come.
struct chunk {
	uint8_t *bytes; // NULL: nothing of it has come
	uint64_t *map;
	struct flow_share share; // that it is counted for
};

enum piece_state { PIECE_PARTLY, PIECE_WHOLE, PIECE_READ, PIECE_PROVEN };
struct piece {
	uint32_t present; // bytes, with those of padding
	uint32_t padding; // of these
	uint32_t next;    // PIECE_WHOLE: behind it in the list, + 1; 0: none
	uint8_t state;
	uint8_t tries; // it had changed when its digest was there
	bool dirty;    // PIECE_READ: it has changed since
	bool doubted;  // bytes of it came again as others, which nobody has proven
};

enum phase { PHASE_OPEN, PHASE_WHOLE, PHASE_KNOWN, PHASE_INFECTED };
enum early { EARLY_OPEN, EARLY_OUT, EARLY_DONE };

struct file {
	uint32_t object, next;        // of the object's; or free
	_Atomic uint32_t refs, opens; // who has it open, and its job; the first alone
	uint64_t from, size;          // in the object; size CONTENT_SIZE_UNKNOWN
	uint64_t padding;             // behind it
	uint64_t max_bytes;
	uint64_t present, reached; // bytes; behind the furthest
	uint32_t early_present;    // of the first SWARM_EARLY_BYTES
	uint8_t phase, early;      // enums
	bool edges;                // too big: it is kept for the pieces of others alone
	bool sealed;               // size is `reached`, as nothing comes
	bool proven;               // PHASE_KNOWN: and so are its bytes, of which none are kept
	bool job_out;
	struct scan_job job;             // that
	uint64_t part_from, part_to;     // swarm_part(): the last one
	uint8_t part;                    // enum swarm_part, of that
	uint8_t part_value, part_reason; // SWARM_PART_FAILED
	bool passing; // PHASE_WHOLE: `verdict` may be another when it is asked again
	uint64_t changes;
	struct scan_verdict verdict; // PHASE_KNOWN, PHASE_INFECTED
};

struct object {
	struct swarm_lock lock;
	_Atomic uint32_t refs; // open files, jobs, who proves it
	struct content_id id;
	bool of_sender, trusting, hooked, condemned;
	bool compares; // what comes of it with what is proven, which is kept
	uint64_t size;
	uint32_t next_in_bucket, next_free;
	uint32_t lru_prev, lru_next;
	uint32_t verify_next; // in the list of those with pieces to prove
	bool in_verify;
	uint32_t condemned_next; // in the list of those that nobody was told of
	uint32_t files;
	uint32_t infected; // condemned: the file
	_Atomic uint64_t last_ns;
	// space
	uint32_t n_chunks, units;
	uint8_t shift;
	struct chunk *chunks;
	// digests of pieces; n_pieces 0: they are not known
	uint64_t piece_bytes;
	uint32_t n_pieces;
	uint8_t digest;
	uint8_t *digests;
	struct piece *pieces;
	uint32_t first_whole, last_whole; // list: pieces + 1
	// without: the id as a digest of all of it
	uint8_t whole; // enum whole
	uint8_t whole_tries;
	bool whole_dirty, doubted;
};

// WHOLE_NONE: the id says nothing that can be checked.
enum whole { WHOLE_NONE, WHOLE_OPEN, WHOLE_DUE, WHOLE_READ, WHOLE_PROVEN, WHOLE_WRONG };

struct swarm_reader; // of a scan lcore (prove.c)

struct swarm {
	const struct scan_arena *arena;
	struct content_memory *memory;
	struct swarm_limits limits; // seed: the one below
	struct hash_seed seed;
	struct swarm_lock lock;
	_Atomic uint64_t changes;
	_Atomic uint64_t next_look_ns; // at ages
	_Atomic uint32_t verify_first;
	uint32_t verify_last;
	_Atomic uint32_t condemned_first;
	uint32_t lru_first, lru_last;
	uint32_t free_object, free_file, mask;
	_Atomic uint32_t n_files;
	struct flow_shares shares;
	uint64_t scarce_bytes;
	_Atomic uint64_t differs, poisoned, proven, bad, n_condemned, forgotten;
	struct swarm_reader *readers[LCORES_MAX];
	uint32_t *buckets;
	struct object *objects;
	struct file *files;
};

static inline void swarm_count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static inline uint64_t swarm_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t swarm_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// Behind the last byte of a file that is known so far.
static inline uint64_t file_end(const struct file *file)
{
	return file->size == CONTENT_SIZE_UNKNOWN ? file->reached : file->size;
}

// ---- space.c: under the object's lock ----

// Room for [from, from + length). False: there is none; what was taken of it stays.
bool space_room(struct swarm *swarm, struct object *object, uint64_t from, uint32_t length,
	struct flow_share share);
// Bytes that have come of [from, to).
uint64_t space_count(const struct object *object, uint64_t from, uint64_t to);
struct space_wrote {
	uint32_t fresh; // bytes that had not come before
	bool differs;   // bytes that had come are others now
};
// There is room. What has come is replaced only if `replaces`.
struct space_wrote space_write(
	struct object *object, uint64_t from, const uint8_t *bytes, uint32_t length, bool replaces);
void space_clear(struct object *object, uint64_t from, uint64_t to);
void space_read(const struct object *object, uint64_t from, uint8_t *to, uint32_t length);
void space_free(struct swarm *swarm, struct object *object); // under the swarm's lock
// Names [from, to), which has come, to a job. False: no room.
bool space_job(struct swarm *swarm, const struct object *object, uint64_t from, uint64_t to,
	struct scan_job *job);
void space_job_over(struct swarm *swarm, const struct scan_job *job);
// Gives back chunks that lie in [from, to) whole.
void space_drop(struct swarm *swarm, struct object *object, uint64_t from, uint64_t to);

// ---- phase.c: under the object's lock ----

// Something of the file has come, was proven, or is missing again.
void phase_settle(struct swarm *swarm, struct object *object, struct file *file);
// ... and of all files that [from, to) is a part of: `missing`, bytes of it are gone.
void phase_settle_range(
	struct swarm *swarm, struct object *object, uint64_t from, uint64_t to, bool missing);
// Other bytes stand where some had come.
void phase_changed(struct swarm *swarm, struct object *object, struct file *file);
// A job about those bytes is out: they stay as they are.
bool phase_is_read(
	const struct swarm *swarm, const struct object *object, uint64_t from, uint64_t to);
void phase_news(struct swarm *swarm, struct file *file);
bool phase_job_is_due(const struct object *object, const struct file *file);

// ---- table.c: objects and files, and the lists that they are in ----

bool table_new(struct swarm *swarm);
void table_free(struct swarm *swarm);
// Nobody finds it any more. Under the object's lock.
void table_unhook(struct swarm *swarm, struct object *object);
// Objects that nobody has open make room. False: there are none.
bool table_evict(struct swarm *swarm);
// A scan lcore is to take the object up, as something of it can be proven.
void verify_push(struct swarm *swarm, struct object *object);
// Its id is condemned: somebody is to be told of that.
void condemned_push(struct swarm *swarm, struct object *object);
// It is referred to. NULL: there is none.
struct object *verify_pop(struct swarm *swarm);

// ---- prove.c ----

bool prove_new(struct swarm *swarm);
void prove_free(struct swarm *swarm);
// Under the object's lock: `fresh` bytes of the piece at `from` have come; `differs`: some are
// others now.
void prove_came(
	struct swarm *swarm, struct object *object, uint64_t from, uint32_t fresh, bool differs);

static inline uint32_t swarm_number_of(const struct swarm *swarm, const struct object *object)
{
	return (uint32_t)(object - swarm->objects);
}

#endif
