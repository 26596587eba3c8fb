// SPDX-License-Identifier: BSD-3-Clause
// Jami (once Ring): finds its peers by a distributed hash table of its own, OpenDHT.
#include "app_proto.h"

const struct app_proto app_proto_jami = {
	.name = "jami",
	.title = "Jami",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
