// SPDX-License-Identifier: BSD-3-Clause
// Formats `struct event` as one line of EVE JSON (docs/events.md describes every field). Control
// core only. Pure: the same event and names give the same bytes.
#ifndef SLUICE_EVE_H
#define SLUICE_EVE_H

#include "control/event/handshake_store.h"
#include "base/redact.h"
#include "control/event/sink.h"

// No event of a lcore renders longer: both sides of a greeting, each byte as an escape of six.
#define EVE_LINE_MAX (8192 + 2 * 6 * HANDSHAKE_META_BYTES)

struct eve_names { // what an event's numbers mean; borrowed
	const struct dataplane *dp;
	const struct rule_names *rules;
	const struct app_names *apps; // NULL: built-in ones only
	const struct sigdb *sigdb;    // may be NULL
	const char *source;           // pkt_src, or NULL
	struct redact_rules redact;   // of what people sent
};

// Appends the line and its newline. With `out->full` afterwards the line is not to be used.
// `greeting`: what the flow's ends said, or NULL; of EVENT_HANDSHAKE_META it is what the line is
// about.
void eve_render(const struct eve_names *names, const struct event *event,
	const struct handshake_record *meta, struct json_out *out);
// The same with an object that is JSON already, of its type's name.
void eve_render_object(const struct eve_names *names, const struct event *event, const char *json,
	size_t length, struct json_out *out);
// {"timestamp":...,"event_type":TYPE  -- the object stays open.
void eve_head(struct json_out *out, uint64_t now_ns, const char *type);
// ... with the flow's number and ends. Any thread: it asks for no names.
void eve_head_of_flow(struct json_out *out, const struct event *event, const char *type);
// One file or message, in its own records and in the alert that it led to: the number of the flow
// that named it, and its own. Empty: the event is of none.
#define EVE_ITEM_ID_BYTES 32
void eve_item_text(const struct item_id *item, char text[EVE_ITEM_ID_BYTES]);
void eve_item_id(const struct event *event, char text[EVE_ITEM_ID_BYTES]);
// The rule that `uid` names: its id, "default" for 0.
const char *eve_rule(const struct eve_names *names, uint32_t uid);

// eve_flow.c: the members of the types that have many.
void eve_flow(const struct event *event, struct json_out *out);
void eve_drop(const struct event *event, struct json_out *out);
// eve_handshake.c: "tls", "quic", "http", and the object of that name.
const char *eve_handshake_meta_word(uint8_t kind);
void eve_handshake(const struct handshake_record *record, struct json_out *out);
const char *eve_proto(uint8_t l4_proto, char number[4]); // "TCP"; else the number as text
bool eve_has_ports(uint8_t l4_proto);

#endif
