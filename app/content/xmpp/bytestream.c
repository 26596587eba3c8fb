// SPDX-License-Identifier: BSD-3-Clause
// SOCKS5 bytestreams: what stands before the first byte of a file, and the file.
//
//   client  5 n method*n   [1 n user n password]   5 command 0 kind address port   bytes
//   server  5 method       [1 status]              5 reply   0 kind address port   bytes
//
// Each half is read by itself: either end may send ahead. What the reply says is not asked for:
// behind one that refuses nobody sends a file.
#include "content/xmpp/bytestream.h"

#define SOCKS_VERSION 5
#define AUTH_VERSION  1
#define PORT_BYTES    2

enum step {
	STEP_GREETING, // its version
	STEP_METHODS,  // of the client: their number
	STEP_NEXT,     // what comes now: version of a request or reply, or of a login
	STEP_USER,     // length of a name
	STEP_PASSWORD,
	STEP_KIND, // of the address
	STEP_NAME, // length of an address that is a name
	STEP_RAW,
};

// Kinds of addresses.
enum {
	KIND_IPV4 = 1,
	KIND_NAME = 3,
	KIND_IPV6 = 4,
};

bool bytestream_begins(const struct span *span, const struct content_turn *turn)
{
	bool fresh = !span_is_gap(span) && !(span->flags & SPAN_MIDSTREAM) && !span->offset64;

	if (!fresh)
		return turn->announced;
	return span_length(span) && span_bytes(span)[0] == SOCKS_VERSION;
}

static void skip(struct bytestream_half *half, uint32_t length, enum step then)
{
	half->skip = (uint16_t)length;
	half->then = (uint8_t)then;
	if (!length)
		half->step = (uint8_t)then;
}

// False: it is no SOCKS5.
static bool take_next(struct bytestream_half *half, unsigned side, uint8_t byte)
{
	if (byte == SOCKS_VERSION)
		skip(half, 2, STEP_KIND);
	else if (byte != AUTH_VERSION)
		return false;
	else if (side == HALF_C2S)
		half->step = STEP_USER;
	else
		skip(half, 1, STEP_NEXT);
	return true;
}

static bool take_kind(struct bytestream_half *half, uint8_t byte)
{
	switch (byte) {
	case KIND_IPV4: skip(half, 4 + PORT_BYTES, STEP_RAW); return true;
	case KIND_IPV6: skip(half, 16 + PORT_BYTES, STEP_RAW); return true;
	case KIND_NAME: half->step = STEP_NAME; return true;
	default: return false;
	}
}

static bool take_step(struct bytestream_half *half, unsigned side, uint8_t byte)
{
	switch ((enum step)half->step) {
	case STEP_GREETING:
		if (side == HALF_C2S)
			half->step = STEP_METHODS;
		else
			skip(half, 1, STEP_NEXT);
		return byte == SOCKS_VERSION;
	case STEP_METHODS: skip(half, byte, STEP_NEXT); return true;
	case STEP_NEXT: return take_next(half, side, byte);
	case STEP_USER: skip(half, byte, STEP_PASSWORD); return true;
	case STEP_PASSWORD: skip(half, byte, STEP_NEXT); return true;
	case STEP_KIND: return take_kind(half, byte);
	default: skip(half, byte + PORT_BYTES, STEP_RAW); return true;
	}
}

// Up to the first byte of a file, or of what is no SOCKS5.
static enum content_fed take_handshake(struct bytestream *stream, unsigned side,
	struct content_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct bytestream_half *half = &stream->halves[side];

	while (*taken < length && half->step != STEP_RAW) {
		uint32_t here = length - *taken;

		if (half->skip) {
			here = here < half->skip ? here : half->skip;
			half->skip = (uint16_t)(half->skip - here);
			*taken += here;
			if (!half->skip)
				half->step = half->then;
			continue;
		}
		bool began = half->step != STEP_GREETING;

		if (!take_step(half, side, bytes[*taken])) {
			if (began) // where the file begins is not known
				turn->sink->note(turn->sink->ctx, CONTENT_NOTE_BAD_LINE, side,
					stream->streams[side].at64 + *taken);
			bytestream_over(stream, turn);
			return CONTENT_OVER;
		}
		++*taken;
	}
	return CONTENT_FED;
}

static void open_file(
	struct bytestream *stream, unsigned side, const struct content_turn *turn, uint64_t at64)
{
	struct bytestream_half *half = &stream->halves[side];

	if (half->raw.id || half->over)
		return;
	bool damaged = half->raw.damaged;
	struct content_file what = content_announced_file(turn->announced, side, !stream->files);

	if (what.name.length)
		what.name_source = CONTENT_NAME_OFFER;
	content_raw_open(&half->raw, turn, &what, &stream->files, at64);
	half->raw.damaged = damaged;
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct bytestream *stream = of;
	struct bytestream_half *half = &stream->halves[side];
	enum content_fed fed = take_handshake(stream, side, turn, bytes, length, taken);

	if (fed != CONTENT_FED || *taken == length)
		return fed;
	open_file(stream, side, turn, stream->streams[side].at64 + *taken);
	half->blind = false;
	uint32_t n = length - *taken;

	if (half->raw.id)
		n = content_raw_put(&half->raw, turn, bytes + *taken, n);
	*taken += n;
	return *taken < length ? CONTENT_MORE : CONTENT_FED;
}

// Of a handshake that lacks bytes the end is not known: what follows is taken for the file.
static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct bytestream *stream = of;
	struct bytestream_half *half = &stream->halves[side];

	if (half->step != STEP_RAW) {
		half->step = STEP_RAW;
		half->skip = 0;
		half->blind = half->raw.damaged = true;
	}
	if (half->blind)
		return CONTENT_FED;
	open_file(stream, side, turn, stream->streams[side].at64);
	content_raw_lose(&half->raw, length);
	return CONTENT_FED;
}

static void end_half(struct bytestream *stream, unsigned side, const struct content_turn *turn,
	enum content_end end)
{
	struct bytestream_half *half = &stream->halves[side];

	content_raw_end(&half->raw, turn, end, stream->streams[side].at64);
	half->over = true;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	end_half(of, side, turn, CONTENT_END_CLOSED);
	return CONTENT_FED;
}

enum content_fed bytestream_feed(
	struct bytestream *stream, const struct span *span, struct content_turn *turn)
{
	static const struct content_reader reader = {take, lose, fin};

	if (!stream->streams[span->half & 1].started && span->flags & SPAN_MIDSTREAM) {
		stream->halves[span->half & 1].step = STEP_RAW;
		stream->halves[span->half & 1].raw.damaged = true;
	}
	if (turn->announced) {
		stream->size = turn->announced->size;
		stream->from = turn->announced->range_from;
	}
	return content_stream_feed(stream->streams, &reader, stream, span, turn);
}

// A receiver that has all of it may reset the connection.
void bytestream_over(struct bytestream *stream, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		bool whole =
			stream->size && stream->halves[side].raw.at + stream->from == stream->size;

		end_half(stream, side, turn, whole ? CONTENT_END_CLOSED : CONTENT_END_TRUNCATED);
	}
}
