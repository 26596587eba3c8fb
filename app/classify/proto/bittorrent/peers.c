// SPDX-License-Identifier: BSD-3-Clause
// Reads the addresses of peers from messages of the DHT, of trackers and of peers.
#include "classify/proto/bittorrent/peers.h"
#include <netinet/in.h>
#include "pipeline/vocab/bencode.h"
#include "classify/text.h"
#include "pipeline/vocab/address.h"

// One message, and who says it.
struct speaker {
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
	unsigned half;
	unsigned reported;
	enum learned_from from;
};

static void report(
	struct speaker *speaker, const uint8_t *address, bool v4, uint16_t port, uint8_t l4)
{
	struct learned_endpoint endpoint = {
		.port = port,
		.l4_proto = l4,
		.from = (uint8_t)speaker->from,
		.half = (uint8_t)speaker->half,
	};

	if (!port || speaker->reported == PEERS_PER_MESSAGE || !speaker->sink->endpoint)
		return;
	if (v4) {
		memset(endpoint.address + 10, 0xff, 2);
		memcpy(endpoint.address + 12, address, 4);
	} else {
		memcpy(endpoint.address, address, 16);
	}
	speaker->reported++;
	speaker->sink->endpoint(speaker->sink->ctx, &endpoint);
}

static void report_end(struct speaker *speaker, unsigned half, int64_t port, uint8_t l4)
{
	if (port > 0 && port <= UINT16_MAX)
		report(speaker, speaker->ends->address[half & 1], false, (uint16_t)port, l4);
}

// Addresses and ports in network order, one after the other, each behind `skip` octets.
static void report_compact(struct speaker *speaker, const uint8_t *at, uint32_t length,
	uint32_t skip, bool v4, uint8_t l4)
{
	uint32_t address = v4 ? 4 : 16, step = skip + address + 2;

	for (; length >= step; at += step, length -= step)
		report(speaker, at + skip, v4, octets_be16(at + skip + address), l4);
}

// ---- DHT (BEP 5; BEP 32 for IPv6) ----

static void report_nodes(struct speaker *speaker, struct bencode reply, const char *key, bool v4)
{
	struct bencode value;
	const uint8_t *text;
	uint32_t length;

	if (bencode_find(reply, key, &value) && bencode_string(&value, &text, &length) &&
		length % (v4 ? 26 : 38) == 0)
		report_compact(speaker, text, length, 20, v4, IPPROTO_UDP);
}

// Peers of a torrent, each a string: they listen on TCP, and for uTP on the same port of UDP.
static void report_values(struct speaker *speaker, struct bencode reply)
{
	struct bencode value;
	const uint8_t *text;
	uint32_t length;

	if (!bencode_find(reply, "values", &value) || *value.at++ != 'l')
		return;
	while (bencode_string(&value, &text, &length))
		if (length == 6 || length == 18)
			report_compact(speaker, text, length, 0, length == 6, 0);
}

enum asked_kind { // asked.h
	ASKED_DHT,
	ASKED_DHT_TOKEN, // that a node gave, and wants to see when a torrent is announced
	ASKED_CONNECT,
	ASKED_CONNECTION, // id that the tracker gave
	ASKED_ANNOUNCE,
};

// Whoever announces a torrent listens: on the port that it names, or that it speaks from. That it
// is who it says is proven by the token, which the other end gave it (BEP 5).
static void report_announcer(struct speaker *speaker, struct bencode query)
{
	struct bencode value;
	int64_t implied = 0, port = 0;
	const uint8_t *token;
	uint32_t length;

	if (!bencode_find(query, "token", &value) || !bencode_string(&value, &token, &length) ||
		!asked_answers(speaker->sink->asked, speaker->half, ASKED_DHT_TOKEN, token, length))
		return;
	if (bencode_find(query, "implied_port", &value))
		bencode_number(&value, &implied);
	if (implied)
		port = speaker->ends->port[speaker->half];
	else if (!bencode_find(query, "port", &value) || !bencode_number(&value, &port))
		return;
	report_end(speaker, speaker->half, port, 0);
}

