// SPDX-License-Identifier: BSD-3-Clause
// Nothing in a packet is believed before its tag has been found right; what stands before that (the
// lengths of ids, token and packet) only says where to look, and is held against the datagram.
#include "quic_initial.h"

#define LONG_FIXED 0xc0
#define PACKET_MAX 2048 // longer ones are not opened: no path of a first flight carries them
#define HEADER_MAX 1024 // with a token
#define NUMBER_MAX 4
#define RANGES_MAX 64 // of one ACK

enum frame { // RFC 9000 19
	PADDING = 0x00,
	PING = 0x01,
	ACK = 0x02,
	ACK_ECN = 0x03,
	CRYPTO = 0x06,
};

enum google_frame { // Q050 and its like number theirs as Google's QUIC did before
	GOOGLE_PING = 0x07,
	GOOGLE_CRYPTO = 0x08,
};

struct packet {
	struct text whole;  // from its first byte to its last
	struct text id;     // of the receiver
	uint32_t number_at; // offset of the packet number
	uint32_t version;
};

// The next packet of the datagram. False: no long header that tells its length.
static bool take_packet(struct text *datagram, struct packet *packet, enum quic_type *type)
{
	struct text rest = *datagram, sender;
	uint64_t token = 0, length;

	if (rest.length < 7 || (rest.at[0] & LONG_FIXED) != LONG_FIXED)
		return false;
	packet->version = octets_be32(rest.at + 1);
	*type = quic_type_of(rest.at[0], packet->version);
	rest = text_from(rest, 5);
	if (*type == QUIC_RETRY || !quic_take_cid(&rest, &packet->id) ||
		!quic_take_cid(&rest, &sender))
		return false;
	if (*type == QUIC_INITIAL) {
		if (!quic_take_varint(&rest, &token) || token > rest.length)
			return false;
		rest = text_from(rest, (uint32_t)token);
	}
	if (!quic_take_varint(&rest, &length) || length > rest.length)
		return false;
	packet->number_at = datagram->length - rest.length;
	packet->whole = (struct text){datagram->at, packet->number_at + (uint32_t)length};
	*datagram = text_from(*datagram, packet->whole.length);
	return true;
}

// RFC 9001 5.4: takes the mask off the first byte and the packet number, then opens what follows.
// Returns the length of what was inside; 0: these are not its keys.
static uint32_t open_packet(struct quic_crypto *crypto, const struct quic_keys *keys,
	const struct packet *packet, uint8_t inside[static PACKET_MAX])
{
	uint8_t header[HEADER_MAX], mask[QUIC_MASK_BYTES];
	const struct text whole = packet->whole;
	uint32_t at = packet->number_at;
	uint64_t number = 0;

	if (whole.length > PACKET_MAX || at > HEADER_MAX - NUMBER_MAX ||
		whole.length < at + NUMBER_MAX + QUIC_SAMPLE_BYTES ||
		!quic_header_mask(crypto, keys, whole.at + at + NUMBER_MAX, mask))
		return 0;
	memcpy(header, whole.at, at + NUMBER_MAX);
	header[0] ^= mask[0] & 0x0f;
	uint32_t number_length = 1u + (header[0] & 3);

	for (uint32_t i = 0; i < number_length; i++) {
		header[at + i] ^= mask[1 + i];
		number = number << 8 | header[at + i];
	}
	at += number_length;
	if (whole.length - at <= QUIC_TAG_BYTES ||
		!quic_open(
			crypto, keys, number, header, at, whole.at + at, whole.length - at, inside))
		return 0;
	return whole.length - at - QUIC_TAG_BYTES;
}

static uint32_t try_keys(struct quic_crypto *crypto, struct quic_flow *flow,
	const struct quic_keys *keys, const struct packet *packet,
	uint8_t inside[static PACKET_MAX])
{
	uint32_t length;

	if (flow->n_tries >= QUIC_TRIES_MAX)
		return 0;
	flow->n_tries++;
	length = open_packet(crypto, keys, packet, inside);
	if (length)
		flow->n_opened++;
	return length;
}

