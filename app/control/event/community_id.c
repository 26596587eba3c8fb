// SPDX-License-Identifier: BSD-3-Clause
// Community ID version 1 (github.com/corelight/community-id-spec). The hashed text is at most 40
// bytes, that is one SHA-1 block: written out here, because a fetch of the digest by libcrypto
// costs more than the digest, and every event carries one.
#include "control/event/sink.h"

#include <netinet/in.h>
#include <string.h>

#include "pipeline/vocab/address.h"

static uint32_t rotate(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

// FIPS 180-4 section 6.1.2 for a message of at most 55 bytes.
static void sha1_block(const uint8_t *text, size_t length, uint8_t digest[20])
{
	uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
	uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], w[80];
	uint8_t block[64] = {0};

	memcpy(block, text, length);
	block[length] = 0x80;
	block[62] = (uint8_t)(length * 8 >> 8);
	block[63] = (uint8_t)(length * 8);
	for (unsigned t = 0; t < 16; t++) {
		w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
		       (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
	}
	for (unsigned t = 16; t < 80; t++)
		w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
	for (unsigned t = 0; t < 80; t++) {
		uint32_t f, k, next;

		if (t < 20) {
			f = (b & c) | (~b & d);
			k = 0x5a827999;
		} else if (t < 40) {
			f = b ^ c ^ d;
			k = 0x6ed9eba1;
		} else if (t < 60) {
			f = (b & c) | (b & d) | (c & d);
			k = 0x8f1bbcdc;
		} else {
			f = b ^ c ^ d;
			k = 0xca62c1d6;
		}
		next = rotate(a, 5) + f + e + k + w[t];
		e = d;
		d = c;
		c = rotate(b, 30);
		b = a;
		a = next;
	}
	h[0] += a;
	h[1] += b;
	h[2] += c;
	h[3] += d;
	h[4] += e;
	for (unsigned i = 0; i < 20; i++)
		digest[i] = (uint8_t)(h[i / 4] >> (24 - 8 * (i % 4)));
}

static void base64_digest(const uint8_t digest[20], char out[28])
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (unsigned i = 0; i < 7; i++) { // the last group has two bytes and one '='
		uint32_t group = (uint32_t)digest[3 * i] << 16 | (uint32_t)digest[3 * i + 1] << 8;

		if (i < 6)
			group |= digest[3 * i + 2];
		for (unsigned j = 0; j < 4; j++)
			out[4 * i + j] = alphabet[group >> (18 - 6 * j) & 63];
	}
	out[27] = '=';
}

// ICMP types that ask or answer: such a flow has two directions, any other only one, and the ends
// of a one-way flow are not ordered.
static bool icmp_is_two_way(uint8_t l4_proto, uint16_t type)
{
	static const uint8_t icmp4[] = {0, 8, 9, 10, 13, 14, 15, 16, 17, 18};
	static const uint8_t icmp6[] = {128, 129, 130, 131, 133, 134, 135, 136, 139, 140, 144, 145};
	const uint8_t *types = l4_proto == IPPROTO_ICMP ? icmp4 : icmp6;
	size_t n = l4_proto == IPPROTO_ICMP ? sizeof icmp4 : sizeof icmp6;

	return type < 256 && memchr(types, type, n);
}

static bool has_ports(uint8_t l4_proto)
{
	return l4_proto == IPPROTO_TCP || l4_proto == IPPROTO_UDP || l4_proto == IPPROTO_SCTP ||
	       l4_proto == IPPROTO_ICMP || l4_proto == IPPROTO_ICMPV6;
}

void community_id(const struct flow_ends *ends, uint8_t l4_proto, char *out, size_t out_len)
{
	bool v4 = address_is_mapped(ends->address[0]) && address_is_mapped(ends->address[1]);
	size_t skip = v4 ? 12 : 0, n = 16 - skip, used = 2;
	unsigned first = 0;
	uint8_t text[40] = {0}, digest[20]; // starts with the seed, 0
	char id[31];
	int order;

	order = memcmp(ends->address[0] + skip, ends->address[1] + skip, n);
	if (!order)
		order = (int)ends->port[0] - (int)ends->port[1];
	if (order > 0)
		first = 1;
	if ((l4_proto == IPPROTO_ICMP || l4_proto == IPPROTO_ICMPV6) &&
		!icmp_is_two_way(l4_proto, ends->port[0]))
		first = 0;

	memcpy(text + used, ends->address[first] + skip, n);
	used += n;
	memcpy(text + used, ends->address[!first] + skip, n);
	used += n;
	text[used++] = l4_proto;
	text[used++] = 0;
	if (has_ports(l4_proto)) {
		text[used++] = (uint8_t)(ends->port[first] >> 8);
		text[used++] = (uint8_t)ends->port[first];
		text[used++] = (uint8_t)(ends->port[!first] >> 8);
		text[used++] = (uint8_t)ends->port[!first];
	}
	sha1_block(text, used, digest);
	id[0] = '1';
	id[1] = ':';
	base64_digest(digest, id + 2);
	id[30] = '\0';
	if (out_len) {
		n = out_len < sizeof id ? out_len : sizeof id;
		memcpy(out, id, n);
		out[n - 1] = '\0';
	}
}
