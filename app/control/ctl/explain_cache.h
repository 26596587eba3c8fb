// SPDX-License-Identifier: BSD-3-Clause
// The entries of the connection cache that an explanation shows: those for ends that its evidence
// knows, whatever else fits the question, and the newest of the others. Control core only.
#ifndef SLUICE_EXPLAIN_CACHE_H
#define SLUICE_EXPLAIN_CACHE_H

#include "control/cache/conn_top.h"
#include "control/ctl/explain.h"

#define EXPLAIN_PAIRS_MAX 4100
#define EXPLAIN_KNOWN_MAX 1024 // entries for known ends that are kept, those that live longest

struct explain_pair {
	uint8_t initiator[16], responder[16];
};

struct explain_cache {
	struct conn_top known;
	struct conn_top others;
	struct explain_pair *pairs;
	uint32_t n_pairs;
	bool no_memory;
};

void explain_cache_begin(struct explain_cache *cache, unsigned n_lcores);
// All of these, then explain_cache_known once, then offers.
void explain_cache_know(struct explain_cache *cache, const struct flow_ends *ends);
void explain_cache_known(struct explain_cache *cache);
void explain_cache_offer(
	struct explain_cache *cache, unsigned lcore, const struct conn_entry *entry);
// Sets cache, cache_entries and cache_left_out of `found`.
void explain_cache_end(struct explain_cache *cache, struct explain_found *found);
void explain_cache_free(struct explain_cache *cache);

#endif
