// SPDX-License-Identifier: BSD-3-Clause
// Sends a query to every data lcore, and collects the answers page by page.
#include "control/cache/inquiry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/time.h>

#include "pipeline/vocab/tick.h"
#include "pipeline/event/evidence.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/cache/endpoint_cache.h"
#include "pipeline/query.h"

#define POLL_US      2000   // while somebody waits
#define POLL_NEXT_US 100    // a page has come, and there are more
#define POLL_IDLE_US 500000 // while only silent lcores are waited for

struct part { // of one lcore
	struct query query;
	uint64_t cursor; // at the last progress
	uint64_t progress_ns;
	bool posted; // the lcore may write to `query` and to its records
	bool finished;
};

struct inquiry {
	TAILQ_ENTRY(inquiry) entry;
	struct inquiries *owner;
	struct inquiry_question question;
	struct inquiry **out; // the asker's
	bool abandoned;       // nobody waits for the answer; kept for what lcores may still write
	unsigned n_parts;
	char *records;
	struct exemption *exemptions; // lcores read them
	struct part parts[];
};

struct inquiries {
	struct event_base *base;
	struct event *timer;
	struct dataplane *dp;
	uint64_t (*now_ns)(void);
	bool paging; // in the last look, a lcore was asked for its next page
	unsigned n_open;
	TAILQ_HEAD(, inquiry) open;
};

static size_t record_size(enum query_type type)
{
	if (type == QUERY_FLOWS || type == QUERY_FLOW_RESET || type == QUERY_FLOW_ALLOW)
		return sizeof(struct flow_record);
	if (type == QUERY_EVIDENCE)
		return sizeof(struct evidence);
	if (type == QUERY_ENDPOINTS || type == QUERY_NAMES)
		return sizeof(struct endpoint_entry);
	return type == QUERY_CACHE ? sizeof(struct conn_entry) : 0;
}

static void inquiry_free(struct inquiry *inquiry)
{
	TAILQ_REMOVE(&inquiry->owner->open, inquiry, entry);
	inquiry->owner->n_open--;
	free(inquiry->records);
	free(inquiry->exemptions);
	free(inquiry);
}

static int part_post(struct inquiry *inquiry, unsigned i)
{
	struct lcore *lcore = inquiry->owner->dp->lcores[i];
	struct part *part = &inquiry->parts[i];

	part->query.n = 0;
	atomic_store_explicit(&part->query.done, false, memory_order_relaxed);
	if (rte_ring_sp_enqueue(lcore->queries, &part->query))
		return -EBUSY;
	part->posted = true;
	part->cursor = part->query.cursor;
	part->progress_ns = inquiry->owner->now_ns();
	return 0;
}

static bool is_posted(const struct inquiry *inquiry)
{
	for (unsigned i = 0; i < inquiry->n_parts; i++) {
		if (inquiry->parts[i].posted)
			return true;
	}
	return false;
}

static void finish(struct inquiry *inquiry, const char *error)
{
	struct inquiry_question question = inquiry->question;

	// Before the callback, which may start another one.
	*inquiry->out = NULL;
	inquiry->abandoned = true;
	if (!is_posted(inquiry))
		inquiry_free(inquiry);
	question.end(question.ctx, error);
}

static void schedule(struct inquiries *inquiries)
{
	struct timeval delay = {.tv_usec = POLL_IDLE_US};
	const struct inquiry *inquiry;

	if (TAILQ_EMPTY(&inquiries->open)) {
		event_del(inquiries->timer);
		return;
	}
	TAILQ_FOREACH (inquiry, &inquiries->open, entry) {
		if (!inquiry->abandoned)
			delay.tv_usec = inquiries->paging ? POLL_NEXT_US : POLL_US;
	}
	event_add(inquiries->timer, &delay);
}

// What one lcore has done since the last look. True when it is through.
static bool part_step(struct inquiry *inquiry, unsigned i, char *error, size_t error_len)
{
	struct inquiries *owner = inquiry->owner;
	struct part *part = &inquiry->parts[i];
	struct query *query = &part->query;
	uint64_t cursor, now_ns = owner->now_ns();

	if (part->finished)
		return true;
	if (!atomic_load_explicit(&query->done, memory_order_acquire)) {
		// A large table takes many turns: as long as it goes on, it is an answer.
		cursor = __atomic_load_n(&query->cursor, __ATOMIC_RELAXED);
		if (cursor != part->cursor) {
			part->cursor = cursor;
			part->progress_ns = now_ns;
		} else if (now_ns - part->progress_ns > INQUIRY_SILENCE_MS * NS_PER_MS) {
			snprintf(error, error_len,
				"data lcore %u does not answer: it stands still or is overloaded",
				i);
		}
		return false;
	}
	part->posted = false;
	part->finished = !query->max || query->n < query->max;
	if (inquiry->question.page && !inquiry->abandoned)
		inquiry->question.page(inquiry->question.ctx, i, query, part->finished);
	if (inquiry->abandoned)
		part->finished = true;
	else if (!part->finished && part_post(inquiry, i) < 0)
		snprintf(error, error_len, "data lcore %u has too many open questions", i);
	else
		owner->paging |= !part->finished;
	return part->finished;
}

