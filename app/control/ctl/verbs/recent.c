// SPDX-License-Identifier: BSD-3-Clause
// The commands transfers and chat: what happened last to files and messages, newest first.
#include <string.h>

#include "control/content/recent.h"
#include "control/ctl/arguments.h"
#include "control/ctl/flow_filter.h"
#include "control/ctl/flow_group.h"
#include "control/ctl/list_filter.h"
#include "control/ctl/recent_json.h"
#include "control/event/eve.h"

struct wanted {
	struct filter list; // host, app, limit, offset
	bool has_user, has_rule, refused;
	uint32_t user_uid, rule_uid;
	const char *item_id; // of the request; NULL: any
};

// False: it is answered already.
static bool read_wanted(struct request *request, json_t *arguments, struct wanted *wanted)
{
	const char *user = NULL, *rule = NULL;

	*wanted = (struct wanted){0};
	if (!list_filter_read(request, arguments, &wanted->list))
		return false;
	if (!argument_text(request, arguments, "user", &user) ||
		!argument_text(request, arguments, "rule", &rule) ||
		!argument_text(request, arguments, "item_id", &wanted->item_id) ||
		!argument_flag(request, arguments, "refused", &wanted->refused) ||
		(user && strcmp(user, FLOW_GROUP_NO_USER) &&
			!flow_filter_user(request, user, &wanted->user_uid)) ||
		(rule && !flow_filter_rule(request, rule, &wanted->rule_uid))) {
		list_filter_free(&wanted->list);
		return false;
	}
	wanted->has_user = user;
	wanted->has_rule = rule;
	return true;
}

static bool is_wanted(const struct wanted *wanted, const struct recent_entry *entry)
{
	const struct event *event = &entry->event;
	char id[EVE_ITEM_ID_BYTES];

	eve_item_id(event, id);
	if (wanted->item_id && strcmp(wanted->item_id, id))
		return false;
	if (wanted->refused && !entry->item.refused)
		return false;
	if (wanted->has_user && event->user_uid != wanted->user_uid)
		return false;
	if (wanted->has_rule && event->rule_uid != wanted->rule_uid)
		return false;
	return list_filter_matches(
		&wanted->list, event->app, event->ends.address[0], event->ends.address[1]);
}

static void answer(
	struct request *request, json_t *arguments, enum recent_kind kind, const char *key)
{
	const struct content_recent *recent = request->context->recent;
	const struct recent_entry *entry;
	json_t *message, *list;
	struct wanted wanted;
	uint64_t matched = 0;

	if (!read_wanted(request, arguments, &wanted))
		return;
	message = json_object();
	list = json_array();
	for (uint32_t i = 0; recent && (entry = content_recent_at(recent, kind, i)); i++) {
		if (!is_wanted(&wanted, entry))
			continue;
		if (matched >= wanted.list.offset &&
			matched - wanted.list.offset < wanted.list.limit)
			put_item(&list, recent_json(request->context, entry, kind, true));
		matched++;
	}
	list_filter_free(&wanted.list);
	put_number(&message, "seen", recent ? content_recent_seen(recent, kind) : 0);
	put_number(&message, "matched", matched);
	put_number(&message, "offset", wanted.list.offset);
	put_json(&message, key, list);
	request_ok(request, message);
}

COMMAND(transfers, "transfers", "host, user, app, rule, item_id, refused, limit, offset",
	"files that were transferred or refused last")
{
	answer(request, arguments, RECENT_TRANSFERS, "transfers");
}

COMMAND(chat, "chat", "host, user, app, rule, item_id, refused, limit, offset",
	"chat messages that rules record or refuse, the last of them")
{
	answer(request, arguments, RECENT_CHAT, "messages");
}
