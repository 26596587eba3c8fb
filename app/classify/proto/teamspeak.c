// SPDX-License-Identifier: BSD-3-Clause
// TeamSpeak 2 and 3: voice and chat over UDP.
//
// Version 3 begins with its init packets, whose packet id is "TS3INIT1" (64 bits): a signature. Of
// a connection whose beginning was not seen there are the packets that are never sealed, ping and
// pong (types 4 and 5, flag 0x80): the same 8 octets in place of a MAC from both sides, a packet
// id of 16 bits, from clients a client id of 16 bits, the type; a pong ends with the id that it
// answers. A ping and its pong: 64 bits that both sides say, 16 that are repeated, two types. Two
// pings of a side, one after the other, are a hint: eight octets that stay and a number that grows
// have other protocols, too, and the type is 8 bits.
//
// Version 2: class (0xbef0 commands, 0xbef1 acknowledgements, 0xbef2 and 0xbef3 voice of clients
// and servers, 0xbef4 connections) and type, session and client, 32 bits each, little endian; a
// number, and but for voice and acknowledgements a CRC-32 of the whole: 48 bits with the class.
// Those without one count when a second of that half has the same session and client: voice with
// class and type (28 bits that are fixed), an acknowledgement with its class and length as a hint.
// The client's first packet names it (112 bits): a signature.
//
// A server announces itself to the list of servers in clear: 1, a number of 16 bits, 1; answered
// by the same and a key of 32 bits; then 1, a number, 2, that key and what the server is. Of that
// exchange (a verifier's) 96 bits are fixed. (ts3protocol, "TS3 Protocol Paper"; tsclientlib;
// Soliloque's wiki and Wireshark for version 2; for the list, what servers send.)
#include "classify/app_proto.h"
#include "classify/digest.h"
#include "classify/text.h"

#define ASK         4
#define KEY         8
#define STAGE_ASKED 1
#define STAGE_KEYED 2
#define STAGE_PING  3
#define STAGE_TWO   4

#define MAC_BYTES   8
#define PING        0x84 // 4, not sealed
#define PONG        0x85
#define SERVER_HEAD 11 // MAC, packet id, type
#define CLIENT_HEAD 13 // and behind the packet id the client's
#define ASKED       0x10000

#define TWO_HEAD    16
#define TWO_SESSION 4 // offset; the client's id behind it
#define VOICE_TYPES 0x0c
#define CRC_COMMAND 20 // offset
#define CRC_CONNECT 16

static enum verify verify_list(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word; // stage, the question, the key
	const uint8_t *at = probe->bytes;
	bool begins = probe->length >= ASK && at[0] == 1;

	if (begins && probe->length == ASK && at[3] == 1 && probe->half == HALF_C2S) {
		memo[0] = STAGE_ASKED;
		memo[1] = octets_be32(at);
	} else if (begins && probe->length == KEY && memo[0] == STAGE_ASKED &&
		   probe->half == HALF_S2C && octets_be32(at) == memo[1]) {
		memo[0] = STAGE_KEYED;
		memo[2] = octets_be32(at + 4);
	} else if (begins && probe->length > KEY && at[3] == 2 && memo[0] == STAGE_KEYED &&
		   probe->half == HALF_C2S && octets_be32(at + 4) == memo[2]) {
		return VERIFY_YES;
	}
	return VERIFY_NO;
}

// The number that a ping bears, or that a pong answers; -1: it is neither. Which side is the
// server is told by the length alone: of a flow from the middle, the first packet may be its.
static int ping_number(const struct probe *probe, bool *answers)
{
	const uint8_t *at = probe->bytes;
	uint32_t n = probe->length;

	*answers = (n == SERVER_HEAD + 2 && at[SERVER_HEAD - 1] == PONG) ||
		   (n == CLIENT_HEAD + 2 && at[CLIENT_HEAD - 1] == PONG);
	if (*answers)
		return octets_be16(at + n - 2);
	return (n == SERVER_HEAD && at[n - 1] == PING) || (n == CLIENT_HEAD && at[n - 1] == PING)
		       ? octets_be16(at + MAC_BYTES)
		       : -1;
}

static enum verify verify_ping(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word; // stage, last number of each half, MAC
	unsigned half = probe->half & 1;
	bool answers;
	int number = ping_number(probe, &answers);

	if (number < 0)
		return VERIFY_NO;
	uint32_t first = octets_be32(probe->bytes), second = octets_be32(probe->bytes + 4);
	bool same = memo[0] == STAGE_PING && memo[3] == first && memo[4] == second;

	if (answers)
		return same && memo[1 + !half] == (ASKED | (uint32_t)number) ? VERIFY_YES
									     : VERIFY_NO;
	uint32_t before = memo[1 + half];

	if (same && before && number == (int)((before + 1) & 0xffff)) {
		memo[1 + half] = ASKED | (uint32_t)number;
		return VERIFY_PARTIAL;
	}
	if (!same)
		memo[1] = memo[2] = 0;
	memo[0] = STAGE_PING;
	memo[1 + half] = ASKED | (uint32_t)number;
	memo[3] = first;
	memo[4] = second;
	return VERIFY_MORE;
}

static bool has_crc(struct text packet, uint32_t offset)
{
	static const uint8_t zeros[4] = {0};
	uint32_t crc;

	if (packet.length < offset + 4)
		return false;
	crc = digest_crc32(UINT32_MAX, packet.at, offset);
	crc = digest_crc32(crc, zeros, sizeof(zeros));
	crc = digest_crc32(crc, packet.at + offset + 4, packet.length - offset - 4);
	return ~crc == octets_le32(packet.at + offset);
}

static enum verify verify_two(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word, *known = memo + 1 + 2 * (probe->half & 1);
	struct text packet = probe_text(probe);

	if (packet.length < TWO_HEAD || packet.at[1] != 0xbe)
		return VERIFY_NO;
	switch (packet.at[0]) {
	case 0xf0: return has_crc(packet, CRC_COMMAND) ? VERIFY_YES : VERIFY_NO;
	case 0xf4: return has_crc(packet, CRC_CONNECT) ? VERIFY_YES : VERIFY_NO;
	case 0xf1:
		if (packet.length != TWO_HEAD)
			return VERIFY_NO;
		break;
	case 0xf2:
	case 0xf3:
		if (packet.at[2] || packet.at[3] > VOICE_TYPES)
			return VERIFY_NO;
		break;
	default: return VERIFY_NO;
	}
	uint32_t session = octets_le32(packet.at + TWO_SESSION);
	uint32_t client = octets_le32(packet.at + TWO_SESSION + 4);

	if (memo[0] == STAGE_TWO && session && client && known[0] == session && known[1] == client)
		return packet.at[0] == 0xf1 ? VERIFY_PARTIAL : VERIFY_DPI;
	memo[0] = STAGE_TWO;
	known[0] = session;
	known[1] = client;
	return VERIFY_MORE;
}

// Packets of other kinds may come between those that tell.
static enum verify verify(const struct probe *probe)
{
	enum verify answer = verify_list(probe);

	if (answer == VERIFY_NO)
		answer = verify_ping(probe);
	if (answer == VERIFY_NO)
		answer = verify_two(probe);
	return answer == VERIFY_NO && probe->memo->word[0] ? VERIFY_MORE : answer;
}

const struct app_proto app_proto_teamspeak = {
	.name = "teamspeak",
	.title = "TeamSpeak",
	.group = "voice",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.udp_ports = {9987, 8767},
};
