// SPDX-License-Identifier: BSD-3-Clause
// QUIC long headers: RFC 8999 (what all versions share), RFC 9000 17.2 (version 1, and the drafts
// that led to it), RFC 9369 (version 2); Google's QUIC before the IETF's. The name inside is
// looked at elsewhere (datagram_hello.h).
#include "classify/app_proto.h"
#include "classify/handshake/quic_initial.h"

#define LONG_HEADER      0x80
#define FIXED_BIT        0x40
#define MESSAGE_BEFORE   96 // no message of Google's stands behind more
#define MESSAGE_MAX      (64 * 1024)
#define HEADER_MIN       11   // RFC 8999 6: a negotiation of one version, without ids
#define INITIAL_MIN      1200 // RFC 9000 14.1: a client's first datagram
#define INITIAL_SEEN_MIN 256  // a server's
#define PACKETS_MAX      8    // of one datagram

// Versions 1 and 2 (and its draft), drafts 22..34 (the first with this header to the last),
// Facebook's mvfst.
static bool is_ietf_version(uint32_t version)
{
	return version == 1 || version == 0x6b3343cf || version == 0x709a50c4 ||
	       (version >= 0xff000016 && version <= 0xff000022) ||
	       (version >= 0xfaceb001 && version <= 0xfaceb00f);
}

// RFC 9000 15: of no use but that a negotiation is forced.
static bool is_reserved_version(uint32_t version)
{
	return (version & 0x0f0f0f0f) == 0x0a0a0a0a;
}

// "Q050", "T051": Google's versions in letters.
static bool is_google_version(const uint8_t *at)
{
	return (at[0] == 'Q' || at[0] == 'T') && at[1] == '0' && octets_digit(at[2]) &&
	       octets_digit(at[3]);
}

// Takes a packet with a long header. `hidden`: octets of the datagram that the capture has left
// out. False: it is none, or does not fit.
static bool take_long(struct text *datagram, uint32_t hidden)
{
	if (datagram->length < HEADER_MIN)
		return false;
	uint32_t version = octets_be32(datagram->at + 1);
	struct text rest = text_from(*datagram, 5), id;
	enum quic_type type = quic_type_of(datagram->at[0], version);
	uint64_t token = 0, length;

	if (!quic_take_cid(&rest, &id) || !quic_take_cid(&rest, &id))
		return false;
	if (type == QUIC_RETRY) { // a token, and an integrity tag of 16 bytes
		*datagram = text_from(rest, rest.length);
		return rest.length > 16;
	}
	if (type == QUIC_INITIAL) {
		if (!quic_take_varint(&rest, &token) || token > rest.length)
			return false;
		rest = text_from(rest, (uint32_t)token);
	}
	// Packet number and at least a tag; the length is that of the rest of this packet, and the
	// datagram may hold more of them.
	if (!quic_take_varint(&rest, &length) || length < 17 || length > rest.length + hidden)
		return false;
	*datagram = text_from(rest, length < rest.length ? (uint32_t)length : rest.length);
	return true;
}

// RFC 9287: who was told that it may sends any bit in that place. Then packets of one version have
// to fill the datagram.
static bool is_greased(struct text datagram)
{
	const uint8_t *version = datagram.at + 1;

	if (quic_type_of(datagram.at[0], octets_be32(version)) == QUIC_RETRY)
		return false; // any length fits
	for (unsigned i = 0; datagram.length && i < PACKETS_MAX; i++)
		if (!(datagram.at[0] & LONG_HEADER) || !take_long(&datagram, 0) ||
			(datagram.length > 5 && memcmp(datagram.at + 1, version, 4) != 0))
			return false;
	return !datagram.length;
}

static enum verify verify_long(struct text datagram, uint32_t hidden)
{
	struct text rest = datagram;

	if (!(datagram.at[0] & FIXED_BIT))
		return is_greased(datagram) ? VERIFY_DPI : VERIFY_NO;
	if (!take_long(&rest, hidden))
		return VERIFY_NO;
	bool initial = quic_type_of(datagram.at[0], octets_be32(datagram.at + 1)) == QUIC_INITIAL;

	return initial && datagram.length >= INITIAL_MIN ? VERIFY_YES : VERIFY_DPI;
}

// Q046 packs the lengths of both ids into one byte, 5 for the usual eight and 0 for none; Q050 and
// later have a byte for each, as the IETF's.
static enum verify verify_google_long(struct text datagram, uint32_t hidden)
{
	uint8_t cids = datagram.at[5];
	bool packed = cids == 0x50 || cids == 0x05 || cids == 0x55;

	if (!(datagram.at[0] & FIXED_BIT) || (!packed && cids > QUIC_CID_MAX))
		return VERIFY_NO;
	if (datagram.length + hidden < INITIAL_SEEN_MIN) // 39 bits, as servers acknowledge
		return packed ? VERIFY_PARTIAL : VERIFY_NO;
	return VERIFY_DPI;
}

// RFC 8999 6: version 0, both ids, then versions of four bytes to the end.
static enum verify verify_negotiation(struct text datagram)
{
	struct text rest = text_from(datagram, 5), id;

	if (!quic_take_cid(&rest, &id) || !quic_take_cid(&rest, &id) || !rest.length ||
		rest.length % 4)
		return VERIFY_NO;
	for (; rest.length; rest = text_from(rest, 4))
		if (is_ietf_version(octets_be32(rest.at)) || is_google_version(rest.at))
			return VERIFY_DPI; // reserved ones stand beside these
	return VERIFY_NO;
}

// Up to Q043: flags (version present, a connection id of 8 bytes), id, version, packet number.
static enum verify verify_old_google(struct text datagram)
{
	if ((datagram.at[0] & 0xc9) != 0x09)
		return VERIFY_NO;
	const uint8_t *version = datagram.at + 9;

