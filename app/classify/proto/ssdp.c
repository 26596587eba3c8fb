// SPDX-License-Identifier: BSD-3-Clause
// SSDP (UPnP Device Architecture, 1.3): HTTP over datagrams, to nobody's path. By signatures alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_ssdp = {
	.name = "ssdp",
	.title = "SSDP (UPnP)",
	.group = "discovery",
	.category = APP_CATEGORY_NETWORK,
	.udp_ports = {1900},
};
