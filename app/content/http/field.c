// SPDX-License-Identifier: BSD-3-Clause
// Reads the values of fields. Of one that must not be repeated the first value counts; where a
// second one that differs may lead hosts to another body or name, that is noted.
#include "content/http/field.h"

#include "content/http/parameter.h"

#define NOTE(symbol) CONTENT_NOTE_BIT(CONTENT_NOTE_##symbol)

static const struct {
	const char *name;
	enum http_field field;
} fields[] = {
	{"accept-encoding", HTTP_FIELD_ACCEPT_ENCODING},
	{"content-disposition", HTTP_FIELD_CONTENT_DISPOSITION},
	{"content-encoding", HTTP_FIELD_CONTENT_ENCODING},
	{"content-length", HTTP_FIELD_CONTENT_LENGTH},
	{"content-range", HTTP_FIELD_CONTENT_RANGE},
	{"content-type", HTTP_FIELD_CONTENT_TYPE},
	{"etag", HTTP_FIELD_ETAG},
	{"host", HTTP_FIELD_HOST},
	{"last-modified", HTTP_FIELD_LAST_MODIFIED},
	{"range", HTTP_FIELD_RANGE},
	{"request-range", HTTP_FIELD_RANGE}, // of a draft of 1995; Apache httpd obeys it still
	{"te", HTTP_FIELD_TE},
	{"transfer-encoding", HTTP_FIELD_TRANSFER_ENCODING},
	{"upgrade", HTTP_FIELD_UPGRADE},
	{"user-agent", HTTP_FIELD_USER_AGENT},
	{"x-content-urn", HTTP_FIELD_URN},
	{"x-gnutella-content-urn", HTTP_FIELD_URN},
};

enum http_field http_field_find(const char *name, uint32_t length)
{
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strlen(fields[i].name) == length && !memcmp(fields[i].name, name, length))
			return fields[i].field;
	return HTTP_FIELD_NONE;
}

