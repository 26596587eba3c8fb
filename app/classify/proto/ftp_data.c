// SPDX-License-Identifier: BSD-3-Clause
// FTP data connections (RFC 959 3.2): bytes of a file or a listing, nothing to recognize. They are
// known because the control connection's decoder (ftp.c) expects them.
#include "classify/app_proto.h"

const struct app_proto app_proto_ftp_data = {
	.name = "ftp-data",
	.title = "FTP data",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
	.tcp_ports = {20},
};