// The keys of the flow's first Initial serve for all of them, whatever id the server has chosen
// since; but a Retry begins anew with the id that it gives (RFC 9001 5.2), and so does another
// version.
static uint32_t open_with_any(struct quic_crypto *crypto, struct quic_flow *flow,
	const struct packet *packet, uint8_t inside[static PACKET_MAX])
{
	bool same_version = flow->version == packet->version;
	struct quic_keys keys;
	uint32_t length = 0;

	if (same_version)
		length = try_keys(crypto, flow, &flow->keys, packet, inside);
	if (length || (same_version && packet->id.length == flow->cid_length &&
			      !memcmp(packet->id.at, flow->cid, flow->cid_length)))
		return length;
	if (flow->n_tries >= QUIC_TRIES_MAX ||
		!quic_keys_derive(packet->version, packet->id.at, packet->id.length, &keys))
		return 0;
	length = try_keys(crypto, flow, &keys, packet, inside);
	if (!length)
		return 0;
	flow->keys = keys;
	flow->version = packet->version;
	flow->cid_length = (uint8_t)packet->id.length;
	memcpy(flow->cid, packet->id.at, packet->id.length);
	return length;
}

static bool skip_ack(struct text *rest, bool ecn)
{
	uint64_t largest, delay, ranges, number;

	if (!quic_take_varint(rest, &largest) || !quic_take_varint(rest, &delay) ||
		!quic_take_varint(rest, &ranges) || ranges > RANGES_MAX)
		return false;
	for (uint64_t i = 0; i < 1 + 2 * ranges + (ecn ? 3 : 0); i++)
		if (!quic_take_varint(rest, &number))
			return false;
	return true;
}

static bool take_crypto(struct text *rest, struct hello_parts *parts, bool *grown)
{
	uint64_t offset, length;

	if (!quic_take_varint(rest, &offset) || !quic_take_varint(rest, &length) ||
		length > rest->length)
		return false;
	*grown |= hello_parts_add(parts, offset, rest->at, (uint32_t)length);
	*rest = text_from(*rest, (uint32_t)length);
	return true;
}

// RFC 9000 12.4: what an Initial may hold. Behind a frame that ends the connection, or is of no
// kind that belongs here, nothing is looked at.
static bool take_frames(struct hello_parts *parts, bool google, struct text rest)
{
	bool grown = false;

	while (rest.length) {
		uint8_t type = rest.at[0];
		bool good;

		rest = text_from(rest, 1);
		if (type == PADDING || type == (google ? GOOGLE_PING : PING))
			continue;
		if (type == (google ? GOOGLE_CRYPTO : CRYPTO))
			good = take_crypto(&rest, parts, &grown);
		else
			good = !google && (type == ACK || type == ACK_ECN) &&
			       skip_ack(&rest, type == ACK_ECN);
		if (!good)
			break;
	}
	return grown;
}

bool quic_initial_feed(struct quic_crypto *crypto, struct quic_flow *flow,
	struct hello_parts *parts, struct text datagram)
{
	uint8_t inside[PACKET_MAX];
	struct packet packet;
	enum quic_type type;
	bool grown = false;

	while (flow->n_tries < QUIC_TRIES_MAX && take_packet(&datagram, &packet, &type)) {
		if (type != QUIC_INITIAL || !quic_version_known(packet.version))
			continue;
		uint32_t before = flow->version;
		uint32_t length = open_with_any(crypto, flow, &packet, inside);

		if (!length)
			continue;
		if (before && before != flow->version) // another version is another hello
			hello_parts_clear(parts);
		grown |= take_frames(
			parts, quic_is_google(flow->version), (struct text){inside, length});
	}
	return grown;
}
