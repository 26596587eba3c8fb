// SPDX-License-Identifier: BSD-3-Clause
// Writes IP addresses as text: IPv4 dotted, IPv6 as RFC 5952 says.
#include "base/address_text.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

bool address_is_v4(const uint8_t address[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	return !memcmp(address, mapped, sizeof mapped);
}

void address_text(const uint8_t address[16], char out[ADDRESS_TEXT_BYTES])
{
	size_t n = 0;

	if (!address_is_v4(address)) {
		if (!inet_ntop(AF_INET6, address, out, ADDRESS_TEXT_BYTES))
			out[0] = '\0';
		return;
	}
	for (unsigned i = 12; i < 16; i++) { // inet_ntop goes through snprintf: this is per event
		uint8_t byte = address[i];

		if (byte >= 100)
			out[n++] = (char)('0' + byte / 100);
		if (byte >= 10)
			out[n++] = (char)('0' + byte / 10 % 10);
		out[n++] = (char)('0' + byte % 10);
		out[n++] = i < 15 ? '.' : '\0';
	}
}

const char *mac_text(const uint8_t mac[6], char out[MAC_TEXT_SIZE])
{
	snprintf(out, MAC_TEXT_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		mac[3], mac[4], mac[5]);
	return out;
}
