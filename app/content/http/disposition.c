// SPDX-License-Identifier: BSD-3-Clause
// Reads Content-Disposition as RFC 6266 says, and as programs do. A parameter of a file's name is
// looked for wherever it may stand, whatever is before it: curl passes over all that is no letter,
// Firefox goes on behind a comma, wget and Chromium ask for no word in front.
//
// What is taken for its value, by whom:
//   "..."     to the quote that ends it, backslashes undone (RFC 9110, Firefox, Chromium)
//             to the first quote, as it stands (curl, wget)
//             all up to ';', where something is behind the quote (Chromium)
//   '...'     what stands between them (curl)
//   else      up to ';' (RFC, curl, wget, Chromium), or up to a blank (Firefox); curl also where a
//             blank stands before the quotes
// and of each the encoded words (RFC 2047) undone (Firefox, Chromium). filename* has a charset
// (RFC 8187), or what stands behind the last quote is taken (wget), also where it has none
// (Firefox). Parts (filename*0, filename*1) and parameters that come twice are put together (wget).
#include "content/http/disposition.h"

#include "content/charset.h"
#include "content/text_decode.h"

#define PARAMETERS_MAX HTTP_NAMES // that are looked at
#define WORD           "filename"

// A text of which the end is kept.
struct tail {
	uint8_t bytes[2 * CONTENT_NAME_BYTES];
	uint32_t length;
	bool cut; // not all of it is here
};

static void tail_put(struct tail *tail, uint8_t byte)
{
	if (tail->length == sizeof(tail->bytes)) {
		tail->cut = true;
		// more than a name may have stays, so that it is seen to be cut
		tail->length = CONTENT_NAME_BYTES + 1;
		memmove(tail->bytes, tail->bytes + sizeof(tail->bytes) - tail->length,
			tail->length);
	}
	tail->bytes[tail->length++] = byte;
}

static struct content_text tail_text(const struct tail *tail)
{
	return (struct content_text){tail->bytes, tail->length};
}

// Returns where it is among them; n: it is not.
static unsigned add_name(struct http_names *names, struct content_text text, uint8_t source)
{
	struct http_name name = http_name_of(text, source);

	if (!name.text.length)
		return names->n;
	for (unsigned i = 0; i < names->n; i++)
		if (http_same(names->names[i].text, name.text))
			return i;
	if (names->n == HTTP_NAMES || name.text.length > names->room - names->used) {
		names->more = true;
		return names->n;
	}
	memcpy(names->text + names->used, name.text.bytes, name.text.length);
	name.text.bytes = names->text + names->used;
	names->used += name.text.length;
	names->names[names->n] = name;
	return names->n++;
}

static bool has_words(struct content_text text)
{
	return text.length && memmem(text.bytes, text.length, "=?", 2);
}

// Also with its encoded words undone. A word that stays one is in a charset that nobody knows here.
static void add_text(struct http_names *names, struct content_text text, uint8_t source)
{
	uint8_t decoded[2 * CONTENT_NAME_BYTES];

	add_name(names, text, source);
	if (!has_words(text))
		return;
	const struct content_text words = {
		decoded, text_decode_words(text.bytes, text.length, decoded, sizeof(decoded))};

	add_name(names, words, source);
	names->more |= has_words(words) || words.length + 4 > sizeof(decoded);
}

static struct content_text until(struct content_text text, uint8_t byte)
{
	text.length = http_until(text, byte);
	return text;
}

static uint32_t until_blank(struct content_text text)
{
	uint32_t i = 0;

	while (i < text.length && !http_is_blank(text.bytes[i]))
		i++;
	return i;
}

// quoted-string, RFC 9110 section 5.6.4, behind its first quote. One without an end goes to the end
// of the value. Returns how far it goes, its last quote included.
static uint32_t unquote(struct content_text text, struct tail *out)
{
	uint32_t i = 0;

	out->length = 0;
	for (; i < text.length && text.bytes[i] != '"'; i++) {
		i += text.bytes[i] == '\\' && i + 1 < text.length;
		tail_put(out, text.bytes[i]);
	}
	return i < text.length ? i + 1 : i;
}

static void add_quoted(struct http_names *names, struct content_text value, struct tail *tail)
{
	value = http_text_from(value, 1);
	uint32_t end = unquote(value, tail);
	struct content_text behind = until(http_text_from(value, end), ';');

	add_text(names, tail_text(tail), CONTENT_NAME_HEADER);
	add_text(names, until(value, '"'), CONTENT_NAME_HEADER);
	if (http_trim(behind).length) {
		value.length = end + behind.length;
		add_text(names, http_trim(value), CONTENT_NAME_HEADER);
	}
}

