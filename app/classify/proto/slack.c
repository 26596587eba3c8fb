// SPDX-License-Identifier: BSD-3-Clause
// Slack: by the hosts of its service.
#include "classify/app_proto.h"

const struct app_proto app_proto_slack = {
	.name = "slack",
	.title = "Slack",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
