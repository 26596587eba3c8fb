// SPDX-License-Identifier: BSD-3-Clause
// KakaoTalk: by its hosts, and LOCO, its messages' frames (goloco, node-kakao, loco-protocol-rs): a
// handshake of three numbers of 32 bits, little endian: length of the sealed key, how it is sealed,
// which cipher follows (90 bits); or in clear id, status, a method of 11 octets: by signatures.
// Calls are RTP and RTCP, sealed or not, without a word of whose they are, to relays in a data
// centre's network in Korea, 1.201.0.0/16 (nDPI): one report that fits its datagram, also that of
// SRTCP, or two packets of one stream, to or from there. Others may stand in that network, too: a
// hint, no more.
#include <string.h>
#include "classify/app_proto.h"

static bool is_relay(const uint8_t address[16])
{
	static const uint8_t v4[14] = {[10] = 0xff, [11] = 0xff, [12] = 1, [13] = 201};

	return !memcmp(address, v4, sizeof(v4));
}

static bool media_between(const struct flow_ends *ends)
{
	return is_relay(ends->address[HALF_C2S]) || is_relay(ends->address[HALF_S2C]);
}

const struct app_proto app_proto_kakaotalk = {
	.name = "kakaotalk",
	.title = "KakaoTalk",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.media_between = media_between,
};
