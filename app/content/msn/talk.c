// SPDX-License-Identifier: BSD-3-Clause
// Commands, each a line, of which some announce a payload of so many bytes; and payloads, which are
// a head, an empty line and a body.
//
// A line ends at CR LF; an LF alone ends one, too, as some read it, and is noted. Where a payload's
// length is a lie, what follows is no command: that is noted, and lines are read on.
#include "content/memory.h"
#include "content/msn/command.h"
#include "content/msn/fields.h"
#include "content/msn/msn.h"

#define KEPT_BYTES (MSN_LINE_BYTES + MSN_HEAD_BYTES)

void msn_drop_kept(const struct msn_turn *to)
{
	content_give(to->turn->memory, to->half->kept);
	to->half->kept = NULL;
	to->half->line = to->half->head = 0;
}

static bool need_kept(const struct msn_turn *to)
{
	if (!to->half->kept)
		to->half->kept = content_take(to->turn->memory, KEPT_BYTES);
	return to->half->kept;
}

static void end_payload(const struct msn_turn *to)
{
	msn_drop_kept(to);
	to->half->left = 0;
	to->half->phase = MSN_LINE;
}

static void begin_payload(const struct msn_turn *to, const struct msn_command *command)
{
	struct msn_half *half = to->half;

	half->left = command->payload;
	half->head = 0;
	half->sections = command->sections;
	half->at_begin = true;
	half->after_cr = false;
	half->told = 0;
	half->slot = 0;
	half->frame = (struct msn_frame){0};
	half->phase = !command->payload ? MSN_LINE : command->sections ? MSN_HEAD : MSN_SKIP;
	if (half->phase != MSN_HEAD)
		msn_drop_kept(to);
}

// What hosts read in several ways. `bare`: no CR stood before the line's LF.
static void look_at_line(const struct msn_turn *to, struct content_text line, bool bare)
{
	if (bare)
		msn_note(to, CONTENT_NOTE_BARE_LF, to->half->begin64);
	if (http_until(line, '\r') < line.length)
		msn_note(to, CONTENT_NOTE_BARE_CR, to->half->begin64);
}

// A line that has ended, and is in `kept` if its payload has a head. False: no memory.
static bool take_command(const struct msn_turn *to, struct content_text line, bool bare)
{
	struct msn_half *half = to->half;
	struct msn_command command;

	msn_command_read(line, &command);
	if (half->unsynced && !command.known)
		return true;
	if (command.names && !msn_need_people(to))
		return false;
	look_at_line(to, line, bare);
	half->unsynced = false;
	if (!command.is)
		msn_note(to, CONTENT_NOTE_BAD_LINE, half->begin64);
	if (command.bad_length) {
		msn_note(to, CONTENT_NOTE_BAD_LENGTH, half->begin64);
		half->unsynced = true;
	}
	msn_command_obey(to, &command);
	begin_payload(to, &command);
	return true;
}

// The line ends behind `here` bytes. False: no memory.
static bool end_line(const struct msn_turn *to, const uint8_t *bytes, uint32_t here)
{
	struct msn_half *half = to->half;
	struct content_text line;
	bool bare = true;

	// also where a line came at once: what it says of its payload is looked up again
	if (here && half->line + here <= MSN_LINE_BYTES)
		memcpy(half->kept + half->line, bytes, here);
	line = (struct content_text){half->kept, half->line + here};
	while (line.length && line.bytes[line.length - 1] == '\r') {
		line.length--;
		bare = false;
	}
	if (!line.length)
		return true;
	if (to->state->ftp && msn_ftp_line(to, line))
		return true;
	uint16_t before = half->line;

	half->line = (uint16_t)line.length;
	if (take_command(to, line, bare))
		return true;
	half->line = before;
	return false;
}

static void skip_line(const struct msn_turn *to, bool ended)
{
	msn_drop_kept(to);
	to->half->skip = !ended;
}

