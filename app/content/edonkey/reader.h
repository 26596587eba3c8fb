// SPDX-License-Identifier: BSD-3-Clause
// What the reader of a message does next: gathers a field, passes over something, takes a text.
#ifndef SLUICE_CONTENT_EDONKEY_READER_H
#define SLUICE_CONTENT_EDONKEY_READER_H

#include "content/edonkey/session.h"

// A field of so many bytes, at most ED2K_FIELD_BYTES, at least one.
static inline void ed2k_want(struct ed2k_reader *reader, enum ed2k_step step, uint32_t bytes)
{
	reader->step = (uint8_t)step;
	reader->want = bytes;
	reader->have = 0;
}

// Any number of bytes, then that.
static inline void ed2k_pass(struct ed2k_reader *reader, uint32_t bytes, enum ed2k_then then)
{
	reader->step = ED2K_STEP_SKIP;
	reader->left = bytes;
	reader->then = (uint8_t)then;
}

// A name or a nick of so many bytes.
static inline void ed2k_text(struct ed2k_reader *reader, enum ed2k_step step, uint32_t bytes)
{
	reader->step = (uint8_t)step;
	reader->left = bytes;
	reader->text_length = 0;
	reader->text_cut = bytes > CONTENT_NAME_BYTES;
}

static inline void ed2k_rest(struct ed2k_reader *reader)
{
	reader->step = ED2K_STEP_REST;
}

static inline uint64_t ed2k_le64(const uint8_t *at)
{
	uint64_t value = 0;

	for (unsigned i = 8; i > 0; i--)
		value = value << 8 | at[i - 1];
	return value;
}

#endif
