// SPDX-License-Identifier: BSD-3-Clause
// Holds names and messages against the patterns of all rules, on a data lcore.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "content/name_text.h"
#include "pipeline/policy/content_rules.h"

// The form of a text can be longer than the text: U+FDFA, 3 bytes, is 33, and a byte of
// windows-1252 5 at most.
#define FORM_OF(bytes) ((bytes)*CONTENT_NORMAL_ROOM)

// What an entry has of the scan with that mark.
struct content_keys {
	uint32_t mark;
	uint32_t pattern; // the first that was found, of a name or text
	uint8_t keys;     // enum content_key
	bool has_pattern;
};

struct content_scratch {
	struct text_set_scratch *names, *texts, *parties;
	struct content_keys *transfers, *chats; // by entry
	struct content_hits file, message;
};

static int scratch_for(const struct text_set *set, uint32_t bytes, struct text_set_scratch **out)
{
	return set ? text_set_scratch_new(set, FORM_OF(bytes), out) : 0;
}

static void scratch_free(struct content_scratch *scratch)
{
	if (!scratch)
		return;
	text_set_scratch_free(scratch->names);
	text_set_scratch_free(scratch->texts);
	text_set_scratch_free(scratch->parties);
	free(scratch->transfers);
	free(scratch->chats);
	free(scratch);
}

static struct content_scratch *scratch_new(const struct content_rules *content)
{
	struct content_scratch *scratch = calloc(1, sizeof(*scratch));

	if (!scratch)
		return NULL;
	scratch->transfers = calloc(content->n_transfers + 1, sizeof(*scratch->transfers));
	scratch->chats = calloc(content->n_chats + 1, sizeof(*scratch->chats));
	scratch->file.keys = scratch->transfers;
	scratch->message.keys = scratch->chats;
	if (scratch->transfers && scratch->chats &&
		!scratch_for(content->names, CONTENT_NAME_BYTES, &scratch->names) &&
		!scratch_for(content->texts, CONTENT_TEXT_BYTES, &scratch->texts) &&
		!scratch_for(content->parties, CONTENT_PARTY_BYTES, &scratch->parties))
		return scratch;
	scratch_free(scratch);
	return NULL;
}

int content_rules_scratch(struct content_rules *content, unsigned n_lcores)
{
	for (unsigned i = 0; content && i < n_lcores; i++) {
		content->scratch[i] = scratch_new(content);
		if (!content->scratch[i])
			return -ENOMEM;
	}
	return 0;
}

void content_rules_free(struct content_rules *content)
{
	if (!content)
		return;
	for (unsigned i = 0; i < LCORES_MAX; i++)
		scratch_free(content->scratch[i]);
	text_set_free(content->names);
	text_set_free(content->texts);
	text_set_free(content->parties);
	free(content->name_words);
	free(content->text_words);
	free(content);
}

static void words_free(struct content_words *words)
{
	for (uint32_t i = 0; i < words->n; i++)
		free(words->words[i]);
	free(words->words);
}

void rule_content_free(struct rule_content *content)
{
	if (!content)
		return;
	for (uint32_t i = 0; i < content->n_transfers; i++) {
		words_free(&content->transfers[i].name);
		words_free(&content->transfers[i].regex);
		words_free(&content->transfers[i].extension);
		words_free(&content->transfers[i].type);
		free(content->transfers[i].id_sets);
	}
	for (uint32_t i = 0; i < content->n_chats; i++) {
		words_free(&content->chats[i].keyword);
		words_free(&content->chats[i].regex);
		words_free(&content->chats[i].from);
		words_free(&content->chats[i].to);
	}
	free(content->transfers);
	free(content->chats);
	free(content);
}

static uint64_t scans_of(const struct content_scratch *scratch)
{
	return text_set_scans(scratch->names) + text_set_scans(scratch->texts) +
	       text_set_scans(scratch->parties);
}

// No entry has a key of this name or message yet.
static void hits_begin(struct content_hits *hits, const struct content_scratch *scratch,
	struct content_keys *keys, uint32_t n)
{
	hits->failed = hits->two_readings = false;
	hits->scans = (uint32_t)scans_of(scratch); // what hits_end subtracts
	hits->found = (struct text_hits){0};
	if (++hits->mark)
		return;
	for (uint32_t i = 0; i < n; i++) // after 2^32 of them none may look like this one
		keys[i].mark = 0;
	hits->mark = 1;
}

static const struct content_hits *hits_end(
	struct content_hits *hits, const struct content_scratch *scratch)
{
	hits->scans = (uint32_t)scans_of(scratch) - hits->scans;
	return hits;
}

// Of all found, or (`only`) of those of one key.
static void hits_note(struct content_hits *hits, struct content_keys *keys, struct text_hits found,
	uint8_t only, bool has_pattern)
{
	hits->failed |= found.failed;
	for (uint32_t i = 0; i < found.n; i++) {
		struct content_keys *of = &keys[found.hits[i].owner >> 8];
		uint8_t key = (uint8_t)found.hits[i].owner;

		if (!(key & only))
			continue;
		if (of->mark != hits->mark)
			*of = (struct content_keys){.mark = hits->mark};
		of->keys |= key;
		if (has_pattern && !of->has_pattern) {
			of->has_pattern = true;
			of->pattern = found.hits[i].pattern;
		}
	}
}

static struct text_hits scan_name(const struct text_set *set, struct text_set_scratch *scratch,
	const struct file_facts *facts, enum text_charset charset)
{
	uint32_t room, length;
	uint8_t *form = text_set_room(scratch, &room);
	struct name_parts parts;
	bool cut;

	length = name_normalize(charset, facts->name, facts->length, form, room, &cut);
	parts = name_split(form, length);
	return text_set_scan(set, scratch, parts.base, parts.base_length);
}