static void inquiry_step(struct inquiry *inquiry)
{
	char error[128] = "";
	bool through = true;

	for (unsigned i = 0; i < inquiry->n_parts; i++)
		through &= part_step(inquiry, i, error, sizeof error);
	if (inquiry->abandoned) {
		if (!is_posted(inquiry))
			inquiry_free(inquiry);
	} else if (through) {
		finish(inquiry, NULL);
	} else if (error[0]) {
		finish(inquiry, error);
	}
}

static void poll_all(evutil_socket_t fd, short what, void *ctx)
{
	struct inquiries *inquiries = ctx;
	struct inquiry *inquiry = TAILQ_FIRST(&inquiries->open);

	(void)fd;
	(void)what;
	inquiries->paging = false;
	while (inquiry) {
		// A callback may cancel no other inquiry than its own, so `next` stays.
		struct inquiry *next = TAILQ_NEXT(inquiry, entry);

		inquiry_step(inquiry);
		inquiry = next;
	}
	schedule(inquiries);
}

int inquiries_new(struct event_base *base, struct dataplane *dp, uint64_t (*now_ns)(void),
	struct inquiries **out)
{
	struct inquiries *inquiries = calloc(1, sizeof *inquiries);

	if (!inquiries)
		return -ENOMEM;
	*inquiries = (struct inquiries){.base = base, .dp = dp, .now_ns = now_ns};
	TAILQ_INIT(&inquiries->open);
	inquiries->timer = evtimer_new(base, poll_all, inquiries);
	if (!inquiries->timer) {
		free(inquiries);
		return -ENOMEM;
	}
	*out = inquiries;
	return 0;
}

void inquiries_free(struct inquiries *inquiries)
{
	if (!inquiries)
		return;
	while (!TAILQ_EMPTY(&inquiries->open))
		inquiry_free(TAILQ_FIRST(&inquiries->open));
	event_free(inquiries->timer);
	free(inquiries);
}

unsigned inquiries_open(const struct inquiries *inquiries)
{
	return inquiries->n_open;
}

int inquiry_start(
	struct inquiries *inquiries, const struct inquiry_question *question, struct inquiry **out)
{
	unsigned n = inquiries->dp->n_lcores;
	size_t size = record_size(question->type);
	struct inquiry *inquiry;

	if (inquiries->n_open >= INQUIRIES_MAX)
		return -EBUSY;
	// Posting to all or to none: a lcore that stands still has its ring full some day.
	for (unsigned i = 0; i < n; i++) {
		if (rte_ring_full(inquiries->dp->lcores[i]->queries))
			return -EBUSY;
	}
	inquiry = calloc(1, sizeof *inquiry + n * sizeof inquiry->parts[0]);
	if (!inquiry)
		return -ENOMEM;
	if (size) {
		inquiry->records = calloc((size_t)n * INQUIRY_PAGE, size);
		if (!inquiry->records) {
			free(inquiry);
			return -ENOMEM;
		}
	}
	if (question->n_exemptions) {
		inquiry->exemptions = calloc(question->n_exemptions, sizeof inquiry->exemptions[0]);
		if (!inquiry->exemptions) {
			free(inquiry->records);
			free(inquiry);
			return -ENOMEM;
		}
		memcpy(inquiry->exemptions, question->exemptions,
			question->n_exemptions * sizeof inquiry->exemptions[0]);
	}
	inquiry->owner = inquiries;
	inquiry->question = *question;
	inquiry->out = out;
	inquiry->n_parts = n;
	TAILQ_INSERT_TAIL(&inquiries->open, inquiry, entry);
	inquiries->n_open++;
	for (unsigned i = 0; i < n; i++) {
		struct query *query = &inquiry->parts[i].query;

		query->type = (uint8_t)question->type;
		query->trace_on = question->trace_on;
		query->flow_id = question->flow_id;
		query->filtered = question->filtered;
		query->filter = question->filter;
		query->cache = question->cache;
		query->ttl_ns = question->ttl_ns;
		query->entry = question->entry;
		query->match = question->match;
		query->exemptions = inquiry->exemptions;
		query->n_exemptions = question->n_exemptions;
		query->page = size != 0;
		query->max = size ? INQUIRY_PAGE : 0;
		query->out = size ? inquiry->records + i * INQUIRY_PAGE * size : NULL;
		part_post(inquiry, i); // there is room: nobody else puts into this ring
	}
	schedule(inquiries);
	*out = inquiry;
	return 0;
}

void inquiry_cancel(struct inquiry *inquiry)
{
	struct inquiries *owner = inquiry->owner;

	inquiry->abandoned = true;
	if (!is_posted(inquiry))
		inquiry_free(inquiry);
	schedule(owner);
}
