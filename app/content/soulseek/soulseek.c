// SPDX-License-Identifier: BSD-3-Clause
// The decoder of Soulseek: what a connection is, by its first message; messages by their lengths.
#include <assert.h>

#include "content/decoders.h"
#include "content/http/text.h"
#include "content/memory.h"
#include "content/soulseek/session.h"
#include "pipeline/vocab/octets.h"

#define CODE_BYTES    4u
#define PEER_RESULTS  9u
#define PEER_FIRST    4u // codes of messages between clients
#define PEER_LAST     52u
#define FIRST_BYTES   9u          // of a connection: they say what it is
#define MESSAGE_BYTES (64u << 20) // nobody sends a longer one: lists of shares have some MiB

static_assert(sizeof(struct soulseek_state) <= 512, "a connection that is idle costs little");

static struct soulseek_turn turn_of(
	struct soulseek_state *state, unsigned half, struct content_turn *turn)
{
	return (struct soulseek_turn){state, turn, half};
}

static void end_half(struct soulseek_half *half, struct content_memory *memory)
{
	soulseek_results_close(half, memory);
	content_give(memory, half->kept);
	half->kept = NULL;
	half->lost = true;
}

// ---- messages ----

static void begin_message(struct soulseek_half *half)
{
	half->length = half->left = 0;
	half->framed = half->too_long = half->open = half->said = false;
	half->told = 0;
}

// What is kept of a message to or from the server.
static void tell_part(const struct soulseek_turn *turn, bool whole)
{
	struct soulseek_half *half = &turn->state->halves[turn->half];

	if (turn->state->kind == SOULSEEK_SERVER && half->kept && half->framed && !half->too_long)
		soulseek_server_message(
			turn, (struct content_text){half->kept, half->length}, whole);
}

static bool is_results(const struct soulseek_state *state, const struct soulseek_half *half)
{
	return state->kind == SOULSEEK_PEER && half->length >= CODE_BYTES &&
	       octets_le32(half->kept) == PEER_RESULTS;
}

// The code of a packed message is there. False: no memory.
static bool open_results(struct soulseek_half *half, struct content_memory *memory)
{
	if (half->results)
		return true;
	struct soulseek_results *results = content_take(memory, sizeof(*results));
	struct coding *coding = results ? coding_open(memory, CODING_DEFLATE) : NULL;

	if (!coding) {
		content_give(memory, results);
		return false;
	}
	memset(results, 0, sizeof(*results));
	results->coding = coding;
	half->results = results;
	return true;
}

static void end_message(const struct soulseek_turn *turn)
{
	struct soulseek_half *half = &turn->state->halves[turn->half];
	struct content_text message = {half->kept, half->length};

	if (half->results)
		soulseek_results_close(half, turn->turn->memory);
	else if (turn->state->kind == SOULSEEK_SERVER)
		tell_part(turn, true);
	else if (!half->too_long)
		soulseek_peer_message(turn, message);
	begin_message(half);
}

// Which codes are looked at: what is too long of others says nothing that we would have read.
static bool is_of_use(const struct soulseek_state *state, const struct soulseek_half *half)
{
	uint32_t code = octets_le32(half->kept);

	if (state->kind == SOULSEEK_SERVER)
		return code == 13 || code == 22 || code == 66 || code == 116 || code == 149 ||
		       code == 152;
	return code == 40 || code == 43;
}

// As much of the message as there is room for.
static void keep(const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t n)
{
	struct soulseek_half *half = &turn->state->halves[turn->half];
	uint32_t room = SOULSEEK_KEPT - half->length, part = n < room ? n : room;

	if (half->too_long)
		return;
	memcpy(half->kept + half->length, bytes, part);
	half->length += part;
	if (n <= room)
		return;
	tell_part(turn, true);
	if (is_of_use(turn->state, half))
		turn->turn->sink->note(turn->turn->sink->ctx, CONTENT_NOTE_HEAD_TOO_LONG,
			turn->half, half->message64);
	half->too_long = true;
}

// What belongs to the message, of which some is left.
static enum content_fed take_body(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_state *state = turn->state;
	struct soulseek_half *half = &state->halves[turn->half];
	uint32_t n = half->left < length ? half->left : length;
	enum content_fed fed = CONTENT_FED;

	if (half->length < CODE_BYTES && n > CODE_BYTES - half->length)
		n = CODE_BYTES - half->length;
	if (is_results(state, half)) {
		if (!open_results(half, turn->turn->memory))
			return CONTENT_NO_MEMORY;
		fed = soulseek_results_put(turn, bytes, n, taken);
	} else {
		keep(turn, bytes, n);
		*taken = n;
	}
	half->left -= *taken;
	if (fed != CONTENT_FED)
		return fed;
	if (!half->left)
		end_message(turn);
	else
		tell_part(turn, false);
	return CONTENT_FED;
}

