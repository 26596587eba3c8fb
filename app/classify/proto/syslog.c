// SPDX-License-Identifier: BSD-3-Clause
// Syslog (RFC 3164, RFC 5424): a priority, then a date. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_syslog = {
	.name = "syslog",
	.title = "Syslog",
	.group = "management",
	.category = APP_CATEGORY_NETWORK,
	.udp_ports = {514},
};