	if (!is_google_version(version) || version[0] != 'Q' || memcmp(version + 2, "43", 2) > 0)
		return VERIFY_NO;
	// the client's hello is in clear, behind number, hash and the head of a stream's frame
	return memmem(datagram.at, MESSAGE_BEFORE, "CHLO", 4) ? VERIFY_DPI : VERIFY_PARTIAL;
}

// A tag of QUIC Crypto: capitals and digits, if shorter than four filled up with 0 or, for what
// depends on the proof (CRT), 255.
static bool is_tag(const uint8_t *at)
{
	unsigned n = 0;

	while (n < 4 && (octets_upper(at[n]) || octets_digit(at[n])))
		n++;
	for (unsigned i = n; i < 4; i++)
		if (at[i] && at[i] != UINT8_MAX)
			return false;
	return n >= 2;
}

// Up to Q046 a server's first packet is in clear, too, and bears no version: behind flags, id,
// number and hash, and perhaps an ACK, a stream frame with a message (QUIC Crypto, "Handshake
// messages": its tag, the number of entries, nothing, then entries of a tag and the end of its
// value, in order).
static enum verify verify_google_answer(struct text datagram, uint32_t hidden)
{
	uint32_t room = datagram.length < MESSAGE_BEFORE ? datagram.length : MESSAGE_BEFORE;
	const uint8_t *at;

	if (!datagram.at) // never; gcc's sanitizers have it believe so, and warn
		return VERIFY_NO;
	at = memmem(datagram.at, room, "REJ", 4);
	if (!at)
		at = memmem(datagram.at, room, "SHLO", 4);
	if (!at)
		return VERIFY_NO;
	struct text message = text_from(datagram, (uint32_t)(at - datagram.at));
	uint32_t n = message.length > 8 ? octets_le16(message.at + 4) : 0, end = 0;

	if (n < 3 || n > 64 || octets_le16(message.at + 6) || message.length + hidden < 8 + 8 * n)
		return VERIFY_NO;
	if (message.length < 8 + 8 * n)
		n = (message.length - 8) / 8; // those that are here
	if (n < 3)
		return VERIFY_NO;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *entry = message.at + 8 + 8 * i;

		if (!is_tag(entry) || octets_le32(entry + 4) < end)
			return VERIFY_NO;
		end = octets_le32(entry + 4);
	}
	return end <= MESSAGE_MAX ? VERIFY_DPI : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text datagram = probe_text(probe);

	if (datagram.length < HEADER_MIN)
		return VERIFY_NO;
	uint32_t hidden = probe->datagram_bytes > datagram.length
				  ? probe->datagram_bytes - datagram.length
				  : 0;

	if (!(datagram.at[0] & LONG_HEADER)) {
		if (datagram.length < MESSAGE_BEFORE || datagram.length + hidden < INITIAL_SEEN_MIN)
			return VERIFY_NO;
		enum verify asked = verify_old_google(datagram);

		return asked == VERIFY_NO ? verify_google_answer(datagram, hidden) : asked;
	}
	if (!octets_be32(datagram.at + 1))
		return verify_negotiation(datagram);
	if (is_google_version(datagram.at + 1))
		return verify_google_long(datagram, hidden);
	if (is_ietf_version(octets_be32(datagram.at + 1)))
		return verify_long(datagram, hidden);
	bool reserved = is_reserved_version(octets_be32(datagram.at + 1)) &&
			datagram.length + hidden >= INITIAL_MIN;

	// 16 bits of the version: that the server negotiates is proof
	return reserved && verify_long(datagram, hidden) != VERIFY_NO ? VERIFY_PARTIAL : VERIFY_NO;
}

// RFC 9000 17.3: a short header is 01, bits of which RFC 9001 5.4 hides five, the other end's
// connection id, then what looks like chance. Three datagrams of a side to or from port 443 whose
// id is the same 8 octets at least, while the hidden bits differ. Of each half, 3 words of the
// memo.
#define PORT          443
#define SHORT_BITS    0xc0
#define SHORT         0x40
#define HIDDEN_BITS   0x1f
#define ID_BYTES      8
#define SHORT_MIN     25 // RFC 9001 5.4.2: a sample of 16 behind 4 for the number, behind flags and id
#define SHORTS_ENOUGH 3

enum {
	WORD_SHORT =
		2, // how many datagrams, hidden bits of the first, whether others had other ones
	WORDS_OF_HALF = 3,
};

static enum verify shape_udp(const struct probe *probe)
{
	uint32_t *word = probe->memo->word + (probe->half & 1) * WORDS_OF_HALF;
	const uint8_t *at = probe->bytes;

	if ((probe->dport != PORT && probe->sport != PORT) || probe->length < SHORT_MIN ||
		(at[0] & SHORT_BITS) != SHORT)
		return VERIFY_NO;
	uint32_t first = octets_be32(at + 1), second = octets_be32(at + 5), seen = word[WORD_SHORT];
	uint32_t bits = at[0] & HIDDEN_BITS;

	if (!(seen & 0xff) || first != word[0] || second != word[1] || (!first && !second)) {
		word[0] = first;
		word[1] = second;
		word[WORD_SHORT] = 1 | bits << 8;
		return VERIFY_MORE;
	}
	if (bits != (seen >> 8 & 0xff))
		seen |= 1u << 16;
	word[WORD_SHORT] = ++seen;
	return (seen & 0xff) >= SHORTS_ENOUGH && seen >> 16 ? VERIFY_PARTIAL : VERIFY_MORE;
}

const struct app_proto app_proto_quic = {
	.name = "quic",
	.title = "QUIC",
	.group = "web",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.shape_udp = shape_udp,
	.carrier = true,
	.udp_ports = {443},
};
