// SPDX-License-Identifier: BSD-3-Clause
// Reads a head: finds its lines, and gives those that are needed to field.h and start_line.h.
#include "content/http/head_reader.h"

#include "content/http/start_line.h"

void http_head_reader_begin(struct http_head_reader *reader, enum http_head_kind kind)
{
	uint64_t notes = kind == HTTP_HEAD_TRAILER ? reader->notes : 0;
	bool fields = kind >= HTTP_HEAD_PART;

	*reader = (struct http_head_reader){.head = reader->head,
		.kind = (uint8_t)kind,
		.notes = notes,
		.crlf = fields && kind != HTTP_HEAD_BEHIND, // as the line before them has
		.state = fields ? HTTP_LINE_BEGINS : HTTP_LINE_BLANK};
}

void http_head_reader_search(struct http_head_reader *reader, enum http_head_kind kind)
{
	bool in_line = reader->state == HTTP_LINE_SKIP;

	http_head_reader_begin(reader, kind);
	reader->searching = true;
	if (in_line)
		reader->state = HTTP_LINE_SKIP;
}

static void note(struct http_head_reader *reader, const struct http_turn *turn,
	enum content_note what, uint64_t at64)
{
	if (!reader->searching)
		http_note_once(turn, &reader->notes, what, at64);
}

// A line of names has room for them, too: once it is whole nobody can be asked to wait.
static enum http_head_read keep_byte(
	struct http_head_reader *reader, const struct http_turn *turn, uint8_t byte)
{
	struct http_head *head = reader->head;
	uint32_t more = 1;

	if (head && head->line >= HTTP_LINE_BYTES)
		return HTTP_READ_TOO_LONG;
	if (reader->field == HTTP_FIELD_CONTENT_DISPOSITION)
		more += http_names_room(head ? head->line + 1 : 1);
	if (!http_head_reserve(&reader->head, turn->turn->memory, more))
		return HTTP_READ_NO_MEMORY;
	head = reader->head;
	head->text[head->kept + head->line++] = byte;
	return HTTP_READ_MORE;
}

// The field in progress is whole: what follows does not continue it.
static void end_field(struct http_head_reader *reader, const struct http_turn *turn)
{
	if (reader->field && reader->head) {
		uint64_t notes = http_field_read(reader->head, reader->field);

		http_notes_once(turn, &reader->notes, notes, reader->line64);
	}
	reader->field = HTTP_FIELD_NONE;
}

static enum http_head_read end_start_line(
	struct http_head_reader *reader, const struct http_turn *turn)
{
	enum http_line_form form = reader->kind == HTTP_HEAD_REQUEST
					   ? http_read_request_line(reader->head)
					   : http_read_status_line(reader->head);

	bool simple = reader->kind == HTTP_HEAD_REQUEST && reader->head->simple;

	reader->head->line = 0;
	if (form == HTTP_LINE_BAD || ((form != HTTP_LINE_STRICT || simple) && reader->searching))
		return HTTP_READ_BAD;
	if (form != HTTP_LINE_STRICT)
		note(reader, turn, CONTENT_NOTE_BAD_LINE, reader->line64);
	reader->searching = false;
	reader->state = HTTP_LINE_BEGINS;
	reader->name_length = 0;
	return simple ? HTTP_READ_DONE : HTTP_READ_MORE;
}

// RFC 9112 section 2.2: a single LF may be recognised as an end of line. Who does not finds no end
// of a head that has no other; where both stand in one, hosts see other lines in it.
static void note_line_end(
	struct http_head_reader *reader, const struct http_turn *turn, uint64_t at64)
{
	if (reader->state == HTTP_LINE_BLANK || reader->state == HTTP_LINE_SKIP)
		return;
	reader->crlf |= reader->cr;
	reader->lf |= !reader->cr;
	if (reader->crlf && reader->lf)
		note(reader, turn, CONTENT_NOTE_BARE_LF, at64);
}

static bool is_offer(const struct http_head_reader *reader)
{
	return reader->state == HTTP_LINE_VALUE && http_field_is_offer(reader->field);
}

static enum http_head_read end_line(
	struct http_head_reader *reader, const struct http_turn *turn, uint64_t at64)
{
	note_line_end(reader, turn, at64);
	reader->cr = false;
	if (is_offer(reader))
		http_word_end(&reader->word, turn, reader->field, reader->unsure);
	switch (reader->state) {
	case HTTP_LINE_START: return end_start_line(reader, turn);
	case HTTP_LINE_BEGINS: end_field(reader, turn); return HTTP_READ_DONE;
	case HTTP_LINE_NAME: // no colon: RFC 9112 section 5 knows no such line; it is left out
		note(reader, turn, CONTENT_NOTE_BAD_LINE, reader->line64);
		reader->field = HTTP_FIELD_NONE;
		break;
	case HTTP_LINE_SKIP: // the next line may begin a message
	case HTTP_LINE_BLANK: reader->state = HTTP_LINE_BLANK; return HTTP_READ_MORE;
	default: break;
	}
	reader->state = HTTP_LINE_BEGINS;
	return HTTP_READ_MORE;
}

