// SPDX-License-Identifier: BSD-3-Clause
// WebSocket (RFC 6455) whose beginning was not seen: the handshake is HTTP, and a connection that
// is known by it stays HTTP; what comes behind it are frames. A frame is FIN, three reserved bits
// (the first: deflated, RFC 7692 6), an opcode, MASK, a length of 7, 16 or 64 bits, from a client a
// key of 32 bits (5.1: clients mask, servers do not), the payload.
//
// Of one half: text (opcode 1), which is UTF-8 without control characters once it is unmasked. An
// octet of it proves little more than one bit (0.45 of chance): 24 are enough (8 of first octet, 1
// of mask, 27), or 16 and frames that end exactly (7 of length, 34 in all), 8 such are a hint (25).
// From a server JSON in frames that end exactly: 40 bits. Of both: whole frames, masked on one side
// and not on the other, each 5 bits of first octet, 1 of mask, 7 of length: three of them, two are
// a hint (26).
#include "classify/app_proto.h"
#include "classify/text.h"

#define FIN         0x80
#define RESERVED    0x30 // without the first, which says that it is deflated
#define DEFLATED    0x40
#define OPCODE      0x0f
#define TEXT        1
#define BINARY      2
#define CLOSE       8
#define PONG        10
#define MASK        0x80
#define LENGTH      0x7f
#define CONTROL_MAX 125
#define FRAME_MAX   (1u << 24)
#define FRAMES_MAX  16
#define KEY_BYTES   4
#define TEXT_HINT   8
#define TEXT_WHOLE  16
#define TEXT_ALONE  24
#define FRAMES_SURE 3

struct frames {
	unsigned n;
	unsigned masked;
	unsigned readable; // octets of text
	bool whole;        // the last one ends where the half ends
	bool json;         // each is
};

enum taken {
	TAKEN,
	TAKEN_SHORT, // not all of its head is here
	TAKEN_WRONG,
};

// Takes head and as much of the payload as is here.
static enum taken take_frame(struct text *rest, uint8_t *first, bool *masked,
	uint8_t key[KEY_BYTES], struct text *payload, bool *whole)
{
	uint32_t head = 2, length;

	if (rest->length < head)
		return TAKEN_SHORT;
	uint8_t opcode = rest->at[0] & OPCODE;

	*first = rest->at[0];
	*masked = rest->at[1] & MASK;
	length = rest->at[1] & LENGTH;
	if (!(*first & FIN) || *first & RESERVED ||
		!(opcode == TEXT || opcode == BINARY || (opcode >= CLOSE && opcode <= PONG)))
		return TAKEN_WRONG;
	if (opcode >= CLOSE && (length > CONTROL_MAX || *first & DEFLATED))
		return TAKEN_WRONG;
	// 5.2: the shortest form that holds it
	if (length == 126) {
		head += 2;
		if (rest->length < head)
			return TAKEN_SHORT;
		if (octets_be16(rest->at + 2) < 126)
			return TAKEN_WRONG;
		length = octets_be16(rest->at + 2);
	} else if (length == 127) {
		head += 8;
		if (rest->length < head)
			return TAKEN_SHORT;
		if (octets_be32(rest->at + 2))
			return TAKEN_WRONG;
		length = octets_be32(rest->at + 6);
		if (length <= UINT16_MAX || length > FRAME_MAX)
			return TAKEN_WRONG;
	}
	if (*masked) {
		if (rest->length < head + KEY_BYTES)
			return TAKEN_SHORT;
		memcpy(key, rest->at + head, KEY_BYTES);
		head += KEY_BYTES;
	}
	*payload = text_from(*rest, head);
	*whole = payload->length >= length;
	if (*whole)
		payload->length = length;
	*rest = text_from(*rest, head + length);
	return TAKEN;
}

// RFC 3629 4: how many octets follow this one; -1: none begins so, or it is a control character.
static int follow(uint8_t octet)
{
	if (octet < 0x80) {
		return octet == 0x7f || (octet < ' ' && octet != '\t' && octet != '\r' &&
						octet != '\n')
			       ? -1
			       : 0;
	}
	if (octet < 0xc2 || octet > 0xf4)
		return -1;
	return octet < 0xe0 ? 1 : octet < 0xf0 ? 2 : 3;
}

// How many octets are text from the first on (5.6: UTF-8); the last character may be on its way.
static uint32_t readable(struct text payload, bool masked, const uint8_t key[KEY_BYTES])
{
	uint32_t n = 0;
	int more = 0;

	for (; n < payload.length; n++) {
		uint8_t octet = (uint8_t)(payload.at[n] ^ (masked ? key[n % KEY_BYTES] : 0));

		if (!more)
			more = follow(octet);
		else if (octet >> 6 == 2)
			more--;
		else
			more = -1;
		if (more < 0)
			break;
	}
	return n;
}

static bool is_json(struct text payload)
{
	if (payload.length < TEXT_WHOLE)
		return false;
	uint8_t first = payload.at[0], last = payload.at[payload.length - 1];

	return (first == '{' && last == '}') || (first == '[' && last == ']');
}

// False: something in it is no frame. The head of the last one may be on its way.
static bool read_frames(struct text rest, struct frames *frames)
{
	*frames = (struct frames){.json = true};
	while (rest.length && frames->n < FRAMES_MAX) {
		uint8_t first, key[KEY_BYTES] = {0};
		struct text payload;
		bool masked;

		enum taken taken =
			take_frame(&rest, &first, &masked, key, &payload, &frames->whole);

		if (taken == TAKEN_SHORT) {
			frames->whole = false;
			break;
		}
		if (taken == TAKEN_WRONG)
			return false;
		bool is_text = first == (FIN | TEXT);
		uint32_t n = is_text ? readable(payload, masked, key) : 0;

		if (is_text && n < payload.length)
			return false;
		frames->n++;
		frames->masked += masked;
		frames->readable += n;
		frames->json &= is_text && !masked && is_json(payload);
	}
	return !frames->masked || frames->masked == frames->n;
}

static enum verify verify_frames(const struct probe *probe)
{
	struct frames ours, theirs;

	if (!read_frames(probe_text(probe), &ours))
		return VERIFY_NO;
	bool sealed = ours.masked && ours.whole;

	if (ours.masked && (ours.readable >= TEXT_ALONE || (sealed && ours.readable >= TEXT_WHOLE)))
		return VERIFY_DPI;
	if (ours.n && !ours.masked && ours.whole && ours.json)
		return VERIFY_DPI;
	enum verify alone = sealed && ours.readable >= TEXT_HINT ? VERIFY_PARTIAL : VERIFY_MORE;

	if (!probe->peer_length)
		return alone;
	if (!read_frames((struct text){probe->peer, probe->peer_length}, &theirs))
		return VERIFY_NO;
	if (!ours.whole || !theirs.whole || !ours.masked == !theirs.masked)
		return alone;
	return ours.n + theirs.n >= FRAMES_SURE ? VERIFY_DPI : VERIFY_PARTIAL;
}

static enum verify verify(const struct probe *probe)
{
	return probe->midstream ? verify_frames(probe) : VERIFY_NO;
}

const struct app_proto app_proto_websocket = {
	.name = "websocket",
	.title = "WebSocket",
	.group = "web",
	.category = APP_CATEGORY_WEB,
	.verify = verify,
	.carrier = true,
	.speaks_http = true, // until the upgrade
};
