// SPDX-License-Identifier: BSD-3-Clause
// Creates the rings between a data lcore and a scan lcore, and moves jobs and verdicts over
// them.
#include "scan/scan_link.h"

#include <errno.h>
#include <stdio.h>

static struct rte_ring *ring_new(
	const char *kind, unsigned lcore, unsigned worker, unsigned element, int socket)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "sl_%s_%u_%u", kind, lcore, worker);
	return rte_ring_create_elem(
		name, element, SCAN_RING, socket, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

int scan_link_init(struct scan_link *link, unsigned lcore, unsigned worker, int socket)
{
	link->jobs = ring_new("sj", lcore, worker, sizeof(struct scan_job), socket);
	link->verdicts = ring_new("sv", lcore, worker, sizeof(struct scan_verdict), socket);
	if (link->jobs && link->verdicts)
		return 0;
	scan_link_fini(link);
	return -ENOMEM;
}

void scan_link_fini(struct scan_link *link)
{
	rte_ring_free(link->jobs);
	rte_ring_free(link->verdicts);
	link->jobs = link->verdicts = NULL;
}

bool scan_link_submit(struct scan_link *link, const struct scan_job *job)
{
	struct scan_job copy = *job; // rte_ring wants no const

	return rte_ring_sp_enqueue_elem(link->jobs, &copy, sizeof(copy)) == 0;
}

unsigned scan_link_verdicts(struct scan_link *link, struct scan_verdict *out, unsigned max)
{
	return rte_ring_sc_dequeue_burst_elem(link->verdicts, out, sizeof(*out), max, NULL);
}
