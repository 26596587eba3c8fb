// SPDX-License-Identifier: BSD-3-Clause
// Inside app/content: what one kind of coding does for coding.c, and what it is given.
#ifndef SLUICE_CONTENT_CODING_CODEC_H
#define SLUICE_CONTENT_CODING_CODEC_H

#include <stddef.h>
#include "content/coding.h"

// What is left of a call's input and room; a codec moves on in both. Neither pointer is NULL.
struct coding_io {
	const uint8_t *in;
	uint8_t *out;
	uint32_t in_left, out_left;
	bool last; // no input will follow
};

static inline void coding_io_move(struct coding_io *io, size_t taken, size_t told)
{
	io->in += taken;
	io->in_left -= (uint32_t)taken;
	io->out += told;
	io->out_left -= (uint32_t)told;
}

struct codec {
	size_t bytes; // of what it keeps, which does not move, and is zero at first
	bool (*open)(
		void *kept, struct content_memory *memory); // false: no memory, all is given back
	void (*close)(void *kept);
	// Asked again after CODING_GOES_ON and CODING_STARVED alone. CODING_GOES_ON where input is
	// missing: that there will be none is for the caller to judge.
	enum coding_state (*feed)(void *kept, struct coding_io *io);
};

extern const struct codec codec_gzip, codec_deflate, codec_br, codec_zstd;

#endif