static void add_plain(struct http_names *names, struct content_text value, struct tail *tail)
{
	if (value.length && value.bytes[0] == '"') {
		add_quoted(names, value, tail);
		return;
	}
	if (value.length && value.bytes[0] == '\'')
		add_text(names, until(http_text_from(value, 1), '\''), CONTENT_NAME_HEADER);
	value = http_trim(until(value, ';'));
	add_text(names, value, CONTENT_NAME_HEADER);
	value.length = until_blank(value);
	add_text(names, value, CONTENT_NAME_HEADER);
}

// Percent signs are undone, and characters of ISO 8859-1 become UTF-8. False: a percent sign that
// is none (RFC 8187 section 3.2.1: no value at all).
static bool decode_percent(struct content_text value, bool latin1, struct tail *out)
{
	out->length = 0;
	for (uint32_t i = 0; i < value.length; i++) {
		uint8_t byte = value.bytes[i];

		if (byte == '%') {
			int escaped =
				value.length - i >= 3 ? text_hex_pair(value.bytes + i + 1) : -1;

			if (escaped < 0)
				return false;
			byte = (uint8_t)escaped;
			i += 2;
			if (latin1 && byte >= 0x80) {
				tail_put(out, (uint8_t)(0xc0 | byte >> 6));
				byte = 0x80 | (byte & 0x3f);
			}
		}
		tail_put(out, byte);
	}
	return true;
}

// What stands behind the last quote.
static struct content_text behind_quotes(struct content_text value)
{
	uint32_t i = value.length;

	while (i && value.bytes[i - 1] != '\'')
		i--;
	return http_text_from(value, i);
}

// ext-value of RFC 8187: charset'language'value. A charset that has ASCII in it is read as ISO
// 8859-1 where it is not UTF-8: its letters may be others then, its extension is the same.
static bool add_rfc8187(struct http_names *names, struct content_text value)
{
	struct content_text charset = until(value, '\'');
	struct content_text rest = http_text_from(value, charset.length + 1);
	uint32_t language = http_until(rest, '\'');
	struct tail tail = {.length = 0};

	if (!rest.length || language == rest.length)
		return false;
	rest = http_text_from(rest, language + 1);
	if (!charset_has_ascii(charset.bytes, charset.length)) {
		tail.length = text_decode_extended(
			value.bytes, value.length, tail.bytes, sizeof(tail.bytes));
		names->more |= !tail.length || tail.length + 4 > sizeof(tail.bytes);
	} else if (!decode_percent(rest, !http_is(charset, "utf-8"), &tail)) {
		return false;
	}
	unsigned at = add_name(names, tail_text(&tail), CONTENT_NAME_HEADER_EXTENDED);

	if (at < names->n && !names->has_right) {
		names->names[at].source = CONTENT_NAME_HEADER_EXTENDED;
		names->right = (uint8_t)at;
		names->has_right = true;
	}
	// RFC 8187 has no further quote in it
	return tail.length && !memchr(rest.bytes, '\'', rest.length);
}

static void add_extended(struct http_names *names, struct content_text value, struct tail *tail)
{
	if (value.length && value.bytes[0] == '"') {
		unquote(http_text_from(value, 1), tail);
		value = tail_text(tail);
	} else {
		value = http_trim(until(value, ';'));
	}
	for (unsigned i = 0; i < 2; i++) {
		// percent signs are undone where names are compared
		if (!add_rfc8187(names, value))
			add_name(names, behind_quotes(value), CONTENT_NAME_HEADER_EXTENDED);
		value.length = until_blank(value);
	}
}

// A parameter of a file's name.
struct found {
	struct content_text value; // what stands behind '=' and blanks, to the end of the field
	int part;                  // filename*N: N; -1: none
	bool extended;             // its name ends with '*'
	bool joins;                // it has no meaning of its own to anybody
	bool starred;              // wget keeps it apart from `filename`
	bool strict;               // it stands where RFC 6266 has parameters
	bool blank;                // stands behind '='
};

// Of a name that goes on with '*': digits are a part's number.
static void take_star(struct content_text form, struct found *found)
{
	uint32_t digits = 0;

	while (digits < form.length && digits < 5 && octets_digit(form.bytes[digits])) {
		found->part = (found->part < 0 ? 0 : 10 * found->part) + form.bytes[digits] - '0';
		digits++;
	}
	found->joins = form.length > 0;
	found->extended = !form.length || form.bytes[form.length - 1] == '*';
	found->starred = !digits;
}

