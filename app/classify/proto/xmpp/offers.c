// SPDX-License-Identifier: BSD-3-Clause
// Reads offers of file transfers from the stanzas of an XMPP stream.
#include "classify/proto/xmpp/offers.h"
#include "classify/proto/xmpp/xml.h"
#include "pipeline/vocab/media_offer.h"
#include "pipeline/vocab/xmpp_offer.h"

enum {                  // in the memo
	MEMO_OFFER,     // hash of the session whose file the label is of; 0: none
	MEMO_SESSION,   // by half, two words: hash of the session at hand
	MEMO_FIELD = 3, // by half, 8 bits: the text that comes is of enum field
	MEMO_FILE,      // by half, 8 bits: inside an element `file`
	MEMO_QUOTE,     // by half, 8 bits: the quote inside which a tag goes on
};

enum field {
	FIELD_NONE,
	FIELD_NAME,
	FIELD_SIZE,
};

struct decoding {
	struct decoder_state *state;
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
	unsigned half;
};

static uint8_t by_half(const struct decoding *d, unsigned memo)
{
	return (uint8_t)(d->state->memo.word[memo] >> 8 * d->half);
}

static void set_by_half(const struct decoding *d, unsigned memo, uint8_t value)
{
	uint32_t *word = &d->state->memo.word[memo];

	*word = (*word & ~(0xffu << 8 * d->half)) | (uint32_t)value << 8 * d->half;
}

static uint32_t *session_of(const struct decoding *d)
{
	return &d->state->memo.word[MEMO_SESSION + d->half];
}

static bool is_offered(const struct decoding *d)
{
	uint32_t offer = d->state->memo.word[MEMO_OFFER];

	return offer && offer == *session_of(d);
}

static uint32_t session_in(struct text id)
{
	return xmpp_session_of(id.at, id.length);
}

static void set_file(const struct decoding *d, struct text name)
{
	struct transfer_label *label = &d->state->label;

	transfer_text_set(label->file, sizeof(label->file), name.at, name.length);
}

static void set_size(const struct decoding *d, struct text size)
{
	uint64_t number;

	d->state->label.size = text_number(size, INT64_MAX, &number) ? number : 0;
}

// A session begins to offer: what is said of a file from here on is of it.
static void offer(const struct decoding *d, struct text session)
{
	d->state->memo.word[MEMO_OFFER] = *session_of(d) = session_in(session);
	xmpp_label_clear_file(&d->state->label);
}

static void expect(const struct decoding *d, struct text tag)
{
	struct text host = xml_attribute_of(tag, "host");
	struct expectation expect = {.app = app_find("xmpp"), .label = d->state->label};
	uint64_t port;

	if (!text_number(xml_attribute_of(tag, "port"), UINT16_MAX, &port) ||
		!xmpp_expect(&expect, d->ends, d->half, host.at, host.length, port))
		return;
	if (d->half == HALF_C2S)
		memcpy(expect.label.user, d->state->own, sizeof(expect.label.user));
	if (!is_offered(d))
		xmpp_label_clear_file(&expect.label);
	d->sink->expect(d->sink->ctx, &expect);
}

// A candidate of ICE-UDP, or of raw UDP (XEP-0176, XEP-0177): media of a call, as Jingle has it.
static void expect_media(const struct decoding *d, struct text tag)
{
	struct text ip = xml_attribute_of(tag, "ip");
	struct expectation expect = {.app = app_find("rtp")};
	uint64_t port;

	if (!text_number(xml_attribute_of(tag, "port"), UINT16_MAX, &port) ||
		!xmpp_expect(&expect, d->ends, d->half, ip.at, ip.length, port))
		return;
	expect.l4_proto = IPPROTO_UDP;
	expect.as = EXPECTED_MEDIA;
	expect.ttl_s = MEDIA_OFFER_TTL_S;
	d->sink->expect(d->sink->ctx, &expect);
}

// XEP-0176 5.3 has "udp" in each; in raw UDP nothing is said.
static bool is_of_media(struct text tag)
{
	struct text protocol = xml_attribute_of(tag, "protocol");

	return xml_attribute_of(tag, "ip").length && (!protocol.length || text_is(protocol, "udp"));
}

static bool has_space(struct text tag, const char *space)
{
	return text_begins(xml_attribute_of(tag, "xmlns"), space);
}

// Whose offer it is: who sends the stanza, as the server says; the client's own name is whom the
// server writes to.
static void take_stanza(const struct decoding *d, struct text tag)
{
	struct decoder_state *state = d->state;
	struct text from = xml_attribute_of(tag, "from"), to = xml_attribute_of(tag, "to");

	set_by_half(d, MEMO_FILE, 0);
	*session_of(d) = 0;
	if (d->half == HALF_C2S)
		return;
	if (text_contains_byte(to, '@'))
		transfer_text_set(state->own, sizeof(state->own), to.at, to.length);
	transfer_text_set(state->label.user, sizeof(state->label.user), from.at, from.length);
}

static void take_file(const struct decoding *d, struct text tag)
{
	struct text name = xml_attribute_of(tag, "name");

	set_by_half(d, MEMO_FILE, 1);
	if (!is_offered(d) || !name.length)
		return;
	set_file(d, name);
	set_size(d, xml_attribute_of(tag, "size"));
}

