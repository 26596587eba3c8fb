// SPDX-License-Identifier: BSD-3-Clause
// IKE (RFC 2408 3.1, RFC 7296 3.1): the first message of an exchange, nobody's id yet; on port 4500
// behind four octets of zero (RFC 3948 2.2). By signatures alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_ipsec = {
	.name = "ipsec",
	.title = "IPsec (IKE)",
	.group = "vpn",
	.category = APP_CATEGORY_NETWORK,
	.udp_ports = {500, 4500},
};
