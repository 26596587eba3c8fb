// SPDX-License-Identifier: BSD-3-Clause
// Files that come in parts over several flows, put together by their id: the pieces of a torrent
// from several peers, parts of an eDonkey file, ranges of one URL with one strong validator.
//
// What an id names is an *object*: a linear space of `size` bytes, of which what came is kept, in a
// region of the arena that all data lcores share. A *file* is a slice of it: of a torrent one file
// of its payload, else all of it. Whoever brings bytes of a file has it open. When the last byte
// is there a job is due about it; its verdict stands for all flows that bring it, until other
// bytes come in the place of unproven ones.
//
// Digests of pieces, and of the whole where the id is one, are checked by the scan lcores
// (swarm_work) as pieces become whole. Bytes of a piece that fails are thrown away: it is missing
// again. Proven bytes are never replaced. Unproven ones that come again as others are replaced, and
// a file that has such places is never clean.
//
// Any data lcore may call, at any time; critical sections are short and bounded (lock.h). A file
// that is open stays where it is. Nothing here uses the heap after swarm_new, logs or reads a
// clock.
#ifndef SLUICE_SWARM_H
#define SLUICE_SWARM_H

#include "content/content.h"
#include "content/memory.h"
#include "pipeline/flow/share.h"
#include "scan/arena.h"
#include "scan/engine.h"

#define SWARM_EARLY_BYTES (64u << 10) // of a file, that are looked at before it is there

struct swarm;

struct swarm_limits {
	const struct hash_seed *seed;
	uint32_t files;     // at a time, open or remembered
	uint64_t age_ns;    // of an object to which nothing comes any more
	unsigned n_workers; // scan lcores that call swarm_work
};

// In what all data lcores share of the arena. NULL: no memory.
struct swarm *swarm_new(const struct scan_arena *arena, const struct swarm_limits *limits);
void swarm_free(struct swarm *swarm); // NULL is allowed; nothing is open, no job is out

// The file that a transfer brings a part of.
struct swarm_file {
	const struct content_whole *whole;
	uint64_t size;      // of the file; CONTENT_SIZE_UNKNOWN
	uint64_t max_bytes; // beyond it a file is not looked at
	// The id names what one sender sends, and nobody else's: it is proven by who sends.
	bool of_sender;
	// Its receivers may hold nothing against the id (a browser): all that comes is compared
	// with what was proven, and what is in doubt stays so. Of others it is another object.
	bool trusting;
};
// Numbers begin at 1. SCAN_REASON_NONE; TOO_BIG: the file is, but its number is set where its
// bytes prove pieces that other files of the object have a part of; BUSY: there is no place.
enum scan_reason swarm_open(
	struct swarm *swarm, const struct swarm_file *what, uint64_t now_ns, uint32_t *number);
void swarm_close(struct swarm *swarm, uint32_t number);
// Somebody else has it open, too.
bool swarm_is_shared(const struct swarm *swarm, uint32_t number);

enum swarm_taken {
	SWARM_TAKEN,   // the file is not whole
	SWARM_STANDS,  // ... nobody says its size, and there is no hole in what has come
	SWARM_WAITS,   // it is whole, and its verdict is awaited
	SWARM_KNOWN,   // its verdict is known
	SWARM_FULL,    // no room; nothing was taken
	SWARM_BUSY,    // another lcore has it for too long; nothing was taken
	SWARM_BEYOND,  // behind the end that was said
	SWARM_DIFFERS, // from what is proven, and its receivers may not notice; nothing was taken
	SWARM_TOO_BIG, // no size was said, and it is more than is looked at
};
struct swarm_bytes {
	uint64_t at; // in the file
	const uint8_t *bytes;
	uint32_t length;
	struct flow_share share; // of whom room is counted for
	uint64_t now_ns;
};
struct swarm_due {
	bool job;   // about the file: swarm_job
	bool wakes; // a scan lcore has something to prove
};
enum swarm_taken swarm_add(struct swarm *swarm, uint32_t number, const struct swarm_bytes *bytes,
	struct swarm_due *due);
// The sender of the newest bytes pauses, and nobody says where the file ends: what is there counts
// as all of it, until more comes. False: there is a hole.
bool swarm_seal(struct swarm *swarm, uint32_t number);

// A transfer has brought [from, to) of the file and brings no more: a job is due about that alone,
// as its receiver may want no more than that.
enum swarm_part {
	SWARM_PART_GONE,   // not all of it is there, or the file is whole
	SWARM_PART_LATER,  // another part is looked at
	SWARM_PART_DUE,    // a job about it is due, or out
	SWARM_PART_LOOKED, // its job is over, and nothing was found
	SWARM_PART_FAILED, // its job is over, and may say otherwise when it is asked again:
			   // `*failed`
};
enum swarm_part swarm_part(struct swarm *swarm, uint32_t number, uint64_t from, uint64_t to);
// Where it was due: what became of that.
enum swarm_part swarm_part_look(struct swarm *swarm, uint32_t number, uint64_t from, uint64_t to,
	struct scan_verdict *failed);

// A job is due about the file, the caller's to submit, who has said the rest of it: `extents`,
// `from64`, `to64`, `flags` and `file` are set. False: none is, or there is no room now.
bool swarm_job(struct swarm *swarm, uint32_t number, struct scan_job *job);
// It is the one that is out about its file: `ours`, as it was submitted.
bool swarm_job_is(struct swarm *swarm, const struct scan_job *job, struct scan_job *ours);
// It could not be submitted, or its verdict has come: NULL, or that.
void swarm_job_over(
	struct swarm *swarm, const struct scan_job *job, const struct scan_verdict *verdict);
// An id that is condemned for everybody, and `flow` of the job that found it; each once, on
// whatever lcore asks. False: there is none.
bool swarm_condemned(struct swarm *swarm, struct content_id *id, uint32_t *flow);

// How the file stands.
struct swarm_look {
	uint64_t changes; // of its state, so far: whoever waits is told by another number
	bool waits;       // whole, without a verdict
	bool passing;     // ... or with one that may be another when it is asked again
	bool known;       // `verdict` is of what is there
	bool condemned;   // ... and of the id, which is proven
	struct content_id id;
	struct scan_verdict verdict;
};
void swarm_look(struct swarm *swarm, uint32_t number, struct swarm_look *look);
// Changes of all files: while it stays the same, nobody who waits needs to look.
uint64_t swarm_changes(const struct swarm *swarm);

// A scan lcore's: proves pieces, a bounded number of bytes. True: there was something to do.
bool swarm_work(void *swarm, unsigned worker, uint64_t now_ns);
bool swarm_work_is_due(void *swarm);
static inline struct scan_side_work swarm_side_work(struct swarm *swarm)
{
	return (struct scan_side_work){swarm_work, swarm_work_is_due, swarm};
}
// Once a turn of any data lcore: objects to which nothing comes are forgotten, a few at a time.
void swarm_turn(struct swarm *swarm, uint64_t now_ns);

// What has happened since the last call, for counters.
struct swarm_tally {
	uint64_t differs;   // segments with other bytes than those that had come before
	uint64_t poisoned;  // ... whose place was proven: they were not taken
	uint64_t proven;    // pieces
	uint64_t bad;       // pieces that were thrown away
	uint64_t condemned; // ids
	uint64_t forgotten; // objects that aged, or made room, before they were whole
};
void swarm_tally(struct swarm *swarm, struct swarm_tally *since);
struct swarm_use {
	uint64_t bytes, used, peak; // of its memory
	uint32_t files;
};
void swarm_use(const struct swarm *swarm, struct swarm_use *use); // any thread

#endif
