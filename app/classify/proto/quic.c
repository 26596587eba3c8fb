// SPDX-License-Identifier: BSD-3-Clause
// QUIC long headers: RFC 8999 (what all versions share), RFC 9000 17.2 (version 1, and the drafts
// that led to it), RFC 9369 (version 2); Google's QUIC before the IETF's. The name inside is not
// looked at here.
#include "app_proto.h"
#include "text.h"

#define LONG_HEADER      0x80
#define FIXED_BIT        0x40
#define CID_MAX          20   // RFC 9000 17.2
#define HEADER_MIN       11   // RFC 8999 6: a negotiation of one version, without ids
#define INITIAL_MIN      1200 // RFC 9000 14.1: a client's first datagram
#define INITIAL_SEEN_MIN 256  // a server's, and one that was cut at capture

enum packet_type {
	INITIAL,
	ZERO_RTT,
	HANDSHAKE,
	RETRY,
};

// Versions 1 and 2, drafts 22..34 (the first with this header to the last), Facebook's mvfst.
static bool is_ietf_version(uint32_t version)
{
	return version == 1 || version == 0x6b3343cf ||
	       (version >= 0xff000016 && version <= 0xff000022) ||
	       (version >= 0xfaceb001 && version <= 0xfaceb00f) ||
	       (version & 0x0f0f0f0f) == 0x0a0a0a0a; // RFC 9000 15: forces a negotiation
}

// "Q050", "T051": Google's versions in letters.
static bool is_google_version(const uint8_t *at)
{
	return (at[0] == 'Q' || at[0] == 'T') && at[1] == '0' && octets_digit(at[2]) &&
	       octets_digit(at[3]);
}

// Version 2 turns the types of version 1 by one (RFC 9369 3.2).
static enum packet_type type_of(uint8_t first, uint32_t version)
{
	unsigned type = first >> 4 & 3;

	return version == 0x6b3343cf ? (type + 3) & 3 : type;
}

// RFC 9000 16. False: it is not here in full.
static bool take_varint(struct text *rest, uint64_t *value)
{
	uint32_t length;

	if (!rest->length)
		return false;
	length = 1u << (rest->at[0] >> 6);
	if (rest->length < length)
		return false;
	*value = rest->at[0] & 0x3f;
	for (uint32_t i = 1; i < length; i++)
		*value = *value << 8 | rest->at[i];
	*rest = text_from(*rest, length);
	return true;
}

static bool skip_cid(struct text *rest)
{
	if (!rest->length || rest->at[0] > CID_MAX || rest->length < 1u + rest->at[0])
		return false;
	*rest = text_from(*rest, 1u + rest->at[0]);
	return true;
}

static enum verify verify_long(struct text datagram)
{
	uint32_t version = octets_be32(datagram.at + 1);
	struct text rest = text_from(datagram, 5);
	enum packet_type type = type_of(datagram.at[0], version);
	uint64_t token = 0, length;

	if (!(datagram.at[0] & FIXED_BIT) || !skip_cid(&rest) || !skip_cid(&rest))
		return VERIFY_NO;
	if (type == RETRY) // a token, and an integrity tag of 16 bytes
		return rest.length > 16 ? VERIFY_DPI : VERIFY_NO;
	if (type == INITIAL) {
		if (!take_varint(&rest, &token) || token > rest.length)
			return VERIFY_NO;
		rest = text_from(rest, (uint32_t)token);
	}
	// Packet number and at least a tag; the length is that of the rest of this packet, and the
	// datagram may hold more of them.
	if (!take_varint(&rest, &length) || length < 17 || length > rest.length)
		return VERIFY_NO;
	if (type != INITIAL)
		return VERIFY_DPI;
	return datagram.length >= INITIAL_MIN ? VERIFY_YES : VERIFY_DPI;
}

// Q046 packs the lengths of both ids into one byte, 5 for the usual eight and 0 for none; Q050 and
// later have a byte for each, as the IETF's.
static enum verify verify_google_long(struct text datagram)
{
	uint8_t cids = datagram.at[5];
	bool packed = cids == 0x50 || cids == 0x05 || cids == 0x55;

	if (!(datagram.at[0] & FIXED_BIT) || datagram.length < INITIAL_SEEN_MIN)
		return VERIFY_NO;
	return packed || cids <= CID_MAX ? VERIFY_DPI : VERIFY_NO;
}

// RFC 8999 6: version 0, both ids, then versions of four bytes to the end.
static enum verify verify_negotiation(struct text datagram)
{
	struct text rest = text_from(datagram, 5);

	if (!skip_cid(&rest) || !skip_cid(&rest) || !rest.length || rest.length % 4)
		return VERIFY_NO;
	for (; rest.length; rest = text_from(rest, 4))
		if (is_ietf_version(octets_be32(rest.at)) || is_google_version(rest.at))
			return VERIFY_DPI;
	return VERIFY_NO;
}

// Up to Q043: flags (version present, a connection id of 8 bytes), id, version, packet number.
static enum verify verify_old_google(struct text datagram)
{
	if (datagram.length < INITIAL_SEEN_MIN || (datagram.at[0] & 0xc9) != 0x09)
		return VERIFY_NO;
	return is_google_version(datagram.at + 9) ? VERIFY_DPI : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text datagram = {probe->bytes, probe->length};

	if (datagram.length < HEADER_MIN)
		return VERIFY_NO;
	if (!(datagram.at[0] & LONG_HEADER))
		return verify_old_google(datagram);
	if (!octets_be32(datagram.at + 1))
		return verify_negotiation(datagram);
	if (is_google_version(datagram.at + 1))
		return verify_google_long(datagram);
	return is_ietf_version(octets_be32(datagram.at + 1)) ? verify_long(datagram) : VERIFY_NO;
}

const struct app_proto app_proto_quic = {
	.name = "quic",
	.title = "QUIC",
	.group = "web",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.carrier = true,
	.udp_ports = {443},
};
