// SPDX-License-Identifier: BSD-3-Clause
// BitTorrent.
#include <string.h>
#include "app_proto.h"

// BEP 3: 0x13 "BitTorrent protocol", 8 reserved bytes, the info hash, then the peer id.
static enum verify verify(const struct probe *probe)
{
	return probe->length >= 48 ? VERIFY_YES : VERIFY_DPI;
}

const struct app_proto app_proto_bittorrent = {
	.name = "bittorrent",
	.title = "BitTorrent",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.tcp_ports = {6881, 6882, 6883, 6884, 6885, 6886, 6887, 51413},
	.udp_ports = {6881, 51413},
};
