// SPDX-License-Identifier: BSD-3-Clause
// The world around a gateway that reassembles: both ends as any TCP receiver may be, and the law.
//
// Each end assembles what leaves the gateway, as one that keeps the first bytes and as one that
// keeps the last ones, behind a path that loses and delays. What either delivers must have been
// inspected before, and be the same bytes; what was inspected is, byte for byte, what the gateway
// took first. Nothing here looks into the gateway: it has frames, spans and a ledger.
#ifndef SLUICE_MODEL_STREAM_WORLD_H
#define SLUICE_MODEL_STREAM_WORLD_H

#include "stream_schedule.h"

struct stream_ledger { // since the gateway was made
	uint64_t dropped, consumed, held, injected;
};

// The gateway under test. `packet` and `time` tell the world what leaves (stream_world_frame) and
// what is inspected (stream_world_span) before they return.
struct stream_gateway {
	void *ctx;
	bool (*begin)(void *ctx, const struct stream_schedule *schedule, uint32_t client);
	void (*packet)(void *ctx, const uint8_t *frame, unsigned length, unsigned half, bool split);
	void (*time)(void *ctx, unsigned ms);
	void (*reload)(void *ctx);
	// All connections end. NULL: everything is back; else what is not.
	const char *(*end)(void *ctx);
	struct stream_ledger (*ledger)(void *ctx);
};

struct stream_tally { // what the schedules came to; added to by each run
	uint64_t packets, delivered, inspected, rewritten, held, dropped, gaps, injected, settled,
		edited;
};

// NULL: all as the law wants it; else what was not, in a buffer that the next call overwrites.
const char *stream_world_run(const struct stream_gateway *gateway,
	const struct stream_schedule *schedule, struct stream_tally *tally);

// Tells on stderr what leaves and what is inspected, from now on.
void stream_world_tell(bool on);

// For the gateway's hooks, during `packet`, `time` and `end`. Frames are the gateway's until then.
void stream_world_frame(unsigned from_half, const uint8_t *frame, unsigned length);
void stream_world_span(
	unsigned half, uint64_t offset64, const uint8_t *bytes, uint32_t length, bool gap);
// The gateway says that these bytes, which it was told of before, leave as `fill` alone.
void stream_world_edit(unsigned half, uint64_t offset64, uint32_t length, uint8_t fill);
// The connection is forgotten, as its time is over: what comes now begins another.
void stream_world_gone(void);

#endif
