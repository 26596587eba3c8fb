// SPDX-License-Identifier: BSD-3-Clause
// What flows in clear say of endpoints, names and flows to come, into the caches (endpoint_cache.h,
// expect.h); and what the
// caches know, onto flows that do not say themselves what they are. The owning lcore only.
#ifndef SLUICE_INSPECT_LEARNED_H
#define SLUICE_INSPECT_LEARNED_H

#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/stage/inspect.h"

// A decoder's sinks; `ctx` is the struct inspection.
void learned_expectation(void *ctx, const struct expectation *expectation);
void learned_transfer(void *ctx, const struct transfer_label *label);
void learned_endpoint(void *ctx, const struct learned_endpoint *endpoint);
void learned_name(void *ctx, const struct learned_name *name);
// What another lcore has learned.
void learned_hint(struct lcore *lcore, const struct endpoint_entry *entry, bool is_name);
// What another lcore has found to be wrong.
void learned_wrong(struct lcore *lcore, const struct endpoint_entry *entry);

// Takes out at most `budget` entries each of what is over.
void learned_age(struct lcore *lcore, unsigned budget);

// A flow was made: what the caches know of its ends is written down.
void learned_ask(struct lcore *lcore, struct flow_cold *cold, uint8_t l4_proto);
// A flow that was announced: so it is reported, and noted in its evidence.
void learned_expected(struct lcore *lcore, uint32_t ref, struct evidence *evidence);
// What it is to be known as when its payload begins anew.
void learned_expected_again(
	const struct lcore *lcore, struct flow *flow, const struct flow_cold *cold);
// Both ends of a classified flow are heard now: a peer's entry that says something else goes.
void learned_from_parser(struct inspection *in);
// After a span was classified. The application is the cache's where payload has none to offer:
// - a peer's: where its disguise is recognised (app_proto.h), or when classification gave up;
// - a name's: at once, unless the name asked for is on its way; a carrier that gave none is named,
//   too.
// - at once and for good where a secret of the end that hears it opens what was said.
// A verdict by payload that says something else takes a peer's entry out, on all lcores. A shape
// says less than who named the peer: the confidence stays CACHE, flow_cold.shaped says that it was
// seen. True: `verdict` changed.
bool learned_apply(struct inspection *in, const struct span *span, const struct classify_work *work,
	struct classify_verdict *verdict);

#endif
