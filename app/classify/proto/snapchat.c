// SPDX-License-Identifier: BSD-3-Clause
// Snapchat: by the hosts of its service; and its calls, which begin as Google's QUIC of version
// Q046 to nobody's name (its CHLO, which is in clear, has no SNI) and go on as RTP or RTCP in the
// same flow (nDPI saw it; RFC 7983 tells them apart: in Q046 every packet has the bit 0x40, in RTP
// the first two bits are 10). The form of the CHLO fixes 64 bits; what follows two, and a payload
// type that is given out.
#include "classify/app_proto.h"
#include "classify/text.h"

#define Q046       0x51303436
#define CHLO_MIN   256
#define RTP_MIN    12
#define HAVE_CHLO  1 // in the memo
#define RTCP_FIRST 200
#define RTCP_LAST  204

static bool is_rtp(struct text datagram)
{
	if (datagram.length < RTP_MIN || datagram.at[0] >> 6 != 2)
		return false;
	uint8_t octet = datagram.at[1], type = octet & 0x7f;

	return (octet >= RTCP_FIRST && octet <= RTCP_LAST) || type <= 34 || type >= 96;
}

static enum verify verify(const struct probe *probe)
{
	struct text datagram = probe_text(probe);
	uint32_t *memo = probe->memo->word;

	if (memo[0] == HAVE_CHLO)
		return is_rtp(datagram) ? VERIFY_DPI : VERIFY_MORE;
	if (datagram.length < CHLO_MIN || octets_be32(datagram.at + 1) != Q046 ||
		!octets_have(datagram.at, datagram.length, "CHLO") ||
		memmem(datagram.at, datagram.length, "SNI", 4)) // with its 0
		return VERIFY_NO;
	memo[0] = HAVE_CHLO;
	return VERIFY_MORE;
}

const struct app_proto app_proto_snapchat = {
	.name = "snapchat",
	.title = "Snapchat",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
