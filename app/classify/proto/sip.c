// SPDX-License-Identifier: BSD-3-Clause
// SIP (RFC 3261): a request line with a SIP address, or a status line: by signatures. What it sets
// up is said in SDP (RFC 8866): who sends a description hears media at the address of its line "c="
// and the port of its line "m=", reports at the next port (RFC 3550 11), or where "a=rtcp:" says
// (RFC 3605). Each line is read for itself as it comes: of a stream no body is looked for, and a
// line of a header never begins so.
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

#define SAID_MAX  16  // announcements that are believed of one packet
#define LINES_MAX 256 // and lines of it that are read

struct reading {
	struct description *at;
	unsigned *said;
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

static bool decode_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	struct description description = {0};
	unsigned said = 0;
	const struct reading r = {&description, &said, ends, sink, span->half & 1};
	struct text rest = span_text(span), line;

	if (!text_take_line(&rest, &line) || !text_contains(line, "SIP/2.0"))
		return true; // a ping, or what follows the proof and is none
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
