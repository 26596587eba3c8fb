// SPDX-License-Identifier: BSD-3-Clause
// Who takes which hint.
#include "pipeline/hints_apply.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/content/flow_content.h"
#include "pipeline/flow/expect.h"
#include "pipeline/lcore/hints.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/cache/endpoint_cache.h"

static_assert(sizeof(struct conn_entry) <= HINT_BYTES && sizeof(struct expected) <= HINT_BYTES &&
		      sizeof(struct endpoint_entry) <= HINT_BYTES &&
		      sizeof(struct refused_file) <= HINT_BYTES,
	"a hint carries them");

static void apply(struct lcore *lcore, const struct hint *hint)
{
	const void *payload = hint->payload;

	switch ((enum hint_type)hint->type) {
	case HINT_CONN_BLOCK: conn_cache_learn(lcore, payload, false); break;
	case HINT_EXPECT: expect_add(lcore, payload, false); break;
	case HINT_EXPECT_TAKEN: expect_forget(lcore, payload); break;
	case HINT_ENDPOINT: learned_hint(lcore, payload, false); break;
	case HINT_NAME: learned_hint(lcore, payload, true); break;
	case HINT_ENDPOINT_WRONG: learned_wrong(lcore, payload); break;
	case HINT_REFUSED_FILE: content_refused_hint(lcore, payload); break;
	}
}

void hints_apply(struct lcore *lcore)
{
	struct hint hint;

	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		struct rte_ring *ring = lcore->hints_in[i];

		for (unsigned n = 0; ring && n < HINT_RING_SIZE; n++) {
			if (rte_ring_sc_dequeue_elem(ring, &hint, sizeof(hint)))
				break;
			lcore->stats.hints_received++;
			apply(lcore, &hint);
		}
	}
}