static void report_reply(struct speaker *speaker, struct bencode reply)
{
	struct bencode value;
	const uint8_t *token;
	uint32_t length;

	// a node that answers can be asked
	report_end(speaker, speaker->half, speaker->ends->port[speaker->half], IPPROTO_UDP);
	report_values(speaker, reply);
	report_nodes(speaker, reply, "nodes", true);
	report_nodes(speaker, reply, "nodes6", false);
	if (bencode_find(reply, "token", &value) && bencode_string(&value, &token, &length))
		asked_note(speaker->sink->asked, speaker->half, ASKED_DHT_TOKEN, token, length);
}

static bool dht(struct speaker *speaker, const uint8_t *bytes, uint32_t length)
{
	struct asked *asked = speaker->sink->asked;
	const uint8_t *transaction = NULL;
	uint32_t t_length = 0;
	const struct bencode message = {bytes, bytes + length};
	struct bencode value;
	const uint8_t *text;
	uint32_t n;

	speaker->from = LEARNED_DHT;
	if (!bencode_find(message, "y", &value) || !bencode_string(&value, &text, &n) || !n)
		return false;
	uint8_t type = *text;

	if (bencode_find(message, "t", &value) && !bencode_string(&value, &transaction, &t_length))
		return true;
	if (type == 'q')
		asked_note(asked, speaker->half, ASKED_DHT, transaction, t_length);
	if (type == 'r' && bencode_find(message, "r", &value) && t_length &&
		asked_answers(asked, speaker->half, ASKED_DHT, transaction, t_length))
		report_reply(speaker, value);
	else if (type == 'q' && bencode_find(message, "q", &value) &&
		 bencode_string(&value, &text, &n) && n == 13 &&
		 !memcmp(text, "announce_peer", 13) && bencode_find(message, "a", &value))
		report_announcer(speaker, value);
	return true;
}

// ---- UDP tracker (BEP 15) ----

enum {
	ACTION_CONNECT = 0,
	ACTION_ANNOUNCE = 1,
};

// Behind the connection's id: connect, announce, scrape. Who announces with an id that the tracker
// gave it is who it says.
static bool udp_tracker_request(struct speaker *speaker, const uint8_t *at, uint32_t length)
{
	struct asked *asked = speaker->sink->asked;

	if (length < 16 || octets_be32(at + 8) > 2)
		return false;
	if (octets_be32(at + 8) == ACTION_CONNECT)
		asked_note(asked, HALF_C2S, ASKED_CONNECT, at + 12, 4);
	if (octets_be32(at + 8) != ACTION_ANNOUNCE || length < 98)
		return true;
	asked_note(asked, HALF_C2S, ASKED_ANNOUNCE, at + 12, 4);
	if (asked && asked_has(asked, asked_token(HALF_S2C, ASKED_CONNECTION, at, 8)))
		report_end(speaker, HALF_C2S, octets_be16(at + 96), 0);
	return true;
}

static bool udp_tracker(struct speaker *speaker, const uint8_t *at, uint32_t length)
{
	struct asked *asked = speaker->sink->asked;
	bool v4 = address_is_mapped(speaker->ends->address[HALF_C2S]);
	uint32_t step = v4 ? 6 : 18;

	speaker->from = LEARNED_TRACKER;
	if (speaker->half == HALF_C2S)
		return udp_tracker_request(speaker, at, length);
	if (length < 8 || octets_be32(at) > 3)
		return false;
	if (length >= 16 && octets_be32(at) == ACTION_CONNECT &&
		asked_answers(asked, HALF_S2C, ASKED_CONNECT, at + 4, 4))
		asked_note(asked, HALF_S2C, ASKED_CONNECTION, at + 8, 8);
	if (length >= 20 && octets_be32(at) == ACTION_ANNOUNCE && (length - 20) % step == 0 &&
		asked_answers(asked, HALF_S2C, ASKED_ANNOUNCE, at + 4, 4))
		report_compact(speaker, at + 20, length - 20, 0, v4, 0);
	return true;
}

