// SPDX-License-Identifier: BSD-3-Clause
// Git's own transport (gitprotocol-pack(5)): a line with its length in four hexadecimal digits,
// "git-upload-pack /project.git\0host=..." and the like. The pattern says all of it.
#include "classify/app_proto.h"

const struct app_proto app_proto_git = {
	.name = "git",
	.title = "Git",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
	.tcp_ports = {9418},
};
