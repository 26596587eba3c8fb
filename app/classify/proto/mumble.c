// SPDX-License-Identifier: BSD-3-Clause
// Mumble: control over TLS (a server that nobody configured shows a certificate with its name),
// voice over UDP, whose ping has the server's version: four octets zero and an id of 64 bits; the
// answer is the version (0, major, minor, patch), the same id, users, their maximum and the
// bandwidth (mumble-voip.org, protocol, "Ping"). Of an exchange 130 bits are fixed.
#include "app_proto.h"
#include "text.h"

#define PING 12
#define PONG 24
#define ID   4 // offset
#define HAVE 1 // in the memo: the ping is there

static enum verify verify(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word;
	const uint8_t *at = probe->bytes;

	if (probe->length == PING && !octets_be32(at)) {
		memo[0] = HAVE;
		memo[1] = octets_be32(at + ID);
		memo[2] = octets_be32(at + ID + 4);
		return VERIFY_MORE;
	}
	if (probe->length != PONG || memo[0] != HAVE)
		return memo[0] == HAVE ? VERIFY_MORE : VERIFY_NO;
	bool same = memo[1] == octets_be32(at + ID) && memo[2] == octets_be32(at + ID + 4);
	uint32_t users = octets_be32(at + 12), most = octets_be32(at + 16);

	return same && !at[0] && at[1] && users <= most ? VERIFY_YES : VERIFY_MORE;
}

const struct app_proto app_proto_mumble = {
	.name = "mumble",
	.title = "Mumble",
	.group = "voice",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.tcp_ports = {64738},
	.udp_ports = {64738},
};
