// SPDX-License-Identifier: BSD-3-Clause
// Conversations for content decoders: what both ends send, in order, is fed in any pieces, with any
// budget, and with memory refused; what is told must not depend on it.
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "content/memory.h"
#include "lib/content/transcript.h"

struct said {
	uint8_t half;
	uint8_t flags; // of the span
	uint32_t length;
	const void *bytes; // none of a gap
};

#define SAID_C(text)                                 \
	{                                            \
		HALF_C2S, 0, sizeof(text) - 1, text, \
	}
#define SAID_S(text)                                 \
	{                                            \
		HALF_S2C, 0, sizeof(text) - 1, text, \
	}
// The first of a half that begins in the middle.
#define SAID_MIDSTREAM(half, text)                           \
	{                                                    \
		half, SPAN_MIDSTREAM, sizeof(text) - 1, text \
	}
#define SAID_GAP(half, length)               \
	{                                    \
		half, SPAN_GAP, length, NULL \
	}
#define SAID_FIN(half)                  \
	{                               \
		half, SPAN_FIN, 0, NULL \
	}

#define CONVERSATION_SAID 24

struct conversation {
	const char *name;
	struct said said[CONVERSATION_SAID]; // up to one without length and flags
	const char *expected;
};

struct feeding {
	uint32_t piece;   // bytes; 0: whole, or by chance
	uint32_t cut_at;  // ... and a cut there, counted over all that is said; 0: none
	uint32_t stop_at; // nothing is fed behind that; 0: all is
	uint64_t seed;    // 0: not by chance
	uint32_t budget;  // of a turn
	uint32_t refused; // the one that is refused of all blocks that are asked for, from 1; 0:
			  // none
	bool rest_again;  // what was not taken is fed as a span of its own
	enum content_want want;
};

// Ends the program where a rule is broken. Blocks that were asked for.
uint32_t conversation_feed(const struct content_decoder *decoder,
	const struct conversation *conversation, const struct feeding *feeding,
	struct transcript *transcript);

// Every way of feeding gives what is expected; cmocka's failures. SHOW=1: what each gives is
// printed instead. SEEDS=FOLDER: they are written there as seeds of tests/fuzz/fuzz_content_http.c.
void conversations_check(const struct content_decoder *decoder,
	const struct conversation *conversations, unsigned n);

#endif
