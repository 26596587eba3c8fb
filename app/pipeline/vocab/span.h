// SPDX-License-Identifier: BSD-3-Clause
// A run of a half's stream, as its consumers get it: bytes, or a gap that
// has none. Producers: app/reassembly for TCP, the pipeline itself for datagrams. Consumers:
// classify, the decoders, the endpoint cache, the tap. Any core; no state.
//
// A consumer reads through span_bytes() and span_length(): of a gap there are none, whatever its
// extent. The member behind them is for producers alone (tools/lint holds that): code that has not
// thought of gaps reads nothing, instead of address 0.
#ifndef SLUICE_SPAN_H
#define SLUICE_SPAN_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/fault.h"

// The two halves of a flow. c2s is what the initiator sends.
enum half {
	HALF_C2S = 0,
	HALF_S2C = 1,
};

enum {
	SPAN_GAP = 1 << 0,       // `extent` bytes were never seen; reported once
	SPAN_MIDSTREAM = 1 << 1, // offset 0 is not the first byte of the connection
	SPAN_DATAGRAM = 1 << 2,  // a whole UDP payload; offset64 counts bytes of earlier datagrams
	SPAN_FIN = 1 << 3,       // nothing follows in this half (extent may be 0)
	SPAN_MAY_ASK =
		1 << 4,    // a datagram whose first octets are those of one that asks for a name
	SPAN_CUT = 1 << 5, // a gap that is the end of a segment, which a capture has left out
};

struct span {
	uint64_t offset64;        // of the first byte, in this half
	const uint8_t *unchecked; // producers only; borrowed: valid during the call. NULL: not here
	uint32_t extent;          // octets of the stream, whether or not they can be read
	uint8_t half;             // enum half
	uint8_t flags;
};

static inline bool span_is_gap(const struct span *span)
{
	return span->flags & SPAN_GAP && !FAULT(GAP_READ);
}

// How much can be read: nothing of a gap, nor of bytes that still lie in their packet.
static inline uint32_t span_length(const struct span *span)
{
	return (span->unchecked || FAULT(GAP_READ)) && !span_is_gap(span) ? span->extent : 0;
}

// Where nothing is read by who keeps to a length of 0, and zeros by who does not.
static inline const uint8_t *span_nothing(void)
{
	static const uint8_t nothing[64];

	return nothing;
}

// What can be read, span_length() octets. To ask it of a gap is a defect of the caller, which the
// assertion shows; a build without assertions gets a place from which 64 zeros can be read.
static inline const uint8_t *span_bytes(const struct span *span)
{
	assert(!span_is_gap(span));
	return (span->unchecked || FAULT(GAP_READ)) && !span_is_gap(span) ? span->unchecked
									  : span_nothing();
}

#endif
