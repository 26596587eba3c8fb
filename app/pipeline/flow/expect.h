// SPDX-License-Identifier: BSD-3-Clause
// Secondary flows that were announced (app/pipeline/vocab/expectation.h), and what is known of
// those that came. The owning lcore only.
//
// One private replica per data lcore, because nobody knows which of them the flow will be of: who
// hears an announcement broadcasts it, who sees its flow takes it back everywhere (hints.h). One
// announcement is good for one flow, for as long as it says, and is looked up when a flow is made:
// first by both addresses, then for anybody. Bounded; of one teller no more than a share lives at
// once; when all are taken the one that was reported longest ago makes room. Half of the entries at
// most belong to flows that came: beyond that a flow is named, but nothing is kept of it.
#ifndef SLUICE_EXPECT_H
#define SLUICE_EXPECT_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include "classify/app_proto.h"
#include "pipeline/vocab/hash_seed.h"

struct lcore;
struct flow_cold;
struct expect_table;

#define EXPECT_TELLER_SHARE 8 // of one teller (its address) at most one in so many entries
#define EXPECT_NONE         0u

struct expect_key { // 48 bytes
	uint8_t address[16];
	uint8_t peer[16]; // all 0: anybody
	uint16_t port;
	uint8_t l4_proto;
	uint8_t pad[9];
	uint32_t realm; // realm.h
};
static_assert(sizeof(struct expect_key) == 48, "three 16-byte words");

struct expected { // as hints carry it
	struct expectation what;
	uint64_t parent; // flow id of who reported
	uint32_t teller; // hash of its address
	uint32_t realm;  // of its flow: the announced one is of the same
};

// NULL: no memory.
struct expect_table *expect_table_new(unsigned capacity, const struct hash_seed *seed, int socket);
void expect_table_free(struct expect_table *table);
unsigned expect_longest(const struct expect_table *table); // chain, in entries

// `broadcast`: it was heard here; else it was a hint.
void expect_add(struct lcore *lcore, const struct expected *expected, bool broadcast);
// This flow was made; its ends and its realm are in `cold`. EXPECT_NONE: nobody has announced it.
// Else *app is set, unless it was only claimed; the reference is the flow's until it gives it back,
// or EXPECT_UNTOLD: nothing is kept of it.
#define EXPECT_UNTOLD UINT32_MAX
uint32_t expect_take(
	struct lcore *lcore, const struct flow_cold *cold, uint8_t l4_proto, uint16_t *app);
// Another lcore has seen the flow.
void expect_forget(struct lcore *lcore, const struct expect_key *key);
// Of a flow that has one; NULL for EXPECT_NONE and EXPECT_UNTOLD.
const struct expected *expect_at(const struct expect_table *table, uint32_t ref);
// It says itself what it carries: what is said stands above what was announced.
void expect_label(struct expect_table *table, uint32_t ref, const struct transfer_label *label);
// The flow ends.
void expect_give(struct expect_table *table, uint32_t ref);
// Takes out at most `budget` of those that were reported longest ago and are over; and says how
// many wait for their flow.
void expect_age(struct lcore *lcore, unsigned budget);

#endif
