// SPDX-License-Identifier: BSD-3-Clause
// Nothing in a packet is believed before its tag has been found right; what stands before that (the
// lengths of ids, token and packet) only says where to look, and is held against the datagram.
#include "classify/handshake/quic_initial.h"

#define LONG_HEADER  0x80 // the bit behind it may be greased (RFC 9287)
#define SERVER_HELLO 2
#define RANDOM_AT    6    // in a ServerHello with its header: version, then random
#define PACKET_MAX   2048 // longer ones are not opened: no path of a first flight carries them
#define HEADER_MAX   1024 // with a token
#define NUMBER_MAX   4

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
	GOOGLE_ACK = 0x40, // with six bits of its own
	GOOGLE_ACK_MASK = 0xc0,
	GOOGLE_ACK_BLOCKS = 0x20,
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

	if (rest.length < 7 || !(rest.at[0] & LONG_HEADER))
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
	if (!quic_take_varint(&rest, &length))
		return false;
	if (length > rest.length) // of a datagram in several fragments, only its start is here
		length = *type == QUIC_INITIAL && datagram->length >= PACKET_MAX ? rest.length : 0;
	if (!length)
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

// `inside`: of a packet that was opened; `length` 0: none was.
struct opened {
	uint32_t length;
	bool begins; // with keys that are not those of the flow
	struct quic_keys keys;
	uint8_t inside[PACKET_MAX];
};

static bool try_keys(struct quic_crypto *crypto, struct quic_flow *flow,
	const struct quic_keys *keys, const struct packet *packet, struct opened *opened)
{
	flow->n_tries++;
	opened->length = open_packet(crypto, keys, packet, opened->inside);
	if (opened->length)
		flow->n_opened++;
	return opened->length;
}

static bool is_of(const struct quic_flow *flow, struct text id)
{
	return flow->version && id.length == flow->cid_length &&
	       !memcmp(id.at, flow->cid, flow->cid_length);
}

// The keys of a connection's first Initial serve for all of them, whatever id the server has chosen
// since, with the salt of the version that the two agree on (RFC 9368 4.1); but a Retry begins anew
// with the id that it gives (RFC 9001 5.2).
static bool open_with_any(struct quic_crypto *crypto, struct quic_flow *flow,
	const struct packet *packet, struct opened *opened)
{
	bool same_version = flow->version == packet->version;

	opened->length = 0;
	opened->begins = false;
	if (same_version && try_keys(crypto, flow, &flow->keys, packet, opened))
		return true;
	if (flow->version && !same_version &&
		quic_keys_derive(
			packet->version, QUIC_CLIENT, flow->cid, flow->cid_length, &opened->keys) &&
		try_keys(crypto, flow, &opened->keys, packet, opened))
		return true;
	if (is_of(flow, packet->id)) // of any length: not all servers ask for 8 octets
		return false;
	opened->begins = true;
	return quic_keys_derive(packet->version, QUIC_CLIENT, packet->id.at, packet->id.length,
		       &opened->keys) &&
	       try_keys(crypto, flow, &opened->keys, packet, opened);
}

static bool skip_ack(struct text *rest, bool ecn)
{
	uint64_t largest, delay, ranges, number;

	if (!quic_take_varint(rest, &largest) || !quic_take_varint(rest, &delay) ||
		!quic_take_varint(rest, &ranges) || ranges > rest->length)
		return false;
	for (uint64_t i = 0; i < 1 + 2 * ranges + (ecn ? 3 : 0); i++)
		if (!quic_take_varint(rest, &number))
			return false;
	return true;
}

// Google QUIC, "ACK Frame": the type has the lengths of the largest number and of a block's; then a
// delay, blocks with a gap before each but the first, and time stamps, of which the first is
// longer.
static bool skip_google_ack(struct text *rest)
{
	static const uint8_t lengths[] = {1, 2, 4, 6};
	uint8_t type = rest->at[0];
	uint32_t block = lengths[type & 3], at = 1u + lengths[type >> 2 & 3] + 2;
	uint32_t n = 0;

	if (type & GOOGLE_ACK_BLOCKS) {
		if (at >= rest->length)
			return false;
		n = rest->at[at++];
	}
	at += block + n * (1 + block);
	if (at >= rest->length)
		return false;
	n = rest->at[at++];
	at += n ? 5 + (n - 1) * 3 : 0;
	if (at > rest->length)
		return false;
	*rest = text_from(*rest, at);
	return true;
}

