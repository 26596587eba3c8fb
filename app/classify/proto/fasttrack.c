// SPDX-License-Identifier: BSD-3-Clause
// FastTrack (Kazaa, Grokster, iMesh): pings and transfers, as giFT's description gives them. The
// session with a supernode is a cipher from its first byte: 12 and 8 random bytes are no evidence.
#include "classify/app_proto.h"

const struct app_proto app_proto_fasttrack = {
	.name = "fasttrack",
	.title = "FastTrack (Kazaa)",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.tcp_ports = {1214},
	.udp_ports = {1214},
};
