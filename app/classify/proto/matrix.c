// SPDX-License-Identifier: BSD-3-Clause
// Matrix (Element and others): by the hosts of the public service, and the paths of its HTTP API.
#include "classify/app_proto.h"

const struct app_proto app_proto_matrix = {
	.name = "matrix",
	.title = "Matrix and Element",
	.group = "chat",
	.category = APP_CATEGORY_IM,
};