struct piece { // of a CRYPTO stream
	uint64_t offset;
	struct text bytes;
};

static bool take_piece(struct text *rest, struct piece *piece)
{
	uint64_t length;

	if (!quic_take_varint(rest, &piece->offset) || !quic_take_varint(rest, &length) ||
		length > rest->length)
		return false;
	piece->bytes = (struct text){rest->at, (uint32_t)length};
	*rest = text_from(*rest, (uint32_t)length);
	return true;
}

// The next CRYPTO frame. RFC 9000 12.4: what an Initial may hold; a type may be longer than it has
// to be. Behind a frame that ends the connection, or is of no kind that belongs here, nothing is
// looked at: nor does a server go on.
static bool next_piece(struct text *rest, bool google, struct piece *piece)
{
	uint64_t type;

	for (;;) {
		while (google && rest->length && (rest->at[0] & GOOGLE_ACK_MASK) == GOOGLE_ACK)
			if (!skip_google_ack(rest))
				return false;
		if (!quic_take_varint(rest, &type))
			return false;
		if (type == PADDING || type == (google ? GOOGLE_PING : PING))
			continue;
		if (type == (google ? GOOGLE_CRYPTO : CRYPTO))
			return take_piece(rest, piece);
		if (google || (type != ACK && type != ACK_ECN) || !skip_ack(rest, type == ACK_ECN))
			return false;
	}
}

// What lies before the message at hand has been read, and taken.
static bool piece_from(struct piece *piece, uint16_t base)
{
	if (piece->offset < base) {
		uint64_t known = base - piece->offset;

		if (known >= piece->bytes.length)
			return false;
		piece->bytes = text_from(piece->bytes, (uint32_t)known);
		piece->offset = base;
	}
	piece->offset -= base;
	return true;
}

static bool agrees(const struct quic_flow *flow, const struct hello_parts *parts, bool google,
	struct text frames)
{
	struct piece piece;

	while (next_piece(&frames, google, &piece))
		if (piece_from(&piece, flow->base) &&
			!hello_parts_agree(parts, piece.offset, piece.bytes.at, piece.bytes.length))
			return false;
	return true;
}

static void add_pieces(
	const struct quic_flow *flow, struct hello_parts *parts, bool google, struct text frames)
{
	struct piece piece;

	while (next_piece(&frames, google, &piece))
		if (piece_from(&piece, flow->base))
			hello_parts_add(parts, piece.offset, piece.bytes.at, piece.bytes.length);
}

static uint64_t hash_of(struct text id)
{
	uint64_t hash = 0xcbf29ce484222325; // FNV-1a

	for (uint32_t i = 0; i < id.length; i++)
		hash = (hash ^ id.at[i]) * 0x100000001b3;
	return hash;
}

static bool was_left(const struct quic_flow *flow, struct text id)
{
	for (unsigned i = 0; i < flow->n_left; i++)
		if (flow->left[i] == hash_of(id))
			return true;
	return false;
}

// Another connection. Of the one before it nothing more is taken if its hello was not whole: its
// parts are given up here, and may not be.
static bool begin(struct quic_flow *flow, struct hello_parts *parts, const struct packet *packet,
	const struct opened *opened)
{
	if (was_left(flow, packet->id))
		return false;
	if (flow->version && !flow->whole) {
		if (flow->n_left == QUIC_LEFT_MAX)
			return false;
		flow->left[flow->n_left++] = hash_of((struct text){flow->cid, flow->cid_length});
	}
	flow->keys = opened->keys;
	flow->version = packet->version;
	flow->cid_length = (uint8_t)packet->id.length;
	memcpy(flow->cid, packet->id.at, packet->id.length);
	flow->base = flow->answer_base = 0;
	flow->whole = false;
	hello_parts_clear(parts);
	return true;
}

