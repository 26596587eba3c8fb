// SPDX-License-Identifier: BSD-3-Clause
#include "http_line.h"
#include "names_feed.h"

#define CHUNK_LINE_MAX 256 // of a chunk's size with its extensions

enum bits {                    // of a request
	HEAD_OPEN = 1 << 0,    // its header has begun, and has not ended
	HEAD_NAMED = 1 << 1,   // it gave a name
	HEAD_FOLDS = 1 << 2,   // the line before is a Host without a name
	HEAD_LENGTH = 1 << 3,  // Content-Length
	HEAD_CHUNKED = 1 << 4, // Transfer-Encoding
	HEAD_CARRIES = 1 << 5, // all servers take a body of it
	HEAD_OLD = 1 << 6,     // HTTP/1.0
	HEAD_EXPECT = 1 << 7,
	HEAD_TRAILER = 1 << 8, // no header, but what stands behind chunks
	HEAD_CR = 1 << 9,      // the octet before is a CR that ended a line
};

static bool is_unclear(const struct names_follow *follow)
{
	return follow->http == NAMES_UNCLEAR;
}

// From here on each line may be a request's. Nobody knows how many answers are awaited.
static void unclear(struct names_follow *follow)
{
	if (follow->phase != NAMES_HEAD && follow->phase != NAMES_LOST)
		follow->bits = 0;
	follow->http = NAMES_UNCLEAR;
	follow->bits &= (uint16_t)~HEAD_TRAILER;
	follow->open = UINT8_MAX;
	follow->phase = NAMES_HEAD;
}

static void tell(struct feed *feed, const struct host_name *name)
{
	uint16_t *bits = &feed->follow->bits;

	feed->found(feed->ctx, name, *bits & HEAD_NAMED);
	*bits |= HEAD_NAMED;
}

static void take_authority(struct feed *feed, struct text authority)
{
	struct host_name names[HTTP_HOSTS];

	http_line_hosts(authority, names);
	for (unsigned i = 0; i < HTTP_HOSTS; i++)
		if (names[i].length)
			tell(feed, &names[i]);
}

static void end_names(struct feed *feed)
{
	static const struct host_name none = {.length = 0};

	if ((feed->follow->bits & (HEAD_OPEN | HEAD_NAMED)) == HEAD_OPEN)
		tell(feed, &none);
}

static bool carries_body(struct text method)
{
	static const char *const carry[] = {"POST", "PUT", "PATCH", "PROPFIND", "PROPPATCH",
		"MKCOL", "LOCK", "REPORT", "SEARCH", NULL};

	for (uint32_t i = 0; i < method.length; i++)
		if (!octets_upper(method.at[i]))
			return false;
	return text_is_among(method, carry);
}

static void take_request(struct feed *feed, const struct http_line *line)
{
	struct names_follow *follow = feed->follow;

	end_names(feed);
	follow->bits = HEAD_OPEN;
	if (carries_body(line->method))
		follow->bits |= HEAD_CARRIES;
	if (text_is(line->protocol, "HTTP/1.0"))
		follow->bits |= HEAD_OLD;
	follow->left = 0;
	follow->asks = text_is(line->method, "CONNECT") ? ASKS_CONNECT : ASKS_NOTHING;
	if (!follow->http)
		follow->http = NAMES_CLEAR;
	if (follow->open < UINT8_MAX)
		follow->open++;
	if (!line->clear)
		unclear(follow);
	take_authority(feed, line->authority);
}

static void take_length(struct names_follow *follow, struct text value)
{
	uint64_t length;

	if (!text_number(value, UINT32_MAX * UINT64_C(65536), &length) ||
		(value.length > 1 && value.at[0] == '0') ||
		(follow->bits & HEAD_LENGTH && follow->left != length))
		unclear(follow);
	else
		follow->left = length;
	follow->bits |= HEAD_LENGTH;
}

static void take_field(struct feed *feed, const struct http_field *field)
{
	struct names_follow *follow = feed->follow;

	if (text_is(field->name, "host")) {
		take_authority(feed, field->value);
		if (!field->value.length)
			follow->bits |= HEAD_FOLDS;
	} else if (text_is(field->name, "content-length")) {
		take_length(follow, field->value);
	} else if (text_is(field->name, "transfer-encoding")) {
		if (follow->bits & HEAD_CHUNKED || !text_is(field->value, "chunked"))
			unclear(follow);
		follow->bits |= HEAD_CHUNKED;
	} else if (text_is(field->name, "upgrade")) {
		if (!follow->asks)
			follow->asks = ASKS_UPGRADE;
	} else if (text_is(field->name, "expect")) {
		follow->bits |= HEAD_EXPECT;
	}
}

