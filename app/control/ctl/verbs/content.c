// SPDX-License-Identifier: BSD-3-Clause
// The commands content-add, content-del, content-list and content-flush: content ids that the
// operator has refused.
#include <errno.h>
#include <string.h>

#include "content/content_id.h"
#include "control/content/blocked.h"
#include "control/ctl/arguments.h"
#include "control/event/sink.h"
#include "pipeline/policy/policy.h"
#include "pipeline/vocab/tick.h"

#define TTL_MAX_S  315360000 // ten years
#define LIST_MAX   10000
#define LIST_USUAL 100

static struct blocked_ids *list_of(struct request *request)
{
	if (!request->context->blocked)
		request_fail(request, "this gateway keeps no list of content ids");
	return request->context->blocked;
}

// The ids that the argument names. 0: answered.
static unsigned read_ids(struct request *request, const json_t *arguments,
	struct content_id ids[CONTENT_ID_LINK_IDS])
{
	const char *text = NULL, *why;
	unsigned n;

	if (!argument_text(request, arguments, "id", &text))
		return 0;
	if (!text) {
		request_fail_arguments(request, "id is missing");
		return 0;
	}
	n = content_id_parse(text, (uint32_t)strlen(text), ids, &why);
	if (!n)
		request_fail(request, "\"%.100s\" %s", text, why);
	return n;
}

static json_t *texts_json(const struct content_id *ids, unsigned n)
{
	json_t *array = json_array();
	char text[CONTENT_ID_TEXT];

	for (unsigned i = 0; i < n; i++)
		put_item(&array, json_string(content_id_print(&ids[i], text)));
	return array;
}

// `id` NULL: of all.
static void tell(const struct request *request, enum operator_command command,
	const struct content_id *id, uint64_t ttl_s)
{
	struct event event = {
		.now_ns = request->context->now_ns(),
		.generation = reload_generation(request->context->reload),
		.type = EVENT_OPERATOR,
		.in_port = PORT_NONE,
		.signature = UINT16_MAX,
		.operation = {.command = (uint8_t)command, .ttl_s = ttl_s},
	};

	static_assert(sizeof(event.operation.text) >= CONTENT_ID_TEXT, "an id has room");
	if (id)
		content_id_print(id, event.operation.text);
	if (request->context->sink)
		sink_event(request->context->sink, &event);
}

// Whether it changes a packet: under a policy that enforces nothing it is reported alone.
static void put_effect(const struct request *request, json_t **message)
{
	const struct policy *policy = reload_policy(request->context->reload);

	put_json(message, "enforced", json_boolean(policy && policy->enforces));
}

static void finish(struct request *request, struct blocked_ids *blocked, json_t *message)
{
	size_t n;

	if (blocked_ids_publish(blocked) < 0) {
		json_decref(message);
		request_fail(request, "no memory: the lcores do not have the list yet; it is tried "
				      "again");
		return;
	}
	blocked_ids_list(blocked, &n);
	put_number(&message, "total", n);
	request_ok(request, message);
}

COMMAND(content_add, "content-add", "id, comment, ttl_s", "refuses a content id")
{
	struct content_id ids[CONTENT_ID_LINK_IDS];
	struct blocked_ids *blocked = list_of(request);
	uint64_t ttl_s = 0, now_ns = request->context->now_ns(), added = 0;
	const char *comment = NULL;
	json_t *message;
	unsigned n;
	int rc = 0;

	if (!blocked || !arguments_known(request, arguments) ||
		!argument_text(request, arguments, "comment", &comment) ||
		!argument_number(request, arguments, "ttl_s", 1, TTL_MAX_S, &ttl_s))
		return;
	if (comment && strlen(comment) > BLOCKED_COMMENT_MAX) {
		request_fail(request, "comment: more than %d bytes", BLOCKED_COMMENT_MAX);
		return;
	}
	n = read_ids(request, arguments, ids);
	for (unsigned i = 0; i < n && rc >= 0; i++) {
		rc = blocked_ids_add(
			blocked, &ids[i], comment, now_ns, ttl_s ? now_ns + ttl_s * NS_PER_S : 0);
		added += rc == 1;
		if (rc >= 0)
			tell(request, OPERATOR_CONTENT_ADD, &ids[i], ttl_s);
	}
	if (rc < 0) {
		request_fail(request,
			rc == -ENOSPC ? "the list is full (%d ids): remove some, or put them into "
					"a file of the policy (content_ids)"
				      : "no memory",
			BLOCKED_IDS_MAX);
		return;
	}
	if (!n)
		return;
	message = json_object();
	put_json(&message, "ids", texts_json(ids, n));
	put_number(&message, "added", added);
	put_effect(request, &message);
	finish(request, blocked, message);
}

