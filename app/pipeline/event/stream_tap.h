// SPDX-License-Identifier: BSD-3-Clause
// Who sees every TCP stream as its consumers get it: the same spans, in the same order. Replay sets
// one before the first packet (lcore->tap); a gateway has none. While a tap is set, flows stay
// under inspection to their end, whatever the policy decides: a final flow's bytes are consumed by
// nobody. Called by the flow's lcore, in the middle of a stage: borrowed pointers hold during the
// call only.
#ifndef SLUICE_STREAM_TAP_H
#define SLUICE_STREAM_TAP_H

#include <stdint.h>
#include "pipeline/vocab/span.h"

struct lcore;

struct stream_tap {
	void *ctx;
	// A span, or a gap (SPAN_GAP), was consumed. Offsets of a half follow each other; one that
	// is 0 again says that the half began anew and what was reported of it is void (payload of
	// a SYN that the receiver did not take).
	void (*span)(void *ctx, const struct lcore *lcore, uint32_t ref, const struct span *span);
	// `bytes` of a segment had been taken before, `conflict` of them with another content.
	void (*overlap)(void *ctx, const struct lcore *lcore, uint32_t ref, unsigned half,
		uint32_t bytes, uint32_t conflict);
	// The flow is given back; whether it had spans is the tap's to know. Any protocol.
	void (*end)(void *ctx, const struct lcore *lcore, uint32_t ref);
};

#endif
