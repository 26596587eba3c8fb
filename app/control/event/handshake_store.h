// SPDX-License-Identifier: BSD-3-Clause
// What the ends of live flows said of themselves (metadata.h), kept for the flows' records: by
// flow_id, at most `limits.greetings`; of more, the oldest of which one end alone was heard is
// forgotten, else the oldest. Control core only.
#ifndef SLUICE_HANDSHAKE_STORE_H
#define SLUICE_HANDSHAKE_STORE_H

#include "pipeline/event/event.h"

struct handshake_meta_side {
	uint32_t length;
	uint8_t *bytes; // fields, for handshake_meta_next; NULL: nothing
};

struct handshake_record {
	uint64_t flow_id;
	struct event *head; // of what the client said, until a record was written of it; else NULL
	uint8_t kind;       // enum handshake_meta_kind
	bool awaits;        // more is to come
	bool heard;         // not EVENT_UNHEARD
	struct handshake_meta_side client, server;
	struct handshake_record *next;          // of the same slot
	struct handshake_record *older, *newer; // of the same `heard`
};

struct handshake_store;
// Is to write the record that is about `record` alone: once for each, when nothing more is to come
// or no more can be waited for.
typedef void handshake_emit_fn(void *ctx, const struct handshake_record *record);
int handshake_store_new(uint32_t max, handshake_emit_fn *report, void *ctx,
	struct handshake_store **out); // -ENOMEM
void handshake_store_free(struct handshake_store *store);

// Takes an event of types EVENT_HANDSHAKE_META and EVENT_HANDSHAKE_META_MORE.
void handshake_store_add(struct handshake_store *store, const struct event *event);
// NULL: nothing is known of that flow.
struct handshake_record *handshake_store_find(struct handshake_store *store, uint64_t flow_id);
// Tells it, if that has not been done.
void handshake_store_emit(struct handshake_store *store, struct handshake_record *record);
void handshake_store_remove(struct handshake_store *store, struct handshake_record *record);

uint32_t handshake_store_count(const struct handshake_store *store);
// Flows of which nothing is known any more: the oldest of too many, or there was no memory.
uint64_t handshake_store_forgotten(const struct handshake_store *store);

#endif
