// SPDX-License-Identifier: BSD-3-Clause
// Aimini: files from peers, by its hosts and by its datagrams, known from what clients send
// (OpenDPI and nDPI know the lengths): a type of 16 bits whose datagrams have one length. One fixes
// some 20 bits; two in a row are a hint, three are enough.
#include "classify/app_proto.h"
#include "pipeline/vocab/octets.h"

#define LONG_MIN 101 // of type 0x0115, but for one of 88

static bool is_datagram(const struct probe *probe)
{
	// Answers of STUN (0x0101 and on) say at 2 how long they are.
	if (probe->length < 16 || octets_be16(probe->bytes + 2) + 20u == probe->length)
		return false;
	switch (octets_be16(probe->bytes)) {
	case 0x010c: return probe->length == 16;
	case 0x01ca: return probe->length == 32;
	case 0x010b: return probe->length == 64;
	case 0x0101: return probe->length == 88;
	case 0x0102: return probe->length == 104;
	case 0x0165:
	case 0x0166:
	case 0x01c9: return probe->length == 136;
	case 0x0115: return probe->length == 88 || probe->length >= LONG_MIN;
	default: return false;
	}
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *in_a_row = probe->memo->word;

	if (!is_datagram(probe)) {
		*in_a_row = 0;
		return VERIFY_NO;
	}
	++*in_a_row;
	return *in_a_row >= 3 ? VERIFY_DPI : *in_a_row == 2 ? VERIFY_PARTIAL : VERIFY_MORE;
}

const struct app_proto app_proto_aimini = {
	.name = "aimini",
	.title = "Aimini",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
};
