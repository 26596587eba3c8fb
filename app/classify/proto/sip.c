// SPDX-License-Identifier: BSD-3-Clause
// SIP (RFC 3261): a request line with a SIP address, or a status line: by signatures. What it sets
// up is said in SDP (RFC 8866): who sends a description hears media at the address of its line "c="
// and the port of its line "m=", reports at the next port (RFC 3550 11), or where "a=rtcp:" says
// (RFC 3605). Each line is read for itself as it comes: of a stream no body is looked for, and a
// line of a header never begins so. Of datagrams responses alone are believed, by the Call-ID of a
// request that the other end has sent.
#include <string.h>
#include <strings.h>
#include "classify/app_proto.h"
#include "classify/text.h"
#include "pipeline/vocab/media_offer.h"
#include "pipeline/vocab/xmpp_offer.h"

struct description { // as the lines so far have it; in a stream's memo
	uint8_t address[16];
	uint32_t port;  // of the media at hand; 0: none, or refused
	uint32_t known; // the address is
};
static_assert(sizeof(struct description) == sizeof(struct app_memo), "it is the memo of a stream");

#define SAID_MAX   16  // announcements that are believed of one packet
#define LINES_MAX  256 // and lines of it that are read
#define ASKED_CALL 1

struct reading {
	struct description *at;
	unsigned *said; // announcements of the packet at hand
	const struct flow_ends *ends;
	const struct decoder_sink *sink;
	unsigned half;
};

static void expect(const struct reading *r, uint64_t port)
{
	struct expectation expect;

	if (!r->sink->expect || !r->at->known || !port || *r->said >= SAID_MAX ||
		!media_expect(&expect, r->ends, r->half, r->at->address, port))
		return;
	*r->said += 1;
	expect.app = app_find("rtp");
	r->sink->expect(r->sink->ctx, &expect);
}

static void expect_both(const struct reading *r)
{
	if (!r->at->port)
		return;
	expect(r, r->at->port);
	expect(r, r->at->port + 1u);
}

// "IN IP4 192.0.2.1", behind it perhaps "/127".
static bool take_address(struct text rest, uint8_t address[static 16])
{
	struct text net = text_take_word(&rest), kind = text_take_word(&rest),
		    host = text_take_word(&rest);

	host = text_take(&host, '/');
	return text_is(net, "IN") && (text_is(kind, "IP4") || text_is(kind, "IP6")) &&
	       xmpp_host_address(host.at, host.length, address);
}

// RFC 8866 5.7: of all media, or, behind an "m=", of this one, which its own port was told before.
static void take_connection(const struct reading *r, struct text rest)
{
	r->at->known = take_address(rest, r->at->address);
	expect_both(r);
}

// RFC 8866 5.14: "audio 49170/2 RTP/AVP 0"
static void take_media(const struct reading *r, struct text rest)
{
	struct text ports, kind;
	uint64_t port;

	text_take_word(&rest);
	ports = text_take_word(&rest);
	kind = text_take_word(&rest);
	r->at->port = 0;
	if (!text_number(text_take(&ports, '/'), UINT16_MAX - 1, &port) ||
		!text_contains(kind, "RTP/"))
		return;
	r->at->port = (uint32_t)port;
	expect_both(r);
}

// "53020", behind it perhaps an address of its own.
static void take_reports(const struct reading *r, struct text rest)
{
	struct description other = *r->at;
	const struct reading there = {&other, r->said, r->ends, r->sink, r->half};
	struct text word = text_take_word(&rest);
	uint64_t port;

	if (!r->at->port || !text_number(word, UINT16_MAX, &port))
		return;
	if (rest.length)
		other.known = take_address(rest, other.address);
	expect(&there, port);
}

static void take_line(const struct reading *r, struct text line)
{
	if (line.length < 3 || line.at[1] != '=')
		return;
	struct text rest = text_from(line, 2);

	switch (line.at[0]) {
	case 'v': memset(r->at, 0, sizeof(*r->at)); break; // another description
	case 'c': take_connection(r, rest); break;
	case 'm': take_media(r, rest); break;
	case 'a':
		if (text_begins(rest, "rtcp:"))
			take_reports(r, text_from(rest, 5));
		break;
	default: break;
	}
}

static bool is_header(struct text name, const char *word)
{
	return name.length == strlen(word) &&
	       !strncasecmp((const char *)name.at, word, name.length);
}

// RFC 3261 20.8; "i" is its short form (7.3.3).
static bool is_call_id(struct text line, struct text *id)
{
	struct text name = text_take(&line, ':');

	*id = text_take_word(&line);
	return (is_header(name, "Call-ID") || is_header(name, "i")) && id->length;
}

// A datagram bears the address of whom it likes, but not the Call-ID that the other end has made
// up: of an answer to a request that was seen all is believed, of a request nothing.
static bool is_believed(struct text message, const struct decoder_sink *sink, unsigned half)
{
	struct text line, id = {0};

	if (!text_take_line(&message, &line) || !text_contains(line, "SIP/2.0"))
		return false; // a ping, or what follows the proof and is none
	bool answers = text_begins(line, "SIP/2.0 ");

	bool found = false;

	for (unsigned n = 0; !found && n < LINES_MAX && text_take_line(&message, &line); n++)
		found = is_call_id(line, &id);
	if (!found)
		return false;
	if (!answers)
		asked_note(sink->asked, half, ASKED_CALL, id.at, id.length);
	return answers && asked_answers(sink->asked, half, ASKED_CALL, id.at, id.length);
}

static bool decode_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct description description = {0};
	unsigned said = 0;
	const struct reading r = {&description, &said, ends, sink, span->half & 1};
	struct text rest = span_text(span), line;

	if (!is_believed(rest, sink, r.half))
		return true;
	for (unsigned n = 0; n < LINES_MAX && text_take_line(&rest, &line); n++)
		take_line(&r, line);
	take_line(&r, rest);
	return true;
}

static void take_stream_line(void *ctx, unsigned half, const uint8_t *bytes, uint32_t length)
{
	struct reading *r = ctx;

	r->half = half;
	take_line(r, (struct text){bytes, length});
}

// The ends describe in turn: one answers what the other has offered.
static void decode(struct decoder_state *state, const struct span *span,
	const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct description description;
	unsigned said = 0;
	struct reading r = {&description, &said, ends, sink, span->half & 1};

	memcpy(&description, &state->memo, sizeof(description));
	decoder_lines(state, span, take_stream_line, &r);
	memcpy(&state->memo, &description, sizeof(description));
}

const struct app_proto app_proto_sip = {
	.name = "sip",
	.title = "SIP",
	.group = "voice",
	.category = APP_CATEGORY_NETWORK,
	.decode = decode,
	.decode_datagram = decode_datagram,
	.tcp_ports = {5060},
	.udp_ports = {5060},
};
