// SPDX-License-Identifier: BSD-3-Clause
// Discord: chat by its hosts; voice over UDP (discord.com/developers, "Voice", "IP Discovery"):
// the client asks for its own address with type 1, length 70, SSRC, an address of 64 octets and a
// port, all zero; type 2 is the answer, the address as text. Keepalives are 0x1337cafe and a
// counter (reverse engineering of clients, as in nDPI and WebRTC's Discord fork).
// Discovery: 74 octets of which 66 are zero, or text and zeros. Keepalive: 40 bits and its length;
// the counter begins at zero, in either order of octets. Until 2021 type and length were not there:
// 70 octets; of these the server's answer is known by the text, and by the zeros up to the port.
#include "classify/app_proto.h"
#include "classify/text.h"

#define DISCOVERY 74
#define ADDRESS   8 // offset
#define PORT      72
#define KEEPALIVE 8
#define OLD       4 // less: type and length

static bool is_zero(const uint8_t *at, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (at[i])
			return false;
	return true;
}

// "192.0.2.1", "2001:db8::1"; the rest of the field is zero.
static bool is_address(const uint8_t *at)
{
	uint32_t i = 0;

	while (i < PORT - ADDRESS && (octets_hex(at[i]) >= 0 || at[i] == '.' || at[i] == ':'))
		i++;
	return i >= 2 && i < PORT - ADDRESS && is_zero(at + i, PORT - ADDRESS - i);
}

// Without type and length there is less to go by: IPv4 as it was, in full, not any name in
// hexadecimal digits. A device that tells its address in a field of that size looks the same.
static bool is_dotted(const uint8_t *at)
{
	unsigned dots = 0, digits = 0;

	for (; *at == '.' || octets_digit(*at); at++) {
		if (*at != '.')
			digits++;
		else if (!digits || digits > 3)
			return false;
		else
			digits = 0, dots++;
	}
	return dots == 3 && digits && digits <= 3;
}

static enum verify verify(const struct probe *probe)
{
	const uint8_t *at = probe->bytes;

	if (probe->length == KEEPALIVE)
		return octets_be32(at) == 0x1337cafe && (!at[7] || !at[4]) ? VERIFY_DPI : VERIFY_NO;
	if (probe->length == DISCOVERY - OLD)
		return is_address(at + ADDRESS - OLD) && is_dotted(at + ADDRESS - OLD) &&
				       octets_be16(at + PORT - OLD)
			       ? VERIFY_DPI
			       : VERIFY_NO;
	if (probe->length != DISCOVERY || at[0] || octets_be16(at + 2) != DISCOVERY - 4)
		return VERIFY_NO;
	if (at[1] == 1)
		return is_zero(at + ADDRESS, DISCOVERY - ADDRESS) ? VERIFY_YES : VERIFY_NO;
	return at[1] == 2 && is_address(at + ADDRESS) ? VERIFY_YES : VERIFY_NO;
}

const struct app_proto app_proto_discord = {
	.name = "discord",
	.title = "Discord",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
};
