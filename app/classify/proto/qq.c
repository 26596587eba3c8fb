// SPDX-License-Identifier: BSD-3-Clause
// QQ (Tencent): the OICQ protocol over UDP and TCP, and the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_qq = {
	.name = "qq",
	.title = "QQ",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
