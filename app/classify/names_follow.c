// SPDX-License-Identifier: BSD-3-Clause
#include "names_follow.h"
#include "host_name.h"
#include "names_feed.h"
#include "tls_record.h"

#define METHOD_MAX     32
#define CHUNK_LINE_MAX 256 // of a chunk's size with its extensions, of a trailer's field

static void settle(struct feed *feed)
{
	struct names_follow *follow = feed->follow;

	if (follow->kept && follow->phase != NAMES_OVER)
		return;
	name_head_release(feed->heads, follow->head);
	follow->head = 0;
	follow->kept = 0;
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

struct framing {
	uint64_t length;
	bool has_length, chunked, unclear;
	uint8_t asks; // enum asks
};

static void take_field(struct text name, struct text value, struct framing *framing)
{
	uint64_t length;

	while (value.length && (value.at[0] == ' ' || value.at[0] == '\t'))
		value = text_from(value, 1);
	while (value.length && value.at[value.length - 1] <= ' ')
		value.length--;
	if (text_is(name, "upgrade")) {
		if (!framing->asks)
			framing->asks = ASKS_UPGRADE;
	} else if (text_is(name, "content-length")) {
		if (!text_number(value, UINT32_MAX * UINT64_C(65536), &length) ||
			(framing->has_length && framing->length != length))
			framing->unclear = true;
		else
			framing->length = length;
		framing->has_length = true;
	} else if (text_is(name, "transfer-encoding")) {
		framing->unclear |= framing->chunked || !text_is(value, "chunked");
		framing->chunked = true;
	}
}

// Where its body ends. False: it is no request of HTTP/1.
static bool read_framing(struct text head, struct framing *framing)
{
	struct text line, method, target;

	*framing = (struct framing){0};
	if (!text_take_line(&head, &line))
		return false;
	method = text_take_word(&line);
	target = text_take_word(&line);
	if (!method.length || method.length > METHOD_MAX || !target.length ||
		!text_begins(line, "HTTP/1."))
		return false;
	framing->asks = text_is(method, "CONNECT") ? ASKS_CONNECT : ASKS_NOTHING;
	while (text_take_line(&head, &line) && line.length) {
		struct text name = text_take(&line, ':');

		// RFC 9112 5.1, 5.2: white space in front of the colon, or of the line, is read
		// differently by different servers
		framing->unclear |=
			name.length && (name.at[0] <= ' ' || name.at[name.length - 1] <= ' ');
		take_field(name, line, framing);
	}
	framing->unclear |= framing->chunked && framing->has_length;
	return true;
}

static void take_head(struct feed *feed, struct text head)
{
	struct names_follow *follow = feed->follow;
	struct host_name name = {.length = 0};
	struct framing framing;

	if (!read_framing(head, &framing)) {
		follow->phase = follow->http ? NAMES_LOST : NAMES_OVER;
		return;
	}
	follow->http = true;
	follow->open = (uint8_t)(follow->open + (follow->open < UINT8_MAX));
	if (host_name_find(head.at, head.length, &name) != HOST_FOUND)
		name.length = 0;
	feed->found(feed->ctx, &name);
	follow->asks = framing.asks;
	follow->left = framing.length;
	follow->line = 0;
	// behind what is unclear each line may be a request's
	follow->phase = framing.asks || framing.unclear ? NAMES_HEAD
			: framing.chunked               ? NAMES_CHUNK_SIZE
			: framing.length                ? NAMES_BODY
							: NAMES_HEAD;
}

// A line that is not here to its end: may it become a request's?
static bool may_be_request(struct text line)
{
	uint32_t i = 0;

	while (i < line.length && (text_is_letter(line.at[i]) || line.at[i] == '-'))
		i++;
	if (!i && line.length)
		return false;
	return i <= METHOD_MAX && (i == line.length || line.at[i] == ' ');
}

// What is no request: at its first line.
static bool is_no_request(struct text head)
{
	struct text rest = head, line;

	if (!text_take_line(&rest, &line))
		return !may_be_request(head);
	return !may_be_request(line) || !memmem(line.at, line.length, " HTTP/1.", 8);
}

// What is no request: the rest of its line, then the next one is tried.
static void pass_line(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	const uint8_t *end = memchr(rest->at, '\n', rest->length);

	names_drop(feed);
	if (!follow->http) {
		follow->phase = NAMES_OVER;
		return;
	}
	follow->phase = end ? NAMES_HEAD : NAMES_LOST;
	*rest = text_from(*rest, end ? (uint32_t)(end + 1 - rest->at) : rest->length);
}

// The header of a request of which all is here, kept or not.
static bool feed_whole(struct feed *feed, struct text *rest)
{
	uint32_t end = header_end(*rest);

	if (!end)
		return false;
	const struct text head = {rest->at, end};

	*rest = text_from(*rest, end);
	take_head(feed, head);
	return true;
}

// A request, behind others or the first: what begins as none is not HTTP. False: no place is free.
static bool feed_head(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	uint32_t end, before = follow->kept, room = NAME_HEAD_BYTES - before;

	// RFC 9112 2.2: empty lines before a request line
	while (!before && rest->length && (rest->at[0] == '\r' || rest->at[0] == '\n'))
		*rest = text_from(*rest, 1);
	if (!rest->length)
		return true;
	if (!before && is_no_request(*rest)) {
		pass_line(feed, rest);
		return true;
	}
	if (!before && feed_whole(feed, rest))
		return true;
	const struct text part = {rest->at, rest->length < room ? rest->length : room};

	if (!names_keep(feed, part))
		return false;
	const struct text head = names_kept(feed);

	if (is_no_request(head)) {
		pass_line(feed, rest);
		return true;
	}
	end = header_end(head);
	if (!end && head.length < NAME_HEAD_BYTES) {
		*rest = text_from(*rest, part.length);
		return true;
	}
	take_head(feed, (struct text){head.at, end ? end : head.length});
	if (!end && follow->phase != NAMES_OVER)
		follow->phase = NAMES_LOST; // where its body ends stands behind
	*rest = text_from(*rest, end ? end - before : part.length);
	names_drop(feed);
	return true;
}

static void feed_body(struct names_follow *follow, struct text *rest)
{
	uint32_t here = follow->left < rest->length ? (uint32_t)follow->left : rest->length;

	follow->left -= here;
	*rest = text_from(*rest, here);
	if (!follow->left)
		follow->phase = follow->phase == NAMES_BODY ? NAMES_HEAD : NAMES_CHUNK_END;
}

// RFC 9112 7.1: octet by octet, as its lines are short. 0 ends the body; its trailer follows.
static void feed_chunk(struct names_follow *follow, struct text *rest)
{
	uint8_t byte = rest->at[0];
	int digit = octets_hex(byte);

	*rest = text_from(*rest, 1);
	if (++follow->line > CHUNK_LINE_MAX) {
		follow->phase = NAMES_LOST;
		return;
	}
	switch (follow->phase) {
	case NAMES_CHUNK_SIZE:
		if (digit >= 0 && follow->left >> 48 == 0) {
			follow->left = follow->left << 4 | (unsigned)digit;
			return;
		}
		if (follow->line == 1 || digit >= 0) {
			follow->phase = NAMES_LOST;
			return;
		}
		follow->phase = NAMES_CHUNK_LINE;
		// fallthrough
	case NAMES_CHUNK_LINE:
		if (byte != '\n')
			return;
		follow->phase = follow->left ? NAMES_CHUNK_DATA : NAMES_TRAILER;
		break;
	case NAMES_CHUNK_END:
		if (byte == '\r' && follow->line == 1)
			return;
		follow->phase = byte == '\n' ? NAMES_CHUNK_SIZE : NAMES_LOST;
		break;
	default: // a trailer's line; the empty one ends it
		if (byte != '\n' || (follow->line > 2)) {
			if (byte == '\n')
				follow->line = 0;
			else if (follow->line == 2 || byte != '\r')
				follow->line = 3;
			return;
		}
		follow->phase = NAMES_HEAD;
		break;
	}
	follow->line = 0;
}

static void begin(struct names_follow *follow, const struct span *span, struct text half)
{
	uint32_t empty = 0;

	while (empty < half.length && (half.at[empty] == '\r' || half.at[empty] == '\n'))
		empty++;
	struct text head = text_from(half, empty);

	follow->phase = NAMES_OVER;
	if (span->offset64 || span->flags & (SPAN_MIDSTREAM | SPAN_GAP))
		return;
	if (!empty && tls_may_begin(half.at[0])) {
		names_begin_tls(follow, half);
	} else if (!head.length || !is_no_request(head)) {
		follow->phase = NAMES_HEAD;
	}
}

// The server answers a request, the oldest first (RFC 9112 9.3.2). An answer that begins within a
// span is not seen: what is open then is more than it is, and nothing is left alone for it.
static void answered(struct names_follow *follow, struct text rest)
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

static void server_says(struct names_follow *follow, const struct span *span)
{
	struct text rest = {span_bytes(span), span_length(span)};

	if (follow->http)
		answered(follow, rest);
	else if (follow->phase == NAMES_TLS && follow->hellos && names_tls_chosen(rest))
		follow->phase = NAMES_OVER;
}

static bool feed_client(struct feed *feed, struct text rest)
{
	struct names_follow *follow = feed->follow;

	while (rest.length && follow->phase != NAMES_OVER) {
		switch (follow->phase) {
		case NAMES_TLS:
			if (!names_feed_tls(feed, &rest))
				return false;
			break;
		case NAMES_HEAD:
			if (!feed_head(feed, &rest))
				return false;
			break;
		case NAMES_BODY:
		case NAMES_CHUNK_DATA: feed_body(follow, &rest); break;
		case NAMES_LOST: pass_line(feed, &rest); break;
		default: feed_chunk(follow, &rest); break;
		}
	}
	return true;
}

static bool feed_span(struct feed *feed, const struct span *span)
{
	struct names_follow *follow = feed->follow;
	bool of_client = (span->half & 1) == HALF_C2S;

	if (span_is_gap(span) && of_client) {
		bool tls = follow->phase == NAMES_TLS || follow->phase == NAMES_BEGIN;

		names_drop(feed);
		follow->phase = tls ? NAMES_OVER : NAMES_LOST;
	}
	if (span_is_gap(span) || !span_length(span))
		return true;
	if (!of_client) {
		server_says(follow, span);
		return true;
	}
	struct text half = {span_bytes(span), span_length(span)};

	if (follow->phase == NAMES_BEGIN)
		begin(follow, span, half);
	return feed_client(feed, half);
}

bool names_follow_feed(struct name_heads *heads, struct names_follow *follow,
	const struct span *span, bool unheard, names_found_fn *found, void *ctx)
{
	struct feed feed = {heads, follow, found, ctx, unheard};
	struct names_follow before = *follow;

	if (follow->phase == NAMES_OVER)
		return true;
	if (!feed_span(&feed, span)) {
		*follow = before; // it had no place, or it would not be in want of one
		return false;
	}
	settle(&feed);
	return true;
}

void names_follow_end(struct name_heads *heads, struct names_follow *follow)
{
	name_head_release(heads, follow->head);
	follow->head = 0;
	follow->kept = 0;
	follow->phase = NAMES_OVER;
}
