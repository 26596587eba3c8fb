// SPDX-License-Identifier: BSD-3-Clause
// Kontiki: files and video from peers (BBC iPlayer, Sky until 2009, companies since), by its hosts
// and by its datagrams, known from what clients send (OpenDPI and nDPI know the octets): a question
// of four, 02 01 01 00; one of 20 that begins with 2 and ends with 02 04 01 00; one of 16 that
// begins with 2 and ends with 00 00 04 e4. One fixes 40 bits with its length: a hint; two 80.
#include "classify/app_proto.h"
#include "pipeline/vocab/octets.h"

static bool is_datagram(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length == 4)
		return octets_be32(at) == 0x02010100;
	if (probe->length == 20)
		return at[0] == 2 && octets_be32(at + 16) == 0x02040100;
	return probe->length == 16 && at[0] == 2 && octets_be32(at + 12) == 0x000004e4;
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *seen = probe->memo->word;

	if (!is_datagram(probe))
		return VERIFY_NO;
	return seen[0]++ ? VERIFY_DPI : VERIFY_PARTIAL;
}

const struct app_proto app_proto_kontiki = {
	.name = "kontiki",
	.title = "Kontiki",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
};
