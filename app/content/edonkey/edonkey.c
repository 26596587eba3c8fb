// SPDX-License-Identifier: BSD-3-Clause
// The decoder of eDonkey and eMule over TCP: takes each half apart into frames, over gaps, and
// gives each frame's message its bytes.
//
// Between clients and with servers the same frames are used, and no opcode that is read here means
// two things. A frame whose length is beyond what clients take ends the half for its receiver, as
// does a first octet of no protocol.
#include <assert.h>

#include "content/decoders.h"
#include "content/edonkey/cloak.h"
#include "content/edonkey/hashes.h"
#include "content/edonkey/known.h"
#include "content/edonkey/message.h"
#include "content/edonkey/packed.h"
#include "content/edonkey/reader.h"
#include "content/edonkey/transfer.h"
#include "pipeline/vocab/octets.h"

static_assert(sizeof(struct ed2k_session) <= 2048, "a connection that is idle costs little");

void ed2k_note(const struct ed2k_turn *to, enum content_note note)
{
	const struct content_sink *sink = to->turn->sink;
	uint64_t bit = CONTENT_NOTE_BIT(note);

	if (!(to->half->noted & bit))
		sink->note(sink->ctx, note, to->side, to->half->frame64);
	to->half->noted |= bit;
}

void ed2k_id(const struct ed2k_turn *to, const uint8_t *hash)
{
	const struct content_sink *sink = to->turn->sink;
	const struct content_id id = content_id_of(CONTENT_ID_ED2K, hash);
	struct ed2k_half *half = to->half;
	unsigned n = half->n_recent;

	for (unsigned i = 0; i < n; i++)
		if (!memcmp(half->recent[i], hash, EDONKEY_HASH))
			return;
	if (n == ED2K_RECENT)
		memmove(half->recent[0], half->recent[1], (ED2K_RECENT - 1) * EDONKEY_HASH);
	else
		half->n_recent = (uint8_t)++n;
	memcpy(half->recent[n - 1], hash, EDONKEY_HASH);
	sink->id(sink->ctx, &id, to->side);
}

static bool is_proto(uint8_t octet)
{
	return octet == EDONKEY_ED2K || octet == EDONKEY_EMULE || octet == EDONKEY_PACKED;
}

static struct ed2k_turn turn_of(
	struct ed2k_session *session, unsigned side, struct content_turn *turn, uint32_t taken)
{
	struct ed2k_half *half = &session->halves[side];

	return (struct ed2k_turn){
		.session = session,
		.half = half,
		.turn = turn,
		.at64 = half->packed ? half->frame64 : session->streams[side].at64 + taken,
		.rest = half->packed ? ED2K_REST_UNKNOWN : half->left,
		.side = side,
		.plain = !half->packed,
		.clear = !half->packed && !session->cloak,
	};
}

// What is inside of a compressed frame is eMule's, and with servers eDonkey's, which bring no
// parts.
static const struct ed2k_row *row_at(const uint8_t *head)
{
	const struct ed2k_row *row =
		ed2k_row_of(head[0] == EDONKEY_ED2K ? EDONKEY_ED2K : EDONKEY_EMULE, head[5]);

	if (row || head[0] != EDONKEY_PACKED)
		return row;
	row = ed2k_row_of(EDONKEY_ED2K, head[5]);
	return row && row->what != ED2K_WHAT_PART ? row : NULL;
}

static void end_frame(const struct ed2k_turn *to, bool cut)
{
	struct ed2k_half *half = to->half;

	ed2k_message_end(to);
	ed2k_packed_close(to, cut);
	half->mode = ED2K_HEAD;
	half->left = half->head_length = 0;
	if (half->transfer.closing)
		ed2k_transfer_end(to, to->side, true);
}

// What cannot be a frame. Nobody goes on behind it; where we may be wrong ourselves, we look for
// one.
static void stop(const struct ed2k_turn *to)
{
	struct ed2k_half *half = to->half;

	half->mode = half->unsure ? ED2K_SEARCH : ED2K_DEAF;
	if (half->unsure)
		return;
	ed2k_note(to, CONTENT_NOTE_BAD_LENGTH);
	ed2k_transfer_end(to, to->side, false);
}

// The head of a frame is here.
static void begin_frame(const struct ed2k_turn *to)
{
	struct ed2k_half *half = to->half;
	uint32_t length = octets_le32(half->head + 1);
	const struct ed2k_row *row = row_at(half->head);

	if (!is_proto(half->head[0]) || !length || length > EDONKEY_FRAME_MAX ||
		(half->unsure && (!row || row->fixed > length - 1))) {
		stop(to);
		return;
	}
	half->left = length - 1;
	half->mode = ED2K_BODY;
	ed2k_message_begin(to, row);
	if (!half->left)
		end_frame(to, false);
}

// A connection whose first octet is no protocol's is disguised.
static enum content_fed take_disguise(const struct ed2k_turn *to)
{
	ed2k_note(to, CONTENT_NOTE_OPAQUE_ENCRYPTED);
	return CONTENT_OVER;
}

