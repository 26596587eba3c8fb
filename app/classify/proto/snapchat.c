// SPDX-License-Identifier: BSD-3-Clause
// Snapchat: by the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_snapchat = {
	.name = "snapchat",
	.title = "Snapchat",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
