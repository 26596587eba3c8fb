// SPDX-License-Identifier: BSD-3-Clause
// What the elements of a stanza mean. Names are compared without their prefix and name space, which
// a sender may write in many ways: rather a text too much is read than one too few.
#include <string.h>
#include "content/http/text.h"
#include "content/xmpp/stream.h"

enum xmpp_kind xmpp_kind_of(struct content_text name)
{
	static const char *const names[] = {
#define X(symbol, word) word,
		XMPP_KINDS(X)
#undef X
	};

	for (unsigned i = 1; name.length && i < XMPP_KINDS_MAX; i++)
		if (name.bytes[0] == (uint8_t)names[i][0] && name.length == strlen(names[i]) &&
			!memcmp(name.bytes, names[i], name.length))
			return i;
	return XMPP_OTHER;
}

// Where the element's parent is: the reader counts the element already.
static enum xmpp_kind parent_of(const struct xmpp_work *work, enum xmpp_role *role)
{
	uint32_t depth = work->reader.depth;

	*role = depth > 1 ? work->roles[depth - 2] : XMPP_ROLE_NONE;
	return depth > 1 ? work->kinds[depth - 2] : XMPP_OTHER;
}

static enum xmpp_role role_in_message(enum xmpp_kind parent, enum xmpp_kind kind)
{
	static const struct {
		uint8_t parent, kind, role;
	} rows[] = {
		{XMPP_MESSAGE, XMPP_BODY, XMPP_ROLE_TEXT},
		{XMPP_MESSAGE, XMPP_SUBJECT, XMPP_ROLE_TEXT},
		{XMPP_MESSAGE, XMPP_HTML, XMPP_ROLE_MARKUP},
		{XMPP_X, XMPP_URL, XMPP_ROLE_TEXT},
		{XMPP_X, XMPP_DESC, XMPP_ROLE_TEXT},
		{XMPP_RTT, XMPP_T, XMPP_ROLE_TEXT},
		{XMPP_INVITE, XMPP_REASON, XMPP_ROLE_TEXT},
		{XMPP_DECLINE, XMPP_REASON, XMPP_ROLE_TEXT},
	};

	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].parent == parent && rows[i].kind == kind)
			return rows[i].role;
	return XMPP_ROLE_NONE;
}

// Its text is kept until its end.
static bool is_field(const struct xmpp_turn *to, enum xmpp_kind parent, enum xmpp_kind kind)
{
	const struct xmpp_work *work = to->half->work;
	bool server = to->side == HALF_S2C;

	if (work->in_file && (kind == XMPP_NAME || kind == XMPP_SIZE || kind == XMPP_FILENAME) &&
		(parent == XMPP_FILE || parent == XMPP_REQUEST))
		return true;
	if (parent == XMPP_BIND && kind == XMPP_JID)
		return server;
	return kind == XMPP_AUTH && work->reader.depth == 1 && !server &&
	       http_is(xml_value_of(&work->reader, XMPP_ATTRIBUTE_MECHANISM), "plain");
}

static enum xmpp_role role_of(
	const struct xmpp_turn *to, enum xmpp_kind parent, enum xmpp_kind kind)
{
	if (is_field(to, parent, kind))
		return XMPP_ROLE_FIELD;
	if (kind == XMPP_BLOCK && xmpp_offers_begins(to, kind))
		return XMPP_ROLE_BLOCK;
	return to->half->work->messages ? role_in_message(parent, kind) : XMPP_ROLE_NONE;
}

static bool ends_line(enum xmpp_kind kind)
{
	return kind == XMPP_P || kind == XMPP_BR || kind == XMPP_LI || kind == XMPP_DIV;
}

// A message inside of one is what a person reads: forwarded (XEP-0297), carbons (XEP-0280),
// archived (XEP-0313).
static void begin_message(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;
	unsigned level;

	xmpp_chat_finish(to);
	if (work->messages == XMPP_LEVELS)
		xmpp_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->at64);
	level = work->messages < XMPP_LEVELS ? work->messages : XMPP_LEVELS - 1;
	work->messages++; // at most XML_DEPTH
	xmpp_party_set(to, &work->from[level], xml_value_of(&work->reader, XMPP_ATTRIBUTE_FROM));
	xmpp_party_set(to, &work->to[level], xml_value_of(&work->reader, XMPP_ATTRIBUTE_TO));
}

static void begin_stanza(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;
	struct content_text type = xmpp_value(to, XMPP_ATTRIBUTE_TYPE);

	work->unit64 = to->half->at64 - work->reader.tag_bytes;
	work->messages = 0;
	work->offers = work->in_file = work->file.answered = work->jingle = false;
	work->answers = kind == XMPP_IQ && http_is(type, "result");
	work->fails = kind == XMPP_IQ && http_is(type, "error");
	work->id = xmpp_value_hash(to, XMPP_ATTRIBUTE_ID);
	work->session = 0;
	work->transfer = NULL;
	xmpp_party_set(to, &work->from[0], xml_value_of(&work->reader, XMPP_ATTRIBUTE_FROM));
	xmpp_identity_stanza(to);
}