static int64_t decimal_behind(struct text text, const char *word)
{
	const uint8_t *at = memmem(text.at, text.length, word, strlen(word));
	const uint8_t *end = text.at + text.length;
	int64_t number = 0;

	for (at = at ? at + strlen(word) : end; at < end && octets_digit(*at); at++) {
		number = number * 10 + (*at - '0');
		if (number > UINT16_MAX)
			return 0;
	}
	return number;
}

bool bittorrent_peers_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct speaker speaker = {.ends = ends, .sink = sink, .half = span->half & 1};
	const struct text datagram = span_text(span);

	if (!datagram.length)
		return true;
	if (datagram.at[0] == 'd')
		return dht(&speaker, datagram.at, datagram.length);
	// of local service discovery (BEP 14) nothing is learned: it is not answered
	if (octets_begin(datagram.at, datagram.length, "BT-SEARCH"))
		return true;
	// else it is uTP, which need not be followed
	return udp_tracker(&speaker, datagram.at, datagram.length);
}

// ---- HTTP tracker (BEP 3, 7, 23) ----

enum wire { // struct app_memo.word[WORD_WIRE]
	WIRE_UNKNOWN,
	WIRE_PEER,
	WIRE_TRACKER,
};

enum {                   // words of the memo, the first two by half
	WORD_SKIP = 0,   // bytes of the message at hand that nobody wants
	WORD_BROKEN = 2, // cannot be followed any more
	WORD_WIRE = 4,
	WORD_ASKED = 5, // the client has spoken first
};

// An address as text, in a list of dictionaries: IPv4 alone, as trackers that do so are old.
static bool dotted(const uint8_t *text, uint32_t length, uint8_t address[4])
{
	unsigned n = 0, value = 0, digits = 0;

	for (uint32_t i = 0; i <= length; i++) {
		if (i < length && octets_digit(text[i])) {
			value = value * 10 + (unsigned)(text[i] - '0');
			if (++digits > 3 || value > 255)
				return false;
			continue;
		}
		if (!digits || n == 4 || (i < length && text[i] != '.'))
			return false;
		address[n++] = (uint8_t)value;
		value = digits = 0;
	}
	return n == 4;
}

static void report_dictionaries(struct speaker *speaker, struct bencode list)
{
	list.at++;
	while (list.at < list.end && *list.at == 'd') {
		struct bencode value;
		const uint8_t *text;
		uint32_t length;
		uint8_t address[4];
		int64_t port;

		if (bencode_find(list, "ip", &value) && bencode_string(&value, &text, &length) &&
			dotted(text, length, address) && bencode_find(list, "port", &value) &&
			bencode_number(&value, &port) && port > 0 && port <= UINT16_MAX)
			report(speaker, address, true, (uint16_t)port, 0);
		if (!bencode_skip(&list))
			return;
	}
}

// A string of which the end may be missing: what is here.
static uint32_t string_so_far(struct bencode in, const uint8_t **text)
{
	uint32_t n = 0, left;

	while (in.at < in.end && octets_digit(*in.at) && n <= UINT16_MAX)
		n = n * 10 + (*in.at++ - '0');
	if (in.at == in.end || *in.at != ':')
		return 0;
	*text = ++in.at;
	left = (uint32_t)(in.end - in.at);
	return n < left ? n : left;
}

static void report_peers_of(struct speaker *speaker, struct bencode body)
{
	struct bencode value;
	const uint8_t *text = NULL;

	speaker->from = LEARNED_TRACKER;
	if (bencode_find(body, "peers", &value)) {
		uint32_t length = string_so_far(value, &text);

		if (*value.at == 'l')
			report_dictionaries(speaker, value);
		else
			report_compact(speaker, text, length, 0, true, 0);
	}
	if (bencode_find(body, "peers6", &value)) {
		uint32_t length = string_so_far(value, &text);

		report_compact(speaker, text, length, 0, false, 0);
	}
}

