// SPDX-License-Identifier: BSD-3-Clause
// DHCP (RFC 2131 2, 3): the fixed head of BOOTP, then a magic cookie. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_dhcp = {
	.name = "dhcp",
	.title = "DHCP",
	.group = "discovery",
	.category = APP_CATEGORY_NETWORK,
	.udp_ports = {67, 68},
};
