// SPDX-License-Identifier: BSD-3-Clause
// The texts of a mail as messages: bodies, in UTF-8 where their charset is known, without the
// markup of HTML; subjects. Where the text is as it was sent what matched in it can be blanked,
// else all of it, line ends excepted.
#include "content/charset.h"
#include "content/http/text.h"
#include "content/mime/work.h"
#include "content/text_decode.h"

static struct content_message message_of(const struct mime_call *to)
{
	const struct mime *mime = to->mime;
	const struct mime_about *about = to->about;
	struct content_message message = {
		.half = about->half,
		.to_is_list = about->to_is_list,
		.keeps_lines = true,
		.blank = about->coded ? 0 : ' ',
		.from = mime_from(to),
		.to = about->to,
	};

	if (!message.to.length) {
		message.to = (struct content_text){mime->to, mime->to_length};
		message.to_is_list = memchr(mime->to, ',', mime->to_length);
	}
	return message;
}

static void report(const struct mime_call *to, uint32_t length, bool goes_on)
{
	struct mime_text *text = &to->mime->text;
	struct content_message message = message_of(to);

	message.goes_on = goes_on;
	message.continued = text->told;
	message.text = (struct content_text){text->bytes, length};
	message.begins64 = text->begins64;
	message.ends64 = text->ends64 - (text->decoded ? 0 : text->length - length);
	message.verbatim = !text->decoded && !to->about->coded;
	message.blank = text->torn ? 0 : message.blank;
	message.unit64 = text->unit64;
	message.unit_ends64 = text->ends64;
	to->turn->sink->message(to->turn->sink->ctx, &message);
	text->told = goes_on;
}

// All but the last `keeps` bytes.
static void put_out(const struct mime_call *to, uint32_t keeps)
{
	struct mime_text *text = &to->mime->text;
	uint32_t length = text->length - keeps;

	if (!length)
		return;
	report(to, length, true);
	memmove(text->bytes, text->bytes + length, keeps);
	text->begins64 = text->decoded ? text->ends64 : text->ends64 - keeps;
	text->length = keeps;
	text->decoded &= keeps > 0;
}

void mime_text_flush(const struct mime_call *to)
{
	struct mime_text *text = &to->mime->text;

	if (text->on && text->length)
		put_out(to, charset_unfinished(text->bytes, text->length));
}

void mime_text_begin(const struct mime_call *to, bool html)
{
	struct mime_text *text = &to->mime->text;
	enum text_charset charset = to->mime->head.charset;

	memset(text, 0, offsetof(struct mime_text, bytes));
	text->on = true;
	text->html = html ? MIME_HTML_TEXT : MIME_HTML_NOT;
	text->converts = charset == CHARSET_LATIN1 || charset == CHARSET_LATIN9 ||
			 charset == CHARSET_UTF16 || charset == CHARSET_UTF16LE ||
			 charset == CHARSET_UTF16BE;
	if (text->converts)
		charset_begin(&text->decoder, charset);
}

// A byte of the text; `run`: where it, or what it stands for, lies.
static void add(const struct mime_call *to, uint8_t byte, const struct mime_run *run, bool as_is)
{
	struct mime_text *text = &to->mime->text;
	bool blank = byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
	bool whole = to->mime->encoding == MIME_BASE64;

	if (!text->any && blank)
		return;
	if (text->length == sizeof(text->bytes))
		put_out(to, charset_unfinished(text->bytes, text->length));
	text->torn &= text->any;
	if (!text->any)
		text->unit64 = text->begins64 = text->ends64 =
			whole ? to->mime->part64 : run->from64;
	text->any = true;
	if (!as_is || run->from64 != text->ends64)
		text->decoded = true;
	if (!whole)
		text->ends64 = run->to64;
	text->bytes[text->length++] = byte;
}

// A byte that HTML shows: behind a tag that ends a line it begins another one.
static void add_shown(
	const struct mime_call *to, uint8_t byte, const struct mime_run *run, bool as_is)
{
	struct mime_text *text = &to->mime->text;
	const struct mime_run here = {.from64 = text->ends64, .to64 = text->ends64};

	if (text->breaks && text->any)
		add(to, '\n', &here, false);
	text->breaks = false;
	add(to, byte, run, as_is);
}

