// SPDX-License-Identifier: BSD-3-Clause
// DingTalk (Alibaba): by the hosts of its service, and its messages without TLS.
#include "app_proto.h"

const struct app_proto app_proto_dingtalk = {
	.name = "dingtalk",
	.title = "DingTalk",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
