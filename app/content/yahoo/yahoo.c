// SPDX-License-Identifier: BSD-3-Clause
// The decoder of Yahoo! Messenger: packets of YMSG. A head: "YMSG", version u16, vendor u16, length
// of the body u16, service u16, status u32, session u32, big endian; the body. One that has text or
// names files is read when it is all here: in its span, or put together.
#include "content/yahoo/yahoo.h"

#include "content/decoders.h"
#include "content/memory.h"
#include "pipeline/vocab/octets.h"

void yahoo_note(const struct yahoo_turn *to, enum content_note note, uint64_t at64)
{
	const struct content_sink *sink = to->turn->sink;
	uint64_t *noted = &to->state->noted[to->side];

	if (!(*noted & CONTENT_NOTE_BIT(note)))
		sink->note(sink->ctx, note, to->side, at64);
	*noted |= CONTENT_NOTE_BIT(note);
}

static void end_body(const struct yahoo_turn *to)
{
	struct yahoo_half *half = to->half;

	content_give(to->turn->memory, half->kept);
	half->kept = NULL;
	half->have = half->left = half->n_head = 0;
	half->phase = YAHOO_HEAD;
}

static void begin_body(const struct yahoo_turn *to)
{
	struct yahoo_half *half = to->half;
	bool reads;

	half->left = octets_be16(half->head + 8);
	half->service = octets_be16(half->head + 10);
	reads = yahoo_is_read(half->service);
	if (reads && half->left > YMSG_BODY_BYTES) {
		yahoo_note(to, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		reads = false;
	}
	half->hunts = false;
	half->phase = reads ? YAHOO_BODY : YAHOO_SKIP;
	if (!half->left)
		end_body(to);
}

// Whether what is here of a head is the beginning of one.
static bool may_be(const struct yahoo_half *half)
{
	return !memcmp(half->head, "YMSG", half->n_head < 4 ? half->n_head : 4);
}

static void take_head(
	const struct yahoo_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct yahoo_half *half = to->half;

	while (*taken < length && half->n_head < YMSG_HEAD_BYTES) {
		if (!half->n_head)
			half->begin64 = yahoo_at64(to) + *taken;
		half->head[half->n_head++] = bytes[(*taken)++];
		if (may_be(half))
			continue;
		if (!half->hunts)
			yahoo_note(to, CONTENT_NOTE_BAD_LINE, half->begin64);
		half->hunts = true;
		while (half->n_head && !may_be(half)) {
			memmove(half->head, half->head + 1, --half->n_head);
			half->begin64++;
		}
	}
	if (half->n_head == YMSG_HEAD_BYTES)
		begin_body(to);
}

static enum content_fed take_body(
	const struct yahoo_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct yahoo_half *half = to->half;
	uint32_t here = length < half->left ? length : half->left;
	bool whole = here == half->left;
	struct content_text body = {bytes, here};

	if (half->have || !whole) {
		if (!half->kept)
			half->kept = content_take(to->turn->memory, YMSG_BODY_BYTES);
		if (!half->kept)
			return CONTENT_NO_MEMORY;
		memcpy(half->kept + half->have, bytes, here);
		body = (struct content_text){half->kept, half->have + here};
	}
	if (whole)
		yahoo_packet_take(to, half->service, body, yahoo_at64(to) - half->have);
	half->have += here;
	half->left -= here;
	*taken = here;
	if (whole)
		end_body(to);
	return CONTENT_FED;
}

static struct yahoo_turn turn_of(
	struct yahoo_state *state, unsigned side, struct content_turn *turn)
{
	return (struct yahoo_turn){
		.state = state, .half = &state->halves[side], .turn = turn, .side = (uint8_t)side};
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct yahoo_state *state = of;
	const struct yahoo_turn to = turn_of(state, side, turn);
	struct yahoo_half *half = to.half;

	if (!half->looked)
		half->hunts = state->streams[side].joined;
	half->looked = true;
	if (half->phase == YAHOO_BODY)
		return take_body(&to, bytes, length, taken);
	if (half->phase == YAHOO_HEAD) {
		take_head(&to, bytes, length, taken);
		return CONTENT_FED;
	}
	*taken = length < half->left ? length : half->left;
	half->left -= *taken;
	if (!half->left)
		end_body(&to);
	return CONTENT_FED;
}

// A packet that lacks something says nothing, but where it ends.
static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	const struct yahoo_turn to = turn_of(of, side, turn);
	struct yahoo_half *half = to.half;

	half->looked = true;
	if (half->phase != YAHOO_HEAD && length <= half->left) {
		half->phase = YAHOO_SKIP;
		half->left -= (uint32_t)length;
		if (!half->left)
			end_body(&to);
		return CONTENT_FED;
	}
	end_body(&to);
	half->hunts = true;
	return CONTENT_FED;
}

static void over(void *of, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		const struct yahoo_turn to = turn_of(of, side, turn);

		end_body(&to);
	}
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {.take = take, .lose = lose};
	struct yahoo_state *state = of;

	return content_stream_feed(state->streams, &reader, state, span, turn);
}

const struct content_decoder content_yahoo = {
	.app = "yahoo",
	.rides_http = true,
	.state_bytes = sizeof(struct yahoo_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT,
	.feed = feed,
	.over = over,
};