static enum content_fed take_line(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	const uint8_t *end = memchr(bytes, '\n', length);
	uint32_t here = end ? (uint32_t)(end - bytes) : length;

	if (half->skip) {
		skip_line(to, end);
	} else if (half->line + here > MSN_LINE_BYTES) {
		msn_note(to, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		skip_line(to, end);
	} else {
		if (!half->line)
			half->begin64 = msn_at64(to);
		if (!need_kept(to))
			return CONTENT_NO_MEMORY;
		if (!end) {
			memcpy(half->kept + half->line, bytes, here);
			half->line += (uint16_t)here;
		} else if (!end_line(to, bytes, here)) {
			return CONTENT_NO_MEMORY;
		} else if (half->phase != MSN_HEAD) {
			msn_drop_kept(to);
		}
	}
	*taken = here + (end != NULL);
	return CONTENT_FED;
}

// How many bytes of `bytes` are of the head; *ended: the last of them ends it.
static uint32_t head_goes(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, bool *ended)
{
	struct msn_half *half = to->half;
	uint32_t n = 0;

	*ended = false;
	while (n < length && !*ended) {
		uint8_t byte = bytes[n++];

		if (byte == '\n') {
			if (!half->after_cr)
				msn_note(to, CONTENT_NOTE_BARE_LF, half->begin64);
			*ended = half->at_begin && !--half->sections;
		}
		half->at_begin = byte == '\n' || (byte == '\r' && half->at_begin);
		half->after_cr = byte == '\r';
	}
	return n;
}

static struct content_text head_of(const struct msn_half *half)
{
	return (struct content_text){half->kept + half->line, half->head};
}

static void take_head(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	bool ended;
	uint32_t n = head_goes(to, bytes, length, &ended);

	*taken = n;
	half->left -= n;
	if (half->head + n > MSN_HEAD_BYTES) {
		msn_note(to, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		half->phase = MSN_SKIP;
		msn_drop_kept(to);
	} else {
		memcpy(half->kept + half->line + half->head, bytes, n);
		half->head += (uint16_t)n;
		if (ended)
			half->phase = MSN_BODY;
	}
	if (half->left)
		return;
	// some show what has no body, some do not
	if (!ended && half->phase == MSN_HEAD && msn_mime_of(to, head_of(half)) != MSN_MIME_OTHER)
		msn_note(to, CONTENT_NOTE_BAD_LINE, half->begin64);
	end_payload(to);
}

// "P2P-Dest: a@b.example;{GUID}"
static bool has_places(struct content_text head)
{
	struct content_text to = msn_head_field(head, "p2p-dest");

	return http_until(to, ';') < to.length;
}

// Of what is in the body its type tells.
static enum content_fed begin_body(const struct msn_turn *to)
{
	struct msn_half *half = to->half;
	enum msn_mime mime = msn_mime_of(to, head_of(half));

	switch (mime) {
	case MSN_MIME_TEXT: return msn_chat_begin(to);
	case MSN_MIME_INVITE:
	case MSN_MIME_P2P:
		if (!msn_need_more(to))
			return CONTENT_NO_MEMORY;
		half->phase = mime == MSN_MIME_P2P ? MSN_P2P : MSN_INVITE;
		half->v2 = has_places(head_of(half));
		half->head = 0;
		return CONTENT_FED;
	case MSN_MIME_OTHER: half->phase = MSN_SKIP; break;
	}
	return CONTENT_FED;
}

static void take_invite(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;

	*taken = length;
	half->left -= length;
	if (half->head + length > MSN_HEAD_BYTES) {
		msn_note(to, CONTENT_NOTE_HEAD_TOO_LONG, half->begin64);
		half->phase = MSN_SKIP;
	} else {
		memcpy(half->kept + half->line + half->head, bytes, length);
		half->head += (uint16_t)length;
		if (!half->left)
			msn_invite_take(to, head_of(half));
	}
	if (!half->left)
		end_payload(to);
}

static enum content_fed take_payload(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;
	uint32_t here = length < half->left ? length : half->left;
	enum content_fed fed = CONTENT_FED;

	if (half->phase == MSN_BODY)
		fed = begin_body(to);
	if (fed != CONTENT_FED)
		return fed;
	switch (half->phase) {
	case MSN_HEAD: take_head(to, bytes, here, taken); return CONTENT_FED;
	case MSN_INVITE: take_invite(to, bytes, here, taken); return CONTENT_FED;
	case MSN_TEXT: msn_chat_take(to, bytes, here, taken); break;
	case MSN_P2P: fed = msn_frame_take(to, bytes, here, taken); break;
	default: *taken = here; break;
	}
	half->left -= *taken;
	if (!half->left && fed == CONTENT_FED)
		end_payload(to);
	return fed;
}

enum content_fed msn_talk_take(
	const struct msn_turn *to, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct msn_half *half = to->half;

	if (!half->looked)
		half->unsynced = to->state->streams[to->side].joined;
	half->looked = true;
	if (half->phase == MSN_LINE)
		return take_line(to, bytes, length, taken);
	return take_payload(to, bytes, length, taken);
}

// Of a payload whose end is known: what is behind it is read again.
static uint64_t lose_payload(const struct msn_turn *to, uint64_t length)
{
	struct msn_half *half = to->half;
	uint32_t here = length < half->left ? (uint32_t)length : half->left;

	if (half->phase == MSN_TEXT)
		msn_chat_close(to);
	else if (half->phase == MSN_P2P)
		msn_frame_lose(to, here);
	else
		half->phase = MSN_SKIP;
	half->left -= here;
	if (half->phase == MSN_TEXT) {
		half->unit64 = msn_at64(to) + here;
		half->told = 0;
	}
	if (!half->left)
		end_payload(to);
	return length - here;
}

void msn_talk_lose(const struct msn_turn *to, uint64_t length)
{
	struct msn_half *half = to->half;

	half->looked = true;
	if (half->phase != MSN_LINE)
		length = lose_payload(to, length);
	if (!length)
		return;
	msn_drop_kept(to);
	half->skip = half->unsynced = true;
}
