// SPDX-License-Identifier: BSD-3-Clause
// Wire: by the hosts of its service.
#include "classify/app_proto.h"

const struct app_proto app_proto_wire = {
	.name = "wire",
	.title = "Wire",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
