// SPDX-License-Identifier: BSD-3-Clause
// LINE: chat by its hosts; calls by frames of their own over UDP, known from what clients send (no
// specification is public): two bits 11 where RTP has its version 10, a sequence number where RTP
// has it, which grows by one; the hellos of both sides bear 0x06 0x02 behind it and are long.
// A hello fixes 22 bits; with the hello of the other side, or the next frame of its own, 40.
#include "app_proto.h"
#include "text.h"

#define HELLO_MIN 100
#define FRAME_MIN 10
#define SEEN      0x10000 // in the memo, with the sequence number: of the hello of that half

static bool is_hello(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	return probe->length >= HELLO_MIN && (at[0] & 0xfc) == 0xd8 && at[4] == 0x06 &&
	       at[5] == 0x02;
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *seen = probe->memo->word;
	unsigned half = probe->half & 1;

	if (probe->length < FRAME_MIN || probe->bytes[0] >> 6 != 3)
		return seen[0] || seen[1] ? VERIFY_MORE : VERIFY_NO;
	uint32_t sequence = octets_be16(probe->bytes + 2);

	if (seen[half] && sequence == ((seen[half] + 1) & 0xffff))
		return VERIFY_DPI;
	if (is_hello(probe)) {
		if (seen[!half])
			return VERIFY_DPI;
		seen[half] = SEEN | sequence;
	}
	return seen[0] || seen[1] ? VERIFY_MORE : VERIFY_NO;
}

const struct app_proto app_proto_line = {
	.name = "line",
	.title = "LINE",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
