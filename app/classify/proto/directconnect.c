// SPDX-License-Identifier: BSD-3-Clause
// Direct Connect: NMDC ("$Command parameters|") and ADC ("FCMD parameters\n"), hubs and clients.
#include "classify/app_proto.h"
#include "pipeline/vocab/octets.h"

// A hub or a client begins with $Lock: the lock, then who it is after " Pk=". Locks without it
// exist (old hubs); then the lock has to be one: ASCII
// without a blank.
static enum verify verify(const struct probe *probe)
{
	const uint8_t *end = memchr(probe->bytes, '|', probe->length);
	const uint8_t *at = probe->bytes + 6;

	if (!end)
		return probe->length < 512 ? VERIFY_MORE : VERIFY_NO;
	if (octets_have(at, (uint32_t)(end - at), " Pk="))
		return VERIFY_YES;
	for (const uint8_t *i = at; i < end; i++)
		if (*i <= ' ' || *i >= 0x7f)
			return VERIFY_NO;
	return end - at >= 16 ? VERIFY_PARTIAL : VERIFY_NO;
}

const struct app_proto app_proto_directconnect = {
	.name = "directconnect",
	.title = "Direct Connect (NMDC, ADC)",
	.group = "file-sharing",
	.category = APP_CATEGORY_P2P,
	.verify = verify,
	.tcp_ports = {411, 412, 1511},
	.udp_ports = {412},
};
