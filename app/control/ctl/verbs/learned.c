// SPDX-License-Identifier: BSD-3-Clause
// The commands endpoint-list and name-list: what flows in clear said of others (endpoint_cache.h).
// Every lcore has its own replica: a list shows an entry once, with the hits of all of them.
#include <stdlib.h>
#include <string.h>

#include "pipeline/cache/endpoint_cache.h"
#include "control/ctl/list_filter.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/query.h"

struct learned_list {
	struct filter filter;
	struct endpoint_entry *entries; // owned
	uint32_t n;
	uint32_t capacity;
	bool names;
	bool no_memory; // something was left out
};

static void list_free(void *state)
{
	struct learned_list *list = state;

	free(list->entries);
	list_filter_free(&list->filter);
	free(list);
}

static void list_add(struct learned_list *list, const struct endpoint_entry *entry)
{
	if (list->n == list->capacity) {
		uint32_t capacity = list->capacity ? list->capacity * 2 : 256;
		struct endpoint_entry *entries =
			reallocarray(list->entries, capacity, sizeof(*entries));

		if (!entries) {
			list->no_memory = true;
			return;
		}
		list->entries = entries;
		list->capacity = capacity;
	}
	list->entries[list->n++] = *entry;
}

static void list_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct learned_list *list = ((struct request *)ctx)->state;
	const struct endpoint_entry *entries = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n; i++) {
		const struct endpoint_entry *entry = &entries[i];

		// one without an application only says that the address is nobody's
		if (entry->app != APP_NONE && list_filter_matches(&list->filter, entry->app,
						      entry->key.address, entry->key.client))
			list_add(list, entry);
	}
}

static int compare_keys(const void *a, const void *b)
{
	return memcmp(&((const struct endpoint_entry *)a)->key,
		&((const struct endpoint_entry *)b)->key, sizeof(struct endpoint_key));
}

// What ends last was reported last.
static int compare_ends(const void *a, const void *b)
{
	uint64_t x = ((const struct endpoint_entry *)a)->expires_ns;
	uint64_t y = ((const struct endpoint_entry *)b)->expires_ns;

	return x != y ? (x < y) - (x > y) : compare_keys(a, b);
}

// One entry for each key: the oldest startup, the latest end, the hits of all.
static void list_merge(struct learned_list *list)
{
	uint32_t n = 0;

	if (!list->n)
		return;
	qsort(list->entries, list->n, sizeof(*list->entries), compare_keys);
	for (uint32_t i = 1; i < list->n; i++) {
		struct endpoint_entry *into = &list->entries[n], *entry = &list->entries[i];

		if (compare_keys(into, entry) != 0) {
			list->entries[++n] = *entry;
			continue;
		}
		into->hits += entry->hits;
		if (entry->created_ns < into->created_ns)
			into->created_ns = entry->created_ns;
		if (entry->expires_ns > into->expires_ns)
			into->expires_ns = entry->expires_ns;
	}
	list->n = n + 1;
	qsort(list->entries, list->n, sizeof(*list->entries), compare_ends);
}

static json_t *entry_json(
	const struct control_context *context, const struct endpoint_entry *entry, bool is_name)
{
	static const uint8_t anybody[16];
	uint64_t now_ns = context->now_ns();
	json_t *object = json_object();

	put_address(&object, "address", entry->key.address);
	if (!is_name) {
		put_number(&object, "port", entry->key.port);
		put_proto(&object, entry->key.l4_proto);
	} else if (memcmp(entry->key.client, anybody, sizeof(anybody)) != 0) {
		put_address(&object, "client", entry->key.client);
	}
	put_app(&object, context, entry->app, CONFIDENCE_CACHE, UINT16_MAX, 0);
	put_text(&object, "from", learned_from_word(entry->from));
	if (entry->flow_id)
		put_number(&object, "told_by", entry->flow_id & INT64_MAX);
	put_time(&object, "created", entry->created_ns);
	put_time(&object, "expires", entry->expires_ns);
	put_number(&object, "ttl_s",
		entry->expires_ns > now_ns ? (entry->expires_ns - now_ns) / NS_PER_S : 0);
	put_number(&object, "hits", entry->hits);
	return object;
}

static void list_end(struct request *request, const char *error)
{
	struct learned_list *list = request->state;
	json_t *message, *entries;
	uint64_t end;

	if (error || list->no_memory) {
		request_fail(request, "%s", error ? error : "no memory for the list");
		return;
	}
	list_merge(list);
	message = json_object();
	entries = json_array();
	end = (uint64_t)list->filter.offset + list->filter.limit;
	for (uint64_t i = list->filter.offset; i < end && i < list->n; i++)
		put_item(&entries, entry_json(request->context, &list->entries[i], list->names));
	put_number(&message, "matched", list->n);
	put_number(&message, "offset", list->filter.offset);
	put_json(&message, "entries", entries);
	request_ok(request, message);
}

static void ask_for(struct request *request, json_t *arguments, bool names)
{
	struct filter filter;

	if (!list_filter_read(request, arguments, &filter))
		return;
	struct learned_list *list = calloc(1, sizeof *list);

	if (!list) {
		list_filter_free(&filter);
		request_fail(request, "no memory for the list");
		return;
	}
	list->filter = filter;
	list->names = names;
	request->state = list;
	request->state_free = list_free;
	request_ask(request,
		&(struct inquiry_question){
			.type = names ? QUERY_NAMES : QUERY_ENDPOINTS, .page = list_page},
		list_end);
}

COMMAND(endpoint_list, "endpoint-list", "app, host, limit, offset",
	"peers that flows in clear named")
{
	ask_for(request, arguments, false);
}

COMMAND(name_list, "name-list", "app, host, limit, offset", "addresses that DNS gave for names")
{
	ask_for(request, arguments, true);
}
