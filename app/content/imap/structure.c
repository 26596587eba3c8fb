// SPDX-License-Identifier: BSD-3-Clause
// Reads how a message is built of parts (BODYSTRUCTURE).
#include "content/imap/structure.h"

#include "content/http/text.h"

#define HEAD_BYTES 8 // number, length

struct head {
	uint32_t number, length;
};

static struct head head_at(const struct imap_structures *structures, uint32_t at)
{
	struct head head;

	memcpy(&head, structures->bytes + at, sizeof(head));
	return head;
}

static void remove_at(struct imap_structures *structures, uint32_t at, uint32_t n)
{
	memmove(structures->bytes + at, structures->bytes + at + n, structures->length - at - n);
	structures->length -= n;
	structures->begins -= structures->comes && structures->begins > at ? n : 0;
}

// Where that of a message is; `length` where there is none.
static uint32_t find(const struct imap_structures *structures, uint32_t number)
{
	uint32_t end = structures->comes ? structures->begins : structures->length, at = 0;

	while (at < end && head_at(structures, at).number != number)
		at += HEAD_BYTES + head_at(structures, at).length;
	return at < end ? at : structures->length;
}

void imap_structure_begin(struct imap_structures *structures, uint32_t number)
{
	const struct head head = {.number = number};
	uint32_t old = find(structures, number);

	if (old < structures->length)
		remove_at(structures, old, HEAD_BYTES + head_at(structures, old).length);
	structures->begins = structures->length;
	structures->comes = true;
	imap_structure_add(structures, (const uint8_t *)&head, sizeof(head));
}

void imap_structure_add(struct imap_structures *structures, const uint8_t *bytes, uint32_t n)
{
	while (n > IMAP_STRUCTURES_BYTES - structures->length && structures->begins)
		remove_at(structures, 0, HEAD_BYTES + head_at(structures, 0).length);
	if (n > IMAP_STRUCTURES_BYTES - structures->length) // its beginning is read
		n = IMAP_STRUCTURES_BYTES - structures->length;
	memcpy(structures->bytes + structures->length, bytes, n);
	structures->length += n;
}

void imap_structure_end(struct imap_structures *structures)
{
	struct head head = head_at(structures, structures->begins);

	head.length = structures->length - structures->begins - HEAD_BYTES;
	memcpy(structures->bytes + structures->begins, &head, sizeof(head));
	structures->comes = false;
}

// ---- values ----

// The length of "{12}" and of what follows it; 0: it is none.
static uint32_t literal(struct content_text text, struct content_text *value)
{
	uint32_t close = http_until(text, '}');
	uint64_t n;

	if (!http_number((struct content_text){text.bytes + 1, close - 1}, &n) ||
		close == text.length || n > text.length - close - 1)
		return 0;
	*value = (struct content_text){text.bytes + close + 1, (uint32_t)n};
	return close + 1 + (uint32_t)n;
}

static uint32_t quoted(struct content_text text, struct content_text *value)
{
	uint32_t at = 1;

	while (at < text.length && text.bytes[at] != '"')
		at += text.bytes[at] == '\\' ? 2 : 1;
	if (at >= text.length)
		return 0;
	*value = (struct content_text){text.bytes + 1, at - 1};
	return at + 1;
}

// A string or an atom; NIL is empty. False: there is none.
static bool take_string(struct content_text *rest, struct content_text *value)
{
	uint32_t n = 0;

	*rest = http_trim(*rest);
	*value = (struct content_text){rest->bytes, 0};
	if (!rest->length || rest->bytes[0] == '(' || rest->bytes[0] == ')')
		return false;
	if (rest->bytes[0] == '"')
		n = quoted(*rest, value);
	else if (rest->bytes[0] == '{')
		n = literal(*rest, value);
	else
		while (n < rest->length && !strchr(" ()", rest->bytes[n]))
			n++;
	if (!n)
		return false;
	if (rest->bytes[0] != '"' && rest->bytes[0] != '{' &&
		!http_is((struct content_text){rest->bytes, n}, "nil"))
		value->length = n;
	*rest = http_text_from(*rest, n);
	return true;
}

// Anything: a string, or a list with all that is in it. False: it has no end.
static bool skip(struct content_text *rest)
{
	struct content_text value;
	uint32_t depth = 0;

	do {
		*rest = http_trim(*rest);
		if (!rest->length)
			return false;
		if (rest->bytes[0] == '(') {
			depth++;
			*rest = http_text_from(*rest, 1);
		} else if (rest->bytes[0] == ')') {
			if (!depth)
				return false;
			depth--;
			*rest = http_text_from(*rest, 1);
		} else if (!take_string(rest, &value)) {
			return false;
		}
	} while (depth);
	return true;
}