static enum quic_seen take_frames(struct quic_flow *flow, struct hello_parts *parts,
	const struct packet *packet, struct opened *opened)
{
	const struct text frames = {opened->inside, opened->length};
	bool google = quic_is_google(packet->version), good = agrees(flow, parts, google, frames);

	// Another version for the same id goes on, unless it is a hello of its own.
	if (!opened->begins && packet->version != flow->version) {
		opened->begins = !good;
		if (good) {
			flow->keys = opened->keys;
			flow->version = packet->version;
		}
	} else if (!opened->begins && !good) {
		return QUIC_REFUSED;
	}
	if (opened->begins && !begin(flow, parts, packet, opened))
		return QUIC_REFUSED;
	add_pieces(flow, parts, google, frames);
	return opened->begins ? QUIC_BEGUN : QUIC_TAKEN;
}

static bool has_piece(const struct packet *packet, const struct opened *opened)
{
	struct text frames = {opened->inside, opened->length};
	struct piece piece;

	return next_piece(&frames, quic_is_google(packet->version), &piece);
}

enum quic_seen quic_initial_feed(struct quic_crypto *crypto, struct quic_flow *flow,
	struct hello_parts *parts, bool serves, struct text datagram)
{
	bool small = datagram.length < QUIC_DATAGRAM_MIN;
	enum quic_seen seen = QUIC_NOTHING;
	struct packet packet = {0};
	enum quic_type type;

	flow->n_tries = flow->n_opened = 0;
	for (unsigned n = 0; take_packet(&datagram, &packet, &type); n++) {
		struct opened opened;

		if (n == QUIC_PACKETS_MAX)
			return serves ? seen : QUIC_REFUSED;
		if (type != QUIC_INITIAL || !quic_version_known(packet.version))
			continue;
		// a server may open what is not opened here
		bool unread = flow->version || packet.whole.length > PACKET_MAX ||
			      packet.number_at > HEADER_MAX - NUMBER_MAX;

		if (!open_with_any(crypto, flow, &packet, &opened)) {
			if (unread && !serves)
				return QUIC_REFUSED;
			continue;
		}
		if (small && has_piece(&packet, &opened))
			return QUIC_REFUSED;
		if (small)
			continue;
		enum quic_seen now = take_frames(flow, parts, &packet, &opened);

		if (now > seen)
			seen = now;
		if (seen == QUIC_REFUSED)
			break;
	}
	return seen;
}

// RFC 8446 4.1.3: a ServerHello with this random is a request for another hello.
static bool is_request(struct text message)
{
	static const uint8_t random[] = {0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d,
		0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e,
		0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c};

	return message.length >= RANDOM_AT + sizeof(random) &&
	       !memcmp(message.at + RANDOM_AT, random, sizeof(random));
}

static enum quic_answer take_answer(
	struct quic_flow *flow, struct hello_parts *parts, struct text message)
{
	if (message.at[0] != SERVER_HELLO)
		return QUIC_NO_ANSWER;
	if (!flow->whole)
		return QUIC_ANSWER_REFUSED;
	uint32_t asked = 4 + text_be24(parts->bytes + 1);

	if (!is_request(message) || flow->base)
		return QUIC_ANSWERED; // there is one request at most
	flow->base = (uint16_t)asked;
	flow->answer_base = (uint16_t)(4 + text_be24(message.at + 1));
	flow->whole = false;
	hello_parts_clear(parts);
	return QUIC_ASKED_AGAIN;
}

enum quic_answer quic_initial_answer(struct quic_crypto *crypto, struct quic_flow *flow,
	struct hello_parts *parts, struct text datagram)
{
	enum quic_answer answer = QUIC_NO_ANSWER;
	struct packet packet;
	enum quic_type type;

	flow->n_tries = flow->n_opened = 0;
	for (unsigned n = 0; n < QUIC_PACKETS_MAX && take_packet(&datagram, &packet, &type); n++) {
		struct opened opened;
		struct piece piece;

		if (type != QUIC_INITIAL ||
			!quic_keys_derive(packet.version, QUIC_SERVER, flow->cid, flow->cid_length,
				&opened.keys) ||
			!try_keys(crypto, flow, &opened.keys, &packet, &opened))
			continue;
		struct text frames = {opened.inside, opened.length};

		while (answer == QUIC_NO_ANSWER &&
			next_piece(&frames, quic_is_google(packet.version), &piece))
			if (piece.bytes.length && piece.offset == flow->answer_base)
				answer = quic_is_google(packet.version)
						 ? QUIC_ANSWERED
						 : take_answer(flow, parts, piece.bytes);
	}
	return answer;
}
