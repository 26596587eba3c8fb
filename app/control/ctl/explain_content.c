// SPDX-License-Identifier: BSD-3-Clause
// Finds a piece of evidence; words and members of those about content.
#include "control/ctl/explain_content.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "content/content.h"
#include "content/file_type.h"
#include "control/ctl/content_json.h"
#include "control/event/eve.h"
#include "pipeline/policy/content_rules.h"

static const struct {
	uint8_t key;
	const char *word;
} keys[] = {
	{CONTENT_KEY_NAME, "name"},
	{CONTENT_KEY_REGEX, "regex"},
	{CONTENT_KEY_EXTENSION, "extension"},
	{CONTENT_KEY_KEYWORD, "keyword"},
	{CONTENT_KEY_FROM, "from"},
	{CONTENT_KEY_TO, "to"},
};

static void add(char out[EXPLAIN_CONTENT_MAX], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add(char out[EXPLAIN_CONTENT_MAX], const char *format, ...)
{
	size_t length = strlen(out);
	va_list args;

	va_start(args, format);
	vsnprintf(out + length, EXPLAIN_CONTENT_MAX - length, format, args);
	va_end(args);
}

static size_t text_length(const struct evidence *evidence)
{
	return evidence->n_bytes <= EVIDENCE_TEXT_BYTES ? evidence->n_bytes : EVIDENCE_TEXT_BYTES;
}

// Printable: a sender wrote it.
static const char *text_of(const struct evidence *evidence, bool end, char out[])
{
	unsigned n =
		evidence->n_bytes <= EVIDENCE_TEXT_BYTES ? evidence->n_bytes : EVIDENCE_TEXT_BYTES;
	bool cut = evidence->flags & EVIDENCE_IS_CUT;
	char *at = out;

	if (cut && end)
		at = stpcpy(at, "...");
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)evidence->content.text[i];

		*at++ = byte >= ' ' && byte <= '~' ? (char)byte : '?';
	}
	*at = 0;
	if (cut && !end)
		stpcpy(at, "...");
	return out;
}

// By what: the keys that have patterns with one that matched, the type, the size.
static void add_means(char out[EXPLAIN_CONTENT_MAX], const struct evidence *evidence)
{
	const struct evidence_content *content = &evidence->content;
	char pattern[EVIDENCE_TEXT_BYTES + 4];
	const char *between = " (";

	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (!(content->keys & keys[i].key))
			continue;
		add(out, "%s%s", between, keys[i].word);
		between = ", ";
	}
	if (evidence->n_bytes)
		add(out, "%s%s", content->keys ? " " : " (", text_of(evidence, false, pattern));
	between = content->keys || evidence->n_bytes ? ", " : " (";
	if (content->is & EVIDENCE_ENTRY_TYPE) {
		add(out, "%stype %s", between, file_type_word(content->type));
		between = ", ";
	}
	if (content->is & EVIDENCE_ENTRY_SIZE) {
		add(out, "%ssize", between);
		between = ", ";
	}
	add(out, "%s", strcmp(between, " (") ? ")" : "");
}

// The piece behind it, with the name.
static const struct evidence *name_of(
	const struct explain_facts *facts, const struct evidence *evidence)
{
	for (const struct evidence *at = evidence + 1; at < facts->evidence + facts->n; at++)
		if (at->flow_id == evidence->flow_id)
			return at->kind == EVIDENCE_CONTENT_NAME ? at : NULL;
	return NULL;
}

static void add_entry(char out[EXPLAIN_CONTENT_MAX], const struct explain_facts *facts,
	const struct evidence *evidence)
{
	const struct evidence *name = name_of(facts, evidence);
	bool message = evidence->content.is & EVIDENCE_ENTRY_MESSAGE;
	char text[EVIDENCE_TEXT_BYTES + 4], id[EVE_ITEM_ID_BYTES] = "";

	add(out, "%s", message ? "message" : "transfer");
	if (name && name->n_bytes)
		add(out, " %s \"%s\"", message ? "from" : "of", text_of(name, true, text));
	add(out, " matched rules[%u].%s[%u]", evidence->content.rule,
		message ? "chat" : "transfers", evidence->content.entry);
	add_means(out, evidence);
	if (name)
		eve_item_text(&name->content.item, id);
	if (*id)
		add(out, "; item %s", id);
}

