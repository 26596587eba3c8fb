// SPDX-License-Identifier: BSD-3-Clause
// Finds delimiters in a body of several parts. A delimiter is CRLF "--" boundary: its first byte
// stands nowhere else in it, so that what was taken for its beginning is told as it stands when it
// goes on otherwise, and no byte is looked at twice.
#include "content/http/multipart.h"

#define BEGIN_BYTES 4 // CRLF "--"

enum multipart_state {
	MULTIPART_PREAMBLE, // before the first delimiter: of no part
	MULTIPART_PADDING,  // behind a delimiter, to the end of its line
	MULTIPART_HEAD,
	MULTIPART_CONTENT,
	MULTIPART_EPILOGUE,
};

struct http_multipart {
	struct http_head_reader reader; // of parts' heads
	uint64_t delimiter64;           // where what was seen of a delimiter begins
	uint8_t state;
	// The delimiter's bytes that were seen, and the first of them that was there: before the
	// first byte of a body, or of a part, its CRLF counts as seen.
	uint8_t matched, real;
	uint8_t telling; // bytes up to here were no delimiter: they are told from `real` on
	bool cr, dash;
	bool lost; // bytes are, and with them maybe the last delimiter
	uint8_t length;
	uint8_t delimiter[BEGIN_BYTES + HTTP_BOUNDARY_BYTES];
};

struct http_multipart *http_multipart_open(
	struct content_memory *memory, struct content_text boundary)
{
	struct http_multipart *multipart = content_take(memory, sizeof(*multipart));

	if (!multipart)
		return NULL;
	*multipart = (struct http_multipart){.state = MULTIPART_PREAMBLE,
		.matched = 2,
		.real = 2,
		.length = (uint8_t)(BEGIN_BYTES + boundary.length)};
	memcpy(multipart->delimiter, "\r\n--", BEGIN_BYTES);
	memcpy(multipart->delimiter + BEGIN_BYTES, boundary.bytes, boundary.length);
	return multipart;
}

void http_multipart_close(struct http_multipart *multipart, struct content_memory *memory)
{
	if (!multipart)
		return;
	content_give(memory, multipart->reader.head);
	content_give(memory, multipart);
}

void http_multipart_lose(struct http_multipart *multipart, struct content_memory *memory)
{
	content_give(memory, multipart->reader.head);
	multipart->reader.head = NULL;
	if (multipart->state != MULTIPART_EPILOGUE)
		multipart->state = MULTIPART_PREAMBLE;
	multipart->matched = multipart->real = multipart->telling = 0;
	multipart->lost = true;
}

static void bad(const struct http_turn *turn, const struct http_parts *parts, uint64_t at64)
{
	http_note_once(turn, parts->notes, CONTENT_NOTE_BAD_MULTIPART, at64);
}

// Bytes ahead of the first delimiter: most programs skip them, and some keep the whole body. No
// known program sends any. Behind a gap they may be the rest of a part.
static void no_part(const struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, uint64_t at64)
{
	if (multipart->state == MULTIPART_PREAMBLE && !multipart->lost)
		bad(turn, parts, at64);
}

// Bytes that looked like a delimiter.
static enum http_step tell_matched(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts)
{
	uint32_t taken;

	if (multipart->telling > 2)
		no_part(multipart, turn, parts, multipart->delimiter64);
	enum http_step step =
		http_file_put(parts->file, turn, multipart->delimiter + multipart->real,
			multipart->telling - multipart->real, &taken);

	multipart->real = (uint8_t)(multipart->real + taken);
	if (step == HTTP_ON)
		multipart->matched = multipart->real = multipart->telling = 0;
	return step;
}

static void delimiter_seen(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts)
{
	if (multipart->real == 1) {
		// RFC 2046 section 5.1.1: CRLF begins a delimiter; for some hosts LF alone does
		bad(turn, parts, multipart->delimiter64);
		multipart->telling = multipart->length;
		return;
	}
	http_file_end(parts->file, turn, CONTENT_END_CLOSED, multipart->delimiter64);
	multipart->state = MULTIPART_PADDING;
	multipart->cr = multipart->dash = false;
	multipart->matched = multipart->real = 0;
}

// Of a preamble or of a part's content.
static enum http_step put_content(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, const struct http_input *input, uint32_t *taken)
{
	const uint8_t *bytes = input->bytes;
	enum http_step step;
	uint32_t i = *taken, end = i, n;

	if (multipart->telling)
		return tell_matched(multipart, turn, parts);
	if (multipart->matched && bytes[i] != multipart->delimiter[multipart->matched]) {
		multipart->telling = multipart->matched;
		return HTTP_ON;
	}
	if (multipart->matched) {
		multipart->matched++;
		if (multipart->matched == multipart->length)
			delimiter_seen(multipart, turn, parts);
		*taken = i + 1;
		return HTTP_ON;
	}
	while (end < input->length && bytes[end] != '\r' && bytes[end] != '\n')
		end++;
	if (end > i)
		no_part(multipart, turn, parts, http_place(input, i));
	step = http_file_put(parts->file, turn, bytes + i, end - i, &n);
	*taken = i + n;
	if (step != HTTP_ON || end == input->length)
		return step;
	multipart->matched = bytes[end] == '\r' ? 1 : 2;
	multipart->real = multipart->matched - 1;
	multipart->delimiter64 = http_place(input, end);
	*taken = end + 1;
	return HTTP_ON;
}

