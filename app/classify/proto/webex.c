// SPDX-License-Identifier: BSD-3-Clause
// Webex: by the hosts of its service.
#include "classify/app_proto.h"

const struct app_proto app_proto_webex = {
	.name = "webex",
	.title = "Webex",
	.group = "conference",
	.category = APP_CATEGORY_IM,
};
