// SPDX-License-Identifier: BSD-3-Clause
// Formats transfers and chat verdicts that are kept.
#include "control/ctl/recent_json.h"

#include "content/file_type.h"
#include "control/ctl/content_json.h"
#include "control/ctl/list_filter.h"
#include "control/event/eve.h"
#include "control/policy/app_names.h"
#include "pipeline/policy/content_rules.h"

static void put_wire(
	json_t **object, const char *key, const uint8_t *bytes, const struct recent_text *text)
{
	if (text->length)
		content_json_put_bytes(object, key, bytes, text->length);
}

static void put_ends(json_t **object, const struct event *event)
{
	bool ports = eve_has_ports(event->l4_proto);

	put_proto(object, event->l4_proto);
	put_address(object, "src_ip", event->ends.address[HALF_C2S]);
	if (ports)
		put_number(object, "src_port", event->ends.port[HALF_C2S]);
	put_address(object, "dest_ip", event->ends.address[HALF_S2C]);
	if (ports)
		put_number(object, "dest_port", event->ends.port[HALF_S2C]);
}

static void put_transfer(json_t **object, const struct content_item *item, bool names)
{
	put_number(object, "file_id", item->file);
	if (names) {
		put_wire(object, "filename", item->name_bytes, &item->name);
		if (item->name.cut)
			put_bool(object, "filename_cut", true);
		put_wire(object, "host", item->to_bytes, &item->to);
		put_wire(object, "login", item->from_bytes, &item->from);
	}
	if (item->size != CONTENT_SIZE_UNKNOWN)
		put_number(object, "size", item->size & INT64_MAX);
	if (item->partial)
		put_bool(object, "partial", true);
	if (item->elsewhere)
		put_bool(object, "announced", true);
	if (!item->ended_ns)
		return;
	put_text(object, "state", content_end_word(item->end));
	put_time(object, "ended", item->ended_ns);
	put_number(object, "bytes", item->bytes & INT64_MAX);
	put_text(object, "type", file_type_word(item->type));
	if (item->not_recorded)
		put_number(object, "not_recorded", item->not_recorded & INT64_MAX);
	put_bool(object, "stored", item->stored);
	if (item->quarantined)
		put_bool(object, "quarantined", true);
	if (item->has_sha256 && names)
		put_text(object, "sha256", item->sha256);
}

static void put_chat(json_t **object, const struct content_item *item, bool names)
{
	if (item->goes_on)
		put_bool(object, "goes_on", true);
	if (!names)
		return;
	put_wire(object, "from", item->from_bytes, &item->from);
	put_wire(object, "to", item->to_bytes, &item->to);
	put_wire(object, "text", item->text_bytes, &item->text);
	if (item->text.cut)
		put_bool(object, "text_cut", true);
}

json_t *recent_json(const struct control_context *context, const struct recent_entry *entry,
	enum recent_kind kind, bool names)
{
	const struct event *event = &entry->event;
	const struct content_item *item = &entry->item;
	const struct app_proto *app = app_names_get(reload_apps(context->reload), event->app);
	json_t *object = json_object();
	char id[EVE_ITEM_ID_BYTES];

	put_number(&object, "seq", entry->seq);
	put_time(&object, "time", event->now_ns);
	put_number(&object, "flow_id", event->flow_id & INT64_MAX);
	eve_item_id(event, id);
	if (*id)
		put_text(&object, "item_id", id);
	put_ends(&object, event);
	if (app)
		put_text(&object, "app", app->name);
	put_user(&object, context, event->user_uid);
	put_rule(&object, context, event->rule_uid);
	put_text(&object, "direction", item->half == HALF_S2C ? "to_client" : "to_server");
	put_text(&object, "action", content_action_word(item->action));
	if (item->action != CONTENT_ACTION_PASS)
		put_text(&object, "mode", item->mode == MODE_MONITOR ? "monitor" : "enforce");
	put_bool(&object, "refused", item->refused);
	if (kind == RECENT_TRANSFERS)
		put_transfer(&object, item, names);
	else
		put_chat(&object, item, names);
	return object;
}
