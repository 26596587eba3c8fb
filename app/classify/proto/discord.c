// SPDX-License-Identifier: BSD-3-Clause
// Discord: chat by its hosts; voice over UDP (discord.com/developers, "Voice", "IP Discovery"):
// the client asks for its own address with type 1, length 70, SSRC, an address of 64 octets, all
// zero, and a port, which may be the server's; type 2 is the answer, the address as text.
// Keepalives are 0x1337cafe and a counter (reverse engineering of clients, as in nDPI and WebRTC's
// Discord fork). Discovery: 74 octets of which 64 are zero, or text and zeros. Who answers it with
// the SSRC that was asked for is a voice server: what goes there later, and is media, is Discord's.
// Keepalive: 40 bits and its length; the counter begins at zero, in either order of octets. Until
// 2021 type and length were not there: 70 octets; of these the server's answer is known by the
// text, and by the zeros up to the port.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/media.h"

#define DISCOVERY 74
#define SOURCE    4 // SSRC: offset
#define ADDRESS   8 // offset
#define PORT      72
#define KEEPALIVE 8
#define OLD       4 // less: type and length

static bool is_zero(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (at[i])
			return false;
	return true;
}

// "192.0.2.1", "2001:db8::1"; the rest of the field is zero.
static bool is_address(const uint8_t *at)
{
	uint32_t i = 0;

	while (i < PORT - ADDRESS && (octets_hex(at[i]) >= 0 || at[i] == '.' || at[i] == ':'))
		i++;
	return i >= 2 && i < PORT - ADDRESS && is_zero(at + i, PORT - ADDRESS - i);
}

// Without type and length there is less to go by: IPv4 as it was, in full, not any name in
// hexadecimal digits. A device that tells its address in a field of that size looks the same.
static bool is_dotted(const uint8_t *at)
{
	unsigned dots = 0, digits = 0;

	for (; *at == '.' || octets_digit(*at); at++) {
		if (*at != '.')
			digits++;
		else if (!digits || digits > 3)
			return false;
		else
			digits = 0, dots++;
	}
	return dots == 3 && digits && digits <= 3;
}

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length == KEEPALIVE)
		return octets_be32(at) == 0x1337cafe && (!at[7] || !at[4]) ? VERIFY_DPI : VERIFY_NO;
	if (probe->length == DISCOVERY - OLD)
		return is_address(at + ADDRESS - OLD) && is_dotted(at + ADDRESS - OLD) &&
				       octets_be16(at + PORT - OLD)
			       ? VERIFY_DPI
			       : VERIFY_NO;
	if (probe->length != DISCOVERY || at[0] || octets_be16(at + 2) != DISCOVERY - 4)
		return VERIFY_NO;
	if (at[1] == 1)
		return is_zero(at + ADDRESS, PORT - ADDRESS) ? VERIFY_YES : VERIFY_NO;
	return at[1] == 2 && is_address(at + ADDRESS) ? VERIFY_YES : VERIFY_NO;
}

// A discovery that was asked for in this flow and is answered in it: the answerer is the server.
static bool decode_datagram(
	const struct span *span, const struct flow_ends *ends, const struct decoder_sink *sink)
{
	const struct text text = span_text(span);
	unsigned half = span->half & 1;

	if (text.length != DISCOVERY || text.at[0] || octets_be16(text.at + 2) != DISCOVERY - 4)
		return text.length ==
		       KEEPALIVE; // voice: it has been asked for before, or never will
	if (text.at[1] == 1) {
		asked_note(sink->asked, half, 1, text.at + SOURCE, 4);
		return true;
	}
	if (text.at[1] != 2 || !is_address(text.at + ADDRESS) || !sink->endpoint ||
		!asked_answers(sink->asked, half, 1, text.at + SOURCE, 4))
		return true;
	struct learned_endpoint server = {.port = ends->port[half],
		.l4_proto = IPPROTO_UDP,
		.from = LEARNED_PEER,
		.half = (uint8_t)half};

	memcpy(server.address, ends->address[half], sizeof(server.address));
	sink->endpoint(sink->ctx, &server);
	return false; // what follows is sealed
}

// To a server that others have asked: media are all that goes there without a discovery.
static bool disguised(const struct span *span, uint8_t l4_proto)
{
	struct media_memo memo = {0};

	return l4_proto == IPPROTO_UDP &&
	       media_look(&memo, span->half & 1, span_text(span), false) != MEDIA_NOTHING;
}

const struct app_proto app_proto_discord = {
	.name = "discord",
	.title = "Discord",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.disguised = disguised,
	.decode_datagram = decode_datagram,
};
