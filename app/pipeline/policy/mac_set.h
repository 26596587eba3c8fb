// SPDX-License-Identifier: BSD-3-Clause
// A set of MAC addresses as sorted, disjoint blocks: binary search, no allocation to look up.
#ifndef SLUICE_MAC_SET_H
#define SLUICE_MAC_SET_H

#include <stdbool.h>
#include <stdint.h>

#define MAC_BITS 48

struct mac_block { // of a power of two, as its prefix says; the addresses as numbers
	uint64_t first;
	uint64_t last;
};

struct mac_set {
	struct mac_block *blocks; // owned
	uint32_t n;
};

// "02:00:5e:10:00:01", or its first bits as "02:00:5e:00:00:00/24". -EINVAL: none of these;
// -ERANGE: bits beyond the prefix; -EADDRNOTAVAIL: a group address, which sends nothing; -ENOMEM.
int mac_set_add(struct mac_set *set, const char *text);
int mac_set_merge(struct mac_set *set, const struct mac_set *from);
void mac_set_seal(struct mac_set *set); // after an add, before mac_set_has
bool mac_set_has(const struct mac_set *set, const uint8_t mac[6]);
unsigned mac_block_prefix(const struct mac_block *block);
void mac_set_free(struct mac_set *set);

#endif
