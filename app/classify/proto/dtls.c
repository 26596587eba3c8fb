// SPDX-License-Identifier: BSD-3-Clause
// DTLS 1.0 and 1.2: RFC 4347, RFC 6347. The record's version is a one's complement (fe ff, fe fd),
// epoch and sequence number follow; a handshake in clear has epoch 0 and repeats its length.
#include "classify/app_proto.h"
#include "classify/text.h"

#define RECORD_BYTES    13
#define HANDSHAKE_BYTES 12

enum {
	RECORD_CHANGE_CIPHER = 20,
	RECORD_ALERT = 21,
	RECORD_HANDSHAKE = 22,
	RECORD_DATA = 23,
};

static bool is_record(struct text rest)
{
	if (rest.length < RECORD_BYTES || rest.at[0] < RECORD_CHANGE_CIPHER ||
		rest.at[0] > RECORD_DATA)
		return false;
	uint16_t version = octets_be16(rest.at + 1), length = octets_be16(rest.at + 11);

	return (version == 0xfeff || version == 0xfefd || version == 0x0100) && length &&
	       length <= rest.length - RECORD_BYTES;
}

// RFC 6347 4.2.2: type, length, sequence, fragment offset and length.
static bool is_handshake(struct text rest)
{
	static const uint8_t types[] = {0, 1, 2, 3, 4, 11, 12, 13, 14, 15, 16, 20};

	if (rest.length < RECORD_BYTES + HANDSHAKE_BYTES || octets_be16(rest.at + 3))
		return false;
	const uint8_t *at = rest.at + RECORD_BYTES;
	uint32_t length = text_be24(at + 1), offset = text_be24(at + 6), part = text_be24(at + 9);

	return memchr(types, at[0], sizeof(types)) && offset + part <= length &&
	       part + HANDSHAKE_BYTES <= octets_be16(rest.at + 11);
}

// Records from the first byte of the datagram to its last.
static bool is_chain(struct text rest)
{
	while (rest.length) {
		if (!is_record(rest))
			return false;
		rest = text_from(rest, RECORD_BYTES + (uint32_t)octets_be16(rest.at + 11));
	}
	return true;
}

static enum verify verify(const struct probe *probe)
{
	struct text datagram = probe_text(probe);

	if (!is_record(datagram))
		return VERIFY_NO;
	if (datagram.at[0] == RECORD_HANDSHAKE && is_handshake(datagram))
		return VERIFY_YES;
	return is_chain(datagram) ? VERIFY_DPI : VERIFY_NO;
}

const struct app_proto app_proto_dtls = {
	.name = "dtls",
	.title = "DTLS",
	.group = "web",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.carrier = true,
};
