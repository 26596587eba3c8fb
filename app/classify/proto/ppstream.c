// SPDX-License-Identifier: BSD-3-Clause
// PPStream: video from peers; UDP frames with their own length, and HTTP.
#include "app_proto.h"

const struct app_proto app_proto_ppstream = {
	.name = "ppstream",
	.title = "PPStream",
	.group = "streaming",
	.category = APP_CATEGORY_P2P,
};
