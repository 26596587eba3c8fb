// SPDX-License-Identifier: BSD-3-Clause
// How much a decoder tells in one call: of few bytes that unpack to much, no more than its budget
// allows.
#ifndef CONTENT_AT_ONCE_H
#define CONTENT_AT_ONCE_H

#include "lib/content/conversation.h"

struct at_once {
	unsigned most, all; // files and ids: of a call, of all
	unsigned now;
};

static inline enum content_want at_once_file(void *ctx, const struct content_file *file)
{
	struct at_once *told = ctx;

	(void)file;
	told->now++;
	return CONTENT_WANT_NAME;
}

static inline void at_once_id(void *ctx, const struct content_id *id, unsigned half)
{
	struct at_once *told = ctx;

	(void)id;
	(void)half;
	told->now++;
}

static inline void at_once_note(void *ctx, enum content_note note, unsigned half, uint64_t at64)
{
	(void)ctx;
	(void)note;
	(void)half;
	(void)at64;
}

// Of decoders that list files: nothing else is told. Feeds `n` of what is said, whole, with that
// budget.
static inline struct at_once at_once(
	const struct content_decoder *decoder, const struct said *said, unsigned n, uint32_t budget)
{
	struct content_memory *memory = content_memory_new(CONTENT_BLOCK_MAX, -1);
	void *state = content_take(memory, decoder->state_bytes);
	struct at_once told = {0};
	const struct content_sink sink = {
		.file = at_once_file, .id = at_once_id, .note = at_once_note, .ctx = &told};
	uint64_t at64[2] = {0};

	memset(state, 0, decoder->state_bytes);
	struct content_turn turn = {.sink = &sink, .memory = memory};

	for (unsigned i = 0; i < n; i++) {
		const struct span span = {.half = said[i].half,
			.unchecked = said[i].bytes,
			.offset64 = at64[said[i].half],
			.extent = said[i].length};
		enum content_fed fed = CONTENT_MORE;

		for (turn.taken = 0; fed == CONTENT_MORE;) {
			turn.output = budget;
			told.now = 0;
			fed = decoder->feed(state, &span, &turn);
			told.all += told.now;
			told.most = told.now > told.most ? told.now : told.most;
		}
		at64[said[i].half] += span.extent;
	}
	decoder->over(state, &turn);
	content_memory_free(memory);
	return told;
}

#endif
