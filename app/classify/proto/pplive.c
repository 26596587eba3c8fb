// SPDX-License-Identifier: BSD-3-Clause
// PPLive (PPTV): video from peers, by its hosts and by its datagrams, known from what clients send
// (no specification is public; libprotoident and nDPI know the octets): 0xe9 0x03, 0x41 or 0x42,
// 0x01; or 0x1c 0x1c 0x32 0x01 (Xiaona et al.). One fixes 32 bits, a hint; both sides 64.
#include "classify/app_proto.h"
#include "pipeline/vocab/octets.h"

static bool is_datagram(const struct probe *probe)
{
	if (probe->length < 8)
		return false;
	uint32_t begin = octets_be32(probe->bytes);

	return begin == 0xe9034101 || begin == 0xe9034201 || begin == 0x1c1c3201;
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *halves = probe->memo->word; // what each has said
	unsigned half = probe->half & 1;

	if (!is_datagram(probe))
		return VERIFY_NO;
	halves[half] = octets_be32(probe->bytes);
	return halves[!half] >> 16 == halves[half] >> 16 ? VERIFY_DPI : VERIFY_PARTIAL;
}

const struct app_proto app_proto_pplive = {
	.name = "pplive",
	.title = "PPLive",
	.group = "streaming",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.udp_ports = {5041, 8303},
};
