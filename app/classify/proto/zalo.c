// SPDX-License-Identifier: BSD-3-Clause
// Zalo: by the hosts of its service.
#include "classify/app_proto.h"

const struct app_proto app_proto_zalo = {
	.name = "zalo",
	.title = "Zalo",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
