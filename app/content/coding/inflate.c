// SPDX-License-Identifier: BSD-3-Clause
// The codings gzip and deflate, by zlib. Its inflate() cannot be asked again after it found no
// memory for the window, which is therefore taken before, and handed out when zlib asks for it.
#include "content/coding/codec.h"

#include <assert.h>
#include <string.h>

#include "content/coding/crc32.h"

#define ZLIB_CONST
#include <zlib.h>

#define WINDOW_BYTES (1u << MAX_WBITS)
#define GZIP_ONLY    (16 + MAX_WBITS) // as inflateInit2() is told
#define TRAILER      8                // of a member: its checksum, and its length modulo 2^32
#define AT_BLOCK     128              // z_stream.data_type: a block begins

struct inflater {
	z_stream stream;
	struct content_memory *memory;
	void *window; // NULL: zlib has it
	bool between; // gzip: a member ended, and no other began
	bool padded;  // ... and zeros follow, behind which none does
	bool headed;  // gzip: the member's header was read
	uint32_t crc; // ... of what it was told of the member, and how much that is
	uint32_t length;
	uint8_t taken[TRAILER]; // the last that it took
	uint8_t head[2];        // deflate: what tells whether there is a header
	uint8_t n_head;
};

static void *take(void *kept, unsigned items, unsigned bytes)
{
	struct inflater *inflater = kept;
	size_t wanted = (size_t)items * bytes;
	void *window = inflater->window;

	if (!window || wanted > WINDOW_BYTES)
		return content_take(inflater->memory, wanted);
	inflater->window = NULL;
	return window;
}

static void give(void *kept, void *block)
{
	struct inflater *inflater = kept;

	content_give(inflater->memory, block);
}

static void inflater_close(void *kept)
{
	struct inflater *inflater = kept;

	inflateEnd(&inflater->stream);
	content_give(inflater->memory, inflater->window);
}

static bool inflater_open(struct inflater *inflater, struct content_memory *memory, int window_bits)
{
	inflater->memory = memory;
	inflater->stream.zalloc = take;
	inflater->stream.zfree = give;
	inflater->stream.opaque = inflater;
	if (inflateInit2(&inflater->stream, window_bits) != Z_OK)
		return false;
	inflater->window = content_take(memory, WINDOW_BYTES);
	if (inflater->window)
		return true;
	inflater_close(inflater);
	return false;
}

static enum coding_state step(struct inflater *inflater, struct coding_io *io, int flush)
{
	z_stream *stream = &inflater->stream;

	stream->next_in = io->in;
	stream->avail_in = io->in_left;
	stream->next_out = io->out;
	stream->avail_out = io->out_left;
	int told = inflate(stream, flush);

	coding_io_move(io, io->in_left - stream->avail_in, io->out_left - stream->avail_out);
	if (told == Z_STREAM_END)
		return CODING_END;
	// Z_BUF_ERROR: neither input nor room; Z_NEED_DICT: nobody agreed upon one
	return told == Z_OK || told == Z_BUF_ERROR ? CODING_GOES_ON : CODING_BROKEN;
}

static bool open_gzip(void *kept, struct content_memory *memory)
{
	return inflater_open(kept, memory, GZIP_ONLY);
}

// Zeros that fill up a block behind the last member, as gzip(1) ignores them.
static void skip_padding(struct inflater *inflater, struct coding_io *io)
{
	while (io->in_left && !*io->in) {
		inflater->padded = true;
		coding_io_move(io, 1, 0);
	}
}

static void keep_taken(struct inflater *inflater, const uint8_t *in, size_t n)
{
	if (n < TRAILER) {
		memmove(inflater->taken, inflater->taken + n, TRAILER - n);
		memcpy(inflater->taken + TRAILER - n, in, n);
	} else {
		memcpy(inflater->taken, in + n - TRAILER, TRAILER);
	}
}

