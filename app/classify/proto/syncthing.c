// SPDX-License-Identifier: BSD-3-Clause
// Syncthing: local discovery, relays. Transfers and the talk with a relay are TLS or QUIC, and
// known by ALPN (docs.syncthing.net, BEP and relay protocol, and its source).
#include "classify/app_proto.h"

const struct app_proto app_proto_syncthing = {
	.name = "syncthing",
	.title = "Syncthing",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.alpns = {"bep/1.0", "bep-relay"},
	.tcp_ports = {22000},
	.udp_ports = {21027, 22000},
};
