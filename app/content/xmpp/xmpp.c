// SPDX-License-Identifier: BSD-3-Clause
// The decoder of XMPP streams (RFC 6120, 6121): takes each half apart into stanzas, over gaps, and
// sees where a stream is no XML any more.
//
// A half is read as a row of top-level elements: a stream's opening and its end count as nothing,
// so that streams which begin anew (after SASL), and such as are joined in the middle, need no
// more.
#include <string.h>
#include "content/decoders.h"
#include "content/http/text.h"
#include "content/memory.h"
#include "content/xmpp/stream.h"

#define TLS_HANDSHAKE 0x16 // types of records (RFC 8446 section 5.1) are 20 to 23
#define TLS_FIRST     0x14
#define TLS_LAST      0x17

enum step {
	STEP_ON,
	STEP_MORE, // the budget ended
	STEP_NO_MEMORY,
	STEP_OVER,
};

static const struct xml_wanted wanted[] = {
	{"from", CONTENT_PARTY_BYTES, XMPP_ATTRIBUTE_FROM, false},
	{"to", CONTENT_PARTY_BYTES, XMPP_ATTRIBUTE_TO, false},
	{"xmlns", 64, XMPP_ATTRIBUTE_XMLNS, false},
	{"id", 64, XMPP_ATTRIBUTE_ID, false},
	{"sid", 64, XMPP_ATTRIBUTE_SID, false},
	{"name", CONTENT_NAME_BYTES, XMPP_ATTRIBUTE_NAME, true},
	{"filename", 256, XMPP_ATTRIBUTE_FILENAME, true},
	{"size", 20, XMPP_ATTRIBUTE_SIZE, false},
	{"action", 20, XMPP_ATTRIBUTE_ACTION, false},
	{"senders", 12, XMPP_ATTRIBUTE_SENDERS, false},
	{"host", 64, XMPP_ATTRIBUTE_HOST, false},
	{"port", 8, XMPP_ATTRIBUTE_PORT, false},
	{"mechanism", 8, XMPP_ATTRIBUTE_MECHANISM, false},
	{"encoding", 8, XMPP_ATTRIBUTE_ENCODING, false},
	{"type", 8, XMPP_ATTRIBUTE_TYPE, false},
	{"seq", 8, XMPP_ATTRIBUTE_SEQ, false},
	{"block-size", 8, XMPP_ATTRIBUTE_BLOCK_SIZE, false},
	{"offset", 20, XMPP_ATTRIBUTE_OFFSET, false},
	{"length", 20, XMPP_ATTRIBUTE_LENGTH, false},
	{0},
};
static_assert(sizeof(wanted) / sizeof(wanted[0]) <= XML_WANTED_MAX, "as the reader has room for");
static_assert(2 * CONTENT_PARTY_BYTES + 64 * 4 + CONTENT_NAME_BYTES + 256 + 20 * 4 + 12 + 8 * 6 <=
		      XML_VALUE_ROOM,
	"all values have room");

void xmpp_note(const struct xmpp_turn *to, enum content_note note, uint64_t at64)
{
	const struct content_sink *sink = to->turn->sink;
	uint64_t bit = CONTENT_NOTE_BIT(note);

	if (!(to->half->noted & bit))
		sink->note(sink->ctx, note, to->side, at64);
	to->half->noted |= bit;
}

void xmpp_party_set(const struct xmpp_turn *to, struct xmpp_party *party, struct content_text jid)
{
	uint32_t length = jid.length < sizeof(party->bytes) ? jid.length : sizeof(party->bytes);

	if (jid.length >= sizeof(party->bytes) && http_until(jid, '/') >= sizeof(party->bytes))
		xmpp_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->at64);
	party->length = (uint8_t)length;
	if (length)
		memcpy(party->bytes, jid.bytes, length);
}

static bool take_work(const struct xmpp_turn *to)
{
	struct xmpp_work *work = content_take(to->turn->memory, sizeof(*work));

	if (!work)
		return false;
	xml_begin(&work->reader, wanted);
	work->chat.length = 0;
	work->chat.level = 0;
	work->chat.told = work->chat.separated = false;
	work->chat.in_pieces = work->chat.decoded = false;
	work->messages = 0;
	work->in_file = false;
	work->transfer = NULL;
	to->half->work = work;
	return true;
}

