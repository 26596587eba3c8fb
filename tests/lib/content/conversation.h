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
	// Nobody says these: what is known of the flow's announcement from here on, and, at first,
	// who it is between, if not 10.0.0.1:40000 and 10.0.0.2:2121.
	const struct transfer_label *announced;
	const struct flow_ends *ends;
	bool torrent; // nor this: an info dictionary that is learned elsewhere
	const struct endpoint_secret *secret; // nor this: what is known of the responder
};

#define SAID_BYTES(who, what, n, at)                                                  \
	{                                                                             \
		.half = (uint8_t)(who), .flags = (what), .length = (n), .bytes = (at) \
	}
#define SAID(who, what, text) SAID_BYTES(who, what, sizeof(text) - 1, text)
#define SAID_C(text)          SAID(HALF_C2S, 0, text)
#define SAID_S(text)          SAID(HALF_S2C, 0, text)
// Never cut.
#define SAID_DATAGRAM_C(text) SAID(HALF_C2S, SPAN_DATAGRAM, text)
#define SAID_DATAGRAM_S(text) SAID(HALF_S2C, SPAN_DATAGRAM, text)
// The first of a half that begins in the middle.
#define SAID_MIDSTREAM(who, text) SAID(who, SPAN_MIDSTREAM, text)
#define SAID_GAP(who, n)          SAID_BYTES(who, SPAN_GAP, n, NULL)
#define SAID_FIN(who)             SAID_BYTES(who, SPAN_FIN, 0, NULL)
#define SAID_ANNOUNCED(label)         \
	{                             \
		.announced = &(label) \
	}
#define SAID_BETWEEN(of)      \
	{                     \
		.ends = &(of) \
	}
#define SAID_TORRENT(info)                                                   \
	{                                                                    \
		.torrent = true, .length = sizeof(info) - 1, .bytes = (info) \
	}

#define SAID_SECRET(of)         \
	{                       \
		.secret = &(of) \
	}

#define CONVERSATION_SAID 24

struct conversation {
	const char *name;
	struct said said[CONVERSATION_SAID]; // up to one of which said_is_last() is true
	const char *expected;
};

static inline bool said_is_last(const struct conversation *conversation, const struct said *said)
{
	return said == conversation->said + CONVERSATION_SAID ||
	       !(said->length || said->flags || said->announced || said->ends || said->secret);
}

// Applications as the turn names them.
#define CONVERSATION_APP      7
#define CONVERSATION_DATA_APP 8 // of what is announced

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
// printed instead. SEEDS=FOLDER: they are written there as seeds of lib/content/records.h.
void conversations_check(const struct content_decoder *decoder,
	const struct conversation *conversations, unsigned n);

#endif
