// SPDX-License-Identifier: BSD-3-Clause
// The coding zstd, by libzstd. The header of a frame is collected here, and given to the library at
// once: so it can be given again after there was no memory for the window, and what zstd wrote
// before RFC 8878, which the library reads by means of malloc(), does not come to it.
#include "content/coding/codec.h"

#include <string.h>

// ZSTD_createDCtx_advanced(), ZSTD_getFrameHeader(): not of the stable interface, but exported
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#define BLOCK_HEADER 3 // bytes

enum stage {
	STAGE_HEAD,  // of a frame; between frames, where nothing of it came
	STAGE_FRAME, // blocks
	STAGE_SKIP,  // a skippable frame's content
};

struct unzstd {
	ZSTD_DCtx *context;
	struct content_memory *memory;
	enum stage stage;
	bool begun, starved;
	bool full;       // the library may hold what there was no room for
	size_t wanted;   // bytes to the end of a block, and mostly the header of the next
	uint64_t skip;   // what is left of a skippable frame
	uint32_t n_head; // kept until the library took it
	uint8_t head[ZSTD_FRAMEHEADERSIZE_MAX];
};

static void *take(void *kept, size_t bytes)
{
	struct unzstd *own = kept;
	void *block = content_take(own->memory, bytes);

	if (!block)
		own->starved = true;
	return block;
}

static void give(void *kept, void *block)
{
	struct unzstd *own = kept;

	content_give(own->memory, block);
}

static void unzstd_close(void *kept)
{
	struct unzstd *own = kept;

	ZSTD_freeDCtx(own->context);
}

static bool unzstd_open(void *kept, struct content_memory *memory)
{
	struct unzstd *own = kept;

	own->memory = memory;
	own->context = ZSTD_createDCtx_advanced((ZSTD_customMem){take, give, own});
	if (!own->context)
		return false;
	ZSTD_DCtx_setMaxWindowSize(own->context, (size_t)1 << CODING_WINDOW_LOG_MAX);
	return true;
}

// The library learns what the frame needs, and takes it.
static enum coding_state begin_frame(struct unzstd *own)
{
	ZSTD_inBuffer in = {own->head, own->n_head, 0};
	ZSTD_outBuffer out = {own->head, 0, 0};

	own->starved = false;
	size_t told = ZSTD_decompressStream(own->context, &out, &in);

	if (ZSTD_isError(told)) {
		ZSTD_DCtx_reset(own->context, ZSTD_reset_session_only);
		return own->starved ? CODING_STARVED : CODING_BROKEN;
	}
	own->wanted = told;
	own->full = false;
	own->n_head = 0;
	own->stage = STAGE_FRAME;
	return CODING_GOES_ON;
}

static enum coding_state step_head(struct unzstd *own, struct coding_io *io)
{
	ZSTD_frameHeader header;
	size_t wanted;

	if (!own->n_head && !io->in_left)
		return io->last && own->begun ? CODING_END : CODING_GOES_ON;
	while ((wanted = ZSTD_getFrameHeader(&header, own->head, own->n_head))) {
		if (ZSTD_isError(wanted) || wanted > sizeof(own->head))
			return CODING_BROKEN;
		if (!io->in_left)
			return CODING_GOES_ON;
		size_t n = wanted - own->n_head;

		if (n > io->in_left)
			n = io->in_left;
		memcpy(own->head + own->n_head, io->in, n);
		own->n_head += (uint32_t)n;
		coding_io_move(io, n, 0);
	}
	own->begun = true;
	if (header.frameType != ZSTD_skippableFrame)
		return begin_frame(own);
	own->skip = header.frameContentSize;
	own->n_head = 0;
	own->stage = STAGE_SKIP;
	return CODING_GOES_ON;
}

static void step_skip(struct unzstd *own, struct coding_io *io)
{
	uint64_t n = own->skip < io->in_left ? own->skip : io->in_left;

	own->skip -= n;
	coding_io_move(io, n, 0);
	if (!own->skip)
		own->stage = STAGE_HEAD;
}

// At most one block without the header of the next, and no input before there is room for what the
// library holds: where it ends by an error, nothing of that call is told. Never asked for nothing,
// which the library allows only so often.
static enum coding_state step_frame(struct unzstd *own, struct coding_io *io)
{
	size_t n = own->wanted > BLOCK_HEADER ? own->wanted - BLOCK_HEADER : own->wanted;

	if (n > io->in_left)
		n = io->in_left;
	ZSTD_inBuffer in = {io->in, own->full ? 0 : n, 0};
	ZSTD_outBuffer out = {io->out, io->out_left, 0};
	size_t told = ZSTD_decompressStream(own->context, &out, &in);

	if (ZSTD_isError(told))
		return CODING_BROKEN;
	own->wanted = told;
	own->full = out.pos == io->out_left;
	coding_io_move(io, in.pos, out.pos);
	if (!told)
		own->stage = STAGE_HEAD;
	return CODING_GOES_ON;
}

static enum coding_state unzstd_feed(void *kept, struct coding_io *io)
{
	struct unzstd *own = kept;

	for (;;) {
		enum coding_state state = CODING_GOES_ON;

		switch (own->stage) {
		case STAGE_HEAD:
			state = step_head(own, io);
			if (own->stage == STAGE_HEAD)
				return state;
			break;
		case STAGE_FRAME:
			if (own->full ? !io->out_left : !io->in_left)
				return CODING_GOES_ON;
			state = step_frame(own, io);
			break;
		case STAGE_SKIP:
			if (own->skip && !io->in_left)
				return CODING_GOES_ON;
			step_skip(own, io);
			break;
		}
		if (state != CODING_GOES_ON)
			return state;
	}
}

const struct codec codec_zstd = {sizeof(struct unzstd), unzstd_open, unzstd_close, unzstd_feed};
