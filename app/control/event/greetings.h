// SPDX-License-Identifier: BSD-3-Clause
// What the ends of live flows said of themselves (greeting.h), kept for the flows' records: by
// flow_id, at most `limits.greetings`; of more, the oldest of which one end alone was heard is
// forgotten, else the oldest. Control core only.
#ifndef SLUICE_GREETINGS_H
#define SLUICE_GREETINGS_H

#include "pipeline/event/event.h"

struct greeting_side {
	uint32_t length;
	uint8_t *bytes; // fields, for greeting_take; NULL: nothing
};

struct greeting_record {
	uint64_t flow_id;
	struct event *head; // of what the client said, until a record was written of it; else NULL
	uint8_t kind;       // enum greeting_kind
	bool awaits;        // more is to come
	bool heard;         // not EVENT_UNHEARD
	struct greeting_side client, server;
	struct greeting_record *next;          // of the same slot
	struct greeting_record *older, *newer; // of the same `heard`
};

struct greetings;
// Is to write the record that is about `record` alone: once for each, when nothing more is to come
// or no more can be waited for.
typedef void greeting_tell_fn(void *ctx, const struct greeting_record *record);
int greetings_new(
	uint32_t max, greeting_tell_fn *tell, void *ctx, struct greetings **out); // -ENOMEM
void greetings_free(struct greetings *greetings);

// Takes an event of types EVENT_GREETING and EVENT_GREETING_MORE.
void greetings_take(struct greetings *greetings, const struct event *event);
// NULL: nothing is known of that flow.
struct greeting_record *greetings_find(struct greetings *greetings, uint64_t flow_id);
// Tells it, if that has not been done.
void greetings_tell(struct greetings *greetings, struct greeting_record *record);
void greetings_remove(struct greetings *greetings, struct greeting_record *record);

uint32_t greetings_count(const struct greetings *greetings);
// Flows of which nothing is known any more: the oldest of too many, or there was no memory.
uint64_t greetings_forgotten(const struct greetings *greetings);

#endif
