// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes content ids as text.
#include "content/content_id.h"

#include <stddef.h>
#include "pipeline/vocab/octets.h"

struct piece {
	const char *at;
	uint32_t length;
};

// `word` is in lower case.
static bool take_word(struct piece *text, const char *word)
{
	uint32_t length = (uint32_t)strlen(word);

	if (text->length < length)
		return false;
	for (uint32_t i = 0; i < length; i++)
		if (octets_lower((uint8_t)text->at[i]) != (uint8_t)word[i])
			return false;
	text->at += length;
	text->length -= length;
	return true;
}

// Up to `separator` or the end; what is behind it stays in *rest.
static struct piece take_until(struct piece *rest, char separator)
{
	const char *end = rest->length ? memchr(rest->at, separator, rest->length) : NULL;
	struct piece piece = {rest->at, end ? (uint32_t)(end - rest->at) : rest->length};
	uint32_t taken = piece.length + (end ? 1 : 0);

	if (taken) {
		rest->at += taken;
		rest->length -= taken;
	}
	return piece;
}

// ---- digits ----

static bool read_hex(struct piece text, uint8_t *bytes, uint32_t n)
{
	if (text.length != 2 * n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int high = octets_hex((uint8_t)text.at[2 * i]);
		int low = octets_hex((uint8_t)text.at[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

// RFC 4648 section 6, without padding.
static int base32_digit(uint8_t byte)
{
	uint8_t lower = octets_lower(byte);

	if (lower >= 'a' && lower <= 'z')
		return lower - 'a';
	return byte >= '2' && byte <= '7' ? byte - '2' + 26 : -1;
}

// Bits that are left over are 0: of two texts for one id, one would be another's.
static bool read_base32(struct piece text, uint8_t *bytes, uint32_t n)
{
	uint32_t bits = 0, kept = 0, at = 0;

	if (text.length != (n * 8 + 4) / 5)
		return false;
	for (uint32_t i = 0; i < text.length; i++) {
		int digit = base32_digit((uint8_t)text.at[i]);

		if (digit < 0)
			return false;
		bits = bits << 5 | (uint32_t)digit;
		kept += 5;
		if (kept >= 8) {
			kept -= 8;
			bytes[at++] = (uint8_t)(bits >> kept);
			bits &= (1u << kept) - 1;
		}
	}
	return !bits;
}

// ---- ids ----

struct form {
	const char *words[4]; // any of them, then the digits
	const char *before;   // digits that are no part of the id
	const char *why;
	uint8_t kind;
	bool hex, base32;
};

static const struct form forms[] = {
	{{"btih:"}, "", "is no btih: expected 40 hex digits or 32 of base32", CONTENT_ID_BTIH, true,
		true},
	{{"btmh:"}, "1220", "is no btmh: expected 1220 and 64 hex digits", CONTENT_ID_BTMH, true,
		false},
	{{"ed2k:", "ed2khash:"}, "", "is no ed2k: expected 32 hex digits", CONTENT_ID_ED2K, true,
		false},
	{{"sha1:"}, "", "is no sha1: expected 32 of base32 or 40 hex digits", CONTENT_ID_SHA1, true,
		true},
	{{"tth:", "tree:tiger:", "tree:tiger/:"}, "", "is no tth: expected 39 of base32",
		CONTENT_ID_TTH, false, true},
	{{"sha256:", "sha-256:"}, "", "is no sha256: expected 64 hex digits", CONTENT_ID_SHA256,
		true, false},
	{{"kzhash:"}, "", "is no kzhash: expected 40 hex digits", CONTENT_ID_KZHASH, true, false},
};

static const char unknown[] = "is no content id: write btih:, btmh:, ed2k:, sha1:, tth:, "
			      "sha256: or kzhash: and its digits, a magnet link or an ed2k link";

static const struct form *find_form(struct piece *text)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		for (size_t w = 0; w < 4 && forms[i].words[w]; w++)
			if (take_word(text, forms[i].words[w]))
				return &forms[i];
	return NULL;
}

static bool read_digits(const struct form *form, struct piece text, struct content_id *id)
{
	*id = (struct content_id){.kind = form->kind};
	if (!take_word(&text, form->before))
		return false;
	uint32_t n = content_id_length(id);

	if (form->hex && read_hex(text, id->bytes, n))
		return true;
	*id = (struct content_id){.kind = form->kind};
	return form->base32 && read_base32(text, id->bytes, n);
}

// What clients show of a torrent, without a word in front.
static bool is_bare_hash(struct piece text)
{
	uint8_t bytes[CONTENT_ID_BT_WIRE];

	return read_hex(text, bytes, sizeof(bytes)) || read_base32(text, bytes, sizeof(bytes));
}

static bool read_id(struct piece text, struct content_id *id, const char **why)
{
	take_word(&text, "urn:");
	const struct form *form = find_form(&text);

	*why = form                 ? form->why
	       : is_bare_hash(text) ? "is a hash alone: if it is a torrent's, write btih: before it"
				    : unknown;
	return form && read_digits(form, text, id);
}

static bool has(const struct content_id *ids, unsigned n, const struct content_id *id)
{
	for (unsigned i = 0; i < n; i++)
		if (content_id_same(&ids[i], id))
			return true;
	return false;
}

// xt, and xt.1 ... of links with several files. What else may stand there is not looked at.
static unsigned read_magnet(
	struct piece text, struct content_id ids[CONTENT_ID_LINK_IDS], const char **why)
{
	unsigned n = 0;

	*why = "is a magnet link without an xt that names a content id";
	while (text.length) {
		struct piece parameter = take_until(&text, '&'), name = take_until(&parameter, '=');
		struct content_id id;

		if (!take_word(&name, "xt") || (name.length && name.at[0] != '.'))
			continue;
		if (!read_id(parameter, &id, why))
			return 0;
		if (has(ids, n, &id))
			continue;
		if (n == CONTENT_ID_LINK_IDS) {
			*why = "is a magnet link with more than 8 ids";
			return 0;
		}
		ids[n++] = id;
	}
	return n;
}

static unsigned read_ed2k_link(struct piece text, struct content_id *id, const char **why)
{
	*why = "is no ed2k link of a file: expected ed2k://|file|NAME|SIZE|HASH|/";
	take_until(&text, '|'); // name
	take_until(&text, '|'); // size
	struct piece hash = take_until(&text, '|');

	*id = (struct content_id){.kind = CONTENT_ID_ED2K};
	return read_hex(hash, id->bytes, content_id_length(id));
}

unsigned content_id_parse(const char *text, uint32_t length,
	struct content_id ids[CONTENT_ID_LINK_IDS], const char **why)
{
	struct piece rest = {text, length};

	if (length > CONTENT_ID_LINK_MAX) {
		*why = "is longer than any content id";
		return 0;
	}
	if (take_word(&rest, "magnet:?"))
		return read_magnet(rest, ids, why);
	if (take_word(&rest, "ed2k://|file|"))
		return read_ed2k_link(rest, &ids[0], why);
	return read_id(rest, &ids[0], why);
}

// ---- as text ----

static char *put_hex(char *to, const uint8_t *bytes, uint32_t n)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < n; i++) {
		*to++ = digits[bytes[i] >> 4];
		*to++ = digits[bytes[i] & 15];
	}
	return to;
}

static char *put_base32(char *to, const uint8_t *bytes, uint32_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	uint32_t bits = 0, kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		bits = bits << 8 | bytes[i];
		for (kept += 8; kept >= 5; kept -= 5)
			*to++ = digits[bits >> (kept - 5) & 31];
		bits &= (1u << kept) - 1;
	}
	if (kept)
		*to++ = digits[bits << (5 - kept) & 31];
	return to;
}

const char *content_id_print(const struct content_id *id, char text[CONTENT_ID_TEXT])
{
	static const char *const words[] = {
#define X(symbol, word, bytes) word ":",
		CONTENT_ID_KINDS(X)
#undef X
	};
	uint32_t n = content_id_length(id);
	char *to = text;

	if (!n)
		return "?";
	to = (char *)mempcpy(to, words[id->kind], strlen(words[id->kind]));
	if (id->kind == CONTENT_ID_BTMH)
		to = (char *)mempcpy(to, "1220", 4);
	if (id->kind == CONTENT_ID_SHA1 || id->kind == CONTENT_ID_TTH)
		to = put_base32(to, id->bytes, n);
	else
		to = put_hex(to, id->bytes, n);
	*to = '\0';
	return text;
}
