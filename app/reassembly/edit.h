// SPDX-License-Identifier: BSD-3-Clause
// Edits of bytes on their way: runs that are overwritten with one byte each, so that no length and
// no sequence number changes.
//
// A consumer asks for them while it is given the bytes (track_edit). They wait in a list of the
// half until their bytes are kept in Q2, and are made there: what leaves is then made equal to what
// is kept, as is whatever repeats it. The bytes as they came stay beside the edited ones until they
// are acknowledged, so that a retransmission of them is told from other bytes. A kept segment takes
// one block more when it is edited, and a list one block: no half takes more than twice its share.
// One user: the lcore that owns the flow. Offsets are bytes of the half, 64 bits.
#ifndef SLUICE_EDIT_H
#define SLUICE_EDIT_H

#include "reassembly/q2.h"

struct stream_edit {
	uint64_t offset64;
	uint32_t length;  // at least 1
	uint8_t fill;     // takes the place of each byte
	bool keeps_lines; // ... but CR and LF
};

enum edit_answer {
	EDIT_TAKEN,   // what leaves is edited
	EDIT_LEFT,    // some of the bytes have left, or the packet cannot be changed
	EDIT_NO_ROOM, // to remember it
};

struct edit_list { // in a block
	uint32_t n;
	struct stream_edit edits[];
};
#define EDITS_MAX ((SLAB_BLOCK - sizeof(struct edit_list)) / sizeof(struct stream_edit))
static_assert(EDITS_MAX >= 120, "a line of chat has 12 bytes at least: those of a full frame");

// All are to be made. False: there is no room, and nothing was remembered.
bool edits_add(struct q2 *q2, struct slab *slab, const struct stream_edit *edits, unsigned n);
// Makes what lies below `until`, of which all is kept. False: no block was free for a segment's
// original; what could not be made stays in the list.
bool edits_make(struct q2 *q2, struct slab *slab, uint64_t until);
void edits_forget(struct q2 *q2, struct slab *slab);

#endif
