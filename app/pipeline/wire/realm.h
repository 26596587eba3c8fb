// SPDX-License-Identifier: BSD-3-Clause
// The network that a packet belongs to, in 32 bits: its VLAN tags, its PPPoE session, the tunnels
// around it. Addresses mean something within their realm alone, so it is part of every key (flow,
// connection cache, endpoint, name, announced flow, fragment), and nothing that is learned in one
// realm has an effect in another. 0: untagged, no session, no tunnel.
//
// Exact where it fits: one or two tags; a session with at most one tag. What does not fit (more
// tags, tags and a session, every tunnel) is a keyed hash: nobody can choose a tunnel that shares
// the realm of another, two of them do by chance for one pair in 2^31. Such a realm holds for the
// life of the process, and is not saved.
//
// - VLAN 0 is a priority and no tag (IEEE 802.1Q). MPLS labels do not count: they differ by
//   direction.
// - Networks whose directions bear different tags: gateway.json `vlan: shared`; then no tag counts.
// - A PPPoE session is the same in both directions (RFC 2516); of a MAC address nothing counts.
// - A tunnel is its protocol, both outer addresses, in either order, and the key of GRE (RFC 2890),
//   whether there is one included. Tunnels of which each direction has another key are two.
#ifndef SLUICE_REALM_H
#define SLUICE_REALM_H

#include <stdbool.h>
#include <stdint.h>
#include "pipeline/vocab/hash_seed.h"

#define REALM_HASHED (1u << 31)
#define REALM_PPPOE  (1u << 30) // session << 12 | tag; else inner tag << 12 | outer tag

// Constant from the start of a process on.
struct parse_settings {
	struct hash_seed seed;
	bool vlan_shared;
};
// Of replay, tests and benches.
#define PARSE_SETTINGS_FIXED ((struct parse_settings){.seed = HASH_SEED_FIXED})

// From the outside in. `tag` is 1 .. 4095.
uint32_t realm_add_tag(const struct parse_settings *settings, uint32_t realm, uint16_t tag);
uint32_t realm_add_session(const struct parse_settings *settings, uint32_t realm, uint16_t session);

struct realm_tunnel {
	const uint8_t *ip; // the outer header
	bool v6;
	uint8_t proto; // that the outer header names: IPIP, IPv6, GRE
	bool has_key;
	uint32_t key;
};
uint32_t realm_add_tunnel(
	const struct parse_settings *settings, uint32_t realm, const struct realm_tunnel *tunnel);

// Tags of a realm, outermost first, into vlan[]; how many. None where they are not reported.
static inline unsigned realm_tags(uint32_t realm, uint16_t vlan[2])
{
	bool is_tags = !(realm & (REALM_HASHED | REALM_PPPOE));

	vlan[0] = realm & REALM_HASHED ? 0 : realm & 0xfff;
	vlan[1] = is_tags ? (uint16_t)(realm >> 12 & 0xfff) : 0;
	return (vlan[0] ? 1u : 0u) + (vlan[1] ? 1u : 0u);
}

// The PPPoE session; -1: there is none, or it is not reported.
static inline int realm_session(uint32_t realm)
{
	return (realm & (REALM_HASHED | REALM_PPPOE)) == REALM_PPPOE ? (int)(realm >> 12 & 0xffff)
								     : -1;
}

#endif
