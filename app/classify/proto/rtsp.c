// SPDX-License-Identifier: BSD-3-Clause
// RTSP (RFC 2326, 7826): like HTTP, with a version of its own. By a signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_rtsp = {
	.name = "rtsp",
	.title = "RTSP",
	.group = "streaming",
	.category = APP_CATEGORY_MEDIA,
	.tcp_ports = {554, 8554},
};
