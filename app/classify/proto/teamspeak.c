// SPDX-License-Identifier: BSD-3-Clause
// TeamSpeak 2 and 3: voice and chat over UDP.
// Version 3 begins with its init packets, whose packet id is "TS3INIT1" (64 bits), version 2 with
// class 0xbef4, type 3 and, behind a checksum, the name of the client (112 bits): signatures.
// A server announces itself to the list of servers in clear: 1, a number of 16 bits, 1; answered
// by the same and a key of 32 bits; then 1, a number, 2, that key and what the server is. Of that
// exchange (a verifier's) 96 bits are fixed. (ts3protocol, "TS3 Protocol Paper"; tsclientlib;
// Soliloque's wiki; for the list, what servers send.)
#include "app_proto.h"
#include "text.h"

#define ASK         4
#define KEY         8
#define STAGE_ASKED 1
#define STAGE_KEYED 2

static enum verify verify(const struct probe *probe)
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
	return memo[0] ? VERIFY_MORE : VERIFY_NO;
}

const struct app_proto app_proto_teamspeak = {
	.name = "teamspeak",
	.title = "TeamSpeak",
	.group = "voice",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.udp_ports = {9987, 8767},
};
