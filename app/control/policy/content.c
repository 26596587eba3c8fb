// SPDX-License-Identifier: BSD-3-Clause
// "transfers", "chat", "audit", "opaque" and "ranges" of a rule: what becomes of files and
// messages.
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "content/file_type.h"
#include "control/policy/content_build.h"
#include "control/policy/fields.h"

static_assert(TYPE_WAIT <= UINT16_MAX, "types are numbers of 16 bits");

const char *const policy_content_direction_words[] = {"any", "download", "upload", NULL};
static const char *const transfer_actions[] = {"pass", "drop", "reset", "monitor", NULL};
static const char *const chat_actions[] = {
	"pass", "drop-message", "mask", "reset", "monitor", NULL};
static const char *const on_lost_words[] = {"lose", "close", NULL};
static const char *const opaque_words[] = {"pass", "drop", "reset", NULL};
static const char *const ranges_words[] = {"pass", "whole", NULL};

// An entry of either kind while it is read; the other is NULL.
struct entry_reader {
	struct rule_reader *reader;
	struct transfer_entry *transfer;
	struct chat_entry *chat;
	bool reported; // some key is wrong: what follows from it is not told
};

struct rule_content *policy_rule_content(const struct json_at *at, struct rule_reader *reader)
{
	struct rule *rule = reader->rule;

	reader->has_content = true;
	if (!rule->content)
		rule->content = calloc(1, sizeof *rule->content);
	if (!rule->content)
		json_at_error(at, "no memory");
	return rule->content;
}

// The words of a list, each kept and given to `one`.
static void read_words(const struct json_at *at, struct entry_reader *entry, size_t max,
	struct content_words *words,
	void (*one)(const struct json_at *at, struct entry_reader *entry, const char *word))
{
	struct json_at item = {0};
	size_t errors = at->doc->errors->n + at->doc->errors->dropped;

	if (json_want_array(at, 1, CONTENT_KEYWORDS_MAX)) {
		words->words = calloc(json_array_size(at->value), sizeof *words->words);
		if (!words->words)
			json_at_error(at, "no memory");
		while (words->words && json_at_next(at, &item)) {
			const char *text;
			char *word;

			if (!json_want_text(&item, 1, max, &text))
				continue;
			word = strdup(text);
			if (!word) {
				json_at_error(&item, "no memory");
				break;
			}
			words->words[words->n++] = word;
			one(&item, entry, word);
		}
	}
	entry->reported |= at->doc->errors->n + at->doc->errors->dropped != errors;
}

static void add_pattern(const struct json_at *at, struct entry_reader *entry, enum content_set set,
	enum content_key key, const char *word)
{
	uint32_t index = entry->transfer ? entry->transfer->index : entry->chat->index;

	content_build_add(&entry->reader->reader->content, at,
		(struct content_item){.set = set, .entry = index, .key = key, .word = word});
	if (entry->transfer)
		entry->transfer->keys |= (uint8_t)key;
	else
		entry->chat->keys |= (uint8_t)key;
}

static void one_name(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_NAMES, CONTENT_KEY_NAME, word);
}

static void one_name_regex(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_NAMES, CONTENT_KEY_REGEX, word);
}

static void one_extension(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_NAMES, CONTENT_KEY_EXTENSION, word);
}

static void one_keyword(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_TEXTS, CONTENT_KEY_KEYWORD, word);
}

static void one_text_regex(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_TEXTS, CONTENT_KEY_REGEX, word);
}

static void one_from(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_PARTIES, CONTENT_KEY_FROM, word);
}

static void one_to(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	add_pattern(at, entry, CONTENT_SET_PARTIES, CONTENT_KEY_TO, word);
}

// A type, a group of them, or "unknown".
static void one_type(const struct json_at *at, struct entry_reader *entry, const char *word)
{
	struct suggestion suggestion = suggest_for(word);
	uint64_t *types = entry->transfer->types;
	bool known = strcmp(word, file_type_word(0)) == 0;

	types[0] |= known;
	suggest_offer(&suggestion, file_type_word(0));
	for (unsigned type = 1; type <= file_type_count(); type++) {
		const char *of = file_type_word((file_type)type);
		const char *group = file_type_group((file_type)type);

		suggest_offer(&suggestion, of);
		suggest_offer(&suggestion, group);
		if (strcmp(word, of) != 0 && strcmp(word, group) != 0)
			continue;
		known = true;
		types[type / 64] |= 1ull << type % 64;
	}
	entry->transfer->has_type = true;
	if (known)
		return;
	if (suggest_get(&suggestion))
		json_at_error(at, "unknown type \"%s\"; did you mean \"%s\"?", word,
			suggest_get(&suggestion));
	else
		json_at_error(at,
			"unknown type \"%s\"; types and groups of them stand in docs/content.md; "
			"what a name ends with is \"extension\"",
			word);
}

