// SPDX-License-Identifier: BSD-3-Clause
// FLAP: '*', a channel, a number, the length of what follows; on channel 2 a SNAC. What may have
// text or a file in it is read when it is all here: in its span, or put together.
#include "content/memory.h"
#include "content/oscar/oscar.h"
#include "content/oscar/tlv.h"

#define CHANNEL_SIGNON 1
#define CHANNEL_SNAC   2
#define CHANNEL_MAX    5

enum {
	TLV_SCREEN_NAME = 1,
};

static void end_frame(const struct oscar_turn *to)
{
	oscar_drop_kept(to);
	to->half->n_head = 0;
	to->half->left = 0;
	to->half->phase = OSCAR_FLAP;
}

static struct oscar_snac snac_of(const struct oscar_half *half)
{
	const uint8_t *head = half->head;

	if (head[1] == CHANNEL_SIGNON) // as if it was one, of no family
		return (struct oscar_snac){0};
	return (struct oscar_snac){.family = octets_be16(head + FLAP_BYTES),
		.subtype = octets_be16(head + FLAP_BYTES + 2)};
}

// The head of a frame, and of its SNAC, is here: what of the rest is read.
static void begin_body(const struct oscar_turn *to)
{
	struct oscar_half *half = to->half;
	struct oscar_snac snac = snac_of(half);
	bool reads = half->head[1] == CHANNEL_SIGNON ||
		     (half->head[1] == CHANNEL_SNAC && half->n_head == FLAP_BYTES + SNAC_BYTES &&
			     oscar_snac_is_read(snac.family, snac.subtype));

	if (reads && half->left > OSCAR_FRAME_BYTES) {
		oscar_note(to, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		reads = false;
	}
	half->have = 0;
	half->phase = reads ? OSCAR_SNAC : OSCAR_SKIP;
	if (!half->left)
		end_frame(to);
}

static void begin_hunt(const struct oscar_turn *to)
{
	to->half->phase = OSCAR_HUNT;
	oscar_drop_kept(to);
}

static void take_head(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;
	uint32_t have = half->n_head, want = FLAP_BYTES;

	if (!have)
		half->begin64 = oscar_at64(to);
	if (have >= FLAP_BYTES)
		want += half->left < SNAC_BYTES ? half->left : SNAC_BYTES;
	bool whole = content_gather(half->head, &have, want, bytes, length, taken);

	half->n_head = (uint8_t)have;
	if (half->head[0] != '*' || (have > 1 && (!half->head[1] || half->head[1] > CHANNEL_MAX))) {
		oscar_note(to, CONTENT_NOTE_BAD_LINE, half->begin64);
		begin_hunt(to);
		return;
	}
	if (!whole)
		return;
	if (want == FLAP_BYTES) {
		half->left = octets_be16(half->head + 4);
		if (half->head[1] == CHANNEL_SNAC && half->left)
			return;
	} else {
		half->left -= want - FLAP_BYTES;
	}
	begin_body(to);
}

// A byte more of what may be the head of a frame with a SNAC, as far as it is here.
static bool may_be(const struct oscar_half *half)
{
	static const struct {
		uint8_t at, least, most;
	} bounds[] = {{0, '*', '*'}, {1, CHANNEL_SNAC, CHANNEL_SNAC}, {6, 0, 0}, {7, 1, 0x30},
		{8, 0, 0}, {9, 1, 0x60}};

	for (unsigned i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		if (half->n_head > bounds[i].at &&
			(half->head[bounds[i].at] < bounds[i].least ||
				half->head[bounds[i].at] > bounds[i].most))
			return false;
	return half->n_head < FLAP_BYTES || octets_be16(half->head + 4) >= SNAC_BYTES;
}

static void hunt(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;

	while (*taken < length && half->n_head < HUNT_BYTES) {
		half->head[half->n_head++] = bytes[(*taken)++];
		while (half->n_head && !may_be(half))
			memmove(half->head, half->head + 1, --half->n_head);
	}
	if (half->n_head < HUNT_BYTES)
		return;
	half->begin64 = oscar_at64(to) + *taken - HUNT_BYTES;
	half->left = octets_be16(half->head + 4);
	half->phase = OSCAR_FLAP;
}

// What a sign-on says of who signs on: ICQ's does.
static void take_signon(const struct oscar_turn *to, struct content_text body)
{
	struct oscar_state *state = to->state;
	struct content_text name = oscar_tlv_find(http_text_from(body, 4), TLV_SCREEN_NAME);

	if (to->side != HALF_C2S || !name.length || name.length > OSCAR_NAME_BYTES)
		return;
	memcpy(state->own, name.bytes, name.length);
	state->own_length = (uint8_t)name.length;
}

// False: no memory.
static bool take_body(const struct oscar_turn *to, struct content_text body, uint64_t body64)
{
	struct oscar_snac snac = snac_of(to->half);

	snac.body = body;
	snac.body64 = body64;
	if (!snac.family) {
		take_signon(to, body);
		return true;
	}
	// something stands before the fields
	if (to->half->head[FLAP_BYTES + 4] & 0x80 && body.length >= 2) {
		uint32_t skips = 2u + octets_be16(body.bytes);

		snac.body = http_text_from(body, skips);
		snac.body64 += skips < body.length ? skips : body.length;
	}
	return oscar_snac_take(to, &snac);
}

static enum content_fed take_snac(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;
	uint32_t here = length < half->left ? length : half->left;
	bool whole = here == half->left;
	struct content_text body = {bytes, here};

	if (half->have || !whole) {
		if (!oscar_need_kept(to, OSCAR_FRAME_BYTES))
			return CONTENT_NO_MEMORY;
		memcpy(half->kept + half->have, bytes, here);
		body = (struct content_text){half->kept, half->have + here};
	}
	if (whole && !take_body(to, body, oscar_at64(to) - half->have))
		return CONTENT_NO_MEMORY;
	half->have += here;
	half->left -= here;
	*taken = here;
	if (whole)
		end_frame(to);
	return CONTENT_FED;
}

enum content_fed oscar_flap_take(
	const struct oscar_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct oscar_half *half = to->half;

	switch (half->phase) {
	case OSCAR_FLAP: take_head(to, bytes, length, taken); return CONTENT_FED;
	case OSCAR_SNAC: return take_snac(to, bytes, length, taken);
	case OSCAR_HUNT: hunt(to, bytes, length, taken); return CONTENT_FED;
	default: break;
	}
	*taken = length < half->left ? length : half->left;
	half->left -= *taken;
	if (!half->left)
		end_frame(to);
	return CONTENT_FED;
}

// A frame that lacks something says nothing, but where it ends.
void oscar_flap_lose(const struct oscar_turn *to, uint64_t length)
{
	struct oscar_half *half = to->half;
	bool in_body = half->phase == OSCAR_SNAC || half->phase == OSCAR_SKIP;

	if (in_body && length <= half->left) {
		half->phase = OSCAR_SKIP;
		half->left -= (uint32_t)length;
		if (!half->left)
			end_frame(to);
		return;
	}
	half->n_head = 0;
	begin_hunt(to);
}
