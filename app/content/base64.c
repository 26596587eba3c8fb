// SPDX-License-Identifier: BSD-3-Clause
// Decodes base64 as a stream.
#include "content/base64.h"

static int value_of(uint8_t digit)
{
	if (digit >= 'A' && digit <= 'Z')
		return digit - 'A';
	if (digit >= 'a' && digit <= 'z')
		return digit - 'a' + 26;
	if (digit >= '0' && digit <= '9')
		return digit - '0' + 52;
	return digit == '+' ? 62 : digit == '/' ? 63 : -1;
}

// The whole bytes of the quantum at hand.
static uint32_t put(const struct base64_stream *stream, uint8_t *out)
{
	uint32_t bits = stream->bits << (4 - stream->digits) * 6;
	uint32_t n = stream->digits ? stream->digits - 1u : 0;

	for (uint32_t i = 0; i < n; i++)
		out[i] = (uint8_t)(bits >> (16 - 8 * i));
	return n;
}

static void begin(struct base64_stream *stream)
{
	stream->bits = 0;
	stream->digits = 0;
}

uint32_t base64_decode(struct base64_stream *stream, const uint8_t *in, uint32_t length,
	uint32_t *taken, uint8_t *out, uint32_t room)
{
	uint32_t n = 0, i = 0;

	for (; i < length && room - n >= 3; i++) {
		int value = value_of(in[i]);

		if (value >= 0) {
			stream->behind |= stream->pads;
			stream->pads = 0;
			stream->bits = stream->bits << 6 | (uint32_t)value;
			if (++stream->digits < 4)
				continue;
			n += put(stream, out + n);
			begin(stream);
		} else if (in[i] == '=') {
			if (!stream->pads && stream->digits)
				n += put(stream, out + n);
			begin(stream);
			stream->pads = 1;
		} else if (in[i] != '\r' && in[i] != '\n' && in[i] != ' ' && in[i] != '\t') {
			stream->foreign = true;
		}
	}
	*taken = i;
	return n;
}

uint32_t base64_finish(struct base64_stream *stream, uint8_t out[2])
{
	uint32_t n = put(stream, out);

	begin(stream);
	return n;
}