COMMAND(content_del, "content-del", "id", "refuses a content id no longer")
{
	struct content_id ids[CONTENT_ID_LINK_IDS];
	struct blocked_ids *blocked = list_of(request);
	uint64_t deleted = 0;
	json_t *message;
	unsigned n;

	if (!blocked || !arguments_known(request, arguments))
		return;
	n = read_ids(request, arguments, ids);
	for (unsigned i = 0; i < n; i++) {
		if (blocked_ids_remove(blocked, &ids[i]))
			continue;
		deleted++;
		tell(request, OPERATOR_CONTENT_DEL, &ids[i], 0);
	}
	if (n && !deleted) {
		request_fail(request, "it is not in the list (content-list)");
		return;
	}
	if (!n)
		return;
	message = json_object();
	put_json(&message, "ids", texts_json(ids, n));
	put_number(&message, "deleted", deleted);
	finish(request, blocked, message);
}

COMMAND(content_flush, "content-flush", "", "empties the list of refused content ids")
{
	struct blocked_ids *blocked = list_of(request);
	json_t *message;

	if (!blocked || !arguments_known(request, arguments))
		return;
	message = json_object();
	tell(request, OPERATOR_CONTENT_FLUSH, NULL, 0);
	put_number(&message, "deleted", blocked_ids_flush(blocked));
	finish(request, blocked, message);
}

static json_t *entry_json(const struct request *request, const struct blocked_id *entry)
{
	uint64_t now_ns = request->context->now_ns();
	char text[CONTENT_ID_TEXT];
	json_t *object = json_object();

	put_json(&object, "id", json_string(content_id_print(&entry->id, text)));
	if (entry->comment)
		put_json(&object, "comment", json_string(entry->comment));
	put_number(&object, "added", entry->added_ns / NS_PER_S);
	if (entry->expires_ns)
		put_number(&object, "ttl_s",
			entry->expires_ns > now_ns ? (entry->expires_ns - now_ns) / NS_PER_S : 0);
	return object;
}

COMMAND(content_list, "content-list", "limit, offset", "content ids that are refused")
{
	struct blocked_ids *blocked = list_of(request);
	uint64_t limit = LIST_USUAL, offset = 0;
	const struct blocked_counters *counters;
	const struct blocked_id *entries;
	json_t *message, *list;
	size_t n;

	if (!blocked || !arguments_known(request, arguments) ||
		!argument_number(request, arguments, "limit", 1, LIST_MAX, &limit) ||
		!argument_number(request, arguments, "offset", 0, BLOCKED_IDS_MAX, &offset))
		return;
	entries = blocked_ids_list(blocked, &n);
	counters = blocked_ids_counters(blocked);
	message = json_object();
	list = json_array();
	for (uint64_t i = offset; i < n && i < offset + limit; i++) // the last one first
		put_item(&list, entry_json(request, &entries[n - 1 - i]));
	put_number(&message, "matched", n);
	put_number(&message, "offset", offset);
	put_number(&message, "max", BLOCKED_IDS_MAX);
	put_number(&message, "refused", counters->refused);
	put_number(&message, "expired", counters->expired);
	put_number(&message, "restored", counters->restored);
	put_number(&message, "written", counters->written);
	put_number(&message, "failures", counters->failures);
	put_effect(request, &message);
	put_json(&message, "entries", list);
	request_ok(request, message);
}
