// SPDX-License-Identifier: BSD-3-Clause
// Skype: the peers' protocol over UDP of the years up to 2017, and the hosts of its service.
#include "app_proto.h"

const struct app_proto app_proto_skype = {
	.name = "skype",
	.title = "Skype",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