static enum http_head_read start_byte(
	struct http_head_reader *reader, const struct http_turn *turn, uint8_t byte, uint64_t at64)
{
	struct content_text line = {NULL, 0};

	if (reader->state == HTTP_LINE_START)
		line = http_head_line(reader->head);
	if (reader->kind == HTTP_HEAD_REQUEST
			? !http_request_line_goes_on(line, byte)
			: !http_status_line_goes_on(line, byte, reader->answers)) {
		if (reader->state == HTTP_LINE_BLANK)
			reader->line64 = at64;
		return HTTP_READ_BAD;
	}
	enum http_head_read read = keep_byte(reader, turn, byte);

	if (read == HTTP_READ_MORE && reader->state == HTTP_LINE_BLANK) {
		reader->state = HTTP_LINE_START;
		reader->begins64 = reader->line64 = at64;
		reader->bytes = 1;
		reader->crlf = reader->lf = false;
	}
	return read;
}

static void name_byte(struct http_head_reader *reader, uint8_t byte)
{
	if (http_is_blank(byte)) {
		reader->blank = true;
		return;
	}
	// a blank inside of a name is no more a part of it than another byte that is no tchar
	reader->bad_name |= !http_is_token(byte) || reader->blank;
	if (http_is_token(byte) && reader->name_length < HTTP_FIELD_NAME_BYTES)
		reader->name[reader->name_length++] = (char)octets_lower(byte);
}

// The line is no field, and hosts may take it for one that is needed, or for its end.
static bool misleads(const struct http_head_reader *reader)
{
	if (!reader->bad_name || reader->name_length == HTTP_FIELD_NAME_BYTES)
		return reader->bad_name || !reader->name_length;
	return http_field_is_within(reader->name, reader->name_length);
}

// The name of a request's field as far as it has come.
static void report_part(struct http_head_reader *reader, const struct http_turn *turn)
{
	if (reader->kind != HTTP_HEAD_REQUEST || reader->bad_name || reader->reported)
		return;
	if (http_field_find(reader->name, reader->name_length) != HTTP_FIELD_RANGE)
		return;
	reader->reported = true;
	reader->changed = http_word_part(
		turn, reader->name, reader->name_length, reader->line64, reader->unsure);
}

// RFC 9112 section 5.1: a blank before the colon is refused in a request, and taken out of a
// response; the field is read as if it were not there, and it matters only where the field does. A
// name that is no token is that of no field.
static void end_name(struct http_head_reader *reader, const struct http_turn *turn)
{
	enum http_field field = reader->bad_name
					? HTTP_FIELD_NONE
					: http_field_find(reader->name, reader->name_length);

	if (misleads(reader))
		note(reader, turn, CONTENT_NOTE_BAD_LINE, reader->line64);
	else if (reader->blank && field && field != HTTP_FIELD_USER_AGENT)
		note(reader, turn, CONTENT_NOTE_SPACE_BEFORE_COLON, reader->line64);
	report_part(reader, turn);
	if (reader->changed || reader->kind >= HTTP_HEAD_TRAILER ||
		(reader->kind != HTTP_HEAD_REQUEST && http_field_is_of_requests(field)))
		field = HTTP_FIELD_NONE;
	reader->field = (uint8_t)field;
	reader->word = (struct http_word){0};
	reader->state = HTTP_LINE_VALUE;
}

// RFC 9112 section 5.2: a line that begins with a blank continues the one before, as if its end
// were a blank. Behind the first line (section 2.2) it is passed over.
static void continue_field(
	struct http_head_reader *reader, const struct http_turn *turn, uint64_t at64)
{
	note(reader, turn, CONTENT_NOTE_FOLDED_HEADER, at64);
	reader->state = HTTP_LINE_VALUE;
}

// Of a User-Agent the rest is nobody's business: no line of it is too long.
static bool is_enough(const struct http_head_reader *reader)
{
	return reader->field == HTTP_FIELD_USER_AGENT && reader->head &&
	       reader->head->line >= CONTENT_AGENT_BYTES;
}

static enum http_head_read put_byte(
	struct http_head_reader *reader, const struct http_turn *turn, uint8_t byte, uint64_t at64)
{
	switch (reader->state) {
	case HTTP_LINE_BLANK:
	case HTTP_LINE_START: return start_byte(reader, turn, byte, at64);
	case HTTP_LINE_BEGINS:
		if (http_is_blank(byte)) {
			continue_field(reader, turn, at64);
			return put_byte(reader, turn, byte, at64);
		}
		end_field(reader, turn);
		if (reader->head)
			reader->head->line = 0;
		reader->line64 = at64;
		// to some servers it is a field, to some nothing, to some the next request
		if (reader->kind == HTTP_HEAD_BEHIND)
			note(reader, turn, CONTENT_NOTE_BAD_LINE, at64);
		reader->state = HTTP_LINE_NAME;
		reader->name_length = 0;
		reader->bad_name = reader->blank = false;
		reader->reported = reader->changed = false;
		[[fallthrough]];
	case HTTP_LINE_NAME:
		if (byte == ':')
			end_name(reader, turn);
		else
			name_byte(reader, byte);
		return HTTP_READ_MORE;
	case HTTP_LINE_VALUE:
		if (http_field_is_offer(reader->field)) {
			http_word_byte(
				&reader->word, turn, reader->field, byte, at64, reader->unsure);
			return HTTP_READ_MORE;
		}
		if (reader->field &&
			(!http_is_blank(byte) || (reader->head && reader->head->line)) &&
			!is_enough(reader))
			return keep_byte(reader, turn, byte);
		return HTTP_READ_MORE;
	default: return HTTP_READ_MORE;
	}
}

