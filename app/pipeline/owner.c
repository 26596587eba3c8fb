// SPDX-License-Identifier: BSD-3-Clause
#include <netinet/in.h>
#include <string.h>
#include "lcore.h"
#include "owner.h"

// Toeplitz with the key 6d5a6d5a...: bit i (from the top) of the word, set, adds the 32 key bits
// that begin at bit i.
static uint32_t toeplitz_word(uint16_t word)
{
	uint64_t key = 0x6d5a6d5a6d5aull; // 48 bits: 16 positions of a 32-bit window
	uint32_t hash = 0;

	for (unsigned bit = 0; bit < 16; bit++)
		if (word & (0x8000u >> bit))
			hash ^= (uint32_t)(key >> (16 - bit));
	return hash;
}

static uint16_t fold_words(const uint8_t *bytes, size_t size)
{
	uint16_t fold = 0;

	for (size_t i = 0; i < size; i += 2)
		fold ^= (uint16_t)(bytes[i] << 8 | bytes[i + 1]);
	return fold;
}

static bool by_ports(uint8_t l4_proto, uint16_t vlan)
{
	if (vlan & KEY_FRAGMENT)
		return false;
	return l4_proto == IPPROTO_TCP || l4_proto == IPPROTO_UDP || l4_proto == IPPROTO_SCTP;
}

uint16_t owner_slot(const union flow_key *key, bool v6)
{
	uint16_t fold;

	if (v6) {
		fold = fold_words(key->v6.addr_a, 16) ^ fold_words(key->v6.addr_b, 16);
		if (by_ports(key->v6.l4_proto, key->v6.vlan))
			fold ^= key->v6.port_a ^ key->v6.port_b;
	} else {
		fold = fold_words((const uint8_t *)&key->v4, 8);
		if (by_ports(key->v4.l4_proto, key->v4.vlan))
			fold ^= key->v4.port_a ^ key->v4.port_b;
	}
	return (uint16_t)(toeplitz_word(fold) % OWNER_TABLE);
}

unsigned flow_owner(const struct dataplane *dp, const struct pkt *pkt)
{
	return dp->owner[pkt->owner_slot];
}

void dataplane_owner_fill(struct dataplane *dp)
{
	unsigned size = dp->reta_size && dp->reta_size < OWNER_TABLE ? dp->reta_size : OWNER_TABLE;

	for (unsigned i = 0; i < OWNER_TABLE; i++)
		dp->owner[i] = (uint8_t)(i % size % dp->n_lcores);
}