// Where its body ends, if all servers agree to it.
static void end_head(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	uint16_t bits = follow->bits;
	bool chunked = bits & HEAD_CHUNKED, body = chunked || follow->left;

	end_names(feed);
	follow->bits = 0;
	if ((chunked && bits & (HEAD_LENGTH | HEAD_OLD)) ||
		(body && (!(bits & HEAD_CARRIES) || bits & HEAD_EXPECT)))
		unclear(follow);
	if (is_unclear(follow))
		return;
	follow->phase = chunked ? NAMES_CHUNK_SIZE : body ? NAMES_BODY : NAMES_HEAD;
	if (chunked)
		follow->left = 0;
}

// A line of a header or trailer, or, where that is unclear, any line.
static void take_other(struct feed *feed, struct text line)
{
	struct names_follow *follow = feed->follow;
	struct http_line request;
	struct http_field field;
	bool folds = follow->bits & HEAD_FOLDS;

	http_line_field(line, &field);
	follow->bits &= (uint16_t)~HEAD_FOLDS;
	if (!field.clear || (follow->bits & HEAD_TRAILER && text_is(field.name, "host")))
		unclear(follow);
	if (is_unclear(follow) && http_line_request(line, &request)) {
		take_request(feed, &request);
		return;
	}
	if (folds) { // RFC 9112 5.2
		take_authority(feed, http_line_bare(line));
		return;
	}
	if (!(follow->bits & HEAD_TRAILER))
		take_field(feed, &field);
}

static void take_unclear(struct feed *feed, struct text line)
{
	unclear(feed->follow);
	take_other(feed, line);
}

static void take_part(struct feed *feed, struct text line)
{
	struct names_follow *follow = feed->follow;
	struct http_line request;

	if (follow->bits & HEAD_TRAILER && !line.length)
		follow->bits = 0;
	else if (follow->bits & HEAD_OPEN && !line.length)
		end_head(feed);
	else if (!line.length)
		return;
	else if (follow->bits & (HEAD_OPEN | HEAD_TRAILER) || is_unclear(follow))
		take_other(feed, line);
	else if (http_line_request(line, &request))
		take_request(feed, &request);
	else if (!follow->http)
		follow->phase = NAMES_OVER;
	else
		take_unclear(feed, line);
}

// A CR is a blank to some, and a line's end to others.
static void take_parts(struct feed *feed, struct text line)
{
	struct names_follow *follow = feed->follow;
	struct http_line request;

	if (!text_contains_byte(line, '\r')) {
		take_part(feed, line);
		return;
	}
	bool asks = http_line_request(line, &request);

	if (!follow->http && !asks) {
		follow->phase = NAMES_OVER;
		return;
	}
	unclear(follow);
	if (asks)
		take_request(feed, &request);
	while (line.length) {
		struct text part = text_take(&line, '\r');

		if (part.length)
			take_other(feed, part);
	}
}

// A line with its LF.
static void take_line(struct feed *feed, struct text line)
{
	struct names_follow *follow = feed->follow;
	bool bare = line.length < 2 || line.at[line.length - 2] != '\r';

	line.length -= bare ? 1 : 2;
	if (bare && follow->http)
		unclear(follow);
	take_parts(feed, line);
	if (bare && follow->phase != NAMES_OVER)
		unclear(follow);
}

// A line that is not here to its end: is it of any use?
static bool is_wanted(const struct names_follow *follow, struct text line)
{
	if (follow->bits & (HEAD_OPEN | HEAD_TRAILER) && !is_unclear(follow))
		return true;
	return http_line_may_be_request(line) || (follow->http && http_line_may_be_host(line)) ||
	       follow->bits & HEAD_FOLDS;
}

// Blanks in a row become one: they may fill any length in front of a name.
static void squeeze(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	uint8_t *at = name_head_at(feed->heads, follow->head);
	uint16_t n = 0;

	for (uint16_t i = 0; i < follow->kept; i++)
		if (!n || at[i] > ' ' || at[n - 1] > ' ')
			at[n++] = at[i];
	follow->kept = n;
}

