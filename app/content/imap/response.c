// SPDX-License-Identifier: BSD-3-Clause
// What the server says: answers that change what follows, and FETCH with the mails, and parts of
// mails, that it brings.
#include "content/http/text.h"
#include "content/imap/session.h"

// ---- words ----

static struct content_text word_of(const struct imap_input *in)
{
	const struct imap_line *line = &in->state->halves[HALF_S2C].line;

	return (struct content_text){line->word, line->n_word};
}

static bool is_tag(struct content_text word, const uint8_t *tag, uint8_t length)
{
	return word.length && word.length == length && !memcmp(word.bytes, tag, length);
}

// A literal that the client has announced, and waits to send, is refused: a command follows.
static void refuse_literal(struct imap_state *state)
{
	struct imap_half *half = &state->halves[HALF_C2S];
	struct imap_line *line = &half->line;

	if (!line->in_literal || !line->synchronizing || line->literal != line->size)
		return;
	line->in_literal = false;
	line->words = line->n_word = 0;
	half->opens = false;
	half->value = IMAP_VALUE_SKIP;
	if (half->mail.mime)
		content_mail_end(&half->mail, half->mail.ends64, false);
}

static void take_first(struct imap_state *state, struct content_text word)
{
	state->answers = state->agrees = false;
	state->response = IMAP_TAGGED;
	if (http_is(word, "*"))
		state->response = IMAP_UNTAGGED;
	else if (http_is(word, "+"))
		state->response = IMAP_STATUS;
	else if (is_tag(word, state->tag, state->tag_length))
		refuse_literal(state);
	if (state->awaited)
		state->answers = is_tag(word, state->awaited_tag, state->awaited_length);
}

