// SPDX-License-Identifier: BSD-3-Clause
// Takes a mail apart into lines, and finds the delimiters of its multiparts (RFC 2046 section 5.1).
//
// A line that begins with the bytes of a delimiter is held back until it goes on otherwise, or has
// the whole boundary: what follows in the line does not matter then (section 5.1.1), though some
// readers ask for an exact line (`bad_multipart`). Of boundaries that begin each other the longest
// is taken. The line end before a delimiter is a part of it, so it is told with the next byte.
#include "content/mime/work.h"

#include <string.h>

static const uint8_t *boundary_of(const struct mime *mime, unsigned level)
{
	return mime->boundaries + mime->levels[level].at;
}

static void pop_to(struct mime *mime, unsigned n_levels)
{
	mime->n_levels = (uint8_t)n_levels;
	mime->boundaries_length = n_levels ? (uint16_t)(mime->levels[n_levels - 1].at +
							mime->levels[n_levels - 1].length)
					   : 0;
}

bool mime_level_push(const struct mime_call *to, struct content_text boundary, bool digest)
{
	struct mime *mime = to->mime;
	struct mime_boundary *level = &mime->levels[mime->n_levels];

	if (mime->n_levels == MIME_DEPTH ||
		boundary.length > sizeof(mime->boundaries) - mime->boundaries_length) {
		mime_note(to, CONTENT_NOTE_TOO_DEEP, mime->part64);
		return false;
	}
	for (unsigned i = 0; i < mime->n_levels; i++)
		if (mime->levels[i].length == boundary.length &&
			!memcmp(boundary_of(mime, i), boundary.bytes, boundary.length))
			mime_note(to, CONTENT_NOTE_BAD_MULTIPART, mime->part64);
	*level = (struct mime_boundary){.at = mime->boundaries_length,
		.length = (uint8_t)boundary.length,
		.digest = digest};
	memcpy(mime->boundaries + level->at, boundary.bytes, boundary.length);
	mime->boundaries_length += (uint16_t)boundary.length;
	mime->n_levels++;
	return true;
}

// Bytes of a line that are no delimiter. How many were taken.
static uint32_t push(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;

	if (mime->in_head)
		return mime_head_put(to, bytes, length, at64);
	if (lines->eol)
		mime_part_eol(to, lines->eol, lines->eol64);
	lines->eol = MIME_EOL_NONE;
	mime_part_put(to, bytes, length, at64);
	return length;
}

static void push_held(const struct mime_call *to)
{
	struct mime_lines *lines = &to->mime->lines;
	uint32_t length = lines->held_length, n = 0;

	lines->line = MIME_LINE_GOES_ON;
	lines->held_length = 0;
	while (n < length)
		n += push(to, lines->held + n, length - n, mime_place(to, lines->held64, n));
}

// Behind the boundary: two dashes say that it is the last one, blanks say nothing.
static void put_tail(struct mime_lines *lines, const uint8_t *bytes, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++) {
		if (bytes[i] == '-' && !lines->tail_over && lines->tail < 2) {
			lines->tail++;
			continue;
		}
		lines->tail_over = true;
		lines->tail_bad |= bytes[i] != ' ' && bytes[i] != '\t';
	}
}

// The part that it ends is told to end with the next step.
static void begin_delimiter(const struct mime_call *to)
{
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;
	unsigned level = lines->full - 1u;
	uint32_t length = 2u + mime->levels[level].length;

	if (mime->in_head) {
		mime_head_leave(to);
		mime_note(to, CONTENT_NOTE_BAD_LINE, lines->held64);
	}
	if (mime->levels[level].closed)
		mime_note(to, CONTENT_NOTE_BAD_MULTIPART, lines->held64);
	mime->levels[level].closed = false;
	mime_part_finish(to, lines->eol ? lines->eol64 : lines->held64);
	mime->in_head = false;
	lines->eol = MIME_EOL_NONE;
	pop_to(mime, level + 1);
	lines->line = MIME_LINE_DELIMITER;
	lines->tail = 0;
	lines->tail_over = lines->tail_bad = false;
	put_tail(lines, lines->held + length, lines->held_length - length);
}

static void end_delimiter(const struct mime_call *to)
{
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;

	if (lines->tail_bad || lines->tail == 1)
		mime_note(to, CONTENT_NOTE_BAD_MULTIPART, lines->held64);
	lines->line = MIME_LINE_BEGINS;
	if (lines->tail == 2)
		mime->levels[mime->n_levels - 1].closed = true;
	else
		mime_head_begin(to, MIME_HEAD_PART);
}

static void hold(const struct mime_call *to, uint64_t at64)
{
	struct mime_lines *lines = &to->mime->lines;

	lines->line = MIME_LINE_HELD;
	lines->held64 = at64;
	lines->held_length = 0;
	lines->full = lines->full_length = 0;
	lines->alive[0] = lines->alive[1] = 0;
	for (unsigned i = 0; i < to->mime->n_levels; i++)
		lines->alive[i / 64] |= 1ull << i % 64;
}

