// SPDX-License-Identifier: BSD-3-Clause
// Redis (RESP): a command as an array of strings. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_redis = {
	.name = "redis",
	.title = "Redis",
	.group = "database",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {6379},
};
