// SPDX-License-Identifier: BSD-3-Clause
// WebDAV (RFC 4918): HTTP whose methods, or whose status 207, nothing else has. By signatures
// alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_webdav = {
	.name = "webdav",
	.title = "WebDAV",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
};
