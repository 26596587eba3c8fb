// SPDX-License-Identifier: BSD-3-Clause
// Discord: chat by its hosts, voice by the discovery of the caller's own address.
#include "app_proto.h"

const struct app_proto app_proto_discord = {
	.name = "discord",
	.title = "Discord",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
