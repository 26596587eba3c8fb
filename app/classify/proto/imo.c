// SPDX-License-Identifier: BSD-3-Clause
// The messenger imo: chat by its hosts, calls by their own frames over UDP, known from what clients
// send (no specification is public; nDPI knows the same octets). A report is 9, 2 and a time in
// milliseconds of 64 bits, little endian; 9, 3 sends it back. There may be a 0 before it. The time
// is that since the call began, or since 1970: its upper half is below 512. 39 bits and the length,
// 48 with it.
#include "classify/app_proto.h"
#include "classify/text.h"

#define REPORT    10
#define UPPER_MAX 0x1ff

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length == REPORT + 1 && !at[0])
		at++;
	else if (probe->length != REPORT)
		return VERIFY_NO;
	if (at[0] != 9 || (at[1] != 2 && at[1] != 3) || octets_le32(at + 6) > UPPER_MAX)
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
