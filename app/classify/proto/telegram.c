// SPDX-License-Identifier: BSD-3-Clause
// Telegram: MTProto over TCP, calls over UDP.
#include "app_proto.h"

const struct app_proto app_proto_telegram = {
	.name = "telegram",
	.title = "Telegram",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
