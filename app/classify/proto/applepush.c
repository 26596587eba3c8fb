// SPDX-License-Identifier: BSD-3-Clause
// Apple's push notifications: TLS on TCP port 5223 to hosts of 17.0.0.0/8, the network that Apple
// has whole and names for this service to those who write firewall rules (support.apple.com/102266,
// read in 2026-11). Its connections live for days and are mostly joined midway, when no name is to
// be seen any more.
#include "classify/app_proto.h"
#include "classify/handshake/tls_record.h"

#define PORT_PUSH 5223

static bool is_apple(const uint8_t address[16])
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address, v4, sizeof(v4)) && address[12] == 17;
}

// Either end: picked up midway, who answered is not known.
static enum verify verify(const struct probe *probe)
{
	const struct flow_ends *ends = probe->ends;

	if (!tls_is_record(probe_text(probe)))
		return VERIFY_NO;
	for (unsigned half = 0; half < 2; half++)
		if (ends->port[half] == PORT_PUSH && is_apple(ends->address[half]))
			return VERIFY_DPI;
	return VERIFY_NO;
}

const struct app_proto app_proto_applepush = {
	.name = "applepush",
	.title = "Apple push notifications",
	.group = "notifications",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
};