static enum content_fed take_head(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct ed2k_half *half = to->half;
	uint32_t used = 0;
	bool whole;

	if (!half->head_length) {
		half->frame64 = to->at64;
		if (!to->at64 && !is_proto(bytes[0]) && !half->unsure)
			return take_disguise(to);
	}
	whole = content_gather(
		half->head, &half->head_length, EDONKEY_FRAME_HEADER, bytes, length, &used);
	*taken += used;
	to->at64 += used;
	if (whole)
		begin_frame(to);
	return CONTENT_FED;
}

static enum content_fed take_body(struct ed2k_session *session, unsigned side,
	struct content_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct ed2k_half *half = &session->halves[side];
	uint32_t here = length < half->left ? length : half->left, used = 0;
	enum content_fed fed;

	if (half->head[0] == EDONKEY_PACKED && half->reader.row && !half->packed) {
		const struct ed2k_turn to = turn_of(session, side, turn, *taken);

		if (!ed2k_packed_open(&to))
			return CONTENT_NO_MEMORY;
	}
	struct ed2k_turn to = turn_of(session, side, turn, *taken);

	fed = half->packed ? ed2k_packed_take(&to, bytes, here, &used)
			   : ed2k_message_take(&to, bytes, here, &used);
	*taken += used;
	half->left -= used;
	if (fed == CONTENT_FED && !half->left)
		end_frame(&to, false);
	return fed;
}

// ---- where a frame begins is not known ----

// A part whose length is the one that its range has, or a block that it may have: by chance one
// of some billions of places looks so.
static bool brings_part(const uint8_t *head)
{
	const struct ed2k_row *row = ed2k_row_of(head[0], head[5]);
	const uint8_t *range = head + EDONKEY_FRAME_HEADER + EDONKEY_HASH;
	const uint8_t *behind = range + (row->wide ? 8 : 4);
	uint64_t start = row->wide ? ed2k_le64(range) : octets_le32(range), end = start;
	uint32_t length = octets_le32(head + 1);

	if (start >> EDONKEY_SIZE_BITS || length > EDONKEY_FRAME_MAX || length <= row->fixed + 1u)
		return false;
	length -= row->fixed + 1u;
	if (row->what == ED2K_WHAT_BLOCK)
		return length <= octets_le32(behind) && octets_le32(behind) <= EDONKEY_BLOCK_MAX;
	end = row->wide ? ed2k_le64(behind) : octets_le32(behind);
	return end > start && end - start == length;
}

static uint32_t until_proto(const uint8_t *bytes, uint32_t from, uint32_t length)
{
	while (from < length && !is_proto(bytes[from]))
		from++;
	return from;
}

// Bytes of a frame up to a part's first; 0: it brings none.
static uint32_t window_of(const uint8_t *head)
{
	const struct ed2k_row *row = ed2k_row_of(head[0], head[5]);

	return row && (row->what == ED2K_WHAT_PART || row->what == ED2K_WHAT_BLOCK)
		       ? EDONKEY_FRAME_HEADER + row->fixed
		       : 0;
}

// The window has a frame up to its part.
static void take_found(struct ed2k_turn *to)
{
	struct ed2k_half *half = to->half;
	uint32_t used = 0, field = half->head_length - EDONKEY_FRAME_HEADER;

	half->frame64 = to->at64 - half->head_length;
	to->at64 -= field;
	begin_frame(to);
	to->rest = half->left;
	ed2k_message_take(to, half->head + EDONKEY_FRAME_HEADER, field, &used);
	half->left -= used;
}

// A frame that brings a part, or a place where one may begin.
static enum content_fed search(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct ed2k_half *half = to->half;
	uint32_t used = until_proto(bytes, 0, half->head_length ? 0 : length);
	uint32_t want = EDONKEY_FRAME_HEADER;

	if (half->head_length >= EDONKEY_FRAME_HEADER)
		want = window_of(half->head);
	bool whole = want && content_gather(half->head, &half->head_length, want, bytes + used,
				     length - used, &used);

	*taken += used;
	to->at64 += used;
	if (want && (!whole || want == EDONKEY_FRAME_HEADER))
		return CONTENT_FED;
	if (want && brings_part(half->head)) {
		take_found(to);
		return CONTENT_FED;
	}
	uint32_t from = until_proto(half->head, 1, half->head_length);

	half->head_length -= from;
	memmove(half->head, half->head + from, half->head_length);
	return CONTENT_FED;
}

static enum content_fed search_on(
	struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	enum content_fed fed = CONTENT_FED;

	while (fed == CONTENT_FED && *taken < length && to->half->mode == ED2K_SEARCH)
		fed = search(to, bytes + *taken, length - *taken, taken);
	return fed;
}

// ---- halves ----