// A line of which no more is kept.
static void cut_line(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	struct text line = names_kept(feed);

	if (!follow->http) // before all: it would be over
		unclear(follow);
	take_parts(feed, line);
	unclear(follow);
	follow->phase = NAMES_LOST;
	names_drop(feed);
}

// To its end, which is a CR to some.
static void pass_line(struct names_follow *follow, struct text *rest)
{
	uint32_t i = 0;

	while (i < rest->length && rest->at[i] != '\n' && rest->at[i] != '\r')
		i++;
	follow->phase = i < rest->length ? NAMES_HEAD : NAMES_LOST;
	if (i < rest->length && rest->at[i] == '\r')
		follow->bits |= HEAD_CR;
	*rest = text_from(*rest, i + 1);
}

// The beginning of a line is kept until its end is here. False: no place is free.
static bool feed_part(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	const uint8_t *end = memchr(rest->at, '\n', rest->length);
	struct text part = {rest->at, end ? (uint32_t)(end + 1 - rest->at) : rest->length};
	uint32_t room = NAME_HEAD_BYTES - follow->kept;

	if (part.length > room) {
		part.length = room;
		end = NULL;
	}
	if (!names_keep(feed, part))
		return false;
	*rest = text_from(*rest, part.length);
	if (end) {
		struct text line = names_kept(feed);

		names_drop(feed);
		take_line(feed, line);
		return true;
	}
	if (follow->kept == NAME_HEAD_BYTES)
		squeeze(feed);
	if (follow->kept == NAME_HEAD_BYTES)
		cut_line(feed);
	return true;
}

static void leave_line(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;

	if (!follow->http) {
		follow->phase = NAMES_OVER;
		return;
	}
	unclear(follow);
	pass_line(follow, rest);
}

// The line's end goes on behind a CR that has ended it.
static void pass_end(struct names_follow *follow, struct text *rest)
{
	if (!(follow->bits & HEAD_CR))
		return;
	while (rest->length && rest->at[0] == '\r')
		*rest = text_from(*rest, 1);
	if (!rest->length)
		return;
	if (rest->at[0] == '\n')
		*rest = text_from(*rest, 1);
	follow->bits &= (uint16_t)~HEAD_CR;
}

// The same of what is kept, to what may be of use in it.
static void leave_kept(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	struct text rest = names_kept(feed);

	do {
		leave_line(feed, &rest);
		pass_end(follow, &rest);
	} while (follow->phase == NAMES_HEAD && rest.length && !is_wanted(follow, rest));
	if (rest.length)
		memmove(name_head_at(feed->heads, follow->head), rest.at, rest.length);
	follow->kept = (uint16_t)rest.length;
}

static bool feed_line(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	uint32_t before = follow->kept;

	pass_end(follow, rest);
	// RFC 9112 2.2: empty lines before a request line
	if (!before && !follow->bits)
		while (rest->length && (rest->at[0] == '\r' || rest->at[0] == '\n'))
			*rest = text_from(*rest, 1);
	if (!rest->length)
		return true;
	const uint8_t *end = memchr(rest->at, '\n', rest->length);

	if (!before && end && (size_t)(end - rest->at) < NAME_HEAD_BYTES) {
		struct text line = {rest->at, (uint32_t)(end + 1 - rest->at)};

		*rest = text_from(*rest, line.length);
		take_line(feed, line);
		return true;
	}
	if (!before && !is_wanted(follow, *rest)) {
		leave_line(feed, rest);
		return true;
	}
	if (!feed_part(feed, rest))
		return false;
	if (follow->kept && follow->phase == NAMES_HEAD && !is_wanted(follow, names_kept(feed)))
		leave_kept(feed);
	return true;
}

static void feed_body(struct names_follow *follow, struct text *rest)
{
	uint32_t here = follow->left < rest->length ? (uint32_t)follow->left : rest->length;

	follow->left -= here;
	*rest = text_from(*rest, here);
	if (follow->left)
		return;
	follow->phase = follow->phase == NAMES_BODY ? NAMES_HEAD : NAMES_CHUNK_END;
	follow->line = 0;
}

