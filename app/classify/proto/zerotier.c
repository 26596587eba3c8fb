// SPDX-License-Identifier: BSD-3-Clause
// ZeroTier (ZeroTierOne, node/Packet.hpp): a node sends HELLO in clear: the number of the packet (8
// octets), the addresses of receiver and sender (5 each), a cipher of 0, a code (8), the verb 1,
// the protocol's version, the software's, milliseconds since 1970 (8), then the sender's identity:
// its address once more, and the kind of its key, 0. 40 bits that are equal, and 30 that are fixed.
// All else is sealed.
#include "classify/app_proto.h"
#include "classify/text.h"

#define RECEIVER 8
#define SENDER   13
#define FLAGS    18
#define VERB     27
#define TIME     33
#define IDENTITY 41
#define HELLO    112   // octets, with key and no secret
#define TIME_MIN 0x120 // of its upper 32 bits: of 2009
#define TIME_MAX 0x300 // of 2074

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length < HELLO || at[FLAGS] & 0x38 || at[VERB] != 1 || !at[VERB + 1])
		return VERIFY_NO;
	uint32_t time = octets_be32(at + TIME);
	bool is_address = at[SENDER] && at[SENDER] != 0xff && at[RECEIVER] && at[RECEIVER] != 0xff;

	if (!is_address || time < TIME_MIN || time > TIME_MAX)
		return VERIFY_NO;
	return !memcmp(at + SENDER, at + IDENTITY, 5) && !at[IDENTITY + 5] ? VERIFY_DPI : VERIFY_NO;
}

const struct app_proto app_proto_zerotier = {
	.name = "zerotier",
	.title = "ZeroTier",
	.group = "vpn",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.udp_ports = {9993},
};
