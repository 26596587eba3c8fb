// SPDX-License-Identifier: BSD-3-Clause
// The coding br, by libbrotlidec, which takes memory as headers of its blocks ask for it, and ends
// for good where there is none.
#include "content/coding/codec.h"

#include <brotli/decode.h>

struct unbrotli {
	BrotliDecoderState *decoder;
	struct content_memory *memory;
	bool begun, starved;
};

static void *take(void *kept, size_t bytes)
{
	struct unbrotli *own = kept;
	void *block = content_take(own->memory, bytes);

	if (!block)
		own->starved = true;
	return block;
}

static void give(void *kept, void *block)
{
	struct unbrotli *own = kept;

	content_give(own->memory, block);
}

static bool unbrotli_open(void *kept, struct content_memory *memory)
{
	struct unbrotli *own = kept;

	own->memory = memory;
	own->decoder = BrotliDecoderCreateInstance(take, give, own);
	return own->decoder;
}

static void unbrotli_close(void *kept)
{
	struct unbrotli *own = kept;

	BrotliDecoderDestroyInstance(own->decoder);
}

// RFC 7932 section 9.1, WBITS: 0 is 16; 1 and three bits that are not 0 are 18 to 24. All others
// are less, or not allowed, which the library finds.
static unsigned window_log(uint8_t first)
{
	unsigned bits = first >> 1 & 7;

	return first & 1 && bits ? 17 + bits : 16;
}

static enum coding_state unbrotli_feed(void *kept, struct coding_io *io)
{
	struct unbrotli *own = kept;
	size_t in_left = io->in_left, out_left = io->out_left;
	const uint8_t *in = io->in;
	uint8_t *out = io->out;

	if (!own->begun) {
		if (!in_left)
			return CODING_GOES_ON;
		if (window_log(*in) > CODING_WINDOW_LOG_MAX)
			return CODING_BROKEN;
		own->begun = true;
	}
	BrotliDecoderResult told =
		BrotliDecoderDecompressStream(own->decoder, &in_left, &in, &out_left, &out, NULL);

	coding_io_move(io, io->in_left - in_left, io->out_left - out_left);
	if (told == BROTLI_DECODER_RESULT_SUCCESS)
		return CODING_END;
	if (told != BROTLI_DECODER_RESULT_ERROR)
		return CODING_GOES_ON;
	return own->starved ? CODING_STARVED : CODING_BROKEN;
}

const struct codec codec_br = {
	sizeof(struct unbrotli), unbrotli_open, unbrotli_close, unbrotli_feed};
