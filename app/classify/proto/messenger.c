// SPDX-License-Identifier: BSD-3-Clause
// Facebook Messenger: by the hosts of its service.
#include "classify/app_proto.h"

const struct app_proto app_proto_messenger = {
	.name = "messenger",
	.title = "Facebook Messenger",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
