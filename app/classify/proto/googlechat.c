// SPDX-License-Identifier: BSD-3-Clause
// Google's Hangouts, Chat and Meet: by the hosts of their service.
#include "classify/app_proto.h"

const struct app_proto app_proto_googlechat = {
	.name = "googlechat",
	.title = "Google Chat and Meet",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
