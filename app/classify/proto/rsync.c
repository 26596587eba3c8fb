// SPDX-License-Identifier: BSD-3-Clause
// The protocol of rsync's daemon: both sides begin with "@RSYNCD: ", the protocol's version and a
// line's end (rsync(1), "CONNECTING TO AN RSYNC DAEMON", and its source, clientserver). By a
// signature alone.
#include "classify/app_proto.h"

const struct app_proto app_proto_rsync = {
	.name = "rsync",
	.title = "rsync",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
	.tcp_ports = {873},
};
