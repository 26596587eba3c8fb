// SPDX-License-Identifier: BSD-3-Clause
// A file over DCC: what its sender sends up to the end is the file.
#include "content/irc/dcc.h"

#include "pipeline/vocab/octets.h"

// An acknowledgement may count bytes that have not come here: those that were lost before are told
// only when more follows.
#define ACK_AHEAD_BYTES (16u << 20)

static void start_half(struct dcc_file_half *half, const struct span *span)
{
	half->started = true;
	half->blind = span->flags & SPAN_MIDSTREAM;
	half->raw.damaged = half->blind;
	half->at64 = half->blind ? span->offset64 : 0;
}

// Its bytes are those of a file that was announced, or none were announced and it speaks first.
static void find_sender(struct dcc_file *file, unsigned side, const struct content_turn *turn)
{
	const struct transfer_label *label = turn->announced;
	bool said = label && label->what == TRANSFER_FILE;

	if (file->known)
		return;
	file->known = true;
	file->halves[said ? label->half & 1 : side].carries = true;
}

static void open_file(
	struct dcc_file *file, unsigned side, const struct content_turn *turn, uint64_t at64)
{
	struct dcc_file_half *half = &file->halves[side];
	bool damaged = half->raw.damaged;

	if (half->raw.id || half->over)
		return;
	struct content_file what = content_announced_file(turn->announced, side, !file->files);

	content_raw_open(&half->raw, turn, &what, &file->files, at64);
	half->raw.damaged = damaged;
}

// How much of the file is there.
static uint64_t reached(const struct dcc_file *file, unsigned side)
{
	return file->halves[side].raw.at + file->from;
}

// A word that is of a file is still to be put.
static bool owes_word(const struct dcc_file_half *half)
{
	return half->carries && half->n_word;
}

// Whether the word may be an acknowledgement. Behind 4 GiB any may: they count modulo 2^32, or have
// a word before it.
static bool may_acknowledge(const struct dcc_file *file, unsigned side, uint32_t word)
{
	uint64_t most = reached(file, !side);

	return most > UINT32_MAX || word <= most + ACK_AHEAD_BYTES;
}

// Words up to the first that is none. How many bytes were taken.
static uint32_t take_acks(
	struct dcc_file *file, unsigned side, const uint8_t *bytes, uint32_t length)
{
	struct dcc_file_half *half = &file->halves[side];
	uint32_t n = 0;

	if (half->blind) {
		half->at64 += length;
		return length;
	}
	while (n < length && !half->carries) {
		half->word[half->n_word++] = bytes[n++];
		half->at64++;
		if (half->n_word < sizeof(half->word))
			continue;
		half->carries = !may_acknowledge(file, side, octets_be32(half->word));
		if (!half->carries)
			half->n_word = 0;
	}
	return n;
}

// Of a word that was taken for an acknowledgement; then these. How many of these were taken.
static uint32_t put(struct dcc_file *file, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length)
{
	struct dcc_file_half *half = &file->halves[side];
	uint32_t before = half->n_word;

	open_file(file, side, turn, half->at64 - before + half->n_put);
	if (half->over) {
		half->n_word = 0;
		return length;
	}
	while (half->n_put < before) {
		uint32_t n = content_raw_put(
			&half->raw, turn, half->word + half->n_put, before - half->n_put);

		if (!n)
			return 0;
		half->n_put += (uint8_t)n;
	}
	half->n_word = half->n_put = 0;
	return content_raw_put(&half->raw, turn, bytes, length);
}

static void lose(
	struct dcc_file *file, unsigned side, const struct content_turn *turn, uint64_t length)
{
	struct dcc_file_half *half = &file->halves[side];

	find_sender(file, side, turn);
	half->at64 += length;
	if (!half->carries) {
		half->blind = true;
		return;
	}
	open_file(file, side, turn, half->at64 - length);
	content_raw_lose(&half->raw, length);
}

// False: the budget is used up.
static bool take_bytes(struct dcc_file *file, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length)
{
	struct dcc_file_half *half = &file->halves[side];

	find_sender(file, side, turn);
	if (!half->carries)
		turn->taken += take_acks(file, side, bytes + turn->taken, length - turn->taken);
	if (!half->carries)
		return true;
	uint32_t n = put(file, side, turn, bytes + turn->taken, length - turn->taken);

	turn->taken += n;
	half->at64 += n;
	return turn->taken == length && !owes_word(half);
}

static void end_half(
	struct dcc_file_half *half, const struct content_turn *turn, enum content_end end)
{
	content_raw_end(&half->raw, turn, end, half->at64);
	half->over = true;
}

// An empty file is one, where it was announced.
static void take_fin(struct dcc_file *file, unsigned side, const struct content_turn *turn)
{
	struct dcc_file_half *half = &file->halves[side];

	if (content_announced_as(turn->announced, side, TRANSFER_FILE)) {
		find_sender(file, side, turn);
		open_file(file, side, turn, half->at64);
	}
	end_half(half, turn, CONTENT_END_CLOSED);
}

enum content_fed dcc_file_feed(
	struct dcc_file *file, const struct span *span, struct content_turn *turn)
{
	unsigned side = span->half & 1;
	struct dcc_file_half *half = &file->halves[side];
	uint32_t length = span_length(span);

	if (!half->started)
		start_half(half, span);
	if (turn->announced) {
		file->size = turn->announced->size;
		file->from = turn->announced->range_from;
	}
	// what the producer left out without a word is a gap, too
	if (span->offset64 + turn->taken > half->at64)
		lose(file, side, turn, span->offset64 + turn->taken - half->at64);
	if (length > turn->taken || owes_word(half)) {
		if (!take_bytes(file, side, turn, span_bytes(span), length))
			return CONTENT_MORE;
	} else if (turn->taken < span->extent) {
		lose(file, side, turn, span->extent - turn->taken);
		turn->taken = span->extent;
	}
	if (span->flags & SPAN_FIN && !half->over)
		take_fin(file, side, turn);
	return CONTENT_FED;
}

// A receiver that has all of it may reset the connection.
void dcc_file_over(struct dcc_file *file, struct content_turn *turn)
{
	for (unsigned side = 0; side < 2; side++) {
		bool whole = file->size && reached(file, side) == file->size;

		end_half(&file->halves[side], turn,
			whole ? CONTENT_END_CLOSED : CONTENT_END_TRUNCATED);
	}
}