static enum content_fed take_messages(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_half *half = &turn->state->halves[turn->half];

	if (half->framed)
		return take_body(turn, bytes, length, taken);
	if (!half->length)
		half->message64 = turn->state->streams[turn->half].at64;
	if (!content_gather(half->kept, &half->length, 4, bytes, length, taken))
		return CONTENT_FED;
	half->left = octets_le32(half->kept);
	half->length = 0;
	half->framed = half->left;
	if (half->left <= MESSAGE_BYTES)
		return CONTENT_FED;
	turn->turn->sink->note(
		turn->turn->sink->ctx, CONTENT_NOTE_BAD_LENGTH, turn->half, half->message64);
	end_half(half, turn->turn->memory);
	return CONTENT_FED;
}

// ---- what a connection is ----

// "P", "F" or "D" behind the user's name, then a token.
static enum soulseek_kind kind_of_init(struct content_text init)
{
	struct content_text rest = http_text_from(init, 5), user, type;

	if (!soulseek_string(&rest, &user) || !soulseek_string(&rest, &type) || type.length != 1)
		return SOULSEEK_OTHER;
	return type.bytes[0] == 'P'   ? SOULSEEK_PEER
	       : type.bytes[0] == 'F' ? SOULSEEK_FILE
				      : SOULSEEK_OTHER;
}

static bool is_peer_message(const uint8_t *at)
{
	uint32_t code = octets_le32(at + 4);

	return octets_le32(at) >= 4 && octets_le32(at) <= MESSAGE_BYTES && code >= PEER_FIRST &&
	       code <= PEER_LAST;
}

// The first message of who has connected: its length, code 0 or 1 of one byte to a client, 1 of
// four to the server. CONTENT_FED with *taken: so much of it is done with.
static enum content_fed take_first(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_state *state = turn->state;
	struct soulseek_half *half = &state->halves[HALF_C2S];
	uint32_t want = FIRST_BYTES;

	if (!content_gather(half->kept, &half->length, want, bytes, length, taken))
		return CONTENT_FED;
	uint32_t left = octets_le32(half->kept);

	if (half->kept[4] == 1 && !(half->kept[5] | half->kept[6] | half->kept[7])) {
		if (left < 5 || left > SOULSEEK_KEPT - 4) {
			state->kind = SOULSEEK_OTHER;
			return CONTENT_OVER;
		}
		state->kind = SOULSEEK_SERVER;
		half->framed = true;
		half->left = left - 5;
		half->length = 5;
		memmove(half->kept, half->kept + 4, 5);
		if (!half->left)
			end_message(turn);
		return CONTENT_FED;
	}
	if (left == 5 && !half->kept[4]) {
		state->kind = SOULSEEK_PIERCED;
		begin_message(half);
		return CONTENT_FED;
	}
	if (half->kept[4] != 1 || left < 5 || left > 256) {
		state->kind = SOULSEEK_OTHER;
		return CONTENT_OVER;
	}
	if (!content_gather(
		    half->kept, &half->length, 4 + left, bytes + *taken, length - *taken, taken))
		return CONTENT_FED;
	state->kind = (uint8_t)kind_of_init((struct content_text){half->kept, half->length});
	begin_message(half);
	return state->kind == SOULSEEK_OTHER ? CONTENT_OVER : CONTENT_FED;
}

// What has come of a half while it was not known that these are messages.
static void adopt(struct soulseek_half *half)
{
	uint32_t n = half->length;

	if (n < 4)
		return;
	half->left = octets_le32(half->kept);
	half->length = n - 4;
	memmove(half->kept, half->kept + 4, half->length);
	half->framed = half->left;
	half->lost = half->left < half->length;
	half->left -= half->lost ? 0 : half->length;
}

