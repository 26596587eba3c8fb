// SPDX-License-Identifier: BSD-3-Clause
// STUN (RFC 8489) and TURN (RFC 8656): how calls find their way through NAT.
#include "app_proto.h"

const struct app_proto app_proto_stun = {
	.name = "stun",
	.title = "STUN and TURN",
	.group = "voice",
	.category = APP_CATEGORY_NETWORK,
	.carrier = true,
	.tcp_ports = {3478},
	.udp_ports = {3478},
};
