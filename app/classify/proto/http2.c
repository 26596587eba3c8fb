// SPDX-License-Identifier: BSD-3-Clause
// HTTP/2 in clear: the client's preface is fixed (RFC 9113 3.4), so that the pattern says it all.
#include "classify/app_proto.h"

const struct app_proto app_proto_http2 = {
	.name = "http2",
	.title = "HTTP/2",
	.group = "web",
	.category = APP_CATEGORY_WEB,
	.carrier = true,
};
