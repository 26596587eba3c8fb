// SPDX-License-Identifier: BSD-3-Clause
// Q2 of one half of a TCP connection (kP2PADM section 3.1.2, 3.1.3, 3.1.7; docs/architecture.md):
//
//   COPY  bytes that were forwarded ahead of a hole and are not inspected yet (fast pass)
//   SENT  bytes that were inspected, kept until the receiver has acknowledged them
//   held  packets that were not forwarded: they wait for a verdict, or (without fast pass) for a
//   hole
//
// A kept segment that was edited (edit.h) has its original bytes in a block of their own.
//
// COPY and SENT are the bytes that came first: disjoint, in a tree by offset. What comes later for
// the same offsets is compared with them. Both are copies in blocks of a slab, so that edits of a
// packet on its way out never change what was or will be inspected. Held packets are a list by
// offset; they may overlap.
// One user: the lcore that owns the flow. Offsets are bytes of the half, 64 bits.
#ifndef SLUICE_Q2_H
#define SLUICE_Q2_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <bsd/sys/queue.h>
#include <bsd/sys/tree.h>
#include <rte_mbuf.h>
#include "reassembly/slab.h"

enum segment_kind {
	SEGMENT_COPY,
	SEGMENT_SENT,
	SEGMENT_HELD,
};

struct segment { // at the head of a block
	union {
		RB_ENTRY(segment) node;    // COPY, SENT
		TAILQ_ENTRY(segment) link; // HELD
	};
	uint64_t start;
	union {
		struct rte_mbuf *m;       // HELD: owned
		struct segment *original; // else: its bytes before edits, from `start` on, and
					  // maybe fewer (the rest is as it was); NULL: no edit
	};
	union {
		uint32_t at;    // HELD: of its payload, from the start of the frame
		uint32_t ahead; // SENT: that many of its first bytes left ahead of a hole
	};
	uint32_t length; // of the bytes; HELD: of the payload
	uint8_t kind;    // enum segment_kind
	uint8_t bytes[] __attribute__((aligned(8)));
};
#define SEGMENT_BYTES (SLAB_BLOCK - sizeof(struct segment))
static_assert(sizeof(struct segment) <= 64, "a block's header is at most one line");

RB_HEAD(segment_tree, segment);
TAILQ_HEAD(held_list, segment);

struct q2 {
	struct segment_tree tree;
	struct segment *last; // of the tree; NULL: empty
	struct held_list held;
	uint32_t n_blocks; // of COPY and SENT, and of originals
	uint32_t n_copies; // blocks that are COPY
	uint32_t n_held;
	uint64_t held_end;       // no held packet ends behind it
	struct edit_list *edits; // that wait for their bytes (edit.h); a block; NULL: none
};

// Payload bytes that lie in a packet, maybe over several of its segments.
struct payload {
	struct rte_mbuf *m;
	uint32_t at; // of the first byte, from the start of the frame
};

void q2_init(struct q2 *q2);
// Blocks that keeping `length` bytes takes at most.
static inline uint32_t q2_blocks_for(uint32_t length)
{
	return length / (uint32_t)SEGMENT_BYTES + 1;
}

// Keeps [start, start + length), of which nothing is kept yet; the bytes follow `from`. The caller
// has seen that the slab has q2_blocks_for(length).
void q2_keep(struct q2 *q2, struct slab *slab, enum segment_kind kind, uint64_t start,
	struct payload from, uint32_t length);

// The first kept segment that ends behind `offset`; NULL: none.
struct segment *q2_at(struct q2 *q2, uint64_t offset);
struct segment *q2_after(struct segment *segment);
// A COPY that is inspected now. It had left before.
void q2_sent(struct q2 *q2, struct slab *slab, struct segment *segment);
// Where bytes from `offset` on end that left ahead of a hole and are inspected; `offset`: there are
// none.
uint64_t q2_left_ahead(struct q2 *q2, uint64_t offset);
// Forgets kept bytes below `offset`, whole blocks, at most `budget`.
void q2_forget(struct q2 *q2, struct slab *slab, uint64_t offset, unsigned budget);
// Forgets all copies.
void q2_forget_copies(struct q2 *q2, struct slab *slab);

struct q2_compared {
	uint32_t known;  // bytes that are kept already
	uint32_t differ; // of these, that are other ones, and not the original of an edit
	uint32_t edited; // of these, that are the original of an edit
	uint64_t first;  // offset of the first that differs
};
// Compares [start, start + length) with what is kept; `rewrite`: puts what is kept in its place.
struct q2_compared q2_compare(
	struct q2 *q2, uint64_t start, struct payload bytes, uint32_t length, bool rewrite);

enum hold_place {
	HOLD_BY_OFFSET, // behind those of the same offset
	HOLD_LAST,      // as they came
	HOLD_FIRST,
};
// A packet to be held; takes a block. False: no block is free.
bool q2_hold(struct q2 *q2, struct slab *slab, uint64_t start, struct payload bytes,
	uint32_t length, enum hold_place place);
// A held packet that has all of these bytes; NULL: none.
struct segment *q2_held_covers(const struct q2 *q2, uint64_t start, uint32_t length);
// A held packet, off the list; NULL: of NULL.
struct rte_mbuf *q2_unhold(struct q2 *q2, struct slab *slab, struct segment *held);
// Those that are listed as they came are listed by offset then.
void q2_held_order(struct q2 *q2);
// Compares with held packets at the same offsets.
struct q2_compared q2_held_compare(
	const struct q2 *q2, uint64_t start, struct payload bytes, uint32_t length);

#endif
