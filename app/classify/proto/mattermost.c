// SPDX-License-Identifier: BSD-3-Clause
// Mattermost: by the hosts of its cloud.
#include "classify/app_proto.h"

const struct app_proto app_proto_mattermost = {
	.name = "mattermost",
	.title = "Mattermost",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
