// SPDX-License-Identifier: BSD-3-Clause
// LINE: chat by its hosts, calls by their own frames over UDP.
#include "app_proto.h"

const struct app_proto app_proto_line = {
	.name = "line",
	.title = "LINE",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
