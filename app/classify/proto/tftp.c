// SPDX-License-Identifier: BSD-3-Clause
// TFTP requests (RFC 1350 5, options RFC 2347): opcode 1 or 2, file name, mode, then options in
// pairs, all ended by NUL, to the last byte. The transfer that follows uses ports of its own.
#include "app_proto.h"
#include "text.h"

static const char *const modes[] = {"octet", "netascii", "mail", NULL};

static enum verify verify(const struct probe *probe)
{
	struct text rest = {probe->bytes, probe->length}, name, mode;
	unsigned words = 0;

	if (rest.length < 9 || rest.at[0] || (rest.at[1] != 1 && rest.at[1] != 2) ||
		rest.at[rest.length - 1])
		return VERIFY_NO;
	rest = text_from(rest, 2);
	name = text_take(&rest, 0);
	mode = text_take(&rest, 0);
	if (!name.length || !text_is_printable(name) || !text_is_among(mode, modes))
		return VERIFY_NO;
	for (; rest.length; words++)
		if (!text_is_printable(text_take(&rest, 0)))
			return VERIFY_NO;
	return words % 2 ? VERIFY_NO : VERIFY_YES;
}

const struct app_proto app_proto_tftp = {
	.name = "tftp",
	.title = "TFTP",
	.group = "file-transfer",
	.category = APP_CATEGORY_FILE,
	.verify = verify,
	.udp_ports = {69},
};
