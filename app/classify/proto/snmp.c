// SPDX-License-Identifier: BSD-3-Clause
// SNMP (RFC 1157, 3416, 3412): a message in BER, its version, a community or the header of version
// 3. By signatures alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_snmp = {
	.name = "snmp",
	.title = "SNMP",
	.group = "management",
	.category = APP_CATEGORY_NETWORK,
	.udp_ports = {161, 162},
};
