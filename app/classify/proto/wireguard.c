// SPDX-License-Identifier: BSD-3-Clause
// WireGuard (Donenfeld, 5.4): a kind, three reserved octets, and of each handshake message one
// length. By signatures alone; 32 bits and the length.
#include "classify/app_proto.h"

const struct app_proto app_proto_wireguard = {
	.name = "wireguard",
	.title = "WireGuard",
	.group = "vpn",
	.category = APP_CATEGORY_NETWORK,
	.udp_ports = {51820},
};