// The phase behind an octet of a chunk's lines; NAMES_LOST: servers differ.
static uint8_t behind(struct names_follow *follow, uint8_t byte)
{
	int digit = octets_hex(byte);

	switch (follow->phase) {
	case NAMES_CHUNK_SIZE:
		if (digit >= 0 && follow->left >> 28 == 0) {
			follow->left = follow->left << 4 | (unsigned)digit;
			return NAMES_CHUNK_SIZE;
		}
		if (follow->line == 1 || digit >= 0)
			return NAMES_LOST;
		return byte == '\r'                                 ? NAMES_CHUNK_LF
		       : byte == ';' || byte == ' ' || byte == '\t' ? NAMES_CHUNK_LINE
								    : NAMES_LOST;
	case NAMES_CHUNK_LINE:
		return byte == '\r'                 ? NAMES_CHUNK_LF
		       : byte < ' ' && byte != '\t' ? NAMES_LOST
						    : NAMES_CHUNK_LINE;
	case NAMES_CHUNK_LF:
		return byte != '\n' ? NAMES_LOST : follow->left ? NAMES_CHUNK_DATA : NAMES_HEAD;
	default: // CR LF
		if (follow->line == 1)
			return byte == '\r' ? NAMES_CHUNK_END : NAMES_LOST;
		return byte == '\n' ? NAMES_CHUNK_SIZE : NAMES_LOST;
	}
}

// RFC 9112 7.1: octet by octet, as its lines are short. 0 ends the body; its trailer follows.
static void feed_chunk(struct names_follow *follow, struct text *rest)
{
	uint8_t before = follow->phase, next;

	next = ++follow->line > CHUNK_LINE_MAX ? NAMES_LOST : behind(follow, rest->at[0]);
	if (next == NAMES_LOST) {
		unclear(follow); // from this octet on
		return;
	}
	*rest = text_from(*rest, 1);
	follow->phase = next;
	if (next == NAMES_HEAD)
		follow->bits = HEAD_TRAILER;
	else if (next != before && next != NAMES_CHUNK_LINE && next != NAMES_CHUNK_LF)
		follow->line = 0;
}

void names_begin_http(struct names_follow *follow, struct text half)
{
	static const char http2[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"; // RFC 9113 3.4
	uint32_t length = sizeof(http2) - 1;

	follow->phase =
		half.length >= length && !memcmp(half.at, http2, length) ? NAMES_OVER : NAMES_HEAD;
}

bool names_feed_http(struct feed *feed, struct text *rest)
{
	switch (feed->follow->phase) {
	case NAMES_HEAD: return feed_line(feed, rest);
	case NAMES_BODY:
	case NAMES_CHUNK_DATA: feed_body(feed->follow, rest); return true;
	case NAMES_LOST: pass_line(feed->follow, rest); return true;
	default: feed_chunk(feed->follow, rest); return true;
	}
}

void names_gap_http(struct feed *feed)
{
	names_drop(feed);
	unclear(feed->follow);
	feed->follow->phase = NAMES_LOST;
}

// Octets up to and with the empty line that ends a header; 0: it is not here.
static uint32_t header_end(struct text head)
{
	const uint8_t *at = head.at, *end = head.at + head.length;

	while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
		at++;
		if (at < end && *at == '\n')
			return (uint32_t)(at + 1 - head.at);
		if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
			return (uint32_t)(at + 2 - head.at);
	}
	return 0;
}

// The server answers a request, the oldest first (RFC 9112 9.3.2). An answer that begins within a
// span is not seen: what is open then is more than it is, and nothing is left alone for it.
void names_answer_http(struct names_follow *follow, struct text rest)
{
	struct text line, code;
	uint32_t end;

	do {
		line = rest;
		if (!text_begins(rest, "HTTP/1."))
			return;
		text_take_word(&line);
		code = text_take(&line, ' ');
		code.length = code.length < 3 ? code.length : 3;
		if (code.length < 3)
			return;
		end = header_end(rest);
		rest = text_from(rest, end);
		// RFC 9110 15.2: others of these come in front of the answer
	} while (code.at[0] == '1' && !text_is(code, "101") && end);
	if (code.at[0] == '1' && !text_is(code, "101"))
		return;
	if (!follow->open || follow->open == UINT8_MAX || --follow->open)
		return;
	// RFC 9110 9.3.6, 7.8
	if (follow->asks == ASKS_CONNECT ? code.at[0] == '2'
					 : follow->asks == ASKS_UPGRADE && text_is(code, "101"))
		follow->phase = NAMES_OVER;
	follow->asks = ASKS_NOTHING;
}
