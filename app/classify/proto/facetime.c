// SPDX-License-Identifier: BSD-3-Clause
// Apple's FaceTime and iMessage: by the hosts of their service.
#include "classify/app_proto.h"

const struct app_proto app_proto_facetime = {
	.name = "facetime",
	.title = "FaceTime and iMessage",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
