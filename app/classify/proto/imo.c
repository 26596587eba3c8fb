// SPDX-License-Identifier: BSD-3-Clause
// imo: chat by its hosts, calls by their own frames over UDP, known from what clients send (no
// specification is public). A report is 10 octets: 9, 2 and a time in milliseconds of 64 bits,
// little endian, since the call began: its upper half is zero. 48 bits and the length.
#include "app_proto.h"
#include "text.h"

#define REPORT 10

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length != REPORT || octets_be16(at) != 0x0902 || octets_le32(at + 6))
		return VERIFY_NO;
	return octets_le32(at + 2) ? VERIFY_DPI : VERIFY_NO;
}

const struct app_proto app_proto_imo = {
	.name = "imo",
	.title = "imo",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
