// SPDX-License-Identifier: BSD-3-Clause
// Tox: peers that find each other by a distributed hash table of their own.
#include "app_proto.h"

const struct app_proto app_proto_tox = {
	.name = "tox",
	.title = "Tox",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
