// SPDX-License-Identifier: BSD-3-Clause
// Threema: its own handshake over TCP, and the hosts of its service (Threema, "Cryptography
// Whitepaper", chat server protocol; Hilko Bengen's and the ETH's analyses). All but lengths is
// random: the client's key and cookie, 32 + 16; the server's cookie and a sealed key, 16 + 64; the
// client's login, 144, since 2021 with a sealed extension of up to 256; the server's answer, 32;
// then each side's frames, length of 16 bits, little endian, before each.
// Two exact lengths at a change of sides, a third in a window, a chain of frames that ends exactly:
// about 40 bits on traffic of random bytes and lengths.
#include "classify/app_proto.h"
#include "classify/text.h"

#define CLIENT_HELLO  48
#define SERVER_HELLO  80
#define LOGIN         144
#define EXTENSION_MAX 256
#define SERVER_READY  32
#define FRAME_MIN     4
#define FRAME_MAX     8192

enum stage { // word 0 of the memo; word 1: the client's octets up to its login
	STAGE_NONE,
	STAGE_CLIENT,
	STAGE_SERVER,
	STAGE_LOGIN,
};

static bool is_chain(struct text rest)
{
	if (!rest.length)
		return false;
	while (rest.length) {
		if (rest.length < 2)
			return false;
		uint32_t length = octets_le16(rest.at);

		if (length < FRAME_MIN || length > FRAME_MAX || length + 2 > rest.length)
			return false;
		rest = text_from(rest, length + 2);
	}
	return true;
}

static enum verify shape_tcp(const struct probe *probe)
{
	struct text client = text_of(probe, HALF_C2S), server = text_of(probe, HALF_S2C);
	uint32_t *memo = probe->memo->word;

	if (probe->midstream ||
		(memo[0] == STAGE_NONE && (client.length != CLIENT_HELLO || server.length)))
		return VERIFY_NO;
	switch (memo[0]) {
	case STAGE_NONE: memo[0] = STAGE_CLIENT; return VERIFY_MORE;
	case STAGE_CLIENT:
		if (client.length == CLIENT_HELLO && server.length == SERVER_HELLO)
			memo[0] = STAGE_SERVER;
		return VERIFY_MORE;
	case STAGE_SERVER:
		if (server.length == SERVER_HELLO && client.length >= CLIENT_HELLO + LOGIN &&
			client.length <= CLIENT_HELLO + LOGIN + EXTENSION_MAX) {
			memo[0] = STAGE_LOGIN;
			memo[1] = client.length;
		}
		return VERIFY_MORE;
	default: break;
	}
	return is_chain(text_from(server, SERVER_HELLO + SERVER_READY)) ||
			       (server.length >= SERVER_HELLO + SERVER_READY &&
				       is_chain(text_from(client, memo[1])))
		       ? VERIFY_DPI
		       : VERIFY_MORE;
}

const struct app_proto app_proto_threema = {
	.name = "threema",
	.title = "Threema",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.shape_tcp = shape_tcp,
};
