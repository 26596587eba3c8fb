// SPDX-License-Identifier: BSD-3-Clause
// KakaoTalk: by its hosts, and LOCO, its messages' frames.
#include "app_proto.h"

const struct app_proto app_proto_kakaotalk = {
	.name = "kakaotalk",
	.title = "KakaoTalk",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
