// SPDX-License-Identifier: BSD-3-Clause
// Zoom: by the hosts of its service, media by its own frames over UDP.
#include "app_proto.h"

const struct app_proto app_proto_zoom = {
	.name = "zoom",
	.title = "Zoom",
	.group = "conference",
	.category = APP_CATEGORY_IM,
};
