// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder of OSCAR (AIM, ICQ) share: the state of a flow and of its halves.
// Inside app/content/oscar. By AOL's OSCAR protocol pages of 2008 and the community's descriptions
// of ICBM, rendezvous and OFT.
#ifndef SLUICE_CONTENT_OSCAR_H
#define SLUICE_CONTENT_OSCAR_H

#include <assert.h>
#include "content/content.h"
#include "content/stream.h"
#include "content/transfer.h"

#define OSCAR_FRAME_BYTES 16384 // of one that is read; a message has at most 8,000
#define OSCAR_OFFERS      4     // of files that are remembered; the oldest is forgotten
#define OSCAR_NAME_BYTES  64    // of who is logged in, and of a room
#define OSCAR_TTL_S       120
#define OSCAR_PORT_MIN    1024

#define FLAP_BYTES 6
#define SNAC_BYTES 10
#define HUNT_BYTES 12 // by which a frame is known where one is looked for

#define OFT_LEAST 256 // bytes of a head
#define OFT_MOST  2048

// What follows in a half.
enum oscar_phase {
	OSCAR_FLAP,   // the head of a frame, and that of the SNAC in it
	OSCAR_SNAC,   // its body
	OSCAR_SKIP,   // the rest of a frame of no interest
	OSCAR_HUNT,   // a frame is looked for
	OSCAR_DIRECT, // the head of OFT, ODC, or of a proxy's frame
	OSCAR_BYTES,  // of a file
	OSCAR_TEXT,   // of a direct message
};

enum oscar_mode {
	OSCAR_NEW,
	OSCAR_TALK,
	OSCAR_PEER, // OFT, ODC
};

struct oscar_half {
	uint8_t *kept; // a body, or a head, that is not all here; NULL: nothing is
	uint64_t begin64;
	uint32_t have; // in `kept`
	uint32_t left; // of the frame, or message
	uint32_t want; // bytes of a head
	uint8_t phase; // enum oscar_phase
	uint8_t n_head;
	bool looked;
	uint8_t head[FLAP_BYTES + SNAC_BYTES];
	// OFT
	struct content_raw raw;
	uint64_t size, base;
	uint32_t ended; // files
	bool prompted;  // a file is named whose first byte has not come
	bool resumes;   // who receives has asked for the rest
};

struct oscar_offer {
	uint8_t cookie[8];
	struct transfer_label label;
	uint32_t item;
	uint8_t half; // whose sender has the files
	bool used;
};

struct oscar_offers {
	struct oscar_offer offers[OSCAR_OFFERS];
	uint8_t next;
};

struct oscar_state {
	struct content_stream streams[2];
	struct oscar_half halves[2];
	struct oscar_offers *offers;
	uint32_t files;
	uint64_t noted[2];
	uint8_t mode; // enum oscar_mode
	bool over;
	uint8_t own_length, room_length;
	uint8_t own[OSCAR_NAME_BYTES]; // who is logged in
	uint8_t room[OSCAR_NAME_BYTES];
};
static_assert(sizeof(struct oscar_state) <= 1024, "a connection that is idle costs little");

struct oscar_turn {
	struct oscar_state *state;
	struct oscar_half *half;
	struct content_turn *turn;
	uint8_t side;
};

static inline uint64_t oscar_at64(const struct oscar_turn *to)
{
	return to->state->streams[to->side].at64;
}

// Notes are told once of a half.
void oscar_note(const struct oscar_turn *to, enum content_note note, uint64_t at64);
bool oscar_need_kept(const struct oscar_turn *to, uint32_t bytes);
void oscar_drop_kept(const struct oscar_turn *to);

// Frames (flap.c).
enum content_fed oscar_flap_take(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
void oscar_flap_lose(const struct oscar_turn *to, uint64_t length);

// A SNAC whose body is here, at `body64` of the half (snac.c).
struct oscar_snac {
	struct content_text body;
	uint64_t body64;
	uint16_t family, subtype;
};
bool oscar_snac_is_read(uint16_t family, uint16_t subtype);
// False: no memory; nothing was told.
bool oscar_snac_take(const struct oscar_turn *to, const struct oscar_snac *snac);

// A text for people, which lies in the snac's body (text.c).
struct oscar_text {
	const struct oscar_snac *snac;
	struct content_text from, to;
	struct content_text bytes;
	uint16_t charset;
	bool pieces; // there is more than one of the message: `bytes` is put together
};
// Its bytes, those of UTF-16 as UTF-8, as many as there is room for.
uint32_t oscar_text_utf8(const struct oscar_text *text, uint8_t *out, uint32_t room);
void oscar_text_tell(const struct oscar_turn *to, const struct oscar_text *text);

// What a rendezvous proposes (rendezvous.c). `from`: who sends it. False: no memory.
bool oscar_rendezvous_take(const struct oscar_turn *to, const struct oscar_snac *snac,
	struct content_text value, struct content_text from, struct content_text peer);

// Connections between clients (oft.c).
enum content_fed oscar_peer_take(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken);
// How much of it is of no file: behind it nothing can be found.
uint64_t oscar_peer_lose(const struct oscar_turn *to, uint64_t length);
void oscar_peer_end(const struct oscar_turn *to);

#endif
