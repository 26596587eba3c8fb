// SPDX-License-Identifier: BSD-3-Clause
// A half of a TCP flow under inspection, as `sluicectl flow show` tells it: a copy of what the
// tracker knows, made by the lcore that owns the flow.
#ifndef SLUICE_STREAM_LOOK_H
#define SLUICE_STREAM_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#define STREAM_LOOK_MAX 1024 // segments of a half that are looked at

// What a half is, and the words of it.
#define STREAM_LOOKS(X)                                               \
	X(STARTED, "started")       /* its first byte is known */     \
	X(MIDSTREAM, "midstream")   /* and was not its SYN's */       \
	X(FIN, "fin")               /* its end is known */            \
	X(CLOSING, "closing")       /* its sender has reset it */     \
	X(PROCESSING, "processing") /* a job of ours is pending */    \
	X(RELEASING, "releasing")   /* what waited is worked off */   \
	X(FREE, "free")             /* nobody looks at it any more */ \
	X(CUT, "cut")               /* more segments than counted here */

enum stream_look_bit {
#define X(symbol, word) STREAM_LOOK_##symbol,
	STREAM_LOOKS(X)
#undef X
		STREAM_LOOKS_MAX
};

struct stream_count {
	uint32_t segments;
	uint64_t bytes;
};

struct stream_look {
	uint64_t next;     // offset of the next byte to be inspected
	uint64_t released; // all below has left, in order
	uint64_t acked;    // its receiver has all below
	uint64_t window;   // bytes that the receiver takes from `acked` on
	uint64_t held_ns;  // since when the first held segment waits; 0: none does
	uint64_t job_ns;   // since when a job of ours is pending; 0: none is
	uint32_t seq;      // number of `next`
	uint32_t holes;    // before, and between copies
	struct stream_count copies, sent, held;
	uint8_t bits;    // 1 << enum stream_look_bit
	bool has_window; // the receiver has spoken
};

#endif
