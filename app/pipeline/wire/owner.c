// SPDX-License-Identifier: BSD-3-Clause
// Computes the owner lcore of a packet by a hash of its addresses.
#include <netinet/in.h>
#include <rte_byteorder.h>
#include "pipeline/wire/owner.h"

// Toeplitz with the key 6d5a6d5a...: bit i (from the top) of a word, set, adds the 32 key bits that
// begin at bit i. Only the lowest bits choose the slot. BIT(w, i) is what bit i of w adds to them.
#define KEY          0x6d5a6d5a6d5aull // 48 bits: 16 positions of a 32-bit window
#define SLOT_OF(key) ((uint16_t)((key) % OWNER_TABLE))
#define BIT(w, i)    ((w) & (0x8000u >> (i)) ? SLOT_OF(KEY >> (16 - (i))) : 0u)
#define BYTE(w, i)                                                                   \
	(BIT(w, i) ^ BIT(w, i + 1) ^ BIT(w, i + 2) ^ BIT(w, i + 3) ^ BIT(w, i + 4) ^ \
		BIT(w, i + 5) ^ BIT(w, i + 6) ^ BIT(w, i + 7))
#define UPPER(n)    (uint16_t) BYTE((n) << 8, 0)
#define LOWER(n)    (uint16_t) BYTE(n, 8)
#define ROW4(f, n)  f(n), f((n) + 1), f((n) + 2), f((n) + 3)
#define ROW16(f, n) ROW4(f, n), ROW4(f, (n) + 4), ROW4(f, (n) + 8), ROW4(f, (n) + 12)
#define ROW64(f, n) ROW16(f, n), ROW16(f, (n) + 16), ROW16(f, (n) + 32), ROW16(f, (n) + 48)
#define ROW256(f)   ROW64(f, 0), ROW64(f, 64), ROW64(f, 128), ROW64(f, 192)

const uint16_t owner_upper[256] = {ROW256(UPPER)};
const uint16_t owner_lower[256] = {ROW256(LOWER)};

static uint16_t fold_words(const uint8_t *bytes, size_t size)
{
	uint16_t fold = 0;

	for (size_t i = 0; i < size; i += 2)
		fold ^= (uint16_t)(bytes[i] << 8 | bytes[i + 1]);
	return fold;
}

static bool by_ports(uint8_t l4_proto, uint16_t flags)
{
	if (flags & KEY_FRAGMENT)
		return false;
	return l4_proto == IPPROTO_TCP || l4_proto == IPPROTO_UDP || l4_proto == IPPROTO_SCTP;
}

uint16_t owner_slot(const union flow_key *key, bool v6)
{
	uint16_t fold;

	if (v6) {
		fold = fold_words(key->v6.addr_a, 16) ^ fold_words(key->v6.addr_b, 16);
		if (by_ports(key->v6.l4_proto, key->v6.flags))
			fold ^= key->v6.port_a ^ key->v6.port_b;
	} else {
		uint32_t both = rte_be_to_cpu_32(key->v4.addr_a ^ key->v4.addr_b);

		fold = (uint16_t)(both ^ both >> 16);
		if (by_ports(key->v4.l4_proto, key->v4.flags))
			fold ^= key->v4.port_a ^ key->v4.port_b;
	}
	return owner_slot_of(fold);
}