// The body, behind the header and, if it comes in chunks, the first chunk's size.
static struct text body_of(struct text response)
{
	static const char end[] = "\r\n\r\n";
	const uint8_t *at = memmem(response.at, response.length, end, 4);

	if (!at)
		return (struct text){response.at, 0};
	struct text body = text_from(response, (uint32_t)(at + 4 - response.at));

	if (!memmem(response.at, (size_t)(at - response.at), "chunked", 7))
		return body;
	const uint8_t *line = memchr(body.at, '\n', body.length);

	return text_from(body, line ? (uint32_t)(line + 1 - body.at) : body.length);
}

static void tracker_request(struct speaker *speaker, const uint8_t *bytes, uint32_t length)
{
	const uint8_t *end = memchr(bytes, '\n', length);
	const struct text line = {bytes, end ? (uint32_t)(end - bytes) : length};

	speaker->from = LEARNED_TRACKER;
	int64_t port = decimal_behind(line, "&port=");

	report_end(speaker, HALF_C2S, port ? port : decimal_behind(line, "?port="), 0);
}

static void tracker_answer(
	struct decoder_state *state, struct speaker *speaker, const struct span *span)
{
	uint32_t kept = state->line_length[HALF_S2C], room = APP_LINE_BYTES - kept;
	const struct text bytes = span_text(span);
	uint32_t here = bytes.length < room ? bytes.length : room;
	uint8_t *line = state->line[HALF_S2C];

	memcpy(line + kept, bytes.at, here);
	kept += here;
	state->line_length[HALF_S2C] = (uint16_t)kept;
	const struct text body = body_of((struct text){line, kept});
	struct bencode in = {body.at, body.at + body.length};
	struct bencode whole = in;

	if (!bencode_skip(&whole) && kept < APP_LINE_BYTES && !(span->flags & SPAN_FIN))
		return;
	report_peers_of(speaker, in);
	state->done = true;
}

// ---- peer wire (BEP 3), extensions (BEP 10), peer exchange (BEP 11) ----

#define HANDSHAKE_BYTES 68
#define MESSAGE_MAX     (2u << 20) // a longer one is none: the framing is lost
#define ID_EXTENDED     20

// `bytes`: behind the length, the id, and the extension's id.
static void extended(struct speaker *speaker, uint8_t id, const uint8_t *bytes, uint32_t length)
{
	const struct bencode message = {bytes, bytes + length};
	struct bencode value;
	const uint8_t *text;
	uint32_t n;
	int64_t port;

	speaker->from = LEARNED_PEER;
	if (!id) { // the extensions' handshake
		if (bencode_find(message, "p", &value) && bencode_number(&value, &port))
			report_end(speaker, speaker->half, port, 0);
		return;
	}
	// Each peer numbers its extensions as it likes; that of peer exchange is known by its form.
	speaker->from = LEARNED_PEX;
	if (bencode_find(message, "added", &value) && bencode_string(&value, &text, &n) &&
		n % 6 == 0)
		report_compact(speaker, text, n, 0, true, 0);
	if (bencode_find(message, "added6", &value) && bencode_string(&value, &text, &n) &&
		n % 18 == 0)
		report_compact(speaker, text, n, 0, false, 0);
}

// A piece of a message that may be one of the wanted; the number of bytes that were used.
static uint32_t gather(
	struct decoder_state *state, struct speaker *speaker, const uint8_t *bytes, uint32_t length)
{
	unsigned half = speaker->half;
	uint32_t kept = state->line_length[half], used = 0;
	uint8_t *line = state->line[half];

	while (used < length && kept < 5) {
		line[kept++] = bytes[used++];
		if (kept == 4 && !octets_be32(line))
			kept = 0; // keep-alive
	}
	state->line_length[half] = (uint16_t)kept;
	if (kept < 5)
		return used;
	uint32_t whole = octets_be32(line) + 4;

