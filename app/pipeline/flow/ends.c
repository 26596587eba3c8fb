// SPDX-License-Identifier: BSD-3-Clause
// Names flows: their ends, their id, the user at the inside end.
#include <string.h>
#include "pipeline/flow/ends.h"
#include "pipeline/lcore/lcore.h"
#include "pipeline/policy/policy.h"

static void map_v4(uint8_t out[16], uint32_t address_be)
{
	memset(out, 0, 10);
	out[10] = out[11] = 0xff;
	memcpy(out + 12, &address_be, 4);
}

void flow_ends_of(const union flow_key *key, uint16_t flags, struct flow_ends *ends)
{
	unsigned a = flags & FLOW_INITIATOR_IS_A ? HALF_C2S : HALF_S2C;

	if (flags & FLOW_V6) {
		memcpy(ends->address[a], key->v6.addr_a, 16);
		memcpy(ends->address[!a], key->v6.addr_b, 16);
		ends->port[a] = key->v6.port_a;
		ends->port[!a] = key->v6.port_b;
	} else {
		map_v4(ends->address[a], key->v4.addr_a);
		map_v4(ends->address[!a], key->v4.addr_b);
		ends->port[a] = key->v4.port_a;
		ends->port[!a] = key->v4.port_b;
	}
}

static uint32_t id_mix(uint32_t hash, uint32_t word)
{
	word *= 0xcc9e2d51;
	word = word << 15 | word >> 17;
	hash ^= word * 0x1b873593;
	return (hash << 13 | hash >> 19) * 5 + 0xe6546b64;
}

#define ID_TAG      (1u << 31) // there is an outermost tag, whose place is below it
#define ID_FRAGMENT (KEY_FRAGMENT << 16)

// Multiply-and-rotate over 32-bit words, finished as MurmurHash3 does. Not that of the table: ids
// are written down, and stay what they are when tables are made faster. So the words are those of
// the first keys: addresses, ports, and one of protocol and outermost tag; what else a realm says
// follows.
static uint32_t id_hash(const union flow_key *key, bool v6)
{
	const size_t n = v6 ? 9 : 3;
	uint32_t words[9], hash = 0x9747b28c, realm = parse_key_realm(key, v6), rest = realm;
	uint32_t last = v6 ? key->v6.l4_proto : key->v4.l4_proto;

	memcpy(words, key, n * 4);
	for (size_t i = 0; i < n; i++)
		hash = id_mix(hash, words[i]);
	if ((v6 ? key->v6.flags : key->v4.flags) & KEY_FRAGMENT)
		last |= ID_FRAGMENT;
	if (realm && !(realm & (REALM_HASHED | REALM_PPPOE))) {
		last |= ID_TAG | (realm & 0xfff) << 16;
		rest = realm >> 12;
	}
	hash = id_mix(hash, last);
	if (v6 || rest)
		hash = id_mix(hash, rest);
	if (v6)
		hash = id_mix(hash, 0);
	hash ^= v6 ? 48 : 16;
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}

uint64_t flow_id_of(const union flow_key *key, bool v6, uint64_t start_ns)
{
	uint64_t x = start_ns ^ ((uint64_t)id_hash(key, v6) << 32);

	// splitmix64's finaliser; 51 bits, as Suricata does: JavaScript's numbers hold 53
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	x ^= x >> 31;
	return x & ((1ull << 51) - 1);
}

void packet_ends(struct rte_mbuf *m, struct flow_ends *ends)
{
	const struct pkt *pkt = pkt_of(m);
	uint8_t buffer[40];
	bool v6 = pkt->flags & PKT_V6;
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, v6 ? 40 : 20, buffer);

	memset(ends, 0, sizeof(*ends));
	if (!ip)
		return;
	for (unsigned i = 0; i < 2; i++) {
		if (v6) {
			memcpy(ends->address[i], ip + 8 + 16 * i, 16);
		} else {
			uint32_t address;

			memcpy(&address, ip + 12 + 4 * i, 4);
			map_v4(ends->address[i], address);
		}
	}
	if (pkt->class != PKT_IP)
		return;
	ends->port[HALF_C2S] = pkt->sport;
	ends->port[HALF_S2C] = pkt->dport;
}

uint32_t flow_user_uid(
	const struct lcore *lcore, const struct flow_ends *ends, bool c2s_from_inside)
{
	const struct policy *policy = lcore->policy;
	uint32_t user = policy ? policy_user(policy, ends, c2s_from_inside) : USER_NONE;

	return user == USER_NONE ? 0 : policy->users.users[user].uid;
}
