// SPDX-License-Identifier: BSD-3-Clause
// cache-list, cache-flush. Every lcore has its own replica of the connection cache: a list shows
// an entry once, with the hits of all of them.
#include <stdlib.h>
#include <string.h>

#include "conn_list.h"
#include "selection.h"
#include "tick.h"

struct cache_list {
	struct selection selection;
	struct conn_list entries;
	uint64_t flushed;
};

static void list_free(void *state)
{
	struct cache_list *list = state;

	conn_list_free(&list->entries);
	selection_free(&list->selection);
	free(list);
}

static void list_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct cache_list *list = ((struct request *)ctx)->state;
	const struct conn_entry *entries = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++) {
		if (selection_has(&list->selection, entries[i].app, entries[i].key.initiator,
			    entries[i].key.responder))
			conn_list_add(&list->entries, &entries[i]);
	}
}

// Newest first: what was learned last is what an operator looks for.
static int compare_made(const void *a, const void *b)
{
	uint64_t x = ((const struct conn_entry *)a)->created_ns;
	uint64_t y = ((const struct conn_entry *)b)->created_ns;

	return x != y ? (x < y) - (x > y) : conn_list_compare_keys(a, b);
}

static json_t *entry_json(const struct control_context *context, const struct conn_entry *entry)
{
	uint64_t now_ns = context->now_ns();
	json_t *object = json_object();

	put_address(&object, "src_ip", entry->key.initiator);
	put_address(&object, "dest_ip", entry->key.responder);
	if (entry->key.mode == CACHE_TUPLE) {
		put_number(&object, "dest_port", entry->key.port);
		put_proto(&object, entry->key.l4_proto);
	}
	put_text(&object, "mode", entry->key.mode == CACHE_PEER ? "peer" : "tuple");
	put_text(&object, "zone", entry->key.from_inside ? "inside" : "outside");
	if (entry->key.vlan)
		put_number(&object, "vlan", entry->key.vlan & 0xfff);
	put_app(&object, context, entry->app, entry->confidence, UINT16_MAX, 0);
	put_rule(&object, context, entry->rule_uid);
	put_time(&object, "created", entry->created_ns);
	put_time(&object, "expires", entry->expires_ns);
	put_number(&object, "ttl_s",
		entry->expires_ns > now_ns ? (entry->expires_ns - now_ns) / NS_PER_S : 0);
	put_number(&object, "hits", entry->hits);
	put_number(&object, "saved_bytes", entry->saved_bytes);
	return object;
}

static void list_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct cache_list *list = request->state;
	json_t *message, *entries;
	uint64_t end;

	request->inquiry = NULL;
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
	end = (uint64_t)list->selection.offset + list->selection.limit;
	for (uint64_t i = list->selection.offset; i < end && i < list->entries.n; i++) {
		if (json_array_append_new(
			    entries, entry_json(request->context, &list->entries.entries[i])) < 0)
			put_json(&message, "entries", NULL); // no memory: gives up
	}
	put_number(&message, "matched", list->entries.n);
	put_number(&message, "offset", list->selection.offset);
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

void cmd_cache_list(struct request *request, json_t *arguments)
{
	struct selection selection;
	struct cache_list *list;

	if (!selection_read(request, arguments, &selection))
		return;
	list = list_new(request);
	if (!list) {
		selection_free(&selection);
		return;
	}
	list->selection = selection;
	request_ask(request,
		&(struct inquiry_question){
			.type = QUERY_CACHE, .page = list_page, .end = list_end, .ctx = request});
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

static void flush_end(void *ctx, const char *error)
{
	struct request *request = ctx;
	struct cache_list *list = request->state;
	json_t *message;

	request->inquiry = NULL;
	if (error) {
		request_fail(request, "%s; the other lcores have flushed theirs", error);
		return;
	}
	request->context->cache_removals++;
	message = json_object();
	put_number(&message, "flushed", list->flushed);
	request_ok(request, message);
}

void cmd_cache_flush(struct request *request, json_t *arguments)
{
	if (json_object_size(arguments)) {
		request_fail_arguments(request, "none expected");
		return;
	}
	if (!list_new(request))
		return;
	request_ask(request, &(struct inquiry_question){.type = QUERY_CACHE_FLUSH,
				     .page = flush_page,
				     .end = flush_end,
				     .ctx = request});
}
