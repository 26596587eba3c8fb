// SPDX-License-Identifier: BSD-3-Clause
// imo: chat by its hosts, calls by their own frames over UDP.
#include "app_proto.h"

const struct app_proto app_proto_imo = {
	.name = "imo",
	.title = "imo",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
