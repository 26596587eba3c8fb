// SPDX-License-Identifier: BSD-3-Clause
// What lcores must share (docs/architecture.md): one typed message, broadcast over the SP/SC
// rings into private replicas. A full ring loses the hint and counts it: a hint is an
// optimisation, the other lcore will learn by itself.
#ifndef SLUICE_HINTS_H
#define SLUICE_HINTS_H

#include "pipeline/cache/conn_cache.h"
#include "classify/classify.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/cache/expect.h"

struct lcore;

enum hint_type {
	HINT_CONN_BLOCK,     // connection cache entry learned
	HINT_EXPECT,         // a secondary flow is to be expected
	HINT_EXPECT_TAKEN,   // and has come
	HINT_ENDPOINT,       // endpoint cache entry learned
	HINT_NAME,           // name cache entry learned
	HINT_ENDPOINT_WRONG, // payload has said otherwise: take it out
};

struct hint {
	uint8_t type; // enum hint_type
	uint8_t from; // lcore
	uint8_t pad[6];
	union {
		struct conn_entry conn;
		struct expected expected;
		struct expect_key key;
		struct endpoint_entry endpoint;
	};
};
static_assert(sizeof(struct hint) % 4 == 0, "rte_ring_elem wants multiples of 4");
#define HINT_RING_SIZE 1024

void hints_broadcast(struct lcore *lcore, const struct hint *hint);
// For what comes in heaps and is worth little each: leaves half of each ring to the others.
void hints_broadcast_spare(struct lcore *lcore, const struct hint *hint);
// Applies what other lcores reported; at most one ring's worth per call.
void hints_receive(struct lcore *lcore);

#endif
