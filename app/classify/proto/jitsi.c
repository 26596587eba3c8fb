// SPDX-License-Identifier: BSD-3-Clause
// Jitsi Meet: by the hosts of the public service.
#include "classify/app_proto.h"

const struct app_proto app_proto_jitsi = {
	.name = "jitsi",
	.title = "Jitsi Meet",
	.group = "conference",
	.category = APP_CATEGORY_IM,
};
