// SPDX-License-Identifier: BSD-3-Clause
// Dropbox: how its clients look for each other in a local network, JSON by broadcast to port 17500.
// By a signature alone. What they say to the service is TLS.
#include "classify/app_proto.h"

const struct app_proto app_proto_dropbox = {
	.name = "dropbox",
	.title = "Dropbox (LAN sync)",
	.group = "cloud-sync",
	.category = APP_CATEGORY_FILE,
	.udp_ports = {17500},
};
