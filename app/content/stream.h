// SPDX-License-Identifier: BSD-3-Clause
// What decoders of connections share: spans of a half as its next bytes, with gaps that nobody
// announced, budgets and ends; bytes gathered over several spans. No state beside the caller's.
#ifndef SLUICE_CONTENT_STREAM_H
#define SLUICE_CONTENT_STREAM_H

#include <string.h>
#include "content/content.h"

// A half of the connection, zeroed at first.
struct content_stream {
	uint64_t at64; // offset in the half of the next byte
	bool started;
	bool joined; // its first byte is not the connection's
	bool fin;    // nothing follows
};

// Functions of a decoder. What they return: CONTENT_FED to go on, anything else ends the call of
// feed() with it. `stream` has moved behind what was taken, or lost, when they return.
struct content_reader {
	// The next bytes, at least one: adds to *taken how many are done with. With CONTENT_FED at
	// least one is.
	enum content_fed (*take)(void *state, unsigned half, struct content_turn *turn,
		const uint8_t *bytes, uint32_t length, uint32_t *taken);
	// So many bytes will never come.
	enum content_fed (*lose)(
		void *state, unsigned half, struct content_turn *turn, uint64_t length);
	// Nothing follows in this half; called once. NULL: that says nothing.
	enum content_fed (*fin)(void *state, unsigned half, struct content_turn *turn);
};

// The feed() of a decoder. `halves` are its two, inside `state`. Behind CONTENT_OVER the span is
// taken.
enum content_fed content_stream_feed(struct content_stream halves[2],
	const struct content_reader *reader, void *state, const struct span *span,
	struct content_turn *turn);

// Adds what is at hand to `kept` until it has `want` bytes. True: it has them.
static inline bool content_gather(uint8_t *kept, uint32_t *have, uint32_t want,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	uint32_t here = want > *have ? want - *have : 0;

	if (here > length)
		here = length;
	if (here)
		memcpy(kept + *have, bytes, here);
	*have += here;
	*taken += here;
	return *have >= want;
}

#endif
