// SPDX-License-Identifier: BSD-3-Clause
// Lines of HTTP out of spans. Most are in one span to their end; of others the beginning is kept
// while it may be of use. What is not kept is looked at for requests that begin in it.
#include "classify/names/lines.h"
#include "classify/names/http_line.h"

// Octets of the line that begins here, with its LF; 0: there is none within `most` octets. Each
// octet is searched once.
static uint32_t line_length(struct feed *feed, struct text rest, uint32_t most)
{
	uint32_t from = 0;

	if (most > rest.length)
		most = rest.length;
	if (feed->searched && feed->searched > rest.at)
		from = (uint32_t)(feed->searched - rest.at);
	if (from >= most)
		return 0;
	const uint8_t *end = memchr(rest.at + from, '\n', most - from);

	if (end)
		return (uint32_t)(end + 1 - rest.at);
	feed->searched = rest.at + most;
	return 0;
}

// Of use in any case, however it goes on.
static bool is_wanted(const struct names_follow *follow)
{
	return (follow->bits & (HEAD_OPEN | HEAD_TRAILER) && !http_is_unclear(follow)) ||
	       follow->bits & (HEAD_FOLDS | HEAD_INNER);
}

static enum http_begins begins(
	const struct names_follow *follow, enum http_begins state, struct text more, uint32_t *n)
{
	return http_begins(state, more, follow->http, n);
}

// Of blanks in a row the one that says most: a CR, which may end a line; a blank between words.
static uint8_t more_of(uint8_t a, uint8_t b)
{
	if (a == '\r' || b == '\r')
		return '\r';
	return http_line_is_blank(a) ? a : b;
}

// Puts `byte` behind `n` octets, or in the place of the last. Blanks in a row become one: they may
// fill any length in front of a name. Where one of them is a CR, servers differ.
static uint16_t put(struct names_follow *follow, uint8_t *at, uint16_t n, uint8_t byte)
{
	if (!n || byte > ' ' || at[n - 1] > ' ' || byte == '\n') {
		at[n] = byte;
		return (uint16_t)(n + 1);
	}
	at[n - 1] = more_of(at[n - 1], byte);
	if (at[n - 1] == '\r')
		http_unclear(follow);
	return n;
}

static void squeeze(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	uint8_t *at = name_head_at(feed->heads, follow->head);
	uint16_t n = 0;

	for (uint16_t i = 0; i < follow->kept; i++)
		n = put(follow, at, n, at[i]);
	follow->kept = n;
	follow->bits |= HEAD_SQUEEZED;
}

// Takes of `rest` up to its LF, or what there is room for. True: the line is here to its end.
static bool keep_squeezed(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	uint8_t *at = name_head_at(feed->heads, follow->head), byte = 0;
	uint16_t n = follow->kept;
	uint32_t i = 0;

	while (i < rest->length && n < NAME_HEAD_BYTES && byte != '\n') {
		byte = rest->at[i++];
		n = put(follow, at, n, byte);
	}
	*rest = text_from(*rest, i);
	follow->kept = n;
	return byte == '\n';
}

// Of `rest` as much as there is room for. True: the line is here to its end.
static bool keep_part(struct feed *feed, struct text *rest, bool *taken)
{
	struct names_follow *follow = feed->follow;
	uint32_t room = NAME_HEAD_BYTES - follow->kept;

	*taken = true;
	if (follow->bits & HEAD_SQUEEZED)
		return keep_squeezed(feed, rest);
	uint32_t length = line_length(feed, *rest, room);
	struct text part = {rest->at, length ? length : rest->length < room ? rest->length : room};

	*taken = names_keep(feed, part);
	if (*taken)
		*rest = text_from(*rest, part.length);
	return length;
}

// A CR that no LF follows ends a line to some. `before`: octets that were kept before; `ends`: the
// last one is its LF.
static void look_at_bare(struct feed *feed, uint32_t before, bool ends)
{
	struct text kept = names_kept(feed);
	uint32_t from = before ? before - 1 : 0, begin;
	const uint8_t *at;

	kept.length -= ends;
	while (from + 1 < kept.length &&
		(at = memchr(kept.at + from, '\r', kept.length - 1 - from))) {
		uint32_t end = (uint32_t)(at - kept.at);

		begin = end;
		while (begin && kept.at[begin - 1] != '\r')
			begin--;
		// the first part of such a line is no line
		if (begin || !(feed->follow->bits & HEAD_INNER))
			http_take_bare(feed, (struct text){kept.at + begin, end - begin});
		from = end + 1;
	}
}

static void cut_line(struct feed *feed)
{
	if (http_cut(feed))
		return;
	feed->follow->phase = NAMES_LOST;
	names_drop(feed);
}

// To the end of a line of which the first `least` octets are of no use. The end is a CR to some. Or
// to where a request may begin in it.
static enum http_inner pass(struct names_follow *follow, struct text *rest, uint32_t least)
{
	enum http_inner inner = HTTP_INNER_NONE;
	uint8_t byte = 0;
	uint32_t i = 0;