static enum content_fed take_clear(struct ed2k_session *session, unsigned side,
	struct content_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct ed2k_turn to = turn_of(session, side, turn, 0);

	switch (to.half->mode) {
	case ED2K_BODY: return take_body(session, side, turn, bytes, length, taken);
	case ED2K_SEARCH: return search_on(&to, bytes, length, taken);
	case ED2K_DEAF: *taken = length; return CONTENT_FED;
	default: return take_head(&to, bytes, length, taken);
	}
}

static enum content_fed take_cloaked(
	const struct ed2k_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	uint8_t out[ED2K_CLOAK_STEP];
	uint32_t n = 0, used = 0;

	switch (ed2k_cloak_next(to, bytes, length, taken, out, &n)) {
	case ED2K_CLOAK_HEAD: return CONTENT_FED;
	case ED2K_CLOAK_OTHER: return take_disguise(to);
	default: break;
	}
	enum content_fed fed = take_clear(to->session, to->side, to->turn, out, n, &used);

	ed2k_cloak_took(to, used);
	*taken += used;
	return fed;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct ed2k_session *session = of;
	struct ed2k_half *half = &session->halves[side];
	const struct ed2k_turn to = turn_of(session, side, turn, 0);
	const struct endpoint_secret *secret = turn->secret;

	half->unsure |= session->streams[side].joined;
	if (side == HALF_C2S && !to.at64 && !half->unsure && !is_proto(bytes[0]) && secret &&
		secret->has_user && !ed2k_cloak_open(&to, secret))
		return CONTENT_NO_MEMORY;
	half->heard = true;
	if (session->cloak)
		return take_cloaked(&to, bytes, length, taken);
	return take_clear(session, side, turn, bytes, length, taken);
}

// Bytes of a message, or of a frame that cannot be unpacked without them.
static void lose_body(const struct ed2k_turn *to, uint32_t length)
{
	struct ed2k_half *half = to->half;

	if (half->packed) {
		ed2k_message_end(to);
		ed2k_packed_close(to, true);
		half->reader.row = NULL;
	} else {
		ed2k_message_lose(to, length);
	}
	half->left -= length;
	if (!half->left)
		end_frame(to, true);
}

static void end_half(struct ed2k_session *session, unsigned side, struct content_turn *turn)
{
	const struct ed2k_turn to = turn_of(session, side, turn, 0);
	struct ed2k_half *half = to.half;

	if (half->mode == ED2K_BODY) {
		half->transfer.damaged = true;
		if (half->transfer.ends64 > to.at64)
			half->transfer.ends64 = to.at64;
	}
	end_frame(&to, true);
	ed2k_transfer_end(&to, side, false);
	ed2k_hashes_give(&to);
	half->mode = ED2K_DEAF;
}

// Behind what is lost a frame may begin, or we are amid one.
static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct ed2k_session *session = of;
	struct ed2k_half *half = &session->halves[side];
	const struct ed2k_turn to = turn_of(session, side, turn, 0);

	if (half->mode == ED2K_DEAF)
		return CONTENT_FED;
	if (session->cloak && !ed2k_cloak_lose(&to, length)) {
		ed2k_note(&to, CONTENT_NOTE_LOST);
		end_half(session, side, turn);
		return CONTENT_FED;
	}
	if (half->mode == ED2K_BODY && length <= half->left) {
		lose_body(&to, (uint32_t)length);
		return CONTENT_FED;
	}
	if (half->mode == ED2K_BODY)
		ed2k_message_lose(&to, half->left);
	half->transfer.damaged = half->transfer.id;
	end_frame(&to, true);
	half->unsure = true;
	if (half->heard)
		ed2k_note(&to, CONTENT_NOTE_LOST);
	return CONTENT_FED;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	end_half(of, side, turn);
	return CONTENT_FED;
}

static void end_all(struct ed2k_session *session, struct content_turn *turn)
{
	const struct ed2k_turn to = turn_of(session, HALF_C2S, turn, 0);

	for (unsigned side = 0; side < 2; side++)
		end_half(session, side, turn);
	ed2k_known_give(&to);
	ed2k_cloak_close(&to);
	session->over = true;
}

static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct ed2k_session *session = of;
	enum content_fed fed = CONTENT_OVER;

	if (span->flags & SPAN_DATAGRAM)
		session->over = true;
	if (!session->over)
		fed = content_stream_feed(session->streams, &reader, session, span, turn);
	if (fed == CONTENT_FED && session->halves[0].mode == ED2K_DEAF &&
		session->halves[1].mode == ED2K_DEAF)
		fed = CONTENT_OVER;
	if (fed != CONTENT_OVER)
		return fed;
	end_all(session, turn);
	turn->taken = span->extent;
	return CONTENT_OVER;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_edonkey = {
	.app = "edonkey",
	.state_bytes = sizeof(struct ed2k_session),
	.finds =
		CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_IDS | CONTENT_FINDS_OPAQUE,
	.opens = true,
	.feed = feed,
	.over = over,
};
