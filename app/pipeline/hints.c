// SPDX-License-Identifier: BSD-3-Clause
// Sends hints to the other lcores, and applies those that they have sent.
#include "pipeline/hints.h"
#include "pipeline/stage/inspect_learned.h"
#include "pipeline/lcore.h"

static void send_hint(struct lcore *lcore, const struct hint *hint, unsigned spare)
{
	struct hint message = *hint;

	message.from = (uint8_t)lcore->index;
	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		if (i == lcore->index)
			continue;
		struct rte_ring *ring = lcore->dp->lcores[i]->hints_in[lcore->index];

		if (rte_ring_free_count(ring) > spare &&
			rte_ring_sp_enqueue_elem(ring, &message, sizeof(message)) == 0)
			lcore->stats.hints_sent++;
		else
			lcore->stats.hints_lost++;
	}
}

void hints_broadcast(struct lcore *lcore, const struct hint *hint)
{
	send_hint(lcore, hint, 0);
}

void hints_broadcast_spare(struct lcore *lcore, const struct hint *hint)
{
	send_hint(lcore, hint, HINT_RING_SIZE / 2);
}

void hints_receive(struct lcore *lcore)
{
	struct hint hint;

	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		struct rte_ring *ring = lcore->hints_in[i];

		for (unsigned n = 0; ring && n < HINT_RING_SIZE; n++) {
			if (rte_ring_sc_dequeue_elem(ring, &hint, sizeof(hint)))
				break;
			lcore->stats.hints_received++;
			switch (hint.type) {
			case HINT_CONN_BLOCK: conn_cache_learn(lcore, &hint.conn, false); break;
			case HINT_EXPECT: expect_add(lcore, &hint.expected, false); break;
			case HINT_EXPECT_TAKEN: expect_forget(lcore, &hint.key); break;
			case HINT_ENDPOINT: learned_hint(lcore, &hint.endpoint, false); break;
			case HINT_NAME: learned_hint(lcore, &hint.endpoint, true); break;
			case HINT_ENDPOINT_WRONG: learned_wrong(lcore, &hint.endpoint); break;
			}
		}
	}
}
