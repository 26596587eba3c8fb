// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the decoder share: the state of a connection.
#ifndef SLUICE_CONTENT_GNUTELLA_SESSION_H
#define SLUICE_CONTENT_GNUTELLA_SESSION_H

#include "content/coding.h"
#include "content/http/reversed.h"
#include "content/stream.h"
#include "content/urn.h"

#define GNUTELLA_KEPT      4096u       // of a line, a query, or a record of a hit
#define GNUTELLA_OUT       4080u       // that is unpacked at a time
#define GNUTELLA_HEAD      23u         // GUID 16, type, TTL, hops, length u32 LE
#define GNUTELLA_BODY_MAX  (64u << 10) // servents close the connection at what is longer
#define GNUTELLA_BOMB_FROM (1u << 20)  // unpacked ...
#define GNUTELLA_BOMB      64u         // ... so many times what came

enum gnutella_phase {
	GNUTELLA_LINES,   // of the handshake
	GNUTELLA_CONFIRM, // of who has connected: the second part of it
	GNUTELLA_DESCRIPTORS,
	GNUTELLA_HTTP, // behind GIV, or GIVE
	GNUTELLA_LOST, // what can be read no more, or is nothing to be read
};

enum gnutella_part {
	GNUTELLA_PART_SKIPPED,
	GNUTELLA_PART_KEPT, // all of the body, as far as there is room
	GNUTELLA_PART_HIT,  // number of records, port, address, speed
	GNUTELLA_PART_RECORDS,
};

struct gnutella_unpacked {
	uint32_t from, to; // which was not read yet
	bool ahead;        // the next byte has been given to the coding
	bool over;
	uint8_t bytes[GNUTELLA_OUT];
};

struct gnutella_half {
	uint8_t *kept;                      // GNUTELLA_KEPT bytes
	struct gnutella_unpacked *unpacked; // NULL: it is not packed
	uint32_t length;
	uint32_t left;     // of the body
	uint64_t in, out;  // of the coding
	uint64_t begins64; // where descriptors do
	struct coding *coding;
	uint8_t phase;       // enum gnutella_phase
	uint8_t part;        // enum gnutella_part
	uint8_t head_length; // of `head`
	uint8_t records;     // that are to come
	bool encoded;        // Content-Encoding: deflate
	bool begun;          // descriptors have
	bool lines;          // one was read
	uint16_t name_ends;  // of a record, behind NUL; 0: not yet
	uint8_t head[GNUTELLA_HEAD];
};

struct gnutella_state {
	struct content_stream streams[2];
	struct gnutella_half halves[2];
	struct http_reversed *reversed; // NULL: nobody has said GIV
	uint32_t files;
	bool hands_over; // to HTTP, at what was not taken
	bool old;        // 0.4: its handshake is one line each
	bool over;
};

struct gnutella_turn {
	struct gnutella_state *state;
	struct content_turn *turn;
	unsigned half;
};

static inline struct gnutella_half *gnutella_half_of(const struct gnutella_turn *turn)
{
	return &turn->state->halves[turn->half];
}

static inline void gnutella_note(const struct gnutella_turn *turn, enum content_note note)
{
	const struct content_sink *sink = turn->turn->sink;

	sink->note(sink->ctx, note, turn->half, gnutella_half_of(turn)->begins64);
}

// A line of a handshake has ended.
void gnutella_line(const struct gnutella_turn *turn, struct content_text line);

// Descriptors, as they are or unpacked: how many bytes were taken. Fewer than `length`, of those
// that are unpacked, where the budget has ended; or nothing of the half is read any more.
uint32_t gnutella_descriptors(
	const struct gnutella_turn *turn, const uint8_t *bytes, uint32_t length);
// So many bytes of them will never come. How many of them were of the one at hand.
uint64_t gnutella_descriptors_lose(const struct gnutella_turn *turn, uint64_t length);
// What has come of one is forgotten: another begins.
void gnutella_descriptors_begin(struct gnutella_half *half);

// What stands between the NULs behind a name, or a query: URNs, and GGEP.
struct gnutella_extension {
	struct urn_ids ids;
	uint64_t size;
	bool has_size;
};
void gnutella_extension_read(struct content_text text, struct gnutella_extension *extension);

#endif
