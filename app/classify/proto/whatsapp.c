// SPDX-License-Identifier: BSD-3-Clause
// WhatsApp: a Noise handshake with a prologue of its own, and the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_whatsapp = {
	.name = "whatsapp",
	.title = "WhatsApp",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