#define READ_WORDS(function, kind, list, max, one)                   \
	static void function(const struct json_at *at, void *ctx)    \
	{                                                            \
		struct entry_reader *entry = ctx;                    \
                                                                     \
		read_words(at, entry, max, &entry->kind->list, one); \
	}
READ_WORDS(read_name, transfer, name, CONTENT_PATTERN_MAX, one_name)
READ_WORDS(read_name_regex, transfer, regex, CONTENT_PATTERN_MAX, one_name_regex)
READ_WORDS(read_extension, transfer, extension, CONTENT_KEYWORD_MAX, one_extension)
READ_WORDS(read_type, transfer, type, POLICY_ID_MAX, one_type)
READ_WORDS(read_keyword, chat, keyword, CONTENT_KEYWORD_MAX, one_keyword)
READ_WORDS(read_text_regex, chat, regex, CONTENT_PATTERN_MAX, one_text_regex)
READ_WORDS(read_from, chat, from, CONTENT_PATTERN_MAX, one_from)
READ_WORDS(read_to, chat, to, CONTENT_PATTERN_MAX, one_to)

static void read_bound(const struct json_at *at, struct entry_reader *entry, uint64_t *bound)
{
	if (!json_want_integer(at, 0, CONTENT_SIZE_MAX, bound))
		entry->reported = true;
}

static void read_min(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;

	read_bound(at, entry, &entry->transfer->size_min);
}

static void read_max(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;

	read_bound(at, entry, &entry->transfer->size_max);
}

#define READ(dotted, function)                                                         \
	{                                                                              \
		.name = dotted, .kind = JSON_KIND_READ, .read = function, .live = true \
	}
#define NEED(dotted, function)                                                              \
	{                                                                                   \
		.name = dotted, .kind = JSON_KIND_READ, .read = function, .required = true, \
		.live = true                                                                \
	}
#define DIRECTION(dotted, type)                                                              \
	{                                                                                    \
		.name = dotted, .kind = JSON_KIND_WORD, .offset = offsetof(type, direction), \
		.words = policy_content_direction_words, .live = true                        \
	}

static const struct json_field size_fields[] = {
	READ("rules[].transfers[].size.min", read_min),
	READ("rules[].transfers[].size.max", read_max),
	JSON_FIELD_END,
};

static void read_size(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;
	struct transfer_entry *transfer = entry->transfer;

	transfer->has_size = true;
	json_fields_read(at, size_fields, NULL, NULL, entry);
	if (!json_is_object(at->value)) {
		entry->reported = true;
	} else if (!json_object_size(at->value)) {
		json_at_error(at, "says nothing: write \"min\", \"max\" or both, in bytes");
		entry->reported = true;
	} else if (!entry->reported && transfer->size_min > transfer->size_max) {
		json_at_error(at, "min (%llu) is more than max (%llu): no file has that size",
			(unsigned long long)transfer->size_min,
			(unsigned long long)transfer->size_max);
	}
}

static bool read_action(const struct json_at *at, const char *const *words, uint8_t *action)
{
	unsigned word;

	if (!json_want_word(at, words, &word))
		return false;
	for (unsigned i = 0; i < CONTENT_ACTIONS_MAX; i++)
		if (strcmp(content_action_word(i), words[word]) == 0)
			*action = (uint8_t)i;
	return true;
}

static void read_transfer_action(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;

	entry->reported |= !read_action(at, transfer_actions, &entry->transfer->written);
}

static void read_chat_action(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;

	entry->reported |= !read_action(at, chat_actions, &entry->chat->written);
}

static void read_flag(const struct json_at *at, uint8_t *flag)
{
	bool yes;

	if (json_want_flag(at, &yes))
		*flag = yes ? CONTENT_YES : CONTENT_NO;
}

static void read_store(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;

	read_flag(at, entry->transfer ? &entry->transfer->store : &entry->chat->store);
}

static void read_ids(const struct json_at *at, void *ctx)
{
	struct entry_reader *entry = ctx;

	policy_read_entry_ids(at, entry->reader->reader, entry->transfer);
}

