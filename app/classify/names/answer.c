// SPDX-License-Identifier: BSD-3-Clause
// What a server answers, followed for the one question whether it agrees to Upgrade or CONNECT.
// Octets of a body may look like such an answer: it is believed only where all answers before it
// have been followed to their ends. Where that is not so, the connection stays HTTP.
#include "classify/names/http_line.h"
#include "classify/names/feed.h"

#define ANSWER_LOST UINT32_MAX // nobody knows where the next one begins

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

// The three digits of an answer that begins here; empty: none does.
static struct text code_of(struct text rest)
{
	static const struct text none = {NULL, 0};
	struct text code;

	if (!text_begins(rest, "HTTP/1."))
		return none;
	text_take_word(&rest);
	code = text_take(&rest, ' ');
	if (code.length < 3)
		return none;
	code.length = 3;
	return code;
}

// Octets of the body behind a header (RFC 9112 6.3), of an answer to what is not HEAD.
static uint32_t body_of(struct text header, struct text code)
{
	bool none = text_is(code, "204") || text_is(code, "304"), known = none;
	uint64_t length = 0, other;
	struct http_field field;
	struct text line;

	text_take_line(&header, &line);
	while (text_take_line(&header, &line) && line.length) {
		http_line_field(line, &field);
		if (!field.clear || text_is(field.name, "transfer-encoding"))
			return ANSWER_LOST;
		if (!text_is(field.name, "content-length"))
			continue;
		if (!text_number(field.value, ANSWER_LOST - 1, &other) ||
			(known && other != length))
			return ANSWER_LOST;
		length = other;
		known = true;
	}
	return known ? (uint32_t)length : ANSWER_LOST;
}

// RFC 9110 9.3.6, 7.8. What a client has said behind CONNECT before it is no tunnel's.
static bool agrees(const struct names_follow *follow, struct text code)
{
	if (follow->asks == ASKS_CONNECT)
		return code.at[0] == '2' && follow->phase == NAMES_HEAD && !follow->bits &&
		       !follow->kept;
	return follow->asks == ASKS_UPGRADE && text_is(code, "101");
}

// Another connection begins within this one: a hello, or requests again.
static void begin_tunnel(struct names_follow *follow)
{
	follow->phase = NAMES_TUNNEL;
	follow->http = NAMES_NO_HTTP;
	follow->answer = ANSWER_LOST;
	follow->left = 0;
	follow->bits = 0;
	follow->open = 0;
	follow->inner = 0;
}

// The answer to the oldest request (RFC 9112 9.3.2) begins here. False: no more is to be read.
static bool take_answer(struct names_follow *follow, struct text *rest)
{
	struct text code = code_of(*rest);
	bool waits = code.length && code.at[0] == '1' && !text_is(code, "101"); // RFC 9110 15.2

	follow->answer = ANSWER_LOST;
	if (!code.length || (!waits && (!follow->open || follow->open == UINT8_MAX)))
		return false;
	if (!waits && !--follow->open) {
		bool agreed = agrees(follow, code), connect = follow->asks == ASKS_CONNECT;

		follow->asks = ASKS_NOTHING;
		if (agreed && connect)
			begin_tunnel(follow);
		else if (agreed)
			follow->phase = NAMES_OVER;
		if (agreed)
			return false;
	}
	uint32_t end = header_end(*rest);
	struct text header = {rest->at, end};

	if (end)
		follow->answer = waits ? 0 : body_of(header, code);
	*rest = text_from(*rest, end);
	return end;
}

void names_answer_lost(struct names_follow *follow)
{
	follow->answer = ANSWER_LOST;
}

void names_answer_http(struct names_follow *follow, struct text rest)
{
	while (rest.length && follow->answer != ANSWER_LOST) {
		uint32_t here = follow->answer < rest.length ? follow->answer : rest.length;

		follow->answer -= here;
		rest = text_from(rest, here);
		if (rest.length && !take_answer(follow, &rest))
			return;
	}
}
