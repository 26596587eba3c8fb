// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: media of calls, RTP and RTCP (RFC 3550), sealed or not (SRTP and SRTCP, RFC
// 3711: headers stay in clear). A datagram of them has few octets that cannot be others': it is
// believed when several of a half continue one another. What was seen so far is the flow's memo,
// which lies beside the flow: most calls, and all that merely begins as media do, take no state of
// a classifier. Pure but for the memo; any core.
#ifndef SLUICE_MEDIA_H
#define SLUICE_MEDIA_H

#include <stdbool.h>
#include <stdint.h>
#include "classify/media_memo.h"
#include "classify/text.h"

// What the flow has shown with this datagram, rising.
enum media_seen {
	MEDIA_NOTHING,
	MEDIA_BEGINS, // it could be one: a header that fits
	MEDIA_SEALED, // a report with the trailer of SRTCP, 40 bits
	MEDIA_TWO,    // two packets that continue one another; one report in clear
	MEDIA_PROVEN, // three; a report of a stream that was seen; a second report
};

static inline bool media_may_be(struct text datagram)
{
	return datagram.length >= 8 && datagram.at[0] >> 6 == 2;
}
// `announced`: it was said, in a flow in clear, that media come here. The first packet is as good
// as two then, and a report as a second one.
enum media_seen media_look(
	struct media_memo *memo, unsigned half, struct text datagram, bool announced);

#endif