// What follows is opaque, if it is no XML.
static void take_protection(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	if (to->side != HALF_S2C || to->half->work->reader.depth != 1)
		return;
	xmpp_note(to,
		kind == XMPP_PROCEED ? CONTENT_NOTE_OPAQUE_TLS : CONTENT_NOTE_OPAQUE_COMPRESSED,
		to->half->at64);
	to->state->opaque = true;
}

// Of a file with two names receivers take either.
static void begin_field(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	struct xmpp_work *work = to->half->work;

	work->field_length = 0;
	work->field_cut = false;
	if (kind != XMPP_NAME && kind != XMPP_FILENAME)
		return;
	if (work->file.length)
		xmpp_note(to, CONTENT_NOTE_TWO_NAMES, to->half->at64);
	work->file.length = 0;
	work->file.cut = false;
}

void xmpp_start(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;
	uint32_t depth = work->reader.depth;
	enum xmpp_role role, around;
	enum xmpp_kind kind, parent;

	if (depth > XML_DEPTH) {
		xmpp_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->at64);
		return;
	}
	parent = parent_of(work, &around);
	kind = xmpp_kind_of(xml_name_of(&work->reader));
	if (depth == 1)
		begin_stanza(to, kind);
	if (around == XMPP_ROLE_TEXT) // RFC 6121 section 5.2.3: no element belongs here
		xmpp_note(to, CONTENT_NOTE_BAD_XML, to->half->at64);
	role = xmpp_is_chat(around) ? around : role_of(to, parent, kind);
	work->kinds[depth - 1] = (uint8_t)kind;
	work->roles[depth - 1] = (uint8_t)role;
	if (role == XMPP_ROLE_FIELD)
		begin_field(to, kind);
	if (xmpp_is_chat(role) && (role != around || ends_line(kind)))
		work->chat.separated = true;
	if (kind == XMPP_MESSAGE)
		begin_message(to);
	else if (kind == XMPP_PROCEED || kind == XMPP_COMPRESSED)
		take_protection(to, kind);
	else
		xmpp_offers_start(to, kind);
}

static void end_field(const struct xmpp_turn *to, enum xmpp_kind kind)
{
	if (to->half->work->field_cut) // who it is, or how large, is not known
		xmpp_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->at64);
	if (kind == XMPP_JID)
		xmpp_identity_bound(to);
	else if (kind == XMPP_AUTH)
		xmpp_identity_plain(to);
	else
		xmpp_offers_field(to, kind);
}

void xmpp_end(const struct xmpp_turn *to)
{
	struct xmpp_work *work = to->half->work;
	uint32_t depth = work->reader.depth;

	if (depth >= XML_DEPTH)
		return;
	enum xmpp_kind kind = work->kinds[depth];
	enum xmpp_role role = work->roles[depth];

	if (role == XMPP_ROLE_FIELD)
		end_field(to, kind);
	else if (role == XMPP_ROLE_BLOCK)
		xmpp_inband_end(to);
	else if (xmpp_is_chat(role) && ends_line(kind))
		work->chat.separated = true;
	else if (kind == XMPP_MESSAGE && work->messages)
		work->messages--;
	else
		xmpp_offers_end(to, kind);
}

static void put_field(struct xmpp_work *work, enum xmpp_kind kind, const struct xml_token *token)
{
	struct xmpp_file *file = &work->file;
	bool named = kind == XMPP_NAME || kind == XMPP_FILENAME;
	uint8_t *bytes = named ? file->name : work->field;
	uint16_t *length = named ? &file->length : &work->field_length;
	uint32_t size = named ? sizeof(file->name) : sizeof(work->field);

	for (uint32_t i = 0; i < token->length; i++) {
		if (*length == size && !named) {
			work->field_cut = true;
			return;
		}
		if (*length == size) { // of a name the end counts
			memmove(bytes, bytes + size / 4, size - size / 4);
			*length = (uint16_t)(size - size / 4);
			file->cut = true;
		}
		bytes[(*length)++] = token->text[i];
	}
}

void xmpp_text(const struct xmpp_turn *to, const struct xml_token *token)
{
	struct xmpp_work *work = to->half->work;
	uint32_t depth = work->reader.depth;

	if (!depth || depth > XML_DEPTH)
		return;
	enum xmpp_role role = work->roles[depth - 1];

	if (role == XMPP_ROLE_FIELD)
		put_field(work, work->kinds[depth - 1], token);
	else if (role == XMPP_ROLE_BLOCK)
		xmpp_inband_put(to, token);
	else if (xmpp_is_chat(role))
		xmpp_chat_put(to, token);
}