static bool is_status(struct content_text word)
{
	static const char *const words[] = {"ok", "no", "bad", "bye", "preauth"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (http_is(word, words[i]))
			return true;
	return false;
}

static void take_second(struct imap_state *state, struct content_text word)
{
	uint64_t number;

	if (state->response == IMAP_TAGGED) {
		state->agrees = http_is(word, "ok");
		state->response = IMAP_STATUS;
	} else if (state->response == IMAP_UNTAGGED && http_number(word, &number)) {
		state->number = number > UINT32_MAX ? 0 : (uint32_t)number;
		state->response = IMAP_NUMBERED;
	} else if (state->response == IMAP_UNTAGGED) {
		state->response = is_status(word) ? IMAP_STATUS : IMAP_SKIPPED;
	}
}

static void take_third(struct imap_state *state, struct content_text word)
{
	if (state->response != IMAP_NUMBERED)
		return;
	state->response = http_is(word, "fetch") ? IMAP_FETCH : IMAP_SKIPPED;
	state->fetch = (struct imap_fetch){0};
	if (http_is(word, "expunge")) // numbers above it are others' now
		imap_forget(state);
}

static void take_end(struct imap_input *in)
{
	struct imap_state *state = in->state;

	if (state->answers && state->agrees && state->awaited == IMAP_STARTTLS) {
		imap_note(in, CONTENT_NOTE_OPAQUE_TLS);
		in->stops = true;
	}
	if (state->answers && state->agrees && state->awaited == IMAP_COMPRESS)
		for (unsigned side = 0; side < 2; side++)
			state->halves[side].compresses = !state->halves[side].coding;
	if (state->answers)
		state->awaited = IMAP_OTHER;
	if (state->structures.comes)
		imap_structure_end(&state->structures);
	state->fetch.structure = false;
	state->response = IMAP_SKIPPED;
}

void imap_take_answer(struct imap_input *in, bool ended)
{
	struct content_text word = word_of(in);

	switch (in->state->halves[HALF_S2C].line.words) {
	case 0: take_first(in->state, word); break;
	case 1: take_second(in->state, word); break;
	case 2: take_third(in->state, word); break;
	default: break;
	}
	if (ended)
		take_end(in);
}

// ---- items of FETCH ----

static void add(struct imap_fetch *fetch, uint8_t byte)
{
	if (fetch->n_name < IMAP_WORD_BYTES)
		fetch->name[fetch->n_name++] = byte;
}

static bool is_structure(const struct imap_fetch *fetch)
{
	struct content_text name = {fetch->name, fetch->n_name};

	return http_is(name, "bodystructure") || http_is(name, "body");
}

static void take_blank(struct imap_fetch *fetch)
{
	bool begins = !fetch->in_value && fetch->n_name;

	if (fetch->depth != 1)
		return;
	if (!begins)
		fetch->n_name = 0;
	fetch->in_value = begins;
	fetch->structure = begins && is_structure(fetch);
}

static void end_structure(struct imap_state *state)
{
	if (state->structures.comes)
		imap_structure_end(&state->structures);
	state->fetch.structure = false;
}

static void take_parenthesis(struct imap_state *state, bool opens)
{
	struct imap_fetch *fetch = &state->fetch;

	if (opens && fetch->depth == 1 && fetch->structure && state->number)
		imap_structure_begin(&state->structures, state->number);
	if (opens && fetch->depth < UINT8_MAX)
		fetch->depth++;
	else if (!opens && fetch->depth)
		fetch->depth--;
	if (state->structures.comes)
		imap_structure_add(&state->structures, (const uint8_t *)(opens ? "(" : ")"), 1);
	if (fetch->depth <= 1) {
		end_structure(state);
		fetch->n_name = 0;
		fetch->in_value = false;
	}
	if (!fetch->depth)
		state->response = IMAP_SKIPPED;
}

bool imap_take_response(struct imap_input *in, uint8_t byte)
{
	struct imap_state *state = in->state;
	struct imap_fetch *fetch = &state->fetch;

	bool in_quotes = state->halves[HALF_S2C].line.in_quotes;

	if (state->response != IMAP_FETCH)
		return false;
	if (state->structures.comes && byte != '\r' && (in_quotes || !strchr("()", byte) || !byte))
		imap_structure_add(&state->structures, &byte, 1);
	if (in_quotes)
		return false;
	if (fetch->in_brackets) {
		add(fetch, byte);
		fetch->in_brackets = byte != ']';
		return false;
	}
	switch (byte) {
	case '(':
	case ')': take_parenthesis(state, byte == '('); break;
	case ' ': take_blank(fetch); break;
	case '"': return fetch->depth == 1 && fetch->in_value;
	default:
		if (fetch->depth != 1 || fetch->in_value)
			break;
		add(fetch, byte);
		fetch->in_brackets = byte == '[';
	}
	return false;
}

// ---- what an item brings ----

// An item's name taken apart: "BODY[2.1.MIME]<100>".
struct item {
	struct content_text section; // in brackets
	struct content_text path;    // numbers of the part
	struct content_text what;    // behind them, without the dot
	uint64_t origin;
	bool is_part; // "<origin>"
	bool binary;
	bool whole; // of no section
};

static bool is_path_byte(uint8_t byte)
{
	return octets_digit(byte) || byte == '.';
}

static void read_section(struct item *item)
{
	uint32_t n = 0;

	while (n < item->section.length && is_path_byte(item->section.bytes[n]))
		n++;
	item->what = http_text_from(item->section, n);
	item->path = item->section;
	item->path.length = n && item->section.bytes[n - 1] == '.' ? n - 1 : n;
	item->whole = !item->section.length;
}

// False: it brings nothing that is read.
static bool read_item(struct content_text name, struct item *item)
{
	uint32_t open = http_until(name, '['), close = http_until(name, ']');
	struct content_text before = {name.bytes, open}, behind;

	*item = (struct item){0};
	if (http_is(name, "rfc822") || http_is(name, "rfc822.header") ||
		http_is(name, "rfc822.text")) {
		item->section = http_text_from(name, 7);
		read_section(item);
		return true;
	}
	item->binary = http_is(before, "binary");
	if (close == name.length || (!item->binary && !http_is(before, "body")))
		return false;
	item->section = (struct content_text){name.bytes + open + 1, close - open - 1};
	read_section(item);
	behind = http_text_from(name, close + 1);
	if (!behind.length || behind.bytes[0] != '<')
		return true;
	behind = http_text_from(behind, 1);
	behind.length = http_until(behind, '>');
	item->is_part = true;
	return http_number(behind, &item->origin);
}

static struct imap_section section_of(const struct imap_state *state, struct content_text text)
{
	struct imap_section section = {.number = state->number};

	if (text.length > IMAP_SECTION_BYTES) // nobody's
		section.number = 0;
	else
		section.length = (uint8_t)text.length;
	for (unsigned i = 0; i < section.length; i++)
		section.bytes[i] = octets_lower(text.bytes[i]);
	return section;
}

static bool is_same(const struct imap_section *a, const struct imap_section *b)
{
	return a->number && a->number == b->number && a->length == b->length &&
	       !memcmp(a->bytes, b->bytes, a->length);
}

static enum imap_value begin_head(struct imap_state *state, const struct item *item)
{
	state->kept = section_of(state, item->path);
	state->head_length = 0;
	state->head_whole = !item->is_part;
	return IMAP_VALUE_HEAD;
}

// The head of the part, or of the mail, if it came before.
static struct content_text prefix_of(const struct imap_state *state, const struct item *item)
{
	static const char binary[] = "Content-Type: application/octet-stream\r\n\r\n";
	struct imap_section of = section_of(state, item->path);

	if (item->binary)
		return (struct content_text){(const uint8_t *)binary, sizeof(binary) - 1};
	if (state->head && state->head_whole && state->head_length && is_same(&state->kept, &of))
		return (struct content_text){state->head, state->head_length};
	return (struct content_text){NULL, 0};
}

// Whether more of it may come: it was asked for in parts, and this one is not shorter than asked.
static bool is_last(const struct imap_state *state, const struct item *item, uint64_t size)
{
	for (unsigned i = 0; i < IMAP_ASKED && item->is_part; i++)
		if (state->asked[i].count && state->asked[i].origin == item->origin)
			return size < state->asked[i].count;
	return !item->is_part;
}

// The next octets of the mail that is open.
static bool goes_on(
	const struct imap_state *state, const struct item *item, const struct imap_section *section)
{
	return item->is_part && item->origin && state->halves[HALF_S2C].mail.mime &&
	       item->origin == state->next && is_same(section, &state->open);
}

static enum imap_value begin_mail(struct imap_input *in, const struct item *item, uint64_t size)
{
	struct imap_state *state = in->state;
	struct imap_section section = section_of(state, item->section);
	struct imap_mail how = {.quoted = size == CONTENT_SIZE_UNKNOWN};

	if (how.quoted) // short
		size = 0;
	state->fetch.ends = is_last(state, item, size);
	if (goes_on(state, item, &section)) {
		state->next += size;
		return IMAP_VALUE_MAIL;
	}
	if (!item->whole && !(item->path.length && item->what.length))
		how.prefix = prefix_of(state, item);
	how.made = !item->whole && !how.prefix.length && !item->what.length &&
		   imap_structure_head(&state->structures, state->number, item->path, NULL);
	how.headless = !item->whole && !how.prefix.length && !how.made;
	// how it is encoded, or what came before, is not known
	if (item->origin || how.headless)
		imap_note(in, CONTENT_NOTE_CODING_UNKNOWN);
	state->open = section;
	state->next = item->origin + size;
	imap_begin_mail(in, how);
	return IMAP_VALUE_MAIL;
}

enum imap_value imap_response_literal(struct imap_input *in, uint64_t size)
{
	struct imap_state *state = in->state;
	const struct imap_fetch *fetch = &state->fetch;
	struct item item;

	if (state->structures.comes)
		return IMAP_VALUE_STRUCTURE;
	if (state->response != IMAP_FETCH || fetch->depth != 1 || !fetch->in_value ||
		!read_item((struct content_text){fetch->name, fetch->n_name}, &item))
		return IMAP_VALUE_SKIP;
	if (http_is(item.what, "header") || http_is(item.what, "mime"))
		return item.what.bytes && http_is(item.what, "header") && item.path.length
			       ? IMAP_VALUE_SKIP
			       : begin_head(state, &item);
	if (item.what.length && !http_is(item.what, "text"))
		return IMAP_VALUE_SKIP; // fields of a head
	return begin_mail(in, &item, size);
}

void imap_response_literal_over(struct imap_input *in)
{
	struct imap_state *state = in->state;

	if (state->halves[HALF_S2C].value == IMAP_VALUE_MAIL && state->fetch.ends)
		state->open.number = 0;
}
