// SPDX-License-Identifier: BSD-3-Clause
// What the parts of the HTTP decoder share in one turn: where output goes, and how steps end.
#ifndef SLUICE_CONTENT_HTTP_TURN_H
#define SLUICE_CONTENT_HTTP_TURN_H

#include "content/content.h"

enum http_step {
	HTTP_ON,        // all input was taken, or what was asked is done
	HTTP_MORE,      // the budget of output ended
	HTTP_NO_MEMORY, // nothing is lost: ask again
	HTTP_OVER,      // the decoder gives up, or wants nothing more
	HTTP_LOST,      // no end of the message can be known: look for the next one
};

struct http_turn {
	struct content_turn *turn;
	uint32_t *files; // of the flow so far
	uint8_t half;
};

// Bytes of a half, and where they stand in it. In what a coding gave they stand all in one place.
struct http_input {
	const uint8_t *bytes;
	uint64_t at64;
	uint32_t length;
	bool coded;
};

static inline uint64_t http_place(const struct http_input *input, uint32_t i)
{
	return input->coded ? input->at64 : input->at64 + i;
}

static inline void http_note(const struct http_turn *turn, enum content_note note, uint64_t at64)
{
	const struct content_sink *sink = turn->turn->sink;

	sink->note(sink->ctx, note, turn->half, at64);
}

// Once for a message: `told` has a bit for each note.
static inline void http_note_once(
	const struct http_turn *turn, uint64_t *told, enum content_note note, uint64_t at64)
{
	if (!(*told & CONTENT_NOTE_BIT(note)))
		http_note(turn, note, at64);
	*told |= CONTENT_NOTE_BIT(note);
}

static inline void http_notes_once(
	const struct http_turn *turn, uint64_t *told, uint64_t notes, uint64_t at64)
{
	for (unsigned note = 0; notes >> note; note++)
		if (notes >> note & 1)
			http_note_once(turn, told, note, at64);
}

#endif
