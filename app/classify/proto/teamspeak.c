// SPDX-License-Identifier: BSD-3-Clause
// TeamSpeak 2 and 3: voice and chat over UDP.
#include "app_proto.h"

const struct app_proto app_proto_teamspeak = {
	.name = "teamspeak",
	.title = "TeamSpeak",
	.group = "voice",
	.category = APP_CATEGORY_IM,
	.udp_ports = {9987, 8767},
};