static const char *reason_of(unsigned note)
{
	if (note == CONTENT_NOTE_PART_ASKED)
		return "it asked for a part of a file, and had left before it could be changed";
	if (content_note_is_opaque(note))
		return "it went on in a form that is not decoded";
	return content_note_is_limit(note) ? "a limit was met" : "hosts may read it differently";
}

static void add_note(char out[EXPLAIN_CONTENT_MAX], const struct evidence *evidence)
{
	if (evidence->detail == CONTENT_NOTE_UNRECORDED) {
		add(out, "what the %s sent could not be recorded (on_lost of \"audit\")",
			evidence->half == HALF_C2S ? "client" : "server");
		return;
	}
	add(out, "%s (%s) in what the %s sent, at byte %llu", reason_of(evidence->detail),
		content_note_word(evidence->detail),
		evidence->half == HALF_C2S ? "client" : "server",
		(unsigned long long)evidence->content.at64);
}

const struct evidence *explain_last(
	const struct explain_facts *facts, enum evidence_kind kind, bool of_flow)
{
	for (uint32_t i = facts->n; i-- > 0;) {
		const struct evidence *evidence = &facts->evidence[i];

		if (evidence->kind == kind && (!of_flow || evidence->flow_id == facts->flow_id))
			return evidence;
	}
	return NULL;
}

bool explain_content(const struct explain_facts *facts, enum mode mode,
	const struct evidence *decision, char out[EXPLAIN_CONTENT_MAX])
{
	out[0] = 0;
	for (uint32_t i = facts->n; i-- > 0 && !out[0];) {
		const struct evidence *evidence = &facts->evidence[i];

		if (evidence->flow_id != facts->flow_id ||
			(decision && (evidence->rule_uid != decision->rule_uid ||
					     evidence->generation != decision->generation)))
			continue;
		if (evidence->kind == EVIDENCE_CONTENT && evidence->confidence == mode)
			add_entry(out, facts, evidence);
		else if (evidence->kind == EVIDENCE_CONTENT_NOTE && mode == MODE_ENFORCE)
			add_note(out, evidence);
	}
	return out[0];
}

static void put_keys(json_t **object, const struct evidence_content *content)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < sizeof keys / sizeof keys[0]; i++)
		if (content->keys & keys[i].key)
			put_item(&list, json_string(keys[i].word));
	if (content->is & EVIDENCE_ENTRY_TYPE)
		put_item(&list, json_string("type"));
	if (content->is & EVIDENCE_ENTRY_SIZE)
		put_item(&list, json_string("size"));
	put_json(object, "by", list);
}

static void put_entry(json_t **object, const struct evidence *evidence)
{
	const struct evidence_content *content = &evidence->content;
	char entry[48];

	snprintf(entry, sizeof entry, "rules[%u].%s[%u]", content->rule,
		content->is & EVIDENCE_ENTRY_MESSAGE ? "chat" : "transfers", content->entry);
	put_text(object, "entry", entry);
	put_keys(object, content);
	if (evidence->n_bytes)
		content_json_put_bytes(object, "matched", content->text, text_length(evidence));
	if (content->is & EVIDENCE_ENTRY_TYPE)
		put_text(object, "type", file_type_word(content->type));
	put_text(object, "did", content_action_word(evidence->detail));
	put_text(object, "mode", evidence->confidence == MODE_MONITOR ? "monitor" : "enforce");
}

static void put_item_id(json_t **object, const struct evidence *evidence)
{
	char id[EVE_ITEM_ID_BYTES];

	eve_item_text(&evidence->content.item, id);
	if (*id)
		put_text(object, "item_id", id);
}

void explain_content_put(json_t **object, const struct evidence *evidence)
{
	const struct evidence_content *content = &evidence->content;

	switch ((enum evidence_kind)evidence->kind) {
	case EVIDENCE_CONTENT: put_entry(object, evidence); break;
	case EVIDENCE_CONTENT_NAME:
		content_json_put_bytes(object,
			content->is & EVIDENCE_ENTRY_MESSAGE ? "from" : "filename", content->text,
			text_length(evidence));
		put_item_id(object, evidence);
		break;
	case EVIDENCE_CONTENT_NOTE:
		put_text(object, "note", content_note_word(evidence->detail));
		put_number(object, "offset", evidence->content.at64);
		put_item_id(object, evidence);
		break;
	default: return;
	}
	if (evidence->flags & EVIDENCE_IS_CUT)
		put_bool(object, "cut", true);
	put_text(object, "half", evidence->half == HALF_C2S ? "to_server" : "to_client");
}