static uint32_t little_endian(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

static void begin_member(struct inflater *inflater)
{
	inflateReset(&inflater->stream);
	inflateValidate(&inflater->stream, 1);
	inflater->headed = inflater->between = false;
}

// zlib stops behind the header, which it checks; of the rest the checksum is ours, as its own costs
// a sixth of all instructions.
static enum coding_state step_header(struct inflater *inflater, struct coding_io *io)
{
	enum coding_state state = step(inflater, io, Z_BLOCK);

	if (state == CODING_GOES_ON && inflater->stream.data_type & AT_BLOCK) {
		inflateValidate(&inflater->stream, 0);
		inflater->headed = true;
		inflater->crc = inflater->length = 0;
	}
	return state;
}

static enum coding_state step_member(struct inflater *inflater, struct coding_io *io)
{
	const uint8_t *in = io->in, *out = io->out;
	enum coding_state state = step(inflater, io, Z_NO_FLUSH);
	size_t told = (size_t)(io->out - out);

	inflater->crc = coding_crc32(inflater->crc, out, told);
	inflater->length += (uint32_t)told;
	keep_taken(inflater, in, (size_t)(io->in - in));
	if (state == CODING_END && (little_endian(inflater->taken) != inflater->crc ||
					   little_endian(inflater->taken + 4) != inflater->length))
		return CODING_BROKEN;
	return state;
}

// RFC 1952 section 2.2: members one behind the other. Each takes its 18 bytes at least.
static enum coding_state feed_gzip(void *kept, struct coding_io *io)
{
	struct inflater *inflater = kept;

	for (;;) {
		if (inflater->between) {
			skip_padding(inflater, io);
			if (io->in_left && inflater->padded)
				return CODING_BROKEN;
			if (!io->in_left)
				return io->last ? CODING_END : CODING_GOES_ON;
			begin_member(inflater);
		}
		if (!inflater->headed) {
			enum coding_state state = step_header(inflater, io);

			if (!inflater->headed)
				return state;
		}
		enum coding_state state = step_member(inflater, io);

		if (state != CODING_END)
			return state;
		inflater->between = true;
	}
}

static bool open_deflate(void *kept, struct content_memory *memory)
{
	return inflater_open(kept, memory, MAX_WBITS);
}

// RFC 1950 section 2.2. Raw data that looks so would be a stored block behind bits that are not
// zero, which no compressor writes.
static bool has_header(const uint8_t *head)
{
	return (head[0] & 0x0f) == Z_DEFLATED && head[0] >> 4 <= MAX_WBITS - 8 &&
	       (head[0] << 8 | head[1]) % 31 == 0;
}

// The library takes both bytes, also without room: nothing that the first begins does without the
// second.
static enum coding_state begin_deflate(struct inflater *inflater)
{
	uint8_t nothing;
	struct coding_io head = {
		.in = inflater->head,
		.in_left = sizeof(inflater->head),
		.out = &nothing,
	};

	if (!has_header(inflater->head))
		inflateReset2(&inflater->stream, -MAX_WBITS);
	enum coding_state state = step(inflater, &head, Z_NO_FLUSH);

	assert(state == CODING_BROKEN || !head.in_left);
	return state;
}

static enum coding_state feed_deflate(void *kept, struct coding_io *io)
{
	struct inflater *inflater = kept;

	while (inflater->n_head < sizeof(inflater->head)) {
		if (!io->in_left)
			return CODING_GOES_ON;
		inflater->head[inflater->n_head++] = *io->in;
		coding_io_move(io, 1, 0);
		if (inflater->n_head == sizeof(inflater->head)) {
			enum coding_state state = begin_deflate(inflater);

			if (state != CODING_GOES_ON)
				return state;
		}
	}
	return step(inflater, io, Z_NO_FLUSH);
}

const struct codec codec_gzip = {sizeof(struct inflater), open_gzip, inflater_close, feed_gzip};
const struct codec codec_deflate = {
	sizeof(struct inflater), open_deflate, inflater_close, feed_deflate};
