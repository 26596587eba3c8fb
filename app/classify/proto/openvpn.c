// SPDX-License-Identifier: BSD-3-Clause
// OpenVPN with TLS (openvpn.net, "OpenVPN protocol"; "Client-specific tls-crypt keys"): a client
// begins with a hard reset that names its session (64 bits), and the server's own one repeats that
// name. How the two are protected says where it stands: as it is, behind an HMAC of the length of
// its hash (--tls-auth), or sealed (--tls-crypt), where the name of the sender, the number of the
// first packet, and the length are left to be seen. Over TCP each packet has its length before it.
// With a static key (--secret) all is sealed, and nothing says what it is.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define CLIENT_V2  0x38 // the kind in the upper five bits, the number of the key, 0, in the lower
#define CLIENT_V3  0x50 // with the client's key behind it (--tls-crypt-v2)
#define SERVER_V2  0x40
#define NAMED      9  // octets of kind and session
#define NUMBERED   8  // of a packet's number and time
#define CLEAR_END  5  // no acknowledgement; the number of the first message, 0
#define SEALED     54 // a client's sealed reset: an HMAC of 32, and CLEAR_END behind it
#define SEALED_ACK 66 // a server's
#define ACKS_MAX   8
#define EARLY      0x0f       // in the first octet of a number: negotiates early (2.6)
#define NUMBER_MAX 15         // of a client's first packets, which may be said again
#define TIME_MIN   1000000000 // seconds since 1970: OpenVPN is of 2001

#define IS_SEALED 1 // in place of the offset at which acknowledgements begin

struct reset {
	uint32_t session[2];
	uint32_t begins; // acknowledgements do, at this offset; IS_SEALED; 0: it is no reset
};

static bool is_first(const uint8_t *at)
{
	return (!at[0] || at[0] == EARLY) && !at[1] && !at[2] && at[3] <= NUMBER_MAX &&
	       octets_be32(at + 4) >= TIME_MIN;
}

static bool is_zero(const uint8_t *at, uint32_t n)
{
	uint8_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all |= at[i];
	return !all;
}

// MD5, SHA-1, SHA-224, -256, -384, -512.
static uint32_t clear_begins(struct text packet)
{
	static const uint8_t hashes[] = {16, 20, 28, 32, 48, 64};

	if (packet.length == NAMED + CLEAR_END && is_zero(packet.at + NAMED, CLEAR_END))
		return NAMED;
	for (uint32_t i = 0; i < sizeof(hashes); i++) {
		uint32_t begins = NAMED + hashes[i] + NUMBERED;

		if (packet.length == begins + CLEAR_END && is_zero(packet.at + begins, CLEAR_END) &&
			is_first(packet.at + begins - NUMBERED))
			return begins;
	}
	return 0;
}

static struct reset client_reset(struct text packet)
{
	struct reset reset = {0};

	if (packet.length < NAMED + CLEAR_END || is_zero(packet.at + 1, 8))
		return reset;
	reset.session[0] = octets_be32(packet.at + 1);
	reset.session[1] = octets_be32(packet.at + 5);
	uint32_t key = packet.at[0] == CLIENT_V3 ? octets_be16(packet.at + packet.length - 2) : 0;

	if (packet.at[0] == CLIENT_V2)
		reset.begins = clear_begins(packet);
	else if (packet.at[0] != CLIENT_V3 || key < 2)
		return reset;
	if (!reset.begins && packet.length == SEALED + key && is_first(packet.at + NAMED))
		reset.begins = IS_SEALED;
	return reset;
}

static enum verify agrees(const struct reset *reset, struct text packet)
{
	if (packet.length < NAMED + CLEAR_END || packet.at[0] != SERVER_V2 ||
		is_zero(packet.at + 1, 8))
		return VERIFY_NO;
	if (reset->begins == IS_SEALED)
		return packet.length >= SEALED_ACK && is_first(packet.at + NAMED) ? VERIFY_DPI
										  : VERIFY_NO;
	if (packet.length < reset->begins + 1)
		return VERIFY_NO;
	uint32_t acks = packet.at[reset->begins], session = reset->begins + 1 + 4 * acks;

	if (!acks || acks > ACKS_MAX || packet.length < session + 12)
		return VERIFY_NO;
	return octets_be32(packet.at + session) == reset->session[0] &&
			       octets_be32(packet.at + session + 4) == reset->session[1]
		       ? VERIFY_YES
		       : VERIFY_NO;
}

// The answer may come yet.
static enum verify alone(const struct probe *probe)
{
	return probe->one_sided ? VERIFY_ALONE : VERIFY_MORE;
}

// The first packet of a stream, without its length. False: it is not whole.
static bool framed(struct text stream, struct text *packet)
{
	if (stream.length < 2 || stream.length - 2 < octets_be16(stream.at))
		return false;
	*packet = (struct text){stream.at + 2, octets_be16(stream.at)};
	return true;
}

static enum verify verify_stream(const struct probe *probe)
{
	struct text client, server;

	if (!framed(probe_text(probe), &client))
		return VERIFY_MORE;
	const struct reset reset = client_reset(client);

	if (!reset.begins)
		return VERIFY_NO;
	return framed((struct text){probe->peer, probe->peer_length}, &server)
		       ? agrees(&reset, server)
		       : alone(probe);
}

// The memo: which half has reset, and what it said.
static enum verify verify_datagram(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word, half = 1u + (probe->half & 1);

	if (memo[0] && memo[0] != half)
		return agrees(
			&(const struct reset){{memo[1], memo[2]}, memo[3]}, probe_text(probe));
	const struct reset reset = client_reset(probe_text(probe));

	if (!reset.begins)
		return VERIFY_NO;
	memo[0] = half;
	memo[1] = reset.session[0];
	memo[2] = reset.session[1];
	memo[3] = reset.begins;
	return alone(probe);
}

static enum verify verify(const struct probe *probe)
{
	return probe->l4_proto == IPPROTO_TCP ? verify_stream(probe) : verify_datagram(probe);
}

const struct app_proto app_proto_openvpn = {
	.name = "openvpn",
	.title = "OpenVPN",
	.group = "vpn",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.tcp_ports = {1194},
	.udp_ports = {1194},
};
