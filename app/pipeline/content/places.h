// SPDX-License-Identifier: BSD-3-Clause
// Places for flows that are decoded, of one data lcore; inside pipeline/content.
//
// While more than three quarters of them are taken, one source (flow/share.h) gets no more than
// limits.source_pct % of all: who opens many connections and leaves them idle makes its own flows
// wait, not those of others.
#ifndef SLUICE_CONTENT_PLACES_H
#define SLUICE_CONTENT_PLACES_H

#include "pipeline/content/state.h"

// All are free. `content` has n_flows.
void content_places_init(const struct lcore *lcore, struct content *content, uint32_t source_pct);
// For a flow of the table; pages of places that were never taken are not touched. NULL: none is
// free, or none for this source (counted: content_over_share).
struct flow_content *content_place_take(struct lcore *lcore, uint32_t ref);
void content_place_give(struct content *content, struct flow_content *flow);

#endif
