// SPDX-License-Identifier: BSD-3-Clause
// Names of requests that begin within a line, behind the end of a body; and what of a line that is
// too long to be kept may still become such a name.
#include "http_line.h"
#include "names_lines.h"

// Half of what is kept: so much comes before the next cut, and no octet is looked at often.
#define TAIL_MAX      (NAME_HEAD_BYTES / 2)
#define AUTHORITY_MAX 512
#define PART_MAX      1024
#define WORD_MAX      16 // more than a method, or the beginning of HTTP/, has
#define METHOD_MAX    8

struct tail {
	uint32_t length;
	bool open; // its last word goes on behind the cut
	uint8_t octets[TAIL_MAX];
};

static void put(struct tail *tail, const void *octets, uint32_t n)
{
	memcpy(tail->octets + tail->length, octets, n);
	tail->length += n;
}

static void put_word(struct tail *tail, const char *word)
{
	put(tail, word, (uint32_t)strlen(word));
}

static const char *method_text(const struct http_inner_line *inner, bool first)
{
	if (inner->method)
		return http_inner_text(inner->method);
	return first ? "" : "X ";
}

// Keeps a method, the authority, and that it has ended. False: there is no room.
static bool keep_open(struct tail *tail, const struct http_inner_line *inner, struct text authority)
{
	const uint8_t *end = inner->line.at + inner->at;
	uint32_t most = TAIL_MAX - PART_MAX - METHOD_MAX - WORD_MAX - 8;

	if (authority.length > AUTHORITY_MAX || tail->length + authority.length > most)
		return false;
	put_word(tail, method_text(inner, !tail->length));
	if (inner->method != HTTP_INNER_CONNECT)
		put_word(tail, http_inner_text(HTTP_INNER_NAME));
	put(tail, authority.at, authority.length);
	if (authority.at + authority.length < end)
		put(tail, authority.at + authority.length, 1);
	tail->open = inner->at == inner->line.length;
	if (!tail->open)
		put_word(tail, " ");
	return true;
}

// `tail`: the line goes on; NULL: it ends here. Returns the method before the last word.
static enum http_inner take_inner(
	struct feed *feed, struct text line, bool whole, bool behind, struct tail *tail)
{
	struct http_inner_line inner;
	struct http_line request;
	struct text authority;
	struct host_name names[HTTP_HOSTS];

	http_inner_begin(&inner, line, behind, tail != NULL);
	if (whole && http_line_request(line, &request) && request.authority.length)
		inner.from = (uint32_t)(request.target.at - line.at) + 1;
	while (http_inner_next(&inner, &authority)) {
		if (inner.open && keep_open(tail, &inner, authority))
			continue;
		http_line_hosts(authority, names);
		for (unsigned i = 0; i < HTTP_HOSTS; i++)
			if (names[i].length) // it counts if it is refused
				feed->found(feed->ctx, &names[i], true);
	}
	return inner.method;
}

void http_take_inner(struct feed *feed, struct text line, bool whole, bool behind)
{
	take_inner(feed, line, whole, behind, NULL);
}

// The end of the line's last word, behind what stands before it, and a blank where one follows: a
// method, a scheme or a protocol may go on there.
static void put_last_word(struct tail *tail, struct text line, enum http_inner method)
{
	uint32_t end = line.length, begin;

	while (end && http_line_is_blank(line.at[end - 1]))
		end--;
	put_word(tail, method ? http_inner_text(method) : "X ");
	for (begin = end; begin && end - begin < WORD_MAX; begin--)
		if (http_line_is_blank(line.at[begin - 1]))
			break;
	put(tail, line.at + begin, end - begin);
	if (end < line.length)
		put_word(tail, " ");
}

// What stands behind the last CR, if there is one near enough: to some it is a line of its own.
static bool part_of(struct text line, struct text *part)
{
	uint32_t begin = line.length;

	while (begin && line.length - begin < PART_MAX && line.at[begin - 1] != '\r')
		begin--;
	*part = text_from(line, begin);
	return begin && line.at[begin - 1] == '\r';
}

// `ends`: what the line ends in.
static uint32_t tail_of(struct feed *feed, struct text line, bool whole, bool behind,
	enum http_inner ends, uint8_t *out)
{
	struct tail tail;
	struct text part;
	bool parted = part_of(line, &part);

	tail.length = 0;
	tail.open = false;
	if (parted)
		line.length -= part.length + 1;
	enum http_inner method = take_inner(feed, line, whole, behind, &tail);

	if (parted) {
		put_word(&tail, "\r");
		put(&tail, part.at, part.length);
	} else if (ends && !tail.open) {
		if (ends == HTTP_INNER_NAME)
			put_word(&tail, method ? http_inner_text(method) : "X ");
		put_word(&tail, http_inner_text(ends));
	} else if ((tail.length || method) && !tail.open) {
		put_last_word(&tail, line, method);
	}
	memcpy(out, tail.octets, tail.length);
	return tail.length;
}

bool http_cut(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	struct text line = names_kept(feed), part;
	bool whole = !(follow->bits & HEAD_INNER);
	bool behind = !whole || http_inner_awaits(follow->inner);
	enum http_inner ends = HTTP_INNER_NONE;
	uint8_t inner = follow->inner;

	bool parted = part_of(line, &part);

	if (parted)
		line.length -= part.length + 1;
	http_take_cut(feed, line, parted && part.length);
	line = names_kept(feed);
	for (uint32_t i = 0; i < line.length; i++)
		ends = http_inner_step(&inner, line.at[i]);
	follow->kept = (uint16_t)tail_of(
		feed, line, whole, behind, ends, name_head_at(feed->heads, follow->head));
	follow->inner = follow->kept ? 0 : inner;
	if (follow->kept)
		follow->bits |= HEAD_INNER;
	return follow->kept;
}