// RFC 2046 section 5.1.1: two dashes behind the last delimiter; else blanks, and CRLF. As it says
// there, it is a delimiter whatever stands behind it in its line.
static void put_padding(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, const struct http_input *input, uint32_t i)
{
	uint8_t byte = input->bytes[i];
	bool cr = multipart->cr, dash = multipart->dash;

	multipart->cr = byte == '\r';
	multipart->dash = byte == '-' && !dash && !cr;
	if (byte == '-' && dash) {
		multipart->state = MULTIPART_EPILOGUE;
		return;
	}
	bool good = byte == '\n' ? cr : !cr && (byte == '\r' || byte == '-' || http_is_blank(byte));

	if (!good || dash)
		bad(turn, parts, http_place(input, i));
	if (byte != '\n')
		return;
	multipart->state = MULTIPART_HEAD;
	http_head_reader_begin(&multipart->reader, HTTP_HEAD_PART);
}

static void open_part(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, uint64_t at64)
{
	const struct http_head *head = multipart->reader.head;
	struct content_file file = *parts->shared;

	multipart->state = MULTIPART_CONTENT;
	multipart->matched = multipart->real = 2;
	multipart->delimiter64 = at64;
	file.begins64 = at64;
	file.size = CONTENT_SIZE_UNKNOWN;
	if (head && head->type.length)
		file.type = http_head_text(head, head->type);
	if (parts->ranges) {
		file.partial = true;
		file.range_from = head && head->has_range ? head->range_from : 0;
		file.size = head ? head->range_total : CONTENT_SIZE_UNKNOWN;
	} else if (head && head->name.length) {
		http_head_name(head, &file);
	} else { // RFC 7578 section 4.2: a part without a file's name is a value
		return;
	}
	http_file_open(parts->file, turn, &file);
}

static enum http_step put_head(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, const struct http_input *input, uint32_t *taken)
{
	struct http_input rest = *input;
	uint32_t n;

	rest.bytes += *taken;
	rest.length -= *taken;
	rest.at64 = http_place(input, *taken);
	enum http_head_read read = http_head_reader_read(&multipart->reader, turn, &rest, &n);

	*taken += n;
	switch (read) {
	case HTTP_READ_MORE: return HTTP_ON;
	case HTTP_READ_NO_MEMORY: return HTTP_NO_MEMORY;
	case HTTP_READ_DONE: break;
	default:
		http_note(turn, CONTENT_NOTE_HEAD_TOO_LONG, http_place(input, *taken));
		return HTTP_OVER;
	}
	open_part(multipart, turn, parts, http_place(input, *taken));
	content_give(turn->turn->memory, multipart->reader.head);
	multipart->reader.head = NULL;
	return HTTP_ON;
}

// Bytes behind the last delimiter, likewise.
static void put_epilogue(const struct http_turn *turn, const struct http_parts *parts,
	const struct http_input *input, uint32_t i)
{
	while (i < input->length && (input->bytes[i] == '\r' || input->bytes[i] == '\n' ||
					    http_is_blank(input->bytes[i])))
		i++;
	if (i < input->length)
		bad(turn, parts, http_place(input, i));
}

enum http_step http_multipart_put(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, const struct http_input *input, uint32_t *taken)
{
	enum http_step step = HTTP_ON;

	*taken = 0;
	while (*taken < input->length && step == HTTP_ON) {
		switch (multipart->state) {
		case MULTIPART_PREAMBLE:
		case MULTIPART_CONTENT:
			step = put_content(multipart, turn, parts, input, taken);
			break;
		case MULTIPART_PADDING:
			put_padding(multipart, turn, parts, input, (*taken)++);
			break;
		case MULTIPART_HEAD: step = put_head(multipart, turn, parts, input, taken); break;
		default:
			put_epilogue(turn, parts, input, *taken);
			*taken = input->length;
			break;
		}
	}
	return step;
}

enum http_step http_multipart_finish(struct http_multipart *multipart, const struct http_turn *turn,
	const struct http_parts *parts, uint64_t at64)
{
	if (multipart->state == MULTIPART_EPILOGUE)
		return HTTP_ON;
	if (!multipart->telling)
		multipart->telling = multipart->matched;
	if (multipart->telling && tell_matched(multipart, turn, parts) != HTTP_ON)
		return HTTP_MORE;
	multipart->state = MULTIPART_EPILOGUE;
	if (!multipart->lost)
		bad(turn, parts, at64);
	http_file_end(parts->file, turn, CONTENT_END_TRUNCATED, at64);
	return HTTP_ON;
}
