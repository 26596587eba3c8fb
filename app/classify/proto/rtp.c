// SPDX-License-Identifier: BSD-3-Clause
// RTP and RTCP (RFC 3550), sealed or not (RFC 3711): media of calls, whoever's they are. Nothing is
// asked here: they are looked for in each datagram flow that is unknown, with a memo of the flow's
// (app/classify/media.h).
#include "classify/app_proto.h"

const struct app_proto app_proto_rtp = {
	.name = "rtp",
	.title = "RTP and RTCP",
	.group = "voice",
	.category = APP_CATEGORY_MEDIA,
	.carrier = true,
	.media = true,
};
