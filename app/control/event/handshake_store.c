// SPDX-License-Identifier: BSD-3-Clause
// A table of handshake metadata by flow, until the flow's record is written.
#include "control/event/handshake_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/lcore/lcore.h"

struct assembly { // of one lcore
	struct event head;
	struct handshake_meta meta;
	bool open;
};

struct handshake_store {
	uint32_t max;
	uint32_t n;
	uint32_t n_slots; // a power of two
	uint64_t forgotten;
	handshake_emit_fn *report;
	void *ctx;
	struct handshake_record **slots;
	struct handshake_meta_list {
		struct handshake_record *oldest, *newest;
	} lists[2]; // by `heard`
	struct assembly lcores[LCORES_MAX];
};

int handshake_store_new(
	uint32_t max, handshake_emit_fn *report, void *ctx, struct handshake_store **out)
{
	struct handshake_store *store = calloc(1, sizeof *store);
	uint32_t n_slots = 64;

	if (!store)
		return -ENOMEM;
	while (n_slots < max)
		n_slots *= 2;
	store->max = max;
	store->report = report;
	store->ctx = ctx;
	store->n_slots = n_slots;
	store->slots = calloc(n_slots, sizeof *store->slots);
	if (!store->slots) {
		free(store);
		return -ENOMEM;
	}
	*out = store;
	return 0;
}

void handshake_store_free(struct handshake_store *store)
{
	if (!store)
		return;
	for (unsigned heard = 0; heard < 2; heard++)
		while (store->lists[heard].oldest)
			handshake_store_remove(store, store->lists[heard].oldest);
	free(store->slots);
	free(store);
}

// A flow_id is a hash itself.
static struct handshake_record **slot_of(struct handshake_store *store, uint64_t flow_id)
{
	return &store->slots[flow_id & (store->n_slots - 1)];
}

struct handshake_record *handshake_store_find(struct handshake_store *store, uint64_t flow_id)
{
	struct handshake_record *record = *slot_of(store, flow_id);

	while (record && record->flow_id != flow_id)
		record = record->next;
	return record;
}

static void side_free(struct handshake_meta_side *side)
{
	free(side->bytes);
	*side = (struct handshake_meta_side){0};
}

void handshake_store_emit(struct handshake_store *store, struct handshake_record *record)
{
	if (record->head)
		store->report(store->ctx, record);
	free(record->head);
	record->head = NULL;
}

static void list_add(struct handshake_store *store, struct handshake_record *record)
{
	struct handshake_meta_list *list = &store->lists[record->heard];

	record->older = list->newest;
	record->newer = NULL;
	*(list->newest ? &list->newest->newer : &list->oldest) = record;
	list->newest = record;
}

static void list_remove(struct handshake_store *store, struct handshake_record *record)
{
	struct handshake_meta_list *list = &store->lists[record->heard];

	*(record->older ? &record->older->newer : &list->oldest) = record->newer;
	*(record->newer ? &record->newer->older : &list->newest) = record->older;
}

static void set_heard(struct handshake_store *store, struct handshake_record *record, bool heard)
{
	if (record->heard == heard)
		return;
	list_remove(store, record);
	record->heard = heard;
	list_add(store, record);
}

void handshake_store_remove(struct handshake_store *store, struct handshake_record *record)
{
	struct handshake_record **at = slot_of(store, record->flow_id);

	while (*at != record)
		at = &(*at)->next;
	*at = record->next;
	list_remove(store, record);
	store->n--;
	free(record->head);
	side_free(&record->client);
	side_free(&record->server);
	free(record);
}

static struct handshake_record *add(struct handshake_store *store, uint64_t flow_id)
{
	struct handshake_record **slot = slot_of(store, flow_id);
	struct handshake_record *record = calloc(1, sizeof *record);

	if (!record)
		return NULL;
	record->flow_id = flow_id;
	record->next = *slot;
	*slot = record;
	list_add(store, record);
	store->n++;
	return record;
}

static bool side_set(struct handshake_meta_side *side, const struct handshake_meta *meta)
{
	uint8_t *bytes = meta->length ? malloc(meta->length) : NULL;

	side_free(side);
	if (meta->length && !bytes)
		return false;
	if (bytes)
		memcpy(bytes, meta->bytes, meta->length);
	*side = (struct handshake_meta_side){meta->length, bytes};
	return true;
}

// Of a client: a hello that was reported in part before stands there whole now, and another one
// (the tuple was used again) in place of the old.
static bool set_client(
	struct handshake_store *store, struct handshake_record *record, const struct assembly *from)
{
	bool heard = from->head.heard != EVENT_UNHEARD;

	if (!record->head)
		record->head = malloc(sizeof *record->head);
	if (!record->head)
		return false;
	*record->head = from->head;
	record->kind = from->meta.kind;
	record->awaits = from->head.meta.awaits;
	set_heard(store, record, heard);
	side_free(&record->server);
	return side_set(&record->client, &from->meta);
}

static struct handshake_record *take_answer(
	struct handshake_store *store, const struct assembly *from)
{
	struct handshake_record *record = handshake_store_find(store, from->head.flow_id);

	if (!record || !record->awaits)
		return NULL; // the client's was lost
	record->awaits = false;
	if (from->head.heard != EVENT_UNHEARD && record->head) {
		record->head->heard = from->head.heard;
		set_heard(store, record, true);
	}
	if (record->kind == from->meta.kind && !side_set(&record->server, &from->meta))
		store->forgotten++;
	return record;
}

static struct handshake_record *take_client(
	struct handshake_store *store, const struct assembly *from)
{
	struct handshake_record *record = handshake_store_find(store, from->head.flow_id);

	if (!record)
		record = add(store, from->head.flow_id);
	if (record && set_client(store, record, from))
		return record;
	store->forgotten++;
	if (record)
		handshake_store_remove(store, record);
	return NULL;
}

static void settle(struct handshake_store *store, const struct assembly *from)
{
	struct handshake_record *record =
		from->meta.of_server ? take_answer(store, from) : take_client(store, from);

	if (record && !record->awaits)
		handshake_store_emit(store, record);
	if (store->n <= store->max)
		return;
	record = store->lists[0].oldest ? store->lists[0].oldest : store->lists[1].oldest;
	store->forgotten++;
	handshake_store_emit(store, record);
	handshake_store_remove(store, record);
}

void handshake_store_add(struct handshake_store *store, const struct event *part)
{
	struct assembly *at = &store->lcores[part->lcore % LCORES_MAX];
	struct handshake_meta *meta = &at->meta;
	uint32_t length = part->meta.length;

	if (part->type == EVENT_HANDSHAKE_META) {
		at->head = *part;
		at->open = true;
		handshake_meta_begin(meta, part->meta.kind, part->meta.of_server);
	}
	if (!at->open || meta->kind >= HANDSHAKE_META_KINDS_MAX ||
		length > EVENT_HANDSHAKE_META_BYTES || length > sizeof meta->bytes - meta->length) {
		at->open = false;
		return;
	}
	memcpy(meta->bytes + meta->length, part->meta.bytes, length);
	meta->length = (uint16_t)(meta->length + length);
	if (meta->length < at->head.meta.total)
		return;
	at->open = false;
	settle(store, at);
}

uint32_t handshake_store_count(const struct handshake_store *store)
{
	return store->n;
}

uint64_t handshake_store_forgotten(const struct handshake_store *store)
{
	return store->forgotten;
}