// CR, LF and NUL have their own meaning wherever they stand. RFC 9112 section 2.2: a CR alone is a
// blank; RFC 9110 section 5.5: so is NUL.
static enum http_head_read one_byte(
	struct http_head_reader *reader, const struct http_turn *turn, uint8_t byte, uint64_t at64)
{
	enum http_head_read read;

	if (byte == '\n')
		return end_line(reader, turn, at64);
	if (reader->cr) {
		// before a message a CR is taken for an end of line
		read = reader->state == HTTP_LINE_BLANK ? HTTP_READ_MORE
							: put_byte(reader, turn, ' ', at64);
		if (read != HTTP_READ_MORE)
			return read;
		if (reader->state != HTTP_LINE_BLANK)
			note(reader, turn, CONTENT_NOTE_BARE_CR, at64);
		reader->cr = false;
	}
	if (byte == '\r') {
		reader->cr = true;
		return HTTP_READ_MORE;
	}
	read = put_byte(reader, turn, byte ? byte : ' ', at64);
	if (!byte && read == HTTP_READ_MORE)
		note(reader, turn, CONTENT_NOTE_NUL_IN_HEAD, at64);
	return read;
}

// A body need not end with a line: the response behind one that was lost may begin anywhere.
static bool may_begin(const struct http_head_reader *reader, uint8_t byte)
{
	return reader->searching && reader->kind == HTTP_HEAD_RESPONSE && byte == 'H';
}

// Bytes from `i` on of which nothing is kept, as far as they need no look of one_byte().
static uint32_t pass_over(const struct http_head_reader *reader, const struct http_input *input,
	uint32_t i, uint32_t end)
{
	const uint8_t *bytes = input->bytes;

	if (reader->cr)
		return i;
	if (reader->state == HTTP_LINE_SKIP) {
		while (i < end && bytes[i] != '\n' && !may_begin(reader, bytes[i]))
			i++;
		return i;
	}
	if (reader->state != HTTP_LINE_VALUE || reader->field)
		return i;
	while (i < end && bytes[i] > '\r')
		i++;
	return i;
}

static void begin_again(struct http_head_reader *reader, uint8_t byte)
{
	if (reader->state == HTTP_LINE_SKIP && may_begin(reader, byte))
		reader->state = HTTP_LINE_BLANK;
}

static enum http_head_read give_up_line(
	struct http_head_reader *reader, enum http_head_read read, bool in_line)
{
	if (read != HTTP_READ_BAD && (read != HTTP_READ_TOO_LONG || !reader->searching))
		return read;
	reader->state = in_line ? HTTP_LINE_SKIP : HTTP_LINE_BLANK;
	return HTTP_READ_BAD;
}

// What is at hand is the last of it that can be changed.
static void end_span(struct http_head_reader *reader, const struct http_turn *turn)
{
	if (reader->state == HTTP_LINE_NAME)
		report_part(reader, turn);
	else if (is_offer(reader))
		http_word_cut(&reader->word, turn, reader->field, reader->unsure);
}

enum http_head_read http_head_reader_read(struct http_head_reader *reader,
	const struct http_turn *turn, const struct http_input *input, uint32_t *taken)
{
	enum http_head_read read = HTTP_READ_MORE;
	uint32_t i = 0;

	while (i < input->length && read == HTTP_READ_MORE) {
		bool counts = reader->state != HTTP_LINE_BLANK && reader->state != HTTP_LINE_SKIP;
		uint32_t end = input->length, left = HTTP_HEAD_BYTES - reader->bytes;

		if (counts && !left) {
			read = HTTP_READ_TOO_LONG;
			break;
		}
		if (counts && end - i > left)
			end = i + left;
		uint32_t passed = pass_over(reader, input, i, end);

		reader->bytes += counts ? passed - i : 0;
		i = passed;
		if (i == end)
			continue;
		begin_again(reader, input->bytes[i]);
		read = one_byte(reader, turn, input->bytes[i], http_place(input, i));
		bool in_line = input->bytes[i] != '\n';

		read = give_up_line(reader, read, in_line);
		if (in_line && read != HTTP_READ_MORE)
			break;
		reader->bytes += counts;
		i++;
	}
	if (read == HTTP_READ_MORE)
		end_span(reader, turn);
	*taken = i;
	return read;
}
