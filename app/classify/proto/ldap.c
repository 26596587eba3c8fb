// SPDX-License-Identifier: BSD-3-Clause
// LDAP (RFC 4511 4.2): a bind, in BER. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_ldap = {
	.name = "ldap",
	.title = "LDAP",
	.group = "directory",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {389},
};
