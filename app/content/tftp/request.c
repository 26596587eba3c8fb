// SPDX-License-Identifier: BSD-3-Clause
// Reads requests and option acknowledgements.
#include "content/tftp/request.h"

#include "content/http/text.h"

#define BLKSIZE_MIN 8 // RFC 2348
#define BLKSIZE_MAX 65464

// Takes a word and its NUL. False: there is no NUL.
static bool take(struct content_text *rest, struct content_text *word)
{
	*word = (struct content_text){rest->bytes, http_until(*rest, 0)};
	if (word->length == rest->length)
		return false;
	*rest = http_text_from(*rest, word->length + 1);
	return true;
}

static bool is_printable(struct content_text text)
{
	for (uint32_t i = 0; i < text.length; i++)
		if ((text.bytes[i] < ' ' && text.bytes[i] != '\t') || text.bytes[i] == 0x7f)
			return false;
	return true;
}

static void take_option(
	struct tftp_options *options, struct content_text name, struct content_text value)
{
	uint64_t number;

	if (!http_number(value, &number))
		return;
	if (http_is(name, "tsize"))
		options->tsize = number;
	else if (http_is(name, "blksize") && number >= BLKSIZE_MIN && number <= BLKSIZE_MAX)
		options->blksize = (uint32_t)number;
	else if (http_is(name, "rollover"))
		options->rollover_1 = number == 1;
}

struct tftp_options tftp_options_read(struct content_text rest)
{
	struct tftp_options options = {.tsize = CONTENT_SIZE_UNKNOWN};
	struct content_text name, value;

	while (take(&rest, &name) && take(&rest, &value))
		take_option(&options, name, value);
	return options;
}

// Pairs of printable words, to the last octet.
static bool are_strict(struct content_text rest)
{
	struct content_text word;
	unsigned words = 0;

	for (; rest.length; words++)
		if (!take(&rest, &word) || !is_printable(word))
			return false;
	return words % 2 == 0;
}

bool tftp_request_read(struct content_text rest, struct tftp_request *request)
{
	struct content_text mode;
	bool ends = take(&rest, &request->name);

	if (!request->name.length)
		return false;
	// some servers need no mode, nor a NUL at the end
	ends = ends && take(&rest, &mode);
	request->strict =
		ends && is_printable(request->name) && are_strict(rest) &&
		(http_is(mode, "octet") || http_is(mode, "netascii") || http_is(mode, "mail"));
	request->options = tftp_options_read(ends ? rest : (struct content_text){NULL, 0});
	return true;
}
