// SPDX-License-Identifier: BSD-3-Clause
// Jami (once Ring): finds its peers by a distributed hash table of its own, OpenDHT, whose messages
// are MessagePack maps with keys of one letter; "v" names the software, "RNG1" (56 bits).
#include "classify/app_proto.h"

const struct app_proto app_proto_jami = {
	.name = "jami",
	.title = "Jami",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
