// SPDX-License-Identifier: BSD-3-Clause
// Mumble: control over TLS, voice over UDP, whose ping has the server's version.
#include "app_proto.h"

const struct app_proto app_proto_mumble = {
	.name = "mumble",
	.title = "Mumble",
	.group = "voice",
	.category = APP_CATEGORY_IM,
	.tcp_ports = {64738},
	.udp_ports = {64738},
};