static void name_hits(const struct content_rules *content, struct content_scratch *scratch,
	const struct file_facts *facts)
{
	struct text_source source = {
		.bytes = facts->name, .length = facts->length, .percent = true};
	enum text_charset charset = charset_guess(&source);
	struct content_hits *hits = &scratch->file;

	hits->two_readings = charset != CHARSET_UTF8;
	hits->found = scan_name(content->names, scratch->names, facts, charset);
	hits_note(hits, scratch->transfers, hits->found, UINT8_MAX, true);
	if (!hits->two_readings)
		return;
	hits->found = scan_name(content->names, scratch->names, facts, CHARSET_UTF8);
	hits_note(hits, scratch->transfers, hits->found, UINT8_MAX, true);
}

const struct content_hits *content_file_hits(
	const struct policy *policy, unsigned lcore, const struct file_facts *facts)
{
	const struct content_rules *content = policy->content;
	struct content_scratch *scratch = content ? content->scratch[lcore] : NULL;

	if (!scratch)
		return NULL;
	hits_begin(&scratch->file, scratch, scratch->transfers, content->n_transfers);
	if (content->names && facts->length)
		name_hits(content, scratch, facts);
	return hits_end(&scratch->file, scratch);
}

static struct text_hits scan_text(const struct text_set *set, struct text_set_scratch *scratch,
	const uint8_t *bytes, uint32_t length, enum text_charset charset)
{
	uint32_t room, formed;
	uint8_t *form = text_set_room(scratch, &room);
	bool cut;

	formed = text_normalize(charset, bytes, length, form, room, &cut);
	return text_set_scan(set, scratch, 0, formed);
}

static void party_hits(const struct content_rules *content, struct content_scratch *scratch,
	const struct content_text *party, uint8_t key)
{
	uint32_t length = party->length < CONTENT_PARTY_BYTES ? party->length : CONTENT_PARTY_BYTES;
	struct text_source source = {.bytes = party->bytes, .length = length};
	enum text_charset charset;

	if (!length)
		return;
	charset = charset_guess(&source);
	hits_note(&scratch->message, scratch->chats,
		scan_text(content->parties, scratch->parties, party->bytes, length, charset), key,
		false);
	if (charset != CHARSET_UTF8)
		hits_note(&scratch->message, scratch->chats,
			scan_text(content->parties, scratch->parties, party->bytes, length,
				CHARSET_UTF8),
			key, false);
}

// Each of those that are written to.
static void receiver_hits(const struct content_rules *content, struct content_scratch *scratch,
	const struct message_facts *facts)
{
	struct content_text rest = facts->to, party;

	for (unsigned n = 0; rest.length && n < CONTENT_PARTIES_MAX; n++) {
		const uint8_t *comma =
			facts->to_is_list ? memchr(rest.bytes, ',', rest.length) : NULL;

		party = rest;
		if (comma)
			party.length = (uint32_t)(comma - rest.bytes);
		party_hits(content, scratch, &party, CONTENT_KEY_TO);
		rest.bytes += party.length + (comma != NULL);
		rest.length -= party.length + (comma != NULL);
	}
}

static void message_hits(const struct content_rules *content, struct content_scratch *scratch,
	const struct message_facts *facts)
{
	uint32_t length = facts->length < CONTENT_TEXT_BYTES ? facts->length : CONTENT_TEXT_BYTES;
	struct text_source source = {.bytes = facts->text, .length = length};
	struct content_hits *hits = &scratch->message;
	enum text_charset charset = charset_guess(&source);

	hits->two_readings = charset != CHARSET_UTF8;
	hits->found = scan_text(content->texts, scratch->texts, facts->text, length, charset);
	hits_note(hits, scratch->chats, hits->found, UINT8_MAX, true);
	if (!hits->two_readings)
		return;
	hits->found = scan_text(content->texts, scratch->texts, facts->text, length, CHARSET_UTF8);
	hits_note(hits, scratch->chats, hits->found, UINT8_MAX, true);
}

const struct content_hits *content_message_hits(
	const struct policy *policy, unsigned lcore, const struct message_facts *facts)
{
	const struct content_rules *content = policy->content;
	struct content_scratch *scratch = content ? content->scratch[lcore] : NULL;

	if (!scratch)
		return NULL;
	hits_begin(&scratch->message, scratch, scratch->chats, content->n_chats);
	if (content->texts && facts->length)
		message_hits(content, scratch, facts);
	if (content->parties) {
		party_hits(content, scratch, &facts->from, CONTENT_KEY_FROM);
		receiver_hits(content, scratch, facts);
	}
	return hits_end(&scratch->message, scratch);
}

uint8_t content_hits_keys(const struct content_hits *hits, uint32_t entry)
{
	const struct content_keys *keys = &hits->keys[entry];

	return keys->mark == hits->mark ? keys->keys : 0;
}

static const char *matched(
	const struct content_hits *hits, uint32_t entry, const char *const *words)
{
	const struct content_keys *keys = &hits->keys[entry];

	return keys->mark == hits->mark && keys->has_pattern ? words[keys->pattern] : NULL;
}

const char *content_file_matched(
	const struct policy *policy, const struct content_hits *hits, uint32_t rule, uint32_t entry)
{
	return matched(hits, policy->rules[rule].content->transfers[entry].index,
		policy->content->name_words);
}

const char *content_message_matched(
	const struct policy *policy, const struct content_hits *hits, uint32_t rule, uint32_t entry)
{
	return matched(
		hits, policy->rules[rule].content->chats[entry].index, policy->content->text_words);
}
