// SPDX-License-Identifier: BSD-3-Clause
// Viber: its own frames over TCP and UDP, and the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_viber = {
	.name = "viber",
	.title = "Viber",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
