// SPDX-License-Identifier: BSD-3-Clause
// Syncthing: local discovery (version 4). Transfers are TLS and named by their ALPN elsewhere.
#include "app_proto.h"

const struct app_proto app_proto_syncthing = {
	.name = "syncthing",
	.title = "Syncthing",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.alpns = {"bep/1.0"},
	.tcp_ports = {22000},
	.udp_ports = {21027, 22000},
};
