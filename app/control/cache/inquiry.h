// SPDX-License-Identifier: BSD-3-Clause
// Questions to all data lcores at once (struct query), answered page by page on the control core's
// event loop. The memory that a lcore may write to outlives whoever asked: a lcore that does not
// answer in time gets the inquiry's failure reported, and its query is kept until it did answer.
#ifndef SLUICE_INQUIRY_H
#define SLUICE_INQUIRY_H

#include <event2/event.h>
#include "pipeline/lcore/lcore.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

#define INQUIRY_PAGE       512  // records of a page
#define INQUIRY_SILENCE_MS 2000 // without any progress of a lcore
#define INQUIRIES_MAX      64   // open ones, those kept for a silent lcore included

struct inquiries;
struct inquiry;

struct inquiry_question {
	enum query_type type;
	bool trace_on;
	bool filtered;
	uint64_t flow_id;
	struct evidence_filter filter;
	uint8_t cache; // the others: as struct query says
	uint64_t ttl_ns;
	struct conn_entry entry;
	struct conn_match match;
	const struct exemption *exemptions; // copied
	unsigned n_exemptions;
	// A page of one lcore: query->n records (as enum query_type says), borrowed for
	// the call. For the last page of a lcore `last` is true. May be NULL.
	void (*page)(void *ctx, unsigned lcore, const struct query *query, bool last);
	// The end, exactly once unless cancelled: NULL, or what went wrong.
	void (*end)(void *ctx, const char *error);
	void *ctx;
};

int inquiries_new(struct event_base *base, struct dataplane *dp, uint64_t (*now_ns)(void),
	struct inquiries **out);
// The lcores have left: nobody writes any more. `end` is called for none.
void inquiries_free(struct inquiries *inquiries);
unsigned inquiries_open(const struct inquiries *inquiries);

// -EBUSY: too many are open, or a lcore's ring is full; -ENOMEM. No callback is called then, nor
// before this returns. *out stays where it is until the end, and is NULL when `end` is called.
int inquiry_start(
	struct inquiries *inquiries, const struct inquiry_question *question, struct inquiry **out);
// The asker has gone; no callback is called any more. Not after `end`.
void inquiry_cancel(struct inquiry *inquiry);

#endif
