// SPDX-License-Identifier: BSD-3-Clause
// Unpacks a frame, and gives its message what comes of it.
#include "content/edonkey/packed.h"

#include "content/edonkey/message.h"
#include "content/memory.h"

#define OUT_BYTES 2000

struct ed2k_packed {
	struct coding *coding;
	uint32_t told;     // bytes of the message so far
	uint16_t from, to; // of `out`, which the message has not taken yet
	bool ahead;        // the frame's next byte has been given to the coding
	bool over;         // nothing more of the frame is looked at
	bool broken, bomb;
	uint8_t out[OUT_BYTES];
};

bool ed2k_packed_open(const struct ed2k_turn *to)
{
	struct content_memory *memory = to->turn->memory;
	struct ed2k_packed *packed = content_take(memory, sizeof(*packed));
	struct coding *coding = packed ? coding_open(memory, CODING_DEFLATE) : NULL;

	if (!coding) {
		content_give(memory, packed);
		return false;
	}
	packed->coding = coding;
	packed->told = packed->from = packed->to = 0;
	packed->ahead = packed->over = packed->broken = packed->bomb = false;
	to->half->packed = packed;
	return true;
}

static enum content_fed drain(struct ed2k_turn *to)
{
	struct ed2k_packed *packed = to->half->packed;
	uint32_t n = 0;
	enum content_fed fed = CONTENT_FED;

	if (packed->from < packed->to)
		fed = ed2k_message_take(
			to, packed->out + packed->from, packed->to - packed->from, &n);
	packed->from = (uint16_t)(packed->from + n);
	return fed;
}

// Into room that is empty. True: there may be more without any input.
static bool fill(const struct ed2k_turn *to, const uint8_t *bytes, uint32_t *in)
{
	struct ed2k_packed *packed = to->half->packed;
	uint32_t told = OUT_BYTES, left = ED2K_UNPACKED_MAX - packed->told;
	enum coding_state state = coding_feed(packed->coding, bytes, in, packed->out, &told, false);
	bool more = told == OUT_BYTES;

	packed->over = state != CODING_GOES_ON;
	packed->broken = state == CODING_BROKEN;
	packed->bomb = told > left;
	told = told < left ? told : left;
	packed->from = 0;
	packed->to = (uint16_t)told;
	packed->told += told;
	return more;
}

// What was unpacked has been told.
static bool is_over(const struct ed2k_turn *to)
{
	struct ed2k_packed *packed = to->half->packed;

	if (packed->bomb)
		ed2k_note(to, CONTENT_NOTE_BOMB);
	else if (packed->broken)
		ed2k_note(to, CONTENT_NOTE_CODING_LIES);
	packed->over |= packed->bomb;
	return packed->over;
}

enum content_fed ed2k_packed_take(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *used)
{
	struct ed2k_packed *packed = to->half->packed;
	bool more = packed->ahead;
	uint32_t given = more;

	for (;;) {
		enum content_fed fed = drain(to);

		if (fed != CONTENT_FED) { // the last byte is not taken before all of it is
			packed->ahead = given;
			*used += given ? given - 1 : 0;
			return fed;
		}
		if (is_over(to) || (!more && given == length))
			break;
		uint32_t in = length - given;

		more = fill(to, bytes + given, &in);
		given += in;
	}
	packed->ahead = false;
	*used += length;
	return CONTENT_FED;
}

// Who takes the frame takes it whole: what was read of one that is not may never count.
void ed2k_packed_close(const struct ed2k_turn *to, bool cut)
{
	struct ed2k_packed *packed = to->half->packed;

	if (!packed)
		return;
	if (!packed->over && !cut)
		ed2k_note(to, CONTENT_NOTE_CODING_LIES);
	coding_close(packed->coding);
	content_give(to->turn->memory, packed);
	to->half->packed = NULL;
}
