// SPDX-License-Identifier: BSD-3-Clause
// Tox: peers that find each other by a distributed hash table of their own (toktok.ltd/spec,
// "DHT"; c-toxcore). A packet is a kind, the sender's public key of 32 octets, a nonce of 24, then
// sealed: pings (0, 1) of 25 octets, the question for nodes (2) of 56, its answer (4) of 25 and
// 39 (IPv4) or 51 (IPv6) for each of four nodes at most. Kind and length are 18 bits; believed
// when a second packet of that half has the key's first 64 bits again: 100 bits in all.
#include "classify/app_proto.h"
#include "classify/text.h"

#define KEY       1 // offset
#define SEALED    57
#define IPV4      39
#define IPV6      51
#define NODES     4
#define ZEROS_MAX 4

static bool is_nodes(uint32_t length)
{
	for (uint32_t four = 0; four <= NODES; four++)
		for (uint32_t six = 0; four + six <= NODES; six++)
			if (length == 25 + four * IPV4 + six * IPV6)
				return true;
	return false;
}

// Key and nonce are random: another protocol's numbers and padding are not.
static bool is_random(const uint8_t *at)
{
	uint32_t zeros = 0;

	for (uint32_t i = KEY; i < SEALED; i++)
		zeros += !at[i];
	return zeros <= ZEROS_MAX;
}

static bool is_packet(const struct probe *probe)
{
	if (probe->length < SEALED + 25 || !is_random(probe->bytes))
		return false;
	uint32_t sealed = probe->length - SEALED;

	switch (probe->bytes[0]) {
	case 0:
	case 1: return sealed == 25;
	case 2: return sealed == 56;
	case 4: return is_nodes(sealed);
	default: return false;
	}
}

static enum verify verify(const struct probe *probe)
{
	uint32_t *memo = probe->memo->word, *known = memo + 1 + 2 * (probe->half & 1);

	if (!is_packet(probe))
		return memo[0] ? VERIFY_MORE : VERIFY_NO;
	uint32_t upper = octets_be32(probe->bytes + KEY),
		 lower = octets_be32(probe->bytes + KEY + 4);

	if (upper && known[0] == upper && known[1] == lower)
		return VERIFY_DPI;
	memo[0] = 1;
	known[0] = upper;
	known[1] = lower;
	return VERIFY_MORE;
}

const struct app_proto app_proto_tox = {
	.name = "tox",
	.title = "Tox",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.udp_ports = {33445},
	.tcp_ports = {33445},
};
