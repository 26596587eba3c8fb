// SPDX-License-Identifier: BSD-3-Clause
// Names of requests that begin within a line, behind the end of a body; and what of a line that is
// too long to be kept may still become such a name.
#include "classify/names/http_line.h"
#include "classify/names/lines.h"

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

// A line that is too long to be kept.
struct cut {
	struct text line; // in front of the last CR, if one is near enough
	struct text part; // behind it: to some it is a line of its own
	bool parted, whole, behind;
	enum http_inner ends; // what the line ends in
};

static void part_cut(struct cut *cut)
{
	struct text line = cut->line;
	uint32_t begin = line.length;

	while (begin && line.length - begin < PART_MAX && line.at[begin - 1] != '\r')
		begin--;
	cut->part = text_from(line, begin);
	cut->parted = begin && line.at[begin - 1] == '\r';
	if (cut->parted)
		cut->line.length = begin - 1;
}

static void fill_tail(struct feed *feed, const struct cut *cut, struct tail *tail)
{
	tail->length = 0;
	tail->open = false;
	enum http_inner method = take_inner(feed, cut->line, cut->whole, cut->behind, tail);

	if (cut->parted) {
		put_word(tail, "\r");
		put(tail, cut->part.at, cut->part.length);
	} else if (cut->ends && !tail->open) {
		if (cut->ends == HTTP_INNER_NAME)
			put_word(tail, method ? http_inner_text(method) : "X ");
		put_word(tail, http_inner_text(cut->ends));
	} else if ((tail->length || method) && !tail->open) {
		put_last_word(tail, cut->line, method);
	}
}

bool http_cut(struct feed *feed)
{
	struct names_follow *follow = feed->follow;
	struct cut cut = {.line = names_kept(feed), .whole = !(follow->bits & HEAD_INNER)};
	uint8_t inner = follow->inner;
	struct tail tail;

	cut.behind = !cut.whole || http_inner_awaits(inner);
	part_cut(&cut);
	http_take_cut(feed, cut.line, cut.parted && cut.part.length);
	for (uint32_t i = 0; i < cut.line.length; i++)
		cut.ends = http_inner_step(&inner, cut.line.at[i]);
	fill_tail(feed, &cut, &tail);
	memcpy(name_head_at(feed->heads, follow->head), tail.octets, tail.length);
	follow->kept = (uint16_t)tail.length;
	follow->inner = follow->kept ? 0 : inner;
	if (follow->kept)
		follow->bits |= HEAD_INNER;
	return follow->kept;
}
