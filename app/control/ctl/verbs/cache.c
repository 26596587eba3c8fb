// SPDX-License-Identifier: BSD-3-Clause
// The commands cache-list and cache-flush. Every lcore has its own replica of the connection cache:
// a list shows an entry once, with the hits of all of them.
#include <stdlib.h>

#include "control/cache/conn_top.h"
#include "control/ctl/cache_json.h"
#include "control/ctl/list_filter.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

// Entries; of more, matched is how many one lcore has. To sort them takes 20 ms with 16 lcores.
#define COUNTED_EXACTLY 4096u

struct cache_list {
	struct filter filter;
	struct conn_top newest;
	struct conn_list entries;
	uint64_t flushed;
	uint64_t begun_ns; // of a flush: entries that are learned meanwhile stay
};

static void list_free(void *state)
{
	struct cache_list *list = state;

	conn_top_free(&list->newest);
	conn_list_free(&list->entries);
	list_filter_free(&list->filter);
	free(list);
}

static void list_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct cache_list *list = ((struct request *)ctx)->state;
	const struct conn_entry *entries = query->out;

	(void)last;
	for (uint32_t i = 0; i < query->n; i++) {
		if (list_filter_matches(&list->filter, entries[i].app, entries[i].key.initiator,
			    entries[i].key.responder))
			conn_top_offer(&list->newest, lcore, &entries[i], entries[i].created_ns);
	}
}

// Newest first: what was learned last is what an operator looks for.
static int compare_made(const void *a, const void *b)
{
	uint64_t x = ((const struct conn_entry *)a)->created_ns;
	uint64_t y = ((const struct conn_entry *)b)->created_ns;

	return x != y ? (x < y) - (x > y) : conn_list_compare_keys(a, b);
}

static void list_end(struct request *request, const char *error)
{
	struct cache_list *list = request->state;
	json_t *message, *entries;
	uint64_t end;

	conn_top_list(&list->newest, &list->entries);
	if (error || list->entries.no_memory) {
		request_fail(request, "%s", error ? error : "no memory for the list");
		return;
	}
	conn_list_merge(&list->entries);
	if (list->entries.n)
		qsort(list->entries.entries, list->entries.n, sizeof(struct conn_entry),
			compare_made);
	message = json_object();
	entries = json_array();
	end = (uint64_t)list->filter.offset + list->filter.limit;
	for (uint64_t i = list->filter.offset; i < end && i < list->entries.n; i++)
		put_item(&entries, cache_entry_json(request->context, &list->entries.entries[i]));
	put_number(&message, "matched",
		conn_top_has_left_out(&list->newest) ? conn_top_fullest(&list->newest)
						     : list->entries.n);
	put_number(&message, "offset", list->filter.offset);
	put_json(&message, "entries", entries);
	request_ok(request, message);
}

static struct cache_list *list_new(struct request *request)
{
	struct cache_list *list = calloc(1, sizeof *list);

	if (!list) {
		request_fail(request, "no memory for the list");
		return NULL;
	}
	request->state = list;
	request->state_free = list_free;
	return list;
}

COMMAND(cache_list, "cache-list", "app, host, limit, offset", "peers of blocked connections")
{
	struct filter filter;
	struct cache_list *list;

	if (!list_filter_read(request, arguments, &filter))
		return;
	list = list_new(request);
	if (!list) {
		list_filter_free(&filter);
		return;
	}
	list->filter = filter;
	uint32_t end = filter.offset + filter.limit;
	conn_top_init(&list->newest, RTE_MAX(end, COUNTED_EXACTLY), request->context->dp->n_lcores);
	request_ask(request, &(struct inquiry_question){.type = QUERY_CACHE, .page = list_page},
		list_end);
}

static void flush_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct cache_list *list = ((struct request *)ctx)->state;

	(void)lcore;
	(void)last;
	// The replicas hold about the same entries: the fullest one's number is the answer.
	if (query->total > list->flushed)
		list->flushed = query->total;
}

static void flush_end(struct request *request, const char *error)
{
	struct cache_list *list = request->state;
	json_t *message;

	if (error) {
		request_fail(request, "%s; the other lcores have flushed theirs", error);
		return;
	}
	request->context->cache_removals++;
	request->context->cache_flushed_ns = list->begun_ns;
	message = json_object();
	put_number(&message, "flushed", list->flushed);
	request_ok(request, message);
}

COMMAND(cache_flush, "cache-flush", "", "forgets all of them")
{
	if (json_object_size(arguments)) {
		request_fail_arguments(request, "none expected");
		return;
	}
	struct cache_list *list = list_new(request);

	if (!list)
		return;
	list->begun_ns = request->context->now_ns();
	request_ask(request,
		&(struct inquiry_question){.type = QUERY_CACHE_FLUSH, .page = flush_page},
		flush_end);
}