static bool enter(struct content_text *rest)
{
	*rest = http_trim(*rest);
	if (!rest->length || rest->bytes[0] != '(')
		return false;
	*rest = http_text_from(*rest, 1);
	return true;
}

static bool is_list(struct content_text rest)
{
	return enter(&rest);
}

// ---- parts ----

// A part alone, behind its "(".
struct part {
	struct content_text type, subtype, encoding;
	struct content_text parameters, disposition; // lists, from "(" on
	struct content_text body;                    // of a mail within: from its "(" on
};

static bool read_part(struct content_text rest, struct part *part)
{
	struct content_text nothing;

	*part = (struct part){0};
	if (!take_string(&rest, &part->type) || !take_string(&rest, &part->subtype))
		return false;
	part->parameters = rest;
	if (!skip(&rest) || !skip(&rest) || !skip(&rest) || !take_string(&rest, &part->encoding))
		return false;
	skip(&rest); // octets
	if (http_is(part->type, "text"))
		skip(&rest);
	if (http_is(part->type, "message") && http_is(part->subtype, "rfc822")) {
		skip(&rest);
		part->body = rest;
		skip(&rest);
		skip(&rest);
	}
	if (take_string(&rest, &nothing)) // its digest
		part->disposition = rest;
	return true;
}

// `node` is a body, from its "(" on: the k-th part of it.
static bool child(struct content_text *node, uint64_t k)
{
	struct content_text rest = *node;
	struct part part;

	if (!enter(&rest) || !k)
		return false;
	if (!is_list(rest)) {
		if (k == 1 && read_part(rest, &part) && !part.body.length)
			return true;
		if (!read_part(rest, &part) || !part.body.length)
			return false;
		*node = part.body; // a mail within: its own parts
		rest = *node;
		if (!enter(&rest) || (!is_list(rest) && k != 1))
			return false;
		if (!is_list(rest))
			return true;
	}
	while (--k)
		if (!is_list(rest) || !skip(&rest))
			return false;
	*node = rest;
	return is_list(rest);
}

// ---- heads ----

struct out {
	uint8_t *bytes; // NULL: counted
	uint32_t length;
};

static void put(struct out *out, struct content_text text)
{
	for (uint32_t i = 0; i < text.length && out->length < IMAP_MADE_BYTES; i++) {
		uint8_t byte = text.bytes[i];

		if (out->bytes) // no line of its own
			out->bytes[out->length] =
				byte == '\r' || byte == '\n' || !byte ? ' ' : byte;
		out->length++;
	}
}

static void put_line(struct out *out, const char *text)
{
	for (; *text && out->length < IMAP_MADE_BYTES; text++) {
		if (out->bytes)
			out->bytes[out->length] = (uint8_t)*text;
		out->length++;
	}
}

static void put_parameters(struct out *out, struct content_text list)
{
	struct content_text name, value;

	if (!enter(&list))
		return;
	while (take_string(&list, &name) && take_string(&list, &value)) {
		put_line(out, "; ");
		put(out, name);
		put_line(out, "=\"");
		put(out, value); // a quoted one has its escapes
		put_line(out, "\"");
	}
}

static void put_head(struct out *out, const struct part *part)
{
	struct content_text disposition = part->disposition, word;

	put_line(out, "Content-Type: ");
	put(out, part->type);
	put_line(out, "/");
	put(out, part->subtype);
	put_parameters(out, part->parameters);
	put_line(out, "\r\nContent-Transfer-Encoding: ");
	put(out, part->encoding);
	if (enter(&disposition) && take_string(&disposition, &word)) {
		put_line(out, "\r\nContent-Disposition: ");
		put(out, word);
		put_parameters(out, disposition);
	}
	put_line(out, "\r\n\r\n");
}

uint32_t imap_structure_head(const struct imap_structures *structures, uint32_t number,
	struct content_text path, uint8_t *to)
{
	uint32_t at = structures->bytes ? find(structures, number) : structures->length;
	struct content_text node;
	struct out out = {.bytes = to};
	struct part part;
	uint64_t k;

	if (at == structures->length || !path.length)
		return 0;
	node = (struct content_text){
		structures->bytes + at + HEAD_BYTES, head_at(structures, at).length};
	while (path.length) {
		uint32_t n = http_until(path, '.');

		if (!http_number((struct content_text){path.bytes, n}, &k) || !child(&node, k))
			return 0;
		path = http_text_from(path, n + 1);
	}
	if (!enter(&node) || is_list(node) || !read_part(node, &part))
		return 0;
	put_head(&out, &part);
	return out.length < IMAP_MADE_BYTES ? out.length : 0;
}
