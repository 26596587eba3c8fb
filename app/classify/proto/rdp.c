// SPDX-License-Identifier: BSD-3-Clause
// Remote Desktop ([MS-RDPBCGR] 2.2.1.1): an X.224 connection request with a cookie or what security
// is asked for. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_rdp = {
	.name = "rdp",
	.title = "Remote Desktop",
	.group = "remote-access",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {3389},
};
