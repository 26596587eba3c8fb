// SPDX-License-Identifier: BSD-3-Clause
// Soulseek (Nicotine+'s SLSKPROTOCOL, aioslsk's SOULSEEK): messages are length u32 LE and code (u32
// LE to the server and between peers, u8 in the first message of a peer and in the distributed
// network). Strings have their length before them as u32 LE.
#include "classify/app_proto.h"
#include "pipeline/vocab/octets.h"

// A string at `*offset`; false if it is empty, longer than `max` or not text. Bytes that are not
// here yet are not held against it.
static bool string_good(const struct probe *probe, uint32_t *offset, uint32_t max)
{
	uint32_t length;

	if (probe->length < *offset || probe->length - *offset < 4)
		return true;
	length = octets_le32(probe->bytes + *offset);
	*offset += 4;
	if (!length || length > max)
		return false;
	for (uint32_t i = *offset; i < *offset + length && i < probe->length; i++)
		if (probe->bytes[i] < ' ' || probe->bytes[i] == 0x7f)
			return false;
	*offset += length;
	return true;
}

// To the server: code 1, user, password, version, hash of both in 32 hexadecimal digits, minor.
static enum verify verify_login(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint32_t length = octets_le32(at), offset = 8;

	if (length < 24 || length > 400)
		return VERIFY_NO;
	if (!string_good(probe, &offset, 64) || !string_good(probe, &offset, 128))
		return VERIFY_NO;
	if (offset + 4 > length + 4)
		return VERIFY_NO;
	if (probe->length < length + 4)
		return VERIFY_MORE;
	// the first clients ended with the version
	if (!octets_le32(at + offset) || octets_le32(at + offset) > 4096)
		return VERIFY_NO;
	if (offset + 4 == length + 4)
		return VERIFY_PARTIAL;
	if (length + 4 - offset < 8 + 32 || octets_le32(at + offset + 4) != 32)
		return VERIFY_NO;
	for (uint32_t i = 0; i < 32; i++)
		if (octets_hex(at[offset + 8 + i]) < 0)
			return VERIFY_NO;
	return VERIFY_YES;
}

// To a peer: code 1, user, type "P", "F" or "D", token.
static enum verify verify_peer(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint32_t length = octets_le32(at), offset = 5;

	if (!string_good(probe, &offset, 64) || length != offset - 4 + 4 + 1 + 4)
		return VERIFY_NO;
	if (probe->length < length + 4)
		return VERIFY_MORE;
	if (octets_le32(at + offset) != 1 ||
		(at[offset + 4] != 'P' && at[offset + 4] != 'F' && at[offset + 4] != 'D'))
		return VERIFY_NO;
	return VERIFY_YES;
}

// A string that is all here, and text: none is empty, or longer than `max`.
static bool take_string(const uint8_t **at, uint32_t *left, uint32_t max)
{
	uint32_t length = *left < 4 ? 0 : octets_le32(*at);

	if (!length || length > max || *left - 4 < length)
		return false;
	for (uint32_t i = 4; i < 4 + length; i++)
		if ((*at)[i] < ' ' || (*at)[i] == 0x7f)
			return false;
	*at += 4 + length;
	*left -= 4 + length;
	return true;
}

