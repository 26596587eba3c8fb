// SPDX-License-Identifier: BSD-3-Clause
// Words of lines, and what is escaped in them.
#include "content/base32.h"
#include "content/directconnect/session.h"
#include "content/http/text.h"

#define TTH_DIGITS 39

bool dc_word(struct content_text *rest, struct content_text *word)
{
	uint32_t n = 0;

	while (rest->length && rest->bytes[0] == ' ')
		*rest = http_text_from(*rest, 1);
	while (n < rest->length && rest->bytes[n] != ' ')
		n += rest->bytes[n] == '\\' && n + 1 < rest->length ? 2 : 1;
	*word = (struct content_text){rest->bytes, n};
	*rest = http_text_from(*rest, n);
	return n;
}

uint32_t dc_unescape(struct content_text text, uint8_t *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < text.length; i++) {
		uint8_t byte = text.bytes[i];

		if (byte == '\\' && i + 1 < text.length) {
			byte = text.bytes[++i];
			byte = byte == 's' ? ' ' : byte == 'n' ? '\n' : byte;
		}
		out[n++] = byte;
	}
	return n;
}

uint32_t dc_undo_entities(struct content_text text, uint8_t *out)
{
	static const struct {
		const char *word;
		uint8_t byte;
	} entities[] = {{"&#36;", '$'}, {"&#124;", '|'}, {"&amp;", '&'}, {"&#96;", '`'}};
	uint32_t n = 0, i = 0;

	while (i < text.length) {
		uint8_t byte = text.bytes[i];
		uint32_t taken = 1;

		for (unsigned k = 0; byte == '&' && k < sizeof(entities) / sizeof(*entities); k++)
			if (octets_begin(text.bytes + i, text.length - i, entities[k].word)) {
				taken = (uint32_t)strlen(entities[k].word);
				byte = entities[k].byte;
			}
		out[n++] = byte;
		i += taken;
	}
	return n;
}

bool dc_tth(struct content_text digits, struct content_id *id)
{
	*id = (struct content_id){.kind = CONTENT_ID_TTH};
	return digits.length == TTH_DIGITS &&
	       base32_read(digits.bytes, id->bytes, content_id_length(id));
}

bool dc_number(struct content_text text, uint64_t *out)
{
	if (http_is(text, "-1")) {
		*out = CONTENT_SIZE_UNKNOWN;
		return true;
	}
	return http_number(text, out);
}
