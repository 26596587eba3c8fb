// SPDX-License-Identifier: BSD-3-Clause
// Finds words of requests that have their receivers answer with parts of files, or in codings that
// are not decoded here.
#include "content/http/words.h"

static bool report(const struct http_turn *turn, enum content_word_kind kind, uint8_t last,
	uint64_t last64, bool unsure)
{
	const struct content_sink *sink = turn->turn->sink;
	// No coding that is registered ends so, and no field that a server knows is named Rangx.
	const struct content_word word = {.half = turn->half,
		.kind = (uint8_t)kind,
		.other = octets_lower(last) == 'x' ? 'y' : 'x',
		.unsure = unsure,
		.last64 = last64};

	return sink->word(sink->ctx, &word);
}

bool http_word_part(
	const struct http_turn *turn, const char *name, uint32_t length, uint64_t at64, bool unsure)
{
	return report(
		turn, CONTENT_WORD_PART, (uint8_t)name[length - 1], at64 + length - 1, unsure);
}

// Words of TE that are no coding (RFC 9110 section 10.1.4), and one that its sender need not name.
static const char *const of_te[] = {"trailers", "chunked"};

static bool is_known(struct content_text word, enum http_field field)
{
	for (unsigned i = 0; field == HTTP_FIELD_TE && i < 2; i++)
		if (http_is(word, of_te[i]))
			return true;
	return coding_find(word.bytes, word.length) != CODING_UNKNOWN ||
	       http_field_is_no_coding(word);
}

static bool begins_known(struct content_text word, enum http_field field)
{
	for (unsigned i = 0; field == HTTP_FIELD_TE && i < 2; i++)
		if (word.length < strlen(of_te[i]) &&
			!strncasecmp(of_te[i], (const char *)word.bytes, word.length))
			return true;
	return coding_begins(word.bytes, word.length);
}

// `cut`: it may go on. A beginning of a word that is known is none by itself: it is left alone
// then.
static void judge(struct http_word *word, const struct http_turn *turn, enum http_field field,
	bool cut, bool unsure)
{
	const struct content_text text = {(const uint8_t *)word->bytes, word->length};

	if (!word->length || word->reported)
		return;
	if (word->length <= HTTP_WORD_BYTES &&
		(is_known(text, field) || (cut && begins_known(text, field))))
		return;
	word->reported = true;
	report(turn, CONTENT_WORD_CODING, word->newest, word->last64, unsure);
}

void http_word_end(
	struct http_word *word, const struct http_turn *turn, enum http_field field, bool unsure)
{
	judge(word, turn, field, false, unsure);
	word->length = 0;
	word->reported = false;
}

void http_word_cut(
	struct http_word *word, const struct http_turn *turn, enum http_field field, bool unsure)
{
	judge(word, turn, field, true, unsure);
}

void http_word_byte(struct http_word *word, const struct http_turn *turn, enum http_field field,
	uint8_t byte, uint64_t at64, bool unsure)
{
	if (byte == ',' || byte == ';' || http_is_blank(byte)) {
		http_word_end(word, turn, field, unsure);
		word->behind = byte != ',' && (word->behind || byte == ';');
		return;
	}
	if (word->behind)
		return;
	if (word->length < HTTP_WORD_BYTES)
		word->bytes[word->length] = (char)byte;
	word->length = (uint8_t)(word->length + (word->length <= HTTP_WORD_BYTES));
	word->newest = byte;
	word->last64 = at64;
}
