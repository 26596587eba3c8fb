// SPDX-License-Identifier: BSD-3-Clause
// Telnet (RFC 854): options are negotiated at first, one after the other. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_telnet = {
	.name = "telnet",
	.title = "Telnet",
	.group = "remote-access",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {23},
};