static void give_work(const struct xmpp_turn *to)
{
	struct xmpp_half *half = to->half;

	if (!half->work)
		return;
	xmpp_chat_finish(to);
	content_give(to->turn->memory, half->work);
	half->work = NULL;
	half->pending = false;
	half->n_held = 0;
}

static struct xmpp_turn turn_of(struct xmpp_state *state, unsigned side, struct content_turn *turn)
{
	return (struct xmpp_turn){&state->talk, &state->talk.halves[side], turn, (uint8_t)side};
}

static void end_all(struct xmpp_state *state, struct content_turn *turn)
{
	const struct xmpp_turn client = turn_of(state, HALF_C2S, turn);
	const struct xmpp_turn server = turn_of(state, HALF_S2C, turn);

	if (state->mode == XMPP_BYTESTREAM) {
		bytestream_over(&state->bytestream, turn);
	} else {
		give_work(&client);
		give_work(&server);
		xmpp_transfers_over(&client);
	}
	state->over = true;
}

// Nothing is known of what comes up to the next stanza.
static void lose(const struct xmpp_turn *to)
{
	xmpp_inband_lose(to);
	give_work(to);
	to->half->lost = to->half->was_lost = true;
	to->half->n_seen = 0;
	to->half->has_first = false;
}

// Bytes that are no XML, outside of a stanza or where one is looked for.
static enum step take_binary(const struct xmpp_turn *to, uint8_t byte)
{
	bool tls = byte >= TLS_FIRST && byte <= TLS_LAST;

	if (!to->state->opaque)
		xmpp_note(to, tls ? CONTENT_NOTE_OPAQUE_TLS : CONTENT_NOTE_OPAQUE_UPGRADE,
			to->half->at64);
	return STEP_OVER;
}

static void take(const struct xmpp_turn *to, uint32_t length)
{
	to->turn->taken += length;
	to->half->at64 += length;
}

// A byte order mark, or '<' in UTF-16: some receivers would read on (RFC 6120 section 11.6 forbids
// it).
static bool is_other_charset(uint8_t first, uint8_t second)
{
	return (first == 0xef && second == 0xbb) || (first == 0xfe && second == 0xff) ||
	       (first == 0xff && second == 0xfe) || (!first && second == '<');
}

// A half that begins with what is no XML is of another protocol: what a messenger's bytestream
// carries, or what only uses the port.
static enum step take_odd(const struct xmpp_turn *to, uint8_t byte)
{
	struct xmpp_half *half = to->half;

	if (half->has_first) {
		half->has_first = false;
		if (!is_other_charset(half->first, byte))
			return STEP_OVER;
		xmpp_note(to, CONTENT_NOTE_BAD_XML, half->at64);
		lose(to);
		return STEP_ON;
	}
	if (half->at64 == 0 && byte != TLS_HANDSHAKE && !to->state->opaque) {
		half->first = byte;
		half->has_first = true;
		take(to, 1);
		return STEP_ON;
	}
	if (to->state->opaque || byte == TLS_HANDSHAKE)
		return take_binary(to, byte);
	xmpp_note(to, CONTENT_NOTE_BAD_XML, half->at64);
	lose(to);
	return STEP_ON;
}

// Between stanzas.
static enum step take_between(const struct xmpp_turn *to, const uint8_t *bytes, uint32_t length)
{
	uint32_t blank = 0;

	if (to->half->has_first)
		return take_odd(to, bytes[0]);
	while (blank < length && xml_is_space(bytes[blank]))
		blank++;
	take(to, blank);
	if (blank == length)
		return STEP_ON;
	if (bytes[blank] != '<')
		return take_odd(to, bytes[blank]);
	return take_work(to) ? STEP_ON : STEP_NO_MEMORY;
}

