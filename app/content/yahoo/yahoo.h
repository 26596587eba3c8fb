// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder of Yahoo! Messenger share. Inside app/content/yahoo. By libyahoo2's
// and the community's descriptions of YMSG 9 to 16.
#ifndef SLUICE_CONTENT_YAHOO_H
#define SLUICE_CONTENT_YAHOO_H

#include <assert.h>
#include "content/content.h"
#include "content/stream.h"
#include "content/transfer.h"

#define YMSG_HEAD_BYTES 20
#define YMSG_BODY_BYTES 16384 // of one packet that is read; a message has at most 2 KiB

enum yahoo_phase {
	YAHOO_HEAD,
	YAHOO_BODY,
	YAHOO_SKIP, // a body of no interest
};

struct yahoo_half {
	uint8_t *kept; // a body that is not all here; NULL: nothing is
	uint64_t begin64;
	uint32_t have; // in `kept`
	uint32_t left; // of the body
	uint32_t n_head;
	uint16_t service;
	uint8_t phase; // enum yahoo_phase
	bool hunts;    // for a head
	bool looked;
	uint8_t head[YMSG_HEAD_BYTES];
};

struct yahoo_state {
	struct content_stream streams[2];
	struct yahoo_half halves[2];
	uint32_t files;
	uint64_t noted[2];
};
static_assert(sizeof(struct yahoo_state) <= 512, "a connection that is idle costs little");

struct yahoo_turn {
	struct yahoo_state *state;
	struct yahoo_half *half;
	struct content_turn *turn;
	uint8_t side;
};

static inline uint64_t yahoo_at64(const struct yahoo_turn *to)
{
	return to->state->streams[to->side].at64;
}

// Notes are told once of a half.
void yahoo_note(const struct yahoo_turn *to, enum content_note note, uint64_t at64);

// Whether a packet of that service has text, or names files (packet.c).
bool yahoo_is_read(uint16_t service);
// A body that is here, at `body64` of the half.
void yahoo_packet_take(
	const struct yahoo_turn *to, uint16_t service, struct content_text body, uint64_t body64);

#endif