static const struct json_field transfer_fields[] = {
	READ("rules[].transfers[].name", read_name),
	READ("rules[].transfers[].regex", read_name_regex),
	READ("rules[].transfers[].extension", read_extension),
	READ("rules[].transfers[].type", read_type),
	READ("rules[].transfers[].size", read_size),
	READ("rules[].transfers[].content_id", read_ids),
	DIRECTION("rules[].transfers[].direction", struct transfer_entry),
	NEED("rules[].transfers[].action", read_transfer_action),
	READ("rules[].transfers[].store", read_store),
	JSON_FIELD_END,
};

static const struct json_field chat_fields[] = {
	READ("rules[].chat[].keyword", read_keyword),
	READ("rules[].chat[].regex", read_text_regex),
	READ("rules[].chat[].from", read_from),
	READ("rules[].chat[].to", read_to),
	DIRECTION("rules[].chat[].direction", struct chat_entry),
	NEED("rules[].chat[].action", read_chat_action),
	READ("rules[].chat[].store", read_store),
	JSON_FIELD_END,
};

static const struct json_later chat_later[] = {
	{"keyword_file", "files of keywords"},
	{NULL, NULL},
};

static void read_transfer(
	const struct json_at *at, struct rule_reader *reader, struct transfer_entry *transfer)
{
	struct entry_reader entry = {.reader = reader, .transfer = transfer};

	transfer->index = reader->reader->n_transfers++;
	transfer->size_max = UINT64_MAX;
	json_fields_read(at, transfer_fields, NULL, transfer, &entry);
	if (entry.reported || !json_is_object(at->value))
		return;
	if (!transfer->keys && !transfer->has_type && !transfer->has_size && !transfer->has_id &&
		transfer->direction == CONTENT_ANY)
		json_at_error(at,
			"says nothing of the files that it is for: write one of name, regex, "
			"extension, type, size, content_id, direction (for all, \"name\": "
			"[\"*\"])");
}

static void read_chat(const struct json_at *at, struct rule_reader *reader, struct chat_entry *chat)
{
	struct entry_reader entry = {.reader = reader, .chat = chat};

	chat->index = reader->reader->n_chats++;
	json_fields_read(at, chat_fields, chat_later, chat, &entry);
	if (entry.reported || !json_is_object(at->value))
		return;
	if (!chat->keys && chat->direction == CONTENT_ANY)
		json_at_error(at,
			"says nothing of the messages that it is for: write one of keyword, regex, "
			"from, to, direction (for all, \"regex\": [\".\"])");
}

// Room for the entries of one rule; NULL: told.
static void *entries_new(const struct json_at *at, uint32_t so_far, size_t bytes)
{
	size_t n = json_array_size(at->value);
	void *entries;

	if (so_far + n > CONTENT_ENTRIES_MAX) {
		json_at_error(at,
			"more than %u entries in all rules: write fewer, with longer lists",
			CONTENT_ENTRIES_MAX);
		return NULL;
	}
	entries = calloc(n, bytes);
	if (!entries)
		json_at_error(at, "no memory");
	return entries;
}

void policy_read_rule_transfers(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	struct rule_content *content = policy_rule_content(at, reader);
	struct json_at item = {0};

	if (!content || !json_want_array(at, 1, CONTENT_ENTRIES_MAX))
		return;
	content->transfers =
		entries_new(at, reader->reader->n_transfers, sizeof *content->transfers);
	while (content->transfers && json_at_next(at, &item))
		read_transfer(&item, reader, &content->transfers[content->n_transfers++]);
}

void policy_read_rule_chat(const struct json_at *at, void *ctx)
{
	struct rule_reader *reader = ctx;
	struct rule_content *content = policy_rule_content(at, reader);
	struct json_at item = {0};

	if (!content || !json_want_array(at, 1, CONTENT_ENTRIES_MAX))
		return;
	content->chats = entries_new(at, reader->reader->n_chats, sizeof *content->chats);
	while (content->chats && json_at_next(at, &item))
		read_chat(&item, reader, &content->chats[content->n_chats++]);
}

static void read_audit_transfers(const struct json_at *at, void *ctx)
{
	struct rule_content *content = ctx;

	read_flag(at, &content->audit_transfers);
}

static void read_audit_chat(const struct json_at *at, void *ctx)
{
	struct rule_content *content = ctx;

	read_flag(at, &content->audit_chat);
}

