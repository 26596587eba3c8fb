// SPDX-License-Identifier: BSD-3-Clause
// A table of handshake metadata by flow, until the flow's record is written.
#include "control/event/greetings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/lcore.h"

struct assembly { // of one lcore
	struct event head;
	struct greeting greeting;
	bool open;
};

struct greetings {
	uint32_t max;
	uint32_t n;
	uint32_t n_slots; // a power of two
	uint64_t forgotten;
	greeting_tell_fn *tell;
	void *ctx;
	struct greeting_record **slots;
	struct greeting_list {
		struct greeting_record *oldest, *newest;
	} lists[2]; // by `heard`
	struct assembly lcores[LCORES_MAX];
};

int greetings_new(uint32_t max, greeting_tell_fn *tell, void *ctx, struct greetings **out)
{
	struct greetings *greetings = calloc(1, sizeof *greetings);
	uint32_t n_slots = 64;

	if (!greetings)
		return -ENOMEM;
	while (n_slots < max)
		n_slots *= 2;
	greetings->max = max;
	greetings->tell = tell;
	greetings->ctx = ctx;
	greetings->n_slots = n_slots;
	greetings->slots = calloc(n_slots, sizeof *greetings->slots);
	if (!greetings->slots) {
		free(greetings);
		return -ENOMEM;
	}
	*out = greetings;
	return 0;
}

void greetings_free(struct greetings *greetings)
{
	if (!greetings)
		return;
	for (unsigned heard = 0; heard < 2; heard++)
		while (greetings->lists[heard].oldest)
			greetings_remove(greetings, greetings->lists[heard].oldest);
	free(greetings->slots);
	free(greetings);
}

// A flow_id is a hash itself.
static struct greeting_record **slot_of(struct greetings *greetings, uint64_t flow_id)
{
	return &greetings->slots[flow_id & (greetings->n_slots - 1)];
}

struct greeting_record *greetings_find(struct greetings *greetings, uint64_t flow_id)
{
	struct greeting_record *record = *slot_of(greetings, flow_id);

	while (record && record->flow_id != flow_id)
		record = record->next;
	return record;
}

static void side_free(struct greeting_side *side)
{
	free(side->bytes);
	*side = (struct greeting_side){0};
}

void greetings_tell(struct greetings *greetings, struct greeting_record *record)
{
	if (record->head)
		greetings->tell(greetings->ctx, record);
	free(record->head);
	record->head = NULL;
}

static void list_add(struct greetings *greetings, struct greeting_record *record)
{
	struct greeting_list *list = &greetings->lists[record->heard];

	record->older = list->newest;
	record->newer = NULL;
	*(list->newest ? &list->newest->newer : &list->oldest) = record;
	list->newest = record;
}

static void list_remove(struct greetings *greetings, struct greeting_record *record)
{
	struct greeting_list *list = &greetings->lists[record->heard];

	*(record->older ? &record->older->newer : &list->oldest) = record->newer;
	*(record->newer ? &record->newer->older : &list->newest) = record->older;
}

static void set_heard(struct greetings *greetings, struct greeting_record *record, bool heard)
{
	if (record->heard == heard)
		return;
	list_remove(greetings, record);
	record->heard = heard;
	list_add(greetings, record);
}

void greetings_remove(struct greetings *greetings, struct greeting_record *record)
{
	struct greeting_record **at = slot_of(greetings, record->flow_id);

	while (*at != record)
		at = &(*at)->next;
	*at = record->next;
	list_remove(greetings, record);
	greetings->n--;
	free(record->head);
	side_free(&record->client);
	side_free(&record->server);
	free(record);
}

static struct greeting_record *add(struct greetings *greetings, uint64_t flow_id)
{
	struct greeting_record **slot = slot_of(greetings, flow_id);
	struct greeting_record *record = calloc(1, sizeof *record);

	if (!record)
		return NULL;
	record->flow_id = flow_id;
	record->next = *slot;
	*slot = record;
	list_add(greetings, record);
	greetings->n++;
	return record;
}

static bool side_set(struct greeting_side *side, const struct greeting *greeting)
{
	uint8_t *bytes = greeting->length ? malloc(greeting->length) : NULL;

	side_free(side);
	if (greeting->length && !bytes)
		return false;
	if (bytes)
		memcpy(bytes, greeting->bytes, greeting->length);
	*side = (struct greeting_side){greeting->length, bytes};
	return true;
}

// Of a client: a hello that was told in part before stands there whole now, and another one (the
// tuple was used again) in place of the old.
static bool set_client(
	struct greetings *greetings, struct greeting_record *record, const struct assembly *from)
{
	bool heard = from->head.heard != EVENT_UNHEARD;

	if (!record->head)
		record->head = malloc(sizeof *record->head);
	if (!record->head)
		return false;
	*record->head = from->head;
	record->kind = from->greeting.kind;
	record->awaits = from->head.greeting.awaits;
	set_heard(greetings, record, heard);
	side_free(&record->server);
	return side_set(&record->client, &from->greeting);
}

static struct greeting_record *take_answer(struct greetings *greetings, const struct assembly *from)
{
	struct greeting_record *record = greetings_find(greetings, from->head.flow_id);

	if (!record || !record->awaits)
		return NULL; // the client's was lost
	record->awaits = false;
	if (from->head.heard != EVENT_UNHEARD && record->head) {
		record->head->heard = from->head.heard;
		set_heard(greetings, record, true);
	}
	if (record->kind == from->greeting.kind && !side_set(&record->server, &from->greeting))
		greetings->forgotten++;
	return record;
}

static struct greeting_record *take_client(struct greetings *greetings, const struct assembly *from)
{
	struct greeting_record *record = greetings_find(greetings, from->head.flow_id);

	if (!record)
		record = add(greetings, from->head.flow_id);
	if (record && set_client(greetings, record, from))
		return record;
	greetings->forgotten++;
	if (record)
		greetings_remove(greetings, record);
	return NULL;
}

static void settle(struct greetings *greetings, const struct assembly *from)
{
	struct greeting_record *record = from->greeting.of_server ? take_answer(greetings, from)
								  : take_client(greetings, from);

	if (record && !record->awaits)
		greetings_tell(greetings, record);
	if (greetings->n <= greetings->max)
		return;
	record = greetings->lists[0].oldest ? greetings->lists[0].oldest
					    : greetings->lists[1].oldest;
	greetings->forgotten++;
	greetings_tell(greetings, record);
	greetings_remove(greetings, record);
}

void greetings_take(struct greetings *greetings, const struct event *part)
{
	struct assembly *at = &greetings->lcores[part->lcore % LCORES_MAX];
	struct greeting *greeting = &at->greeting;
	uint32_t length = part->greeting.length;

	if (part->type == EVENT_GREETING) {
		at->head = *part;
		at->open = true;
		greeting_begin(greeting, part->greeting.kind, part->greeting.of_server);
	}
	if (!at->open || greeting->kind >= GREETING_KINDS_MAX || length > EVENT_GREETING_BYTES ||
		length > sizeof greeting->bytes - greeting->length) {
		at->open = false;
		return;
	}
	memcpy(greeting->bytes + greeting->length, part->greeting.bytes, length);
	greeting->length = (uint16_t)(greeting->length + length);
	if (greeting->length < at->head.greeting.total)
		return;
	at->open = false;
	settle(greetings, at);
}

uint32_t greetings_count(const struct greetings *greetings)
{
	return greetings->n;
}

uint64_t greetings_forgotten(const struct greetings *greetings)
{
	return greetings->forgotten;
}
