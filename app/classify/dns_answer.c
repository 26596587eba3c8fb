// SPDX-License-Identifier: BSD-3-Clause
// Parses answers of DNS for the addresses of the name that was asked for.
#include "classify/dns_answer.h"
#include <stddef.h>
#include "classify/text.h"

#define HEADER_BYTES 12
#define TEXT_MAX     253 // RFC 1035 2.3.4, written out
#define CLASS_IN     1
#define ASKED_NAME   1 // asked.h

enum {
	TYPE_A = 1,
	TYPE_CNAME = 5,
	TYPE_AAAA = 28,
};

struct name {
	uint8_t length;
	uint8_t text[TEXT_MAX];
};

// Reads the name at `*at` in lower case and moves behind it. Compressed names lead backwards, and
// each jump to before the last (RFC 1035 4.1.4 wants a prior occurrence): there are no loops. What
// could not be told from another name when it is written with dots is refused.
static bool read_name(struct text message, uint32_t *at, struct name *name)
{
	uint32_t i = *at, before = *at;
	unsigned jumps = 0;

	name->length = 0;
	while (i < message.length) {
		uint32_t length = message.at[i];

		if (length >= 0xc0) {
			if (message.length - i < 2 || jumps == DNS_JUMPS_MAX)
				return false;
			if (!jumps++)
				*at = i + 2;
			i = octets_be16(message.at + i) & 0x3fff;
			if (i >= before || i < HEADER_BYTES)
				return false;
			before = i;
			continue;
		}
		if (!length) {
			if (!jumps)
				*at = i + 1;
			return name->length > 0;
		}
		uint32_t dot = name->length > 0;

		if (length > 63 || message.length - i - 1 < length ||
			name->length + dot + length > TEXT_MAX)
			return false;
		if (dot)
			name->text[name->length++] = '.';
		for (uint32_t k = 1; k <= length; k++) {
			uint8_t byte = message.at[i + k];

			if (byte <= ' ' || byte >= 0x7f || byte == '.')
				return false;
			name->text[name->length++] = octets_lower(byte);
		}
		i += 1 + length;
	}
	return false;
}

static bool same(const struct name *a, const struct name *b)
{
	return a->length == b->length && !memcmp(a->text, b->text, a->length);
}

// The name that was asked for, then its aliases, as far as they were read.
struct chain {
	struct name names[1 + DNS_ALIASES_MAX];
	unsigned n;
};

static bool chain_has(const struct chain *chain, const struct name *name)
{
	for (unsigned i = 0; i < chain->n; i++)
		if (same(&chain->names[i], name))
			return true;
	return false;
}

static void report(const struct chain *chain, const struct name *owner, const uint8_t *fields,
	const struct decoder_sink *sink)
{
	bool v4 = octets_be16(fields) == TYPE_A;
	struct learned_name learned = {
		.name = chain->names[0].text,
		.length = chain->names[0].length,
		.ttl_s = octets_be32(fields + 4) & 0x7fffffff, // RFC 2181 8
	};

	if (!same(owner, &chain->names[0])) {
		learned.alias = owner->text;
		learned.alias_length = owner->length;
	}
	if (v4) {
		memset(learned.address + 10, 0xff, 2);
		memcpy(learned.address + 12, fields + 10, 4);
	} else {
		memcpy(learned.address, fields + 10, 16);
	}
	sink->name(sink->ctx, &learned);
}

// False: the message ends, or is broken, here.
static bool read_record(
	struct text message, uint32_t *at, struct chain *chain, const struct decoder_sink *sink)
{
	struct name owner;

	if (!read_name(message, at, &owner) || message.length - *at < 10)
		return false;
	const uint8_t *fields = message.at + *at;
	uint32_t length = octets_be16(fields + 8), target = *at + 10;
	uint16_t type = octets_be16(fields);

	if (length > message.length - target)
		return false;
	*at = target + length;
	if (octets_be16(fields + 2) != CLASS_IN || !chain_has(chain, &owner))
		return true;
	if (type == TYPE_CNAME && chain->n < 1 + DNS_ALIASES_MAX)
		chain->n += read_name(message, &target, &chain->names[chain->n]);
	else if ((type == TYPE_A && length == 4) || (type == TYPE_AAAA && length == 16))
		report(chain, &owner, fields, sink);
	return true;
}

// What an answer repeats of its query: the number, the type, the name (in any case).
struct question {
	uint8_t id[2], type[2];
	uint8_t name[TEXT_MAX];
};

