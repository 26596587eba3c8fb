// SPDX-License-Identifier: BSD-3-Clause
// Says where a body ends. Where RFC 9112 calls a message's framing faulty, and demands that the
// connection is closed behind it, no end is right: all that follows is taken for its body, so that
// nothing of it passes unseen.
#include "content/http/framing.h"

#define NOTE(symbol) CONTENT_NOTE_BIT(CONTENT_NOTE_##symbol)

// Transfer-Encoding of the word identity alone, which some servers send beside Content-Length.
static bool is_identity(const struct http_head *head)
{
	return head->identity && !head->transfer_says;
}

// RFC 9112 section 6.3, rules 3 to 5, for both kinds of messages; `otherwise` where neither field
// is there.
//
// To rule 4 identity is a coding that is not chunked, so that a response's body ends with the
// connection, as curl and httpd (as a proxy) read it. wget, Chromium, Python and nginx (as a proxy)
// go by Content-Length, as if it was not there. So it is read by its length, and
// http_framing_is_disputed() says the rest. In a request no client sends it, and servers refuse it
// (nginx: 501) or go by the length (older httpd): rule 4.
static enum http_framing framing(
	const struct http_head *head, enum http_framing otherwise, uint64_t *notes)
{
	if (head->has_transfer && (otherwise == HTTP_FRAMING_NONE || !is_identity(head))) {
		if (is_identity(head))
			*notes |= NOTE(CODING_UNKNOWN);
		// rule 3: Transfer-Encoding overrides Content-Length
		if (head->has_length || head->bad_length)
			*notes |= NOTE(LENGTH_AND_CHUNKED);
		// section 6.1: in HTTP/1.0 the framing is faulty; chunked is what goes on
		if (!head->minor_version)
			*notes |= NOTE(BAD_LENGTH);
		if (head->chunked)
			return HTTP_FRAMING_CHUNKED;
		// rule 4: a response ends with the connection, and of a request no end can be known
		if (otherwise == HTTP_FRAMING_NONE)
			*notes |= NOTE(BAD_LENGTH);
		return HTTP_FRAMING_CLOSE;
	}
	if (head->bad_length) // rule 5; it was noted with the field
		return HTTP_FRAMING_CLOSE;
	if (head->has_length) // rule 6
		return head->length ? HTTP_FRAMING_LENGTH : HTTP_FRAMING_NONE;
	return otherwise;
}

enum http_framing http_framing_request(const struct http_head *head, uint64_t *notes)
{
	return framing(head, HTTP_FRAMING_NONE, notes); // rule 7
}

// Rule 1: whatever its fields say.
static bool has_no_body(const struct http_head *head, enum http_method to)
{
	return to == HTTP_METHOD_HEAD || head->status < 200 || head->status == 204 ||
	       head->status == 304;
}

enum http_framing http_framing_response(
	const struct http_head *head, enum http_method to, uint64_t *notes)
{
	if (has_no_body(head, to))
		return HTTP_FRAMING_NONE;
	return framing(head, HTTP_FRAMING_CLOSE, notes); // rule 8
}

bool http_framing_is_disputed(const struct http_head *head, enum http_method to)
{
	return is_identity(head) && head->has_length && !has_no_body(head, to);
}

static enum http_chunk_read size_byte(struct http_chunks *chunks, uint8_t byte)
{
	int digit = octets_hex(byte);

	if (digit < 0) {
		if (!chunks->digits)
			return HTTP_CHUNK_BAD;
		chunks->state = HTTP_CHUNK_BLANK;
		return http_chunk_byte(chunks, byte);
	}
	// section 7.1: a size that does not fit must not be taken for another one
	if (chunks->remaining > INT64_MAX >> 4)
		return HTTP_CHUNK_BAD;
	chunks->remaining = chunks->remaining << 4 | (unsigned)digit;
	chunks->digits = true;
	return HTTP_CHUNK_ON;
}

// CRLF is the end of a line; a single LF is one for many hosts, and noted.
static enum http_chunk_read line_end(struct http_chunks *chunks, enum http_chunk_state next)
{
	enum http_chunk_read read = chunks->cr ? HTTP_CHUNK_ON : HTTP_CHUNK_NOTED;

	chunks->cr = false;
	chunks->digits = false;
	chunks->line = 0;
	chunks->state = (uint8_t)next;
	return read;
}

// Behind the size are blanks, then CRLF or an extension: another byte may be a part of the size to
// some hosts.
static enum http_chunk_read extension_byte(struct http_chunks *chunks, uint8_t byte)
{
	bool cr = chunks->cr;

	if (byte == '\n')
		return line_end(chunks, chunks->remaining ? HTTP_CHUNK_BYTES : HTTP_CHUNK_TRAILER);
	chunks->cr = byte == '\r';
	if (++chunks->line > HTTP_CHUNK_LINE_MAX)
		return HTTP_CHUNK_BAD;
	if (chunks->state == HTTP_CHUNK_BLANK && byte == ';')
		chunks->state = HTTP_CHUNK_EXTENSION;
	else if (chunks->state == HTTP_CHUNK_BLANK && byte != '\r' && !http_is_blank(byte))
		return HTTP_CHUNK_BAD;
	return cr || !byte ? HTTP_CHUNK_NOTED : HTTP_CHUNK_ON;
}

enum http_chunk_read http_chunk_byte(struct http_chunks *chunks, uint8_t byte)
{
	switch (chunks->state) {
	case HTTP_CHUNK_SIZE: return size_byte(chunks, byte);
	case HTTP_CHUNK_BLANK:
	case HTTP_CHUNK_EXTENSION: return extension_byte(chunks, byte);
	default: break;
	}
	if (byte == '\r' && !chunks->cr) {
		chunks->cr = true;
		return HTTP_CHUNK_ON;
	}
	return byte == '\n' ? line_end(chunks, HTTP_CHUNK_SIZE) : HTTP_CHUNK_BAD;
}
