// SPDX-License-Identifier: BSD-3-Clause
// VNC (RFC 6143 7.1.1): both sides begin with "RFB", a version and a line's end. By a signature
// alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_vnc = {
	.name = "vnc",
	.title = "VNC",
	.group = "remote-access",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {5900, 5901},
};
