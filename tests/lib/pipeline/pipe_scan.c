// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>
#include "pipeline/stage/hold.h"
#include "pipe.h"

struct pipe_scan {
	struct scan_config config;
	struct scan_worker *worker;
	struct hold_workers workers;
};

void pipe_scan_new(struct pipe *pipe, const struct scan_config *config)
{
	struct pipe_scan *scan = calloc(1, sizeof(*scan));
	char err[200];

	assert_non_null(scan);
	scan->config = *config;
	if (!scan->config.ops)
		scan->config.ops = &scan_engine_null;
	assert_int_equal(scan_worker_new(&scan->config, 0, pipe->dp.n_lcores, SOCKET_ID_ANY,
				 &scan->worker, err, sizeof(err)),
		0);
	scan->workers = (struct hold_workers){
		.config = &scan->config, .workers = &scan->worker, .n_workers = 1, .in_line = true};
	pipe->scan = scan;
	pipe->dp.scan = &scan->config;
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++)
		assert_int_equal(hold_new(pipe->dp.lcores[i], &scan->workers, err, sizeof(err)), 0);
}

struct scan_link *pipe_scan_link(struct pipe *pipe, unsigned lcore)
{
	return scan_worker_link(pipe->scan->worker, lcore);
}

void pipe_scan_free(struct pipe *pipe)
{
	if (!pipe->scan)
		return;
	for (unsigned i = 0; i < pipe->dp.n_lcores; i++) {
		const struct stats *stats = &pipe->dp.lcores[i]->stats;

		// places and jobs are all given back
		assert_int_equal(stats->scan_flows, 0);
		assert_int_equal(stats->scan_pending, 0);
		hold_free(pipe->dp.lcores[i]);
	}
	scan_worker_free(pipe->scan->worker);
	free(pipe->scan);
	pipe->scan = NULL;
}
