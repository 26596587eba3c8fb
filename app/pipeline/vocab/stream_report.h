// SPDX-License-Identifier: BSD-3-Clause
// What reassembly has to say of a flow when it is asked, or ends: events, `sluicectl flow show`.
// Filled by app/reassembly for a flow that is tracked (tcp_track_report); kept in the flow's cold
// part when it gives its tracker state back. Numbers saturate. One writer: the flow's lcore.
#ifndef SLUICE_STREAM_REPORT_H
#define SLUICE_STREAM_REPORT_H

#include <assert.h>
#include <stdint.h>
#include "pipeline/vocab/span.h"

// Where room can end for a flow, or a policy can let it by, and the word in its event
// (exception_policy.target).
#define STREAM_TARGETS(X)                                                           \
	X(REASSEMBLY_MEMORY, "reassembly_memory") /* blocks of the slab */          \
	X(HALF_LIMIT, "half_limit")               /* reassembly.half_kb */          \
	X(HELD_LIMIT, "held_limit")               /* reassembly.held, .half_held */ \
	X(TRACKED, "tracked")                     /* reassembly.tracked */          \
	X(CLASSIFY_STATES, "classify_states")     /* limits.classifying */          \
	X(SCAN, "scan")                           /* jobs of the scan engine */     \
	X(MPTCP, "mptcp")                         /* tcp.mptcp: pass */             \
	X(MIDSTREAM, "midstream")                 /* tcp.midstream: pass */

enum stream_target {
#define X(symbol, word) STREAM_TARGET_##symbol,
	STREAM_TARGETS(X)
#undef X
		STREAM_TARGETS_MAX
};
static_assert(STREAM_TARGETS_MAX <= 8, "struct stream_report has a bit for each");

static inline const char *stream_target_word(enum stream_target target)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		STREAM_TARGETS(X)
#undef X
	};
	return target < STREAM_TARGETS_MAX ? words[target] : "?";
}

struct stream_half_report {       // 20 bytes
	uint32_t gap_bytes;       // reported as gaps
	uint32_t duplicate_bytes; // came again, those that differed among them
	uint32_t conflict_bytes;  // came again and differed
	uint16_t gaps;
	uint16_t held_pkts; // segments that were held
	uint16_t copied_kb; // most that was kept ahead of a hole at a time, KiB, rounded up
	uint16_t held_cs;   // longest hold, 10 ms, rounded up
};

struct stream_report { // 44 bytes
	struct stream_half_report half[2];
	// Bits of enum stream_target: what became of packets when room had ended there.
	uint8_t dropped;   // dropped: the law holds
	uint8_t passed;    // passed uninspected, although the policy enforces: the law is waived
	uint8_t ignored;   // passed; nothing is enforced (observe mode)
	uint8_t midstream; // by half, bits: began without its SYN
};
static_assert(sizeof(struct stream_report) == 44, "struct stream_report");

static inline void stream_report_add16(uint16_t *number, uint32_t add)
{
	*number = add > (uint32_t)UINT16_MAX - *number ? UINT16_MAX : (uint16_t)(*number + add);
}

static inline void stream_report_add32(uint32_t *number, uint32_t add)
{
	*number = add > UINT32_MAX - *number ? UINT32_MAX : *number + add;
}

static inline void stream_report_gap(struct stream_report *report, enum half half, uint32_t bytes)
{
	stream_report_add16(&report->half[half].gaps, 1);
	stream_report_add32(&report->half[half].gap_bytes, bytes);
}

// A segment left its hold after `ns`, whichever way.
static inline void stream_report_hold(struct stream_report *report, enum half half, uint64_t ns)
{
	uint64_t cs = (ns + 9999999) / 10000000;
	uint16_t *longest = &report->half[half].held_cs;

	if (cs > *longest)
		*longest = cs > UINT16_MAX ? UINT16_MAX : (uint16_t)cs;
}

// `bytes` are kept as copies in this half now.
static inline void stream_report_copied(
	struct stream_report *report, enum half half, uint64_t bytes)
{
	uint64_t kb = (bytes + 1023) / 1024;
	uint16_t *most = &report->half[half].copied_kb;

	if (kb > *most)
		*most = kb > UINT16_MAX ? UINT16_MAX : (uint16_t)kb;
}

#endif
