// SPDX-License-Identifier: BSD-3-Clause
// Reads every request of an HTTP connection for the host names in its head.
#include "classify/names/http_inner.h"
#include "classify/names/http_line.h"
#include "classify/names/lines.h"

#define CHUNK_LINE_MAX 256 // of a chunk's size with its extensions
#define LINE_MIN       5   // "GET /", "Host:"

// Nobody knows how many answers are awaited.
void http_unclear(struct names_follow *follow)
{
	if (follow->phase != NAMES_HEAD && follow->phase != NAMES_LOST) {
		follow->bits = 0;
		follow->inner = 0;
	}
	follow->http = NAMES_UNCLEAR;
	follow->bits &= (uint16_t)~HEAD_TRAILER;
	follow->open = UINT8_MAX;
	follow->phase = NAMES_HEAD;
}

static void report(struct feed *feed, const struct host_name *name)
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
			report(feed, &names[i]);
}

static void end_names(struct feed *feed)
{
	static const struct host_name none = {.length = 0};

	if ((feed->follow->bits & (HEAD_OPEN | HEAD_NAMED)) == HEAD_OPEN)
		report(feed, &none);
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
	follow->bits = HEAD_OPEN | (follow->bits & HEAD_OF_KEPT);
	if (carries_body(line->method))
		follow->bits |= HEAD_CARRIES;
	if (text_is(line->protocol, "HTTP/1.0"))
		follow->bits |= HEAD_OLD;
	follow->left = 0;
	// what names no host is no tunnel: servers answer it as any other
	follow->asks = text_is(line->method, "CONNECT") && line->target.at[0] != '/' ? ASKS_CONNECT
										     : ASKS_NOTHING;
	if (!follow->http)
		follow->http = NAMES_CLEAR;
	if (follow->open < UINT8_MAX)
		follow->open++;
	if (text_is(line->method, "HEAD"))
		names_answer_lost(follow);
	if (!line->clear)
		http_unclear(follow);
	take_authority(feed, line->authority);
}

static void take_length(struct names_follow *follow, struct text value)
{
	uint64_t length;

	if (!text_number(value, UINT32_MAX * UINT64_C(65536), &length) ||
		(value.length > 1 && value.at[0] == '0') ||
		(follow->bits & HEAD_LENGTH && follow->left != length))
		http_unclear(follow);
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
			http_unclear(follow);
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
		http_unclear(follow);
	if (http_is_unclear(follow))
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

	if (http_is_unclear(follow) && !folds && line.length < LINE_MIN)
		return;
	http_line_field(line, &field);
	follow->bits &= (uint16_t)~HEAD_FOLDS;
	if (!field.clear || (follow->bits & HEAD_TRAILER && text_is(field.name, "host")))
		http_unclear(follow);
	if (http_is_unclear(follow) && http_line_request(line, &request)) {
		take_request(feed, &request);
		return;
	}
	if (folds) { // RFC 9112 5.2; a line of blanks ends no field
		struct text bare = http_line_bare(line);

		if (!bare.length)
			follow->bits |= HEAD_FOLDS;
		take_authority(feed, bare);
		return;
	}
	if (!(follow->bits & HEAD_TRAILER))
		take_field(feed, &field);
}

static void take_unclear(struct feed *feed, struct text line)
{
	http_unclear(feed->follow);
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
	else if (follow->bits & (HEAD_OPEN | HEAD_TRAILER) || http_is_unclear(follow))
		take_other(feed, line);
	else if (http_line_request(line, &request))
		take_request(feed, &request);
	else if (!follow->http)
		follow->phase = NAMES_OVER;
	else
		take_unclear(feed, line);
}

static void take_each(struct feed *feed, struct text line)
{
	while (line.length) {
		struct text part = text_take(&line, '\r');

		if (part.length)
			take_other(feed, part);
	}
}

// What stands in front of the last CR has been taken.
static struct text last_part(struct text line)
{
	uint32_t begin;

	while (line.length && line.at[line.length - 1] == '\r')
		line.length--;
	for (begin = line.length; begin && line.at[begin - 1] != '\r';)
		begin--;
	return text_from(line, begin);
}

// A CR is a blank to some, and a line's end to others.
static void take_parts(struct feed *feed, struct text line, bool kept)
{
	struct names_follow *follow = feed->follow;
	struct http_line request;

	if (!text_contains_byte(line, '\r')) {
		take_part(feed, line);
		return;
	}
	bool asks = http_line_request(line, &request), taken = kept && follow->http;

	if (!follow->http && !asks) {
		follow->phase = NAMES_OVER;
		return;
	}
	http_unclear(follow);
	if (asks)
		take_request(feed, &request);
	take_each(feed, taken ? last_part(line) : line);
}

// What is known of the line's beginning ends with it.
static void take_any(struct feed *feed, struct text line, bool kept)
{
	struct names_follow *follow = feed->follow;
	bool inner = follow->bits & HEAD_INNER;
	bool behind = inner || http_inner_awaits(follow->inner);

	follow->bits &= (uint16_t)~HEAD_OF_KEPT;
	follow->inner = 0;
	if (!inner)
		take_parts(feed, line, kept);
	else if (text_contains_byte(line, '\r'))
		take_each(feed, last_part(line));
	if (http_is_unclear(follow) && follow->phase != NAMES_OVER)
		http_take_inner(feed, line, !inner, behind);
}

void http_take_line(struct feed *feed, struct text line, bool kept)
{
	struct names_follow *follow = feed->follow;
	bool bare = line.length < 2 || line.at[line.length - 2] != '\r';

	line.length -= bare ? 1 : 2;
	if (bare && follow->http)
		http_unclear(follow);
	take_any(feed, line, kept);
	if (bare && follow->phase != NAMES_OVER)
		http_unclear(follow);
}

void http_take_cut(struct feed *feed, struct text line, bool taken)
{
	struct names_follow *follow = feed->follow;
	bool known = follow->http, inner = follow->bits & HEAD_INNER;

	if (!known) // before all: it would be over
		http_unclear(follow);
	follow->bits &= (uint16_t)~HEAD_OF_KEPT;
	taken &= known; // each part as its CR came
	if (!taken && !inner)
		take_parts(feed, line, known);
	else if (!taken && text_contains_byte(line, '\r'))
		take_each(feed, last_part(line));
	http_unclear(follow);
}

void http_take_bare(struct feed *feed, struct text part)
{
	struct names_follow *follow = feed->follow;
	struct http_line request;

	if (!part.length)
		return;
	if (follow->http) {
		http_unclear(follow);
		take_other(feed, part);
	} else if (http_line_request(part, &request)) {
		take_request(feed, &request);
		http_unclear(follow);
	}
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
		http_unclear(follow); // from this octet on
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
	case NAMES_HEAD: return http_feed_line(feed, rest);
	case NAMES_BODY:
	case NAMES_CHUNK_DATA: feed_body(feed->follow, rest); return true;
	case NAMES_LOST: return http_pass_line(feed, rest);
	default: feed_chunk(feed->follow, rest); return true;
	}
}

void names_gap_http(struct feed *feed)
{
	struct names_follow *follow = feed->follow;

	names_drop(feed);
	http_unclear(follow);
	follow->bits &= (uint16_t)~HEAD_OF_KEPT;
	follow->inner = 0;
	follow->phase = NAMES_LOST;
}
