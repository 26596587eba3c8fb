// SPDX-License-Identifier: BSD-3-Clause
// WeChat: mmtls and its short connections over HTTP, and the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_wechat = {
	.name = "wechat",
	.title = "WeChat",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
