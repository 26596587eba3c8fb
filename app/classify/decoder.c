// SPDX-License-Identifier: BSD-3-Clause
// Feeds spans of a classified flow to its decoder, and splits them into lines.
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include "classify/states.h"

int decoder_feed(struct classifier *classifier, uint16_t app, const struct flow_ends *ends,
	const struct span *span, uint32_t *ref, const struct decoder_sink *sink)
{
	const struct app_proto *proto = app_get(app);
	struct state *state = state_at(classifier, *ref, STATE_DECODE);

	if (!proto)
		return 0;
	if (span->flags & SPAN_DATAGRAM && proto->decode_datagram)
		return proto->decode_datagram(span, ends, sink) ? 0 : DECODER_DONE;
	if (!proto->decode)
		return DECODER_DONE;
	if (!state) {
		state = state_take(classifier, STATE_DECODE, ref);
		if (!state)
			return -ENOBUFS;
		// the lines need no zeroing: their lengths say what is in them
		memset(&state->decoder, 0, offsetof(struct decoder_state, line));
	}
	proto->decode(&state->decoder, span, ends, sink);
	return state->decoder.done ? DECODER_DONE : 0;
}

static uint32_t without_cr(const uint8_t *bytes, uint32_t length)
{
	return length && bytes[length - 1] == '\r' ? length - 1 : length;
}

void decoder_lines(
	struct decoder_state *state, const struct span *span, decoder_line_fn *line, void *ctx)
{
	unsigned half = span->half & 1;

	if (span_is_gap(span)) {
		state->line_skip[half] = 1;
		state->line_length[half] = 0;
		return;
	}
	const uint8_t *at = span_bytes(span);
	uint32_t left = span_length(span);

	while (left) {
		const uint8_t *end = memchr(at, '\n', left);
		uint32_t here = end ? (uint32_t)(end - at) : left;
		uint32_t kept = state->line_length[half];

		if (kept + here > APP_LINE_BYTES)
			state->line_skip[half] = 1;
		if (!state->line_skip[half] && end && !kept) {
			line(ctx, half, at, without_cr(at, here));
		} else if (!state->line_skip[half]) {
			memcpy(state->line[half] + kept, at, here);
			state->line_length[half] = (uint16_t)(kept + here);
			if (end)
				line(ctx, half, state->line[half],
					without_cr(state->line[half], kept + here));
		}
		if (!end)
			return;
		state->line_length[half] = 0;
		state->line_skip[half] = 0;
		at = end + 1;
		left -= here + 1;
	}
}
