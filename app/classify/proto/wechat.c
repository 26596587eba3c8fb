// SPDX-License-Identifier: BSD-3-Clause
// WeChat: mmtls and its short connections over HTTP, and the hosts of its service. mmtls is TLS
// 1.3 as Tencent changed it (Citizen Lab, "Should We Chat, Too?", 2024, network format; Tencent's
// own description): records of a type, 0xf1, 3 or 4, a length of 16 bits; a hello is a section
// with a length of 32 bits, its kind, 0x03 or 0x04, 0xf1. Record, both lengths and kind: 72 bits.
// Before mmtls: a length of 32 bits, the head's length (16) and version (1), both of 16 bits, a
// command of 32 bits (6: keepalive): 70 bits.
#include "classify/app_proto.h"
#include "classify/text.h"

#define RECORD_BYTES 5
#define HELLO_BYTES  12
#define HEAD_BYTES   16
#define COMMAND_MAX  0x3b9aca15 // 1,000,000,021: answers have a billion added
#define PACKET_MAX   (1u << 20)

static enum verify verify_mmtls(struct text rest)
{
	if (rest.length < HELLO_BYTES)
		return VERIFY_MORE;
	uint32_t record = octets_be16(rest.at + 3), section = octets_be32(rest.at + 5);

	if (record < HELLO_BYTES - RECORD_BYTES || section != record - 4)
		return VERIFY_NO;
	return (rest.at[9] == 1 || rest.at[9] == 2) && (rest.at[10] == 3 || rest.at[10] == 4) &&
			       rest.at[11] == 0xf1
		       ? VERIFY_YES
		       : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (half.length && half.at[0])
		return verify_mmtls(half);
	if (half.length < HEAD_BYTES)
		return VERIFY_MORE;
	uint32_t length = octets_be32(half.at), command = octets_be32(half.at + 8);

	return length >= HEAD_BYTES && length <= PACKET_MAX && command &&
			       (command < 0x1000 ||
				       (command > 1000000000 && command <= COMMAND_MAX))
		       ? VERIFY_DPI
		       : VERIFY_NO;
}

const struct app_proto app_proto_wechat = {
	.name = "wechat",
	.title = "WeChat",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
