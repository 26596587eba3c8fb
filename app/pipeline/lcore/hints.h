// SPDX-License-Identifier: BSD-3-Clause
// What lcores must share (docs/architecture.md): typed messages, broadcast over the SP/SC rings
// into private replicas. A full ring loses the hint and counts it: a hint is an optimisation, the
// other lcore will learn by itself. Who takes them: hints_apply.h. The sending lcore.
#ifndef SLUICE_HINTS_H
#define SLUICE_HINTS_H

#include "pipeline/lcore/lcore.h"

enum hint_type {
	HINT_CONN_BLOCK,     // struct conn_entry: learned by the connection cache
	HINT_EXPECT,         // struct expected: a secondary flow is to come
	HINT_EXPECT_TAKEN,   // struct expect_key: and has come
	HINT_ENDPOINT,       // struct endpoint_entry: learned by the endpoint cache
	HINT_NAME,           // the same, by the name cache
	HINT_ENDPOINT_WRONG, // the same: payload has said otherwise, it is to be taken out
	HINT_REFUSED_FILE,   // struct refused_file: learned by the memory of refused files
};

#define HINT_BYTES     264 // of a payload
#define HINT_RING_SIZE 1024

struct hint {
	uint8_t type; // enum hint_type
	uint8_t from; // lcore
	uint8_t pad[6];
	_Alignas(8) uint8_t payload[HINT_BYTES];
};
static_assert(sizeof(struct hint) % 4 == 0, "rte_ring_elem wants multiples of 4");

// `size` at most HINT_BYTES. `spare`: for what comes in heaps and is worth little each; leaves half
// of each ring to the others.
void hints_broadcast(
	struct lcore *lcore, enum hint_type type, const void *payload, size_t size, bool spare);

#endif