static uint32_t question_of(
	struct text message, const struct name *name, uint32_t at, struct question *question)
{
	memcpy(question->id, message.at, 2);
	memcpy(question->type, message.at + at, 2);
	memcpy(question->name, name->text, name->length);
	return (uint32_t)offsetof(struct question, name) + name->length;
}

// A standard query: one question.
static inline bool is_query(struct text message)
{
	return message.length >= HEADER_BYTES + 5 && !(octets_be16(message.at + 2) & 0xf800) &&
	       octets_be16(message.at + 4) == 1;
}

static void read_query(struct text message, struct asked *asked)
{
	struct question question;
	struct name name;
	uint32_t at = HEADER_BYTES;

	if (!read_name(message, &at, &name) || message.length - at < 4)
		return;
	uint32_t length = question_of(message, &name, at, &question);

	asked_note(asked, HALF_C2S, ASKED_NAME, question.id, length);
}

static void read_answer(struct text message, const struct decoder_sink *sink)
{
	struct question question;
	struct chain chain;
	uint32_t at = HEADER_BYTES, length;

	if (message.length < HEADER_BYTES + 5 || !sink->name)
		return;
	uint16_t flags = octets_be16(message.at + 2);
	unsigned n = octets_be16(message.at + 6);

	// a response to a standard query, without an error; one question
	if ((flags & 0xf80f) != 0x8000 || octets_be16(message.at + 4) != 1)
		return;
	if (!read_name(message, &at, &chain.names[0]) || message.length - at < 4 ||
		octets_be16(message.at + at + 2) != CLASS_IN)
		return;
	length = question_of(message, &chain.names[0], at, &question);
	if (!sink->name || !asked_answers(sink->asked, HALF_S2C, ASKED_NAME, question.id, length))
		return;
	chain.n = 1;
	at += 4;
	for (unsigned i = 0; i < n && i < DNS_ANSWERS_MAX; i++)
		if (!read_record(message, &at, &chain, sink))
			return;
}

static void read_message(struct text message, unsigned half, const struct decoder_sink *sink)
{
	if (half == HALF_S2C)
		read_answer(message, sink);
	else if (is_query(message))
		read_query(message, sink->asked);
}

bool dns_answer_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	(void)ends;
	read_message(span_text(span), span->half & 1, sink);
	return true;
}

enum {                 // in the memo, by half
	WORD_SKIP = 0, // octets of the message at hand, which is too long
	WORD_SEEN = 2,
};

// Where the client's first message begins: its length may have gone ahead in a segment of its own,
// before the flow was known for DNS. False: nobody knows.
static bool begins(struct decoder_state *state, const struct span *span)
{
	unsigned half = span->half & 1;

	if (state->memo.word[WORD_SEEN + half] || !span->offset64 || half == HALF_S2C)
		return true;
	if (span->offset64 != 2)
		return false;
	state->line[half][0] = (uint8_t)(span->extent >> 8);
	state->line[half][1] = (uint8_t)span->extent;
	state->line_length[half] = 2;
	return true;
}

// The messages of a half, each behind its length. One that is longer than a line is left out.
void dns_answer_stream(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	unsigned half = span->half & 1;
	uint8_t *line = state->line[half];
	uint32_t *skip = &state->memo.word[WORD_SKIP + half];
	const struct text bytes = span_text(span);

	(void)ends;
	if (span->flags & (SPAN_GAP | SPAN_MIDSTREAM) || !begins(state, span)) {
		state->done = true; // where the next message begins is not known any more
		return;
	}
	state->memo.word[WORD_SEEN + half] = 1;
	for (uint32_t at = 0; at < bytes.length;) {
		uint32_t kept = state->line_length[half], left = bytes.length - at, wanted = 2;

		if (*skip) {
			uint32_t here = left < *skip ? left : *skip;

			*skip -= here;
			at += here;
			continue;
		}
		if (kept >= 2)
			wanted = 2u + octets_be16(line);
		if (wanted > APP_LINE_BYTES) {
			*skip = wanted - kept;
			state->line_length[half] = 0;
			continue;
		}
		uint32_t here = left < wanted - kept ? left : wanted - kept;

		memcpy(line + kept, bytes.at + at, here);
		kept += here;
		at += here;
		state->line_length[half] = (uint16_t)kept;
		if (kept < 2 || kept != 2u + octets_be16(line))
			continue;
		read_message((struct text){line + 2, kept - 2}, half, sink);
		state->line_length[half] = 0;
	}
}