// The server's answer to the login: it went well, a greeting, the client's address, MD5 of the
// password in hexadecimal (and whether the user has paid); or it did not, and why.
static enum verify verify_login_answer(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 9;
	uint32_t length = octets_le32(probe->bytes), left = length - 5;

	if (length < 5 + 4 + 3 || length > 2000)
		return VERIFY_NO;
	if (probe->length < length + 4)
		return VERIFY_MORE;
	if (!probe->bytes[8]) {
		// any other words are those of any server whose messages begin so
		static const char *const reasons[] = {"INVALIDUSERNAME", "EMPTYPASSWORD",
			"INVALIDPASS", "INVALIDVERSION", "SVRFULL", "SVRPRIVATE", "Bad Password"};
		const uint8_t *reason = at + 4;
		uint32_t n = octets_le32(at);

		if (!take_string(&at, &left, 200))
			return VERIFY_NO;
		for (unsigned i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
			if (octets_begin(reason, n, reasons[i]))
				return VERIFY_YES;
		return VERIFY_NO;
	}
	uint32_t meta = octets_le32(at);

	if (meta > left - 4 || left - 4 - meta < 4 + 4 + 32)
		return VERIFY_NO;
	at += 4 + meta + 4;
	left -= 4 + meta + 4;
	if (octets_le32(at) != 32 || left > 4 + 32 + 1)
		return VERIFY_NO;
	for (uint32_t i = 4; i < 4 + 32; i++)
		if (octets_hex(at[i]) < 0)
			return VERIFY_NO;
	return VERIFY_YES;
}

// ---- the distributed network: searches that are handed down ----

#define SEARCH      3
#define SEARCH_KIND 0x31 // what its first number always is

// Behind the code: kind, user, token, query.
static bool search_good(const uint8_t *at, uint32_t left)
{
	if (left < 4 || octets_le32(at) != SEARCH_KIND)
		return false;
	at += 4;
	left -= 4;
	if (!take_string(&at, &left, 64) || left < 4)
		return false;
	at += 4;
	left -= 4;
	return take_string(&at, &left, 256) && !left;
}

// Length, code: a search; where its sender is in the tree, and whose that is.
static enum verify verify_distributed(const uint8_t *at, uint32_t left)
{
	uint32_t length = octets_le32(at);

	if (length == 5 && at[4] == 4) {
		if (left < 9 || octets_le32(at + 5) > 1000)
			return VERIFY_NO;
		if (left == 9)
			return VERIFY_PARTIAL;
		at += 9;
		left -= 9;
		if (left < 9)
			return VERIFY_PARTIAL;
		length = octets_le32(at);
		if (at[4] == 5 && length >= 6 && length <= 69 && octets_le32(at + 5) + 5 == length)
			return VERIFY_DPI;
	}
	if (length < 18 || length > 400 || at[4] != SEARCH)
		return VERIFY_NO;
	if (left < 4 + length)
		return VERIFY_MORE;
	return search_good(at + 5, length - 1) ? VERIFY_YES : VERIFY_NO;
}

// ---- messages of the server and between peers, from the middle ----

// The server hands down a search, in it one of the distributed network.
static enum verify verify_embedded(const struct probe *probe)
{
	uint32_t length = octets_le32(probe->bytes);

	if (length < 22 || length > 400)
		return VERIFY_NO;
	if (probe->length < 4 + length)
		return VERIFY_MORE;
	return search_good(probe->bytes + 9, length - 5) ? VERIFY_YES : VERIFY_NO;
}

// Somebody cannot be reached: user, "P", "F" or "D", address ... from the server; to it a token
// comes first, and nothing behind.
static enum verify verify_connect(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 8;
	uint32_t length = octets_le32(probe->bytes), left = length - 4;

	if (length < 4 + 5 + 5 || length > 160)
		return VERIFY_NO;
	if (probe->length < 4 + length)
		return VERIFY_MORE;
	for (uint32_t token = 0; token <= 4; token += 4) {
		const uint8_t *name = at + token;
		uint32_t rest = left - token;

		if (!take_string(&name, &rest, 64) || rest < 5 || octets_le32(name) != 1 ||
			(name[4] != 'P' && name[4] != 'F' && name[4] != 'D'))
			continue;
		return rest == 5 || (!token && rest >= 5 + 8) ? VERIFY_YES : VERIFY_NO;
	}
	return VERIFY_NO;
}

// A file by its name, which has the folders that it is in: wanted, queued, refused, its place.
static enum verify verify_file(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 8;
	uint32_t length = octets_le32(probe->bytes), left = length - 4;
	bool transfer = octets_le32(probe->bytes + 4) == 40;

	if (length < 4 + 8 || length > 1000)
		return VERIFY_NO;
	if (probe->length < 4 + length)
		return VERIFY_MORE;
	if (transfer) { // direction, token
		if (left < 8 + 5 || octets_le32(at) > 1)
			return VERIFY_NO;
		at += 8;
		left -= 8;
	}
	const uint8_t *name = at + 4;
	uint32_t n = octets_le32(at);

	if (!take_string(&at, &left, 900) || !memchr(name, '\\', n))
		return VERIFY_NO;
	switch (octets_le32(probe->bytes + 4)) {
	case 40: return left == 8 || !left ? VERIFY_DPI : VERIFY_NO; // size, if it is offered
	case 44: return left == 4 ? VERIFY_DPI : VERIFY_NO;
	case 50: return take_string(&at, &left, 200) && !left ? VERIFY_DPI : VERIFY_NO;
	default: return left ? VERIFY_NO : VERIFY_DPI;
	}
}

// Shares, results, a folder: packed, with a window of 32 KiB and no dictionary, a first block that
// is not merely stored and has no more codes than there are (RFC 1950 2.2, RFC 1951 3.2.3, 3.2.7).
// Numbers where MongoDB's messages have what they answer do not go on like that.
static enum verify verify_packed(const struct probe *probe)
{
	const uint8_t *at = probe->bytes + 8;

	if (probe->length < 11)
		return VERIFY_MORE;
	unsigned type = at[2] >> 1 & 3;

	return octets_le32(probe->bytes) > 12 && at[0] == 0x78 && octets_be16(at) % 31 == 0 &&
			       !(at[1] & 0x20) && (type == 1 || (type == 2 && at[2] >> 3 <= 29))
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

static bool peer_code_good(uint32_t code)
{
	switch (code) {
	case 4:  // shares wanted
	case 5:  // shares
	case 8:  // search
	case 9:  // results
	case 15: // who are you
	case 16: // about me
	case 36: // folder wanted
	case 37: // folder
	case 40: // transfer wanted
	case 41: // its answer
	case 43: // queue this upload
	case 44: // place in the queue
	case 46: // upload failed
	case 50: // upload denied
	case 51: // place wanted
		return true;
	default: return false;
	}
}

static bool peer_message_good(const uint8_t *at)
{
	uint32_t length = octets_le32(at);

	return length >= 4 && length < 1 << 24 && peer_code_good(octets_le32(at + 4));
}

// "Pierce the firewall", 9 bytes with a token, says nothing alone: a message has to follow it. Who
// had asked through the server speaks next: a message between peers, or, of a transfer, the token
// of four bytes, which the piercing side answers with the place to begin at, of eight.
static enum verify verify_pierce(const struct probe *probe)
{
	const uint8_t *at = probe->bytes, *peer = probe->peer;

	if (probe->length >= 9 + 8 && peer_message_good(at + 9))
		return VERIFY_DPI;
	if (probe->peer_length >= 8 && peer_message_good(peer))
		return VERIFY_DPI;
	if (probe->length >= 9 + 9 && verify_distributed(at + 9, probe->length - 9) != VERIFY_NO)
		return VERIFY_DPI;
	if (probe->peer_length >= 9 && verify_distributed(peer, probe->peer_length) != VERIFY_NO)
		return VERIFY_DPI;
	if (probe->peer_length == 4 && probe->length == 9 + 8 && octets_le32(peer) &&
		!octets_le32(at + 13))
		return VERIFY_PARTIAL;
	return probe->length >= 9 + 8 || probe->peer_length >= 8 ? VERIFY_NO : VERIFY_MORE;
}

static enum verify verify_code(const struct probe *probe)
{
	switch (octets_le32(probe->bytes + 4)) {
	case 1: {
		enum verify answer = verify_login(probe);

		return answer == VERIFY_NO && probe->bytes[8] <= 1 ? verify_login_answer(probe)
								   : answer;
	}
	case 5:
	case 9:
	case 37: return verify_packed(probe);
	case 18: return verify_connect(probe);
	case 40:
	case 43:
	case 44:
	case 46:
	case 50:
	case 51: return verify_file(probe);
	case 93: return verify_embedded(probe);
	default: return VERIFY_NO;
	}
}

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length < 9)
		return VERIFY_NO;
	if (octets_le32(at) == 5 && !at[4])
		return verify_pierce(probe);
	if (octets_le32(at) == 5 && at[4] == 4)
		return verify_distributed(at, probe->length);
	if (!at[5] && !at[6] && !at[7]) // else the length of a name, or a number
		return verify_code(probe);
	return at[4] == 1 ? verify_peer(probe) : verify_distributed(at, probe->length);
}

