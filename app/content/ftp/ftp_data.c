// SPDX-License-Identifier: BSD-3-Clause
// FTP's data connections: what an end sends up to its FIN is one file, as it is on the wire (TYPE A
// has CR LF there). What the announcement calls a listing is not told; what comes the other way is.
#include <assert.h>

#include "content/decoders.h"
#include "content/transfer.h"

struct ftp_data_half {
	struct content_raw raw;
	uint64_t at64;
	bool started;
	bool listing;
	bool lacks_begin; // the connection was joined
	bool over;
};

struct ftp_data {
	struct ftp_data_half halves[2];
	uint32_t files;
};
static_assert(sizeof(struct ftp_data) <= 1024, "a flow costs little");

static void start_half(struct ftp_data_half *half, const struct span *span)
{
	half->started = true;
	half->lacks_begin = span->flags & SPAN_MIDSTREAM;
	half->at64 = half->lacks_begin ? span->offset64 : 0;
}

// The first octet is here, or is lost: by now the announcement has said what it can say in time.
static void open_file(struct ftp_data *state, unsigned side, const struct content_turn *turn)
{
	struct ftp_data_half *half = &state->halves[side];
	const struct transfer_label *label = turn->announced;

	if (half->raw.id || half->listing || half->over)
		return;
	half->listing = content_announced_as(label, side, TRANSFER_LISTING);
	if (half->listing)
		return;
	struct content_file what = content_announced_file(label, side, !state->files);

	content_raw_open(&half->raw, turn, &what, &state->files, half->at64);
	half->raw.damaged = half->lacks_begin;
	if (label && label->coded)
		turn->sink->note(turn->sink->ctx, CONTENT_NOTE_CODING_UNKNOWN, side, half->at64);
}

static void lose(
	struct ftp_data *state, unsigned side, const struct content_turn *turn, uint64_t length)
{
	struct ftp_data_half *half = &state->halves[side];

	open_file(state, side, turn);
	content_raw_lose(&half->raw, length);
	half->at64 += length;
}

static void end_half(struct ftp_data_half *half, struct content_turn *turn, enum content_end end)
{
	content_raw_end(&half->raw, turn, end, half->at64);
	half->over = true;
}

// An empty file is one, where it was announced.
static void take_fin(struct ftp_data *state, unsigned side, struct content_turn *turn)
{
	if (content_announced_as(turn->announced, side, TRANSFER_FILE))
		open_file(state, side, turn);
	end_half(&state->halves[side], turn, CONTENT_END_CLOSED);
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct ftp_data *state = of;
	unsigned side = span->half & 1;
	struct ftp_data_half *half = &state->halves[side];
	uint32_t length = span_length(span);

	if (!half->started)
		start_half(half, span);
	// what the producer left out without a word is a gap, too
	if (span->offset64 + turn->taken > half->at64)
		lose(state, side, turn, span->offset64 + turn->taken - half->at64);
	if (length > turn->taken) {
		uint32_t n = length - turn->taken;

		open_file(state, side, turn);
		if (half->raw.id)
			n = content_raw_put(&half->raw, turn, span_bytes(span) + turn->taken, n);
		turn->taken += n;
		half->at64 += n;
		if (turn->taken < length)
			return CONTENT_MORE;
	} else if (turn->taken < span->extent) {
		lose(state, side, turn, span->extent - turn->taken);
		turn->taken = span->extent;
	}
	if (span->flags & SPAN_FIN && !half->over)
		take_fin(state, side, turn);
	return CONTENT_FED;
}

static void over(void *of, struct content_turn *turn)
{
	struct ftp_data *state = of;

	for (unsigned side = 0; side < 2; side++)
		end_half(&state->halves[side], turn, CONTENT_END_TRUNCATED);
}

const struct content_decoder content_ftp_data = {
	.app = "ftp-data",
	.state_bytes = sizeof(struct ftp_data),
	.finds = CONTENT_FINDS_FILES,
	.feed = feed,
	.over = over,
};