// Levels whose boundary goes on with this byte stay. Of those that end with it the innermost is
// taken.
static void match(const struct mime_call *to, uint8_t byte, uint32_t at)
{
	const struct mime *mime = to->mime;
	struct mime_lines *lines = &to->mime->lines;

	for (unsigned half = 0; half < 2; half++)
		for (uint64_t rest = lines->alive[half]; rest; rest &= rest - 1) {
			unsigned bit = (unsigned)__builtin_ctzll(rest), i = 64 * half + bit;

			if (boundary_of(mime, i)[at] != byte) {
				lines->alive[half] &= ~(1ull << bit);
			} else if (at + 1u == mime->levels[i].length) {
				lines->alive[half] &= ~(1ull << bit);
				if (lines->full_length && lines->full_length <= at)
					mime_note(to, CONTENT_NOTE_BAD_MULTIPART, lines->held64);
				lines->full = (uint8_t)(i + 1);
				lines->full_length = (uint8_t)(at + 1);
			}
		}
}

static uint32_t take_held(const struct mime_call *to, const uint8_t *bytes, uint32_t length)
{
	struct mime_lines *lines = &to->mime->lines;

	for (uint32_t i = 0; i < length; i++) {
		uint32_t at = lines->held_length;

		lines->held[lines->held_length++] = bytes[i];
		if (at < 2 && bytes[i] != '-')
			lines->alive[0] = lines->alive[1] = 0;
		else if (at >= 2)
			match(to, bytes[i], at - 2);
		if (lines->alive[0] | lines->alive[1])
			continue;
		if (lines->full)
			begin_delimiter(to);
		else
			push_held(to);
		return i + 1;
	}
	return length;
}

static uint32_t take_some(
	const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;
	uint32_t most = mime->encoding == MIME_QUOTED ? MIME_STEP_QUOTED : MIME_STEP;

	if (length > most)
		length = most;
	if (lines->line == MIME_LINE_BEGINS) {
		lines->line = MIME_LINE_GOES_ON;
		if (bytes[0] == '-' && mime->n_levels)
			hold(to, at64);
	}
	if (lines->line == MIME_LINE_HELD)
		return take_held(to, bytes, length);
	if (lines->line == MIME_LINE_DELIMITER)
		put_tail(lines, bytes, length);
	else
		return push(to, bytes, length, at64);
	return length;
}

// `at64`: of the line end; `next64`: behind it.
static void end_line(const struct mime_call *to, enum mime_eol eol, uint64_t at64, uint64_t next64)
{
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;

	if (lines->line == MIME_LINE_HELD && lines->full)
		begin_delimiter(to);
	else if (lines->line == MIME_LINE_HELD)
		push_held(to);
	if (lines->line == MIME_LINE_DELIMITER) {
		end_delimiter(to);
		return;
	}
	lines->line = MIME_LINE_BEGINS;
	if (mime->in_head) {
		mime_head_eol(to, eol, at64, next64);
		return;
	}
	if (lines->eol)
		mime_part_eol(to, lines->eol, lines->eol64);
	lines->eol = (uint8_t)eol;
	lines->eol64 = at64;
}

// Some readers take it for a line end: it matters where a delimiter may follow, or in a head.
static void bare_cr(const struct mime_call *to, uint8_t next)
{
	static const uint8_t cr = '\r';
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;

	if (mime->in_head || (next == '-' && mime->n_levels))
		mime_note(to, CONTENT_NOTE_BARE_CR, lines->cr64);
	if (lines->line == MIME_LINE_HELD && lines->full)
		begin_delimiter(to);
	else if (lines->line == MIME_LINE_HELD)
		push_held(to);
	if (lines->line == MIME_LINE_DELIMITER) {
		put_tail(lines, &cr, 1);
		return;
	}
	lines->line = MIME_LINE_GOES_ON;
	push(to, &cr, 1, lines->cr64);
}

uint32_t mime_step(const struct mime_call *to, const uint8_t *bytes, uint32_t length, uint64_t at64)
{
	struct mime_lines *lines = &to->mime->lines;
	uint32_t n = 0;

	if (lines->cr) {
		lines->cr = false;
		if (bytes[0] == '\n') {
			end_line(to, MIME_EOL_CRLF, lines->cr64, mime_place(to, at64, 1));
			return 1;
		}
		bare_cr(to, bytes[0]);
		return 0;
	}
	if (bytes[0] == '\r') {
		lines->cr = true;
		lines->cr64 = at64;
		return 1;
	}
	if (bytes[0] == '\n') {
		end_line(to, MIME_EOL_LF, at64, mime_place(to, at64, 1));
		return 1;
	}
	while (n < length && bytes[n] != '\r' && bytes[n] != '\n' && n < MIME_STEP)
		n++;
	return take_some(to, bytes, n, at64);
}

void mime_lines_finish(const struct mime_call *to, uint64_t at64)
{
	struct mime *mime = to->mime;
	struct mime_lines *lines = &mime->lines;

	if (lines->cr) {
		lines->cr = false;
		bare_cr(to, 0);
	}
	if (lines->line == MIME_LINE_HELD && lines->full)
		begin_delimiter(to);
	else if (lines->line == MIME_LINE_HELD)
		push_held(to);
	if (lines->line == MIME_LINE_DELIMITER || mime->ends)
		return;
	if (mime->in_head) {
		if (lines->line == MIME_LINE_GOES_ON) // its last field
			mime_head_eol(to, MIME_EOL_NONE, at64, at64);
		mime_head_leave(to);
	} else if (lines->eol && mime->kind != MIME_TEXT) {
		mime_part_eol(to, lines->eol, lines->eol64);
	}
	lines->eol = MIME_EOL_NONE;
}
