// SPDX-License-Identifier: BSD-3-Clause
// Sets of addresses, as rules have them. Filled and sealed by the policy loader, then read-only on
// any core.
#ifndef SLUICE_ADDRESS_SET_H
#define SLUICE_ADDRESS_SET_H

#include <stdbool.h>
#include <stdint.h>

// A set of addresses as sorted, disjoint, inclusive ranges: binary search, no allocation to
// look up. Both families; host order for IPv4, big-endian bytes for IPv6.
struct address_range4 {
	uint32_t first;
	uint32_t last;
};
struct address_range6 {
	uint8_t first[16];
	uint8_t last[16];
};
struct address_set {
	struct address_range4 *v4;
	struct address_range6 *v6;
	uint32_t n_v4;
	uint32_t n_v6;
};
// `address` is v4-mapped for IPv4 (::ffff:a.b.c.d), as struct flow_ends has it.
bool address_set_has(const struct address_set *set, const uint8_t address[16]);
// Adds "10.0.0.0/8", "192.0.2.1", "2001:db8::/32". -EINVAL for text that is none of these,
// -ENOMEM. Host bits beyond the prefix are an error (-ERANGE): they are a typing mistake.
int address_set_add(struct address_set *set, const char *text);
// Adds what `from` has. -ENOMEM.
int address_set_merge(struct address_set *set, const struct address_set *from);
// Sorts and merges; to be called once after the last add.
void address_set_seal(struct address_set *set);
void address_set_free(struct address_set *set);

#endif
