// SPDX-License-Identifier: BSD-3-Clause
// SSH: RFC 4253 4.2, "SSH-protoversion-softwareversion SP comments CR LF"; the protocol versions
// are 2.0, 1.99 and 1.x.
#include "classify/app_proto.h"
#include "classify/text.h"

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe), line;
	bool whole = text_take_line(&half, &line);

	if (!whole)
		line = half;
	if (line.length < 9)
		return whole ? VERIFY_NO : VERIFY_MORE;
	bool version = !memcmp(line.at, "SSH-2.0-", 8) ||
		       (!memcmp(line.at, "SSH-1.", 6) && octets_digit(line.at[6]));

	if (!version || line.length > 255 || !text_is_printable(line))
		return VERIFY_NO;
	return whole ? VERIFY_YES : VERIFY_DPI;
}

const struct app_proto app_proto_ssh = {
	.name = "ssh",
	.title = "SSH",
	.group = "remote-access",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.tcp_ports = {22},
};
