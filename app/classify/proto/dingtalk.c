// SPDX-License-Identifier: BSD-3-Clause
// DingTalk (Alibaba): by the hosts of its service, and by its messages without TLS, which are
// records of numbered fields; the first names the client, "dk": by a signature alone (120 bits).
#include "classify/app_proto.h"

const struct app_proto app_proto_dingtalk = {
	.name = "dingtalk",
	.title = "DingTalk",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
