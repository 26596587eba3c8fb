// SPDX-License-Identifier: BSD-3-Clause
// Threema: its own handshake over TCP, and the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_threema = {
	.name = "threema",
	.title = "Threema",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
