// SPDX-License-Identifier: BSD-3-Clause
// Opens obfuscated packets of eMule and Kad with keys that were seen in clear.
#include "classify/proto/edonkey/emule_cloak.h"
#include <assert.h>
#include <netinet/in.h>
#include <string.h>
#include "classify/text.h"
#include "pipeline/vocab/edonkey_wire.h"
#include "pipeline/vocab/rc4_md5.h"

enum {
	MARKER = 1, // looks like no other protocol; its low bits say whose key a datagram has
	MAGIC_BYTES = 4,
	UDP_RANDOM = 2,
	UDP_KEY_MAGIC = 91,
	TCP_RANDOM = 4,
	TCP_KEY_MAGIC = 34, // of who asks for the connection
	TCP_DROP = 1024,
	TCP_FLIGHT = MARKER + TCP_RANDOM + MAGIC_BYTES + 3, // methods, the best, padding's length
	KAD_KEYS = 8, // the receiver's and the sender's verify key
};

static_assert(TCP_FLIGHT <= UNCLOAK_BYTES, "what is asked with is enough");

#define UDP_MAGIC 0x395f2ec1u
#define TCP_MAGIC 0x835e6fc4u

// Magic, length of the padding, the padding, for Kad two keys; then a packet as it was in clear.
static bool opens_datagram(struct text first, const uint8_t *material, uint32_t length, bool kad)
{
	uint8_t key[16], head[MAGIC_BYTES + 1 + 16 + KAD_KEYS + 1];
	const uint8_t *at = first.at + MARKER + UDP_RANDOM;
	uint32_t left = first.length - MARKER - UDP_RANDOM, behind;
	struct rc4 rc4;

	md5_block(material, length, key);
	rc4_key(&rc4, key, sizeof(key));
	rc4_stream(&rc4, at, head, MAGIC_BYTES + 1);
	if (octets_le32(head) != UDP_MAGIC || head[4] > 15)
		return false;
	behind = head[4] + (kad ? (uint32_t)KAD_KEYS : 0);
	if (left < MAGIC_BYTES + 1 + behind + 2)
		return false;
	rc4_stream(&rc4, at + MAGIC_BYTES + 1, head + MAGIC_BYTES + 1, behind + 1);
	uint8_t proto = head[MAGIC_BYTES + 1 + behind];

	return kad ? proto == 0xe4 || proto == 0xe5 : proto == 0xc5 || proto == 0xd4;
}

static bool opens_kad(struct text first, const struct endpoint_secret *secret)
{
	uint8_t material[16 + UDP_RANDOM];

	memcpy(material, secret->node, 16);
	memcpy(material + 16, first.at + MARKER, UDP_RANDOM);
	return opens_datagram(first, material, sizeof(material), true);
}

// The sender's address is part of the key: as the receiver sees it, which a NAT between may change.
static bool opens_client(
	struct text first, const uint8_t sender[16], const struct endpoint_secret *secret)
{
	uint8_t material[16 + 4 + 1 + UDP_RANDOM];

	memcpy(material, secret->user, 16);
	memcpy(material + 16, sender + 12, 4);
	material[20] = UDP_KEY_MAGIC;
	memcpy(material + 21, first.at + MARKER, UDP_RANDOM);
	return opens_datagram(first, material, sizeof(material), false);
}

static bool opens_stream(struct text first, const struct endpoint_secret *secret)
{
	uint8_t material[16 + 1 + TCP_RANDOM], key[16], magic[MAGIC_BYTES];
	struct rc4 rc4;

	memcpy(material, secret->user, 16);
	material[16] = TCP_KEY_MAGIC;
	memcpy(material + 17, first.at + MARKER, TCP_RANDOM);
	md5_block(material, sizeof(material), key);
	rc4_key(&rc4, key, sizeof(key));
	rc4_stream(&rc4, NULL, NULL, TCP_DROP);
	rc4_stream(&rc4, first.at + MARKER + TCP_RANDOM, magic, MAGIC_BYTES);
	return octets_le32(magic) == TCP_MAGIC;
}

bool emule_cloak_opens(const struct span *span, const struct flow_ends *ends, uint8_t l4_proto,
	const struct endpoint_secret *secret)
{
	const struct text first = span_text(span);
	uint8_t kind;

	if (l4_proto == IPPROTO_TCP)
		return secret->has_user && !span->offset64 && first.length >= TCP_FLIGHT &&
		       span->half == HALF_C2S && opens_stream(first, secret);
	if (first.length < MARKER + UDP_RANDOM + MAGIC_BYTES + 1 + 2)
		return false;
	// bit 0: a client's, keyed by its user hash; bit 1: Kad's, keyed by what the receiver has
	// given the sender, which nobody else knows; none: Kad's, keyed by the receiver's id
	kind = first.at[0] & 3;
	if (kind & 1)
		return secret->has_user &&
		       opens_client(first, ends->address[span->half & 1], secret);
	return !kind && secret->has_node && opens_kad(first, secret);
}
