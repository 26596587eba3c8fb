// SPDX-License-Identifier: BSD-3-Clause
// Reads PUSH requests of Gnutella, and the GIV lines of connections that answer them.
#include "classify/proto/gnutella/push.h"
#include <netinet/in.h>
#include "classify/text.h"

#define PUSH_TTL_S 120

enum {
	DESCRIPTOR = 23, // GUID 16, type, ttl, hops, length u32 LE of what follows
	DESCRIPTOR_MAX = 64 << 10,
	TYPE_PING = 0x00,
	TYPE_PONG = 0x01,
	TYPE_PUSH = 0x40,
	TYPE_QUERY = 0x80,
	TYPE_HIT = 0x81,
	GUID = 16,
	PUSH = 26, // servent 16, index u32, IPv4 4, port u16 LE; extensions may follow
};

enum {                    // in the memo
	MEMO_PHASE,       // by half, two words: enum phase
	MEMO_SKIP = 2,    // by half, two words: octets of a descriptor that are passed over
	MEMO_ENCODED = 4, // by half, two words: the handshake names an encoding
};

enum phase {
	PHASE_HEADERS, // lines of the handshake
	PHASE_CONFIRM, // of the initiator: between its two parts
	PHASE_MESSAGES,
	PHASE_OVER, // nothing that can be read
};

struct decoding {
	struct decoder_state *state;
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
	unsigned half;
};

// Who is asked to connect is the end that hears it; who asks may name itself, or whom it passes it
// on for.
static void take_push(const struct flow_ends *ends, const struct decoder_sink *sink, unsigned half,
	const uint8_t *at)
{
	struct expectation expect = {
		.address = {[10] = 0xff, 0xff, at[20], at[21], at[22], at[23]},
		.port = octets_le16(at + 24),
		.l4_proto = IPPROTO_TCP,
		.app = app_find("gnutella"),
		.as = EXPECTED_GNUTELLA_PUSH,
		.ttl_s = PUSH_TTL_S,
	};

	if (expect.port < 1024 || !sink->expect ||
		!memcmp(expect.address, ends->address[!half], 16))
		return;
	if (memcmp(expect.address, ends->address[half], 16) != 0)
		memcpy(expect.peer, ends->address[!half], 16);
	sink->expect(sink->ctx, &expect);
}

// Pings and queries, and what answers them with their GUID. A PUSH answers nothing: it is believed
// of an end that has answered the other one before.
static void note_exchange(struct asked *asked, unsigned half, const uint8_t *at)
{
	switch (at[16]) {
	case TYPE_PING:
	case TYPE_QUERY: asked_note(asked, half, at[16], at, GUID); break;
	case TYPE_PONG:
	case TYPE_HIT: asked_answers(asked, half, at[16] - 1, at, GUID); break;
	default: break;
	}
}

bool gnutella_push_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	const struct text message = span_text(span);
	unsigned half = span->half & 1;

	if (message.length >= DESCRIPTOR)
		note_exchange(sink->asked, half, message.at);
	if (!sink->asked || !(sink->asked->answered & 1u << half))
		return true;
	if (message.length >= DESCRIPTOR + PUSH && message.at[16] == TYPE_PUSH &&
		octets_le32(message.at + 19) == message.length - DESCRIPTOR)
		take_push(ends, sink, half, message.at + DESCRIPTOR);
	return true;
}

// "GIV 0:F1D2..:name": the servent has come, and says which file it brings.
static void take_giv(const struct decoding *d, struct text line)
{
	struct transfer_label label = {0};

	line = text_from(line, 4);
	text_take(&line, '/');
	if (!line.length || !d->sink->transfer)
		return;
	transfer_text_set(label.file, sizeof(label.file), line.at, line.length);
	d->sink->transfer(d->sink->ctx, &label);
}

static void take_line(const struct decoding *d, struct text line)
{
	uint32_t *phase = &d->state->memo.word[MEMO_PHASE + d->half];
	uint32_t *encoded = &d->state->memo.word[MEMO_ENCODED + d->half];
	struct text name, rest = line;

	if (text_begins(line, "GIV ")) {
		take_giv(d, line);
		*phase = PHASE_OVER; // HTTP follows
		return;
	}
	if (text_begins(line, "GET ") || text_begins(line, "HTTP/")) {
		*phase = PHASE_OVER;
		return;
	}
	if (!line.length) {
		bool first_of_two = d->half == HALF_C2S && *phase == PHASE_HEADERS;

		*phase = first_of_two ? PHASE_CONFIRM : *encoded ? PHASE_OVER : PHASE_MESSAGES;
		return;
	}
	if (text_begins(line, "GNUTELLA CONNECT/0.4"))
		*phase = PHASE_CONFIRM; // its handshake is one line
	name = text_take(&rest, ':');
	if (text_is(name, "Content-Encoding"))
		*encoded = 1;
}

// A handshake's line that is here in full, or as much of it as there is room for.
static uint32_t take_handshake(const struct decoding *d, struct text rest)
{
	uint8_t *kept = d->state->line[d->half];
	uint16_t *n = &d->state->line_length[d->half];
	const uint8_t *end = memchr(rest.at, '\n', rest.length);
	uint32_t part = end ? (uint32_t)(end - rest.at) : rest.length;
	uint32_t room = (uint32_t)APP_LINE_BYTES - *n;

	if (room > part)
		room = part;
	memcpy(kept + *n, rest.at, room);
	*n = (uint16_t)(*n + room);
	if (!end)
		return part;
	take_line(d, (struct text){kept, *n && kept[*n - 1] == '\r' ? *n - 1u : *n});
	*n = 0;
	return part + 1;
}

// Of a descriptor: its head is kept, and a PUSH's beginning; the rest is passed over.
static uint32_t take_message(const struct decoding *d, struct text rest)
{
	uint8_t *kept = d->state->line[d->half];
	uint16_t *n = &d->state->line_length[d->half];
	uint32_t *skip = &d->state->memo.word[MEMO_SKIP + d->half];
	uint32_t part = *skip < rest.length ? *skip : rest.length, length, wanted;

	*skip -= part;
	if (part)
		return part;
	wanted = *n < DESCRIPTOR ? DESCRIPTOR : DESCRIPTOR + PUSH;
	part = wanted - *n < rest.length ? wanted - *n : rest.length;
	memcpy(kept + *n, rest.at, part);
	*n = (uint16_t)(*n + part);
	if (*n < wanted)
		return part;
	length = octets_le32(kept + 19);
	if (length > DESCRIPTOR_MAX) {
		d->state->memo.word[MEMO_PHASE + d->half] = PHASE_OVER;
	} else if (kept[16] != TYPE_PUSH || length < PUSH) {
		*skip = length;
		*n = 0;
	} else if (*n == DESCRIPTOR + PUSH) {
		take_push(d->ends, d->sink, d->half, kept + DESCRIPTOR);
		*skip = length - PUSH;
		*n = 0;
	}
	return part;
}

void gnutella_push_decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	const struct decoding d = {state, ends, sink, span->half & 1u};
	uint32_t *phase = &state->memo.word[MEMO_PHASE];
	struct text rest = span_text(span);

	if (span_is_gap(span))
		phase[d.half] = PHASE_OVER; // where the next message begins is not known
	while (rest.length && phase[d.half] != PHASE_OVER)
		rest = text_from(rest, phase[d.half] == PHASE_MESSAGES ? take_message(&d, rest)
								       : take_handshake(&d, rest));
	state->done = phase[0] == PHASE_OVER && phase[1] == PHASE_OVER;
}