// ---- type 1 of disguise: a key, then numbers of 32 bits, each XOR the key as often turned ----

#define KEY      4
#define INIT_MIN 15
#define INIT_MAX 78

static uint32_t turned(uint32_t key, unsigned by)
{
	by &= 31;
	return by ? key << by | key >> (32 - by) : key;
}

// The octet at `offset` of the message behind the key, which turns right by 31 bits each time.
static uint8_t shown(const uint8_t *at, uint32_t key, uint32_t offset)
{
	return at[KEY + offset] ^ (uint8_t)(turned(key, offset / 4 + 1) >> 8 * (offset & 3));
}

// The first message to a peer on its other port: as in clear, user, type and token, or 0 and a
// token. The length that the user's name gives it and the code are 64 bits; without a name 40.
static enum verify shape_tcp(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	uint8_t clear[4 + INIT_MAX];

	if (probe->length < KEY + 9 || probe->midstream)
		return VERIFY_NO;
	uint32_t key = octets_le32(at), length = octets_le32(at + KEY) ^ turned(key, 1);

	if ((length < INIT_MIN && length != 5) || length > INIT_MAX ||
		probe->length < KEY + 4 + length)
		return VERIFY_NO;
	for (uint32_t i = 0; i < 4 + length; i++)
		clear[i] = shown(at, key, i);
	if (length == 5)
		return clear[4] || probe->length != KEY + 9 ? VERIFY_NO : VERIFY_PARTIAL;
	struct probe init = *probe;

	init.bytes = clear;
	init.length = 4 + length;
	return clear[4] == 1 && verify_peer(&init) == VERIFY_YES ? VERIFY_DPI : VERIFY_NO;
}

const struct app_proto app_proto_soulseek = {
	.name = "soulseek",
	.title = "Soulseek",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.shape_tcp = shape_tcp,
	.tcp_ports = {2234, 2240, 2242},
};