	if (whole > MESSAGE_MAX) {
		state->memo.word[WORD_BROKEN + half] = true;
		return length;
	}
	if (line[4] != ID_EXTENDED || whole > APP_LINE_BYTES || whole < 6) {
		state->memo.word[WORD_SKIP + half] = whole - kept;
		state->line_length[half] = 0;
		return used;
	}
	uint32_t wanted = whole - kept, left = length - used;
	uint32_t here = left < wanted ? left : wanted;

	memcpy(line + kept, bytes + used, here);
	state->line_length[half] = (uint16_t)(kept + here);
	if (here == wanted) {
		extended(speaker, line[5], line + 6, whole - 6);
		state->line_length[half] = 0;
	}
	return used + here;
}

static uint32_t skip(struct decoder_state *state, unsigned half, uint32_t length)
{
	uint32_t *left = &state->memo.word[WORD_SKIP + half];
	uint32_t here = *left < length ? *left : length;

	*left -= here;
	return here;
}

static void peer_wire(struct decoder_state *state, struct speaker *speaker, const struct span *span)
{
	unsigned half = speaker->half;
	const struct text bytes = span_text(span);
	uint32_t at = 0;

	if (!span->offset64 && half == HALF_S2C && bytes.length && bytes.at[0] == 0x13)
		report_end(speaker, HALF_S2C, speaker->ends->port[HALF_S2C], 0);
	if (span->offset64 < HANDSHAKE_BYTES) {
		at = HANDSHAKE_BYTES - (uint32_t)span->offset64;
		if (at > bytes.length)
			at = bytes.length;
	}
	while (at < bytes.length && !state->memo.word[WORD_BROKEN + half]) {
		at += skip(state, half, bytes.length - at);
		if (at < bytes.length)
			at += gather(state, speaker, bytes.at + at, bytes.length - at);
	}
}

static void gap(struct decoder_state *state, const struct span *span)
{
	unsigned half = span->half & 1;

	// inside of what nobody wants it does no harm
	if (state->line_length[half] || span->extent > state->memo.word[WORD_SKIP + half])
		state->memo.word[WORD_BROKEN + half] = true;
	else
		state->memo.word[WORD_SKIP + half] -= span->extent;
}

void bittorrent_peers_stream(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	unsigned half = span->half & 1;
	struct speaker speaker = {.ends = ends, .sink = sink, .half = half, .from = LEARNED_PEER};
	uint32_t *word = state->memo.word;
	const struct text bytes = span_text(span);

	if (span->flags & SPAN_MIDSTREAM || span->offset64 > PEERS_STREAM_BYTES64)
		word[WORD_BROKEN + half] = true;
	if (span_is_gap(span))
		gap(state, span);
	state->done = word[WORD_BROKEN] && word[WORD_BROKEN + 1];
	if (!bytes.length || word[WORD_BROKEN + half])
		return;
	word[WORD_ASKED] |= half == HALF_C2S;
	if (word[WORD_WIRE] == WIRE_UNKNOWN) {
		bool asks = half == HALF_C2S && !span->offset64 &&
			    octets_begin(bytes.at, bytes.length, "GET ");
		bool answers = half == HALF_S2C && !span->offset64 && bytes.at[0] == 'H';

		if (asks)
			tracker_request(&speaker, bytes.at, bytes.length);
		// a request that came in pieces is known by its answer
		if (asks || answers)
			word[WORD_WIRE] = WIRE_TRACKER;
		else if (half == HALF_S2C || bytes.at[0] == 0x13)
			word[WORD_WIRE] = WIRE_PEER;
	}
	if (word[WORD_WIRE] == WIRE_PEER)
		peer_wire(state, &speaker, span);
	else if (word[WORD_WIRE] == WIRE_TRACKER && half == HALF_S2C && word[WORD_ASKED])
		tracker_answer(state, &speaker, span);
	state->done |= word[WORD_BROKEN] && word[WORD_BROKEN + 1];
}