static bool ends_line(const struct mime_text *text)
{
	static const char *const tags[] = {"br", "p", "div", "li", "tr", "td", "th", "h1", "h2",
		"h3", "h4", "h5", "h6", "ul", "ol", "table", "title", "pre", "hr", "body"};
	const struct content_text tag = {text->tag, text->tag_length};

	for (unsigned i = 0; i < sizeof(tags) / sizeof(tags[0]); i++)
		if (http_is(tag, tags[i]))
			return true;
	return false;
}

static void put_entity(const struct mime_call *to, const struct mime_run *run)
{
	struct mime_text *text = &to->mime->text;
	const struct mime_run all = {.from64 = text->mark64, .to64 = run->to64};
	uint8_t out[sizeof(text->entity)];
	struct text_out named = {.bytes = out, .size = sizeof(out)};
	uint32_t length = text->entity_length, n;
	bool ended = length > 2 && text->entity[length - 1] == ';';
	int32_t point = ended ? mime_entity(text->entity + 1, length - 2) : -1;

	if (point >= 0)
		text_out_put(&named, point);
	n = point >= 0 ? named.written : text_decode_entities(text->entity, length, out);
	text->html = MIME_HTML_TEXT;
	for (uint32_t i = 0; i < n; i++)
		add_shown(to, out[i], &all, false);
}

static void html_in_text(const struct mime_call *to, uint8_t byte, const struct mime_run *run)
{
	struct mime_text *text = &to->mime->text;

	text->mark64 = run->from64;
	if (byte == '<') {
		text->html = MIME_HTML_OPEN;
		text->tag_length = 0;
	} else if (byte == '&') {
		text->html = MIME_HTML_ENTITY;
		text->entity[0] = byte;
		text->entity_length = 1;
	} else {
		add_shown(to, byte, run, run->as_is);
	}
}

static bool is_letter(uint8_t byte)
{
	return octets_lower(byte) >= 'a' && octets_lower(byte) <= 'z';
}

// Behind '<': what is no tag is text.
static void html_open(const struct mime_call *to, uint8_t byte, const struct mime_run *run)
{
	struct mime_text *text = &to->mime->text;
	const struct mime_run sign = {.from64 = text->mark64, .to64 = run->from64};

	text->named = text->equals = false;
	text->dashes = 0;
	if (is_letter(byte)) {
		text->html = MIME_HTML_TAG;
		text->tag[text->tag_length++] = byte;
	} else if (byte == '/') {
		text->html = MIME_HTML_TAG;
	} else if (byte == '!' || byte == '?') {
		text->html = MIME_HTML_DECLARATION;
	} else {
		text->html = MIME_HTML_TEXT;
		add_shown(to, '<', &sign, false); // bytes that say nothing may stand behind it
		html_in_text(to, byte, run);
	}
}

static void html_in_tag(struct mime_text *text, uint8_t byte)
{
	bool blank = byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';

	if (byte == '>') {
		text->html = MIME_HTML_TEXT;
		text->breaks |= ends_line(text);
	} else if (text->equals && (byte == '"' || byte == '\'')) {
		text->html = MIME_HTML_QUOTE;
		text->quote = byte;
	}
	if (!blank)
		text->equals = byte == '=';
	if (text->named)
		return;
	// a longer name is none that is known
	if ((is_letter(byte) || octets_digit(byte)) && text->tag_length < sizeof(text->tag))
		text->tag[text->tag_length++] = byte;
	else
		text->named = true;
}

// "!--" begins a comment.
static void html_in_declaration(struct mime_text *text, uint8_t byte)
{
	if (byte == '>')
		text->html = MIME_HTML_TEXT;
	else if (byte == '-' && !text->named && ++text->dashes == 2)
		text->html = MIME_HTML_COMMENT; // which "->" and ">" end, too
	else if (byte != '-')
		text->named = true;
}

