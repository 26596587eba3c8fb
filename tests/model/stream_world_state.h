// SPDX-License-Identifier: BSD-3-Clause
// What the world knows while a schedule runs; of stream_world.c (what leaves, what is inspected)
// and stream_run.c (what comes). Offsets are those of the schedule: 0 is the first byte behind the
// SYN. One world at a time: a gateway's hooks have no better place to find it.
#ifndef SLUICE_MODEL_STREAM_WORLD_STATE_H
#define SLUICE_MODEL_STREAM_WORLD_STATE_H

#include "stream_world.h"

#define OFFSET_LEAST (-512)
#define FATES_MAX    2048
#define LEFT_MAX     512
#define FRESH_MAX    2048

enum { TOLD_NOT, TOLD_BYTES, TOLD_GAP };

struct octet {
	uint8_t ref, told, out; // taken first; inspected; forwarded first
	uint8_t edited;         // what takes its place: edit_set
	uint8_t first, last;    // that the receiver got
	bool ref_set : 1, out_set : 1, got : 1, edit_set : 1;
	uint8_t told_as : 2;
};

struct direction { // of a half, and of the end that receives it
	struct octet octets[STREAM_OFFSETS_MAX - OFFSET_LEAST];
	int32_t touched; // octets to be cleared after the schedule: up to here
	bool based, ended, begun, syn_sent;
	int32_t begun_at; // of the first segment that left, with bytes or a FIN
	int32_t base;     // of the gateway's offset 0
	uint64_t n_told;  // gateway's offset of the next span
	int32_t told_end; // inspected up to here, gaps included
	int32_t edge;     // a receiver that gets all that leaves has delivered up to here
	int32_t acked;    // the highest acknowledgement that the gateway may believe
	int32_t lied;     // the highest that is not true: the end stands by it when it is believed
	int32_t out_end;  // the end of all that left, FIN included
	int32_t void_end; // the end of what lay on a SYN of which its receiver takes nothing
	bool gave_up; // a hole, as its receiver had what lies behind it (the number of a FIN, too)
	bool lax;     // held packets were dropped, or bytes lay on a SYN: which came first is open
	// the receiver
	bool rx_syn, reset, closed, fin_got, stamped;
	int32_t start, rcv, fin;
	uint32_t stamp;
	unsigned late_length;
	uint8_t late[STREAM_FRAME_MAX];
};

struct fate {
	bool in, out, held;
	bool bad_checksum, blind, lost, late;
	bool counts; // a receiver may take its bytes
	uint8_t half, tcp_flags, variant;
	uint16_t id, length;
	int32_t at; // of its first byte
	uint32_t seq, ack;
};

struct left {
	uint8_t half;
	const uint8_t *frame;
	unsigned length;
};

struct fresh {
	uint8_t half;
	bool gap;
	uint64_t offset;
	uint32_t length;
	const uint8_t *bytes;
};

struct fresh_edit { // an edit that was taken
	uint8_t half, fill;
	uint64_t offset;
	uint32_t length;
};

struct world {
	const struct stream_gateway *gateway;
	const struct stream_schedule *s;
	unsigned now; // operation, from 1
	struct fate *current;
	bool odd;          // no progress is owed
	bool held_dropped; // a held packet was given up
	bool was_held;
	bool ending;
	bool gone;    // the gateway has forgotten the connection
	bool verbose; // tells each step
	uint32_t client, clock_ms, stamp[2];
	uint16_t n_fates;
	struct fate fates[FATES_MAX];
	struct direction dir[2];
	uint8_t frame[STREAM_FRAME_MAX]; // as it came
	unsigned frame_length;
	struct left left[LEFT_MAX];
	unsigned n_left, left_bytes;
	struct fresh fresh[FRESH_MAX];
	unsigned n_fresh, fresh_bytes;
	struct fresh_edit edits[FRESH_MAX];
	unsigned n_edits;
	uint8_t left_room[LEFT_MAX * 256], fresh_room[1 << 16];
	struct stream_tally tally;
	char problem[300];
};
extern struct world stream_world;

static inline bool followed(int32_t at)
{
	return at >= OFFSET_LEAST && at < STREAM_OFFSETS_MAX;
}

static inline struct octet *octet(struct direction *d, int32_t at)
{
	if (at > d->touched)
		d->touched = at;
	return &d->octets[at - OFFSET_LEAST];
}

// What a byte that was inspected, or taken first, leaves as.
static inline uint8_t leaves_as(const struct octet *o, uint8_t byte)
{
	return o->edit_set ? o->edited : byte;
}

// Behind what was inspected in the same step, before what left.
void stream_take_edit(const struct fresh_edit *edit);

void stream_problem(const char *format, ...) __attribute__((format(printf, 1, 2)));
// What came of a step: judged, and given to the receivers.
void stream_world_after(const struct stream_ledger *before);
// What the paths behind the gateway still have arrives.
void stream_world_late(void);

#endif
