// SPDX-License-Identifier: BSD-3-Clause
// Fragments on their way through an lcore: held in its frag_table,
// and when their datagram is whole, processed as if it had come so. Keeper: the cap is that of the
// table (gateway.json: fragments), what is held is counted, and drained at the end.
//
// What passes the stages is a *view*: one mbuf (two beyond 65,535 bytes) over a buffer of the
// lcore, with the link header of the datagram's first fragment, its innermost IP header as if it
// had never been in fragments, and all its bytes in order. struct pkt is as parse makes it, inside
// of tunnels, too. What is said of the view holds for the fragments: all leave in order of arrival,
// or all are dropped for one reason. The view itself is no packet of the ledger, and lives until
// its last stage.
//
// A fragment is given to an lcore by addresses alone, and its flow may be another's: then all
// fragments of the datagram go there, marked as settled, and are put together again there.
//
// A datagram that was in fragments may be a tunnel's and hold a fragment again. That is held as a
// bundle (fragments_bundle.h): its packets count as fragments of the inner datagram, and share its
// end. It goes to the lcore that has the others by their addresses. One level: what is found to be
// a fragment again is not followed.
//
// A policy that enforces nothing changes nothing: fragments wait for the rest of their datagram (a
// receiver does, too), but of one that is given up all leave, as they came, and those that follow.
#ifndef SLUICE_FRAGMENTS_H
#define SLUICE_FRAGMENTS_H

#include "reassembly/frag.h"
#include "pipeline/stage/packet_ctx.h"

struct fragments;

// NULL: no memory.
struct fragments *fragments_new(struct lcore *lcore, const struct frag_limits *limits,
	const struct hash_seed *seed, int socket);
void fragments_free(struct fragments *fragments);

// Whether the view of a walk is a fragment that can be put together with others.
bool fragments_can_nest(const struct lcore *lcore, const struct pkt *view);
// A fragment, in the place of the stages behind `stateless`. Sets CTX_WHOLE if its datagram is.
// The view of one is gone then, unless it is to be dropped.
enum verdict fragments_take(struct lcore *lcore, struct packet_ctx *ctx);

// Of the datagram that fragments_take has found whole: its view, and its key if it has one
// (*keyed). NULL: no mbuf was free, and the fragments have gone the way of those of a datagram
// given up.
struct rte_mbuf *fragments_view(struct lcore *lcore, union flow_key *key, bool *keyed);
// Whether it was settled here (by another lcore, which asked for its owner).
bool fragments_settled(const struct lcore *lcore);
// Ends of it; each takes the view and the fragments.
void fragments_send(struct lcore *lcore, struct rte_mbuf *view);
void fragments_drop(struct lcore *lcore, struct rte_mbuf *view, enum drop_reason reason);
void fragments_hand_off(struct lcore *lcore, struct rte_mbuf *view, unsigned owner);
// The lcore for the view that has no key: its own, but for a fragment that belongs elsewhere.
unsigned fragments_owner(const struct lcore *lcore, const struct pkt *view);
// Packets that the table has given back for that walk.
unsigned fragments_in_hand(const struct lcore *lcore);

// Once a turn: those whose time is over.
void fragments_age(struct lcore *lcore, unsigned budget);
void fragments_drain(struct lcore *lcore);
unsigned fragments_held(const struct lcore *lcore);
unsigned fragments_datagrams(const struct lcore *lcore);
unsigned fragments_longest_chain(const struct lcore *lcore);

#endif
