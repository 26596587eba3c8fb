// SPDX-License-Identifier: BSD-3-Clause
// Answers to searches: one stream of zlib. A user, a number, then records: 1, path, size u64, an
// extension, attributes (two numbers each). Read field by field; nothing but the field is kept.
#include "content/http/text.h"
#include "content/soulseek/session.h"
#include "pipeline/vocab/octets.h"

#define BOMB_FROM (1u << 20)
#define BOMB      256u

// Octets of a field that is no text.
static uint32_t fixed(unsigned field)
{
	switch (field) {
	case SOULSEEK_FIELD_CODE: return 1;
	case SOULSEEK_FIELD_SIZE:
	case SOULSEEK_FIELD_ATTRIBUTE: return 8;
	default: return 4;
	}
}

static bool is_text(unsigned field)
{
	return field == SOULSEEK_FIELD_USER || field == SOULSEEK_FIELD_NAME ||
	       field == SOULSEEK_FIELD_EXTENSION;
}

static void end_record(struct soulseek_results *results)
{
	results->field = --results->records ? SOULSEEK_FIELD_CODE : SOULSEEK_FIELD_REST;
}

static void end_size(const struct soulseek_turn *turn, struct soulseek_results *results)
{
	// behind the path, which stays until its size is there
	const uint8_t *at = results->text + results->name_length;

	content_charge(turn->turn, CONTENT_TOLD_BYTES);
	uint64_t size = octets_le32(at) | (uint64_t)octets_le32(at + 4) << 32;

	soulseek_offer(turn, (struct content_text){results->text, results->name_length},
		(struct content_text){results->user, results->user_length},
		size > INT64_MAX ? CONTENT_SIZE_UNKNOWN : size);
	results->name_length = 0;
}

// The field at hand is all there; what it says, and which is next.
static void end_field(const struct soulseek_turn *turn, struct soulseek_results *results)
{
	const uint8_t *at = results->text;

	switch (results->field++) {
	case SOULSEEK_FIELD_USER:
		results->user_length = (uint16_t)(results->length < SOULSEEK_USER ? results->length
										  : SOULSEEK_USER);
		memcpy(results->user, at, results->user_length);
		break;
	case SOULSEEK_FIELD_COUNT:
		results->records = octets_le32(at);
		if (!results->records)
			results->field = SOULSEEK_FIELD_REST;
		break;
	case SOULSEEK_FIELD_NAME: results->name_length = (uint16_t)results->length; break;
	case SOULSEEK_FIELD_SIZE: end_size(turn, results); break;
	case SOULSEEK_FIELD_ATTRIBUTES:
		results->attributes = octets_le32(at);
		if (!results->attributes)
			end_record(results);
		break;
	case SOULSEEK_FIELD_ATTRIBUTE:
		results->field = SOULSEEK_FIELD_ATTRIBUTE;
		if (!--results->attributes)
			end_record(results);
		break;
	default: break;
	}
	results->have = results->length = 0;
	results->in_text = false;
}

// `want` octets of the field, or of a text's length, behind a path that is kept. True: they are
// there.
static bool gather(struct soulseek_results *results, uint32_t want, const uint8_t *bytes,
	uint32_t length, uint32_t *at)
{
	return content_gather(results->text + results->name_length, &results->have, want,
		bytes + *at, length - *at, at);
}

// False: a text is longer than any.
static bool take_field(const struct soulseek_turn *turn, struct soulseek_results *results,
	const uint8_t *bytes, uint32_t length, uint32_t *at)
{
	uint32_t want = results->in_text ? results->length : fixed(results->field);

	if (results->field == SOULSEEK_FIELD_REST) {
		*at = length;
		return true;
	}
	if (!gather(results, want, bytes, length, at))
		return true;
	if (!is_text(results->field) || results->in_text) {
		end_field(turn, results);
		return true;
	}
	results->length = octets_le32(results->text + results->name_length);
	results->have = 0;
	results->in_text = true;
	if (results->length > SOULSEEK_KEPT - 8 - results->name_length)
		return false;
	if (!results->length)
		end_field(turn, results);
	return true;
}

// What was unpacked. False: the budget has ended.
static bool read_fields(const struct soulseek_turn *turn, struct soulseek_results *results)
{
	const struct content_sink *sink = turn->turn->sink;

	while (results->from < results->to && turn->turn->output) {
		uint32_t at = results->from;

		if (!take_field(turn, results, results->out, results->to, &at)) {
			sink->note(sink->ctx, CONTENT_NOTE_HEAD_TOO_LONG, turn->half,
				turn->state->halves[turn->half].message64);
			results->field = SOULSEEK_FIELD_REST;
		}
		results->from = (uint16_t)at;
	}
	return results->from == results->to;
}

static bool is_bomb(const struct soulseek_results *results)
{
	return results->out_bytes > BOMB_FROM && results->out_bytes / BOMB > results->in;
}

// Unpacks some more. True: there may be more without any input.
static bool unpack(
	struct soulseek_results *results, const uint8_t *bytes, uint32_t length, uint32_t *given)
{
	uint32_t in = length - *given, told = sizeof(results->out);
	enum coding_state now =
		coding_feed(results->coding, bytes + *given, &in, results->out, &told, false);

	*given += in;
	results->in += in;
	results->out_bytes += told;
	results->from = 0;
	results->to = (uint16_t)told;
	results->broken = now == CODING_BROKEN;
	results->over = now != CODING_GOES_ON;
	return told == sizeof(results->out);
}

// What was unpacked has been read.
static void look_at_end(const struct soulseek_turn *turn)
{
	struct soulseek_half *half = &turn->state->halves[turn->half];
	const struct content_sink *sink = turn->turn->sink;
	const struct soulseek_results *results = half->results;
	bool bomb = results->coding && is_bomb(results);

	if (bomb)
		sink->note(sink->ctx, CONTENT_NOTE_BOMB, turn->half, half->message64);
	else if (results->coding && results->broken)
		sink->note(sink->ctx, CONTENT_NOTE_CODING_LIES, turn->half, half->message64);
	if (bomb || results->over)
		soulseek_results_stop(half);
}

enum content_fed soulseek_results_put(
	const struct soulseek_turn *turn, const uint8_t *bytes, uint32_t length, uint32_t *taken)
{
	struct soulseek_results *results = turn->state->halves[turn->half].results;
	bool more = results->ahead;
	uint32_t given = more;

	for (;;) {
		if (!read_fields(turn, results)) { // the last byte is taken when all of it is
			results->ahead = given;
			*taken = given ? given - 1 : 0;
			return CONTENT_MORE;
		}
		look_at_end(turn);
		if (!results->coding || (!more && given == length))
			break;
		more = unpack(results, bytes, length, &given);
	}
	results->ahead = false;
	*taken = length;
	return CONTENT_FED;
}

void soulseek_results_stop(struct soulseek_half *half)
{
	if (!half->results)
		return;
	coding_close(half->results->coding);
	half->results->coding = NULL;
	half->results->from = half->results->to = 0;
	half->results->ahead = false;
}

void soulseek_results_close(struct soulseek_half *half, struct content_memory *memory)
{
	soulseek_results_stop(half);
	content_give(memory, half->results);
	half->results = NULL;
}