static void html_in_comment(struct mime_text *text, uint8_t byte)
{
	if (byte == '-')
		text->dashes = 2 - !text->dashes;
	else if (byte == '>' && text->dashes == 2)
		text->html = MIME_HTML_TEXT;
	else
		text->dashes = 0;
}

static void html_in_entity(const struct mime_call *to, uint8_t byte, const struct mime_run *run)
{
	struct mime_text *text = &to->mime->text;
	bool goes_on = octets_digit(byte) || byte == '#' || byte == ';' || is_letter(byte);

	if (goes_on)
		text->entity[text->entity_length++] = byte;
	if (byte == ';' || !goes_on || text->entity_length == sizeof(text->entity))
		put_entity(to, run);
	if (!goes_on)
		html_in_text(to, byte, run);
}

static void put(const struct mime_call *to, uint8_t byte, const struct mime_run *run)
{
	struct mime_text *text = &to->mime->text;

	switch (text->html) {
	case MIME_HTML_NOT: add(to, byte, run, run->as_is); break;
	case MIME_HTML_OPEN: html_open(to, byte, run); break;
	case MIME_HTML_TAG: html_in_tag(text, byte); break;
	case MIME_HTML_QUOTE:
		if (byte == text->quote)
			text->html = MIME_HTML_TAG;
		break;
	case MIME_HTML_DECLARATION: html_in_declaration(text, byte); break;
	case MIME_HTML_COMMENT: html_in_comment(text, byte); break;
	case MIME_HTML_ENTITY: html_in_entity(to, byte, run); break;
	default: html_in_text(to, byte, run); break;
	}
}

static void put_points(
	const struct mime_call *to, const int32_t *points, unsigned n, const struct mime_run *run)
{
	uint8_t bytes[4];

	for (unsigned i = 0; i < n; i++) {
		struct text_out out = {.bytes = bytes, .size = sizeof(bytes)};

		if (points[i] < 0x80) {
			put(to, (uint8_t)points[i], run);
			continue;
		}
		text_out_put(&out, points[i]);
		struct mime_run decoded = *run;

		decoded.as_is = false;
		for (uint32_t at = 0; at < out.written; at++)
			put(to, bytes[at], &decoded);
	}
}

void mime_text_put(const struct mime_call *to, const uint8_t *bytes, uint32_t length,
	const struct mime_run *run)
{
	struct mime_text *text = &to->mime->text;
	int32_t points[2];

	for (uint32_t i = 0; i < length; i++) {
		struct mime_run one = *run;

		if (run->as_is) {
			one.from64 = run->from64 + i;
			one.to64 = one.from64 + 1;
		}
		if (text->converts)
			put_points(
				to, points, charset_push(&text->decoder, bytes[i], points), &one);
		else
			put(to, bytes[i], &one);
	}
}

void mime_text_end(const struct mime_call *to, uint64_t ends64)
{
	struct mime_text *text = &to->mime->text;
	const struct mime_run end = {.from64 = text->ends64, .to64 = text->ends64};
	int32_t points[2];

	if (text->converts)
		put_points(to, points, charset_end(&text->decoder, points), &end);
	if (text->html == MIME_HTML_ENTITY)
		put_entity(to, &end);
	if (to->mime->encoding == MIME_BASE64 && ends64 && text->any)
		text->ends64 = ends64;
	if (!text->length)
		text->begins64 = text->ends64;
	if (text->length || text->told)
		report(to, text->length, false);
	text->length = 0;
	text->told = text->decoded = text->any = text->torn = false;
}

// Behind the head, which says from whom and to whom it is.
void mime_subject_tell(const struct mime_call *to)
{
	struct mime_subject *subject = &to->mime->subject;
	struct content_message message = message_of(to);

	if (!subject->length)
		return;
	message.text = (struct content_text){to->mime->text.bytes, subject->length};
	message.verbatim = subject->verbatim && !to->about->coded;
	message.blank = subject->torn ? 0 : message.blank;
	message.begins64 = message.unit64 = subject->begins64;
	message.ends64 = message.unit_ends64 = subject->ends64;
	to->turn->sink->message(to->turn->sink->ctx, &message);
	subject->length = 0;
}