static void read_audit_files(const struct json_at *at, void *ctx)
{
	struct rule_content *content = ctx;

	read_flag(at, &content->audit_files);
}

static void read_audit_on_lost(const struct json_at *at, void *ctx)
{
	struct rule_content *content = ctx;
	unsigned word;

	if (json_want_word(at, on_lost_words, &word))
		content->audit_closes = word ? CONTENT_YES : CONTENT_NO;
}

static const char *const redact_words[] = {"keep", "mask", "omit", NULL};

static void read_redact(const struct json_at *at, uint8_t *redact)
{
	unsigned word;

	if (json_want_word(at, redact_words, &word))
		*redact = (uint8_t)(CONTENT_REDACT_KEEP + word);
}

static void read_redact_text(const struct json_at *at, void *ctx)
{
	struct content_redaction *redact = ctx;

	read_redact(at, &redact->text);
}

static void read_redact_names(const struct json_at *at, void *ctx)
{
	struct content_redaction *redact = ctx;

	read_redact(at, &redact->names);
}

static void read_redact_users(const struct json_at *at, void *ctx)
{
	struct content_redaction *redact = ctx;

	read_redact(at, &redact->users);
}

static const struct json_field redact_fields[] = {
	READ("rules[].audit.redact.text", read_redact_text),
	READ("rules[].audit.redact.names", read_redact_names),
	READ("rules[].audit.redact.users", read_redact_users),
	JSON_FIELD_END,
};

static void read_audit_redact(const struct json_at *at, void *ctx)
{
	struct rule_content *content = ctx;

	if (json_is_string(at->value)) {
		json_at_error(at, "expected an object, got a string; write {\"text\": \"mask\"}, "
				  "also names and users: keep, mask or omit");
		return;
	}
	json_fields_read(at, redact_fields, NULL, NULL, &content->redact);
	if (json_is_object(at->value) && !json_object_size(at->value))
		json_at_error(at, "says nothing: write text, names or users");
}

static const struct json_field audit_fields[] = {
	READ("rules[].audit.transfers", read_audit_transfers),
	READ("rules[].audit.chat", read_audit_chat),
	READ("rules[].audit.files", read_audit_files),
	READ("rules[].audit.on_lost", read_audit_on_lost),
	READ("rules[].audit.redact", read_audit_redact),
	JSON_FIELD_END,
};

void policy_read_rule_audit(const struct json_at *at, void *ctx)
{
	struct rule_content *content = policy_rule_content(at, ctx);

	if (!content)
		return;
	json_fields_read(at, audit_fields, NULL, NULL, content);
	if (json_is_object(at->value) && !json_object_size(at->value))
		json_at_error(at, "says nothing: write transfers, chat, files, on_lost or redact");
}

void policy_read_rule_opaque(const struct json_at *at, void *ctx)
{
	struct rule_content *content = policy_rule_content(at, ctx);
	unsigned word;

	if (!content || !json_want_word(at, opaque_words, &word))
		return;
	content->has_opaque = true;
	content->opaque = (uint8_t)word; // the first actions are these
}

void policy_read_rule_notice(const struct json_at *at, void *ctx)
{
	struct rule_content *content = policy_rule_content(at, ctx);

	if (content && json_want_flag(at, &content->notice))
		content->has_notice = true;
}

void policy_read_rule_ranges(const struct json_at *at, void *ctx)
{
	struct rule_content *content = policy_rule_content(at, ctx);
	unsigned word;

	if (!content || !json_want_word(at, ranges_words, &word))
		return;
	content->has_ranges = true;
	content->whole = word;
}

void policy_seal_content(struct policy_reader *reader)
{
	const struct json_doc *doc = reader->doc;
	struct policy *policy = reader->policy;

	for (uint32_t i = 0; i < policy->n_rules; i++)
		policy->asks_content |= policy->rules[i].content != NULL;
	if (policy->asks_content && !doc->errors->n && !doc->errors->dropped) {
		policy->content = calloc(1, sizeof *policy->content);
		if (!policy->content) {
			config_error_add(doc->errors, doc->file, "$.rules", "no memory");
		} else {
			policy->content->n_transfers = reader->n_transfers;
			policy->content->n_chats = reader->n_chats;
			content_build_end(reader->content, doc, policy->content);
		}
	}
	content_build_free(reader->content);
	reader->content = NULL;
}
