// SPDX-License-Identifier: BSD-3-Clause
// MQTT 3.1, 3.1.1 and 5 (OASIS, 3.1): CONNECT has the protocol's name and version. By a signature
// alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_mqtt = {
	.name = "mqtt",
	.title = "MQTT",
	.group = "messaging",
	.category = APP_CATEGORY_NETWORK,
	.tcp_ports = {1883},
};