// Who had asked for the connection, through the server, says next what it is for: a message, or the
// token of a file, which the other end answers with eight bytes.
static enum content_fed take_pierced(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_state *state = turn->state;
	struct soulseek_half *half = &state->halves[turn->half];
	bool other_has_token = state->halves[!turn->half].length == 4;

	if (!half->length)
		half->message64 = state->streams[turn->half].at64;
	if (!content_gather(half->kept, &half->length, 8, bytes, length, taken))
		return CONTENT_FED;
	if (is_peer_message(half->kept)) {
		state->kind = SOULSEEK_PEER;
		adopt(half);
		adopt(&state->halves[!turn->half]);
		if (!half->left)
			end_message(turn);
		return CONTENT_FED;
	}
	if (!other_has_token) {
		state->kind = SOULSEEK_OTHER;
		return CONTENT_OVER;
	}
	state->kind = SOULSEEK_FILE;
	const struct soulseek_turn sender = turn_of(state, !turn->half, turn->turn);
	uint32_t done;

	soulseek_file_take(&sender, state->halves[sender.half].kept, 4, &done);
	return soulseek_file_take(turn, half->kept, 8, &done);
}

static enum content_fed take(void *of, unsigned side, struct content_turn *turn,
	const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_state *state = of;
	const struct soulseek_turn here = turn_of(state, side, turn);
	struct soulseek_half *half = &state->halves[side];

	if (state->kind == SOULSEEK_FILE)
		return soulseek_file_take(&here, bytes, length, taken);
	if (half->lost) {
		*taken = length;
		return state->halves[!side].lost ? CONTENT_OVER : CONTENT_FED;
	}
	if (!half->kept)
		half->kept = content_take(turn->memory, SOULSEEK_KEPT);
	if (!half->kept)
		return CONTENT_NO_MEMORY;
	if (state->kind == SOULSEEK_NEW && side == HALF_S2C) // an answer to nothing that was seen
		return CONTENT_OVER;
	switch (state->kind) {
	case SOULSEEK_NEW: return take_first(&here, bytes, length, taken);
	case SOULSEEK_PIERCED: return take_pierced(&here, bytes, length, taken);
	case SOULSEEK_OTHER: return CONTENT_OVER;
	default: return take_messages(&here, bytes, length, taken);
	}
}

static enum content_fed lose(void *of, unsigned side, struct content_turn *turn, uint64_t length)
{
	struct soulseek_state *state = of;
	const struct soulseek_turn here = turn_of(state, side, turn);
	struct soulseek_half *half = &state->halves[side];

	if (state->kind == SOULSEEK_FILE) {
		soulseek_file_lose(&here, length);
		return CONTENT_FED;
	}
	uint64_t lost = half->framed ? half->left : 0;

	if (lost > length)
		lost = length;
	tell_part(&here, true);
	if (lost) { // the next one's beginning is known
		half->too_long = true;
		half->left -= (uint32_t)lost;
		soulseek_results_stop(half);
		if (!half->left)
			end_message(&here);
	}
	if (lost == length)
		return CONTENT_FED;
	if (!half->lost)
		turn->sink->note(
			turn->sink->ctx, CONTENT_NOTE_LOST, side, state->streams[side].at64 + lost);
	end_half(half, turn->memory);
	bool known = state->kind == SOULSEEK_SERVER || state->kind == SOULSEEK_PEER;

	return state->halves[!side].lost || !known ? CONTENT_OVER : CONTENT_FED;
}

static enum content_fed fin(void *of, unsigned side, struct content_turn *turn)
{
	struct soulseek_state *state = of;
	const struct soulseek_turn here = turn_of(state, side, turn);

	if (state->kind == SOULSEEK_FILE && state->file.known && state->file.sender == side)
		soulseek_file_end(&here, CONTENT_END_CLOSED);
	return CONTENT_FED;
}

static const struct content_reader reader = {.take = take, .lose = lose, .fin = fin};

static void end_all(struct soulseek_state *state, struct content_turn *turn)
{
	const struct soulseek_turn here = turn_of(state, state->file.sender, turn);

	soulseek_file_end(&here, CONTENT_END_TRUNCATED);
	end_half(&state->halves[0], turn->memory);
	end_half(&state->halves[1], turn->memory);
	state->over = true;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct soulseek_state *state = of;
	bool foreign = span->flags & (SPAN_MIDSTREAM | SPAN_DATAGRAM);
	enum content_fed fed = state->over || foreign ? CONTENT_OVER
						      : content_stream_feed(state->streams, &reader,
								state, span, turn);

	if (fed == CONTENT_OVER) {
		end_all(state, turn);
		turn->taken = span->extent;
	}
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	end_all(of, turn);
}

const struct content_decoder content_soulseek = {
	.app = "soulseek",
	.state_bytes = sizeof(struct soulseek_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT,
	.feed = feed,
	.over = over,
};
