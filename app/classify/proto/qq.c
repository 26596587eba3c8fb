// SPDX-License-Identifier: BSD-3-Clause
// QQ (Tencent): OICQ over UDP and TCP, and the hosts of its service. A packet is 0x02, client
// version, command, sequence number, the user's number (from 10,000), a body, 0x03; over TCP its
// length of two octets stands before it (Pidgin's libpurple, Wireshark's OICQ, Net::OICQ). A body
// is what TEA made, in blocks of eight, but for logins, which put keys before it.
// Calls and files of later clients: 0x28, the lengths of a head and of a body (32 bits each), both,
// 0x29 (LagrangeCore, "highway"): in a datagram 48 bits, in a stream the head's first fields. And
// over UDP 0x02, the length, 0 (nDPI): 32 bits, a hint.
// Fixed in one: 16 bits of frame, 8 of the command, 2 of the version, 3 of the body's length; over
// TCP also 16 of the length. In a datagram that is a hint, and two packets of one user are proof.
#include <netinet/in.h>
#include "classify/app_proto.h"
#include "classify/text.h"

#define BEGIN       0x02
#define END         0x03
#define HEAD        11 // up to the user's number
#define BODY_MIN    8
#define NUMBER_MIN  10000
#define VERSION_MAX 0x3fff
#define LENGTH      2 // before it, over TCP
#define OPEN        0x28
#define CLOSE       0x29
#define OPEN_HEAD   9 // it, and both lengths
#define HEAD_MAX    4096
#define CALL_MIN    48
#define CALL_MAX    512

// 0x0001 log out ... 0x00f0; the logins of later years.
static bool is_command(uint16_t command)
{
	static const uint16_t later[] = {0x03f7, 0x0825, 0x0826, 0x0828, 0x0829, 0x0836, 0x0839};

	for (unsigned i = 0; i < sizeof(later) / sizeof(later[0]); i++)
		if (later[i] == command)
			return true;
	return command && command <= 0x00f0;
}

static bool is_packet(struct text packet)
{
	if (packet.length < HEAD + BODY_MIN + 1 || packet.at[0] != BEGIN ||
		packet.at[packet.length - 1] != END)
		return false;
	uint16_t version = octets_be16(packet.at + 1);

	return version >= 0x0100 && version <= VERSION_MAX &&
	       is_command(octets_be16(packet.at + 3)) && octets_be32(packet.at + 7) >= NUMBER_MIN;
}

static enum verify verify_packet(const struct probe *probe, struct text packet)
{
	uint32_t *known = probe->memo->word, number;

	if (!is_packet(packet))
		return VERIFY_NO;
	number = octets_be32(packet.at + 7);
	if (known[0] == number)
		return VERIFY_YES;
	known[0] = number;
	return (packet.length - HEAD - 1) % 8 == 0 ? VERIFY_PARTIAL : VERIFY_MORE;
}

// A protobuf: field 1, in it field 1, the version 1, and field 2, the user's number as text.
static bool is_open_head(struct text head)
{
	return head.length >= 6 && head.at[0] == 0x0a && head.at[2] == 0x08 && head.at[3] == 0x01 &&
	       head.at[4] == 0x12 && head.at[5] >= 5 && head.at[5] <= 12;
}

static enum verify verify_open(const struct probe *probe)
{
	struct text all = probe_text(probe);

	if (all.length < OPEN_HEAD + 6)
		return VERIFY_MORE;
	uint64_t head = octets_be32(all.at + 1), body = octets_be32(all.at + 5);
	bool whole = OPEN_HEAD + head + body + 1 == all.length && all.at[all.length - 1] == CLOSE;

	if (!head || head > HEAD_MAX)
		return VERIFY_NO;
	if (probe->l4_proto == IPPROTO_UDP)
		return whole ? VERIFY_DPI : VERIFY_NO;
	return is_open_head(text_from(all, OPEN_HEAD)) ? VERIFY_DPI : VERIFY_NO;
}

static enum verify verify_call(struct text datagram)
{
	uint32_t length = datagram.length;

	return length >= CALL_MIN && length <= CALL_MAX && !datagram.at[1] && !datagram.at[3] &&
			       (datagram.at[2] == length || datagram.at[2] == length + 6)
		       ? VERIFY_PARTIAL
		       : VERIFY_NO;
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (half.length && half.at[0] == OPEN && probe->l4_proto == IPPROTO_UDP)
		return half.length < OPEN_HEAD + 6 ? VERIFY_NO : verify_open(probe);
	if (half.length && half.at[0] == OPEN && half.length >= 4 && !octets_be16(half.at + 1))
		return verify_open(probe);
	if (probe->l4_proto == IPPROTO_UDP && half.length > 4 && half.at[0] == BEGIN && !half.at[1])
		return verify_call(half);
	if (probe->l4_proto == IPPROTO_UDP)
		return verify_packet(probe, half);
	if (half.length < LENGTH)
		return VERIFY_MORE;
	uint32_t length = octets_be16(half.at);

	if (length < LENGTH + HEAD + BODY_MIN + 1)
		return VERIFY_NO;
	if (half.length < length)
		return half.length > LENGTH && half.at[LENGTH] != BEGIN ? VERIFY_NO : VERIFY_MORE;
	half.length = length;
	return is_packet(text_from(half, LENGTH)) ? VERIFY_DPI : VERIFY_NO;
}

const struct app_proto app_proto_qq = {
	.name = "qq",
	.title = "QQ",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