// What a stanza, or a stream, may begin with.
static bool is_beginning(const struct xmpp_half *half)
{
	static const char *const words[] = {"message", "iq", "presence", "stream", "?xml",
		"proceed", "compressed", "auth", "success"};
	struct content_text seen = {half->seen + 1, half->n_seen - 1u};
	uint32_t prefix = http_until(seen, ':');

	if (prefix < seen.length)
		seen = http_text_from(seen, prefix + 1);
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (seen.length == strlen(words[i]) && !memcmp(seen.bytes, words[i], seen.length))
			return true;
	return false;
}

// The name of a tag has ended.
static enum step take_seen(const struct xmpp_turn *to)
{
	struct xmpp_half *half = to->half;
	struct xml_token token;

	if (!is_beginning(half)) {
		half->n_seen = 0;
		return STEP_ON;
	}
	if (!take_work(to))
		return STEP_NO_MEMORY;
	xml_read(&half->work->reader, half->seen, half->n_seen, &token);
	half->n_seen = 0;
	half->lost = false;
	return STEP_ON;
}

static enum step search_one(const struct xmpp_turn *to, uint8_t byte)
{
	struct xmpp_half *half = to->half;

	if (xml_is_control(byte))
		return take_binary(to, byte);
	if (!half->n_seen && byte != '<') {
		take(to, 1);
		return STEP_ON;
	}
	if (half->n_seen && !xml_is_name_byte(byte) && !(byte == '?' && half->n_seen == 1))
		return take_seen(to);
	if (half->n_seen == sizeof(half->seen))
		half->n_seen = 0;
	else
		half->seen[half->n_seen++] = byte;
	take(to, 1);
	return STEP_ON;
}

// For the next stanza.
static enum step search(const struct xmpp_turn *to, const uint8_t *bytes, uint32_t length)
{
	enum step step = STEP_ON;
	uint32_t from = to->turn->taken;

	while (step == STEP_ON && to->half->lost && to->turn->taken - from < length)
		step = search_one(to, bytes[to->turn->taken - from]);
	return step;
}

// A stream's opening is no element that anything is inside of.
static enum step take_start(const struct xmpp_turn *to)
{
	struct xml_reader *reader = &to->half->work->reader;
	struct content_text name = xml_name_of(reader);

	if (reader->depth == 1 && name.length == 6 && !memcmp(name.bytes, "stream", 6)) {
		xmpp_identity_stream(to);
		reader->depth = 0;
		return STEP_ON;
	}
	to->half->pending = !xmpp_offers_room(to);
	if (to->half->pending)
		return STEP_NO_MEMORY;
	xmpp_start(to);
	if (!reader->empty)
		return STEP_ON;
	reader->depth--;
	xmpp_end(to);
	return STEP_ON;
}

static void take_stray(const struct xmpp_turn *to)
{
	struct content_text name = xml_name_of(&to->half->work->reader);
	bool stream = name.length == 6 && !memcmp(name.bytes, "stream", 6);

	if (stream || to->half->was_lost)
		return;
	xmpp_note(to, CONTENT_NOTE_BAD_XML, to->half->at64);
	lose(to);
}

static void take_declaration(const struct xmpp_turn *to)
{
	struct content_text encoding =
		xml_value_of(&to->half->work->reader, XMPP_ATTRIBUTE_ENCODING);

	if (encoding.length && !http_is(encoding, "utf-8"))
		xmpp_note(to, CONTENT_NOTE_BAD_XML, to->half->at64);
}

// What came of an event may have ended the stanza.
static enum step settle(const struct xmpp_turn *to, enum step step)
{
	if (step == STEP_ON && to->half->work && !to->half->work->reader.depth)
		give_work(to);
	return step;
}

static enum step take_event(
	const struct xmpp_turn *to, enum xml_event event, const struct xml_token *token)
{
	switch (event) {
	case XML_MORE: return STEP_ON;
	case XML_TEXT: xmpp_text(to, token); return STEP_ON;
	case XML_START: return settle(to, take_start(to));
	case XML_END: xmpp_end(to); break;
	case XML_STRAY: take_stray(to); break;
	case XML_DECLARED: take_declaration(to); break;
	case XML_LIMIT: xmpp_note(to, CONTENT_NOTE_HEAD_TOO_LONG, to->half->at64); return STEP_ON;
	case XML_BAD:
		xmpp_note(to, CONTENT_NOTE_BAD_XML, to->half->at64);
		lose(to);
		return STEP_ON;
	}
	return settle(to, STEP_ON);
}

