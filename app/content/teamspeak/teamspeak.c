// SPDX-License-Identifier: BSD-3-Clause
// The decoder of TeamSpeak 2: texts in commands (README.md). All numbers are little endian.
//
//   0xbef0  type  session  client  number  resent  parts that follow  CRC-32
//   0x01ae  colour  kind  for whom                 text 0      of a client
//   0x0082  colour  kind  length of the name  name  text 0     of the server
#include <assert.h>
#include <string.h>

#include "content/decoders.h"
#include "pipeline/vocab/octets.h"

#define COMMAND     0xbef0
#define OF_CLIENT   0x01ae
#define OF_SERVER   0x0082
#define HEAD_BYTES  24
#define TYPE        2 // offsets
#define NUMBER      12
#define PARTS       18
#define CLIENT_HEAD 9 // colour, kind, for whom
#define SERVER_HEAD 35
#define NAME        5
#define NAME_BYTES  29

#define TAIL_BYTES 256  // of the parts before that are told again with the next one
#define TOLD_BYTES 1024 // ... of a part at once

struct teamspeak_half {
	uint32_t number; // of the last part of a text that goes on
	uint16_t parts;  // that follow it; 0: none
	uint16_t type;
	uint16_t begins; // where its text begins in the datagram
	uint16_t length; // of `tail`
	uint8_t tail[TAIL_BYTES];
};

struct teamspeak_state {
	struct teamspeak_half halves[2];
};
static_assert(sizeof(struct teamspeak_state) <= 1024, "a flow costs little");

// Where the text begins in a command that is no later part; 0: there is none.
static uint16_t text_at(uint16_t type, uint32_t length)
{
	uint16_t at = type == OF_CLIENT ? HEAD_BYTES + CLIENT_HEAD : HEAD_BYTES + SERVER_HEAD;

	return (type == OF_CLIENT || type == OF_SERVER) && length > at ? at : 0;
}

static struct content_text name_of(const struct teamspeak_half *half, const uint8_t *bytes)
{
	const uint8_t *name = bytes + HEAD_BYTES + NAME;
	bool said = half->type == OF_SERVER && half->begins > HEAD_BYTES;
	uint32_t length = said ? name[0] : 0;

	return (struct content_text){name + 1, length < NAME_BYTES ? length : NAME_BYTES};
}

static void keep_tail(struct teamspeak_half *half, const uint8_t *text, uint32_t length)
{
	uint32_t keeps = length < TAIL_BYTES ? TAIL_BYTES - length : 0;

	if (length > TAIL_BYTES) {
		text += length - TAIL_BYTES;
		length = TAIL_BYTES;
	}
	if (keeps > half->length)
		keeps = half->length;
	memmove(half->tail, half->tail + half->length - keeps, keeps);
	memcpy(half->tail + keeps, text, length);
	half->length = (uint16_t)(keeps + length);
}

// Some of a part, behind the end of what came before: a datagram is dropped as a whole, or not at
// all, so that each is a message of its own.
static void tell_some(struct teamspeak_half *half, const struct span *span,
	const struct content_turn *turn, uint32_t at, uint32_t length)
{
	const struct content_sink *sink = turn->sink;
	uint8_t text[TAIL_BYTES + TOLD_BYTES];

	memcpy(text, half->tail, half->length);
	memcpy(text + half->length, span_bytes(span) + at, length);
	const struct content_message message = {
		.half = span->half & 1,
		.verbatim = !half->length,
		.from = name_of(half, span_bytes(span)),
		.text = {text, half->length + length},
		.begins64 = span->offset64 + at,
		.ends64 = span->offset64 + at + length,
		.unit64 = span->offset64,
		.unit_ends64 = span->offset64 + span->extent,
	};

	sink->message(sink->ctx, &message);
	keep_tail(half, span_bytes(span) + at, length);
}

static void tell(struct teamspeak_half *half, const struct span *span,
	const struct content_turn *turn, uint32_t length)
{
	uint32_t at = half->begins;

	for (uint32_t i = at; i < length; i++)
		if (!span_bytes(span)[i])
			length = i;
	while (at < length) {
		uint32_t here = length - at < TOLD_BYTES ? length - at : TOLD_BYTES;

		tell_some(half, span, turn, at, here);
		at += here;
	}
}

static void take(
	struct teamspeak_half *half, const struct span *span, const struct content_turn *turn)
{
	const uint8_t *bytes = span_bytes(span);
	uint16_t type = octets_le16(bytes + TYPE), parts = octets_le16(bytes + PARTS);
	uint32_t number = octets_le32(bytes + NUMBER);
	bool again = half->parts && half->type == type && number == half->number;
	bool follows = half->parts && half->type == type && number == half->number + 1 &&
		       parts == half->parts - 1;
	uint16_t begins = text_at(type, span_length(span));

	if (again)
		begins = half->begins;
	else if (follows)
		begins = HEAD_BYTES;
	else
		half->length = 0;
	if (!begins || begins >= span_length(span))
		return;
	half->number = number;
	half->parts = parts;
	half->type = type;
	half->begins = begins;
	tell(half, span, turn, span_length(span));
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct teamspeak_state *state = of;
	struct teamspeak_half *half = &state->halves[span->half & 1];

	turn->taken = span->extent;
	if (span->flags & SPAN_DATAGRAM && span_length(span) > HEAD_BYTES &&
		octets_le16(span_bytes(span)) == COMMAND)
		take(half, span, turn);
	return CONTENT_FED;
}

static void over(void *of, struct content_turn *turn)
{
	(void)of;
	(void)turn;
}

const struct content_decoder content_teamspeak = {
	.app = "teamspeak",
	.state_bytes = sizeof(struct teamspeak_state),
	.finds = CONTENT_FINDS_CHAT,
	.feed = feed,
	.over = over,
};
