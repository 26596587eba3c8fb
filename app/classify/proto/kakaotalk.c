// SPDX-License-Identifier: BSD-3-Clause
// KakaoTalk: by its hosts, and LOCO, its messages' frames (goloco, node-kakao, loco-protocol-rs): a
// handshake of three numbers of 32 bits, little endian: length of the sealed key, how it is sealed,
// which cipher follows (90 bits); or in clear id, status, a method of 11 octets. Signatures alone.
#include "app_proto.h"

const struct app_proto app_proto_kakaotalk = {
	.name = "kakaotalk",
	.title = "KakaoTalk",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
