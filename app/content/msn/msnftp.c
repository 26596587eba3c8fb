// SPDX-License-Identifier: BSD-3-Clause
// MSNFTP, one file over a connection of its own: VER MSNFTP; USR account cookie; FIL size, by who
// has it; TFR; then blocks of who has it: 0, length u16 little endian, bytes; 1 0 0 ends them; BYE.
#include "content/http/text.h"
#include "content/msn/fields.h"
#include "content/msn/msn.h"

#define BLOCK_HEAD 3

static void end_file(const struct msn_turn *to, enum content_end end, uint64_t ends64)
{
	content_raw_end(&to->state->file.raw, to->turn, end, ends64);
}

static void open_file(const struct msn_turn *to, uint64_t at64)
{
	struct msn_state *state = to->state;
	struct content_file what =
		content_announced_file(to->turn->announced, to->side, !state->files);

	if (what.size != CONTENT_SIZE_UNKNOWN && what.size != state->file.size)
		msn_note(to, CONTENT_NOTE_TWO_LENGTHS, to->half->begin64);
	what.size = state->file.size;
	if (what.name.length)
		what.name_source = CONTENT_NAME_OFFER;
	content_raw_open(&state->file.raw, to->turn, &what, &state->files, at64);
}

static void begin_file(const struct msn_turn *to, struct content_text size, uint64_t at64)
{
	struct msn_half *half = to->half;

	if (!http_number(size, &to->state->file.size)) {
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, half->begin64);
		to->state->file.size = UINT64_MAX;
	}
	if (to->state->file.raw.id)
		msn_note(to, CONTENT_NOTE_TWO_LENGTHS, half->begin64);
	end_file(to, CONTENT_END_TRUNCATED, to->state->file.raw.begins64);
	half->sends = true;
	half->phase = MSN_BLOCK;
	half->frame.have = 0;
	open_file(to, at64);
	if (!to->state->file.size)
		end_file(to, CONTENT_END_CLOSED, at64);
}

// By who sends it: who receives it says so, too, while bytes are on their way.
static void end_sent(const struct msn_turn *to, uint64_t ends64)
{
	if (to->half->sends)
		end_file(to, CONTENT_END_TRUNCATED, ends64);
}

// The line ends with LF behind `line`, or CR LF.
bool msn_ftp_line(const struct msn_turn *to, struct content_text line)
{
	struct msn_half *half = to->half;
	uint64_t ends64 = half->begin64 + line.length;
	struct content_text verb = msn_word(&line);

	if (http_is(verb, "fil"))
		begin_file(to, msn_word(&line), ends64);
	else if (http_is(verb, "ccl") || http_is(verb, "bye"))
		end_sent(to, ends64);
	else
		return http_is(verb, "tfr");
	return true;
}

static void take_block(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	struct msn_frame *frame = &half->frame;

	if (!frame->have)
		half->begin64 = msn_at64(to);
	if (!content_gather(frame->head, &frame->have, BLOCK_HEAD, bytes, length, taken))
		return;
	frame->have = 0;
	half->left = octets_le16(frame->head + 1);
	if (frame->head[0] == 1 && !half->left) {
		end_file(to, CONTENT_END_TRUNCATED, half->begin64);
		half->phase = MSN_LINE;
		return;
	}
	if (frame->head[0])
		msn_note(to, CONTENT_NOTE_BAD_CHUNK, half->begin64);
	half->phase = half->left ? MSN_BYTES : MSN_BLOCK;
}

// Beyond the size that was said some take what comes, some do not.
static enum content_fed take_bytes(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	struct msn_file *file = &to->state->file;
	uint32_t here = length < half->left ? length : half->left;

	if (!file->raw.id) {
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, half->begin64);
		file->size = UINT64_MAX;
		open_file(to, msn_at64(to));
	}
	if (here > file->size - file->raw.at)
		here = (uint32_t)(file->size - file->raw.at);
	*taken = content_raw_put(&file->raw, to->turn, bytes, here);
	half->left -= *taken;
	if (file->raw.at == file->size)
		end_file(to, CONTENT_END_CLOSED, msn_at64(to) + *taken);
	if (!half->left)
		half->phase = MSN_BLOCK;
	return *taken < here ? CONTENT_MORE : CONTENT_FED;
}

enum content_fed msn_ftp_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;

	if (half->phase == MSN_BYTES)
		return take_bytes(to, bytes, length, taken);
	if (!half->frame.have && bytes[0] >= ' ') { // CCL
		half->phase = MSN_LINE;
		return msn_talk_take(to, bytes, length, taken);
	}
	take_block(to, bytes, length, taken);
	return CONTENT_FED;
}

uint64_t msn_ftp_lose(const struct msn_turn *to, uint64_t length)
{
	struct msn_half *half = to->half;
	struct msn_file *file = &to->state->file;
	uint64_t here = length < half->left ? length : half->left;

	if (!half->sends && to->state->halves[!to->side].sends)
		return 0;
	if (half->phase != MSN_BYTES)
		return length;
	if (file->raw.id && here > file->size - file->raw.at)
		here = file->size - file->raw.at;
	if (!file->raw.id)
		return length;
	content_raw_lose(&file->raw, here);
	half->left -= (uint32_t)here;
	if (file->raw.at == file->size)
		end_file(to, CONTENT_END_CLOSED, msn_at64(to) + here);
	if (!half->left)
		half->phase = MSN_BLOCK;
	return length - here;
}

void msn_ftp_over(struct msn_state *state, struct content_turn *turn)
{
	content_raw_end(&state->file.raw, turn, CONTENT_END_TRUNCATED, state->file.raw.begins64);
}
