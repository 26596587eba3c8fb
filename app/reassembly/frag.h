// SPDX-License-Identifier: BSD-3-Clause
// Fragments of IP datagrams, held until each datagram is whole (RFC 791 section 3.2, RFC 8200
// section 4.5). A receiver cannot use a part of a datagram, so keeping the parts back costs
// nothing, and what is then inspected is what it will see:
//
// - Two fragments never share a byte. An exact duplicate of one that is held is not taken; any
//   other overlap gives the whole datagram up, in IPv4 as in IPv6 (RFC 5722): which bytes win is
//   the receiver's affair, and receivers differ.
// - Also given up: lengths that contradict each other or no receiver agrees about (empty; not a
//   multiple of 8 with more to come; past the end that a last fragment reported, or two such ends;
//   beyond 65,535 bytes), and more fragments than per_datagram.
// - Later fragments of a datagram that was given up are refused until its time is over, so that
//   a part of it is never taken for the beginning of another.
// - A datagram that is whole is forgotten at once: its identification may come again at any time.
//
// Memory is fixed. Where a limit is reached the oldest datagram goes: whole ones need their place
// for as long as their fragments are apart on the wire, those of a flood for ever. Work is bounded,
// too: a fragment costs one look-up and at most per_datagram comparisons, one if it is in order;
// an eviction is paid for by what was put in before. The hash is keyed, and no chain longer than
// CHAIN_MAX: beyond that its oldest datagram goes.
//
// One per data lcore, its own; no other may look. Packets are opaque but for their bytes.
#ifndef SLUICE_FRAG_H
#define SLUICE_FRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rte_mbuf.h>
#include "pipeline/vocab/hash_seed.h"

#define FRAG_DATAGRAM_MAX 65535u

struct frag_limits {
	uint32_t datagrams;    // put together at once, those given up included
	uint32_t packets;      // mbufs held: a packet of several counts as many
	uint32_t per_datagram; // packets
	uint64_t timeout_ns;   // from a datagram's first fragment on
};

// Unused octets are 0: keys are compared as they lie in memory.
struct frag_key {
	uint8_t source[16]; // IPv4 in the first four
	uint8_t destination[16];
	uint32_t id;
	uint32_t realm; // of its network
	uint8_t proto;  // IPv4; IPv6 has none that holds for all fragments
	uint8_t v6;
	uint8_t from_inside; // the two sides have no receiver in common
	uint8_t unused[5];
};
static_assert(sizeof(struct frag_key) == 48, "no padding but what is named");

// A fragment: `length` bytes of the datagram from `offset` on, as its headers say, which begin at
// `at` of the frame. Less than that may be there (`have`) in a capture.
struct frag_piece {
	struct rte_mbuf *m;
	uint32_t offset;
	uint32_t length;
	uint32_t have;
	uint16_t at;
	bool more;
	// `m` may stand for several packets, whose bytes are in it: what they are more than it
	uint16_t more_packets;
	uint32_t more_mbufs;
};

enum frag_end { // why a datagram never was whole
	FRAG_END_OVERLAP,
	FRAG_END_INVALID, // lengths
	FRAG_END_TIMEOUT,
	FRAG_END_LIMIT,
	FRAG_END_DRAIN,
	FRAG_END_MAX
};

enum frag_verdict {
	FRAG_HELD,
	FRAG_WHOLE,     // frag_whole has it
	FRAG_DUPLICATE, // of one that is held. The caller's still
	FRAG_GIVEN_UP,  // with it its datagram: went to the sink, last of all
	FRAG_REFUSED,   // its datagram was given up before, for *why. The caller's still
};

// Of a datagram that is whole; valid until the next call for the table. The mbufs are the caller's.
struct frag_whole {
	struct rte_mbuf **arrived; // in order of arrival
	struct frag_piece *pieces; // in order of offsets
	unsigned n;
	uint32_t length; // bytes of all pieces
};

struct frag_table;

// Takes the mbufs of a datagram that ends unfinished, in order of arrival; valid for the call.
typedef void frag_sink(void *ctx, enum frag_end why, struct rte_mbuf **mbufs, unsigned n);

// NULL: no memory. `sink` is called within the functions below.
struct frag_table *frag_table_new(const struct frag_limits *limits, const struct hash_seed *seed,
	frag_sink *sink, void *ctx, int socket);
// Nothing may be held any more (frag_drain).
void frag_table_free(struct frag_table *table);

// Takes piece->m unless said otherwise above. `why` is set with FRAG_REFUSED.
enum frag_verdict frag_add(struct frag_table *table, const struct frag_key *key,
	const struct frag_piece *piece, uint64_t now_ns, enum frag_end *why);
// After FRAG_WHOLE, once.
const struct frag_whole *frag_whole(const struct frag_table *table);

// Ends up to `budget` datagrams whose time is over; returns how many.
unsigned frag_age(struct frag_table *table, uint64_t now_ns, unsigned budget);
// Ends all.
void frag_drain(struct frag_table *table);

// mbufs held; packets, as many as they stand for; datagrams in the table, those given up included.
uint32_t frag_held(const struct frag_table *table);
uint32_t frag_packets(const struct frag_table *table);
uint32_t frag_datagrams(const struct frag_table *table);
unsigned frag_longest_chain(const struct frag_table *table); // datagrams

#endif
