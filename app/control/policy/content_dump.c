// SPDX-License-Identifier: BSD-3-Clause
// What a rule says of files and messages, as JSON that content.c reads back.
#include "config/json_put.h"
#include "control/policy/fields.h"
#include "pipeline/policy/content_rules.h"

static void put_words(json_t **object, const char *key, const struct content_words *words)
{
	json_t *list;

	if (!words->n)
		return;
	list = json_array();
	for (uint32_t i = 0; i < words->n; i++)
		put_item(&list, json_string(words->words[i]));
	put_json(object, key, list);
}

static void put_flag(json_t **object, const char *key, uint8_t flag)
{
	if (flag != CONTENT_UNSET)
		put_bool(object, key, flag == CONTENT_YES);
}

static void put_rest(json_t **object, uint8_t direction, uint8_t action, uint8_t store)
{
	if (direction != CONTENT_ANY)
		put_text(object, "direction", policy_content_direction_words[direction]);
	put_text(object, "action", content_action_word(action));
	put_flag(object, "store", store);
}

static json_t *transfer_json(const struct transfer_entry *entry)
{
	json_t *object = json_object(), *size;

	put_words(&object, "name", &entry->name);
	put_words(&object, "regex", &entry->regex);
	put_words(&object, "extension", &entry->extension);
	put_words(&object, "type", &entry->type);
	if (entry->has_size) {
		size = json_object();
		if (entry->size_min)
			put_number(&size, "min", entry->size_min);
		if (entry->size_max != UINT64_MAX)
			put_number(&size, "max", entry->size_max);
		else if (!entry->size_min)
			put_number(&size, "min", 0);
		put_json(&object, "size", size);
	}
	put_rest(&object, entry->direction, entry->written, entry->store);
	return object;
}

static json_t *chat_json(const struct chat_entry *entry)
{
	json_t *object = json_object();

	put_words(&object, "keyword", &entry->keyword);
	put_words(&object, "regex", &entry->regex);
	put_words(&object, "from", &entry->from);
	put_words(&object, "to", &entry->to);
	put_rest(&object, entry->direction, entry->written, entry->store);
	return object;
}

static json_t *audit_json(const struct rule_content *content)
{
	json_t *object = json_object();

	put_flag(&object, "transfers", content->audit_transfers);
	put_flag(&object, "chat", content->audit_chat);
	put_flag(&object, "files", content->audit_files);
	return object;
}

int policy_put_content(json_t *object, const struct rule_content *content)
{
	json_t *list, *audit = audit_json(content);
	int rc = audit ? 0 : -1;

	if (content->n_transfers) {
		list = json_array();
		for (uint32_t i = 0; i < content->n_transfers; i++)
			put_item(&list, transfer_json(&content->transfers[i]));
		rc |= json_object_set_new(object, "transfers", list);
	}
	if (content->n_chats) {
		list = json_array();
		for (uint32_t i = 0; i < content->n_chats; i++)
			put_item(&list, chat_json(&content->chats[i]));
		rc |= json_object_set_new(object, "chat", list);
	}
	if (json_object_size(audit))
		rc |= json_object_set(object, "audit", audit);
	json_decref(audit);
	if (content->has_opaque)
		rc |= json_object_set_new(
			object, "opaque", json_string(action_word(content->opaque)));
	return rc;
}
