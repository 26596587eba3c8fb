// SPDX-License-Identifier: BSD-3-Clause
// Signal: by the hosts of its service.
#include "classify/app_proto.h"

const struct app_proto app_proto_signal = {
	.name = "signal",
	.title = "Signal",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
