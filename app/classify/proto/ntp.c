// SPDX-License-Identifier: BSD-3-Clause
// NTP (RFC 5905 7.3): 48 octets on port 123, mode and version in the first, then what a clock may
// say of itself. The port is part of the proof.
#include "classify/app_proto.h"

#define PORT        123
#define HEADER      48
#define STRATUM_MAX 16
#define POLL_MAX    17

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length < HEADER || (probe->sport != PORT && probe->dport != PORT))
		return VERIFY_NO;
	unsigned version = at[0] >> 3 & 7, mode = at[0] & 7;
	// precision is that of a fraction of a second, or not reported
	bool clock = at[1] <= STRATUM_MAX && at[2] <= POLL_MAX && (at[3] >= 0xd0 || !at[3]);
	// its distance from the root in seconds, with a sign, and how far off that may be: 16.16
	bool near = (!at[4] || at[4] == 0xff) && !at[8];

	return version >= 1 && version <= 4 && mode >= 1 && mode <= 5 && clock && near ? VERIFY_DPI
										       : VERIFY_NO;
}

const struct app_proto app_proto_ntp = {
	.name = "ntp",
	.title = "NTP",
	.group = "time",
	.category = APP_CATEGORY_NETWORK,
	.verify = verify,
	.udp_ports = {PORT},
};
