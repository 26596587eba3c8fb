// SPDX-License-Identifier: BSD-3-Clause
// Mumble: control over TLS (a server that nobody configured shows a certificate with its name),
// voice over UDP, whose ping has the server's version: four octets zero and an id of 64 bits; the
// answer is the version (0, major, minor, patch), the same id, users, their maximum and the
// bandwidth (mumble-voip.org, protocol, "Ping"). Of an exchange 130 bits are fixed; one side alone
// is a hint on Mumble's port.
#include "classify/app_proto.h"
#include "classify/text.h"

#define PING 12
#define PONG 24
#define ID   4 // offset
#define HAVE 1 // in the memo: the ping is there
#define PORT 64738

static bool is_pong(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	return probe->length == PONG && !at[0] && at[1] &&
	       octets_be32(at + 12) <= octets_be32(at + 16);
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word;
	const uint8_t *at = probe->bytes;
	bool hint = probe->sport == PORT || probe->dport == PORT;

	if (probe->half == HALF_C2S && probe->length == PING && !octets_be32(at)) {
		memo[0] = HAVE;
		memo[1] = octets_be32(at + ID);
		memo[2] = octets_be32(at + ID + 4);
		return hint ? VERIFY_PARTIAL : VERIFY_MORE;
	}
	if (!is_pong(probe))
		return memo[0] == HAVE ? VERIFY_MORE : VERIFY_NO;
	if (memo[0] == HAVE && memo[1] == octets_be32(at + ID) &&
		memo[2] == octets_be32(at + ID + 4))
		return VERIFY_YES;
	// without the question: a maximum that is one, and known ports
	return hint && octets_be32(at + 16) && octets_be32(at + 16) <= UINT16_MAX ? VERIFY_PARTIAL
	       : memo[0] == HAVE                                                  ? VERIFY_MORE
										  : VERIFY_NO;
}

const struct app_proto app_proto_mumble = {
	.name = "mumble",
	.title = "Mumble",
	.group = "voice",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.tcp_ports = {PORT},
	.udp_ports = {PORT},
};
