// SPDX-License-Identifier: BSD-3-Clause
// Soulseek: messages are length u32 LE and code (u32 LE to the server and between peers, u8 in the
// first message of a peer). Strings have their length before them as u32 LE.
#include "app_proto.h"
#include "octets.h"

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
	if (probe->peer_length == 4 && probe->length == 9 + 8 && octets_le32(peer) &&
		!octets_le32(at + 13))
		return VERIFY_PARTIAL;
	return probe->length >= 9 + 8 || probe->peer_length >= 8 ? VERIFY_NO : VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length < 9)
		return VERIFY_NO;
	if (octets_le32(at) == 5 && !at[4])
		return verify_pierce(probe);
	if (octets_le32(at + 4) == 1)
		return verify_login(probe);
	return at[4] == 1 ? verify_peer(probe) : VERIFY_NO;
}

const struct app_proto app_proto_soulseek = {
	.name = "soulseek",
	.title = "Soulseek",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.tcp_ports = {2234, 2240, 2242},
};