static enum step read_on(const struct xmpp_turn *to, const uint8_t *bytes, uint32_t length)
{
	uint32_t may = xmpp_inband_may_read(to, length);
	struct xml_token token;
	enum xml_event event;

	if (!may)
		return STEP_MORE;
	event = xml_read(&to->half->work->reader, bytes, may, &token);
	take(to, token.used);
	return take_event(to, event, &token);
}

// What was read before, and not done for lack of room.
static enum step take_rest(const struct xmpp_turn *to)
{
	if (!xmpp_inband_flush(to))
		return STEP_MORE;
	return to->half->pending ? settle(to, take_start(to)) : STEP_ON;
}

static enum step take_some(const struct xmpp_turn *to, const uint8_t *bytes, uint32_t length)
{
	if (to->half->lost)
		return search(to, bytes, length);
	return to->half->work ? read_on(to, bytes, length) : take_between(to, bytes, length);
}

static enum step take_span(const struct xmpp_turn *to, const struct span *span)
{
	struct xmpp_half *half = to->half;
	struct content_turn *turn = to->turn;
	uint32_t length = span_length(span);
	enum step step = take_rest(to);

	if (step != STEP_ON)
		return step;
	if (!half->started) {
		half->at64 = span->offset64;
		if (half->at64 || span->flags & SPAN_MIDSTREAM)
			lose(to);
	}
	half->started = true;
	// what the producer left out without a word is a gap, too
	if (span->offset64 + turn->taken > half->at64) {
		lose(to);
		half->at64 = span->offset64 + turn->taken;
	}
	while (turn->taken < length && step == STEP_ON) {
		step = take_some(to, span_bytes(span) + turn->taken, length - turn->taken);
		if (step == STEP_ON)
			step = take_rest(to);
	}
	xmpp_chat_flush(to);
	if (!length && turn->taken < span->extent) {
		lose(to);
		take(to, span->extent - turn->taken);
	}
	return step;
}

static enum content_fed feed_talk(
	struct xmpp_state *state, const struct span *span, struct content_turn *turn)
{
	const struct xmpp_turn to = turn_of(state, span->half & 1, turn);

	switch (take_span(&to, span)) {
	case STEP_ON: return CONTENT_FED;
	case STEP_MORE: return CONTENT_MORE;
	case STEP_NO_MEMORY: return CONTENT_NO_MEMORY;
	default: end_all(state, turn); break;
	}
	turn->taken = span->extent;
	return CONTENT_OVER;
}

static enum content_fed feed(void *of, const struct span *span, struct content_turn *turn)
{
	struct xmpp_state *state = of;
	enum content_fed fed;

	if (state->over) {
		turn->taken = span->extent;
		return CONTENT_OVER;
	}
	if (state->mode == XMPP_NEW && !span->extent)
		return CONTENT_FED; // an end, before it is known what this is
	if (state->mode == XMPP_NEW)
		state->mode = bytestream_begins(span, turn) ? XMPP_BYTESTREAM : XMPP_TALK;
	if (state->mode != XMPP_BYTESTREAM)
		return feed_talk(state, span, turn);
	fed = bytestream_feed(&state->bytestream, span, turn);
	state->over = fed == CONTENT_OVER;
	return fed;
}

static void over(void *of, struct content_turn *turn)
{
	struct xmpp_state *state = of;

	if (!state->over)
		end_all(state, turn);
}

const struct content_decoder content_xmpp = {
	.app = "xmpp",
	.rides_http = true, // BOSH (XEP-0124)
	.state_bytes = sizeof(struct xmpp_state),
	.finds = CONTENT_FINDS_FILES | CONTENT_FINDS_CHAT | CONTENT_FINDS_OPAQUE,
	.feed = feed,
	.over = over,
};
