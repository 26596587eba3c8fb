// SPDX-License-Identifier: BSD-3-Clause
// Threema: its own handshake over TCP, and the hosts of its service (Threema, "Cryptography
// Whitepaper", chat server protocol; Hilko Bengen's and the ETH's analyses). All but lengths is
// random: the client's key and cookie, 32 + 16; the server's cookie and a sealed key, 16 + 64; the
// client's login, 144, since 2021 with a sealed extension of up to 256; the server's answer, 32;
// then each side's frames, length of 16 bits, little endian, before each.
// Two exact lengths at a change of sides, a third in a window, a chain of frames that ends exactly:
// about 40 bits on traffic of random bytes and lengths. Of one end alone: a length, a second in a
// window for the client, and two segments that end with a frame: 40 bits.
#include "classify/app_proto.h"
#include "classify/text.h"

#define CLIENT_HELLO  48
#define SERVER_HELLO  80
#define LOGIN         144
#define EXTENSION_MAX 256
#define SERVER_READY  32
#define FRAME_MIN     4
#define FRAME_MAX     8192

#define CHAINS_ALONE 2

enum { // words of the memo
	WORD_STAGE,
	WORD_LOGIN,  // the client's octets up to its login
	WORD_SEEN,   // of the end that is heard alone, its octets up to the last look
	WORD_CHAINS, // how often these ended with a frame
};

enum stage {
	STAGE_NONE,
	STAGE_CLIENT,
	STAGE_SERVER,
	STAGE_LOGIN,
	STAGE_SERVER_ALONE,
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

// By one end alone: how long its first segment is, for the client its login, too, then frames that
// end with the next two segments.
static enum verify alone(uint32_t *memo, struct text half, uint32_t frames_at)
{
	if (half.length <= memo[WORD_SEEN] || !is_chain(text_from(half, frames_at)))
		return VERIFY_MORE;
	memo[WORD_SEEN] = half.length;
	memo[WORD_CHAINS]++;
	return memo[WORD_CHAINS] >= CHAINS_ALONE ? VERIFY_ALONE : VERIFY_MORE;
}

static enum verify client_alone(uint32_t *memo, struct text client)
{
	if (memo[WORD_STAGE] == STAGE_LOGIN)
		return alone(memo, client, memo[WORD_LOGIN]);
	if (client.length < CLIENT_HELLO + LOGIN ||
		client.length > CLIENT_HELLO + LOGIN + EXTENSION_MAX)
		return VERIFY_MORE;
	memo[WORD_STAGE] = STAGE_LOGIN;
	memo[WORD_LOGIN] = memo[WORD_SEEN] = client.length;
	return VERIFY_MORE;
}

static enum verify both(uint32_t *memo, struct text client, struct text server)
{
	switch (memo[WORD_STAGE]) {
	case STAGE_CLIENT:
		if (client.length == CLIENT_HELLO && server.length == SERVER_HELLO)
			memo[WORD_STAGE] = STAGE_SERVER;
		return VERIFY_MORE;
	case STAGE_SERVER:
		if (server.length == SERVER_HELLO && client.length >= CLIENT_HELLO + LOGIN &&
			client.length <= CLIENT_HELLO + LOGIN + EXTENSION_MAX) {
			memo[WORD_STAGE] = STAGE_LOGIN;
			memo[WORD_LOGIN] = client.length;
		}
		return VERIFY_MORE;
	default: break;
	}
	return is_chain(text_from(server, SERVER_HELLO + SERVER_READY)) ||
			       (server.length >= SERVER_HELLO + SERVER_READY &&
				       is_chain(text_from(client, memo[WORD_LOGIN])))
		       ? VERIFY_DPI
		       : VERIFY_MORE;
}

// Its lengths prove it wherever the connection was picked up: these are of both ends' first
// segments that were seen.
static enum verify shape_tcp(const struct probe *probe)
{
	struct text client = text_of(probe, HALF_C2S), server = text_of(probe, HALF_S2C);
	uint32_t *memo = probe->memo->word;

	if (memo[WORD_STAGE] == STAGE_NONE) {
		if (client.length == CLIENT_HELLO && !server.length)
			memo[WORD_STAGE] = STAGE_CLIENT;
		else if (server.length == SERVER_HELLO && !client.length && probe->one_sided)
			memo[WORD_STAGE] = STAGE_SERVER_ALONE;
		return memo[WORD_STAGE] == STAGE_NONE ? VERIFY_NO : VERIFY_MORE;
	}
	if (memo[WORD_STAGE] == STAGE_SERVER_ALONE)
		return client.length ? VERIFY_NO : alone(memo, server, SERVER_HELLO + SERVER_READY);
	if (!server.length)
		return probe->one_sided ? client_alone(memo, client) : VERIFY_MORE;
	return both(memo, client, server);
}

const struct app_proto app_proto_threema = {
	.name = "threema",
	.title = "Threema",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.shape_tcp = shape_tcp,
	.shape_by_lengths = true,
};