	while (i < rest->length && !inner) {
		byte = rest->at[i++];
		inner = http_inner_step(&follow->inner, byte);
		if (i >= least && (byte == '\n' || byte == '\r'))
			break;
	}
	bool ends = byte == '\n' || byte == '\r';

	follow->phase = ends || inner ? NAMES_HEAD : NAMES_LOST;
	if (inner)
		follow->bits |= HEAD_INNER;
	else if (byte == '\r')
		follow->bits |= HEAD_CR;
	*rest = text_from(*rest, i);
	return inner;
}

static bool pass_line(struct feed *feed, struct text *rest, uint32_t least)
{
	enum http_inner inner = pass(feed->follow, rest, least);
	const char *text = http_inner_text(inner);

	return !inner ||
	       names_keep(feed, (struct text){(const uint8_t *)text, (uint32_t)strlen(text)});
}

bool http_pass_line(struct feed *feed, struct text *rest)
{
	return pass_line(feed, rest, 0);
}

// False: it is no HTTP, and over.
static bool may_leave(struct names_follow *follow)
{
	if (follow->http)
		http_unclear(follow);
	else
		follow->phase = NAMES_OVER;
	return follow->http;
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
	if (rest->at[0] == '\n') {
		*rest = text_from(*rest, 1);
		follow->inner = 0;
	}
	follow->bits &= (uint16_t)~HEAD_CR;
}

// Leaves what is kept, up to what may be of use in it.
static void leave_kept(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	struct text rest = names_kept(feed);
	enum http_inner inner = HTTP_INNER_NONE;
	uint32_t n;

	follow->bits &= (uint16_t)~HEAD_SQUEEZED;
	while (rest.length && !inner) {
		follow->begins = (uint8_t)begins(follow, HTTP_BEGINS_BLANK, rest, &n);
		if (follow->begins != HTTP_BEGINS_OTHER)
			break;
		if (!may_leave(follow)) {
			rest.length = 0;
			break;
		}
		inner = pass(follow, &rest, n);
		if (!inner && follow->phase == NAMES_HEAD)
			pass_end(follow, &rest);
	}
	uint8_t *at = name_head_at(feed->heads, follow->head);
	uint32_t length = (uint32_t)strlen(http_inner_text(inner));

	// not longer than what was left: its octets are among those
	if (rest.length)
		memmove(at + length, rest.at, rest.length);
	memcpy(at, http_inner_text(inner), length);
	follow->kept = (uint16_t)(length + rest.length);
}

// How the line begins that is kept, behind `before` octets of it.
static void look_at_begin(struct feed *feed, uint32_t before)
{
	struct names_follow *follow = feed->follow;
	struct text kept = names_kept(feed);
	bool unknown = follow->begins == HTTP_BEGINS_UNKNOWN;
	uint32_t n;

	follow->begins = (uint8_t)begins(follow, unknown ? HTTP_BEGINS_BLANK : follow->begins,
		text_from(kept, unknown ? 0 : before), &n);
	if (follow->begins == HTTP_BEGINS_OTHER)
		leave_kept(feed);
}

// False: no place is free.
static bool feed_part(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	uint32_t before = follow->kept;
	bool taken, ends = keep_part(feed, rest, &taken);

	if (!taken)
		return false;
	look_at_bare(feed, before, ends);
	if (ends) {
		struct text line = names_kept(feed);

		names_drop(feed);
		http_take_line(feed, line, true);
		return true;
	}
	if (follow->kept == NAME_HEAD_BYTES && !(follow->bits & HEAD_SQUEEZED))
		squeeze(feed);
	if (follow->kept == NAME_HEAD_BYTES)
		cut_line(feed);
	else if (!is_wanted(follow))
		look_at_begin(feed, before);
	return true;
}

// A line begins. False: no place is free for what is here of it.
static bool begin_line(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;
	uint32_t length = line_length(feed, *rest, NAME_HEAD_BYTES), n;

	if (length) {
		struct text line = {rest->at, length};

		*rest = text_from(*rest, length);
		http_take_line(feed, line, false);
		return true;
	}
	follow->begins = HTTP_BEGINS_UNKNOWN;
	if (!is_wanted(follow)) {
		struct text line = {
			rest->at, rest->length < NAME_HEAD_BYTES ? rest->length : NAME_HEAD_BYTES};

		if (begins(follow, HTTP_BEGINS_BLANK, line, &n) == HTTP_BEGINS_OTHER)
			return !may_leave(follow) || pass_line(feed, rest, n);
	}
	return feed_part(feed, rest);
}

bool http_feed_line(struct feed *feed, struct text *rest)
{
	struct names_follow *follow = feed->follow;

	pass_end(follow, rest);
	// RFC 9112 2.2: empty lines before a request line
	if (!follow->kept && !follow->bits)
		while (rest->length && (rest->at[0] == '\r' || rest->at[0] == '\n'))
			*rest = text_from(*rest, 1);
	if (!rest->length)
		return true;
	return follow->kept ? feed_part(feed, rest) : begin_line(feed, rest);
}
