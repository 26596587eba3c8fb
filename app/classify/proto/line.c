// SPDX-License-Identifier: BSD-3-Clause
// LINE: chat by its hosts; calls by frames of their own over UDP, known from what clients send (no
// specification is public; nDPI knows the same octets). Two kinds:
//   11010 or 11011, the length of the rest in 11 bits, a sequence number of 16 bits that grows by
//   one, a kind: a hello has bit 11011 and kind 0x06 0x02, and pads with what is random
//   0xb6, a type (0x07 and 0x09 keep alive, 0x18 asks a relay), the length of the rest in 16 bits;
//   type 0x13 has six octets by that length and 36 more
// A frame of the first kind fixes 15 bits: a hello (32) is a hint, two frames of a half in order
// (46) are proof. Of the second kind one that keeps alive or asks a relay fixes 30:
// a hint, and two are proof.
#include "classify/app_proto.h"
#include "classify/text.h"

#define HEAD       4
#define FRAME_MIN  10
#define HELLO_MIN  100
#define RELAY      0xb6
#define LONG_TYPE  0x13
#define LONG_REST  6
#define LONG_BYTES 46
#define SEEN       0x10000 // in the memo, with the sequence number: of the last frame of that half
#define RELAYED    2       // in the memo: how many of the second kind

static bool is_frame(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	return probe->length >= FRAME_MIN && at[0] >> 4 == 0xd &&
	       (octets_be16(at) & 0x07ffu) == probe->length - HEAD;
}

static bool is_hello(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	return probe->length >= HELLO_MIN && (at[0] & 0x08) && at[4] == 0x06 && at[5] == 0x02;
}

static enum verify verify_relay(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	uint32_t rest = probe->length - HEAD;

	if (probe->length < HEAD + 4)
		return VERIFY_NO;
	if (probe->length == LONG_BYTES && at[1] == LONG_TYPE)
		rest = LONG_REST;
	else if (at[1] != 0x07 && at[1] != 0x09 && at[1] != 0x18)
		return VERIFY_NO;
	if (octets_be16(at + 2) != rest)
		return VERIFY_NO;
	return probe->memo->word[RELAYED]++ ? VERIFY_DPI : VERIFY_PARTIAL;
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *seen = probe->memo->word;
	unsigned half = probe->half & 1;

	if (probe->length && probe->bytes[0] == RELAY)
		return verify_relay(probe);
	if (!is_frame(probe))
		return seen[0] || seen[1] ? VERIFY_MORE : VERIFY_NO;
	uint32_t sequence = octets_be16(probe->bytes + 2);
	bool follows = seen[half] && sequence == ((seen[half] + 1) & 0xffff);

	seen[half] = SEEN | sequence;
	if (follows)
		return VERIFY_DPI;
	return is_hello(probe) ? VERIFY_PARTIAL : VERIFY_MORE;
}

const struct app_proto app_proto_line = {
	.name = "line",
	.title = "LINE",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
