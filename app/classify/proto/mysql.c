// SPDX-License-Identifier: BSD-3-Clause
// MySQL and MariaDB (protocol, HandshakeV10): the server's first packet. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_mysql = {
	.name = "mysql",
	.title = "MySQL",
	.group = "database",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {3306},
};
