// SPDX-License-Identifier: BSD-3-Clause
// Microsoft Teams: by the hosts of its service, calls by STUN with Microsoft's attributes.
#include "classify/app_proto.h"

const struct app_proto app_proto_teams = {
	.name = "teams",
	.title = "Microsoft Teams",
	.group = "conference",
	.category = APP_CATEGORY_IM,
};