// Behind WORD. False: it is no such parameter.
static bool take_form(struct content_text rest, struct found *found)
{
	*found = (struct found){.part = -1};
	if (rest.length && rest.bytes[0] == '*') {
		struct content_text form = http_text_from(rest, 1);

		form.length = 0;
		while (form.length + 1 < rest.length && http_is_token(form.bytes[form.length]))
			form.length++;
		take_star(form, found);
		rest = http_text_from(rest, 1 + form.length);
	}
	rest = http_trim(rest);
	if (!rest.length || rest.bytes[0] != '=')
		return false;
	rest = http_text_from(rest, 1);
	found->blank = rest.length && http_is_blank(rest.bytes[0]);
	found->value = http_trim(rest);
	return true;
}

static bool is_letter(uint8_t byte)
{
	return octets_lower(byte) >= 'a' && octets_lower(byte) <= 'z';
}

// The field's beginning, or a semicolon, stands before it, as it should.
static bool is_behind_semicolon(const uint8_t *begin, const uint8_t *at)
{
	while (at > begin && http_is_blank(at[-1]))
		at--;
	return at == begin || at[-1] == ';';
}

// The next one; *rest goes on with its value.
static bool find_next(struct content_text *rest, const uint8_t *begin, struct found *found)
{
	while (rest->length >= sizeof(WORD) - 1) {
		const uint8_t *at = rest->bytes;
		bool may = http_begins(*rest, WORD) && (at == begin || !is_letter(at[-1]));

		*rest = http_text_from(*rest, may ? sizeof(WORD) - 1 : 1);
		if (may && take_form(*rest, found)) {
			found->strict = is_behind_semicolon(begin, at);
			*rest = found->value;
			return true;
		}
	}
	return false;
}

// Pieces that are put together; after each of them wget may have seen the last one.
struct joined {
	struct tail tail;
	uint32_t ends[PARAMETERS_MAX];
	unsigned n;
	bool alone; // also one piece is a name that is found nowhere else
};

// As wget reads a piece: quotes end at the next one, and of a path the last component counts.
static void join(struct joined *joined, const struct found *found)
{
	struct content_text value = found->value;

	if (value.length && value.bytes[0] == '"')
		value = until(http_text_from(value, 1), '"');
	else
		value = http_trim(until(value, ';'));
	if (found->extended)
		value = behind_quotes(value);
	for (uint32_t i = value.length; i; i--)
		if (value.bytes[i - 1] == '/' || value.bytes[i - 1] == '\\') {
			value = http_text_from(value, i);
			break;
		}
	for (uint32_t i = 0; i < value.length; i++)
		tail_put(&joined->tail, value.bytes[i]);
	joined->alone |= found->joins;
	joined->ends[joined->n++] = joined->tail.length;
}

// All pieces, and what the first of them make.
static void add_joined(struct http_names *names, const struct joined *joined, uint8_t source)
{
	struct content_text text = tail_text(&joined->tail);
	unsigned least = joined->alone ? 1 : 2;

	if (joined->n >= least)
		add_name(names, text, source);
	for (unsigned n = least; n < joined->n && !joined->tail.cut; n++) {
		text.length = joined->ends[n - 1];
		add_name(names, text, source);
	}
	names->more |= joined->tail.cut;
}

// RFC 6266 section 4.3: filename* is taken before filename.
static void put_first(struct http_names *names)
{
	unsigned at = names->right;

	if (!names->has_right)
		return;
	struct http_name name = names->names[at];

	memmove(names->names + 1, names->names, at * sizeof(name));
	names->names[0] = name;
}

static void read_parameter(struct http_names *names, const struct found *found, struct tail *tail)
{
	if (found->joins)
		return;
	if (found->extended) {
		add_extended(names, found->value, tail);
		return;
	}
	add_plain(names, found->value, tail);
	if (found->blank)
		add_text(names, http_trim(until(found->value, ';')), CONTENT_NAME_HEADER);
}

void http_names_find(struct http_names *names, struct content_text value)
{
	struct joined joined[2] = {{.n = 0}, {.n = 0}};
	struct content_text rest = value;
	struct tail scratch;
	unsigned n = 0;
	int part = 0;
	struct found found;

	names->n = names->right = 0;
	names->has_right = names->more = false;
	names->used = 0;
	while (find_next(&rest, value.bytes, &found)) {
		if (n++ == PARAMETERS_MAX) {
			names->more = true;
			break;
		}
		if (found.strict)
			join(&joined[found.starred], &found);
		// some programs join parts by their numbers
		names->more |= found.part >= 0 && found.part != part++;
		read_parameter(names, &found, &scratch);
	}
	add_joined(names, &joined[0], CONTENT_NAME_HEADER);
	add_joined(names, &joined[1], CONTENT_NAME_HEADER_EXTENDED);
	put_first(names);
}
