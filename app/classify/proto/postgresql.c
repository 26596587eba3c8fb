// SPDX-License-Identifier: BSD-3-Clause
// PostgreSQL (manual, "Message Formats"): the start of a session, or the question for encryption.
// By signatures alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_postgresql = {
	.name = "postgresql",
	.title = "PostgreSQL",
	.group = "database",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {5432},
};
