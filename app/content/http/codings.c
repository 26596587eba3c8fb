// SPDX-License-Identifier: BSD-3-Clause
// Undoes codings: input goes to the first one, what that gives to the second one.
#include "content/http/codings.h"

#include <assert.h>

#define BETWEEN_BYTES 2048u
#define OUT_BYTES     5872u
#define BLOCK_BYTES   8192u // of content_memory, which rounds up

struct part {
	uint32_t at, length;
};

struct http_codings {
	struct coding *first, *second; // second: NULL where there is but one
	struct part between, out;
	uint8_t first_state; // enum coding_state: CODING_END and CODING_BROKEN stay
	bool first_ended, second_ended;
	uint8_t between_bytes[BETWEEN_BYTES];
	uint8_t out_bytes[OUT_BYTES];
};
static_assert(sizeof(struct http_codings) <= BLOCK_BYTES, "one block");

struct http_codings *http_codings_open(
	struct content_memory *memory, const uint8_t *kinds, uint32_t n)
{
	struct http_codings *codings = content_take(memory, sizeof(*codings));

	if (!codings)
		return NULL;
	codings->between = codings->out = (struct part){0, 0};
	codings->first_state = CODING_GOES_ON;
	codings->first_ended = codings->second_ended = false;
	codings->second = NULL;
	codings->first = coding_open(memory, kinds[0]);
	if (codings->first && n > 1)
		codings->second = coding_open(memory, kinds[1]);
	if (codings->first && (n == 1 || codings->second))
		return codings;
	http_codings_close(codings, memory);
	return NULL;
}

void http_codings_close(struct http_codings *codings, struct content_memory *memory)
{
	if (!codings)
		return;
	coding_close(codings->first);
	coding_close(codings->second);
	content_give(memory, codings);
}

struct content_text http_codings_out(const struct http_codings *codings)
{
	return (struct content_text){codings->out_bytes + codings->out.at, codings->out.length};
}

void http_codings_take(struct http_codings *codings, uint32_t length)
{
	codings->out.at += length;
	codings->out.length -= length;
}

// Some codings end by themselves (deflate, br): that is their end only when no input follows, and
// what follows is not theirs.
static enum coding_state feed(struct coding *coding, bool *ended, const uint8_t *in,
	uint32_t *in_length, uint8_t *out, uint32_t *out_length, bool last)
{
	uint32_t all = *in_length;
	enum coding_state state;

	if (*ended) {
		*in_length = *out_length = 0;
		return all ? CODING_BROKEN : last ? CODING_END : CODING_GOES_ON;
	}
	state = coding_feed(coding, in, in_length, out, out_length, last);
	*ended = state == CODING_END;
	return *ended && (!last || *in_length < all) ? CODING_GOES_ON : state;
}

static enum coding_state fill_between(
	struct http_codings *codings, const uint8_t *in, uint32_t *in_length, bool last)
{
	uint32_t room = BETWEEN_BYTES;
	enum coding_state state = feed(codings->first, &codings->first_ended, in, in_length,
		codings->between_bytes, &room, last);

	codings->between = (struct part){0, room};
	if (state == CODING_END || state == CODING_BROKEN)
		codings->first_state = (uint8_t)state;
	return state;
}

// What the second one says ends all, but not before what the first one gave is used up.
static enum coding_state fill_two(struct http_codings *codings, const uint8_t *in,
	uint32_t *in_length, uint32_t *room, bool last)
{
	uint32_t all = *in_length, left = all, all_room = *room;
	enum coding_state state;

	*in_length = 0;
	*room = 0;
	for (;;) {
		enum coding_state first = CODING_GOES_ON;

		if (!codings->between.length && codings->first_state == CODING_GOES_ON) {
			left = all - *in_length;
			first = fill_between(codings, in + *in_length, &left, last);
			*in_length += left;
		} else {
			left = 0;
		}
		uint32_t given = codings->between.length, n = all_room;
		bool over = codings->first_state == CODING_END;

		state = feed(codings->second, &codings->second_ended,
			codings->between_bytes + codings->between.at, &given, codings->out_bytes,
			&n, over);
		codings->between.at += given;
		codings->between.length -= given;
		*room = n;
		if (n || state != CODING_GOES_ON)
			return state;
		if (first == CODING_STARVED)
			return first;
		if (codings->first_state == CODING_BROKEN && !codings->between.length)
			return CODING_BROKEN;
		if (!given && !left && !codings->between.length)
			return over ? CODING_BROKEN : CODING_GOES_ON;
		if (!given && codings->between.length) // it must take it
			return CODING_BROKEN;
	}
}

enum coding_state http_codings_fill(struct http_codings *codings, const uint8_t *in,
	uint32_t *in_length, uint64_t most, bool last)
{
	uint32_t room = most < OUT_BYTES ? (uint32_t)most : OUT_BYTES, all = *in_length;
	enum coding_state state;

	assert(!codings->out.length);
	if (codings->second)
		state = fill_two(codings, in, in_length, &room, last);
	else
		state = feed(codings->first, &codings->first_ended, in, in_length,
			codings->out_bytes, &room, last);
	codings->out = (struct part){0, room};
	// what neither takes nor gives would never end
	if (state == CODING_GOES_ON && !room && (*in_length < all || last))
		return *in_length ? state : CODING_BROKEN;
	return state;
}
