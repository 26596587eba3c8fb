// SPDX-License-Identifier: BSD-3-Clause
// Feeds the spans of a half to a decoder's functions.
#include "content/stream.h"

static enum content_fed take_all(struct content_stream *stream, const struct content_reader *reader,
	void *state, const struct span *span, struct content_turn *turn)
{
	uint32_t length = span_length(span);
	enum content_fed fed = CONTENT_FED;

	while (fed == CONTENT_FED && turn->taken < length) {
		uint32_t taken = 0;

		fed = reader->take(state, span->half & 1, turn, span_bytes(span) + turn->taken,
			length - turn->taken, &taken);
		turn->taken += taken;
		stream->at64 += taken;
	}
	return fed;
}

static enum content_fed lose(struct content_stream *stream, const struct content_reader *reader,
	void *state, const struct span *span, struct content_turn *turn, uint64_t length)
{
	enum content_fed fed = reader->lose(state, span->half & 1, turn, length);

	stream->at64 += length;
	return fed;
}

static enum content_fed feed(struct content_stream *stream, const struct content_reader *reader,
	void *state, const struct span *span, struct content_turn *turn)
{
	enum content_fed fed = CONTENT_FED;
	uint64_t at64 = span->offset64 + turn->taken;

	if (!stream->started) {
		stream->started = true;
		stream->joined = span->flags & SPAN_MIDSTREAM;
		stream->at64 = stream->joined ? span->offset64 : 0;
	}
	// what the producer left out without a word is a gap, too
	if (at64 > stream->at64)
		fed = lose(stream, reader, state, span, turn, at64 - stream->at64);
	if (fed == CONTENT_FED)
		fed = take_all(stream, reader, state, span, turn);
	if (fed == CONTENT_FED && turn->taken < span->extent) {
		uint32_t length = span->extent - turn->taken;

		turn->taken = span->extent;
		fed = lose(stream, reader, state, span, turn, length);
	}
	if (fed == CONTENT_FED && span->flags & SPAN_FIN && !stream->fin) {
		stream->fin = true;
		if (reader->fin)
			fed = reader->fin(state, span->half & 1, turn);
	}
	return fed;
}

enum content_fed content_stream_feed(struct content_stream halves[2],
	const struct content_reader *reader, void *state, const struct span *span,
	struct content_turn *turn)
{
	enum content_fed fed = feed(&halves[span->half & 1], reader, state, span, turn);

	if (fed == CONTENT_OVER)
		turn->taken = span->extent;
	return fed;
}
