// SPDX-License-Identifier: BSD-3-Clause
// OSCAR: AIM and ICQ since 2000. Everything is framed by FLAP: 0x2a, channel 1..5, sequence
// number, length, payload (big endian). Channel 1 opens with FLAP version 1; channel 2 carries a
// SNAC: family, subtype, flags, request id. Files and direct messages between clients go in
// frames of their own, OFT2/OFT3 and ODC2. (AOL's OSCAR protocol pages of 2008.)
#include "classify/app_proto.h"
#include "classify/text.h"

#define FLAP_BYTES 6
#define SNAC_BYTES 10
#define FRAMES_MAX 8

enum channel {
	CHANNEL_SIGNON = 1,
	CHANNEL_SNAC = 2,
	CHANNEL_ERROR = 3,
	CHANNEL_SIGNOFF = 4,
	CHANNEL_KEEPALIVE = 5,
};

// The families that were ever given out, 0x0085 being that of Apple's and AOL's own clients.
static bool is_snac(const uint8_t *at)
{
	uint16_t family = octets_be16(at), subtype = octets_be16(at + 2),
		 flags = octets_be16(at + 4);

	return ((family >= 1 && family <= 0x30) || family == 0x85) && subtype >= 1 &&
	       subtype <= 0x60 && !(flags & 0x7ff0);
}

// Those of the login, and from 0x8000 on what clients since ICQ 6 say of themselves in the sign-on,
// before they have a cookie (0x8003, four octets: Miranda's ICQ plugin).
static bool is_tlv_type(uint16_t type)
{
	return type <= 0x200 || (type >= 0x8000 && type <= 0x80ff);
}

// The TLVs of a sign-on, as far as they are here.
static bool are_tlvs(struct text rest, uint32_t length)
{
	while (length) {
		if (length < 4)
			return false;
		if (rest.length < 4)
			return true;
		uint32_t size = 4u + octets_be16(rest.at + 2);

		if (!is_tlv_type(octets_be16(rest.at)) || size > length)
			return false;
		length -= size;
		rest = text_from(rest, size);
	}
	return true;
}

// Weighs one frame, whose header is here; `rest` is its payload and what follows.
static enum verify verify_frame(uint8_t channel, struct text rest, uint32_t length)
{
	if (rest.length > length)
		rest.length = length;
	switch (channel) {
	case CHANNEL_SIGNON:
		if (length < 4 || (rest.length >= 4 && octets_be32(rest.at) != 1))
			return VERIFY_NO;
		if (rest.length < 4)
			return VERIFY_MORE;
		return are_tlvs(text_from(rest, 4), length - 4) ? VERIFY_YES : VERIFY_NO;
	case CHANNEL_SNAC:
		if (length < SNAC_BYTES)
			return VERIFY_NO;
		if (rest.length < SNAC_BYTES)
			return VERIFY_MORE;
		return is_snac(rest.at) ? VERIFY_DPI : VERIFY_NO;
	case CHANNEL_ERROR:
	case CHANNEL_SIGNOFF:
		return !length || (length >= 4 && are_tlvs(rest, length)) ? VERIFY_MORE : VERIFY_NO;
	case CHANNEL_KEEPALIVE: return length <= 4 ? VERIFY_MORE : VERIFY_NO;
	default: return VERIFY_NO;
	}
}

static enum verify verify_flaps(struct text rest)
{
	enum verify best = VERIFY_MORE;

	for (unsigned n = 0; n < FRAMES_MAX && rest.length >= FLAP_BYTES; n++) {
		uint32_t length = octets_be16(rest.at + 4);

		if (rest.at[0] != '*')
			return VERIFY_NO;
		enum verify frame = verify_frame(rest.at[1], text_from(rest, FLAP_BYTES), length);

		if (frame == VERIFY_NO || frame == VERIFY_YES)
			return frame;
		if (frame == VERIFY_DPI)
			best = frame;
		rest = text_from(rest, FLAP_BYTES + length);
	}
	return best;
}

// Between clients: name, length of the header, type. OFT: prompt, acknowledge, done, resume ...
static enum verify verify_direct(struct text half)
{
	if (half.length < 8)
		return VERIFY_MORE;
	uint16_t length = octets_be16(half.at + 4), type = octets_be16(half.at + 6);

	if (half.at[1] == 'D') // "ODC2": direct messages and pictures
		return length >= 0x2c && length <= 0x100 && type == 1 ? VERIFY_YES : VERIFY_NO;
	return length >= 0x100 && length <= 0x800 && type >> 8 >= 1 && type >> 8 <= 2 &&
			       (type & 0xff) >= 1 && (type & 0xff) <= 7
		       ? VERIFY_YES
		       : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (half.length && half.at[0] == 'O')
		return verify_direct(half);
	// TOC, AIM's other protocol, asks for FLAP in clear: "FLAPON\r\n\r\n".
	if (half.length && half.at[0] == 'F')
		return text_begins(half, "FLAPON\r\n\r\n") ? VERIFY_YES : VERIFY_NO;
	return verify_flaps(half);
}

const struct app_proto app_proto_oscar = {
	.name = "oscar",
	.title = "AIM and ICQ (OSCAR)",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.tcp_ports = {5190, 5191, 5192, 5193},
};