bool http_field_is_within(const char *name, uint32_t length)
{
	for (unsigned i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (memmem(name, length, fields[i].name, strlen(fields[i].name)))
			return true;
	return false;
}

static struct http_piece keep(struct http_head *head, struct content_text text, uint32_t most)
{
	uint32_t length = text.length < most ? text.length : most;

	memmove(head->text + head->kept, text.bytes, length);
	return http_head_keep(head, length);
}

// RFC 9110 section 8.6: a list of equal values is one value.
static uint64_t read_length(struct http_head *head, struct content_text rest)
{
	struct content_text member;
	uint64_t notes = 0;

	while (http_list_next(&rest, &member)) {
		uint64_t length;

		if (!http_number(member, &length)) {
			head->bad_length = true;
			notes |= NOTE(BAD_LENGTH);
		} else if (head->has_length && length != head->length) {
			head->bad_length = true;
			notes |= NOTE(TWO_LENGTHS);
		} else {
			head->length = length;
			head->has_length = true;
		}
	}
	return notes;
}

static uint64_t add_coding(
	struct http_head *head, uint8_t *codings, uint8_t *n, struct content_text word)
{
	enum coding_kind kind = coding_find(word.bytes, word.length);

	if (kind == CODING_IDENTITY || kind == CODING_UNKNOWN ||
		head->n_coded + head->n_transfer >= HTTP_CODINGS) {
		head->coding_unknown = true;
		return NOTE(CODING_UNKNOWN);
	}
	codings[(*n)++] = (uint8_t)kind;
	return 0;
}

// RFC 9112 section 6.1: chunked comes once, and last. Parameters make a word another coding
// (section 7); identity is none since RFC 7230: what comes of it alone framing.h says.
static uint64_t read_transfer(struct http_head *head, struct content_text rest)
{
	struct content_text member;
	uint64_t notes = 0;

	head->has_transfer = true;
	while (http_list_next(&rest, &member)) {
		if (!member.length)
			continue;
		if (head->chunked) { // something is behind it
			head->coding_unknown = true;
			notes |= NOTE(CODING_UNKNOWN);
		}
		head->chunked = http_is(member, "chunked");
		if (http_is(member, "identity")) {
			head->identity = true;
			continue;
		}
		head->transfer_says = true;
		if (!head->chunked)
			notes |= add_coding(head, head->transfer, &head->n_transfer, member);
	}
	if (head->identity && head->transfer_says) {
		head->coding_unknown = true;
		notes |= NOTE(CODING_UNKNOWN);
	}
	return notes;
}

// Words that servers write where nothing is coded: charsets, transfer encodings of mail, and the
// framing of S3 uploads.
bool http_field_is_no_coding(struct content_text word)
{
	static const char *const words[] = {
		"none", "utf-8", "binary", "7bit", "8bit", "aws-chunked"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (http_is(word, words[i]))
			return true;
	return false;
}

// What cannot be undone is noted where the bytes are wanted. Beside a coding, clients disagree on
// a word that is none.
static void read_encoding(struct http_head *head, struct content_text rest)
{
	struct content_text member;
	bool unknown = false;

	while (http_list_next(&rest, &member)) {
		if (!member.length || http_is(member, "identity"))
			continue;
		if (http_field_is_no_coding(member))
			head->coded_as_is = true;
		else
			unknown |= add_coding(head, head->coded, &head->n_coded, member) != 0;
	}
	unknown |= head->coded_as_is && head->n_coded;
	head->content_unknown |= unknown;
	head->coding_unknown |= unknown;
}

static enum http_media media_of(struct content_text type)
{
	if (!type.length)
		return HTTP_MEDIA_NONE;
	if (http_is(type, "application/x-www-form-urlencoded"))
		return HTTP_MEDIA_FORM;
	if (http_is(type, "multipart/form-data"))
		return HTTP_MEDIA_FORM_PARTS;
	return http_is(type, "multipart/byteranges") ? HTTP_MEDIA_RANGES : HTTP_MEDIA_OTHER;
}

static uint64_t read_type(struct http_head *head, struct content_text line)
{
	struct http_value rest = {head->text + head->kept, line.length};
	struct content_text type = http_value_word(&rest), boundary = {NULL, 0};
	enum http_media media = media_of(type);
	struct http_parameter parameter;
	bool bad = false, parts = media == HTTP_MEDIA_FORM_PARTS || media == HTTP_MEDIA_RANGES;

	if (head->type.length) // a second one
		return parts || head->boundary.length ? NOTE(BAD_MULTIPART) : 0;
	while (parts && http_parameter_next(&rest, &parameter)) {
		struct content_text text = http_value_text(parameter.value);

		if (!http_is(parameter.name, "boundary"))
			continue;
		if (!boundary.bytes)
			boundary = text;
		else
			bad |= !http_same(boundary, text);
	}
	bad |= parts && (!boundary.length || boundary.length > 70);
	if (boundary.length > HTTP_BOUNDARY_BYTES)
		boundary.length = 0;
	head->media = (uint8_t)media;
	head->type = keep(head, type, CONTENT_TYPE_BYTES);
	if (boundary.length)
		head->boundary = keep(head, boundary, HTTP_BOUNDARY_BYTES);
	return bad ? NOTE(BAD_MULTIPART) : 0;
}

static bool is_known(const struct http_head *head, struct content_text name)
{
	if (http_same(http_head_text(head, head->name), name))
		return true;
	for (unsigned i = 0; i < head->n_aliases; i++)
		if (http_same(http_head_text(head, head->aliases[i]), name))
			return true;
	return false;
}

// The first name of the first field is the file's, the others are what else it may be called.
// Behind the line in progress there is room for them (head_reader.c).
static uint64_t read_disposition(struct http_head *head, struct content_text line)
{
	struct http_names names;

	names.room = HTTP_NAMES_BYTES - head->names_bytes;
	if (names.room > http_names_room(head->line))
		names.room = http_names_room(head->line);
	http_names_find(&names, line);
	head->line = names.used;
	for (unsigned i = 0; i < names.n; i++) {
		const struct http_name *name = &names.names[i];

		if (head->name.length && is_known(head, name->text))
			continue;
		if (head->n_aliases == HTTP_NAMES - 1) {
			names.more = true;
			break;
		}
		struct http_piece piece = keep(head, name->text, CONTENT_NAME_BYTES);

		head->names_bytes = (uint16_t)(head->names_bytes + piece.length);
		if (!head->name.length) {
			head->name = piece;
			head->name_source = name->source;
			head->name_cut = name->cut;
			continue;
		}
		head->alias_sources[head->n_aliases] = name->source;
		head->aliases[head->n_aliases++] = piece;
	}
	return names.more ? NOTE(TWO_NAMES) : 0;
}

static struct content_text take_until(struct content_text *rest, uint8_t byte)
{
	struct content_text text = {rest->bytes, http_until(*rest, byte)};

	*rest = http_text_from(*rest, text.length + 1);
	return http_trim(text);
}

// RFC 9110 section 14.4: bytes FROM-TO/TOTAL, or */TOTAL, or FROM-TO/*.
static void read_content_range(struct http_head *head, struct content_text rest)
{
	struct content_text from, to;
	uint64_t number;

	if (head->has_range || !http_begins(rest, "bytes"))
		return;
	rest = http_trim(http_text_from(rest, 5));
	from = take_until(&rest, '-');
	to = take_until(&rest, '/');
	if (!http_number(from, &number) || !http_number(to, &number))
		return;
	head->has_range = true;
	http_number(from, &head->range_from);
	if (http_number(http_trim(rest), &number))
		head->range_total = number;
}

// RFC 9110 section 14.2: one range with a first byte; what several or the last N bytes begin with
// only the answer can say.
static void read_range(struct http_head *head, struct content_text rest)
{
	struct content_text unit = take_until(&rest, '='), from = take_until(&rest, '-');
	uint64_t number;

	head->asks_part = true;
	if (!http_is(unit, "bytes") || http_until(rest, ',') < rest.length ||
		!http_number(from, &number))
		return;
	head->has_range = true;
	head->range_from = number;
}

static void read_host(struct http_head *head, struct content_text host)
{
	if (!head->host.length)
		head->host = keep(head, host, HTTP_HOST_BYTES);
}

static void read_validator(struct http_head *head, struct content_text value, bool etag)
{
	if (!value.length || head->has_etag || (!etag && head->validator.length))
		return;
	head->has_etag = etag;
	head->validator = keep(head, value, HTTP_VALIDATOR_BYTES);
}

static void read_upgrade(struct http_head *head, struct content_text rest)
{
	struct content_text member;

	while (head->upgrade == HTTP_UPGRADE_NONE && http_list_next(&rest, &member)) {
		if (http_is(member, "websocket"))
			head->upgrade = HTTP_UPGRADE_WEBSOCKET;
		else if (http_is(member, "h2c"))
			head->upgrade = HTTP_UPGRADE_H2C;
		else if (http_begins(member, "tls/"))
			head->upgrade = HTTP_UPGRADE_TLS;
		else if (member.length)
			head->upgrade = HTTP_UPGRADE_OTHER;
	}
}

static void read_agent(struct http_head *head, struct content_text agent)
{
	if (!head->agent.length)
		head->agent = keep(head, agent, CONTENT_AGENT_BYTES);
}

static void read_urns(struct http_head *head, struct content_text rest)
{
	struct content_text member;

	while (http_list_next(&rest, &member))
		urn_read(member, &head->urns);
}

// A field of whose value nothing is noted.
static void read_plain(struct http_head *head, enum http_field field, struct content_text value)
{
	switch (field) {
	case HTTP_FIELD_CONTENT_ENCODING: read_encoding(head, value); break;
	case HTTP_FIELD_CONTENT_RANGE: read_content_range(head, value); break;
	case HTTP_FIELD_ETAG: read_validator(head, value, true); break;
	case HTTP_FIELD_HOST: read_host(head, value); break;
	case HTTP_FIELD_LAST_MODIFIED: read_validator(head, value, false); break;
	case HTTP_FIELD_RANGE: read_range(head, value); break;
	case HTTP_FIELD_UPGRADE: read_upgrade(head, value); break;
	case HTTP_FIELD_URN: read_urns(head, value); break;
	case HTTP_FIELD_USER_AGENT: read_agent(head, value); break;
	default: break; // none, or one that is looked at word by word
	}
}

uint64_t http_field_read(struct http_head *head, enum http_field field)
{
	struct content_text value = http_trim(http_head_line(head));
	uint64_t notes = 0;

	switch (field) {
	case HTTP_FIELD_CONTENT_DISPOSITION: notes = read_disposition(head, value); break;
	case HTTP_FIELD_CONTENT_LENGTH: notes = read_length(head, value); break;
	case HTTP_FIELD_CONTENT_TYPE: notes = read_type(head, value); break;
	case HTTP_FIELD_TRANSFER_ENCODING: notes = read_transfer(head, value); break;
	default: read_plain(head, field, value); break;
	}
	head->line = 0;
	return notes;
}
