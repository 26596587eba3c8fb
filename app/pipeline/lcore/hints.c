// SPDX-License-Identifier: BSD-3-Clause
// Puts a hint on the rings of all other lcores.
#include <assert.h>
#include <string.h>
#include "pipeline/lcore/hints.h"

void hints_broadcast(
	struct lcore *lcore, enum hint_type type, const void *payload, size_t size, bool spare)
{
	struct hint hint = {.type = (uint8_t)type, .from = (uint8_t)lcore->index};
	unsigned left = spare ? HINT_RING_SIZE / 2 : 0;

	assert(size <= HINT_BYTES);
	memcpy(hint.payload, payload, size);
	for (unsigned i = 0; i < lcore->dp->n_lcores; i++) {
		if (i == lcore->index)
			continue;
		struct rte_ring *ring = lcore->dp->lcores[i]->hints_in[lcore->index];

		if (rte_ring_free_count(ring) > left &&
			rte_ring_sp_enqueue_elem(ring, &hint, sizeof(hint)) == 0)
			lcore->stats.hints_sent++;
		else
			lcore->stats.hints_lost++;
	}
}
