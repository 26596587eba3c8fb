// SPDX-License-Identifier: BSD-3-Clause
// Yahoo! Messenger: YMSG, on any port and as the body of an HTTP POST. Header of 20 bytes, big
// endian: "YMSG", version, vendor, length of the body, service, status, session; the body is a
// list of keys and values, each ended by C0 80 (libyahoo2's protocol description).
#include "classify/app_proto.h"
#include "classify/text.h"

#define HEADER_BYTES 20
#define VERSION_MAX  0x66 // 0x13 was the last of the original client

// 9 and 11 put the number into the other byte.
static bool is_version(const uint8_t *at)
{
	return (at[0] == 0 && at[1] && at[1] <= VERSION_MAX) ||
	       (at[1] == 0 && at[0] && at[0] <= VERSION_MAX);
}

// A key is a decimal number.
static bool begins_with_key(struct text body)
{
	uint32_t digits = 0;

	while (digits < body.length && digits < 6 && octets_digit(body.at[digits]))
		digits++;
	if (digits == body.length)
		return true; // cut off inside the key
	return digits && body.at[digits] == 0xc0;
}

// Where the message stands; behind an HTTP header if there is one.
static struct text message_of(struct text half)
{
	if (!text_begins(half, "POST "))
		return half;
	for (; half.length >= 4; half = text_from(half, 1))
		if (!memcmp(half.at, "\r\n\r\n", 4))
			return text_from(half, 4);
	return text_from(half, half.length);
}

static enum verify verify_half(struct text half)
{
	struct text message = message_of(half);

	if (message.length < 4)
		return VERIFY_MORE;
	if (memcmp(message.at, "YMSG", 4))
		return VERIFY_NO;
	if (message.length < HEADER_BYTES) // as a whole body's beginning the name is enough
		return message.at == half.at ? VERIFY_MORE : VERIFY_DPI;
	if (!is_version(message.at + 4))
		return VERIFY_NO;
	uint32_t length = octets_be16(message.at + 8);
	struct text body = text_from(message, HEADER_BYTES);

	if (body.length > length)
		body.length = length;
	if (!length)
		return VERIFY_YES;
	if (!body.length)
		return VERIFY_MORE;
	if (!begins_with_key(body))
		return VERIFY_NO;
	return VERIFY_YES;
}

static enum verify verify(const struct probe *probe)
{
	return verify_half(probe_text(probe));
}

const struct app_proto app_proto_yahoo = {
	.name = "yahoo",
	.title = "Yahoo! Messenger",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.tcp_ports = {5050},
};