static void take_tag(const struct decoding *d, struct text rest)
{
	struct text name = xml_take_name(&rest);

	if (text_is(name, "iq") || text_is(name, "message") || text_is(name, "presence")) {
		take_stanza(d, rest);
	} else if (text_is(name, "si")) {
		offer(d, xml_attribute_of(rest, "id"));
	} else if (text_is(name, "jingle")) {
		if (text_is(xml_attribute_of(rest, "action"), "session-initiate"))
			offer(d, xml_attribute_of(rest, "sid"));
		else
			*session_of(d) = session_in(xml_attribute_of(rest, "sid"));
	} else if (text_is(name, "query")) {
		if (has_space(rest, "http://jabber.org/protocol/bytestreams"))
			*session_of(d) = session_in(xml_attribute_of(rest, "sid"));
	} else if (text_is(name, "file")) {
		take_file(d, rest);
	} else if (text_is(name, "candidate") && is_of_media(rest)) {
		expect_media(d, rest);
	} else if (text_is(name, "streamhost") || text_is(name, "candidate")) {
		expect(d, rest);
	} else if (by_half(d, MEMO_FILE) && is_offered(d)) {
		set_by_half(d, MEMO_FIELD,
			text_is(name, "name")   ? FIELD_NAME
			: text_is(name, "size") ? FIELD_SIZE
						: FIELD_NONE);
	}
	if (d->half == HALF_S2C && (text_is(name, "proceed") || text_is(name, "compressed")))
		d->state->done = 1; // what follows is not ours to read
}

static void take_text(const struct decoding *d, struct text text)
{
	switch (by_half(d, MEMO_FIELD)) {
	case FIELD_NAME: set_file(d, text); break;
	case FIELD_SIZE: set_size(d, text); break;
	default: break;
	}
	set_by_half(d, MEMO_FIELD, FIELD_NONE);
}

// A tag without its brackets, or the text between two.
static void take(const struct decoding *d, struct text token)
{
	if (!token.length)
		return;
	if (token.at[0] != '<') {
		take_text(d, token);
		return;
	}
	set_by_half(d, MEMO_FIELD, FIELD_NONE);
	if (token.length > 1 && token.at[1] == '/') {
		if (text_begins(text_from(token, 2), "file"))
			set_by_half(d, MEMO_FILE, 0);
	} else {
		take_tag(d, text_from(token, 1));
	}
}

// How much of the bytes belongs to the token that they are in the midst of: a tag ends at a '>'
// that is in no quotes, text before the next '<'. *ended: the token is whole.
static uint32_t token_part(const struct decoding *d, bool is_tag, struct text rest, bool *ended)
{
	uint8_t quote = by_half(d, MEMO_QUOTE);
	uint32_t i = 0;

	*ended = false;
	for (; i < rest.length && !*ended; i++) {
		uint8_t c = rest.at[i];

		if (!is_tag)
			*ended = c == '<';
		else if (quote)
			quote = c == quote ? 0 : quote;
		else if (c == '\'' || c == '"')
			quote = c;
		else
			*ended = c == '>';
	}
	set_by_half(d, MEMO_QUOTE, *ended ? 0 : quote);
	return *ended ? i - 1 : i;
}

// Tokens that are longer than a line are left out, up to their end.
void xmpp_offers_decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	const struct decoding d = {state, ends, sink, span->half & 1u};
	uint8_t *kept = state->line[d.half], *skip = &state->line_skip[d.half];
	uint16_t *n = &state->line_length[d.half];
	struct text rest = span_text(span);

	if (span_is_gap(span)) {
		*skip = 1;
		set_by_half(&d, MEMO_QUOTE, 0);
		return;
	}
	while (rest.length && !state->done) {
		bool is_tag = (*n ? kept[0] : rest.at[0]) == '<', ended;
		uint32_t part = token_part(&d, is_tag, rest, &ended);
		struct text token = {rest.at, part};

		if (*n + part > APP_LINE_BYTES)
			*skip = 1;
		if (*skip && !*n)
			kept[(*n)++] = rest.at[0]; // what kind of token it is
		if (!*skip && (*n || !ended)) {
			memcpy(kept + *n, rest.at, part);
			*n = (uint16_t)(*n + part);
			token = (struct text){kept, *n};
		}
		rest = text_from(rest, ended && is_tag ? part + 1 : part);
		if (!ended)
			return;
		if (!*skip)
			take(&d, token);
		*n = 0;
		*skip = 0;
	}
}

enum verify xmpp_bytestream(const struct probe *probe)
{
	struct text client = text_of(probe, HALF_C2S), server = text_of(probe, HALF_S2C);

	if (client.length < 3 || client.at[0] != 5)
		return VERIFY_NO;
	struct text request = text_from(client, 2u + client.at[1]);

	if (request.length < XMPP_BYTESTREAM_REQUEST)
		return VERIFY_MORE;
	if (memcmp(request.at, "\5\1\0\3\x28", 5) != 0 || request.at[45] || request.at[46])
		return VERIFY_NO;
	for (uint32_t i = 5; i < 45; i++)
		if (octets_hex(request.at[i]) < 0)
			return VERIFY_NO;
	if (server.length < 2)
		return VERIFY_DPI;
	return server.at[0] == 5 && server.at[1] == 0 ? VERIFY_YES : VERIFY_NO;
}
