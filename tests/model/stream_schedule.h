// SPDX-License-Identifier: BSD-3-Clause
// A schedule for the streams' model: one TCP connection, and what its ends, an attacker beside them
// and the gateway's own clock do, in which order. Made from a seed alone. Each operation stands by
// itself, so that any of them can be left out (shrinking): what an end acknowledges is said as a
// distance from what it has received by then.
#ifndef SLUICE_MODEL_STREAM_SCHEDULE_H
#define SLUICE_MODEL_STREAM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STREAM_OPS_MAX     160
#define STREAM_OFFSETS_MAX 24000 // bytes of a half that the model follows
#define STREAM_FRAME_MAX   2048

enum stream_op_type {
	STREAM_OP_SEGMENT,
	STREAM_OP_TIME,   // the clock moves on, `value` ms
	STREAM_OP_RELOAD, // another snapshot of the same rules
};

enum stream_ack {
	ACK_NONE,   // no ACK flag
	ACK_RIGHT,  // what the end has received
	ACK_LATE,   // `value` bytes less
	ACK_LIE,    // up to `value` bytes more, of what the gateway has forwarded
	ACK_UNSENT, // beyond all that the gateway has forwarded
};

enum stream_stamp {
	STAMP_NOW,
	STAMP_OLD, // older than what the receiver has seen by minutes (PAWS)
	STAMP_NONE,
};

enum { // struct stream_op.flags
	STREAM_BAD_CHECKSUM = 1 << 0,
	STREAM_LOST = 1 << 1,  // behind the gateway: the receiver does not get it
	STREAM_LATE = 1 << 2,  // behind the gateway: the receiver gets it behind later ones
	STREAM_BLIND = 1 << 3, // from beside the path: far out of the window
	STREAM_EARLY = 1 << 5, // it acknowledges a SYN that has not come
	STREAM_SPLIT = 1 << 4, // it comes in several mbuf segments
};

struct stream_op {
	uint8_t type;
	uint8_t half; // its sender: 0 the client
	uint8_t tcp_flags;
	uint8_t ack; // enum stream_ack
	uint8_t stamp;
	uint8_t flags;
	uint8_t variant; // of its bytes; 0: those of the stream
	int32_t at;      // of its first byte, in the half
	uint16_t length;
	uint16_t value;
};

// What stands between `hold_at` and the end of the hold is held (a job of the gateway's own).
struct stream_job {
	uint8_t half;
	bool every; // again after as many bytes
	bool never; // no verdict comes
	uint16_t after_bytes;
	uint16_t delay_ms;
};
#define STREAM_JOBS_MAX 2

enum stream_world_kind { // gateways; each is made once
	WORLD_PLAIN,
	WORLD_SLOW,  // without fast pass
	WORLD_SMALL, // caps that are hit
	WORLD_KINDS,
};

struct stream_schedule {
	uint64_t seed;
	uint8_t world; // enum stream_world_kind
	bool observe;  // the policy enforces nothing
	bool drop;     // conflict: drop, not rewrite
	bool v6;
	bool midstream; // no handshake is seen
	bool one_sided; // the server's packets are not seen
	bool stamps;
	bool fast_open; // the server takes what is on a SYN
	bool obeys_rst; // receivers do
	uint8_t scale;  // window scale of both
	uint16_t window;
	uint16_t begin[2]; // midstream: where each half stands when it is seen first
	uint32_t isn[2];
	unsigned n_jobs;
	struct stream_job jobs[STREAM_JOBS_MAX];
	unsigned n_ops;
	struct stream_op ops[STREAM_OPS_MAX];
};

// `observe`: of the second pass, in which nothing may be refused, changed or held.
void stream_schedule_make(struct stream_schedule *schedule, uint64_t seed, bool observe);
void stream_schedule_print(const struct stream_schedule *schedule);

// The byte of a half at an offset; of variants, about a quarter is another one.
static inline uint8_t stream_byte(unsigned half, int32_t at, uint8_t variant)
{
	uint32_t x = (uint32_t)at * 2654435761u + half * 0x9e3779b9u + 12345;

	x ^= x >> 15;
	x *= 2246822519u;
	if (variant && !((x ^ variant) >> 7 & 3))
		x += (uint32_t)variant << 24;
	return (uint8_t)(x >> 24);
}

// What a segment looks like on the wire; numbers as they are sent.
struct stream_frame {
	bool v6, stamped, syn_options, bad_checksum;
	uint8_t half, tcp_flags, scale;
	uint16_t id;     // of the packet: its identification, or flow label
	uint32_t client; // word of its address
	uint32_t seq, ack, stamp, echo;
	uint16_t window;
	const uint8_t *payload;
	unsigned length;
};
unsigned stream_frame_build(const struct stream_frame *frame, uint8_t *out);

// Reads what the gateway sent. False: not a TCP segment of this connection, or torn.
struct stream_read {
	uint16_t id;
	uint8_t tcp_flags;
	uint32_t seq, ack;
	uint16_t window;
	bool stamped, checksum_good;
	uint32_t stamp;
	const uint8_t *payload;
	unsigned length, header; // bytes of payload; before it
};
bool stream_frame_read(const uint8_t *frame, unsigned length, struct stream_read *read);

#endif
