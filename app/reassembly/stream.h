// SPDX-License-Identifier: BSD-3-Clause
// The in-order provider: sorts the segments of one half of a TCP connection and says which bytes
// are new to its consumers. It keeps no packet: a segment ahead of the next byte is passed over,
// and when AHEAD_MAX of them have gone by the hole is told once as a gap, so that consumers never
// stall. (Q1/Q2 reassembly with copies takes its place behind the same `struct span`.)
// Pure state machine over caller's memory; one writer: the flow's lcore.
// Sequence space: RFC 9293 section 3.4; bytes on a SYN count from seq + 1 (section 3.10.7.2).
#ifndef SLUICE_STREAM_H
#define SLUICE_STREAM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define STREAM_AHEAD_MAX  3 // segments ahead of a hole before it is given up
#define STREAM_WINDOW_MAX (UINT32_C(65535) << 14)

enum {                             // struct stream_half.flags
	STREAM_STARTED = 1 << 0,   // `next` is valid
	STREAM_MIDSTREAM = 1 << 1, // started without its SYN
	STREAM_TAKEN = 1 << 2,     // at least one byte was taken
	STREAM_UNSEEN = 1 << 3,    // segments may have gone by unseen since `next` moved
};

struct stream_half {        // 24 bytes
	uint64_t offset64;  // of `next`, from the first byte
	uint32_t next;      // next sequence number to be taken
	uint32_t gap_bytes; // told as gaps so far, saturating
	uint8_t flags;
	uint8_t ahead; // segments ahead of `next` since it last moved
	uint8_t pad[6];
};
static_assert(sizeof(struct stream_half) == 24, "struct stream_half");

struct stream_take {
	uint64_t offset64; // of the first new byte (behind the gap)
	uint32_t gap;      // bytes never seen, in front of the new ones; 0: none
	uint32_t skip;     // bytes of the segment that are old
	uint32_t length;   // new bytes after `skip`; 0: nothing new
	bool ahead;        // passed over: ahead of a hole
	bool refused;      // nowhere in the stream: no receiver takes it
};

// A SYN of this half. Another SYN with another number starts over while no byte was taken
// (a client that reuses the tuple); later ones change nothing.
void stream_syn(struct stream_half *half, uint32_t seq);

// Segments may have passed unseen: wherever the half goes on is taken, as midstream. What lies
// between is told as a gap, modulo 2^32 bytes.
void stream_unseen(struct stream_half *half);

// A segment with `length` > 0 payload bytes at `seq` (after a SYN: seq + 1). Where the first byte
// is known, one that begins before it is refused (but for the octet of a keep-alive, RFC 9293
// section 3.8.4), and one that is further ahead than any window (RFC 7323 section 2.3).
struct stream_take stream_segment(struct stream_half *half, uint32_t seq, uint32_t length);

#endif
