// SPDX-License-Identifier: BSD-3-Clause
// PPStream: video from peers; UDP frames with their own length, and HTTP by its hosts. Known from
// what clients send (no specification is public; the magics are also in OpenDPI and nDPI): the
// length, little endian (of all, or without its head of four or six octets), 0x43, 0x44 or 0x55, a
// magic of 16 bits, an id of 64 bits, numbers of 32 bits that are small. Length, kind, magic and
// eight octets that are zero or small: 70 bits. There are more magics than are known: with its port
// the others count, too. Then datagrams of an older client, with fixed lengths and beginnings
// (libprotoident): one of 32 bits is nothing until the other side answers with 0x80 in its place.
#include "classify/app_proto.h"
#include "classify/text.h"

#define HEAD 21
#define KIND 2
#define PORT 17788

static bool is_zero(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (at[i])
			return false;
	return true;
}

static bool is_length(uint32_t said, uint32_t length)
{
	return said == length || said + 4 == length || said + 6 == length;
}

static bool is_magic(uint16_t magic)
{
	return magic == 0xb171 || magic == 0x7271 || magic == 0x7317 || magic == 0x7471 ||
	       magic == 0x7371;
}

static bool is_old(const uint8_t *at, uint32_t length)
{
	uint32_t begin = octets_be32(at);

	switch (length) {
	case 24: return begin == 0x15805110 || begin == 0x15804001 || begin == 0x14805011;
	case 132: return begin == 0x8480c0d1 || begin == 0x8480d1c0;
	default: return false;
	}
}

static enum verify verify_old(const struct probe *probe)
{
	uint32_t *said = probe->memo->word; // by half
	unsigned half = probe->half & 1;

	if (said[!half] && probe->bytes[1] == 0x80)
		return VERIFY_DPI;
	if (!is_old(probe->bytes, probe->length))
		return said[half] ? VERIFY_MORE : VERIFY_NO;
	said[half] = 1;
	return VERIFY_MORE;
}

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;
	bool own_port = probe->sport == PORT || probe->dport == PORT;

	if (probe->length >= HEAD &&
		(at[1] == 0x80 || probe->memo->word[0] || probe->memo->word[1]))
		return verify_old(probe);
	if (probe->length < HEAD || !is_length(octets_le16(at), probe->length))
		return VERIFY_NO;
	if (at[KIND] == 0x43)
		return octets_le32(at + 5) == 0x000100ff && is_zero(at + 9, 6) ? VERIFY_DPI
									       : VERIFY_NO;
	if (at[KIND] == 0x44 && octets_be16(at + 3) == 0x7471 &&
		octets_have(at + HEAD, probe->length - HEAD, "PPStream"))
		return VERIFY_DPI;
	if (!is_magic(octets_be16(at + 3)) && !own_port)
		return VERIFY_NO;
	if (at[KIND] == 0x55 && octets_be16(at + 13) == 0x1ba0)
		return is_zero(at + 15, 6) ? VERIFY_DPI : VERIFY_NO;
	if (at[KIND] == 0x55 || octets_be16(at + 3) == 0x7317)
		return is_zero(at + 5, 4) && is_zero(at + 14, 7) ? VERIFY_DPI : VERIFY_NO;
	// 0x44: version 1.0, then a command, or -1.
	uint32_t command = octets_le32(at + 17);

	return at[KIND] == 0x44 && octets_le32(at + 13) == 0x00010000 &&
			       ((command && command < 16) || command == UINT32_MAX)
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

const struct app_proto app_proto_ppstream = {
	.name = "ppstream",
	.title = "PPStream",
	.group = "streaming",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.udp_ports = {PORT},
};
