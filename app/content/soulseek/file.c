// SPDX-License-Identifier: BSD-3-Clause
// A connection that carries a file: who sends it says a token (u32), the other one where it goes on
// (u64), then its bytes follow. Who receives it closes when it has all.
#include "content/soulseek/session.h"
#include "pipeline/vocab/octets.h"

#define TOKEN_BYTES  4u
#define OFFSET_BYTES 8u

static void open_file(const struct soulseek_turn *turn)
{
	struct soulseek_state *state = turn->state;
	struct soulseek_file *file = &state->file;
	struct content_file what =
		content_announced_file(turn->turn->announced, turn->half, !state->files);

	file->opened = true;
	what.range_from = file->offset;
	what.partial = file->offset;
	content_raw_open(
		&file->raw, turn->turn, &what, &state->files, state->streams[turn->half].at64);
}

// The receiver's offset; what it says behind that is nobody's.
static void take_offset(struct soulseek_file *file, const uint8_t *bytes, uint32_t length)
{
	uint32_t have = file->have[1], taken = 0;

	if (have == OFFSET_BYTES)
		return;
	if (content_gather(file->words, &have, OFFSET_BYTES, bytes, length, &taken))
		file->offset = octets_le32(file->words) |
			       (uint64_t)(octets_le32(file->words + 4) & INT32_MAX) << 32;
	file->have[1] = (uint8_t)have;
}

// What is to come of an announced file: its receiver waits for nothing more.
static uint64_t to_come(const struct soulseek_turn *turn)
{
	const struct transfer_label *label = turn->turn->announced;
	const struct soulseek_file *file = &turn->state->file;
	uint64_t has = file->offset + file->raw.at;

	if (!label || !label->size)
		return UINT64_MAX;
	return has < label->size ? label->size - has : 0;
}

enum content_fed soulseek_file_take(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_file *file = &turn->state->file;
	uint32_t n = TOKEN_BYTES - file->have[0];

	if (!file->known) {
		file->known = true;
		file->sender = (uint8_t)turn->half;
	}
	*taken = length;
	if (turn->half != file->sender) {
		take_offset(file, bytes, length);
		return CONTENT_FED;
	}
	if (n) {
		n = n < length ? n : length;
		file->have[0] = (uint8_t)(file->have[0] + n);
		*taken = n;
		return CONTENT_FED;
	}
	if (file->ended)
		return CONTENT_FED;
	if (!file->opened)
		open_file(turn);
	uint64_t left = to_come(turn);
	uint32_t here = left < length ? (uint32_t)left : length;

	n = content_raw_put(&file->raw, turn->turn, bytes, here);
	*taken = n;
	if (n < here)
		return CONTENT_MORE;
	*taken = length; // what is behind its end is nobody's
	if (here == left) {
		file->ended = true;
		content_raw_end(&file->raw, turn->turn, CONTENT_END_CLOSED,
			turn->state->streams[turn->half].at64 + n);
	}
	return CONTENT_FED;
}

void soulseek_file_lose(const struct soulseek_turn *turn, uint64_t length)
{
	struct soulseek_file *file = &turn->state->file;

	if (!file->known || turn->half != file->sender || file->ended)
		return;
	if (!file->opened)
		open_file(turn);
	file->have[0] = TOKEN_BYTES;
	content_raw_lose(&file->raw, length);
}

void soulseek_file_end(const struct soulseek_turn *turn, enum content_end end)
{
	struct soulseek_file *file = &turn->state->file;

	content_raw_end(&file->raw, turn->turn, end, turn->state->streams[file->sender].at64);
	file->ended = true;
}
