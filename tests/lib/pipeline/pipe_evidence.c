// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "pipe_evidence.h"
#include "pipeline/event/evidence.h"
#include "pipeline/query.h"

void pipe_ask(struct pipe *pipe, unsigned lcore, struct query *query)
{
	uint32_t before;

	do {
		before = query->n;
		atomic_store(&query->done, false);
		assert_int_equal(rte_ring_sp_enqueue(pipe->dp.lcores[lcore]->queries, query), 0);
		for (unsigned turns = 0; !atomic_load(&query->done); turns++) {
			assert_true(turns < 1000);
			pipe_turns(pipe);
		}
	} while (query->max && query->n == query->max && query->n != before);
}

unsigned pipe_evidence(
	struct pipe *pipe, const struct evidence_filter *filter, struct evidence *out, unsigned max)
{
	unsigned n = 0;

	for (unsigned i = 0; i < pipe->dp.n_lcores; i++) {
		struct query query = {.type = QUERY_EVIDENCE, .page = true, .filter = *filter};

		query.out = out + n;
		query.max = max - n;
		pipe_ask(pipe, i, &query);
		n += query.n;
	}
	return n;
}

struct flow_record pipe_only_flow(struct pipe *pipe)
{
	struct flow_record records[2];
	unsigned n = 0;

	for (unsigned i = 0; i < pipe->dp.n_lcores; i++) {
		struct query query = {.type = QUERY_FLOWS, .out = records + n, .max = 2 - n};

		pipe_ask(pipe, i, &query);
		n += query.n;
		assert_true(n < 2);
	}
	assert_int_equal(n, 1);
	return records[0];
}
