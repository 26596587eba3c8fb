// SPDX-License-Identifier: BSD-3-Clause
// Tencent Video: by the hosts of its service, which are below qq.com and not QQ.
#include "classify/app_proto.h"

const struct app_proto app_proto_tencent_video = {
	.name = "tencent-video",
	.title = "Tencent Video",
	.group = "streaming",
	.category = APP_CATEGORY_MEDIA,
};
