// SPDX-License-Identifier: BSD-3-Clause
// KakaoTalk: by its hosts, and LOCO, its messages' frames (goloco, node-kakao, loco-protocol-rs): a
// handshake of three numbers of 32 bits, little endian: length of the sealed key, how it is sealed,
// which cipher follows (90 bits); or in clear id, status, a method of 11 octets: by signatures.
// Calls are RTP without a word of whose it is, to relays in a data centre's network in Korea,
// 1.201.0.0/16 (nDPI): RTCP that fits its datagram, or two packets of one stream,
// to or from there. Others may stand in that network, too: a hint, no more.
#include "classify/app_proto.h"
#include "classify/text.h"

#define RTP_BYTES   12
#define STEP_MAX    64      // of RTP's sequence numbers, packets being lost
#define SEEN        0x10000 // in the memo, with the last number of that half
#define RTCP_SENDER 200     // RFC 3550 12.1: report of a sender
#define RTCP_LAST   204

static bool is_relay(const uint8_t address[16])
{
	static const uint8_t v4[14] = {[10] = 0xff, [11] = 0xff, [12] = 1, [13] = 201};

	return !memcmp(address, v4, sizeof(v4));
}

// RFC 3550 6.1: packets one behind the other, each with its length in words, less one.
static bool is_rtcp(struct text rest)
{
	unsigned n = 0;

	for (; rest.length >= 8; n++) {
		if (rest.at[0] >> 6 != 2 || rest.at[1] < RTCP_SENDER || rest.at[1] > RTCP_LAST)
			return false;
		uint32_t length = 4u * (octets_be16(rest.at + 2) + 1u);

		if (length > rest.length)
			return false;
		rest = text_from(rest, length);
	}
	return n && !rest.length;
}

static enum verify verify(const struct probe *probe)
{
	struct text datagram = probe_text(probe);
	uint32_t *seen = probe->memo->word + 2 * (probe->half & 1); // stream, number
	const struct flow_ends *ends = probe->ends;

	if (!is_relay(ends->address[HALF_C2S]) && !is_relay(ends->address[HALF_S2C]))
		return VERIFY_NO;
	if (is_rtcp(datagram))
		return VERIFY_PARTIAL;
	if (datagram.length <= RTP_BYTES || datagram.at[0] >> 6 != 2)
		return seen[1] ? VERIFY_MORE : VERIFY_NO;
	uint32_t stream = octets_be32(datagram.at + 8), number = octets_be16(datagram.at + 2);
	bool follows = seen[1] && seen[0] == stream && ((number - seen[1]) & 0xffff) - 1 < STEP_MAX;

	seen[0] = stream;
	seen[1] = SEEN | number;
	return follows ? VERIFY_PARTIAL : VERIFY_MORE;
}

const struct app_proto app_proto_kakaotalk = {
	.name = "kakaotalk",
	.title = "KakaoTalk",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
