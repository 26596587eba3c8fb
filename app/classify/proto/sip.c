// SPDX-License-Identifier: BSD-3-Clause
// SIP (RFC 3261 7): a request line with a SIP address, or a status line. By signatures alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_sip = {
	.name = "sip",
	.title = "SIP",
	.group = "voice",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {5060},
	.udp_ports = {5060},
};
