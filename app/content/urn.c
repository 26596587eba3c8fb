// SPDX-License-Identifier: BSD-3-Clause
// Reads URNs of files.
#include "content/urn.h"

#include "content/base32.h"
#include "content/charset.h"
#include "content/http/text.h"

#define SHA1_BYTES   20
#define SHA1_DIGITS  32
#define TTH_BYTES    24
#define TTH_DIGITS   39
#define URN_BYTES    160 // the longest that is known has 13 + 32 + 1 + 39
#define KZHASH_BYTES 20

static bool read_sha1(struct content_text digits, struct urn_ids *ids)
{
	uint8_t bytes[SHA1_BYTES];

	if (digits.length < SHA1_DIGITS || !base32_read(digits.bytes, bytes, SHA1_BYTES))
		return false;
	if (!ids->has_sha1)
		ids->sha1 = content_id_of(CONTENT_ID_SHA1, bytes);
	ids->has_sha1 = true;
	return true;
}

static bool read_tth(struct content_text digits, struct urn_ids *ids)
{
	uint8_t bytes[TTH_BYTES];

	if (digits.length < TTH_DIGITS || !base32_read(digits.bytes, bytes, TTH_BYTES))
		return false;
	if (!ids->has_tth)
		ids->tth = content_id_of(CONTENT_ID_TTH, bytes);
	ids->has_tth = true;
	return true;
}

// SHA-1, a dot, and the root of the tree of Tiger.
static bool read_bitprint(struct content_text digits, struct urn_ids *ids)
{
	if (!read_sha1(digits, ids))
		return false;
	if (digits.length > SHA1_DIGITS && digits.bytes[SHA1_DIGITS] == '.')
		read_tth(http_text_from(digits, SHA1_DIGITS + 1), ids);
	return true;
}

static bool read_hex(struct content_text digits, enum content_id_kind kind, struct urn_ids *ids)
{
	struct content_id id = {.kind = (uint8_t)kind};
	uint32_t n = content_id_length(&id);

	if (digits.length < 2 * n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int pair = text_hex_pair(digits.bytes + 2 * i);

		if (pair < 0)
			return false;
		id.bytes[i] = (uint8_t)pair;
	}
	if (!ids->has_other)
		ids->other = id;
	ids->has_other = true;
	return true;
}

static bool read_kzhash(struct content_text digits, struct urn_ids *ids)
{
	return read_hex(digits, CONTENT_ID_KZHASH, ids);
}

static bool read_ed2k(struct content_text digits, struct urn_ids *ids)
{
	return read_hex(digits, CONTENT_ID_ED2K, ids);
}

static bool read_sha256(struct content_text digits, struct urn_ids *ids)
{
	return read_hex(digits, CONTENT_ID_SHA256, ids);
}

bool urn_read(struct content_text urn, struct urn_ids *ids)
{
	static const struct {
		const char *word;
		bool (*read)(struct content_text digits, struct urn_ids *ids);
	} forms[] = {{"sha1:", read_sha1}, {"bitprint:", read_bitprint}, {"ttroot:", read_tth},
		{"tree:tiger/:", read_tth}, {"tree:tiger:", read_tth}, {"kzhash:", read_kzhash},
		{"ed2k:", read_ed2k}, {"ed2khash:", read_ed2k}, {"sha256:", read_sha256}};

	if (!http_begins(urn, "urn:"))
		return false;
	urn = http_text_from(urn, 4);
	for (unsigned i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (http_begins(urn, forms[i].word))
			return forms[i].read(
				http_text_from(urn, (uint32_t)strlen(forms[i].word)), ids);
	return false;
}

// Percent escapes undone, as far as there is room.
static uint32_t undo_escapes(struct content_text text, uint8_t out[URN_BYTES])
{
	struct text_source source = {.bytes = text.bytes, .length = text.length, .percent = true};
	uint32_t n = 0;

	for (int byte; n < URN_BYTES && (byte = text_source_next(&source)) >= 0; n++)
		out[n] = (uint8_t)byte;
	return n;
}

bool urn_read_path(struct content_text path, struct urn_ids *ids, bool *whole)
{
	uint8_t plain[URN_BYTES];
	struct content_text text = {plain, undo_escapes(path, plain)};

	*whole = true;
	if (http_begins(text, "/.hash="))
		return read_kzhash(http_text_from(text, 7), ids);
	if (!http_begins(text, "/uri-res/n2"))
		return false;
	uint32_t at = http_until(text, '?');

	*whole = http_begins(text, "/uri-res/n2r?");
	return urn_read(http_text_from(text, at + 1), ids);
}

void urn_report(const struct urn_ids *ids, const struct content_sink *sink, unsigned half)
{
	if (ids->has_sha1)
		sink->id(sink->ctx, &ids->sha1, half);
	if (ids->has_tth)
		sink->id(sink->ctx, &ids->tth, half);
	if (ids->has_other)
		sink->id(sink->ctx, &ids->other, half);
}
