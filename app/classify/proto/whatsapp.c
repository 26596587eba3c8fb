// SPDX-License-Identifier: BSD-3-Clause
// WhatsApp: a Noise handshake with a prologue of its own, and the hosts of its service. The client
// begins with "WA", a version of two octets, then frames with a length of 24 bits; before it there
// may be "ED" 00 01 and, with a length of 24 bits, where the edge is to route it (WhatsApp,
// "Encryption Overview"; Baileys, whatsmeow). The first frame is a protobuf: field 2, in it field
// 1, the ephemeral key of 32 octets. Until version 1 it was binary XML: a list (0xf8).
// "WA", version, length, tags: 60 bits; of version 1: 50. The server's first frame, if the client's
// was not seen: field 3, in it field 1, a key of 32 octets, both lengths fit: 50 bits.
#include "classify/app_proto.h"
#include "classify/text.h"

#define ROUTING_MAX 256
#define HELLO_MAX   2048

// A protobuf length; false if it is not here.
static bool take_varint(struct text *rest, uint32_t *value)
{
	*value = 0;
	for (unsigned i = 0; i < 3 && i < rest->length; i++) {
		*value |= (uint32_t)(rest->at[i] & 0x7f) << 7 * i;
		if (rest->at[i] & 0x80)
			continue;
		*rest = text_from(*rest, i + 1);
		return true;
	}
	return false;
}

static enum verify verify_hello(struct text rest)
{
	uint32_t length, inner;

	if (rest.length < 8)
		return VERIFY_MORE;
	uint8_t major = rest.at[2], minor = rest.at[3];

	if (rest.at[0] != 'W' || rest.at[1] != 'A' || !major || major > 9 || minor > 9)
		return VERIFY_NO;
	if (major == 1) { // flags, length of 16 bits, a list
		length = octets_be16(rest.at + 5);
		return !rest.at[4] && length && length <= HELLO_MAX && (rest.at[7] & 0xfc) == 0xf8
			       ? VERIFY_DPI
			       : VERIFY_NO;
	}
	length = text_be24(rest.at + 4);
	rest = text_from(rest, 7);
	if (!length || length > HELLO_MAX || rest.at[0] != 0x12)
		return VERIFY_NO;
	if (rest.length < 6)
		return VERIFY_MORE;
	rest = text_from(rest, 1);
	if (!take_varint(&rest, &inner) || inner < 34 || inner > length)
		return VERIFY_NO;
	if (rest.length < 2)
		return VERIFY_MORE;
	return rest.at[0] == 0x0a && rest.at[1] == 32 ? VERIFY_YES : VERIFY_NO;
}

static enum verify verify_answer(struct text half)
{
	uint32_t length = text_be24(half.at), inner;
	struct text rest = text_from(half, 4);

	if (half.at[3] != 0x1a || !take_varint(&rest, &inner) || rest.length < 2)
		return VERIFY_NO;
	uint32_t head = half.length - 3 - rest.length; // tag and inner length

	return inner > 34 && head + inner == length && rest.at[0] == 0x0a && rest.at[1] == 32
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (half.length < 7)
		return VERIFY_MORE;
	if (!half.at[0])
		return probe->half == HALF_S2C ? verify_answer(half) : VERIFY_NO;
	if (half.at[0] == 'W')
		return verify_hello(half);
	uint32_t routing = text_be24(half.at + 4);

	if (octets_be32(half.at) != 0x45440001 || routing > ROUTING_MAX)
		return VERIFY_NO;
	return verify_hello(text_from(half, 7 + routing));
}

const struct app_proto app_proto_whatsapp = {
	.name = "whatsapp",
	.title = "WhatsApp",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
