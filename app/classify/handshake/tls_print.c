// SPDX-License-Identifier: BSD-3-Clause
// JA3 and JA4 of a ClientHello, as texts. JA3: the description in salesforce/ja3; JA4: FoxIO's
// technical description of the TLS client fingerprint (BSD 3-Clause; the rest of JA4+ is licensed
// otherwise, and not here). Both leave out the values of RFC 8701.
#include "classify/handshake/tls_hello.h"

struct list {
	uint16_t value[TLS_LIST_MAX];
	unsigned n;
};

// Numbers of two bytes, without GREASE. False: there are more than fit.
static bool read_list(struct text from, struct list *list)
{
	list->n = 0;
	for (uint32_t at = 0; at + 2 <= from.length; at += 2) {
		uint16_t value = octets_be16(from.at + at);

		if (tls_is_grease(value))
			continue;
		if (list->n == TLS_LIST_MAX)
			return false;
		list->value[list->n++] = value;
	}
	return true;
}

// Types of extensions, in the order of the hello.
static bool read_types(struct text rest, struct list *list)
{
	list->n = 0;
	while (rest.length >= 4) {
		uint16_t type = octets_be16(rest.at);

		rest = text_from(rest, 4u + octets_be16(rest.at + 2));
		if (tls_is_grease(type))
			continue;
		if (list->n == TLS_LIST_MAX)
			return false;
		list->value[list->n++] = type;
	}
	return true;
}

// By insertion: lists are short, and at most TLS_LIST_MAX long.
static void sort(struct list *list)
{
	for (unsigned i = 1; i < list->n; i++) {
		uint16_t value = list->value[i];
		unsigned at = i;

		for (; at && list->value[at - 1] > value; at--)
			list->value[at] = list->value[at - 1];
		list->value[at] = value;
	}
}

static char *put_decimal(char *to, unsigned value)
{
	char digits[5];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value && n < sizeof(digits));
	while (n)
		*to++ = digits[--n];
	return to;
}

static char *put_hex(char *to, uint16_t value)
{
	static const char digits[] = "0123456789abcdef";

	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = digits[value >> shift & 15];
	return to;
}

static char *put_decimals(char *to, const struct list *list)
{
	*to++ = ',';
	for (unsigned i = 0; i < list->n; i++) {
		if (i)
			*to++ = '-';
		to = put_decimal(to, list->value[i]);
	}
	return to;
}

static char *put_hexes(char *to, const struct list *list)
{
	for (unsigned i = 0; i < list->n; i++) {
		if (i)
			*to++ = ',';
		to = put_hex(to, list->value[i]);
	}
	return to;
}

static uint32_t end(char *text, char *to)
{
	*to = 0;
	return (uint32_t)(to - text);
}

uint32_t tls_hello_ja3_text(const struct tls_hello *hello, char text[TLS_JA3_TEXT_BYTES])
{
	struct list ciphers, types, groups;
	char *to = put_decimal(text, hello->legacy_version);

	if (!read_list(hello->ciphers, &ciphers) || !read_types(hello->extensions, &types) ||
		!read_list(hello->groups, &groups) || hello->formats.length > TLS_LIST_MAX)
		return end(text, text);
	to = put_decimals(to, &ciphers);
	to = put_decimals(to, &types);
	to = put_decimals(to, &groups);
	*to++ = ',';
	for (uint32_t i = 0; i < hello->formats.length; i++) {
		if (i)
			*to++ = '-';
		to = put_decimal(to, hello->formats.at[i]);
	}
	return end(text, to);
}

static const char *version_word(uint16_t version)
{
	switch (version) {
	case 0x0304: return "13";
	case 0x0303: return "12";
	case 0x0302: return "11";
	case 0x0301: return "10";
	case 0x0300: return "s3";
	case 0x0002: return "s2";
	case 0xfeff: return "d1";
	case 0xfefd: return "d2";
	case 0xfefc: return "d3";
	default: return "00";
	}
}

static bool is_alphanumeric(uint8_t byte)
{
	return text_is_letter(byte) || octets_digit(byte);
}

// First and last character of the first protocol; of one that begins or ends otherwise, those of
// its bytes in hexadecimal digits.
static void put_protocol(struct text protocol, char to[2])
{
	static const char digits[] = "0123456789abcdef";

	to[0] = to[1] = '0';
	if (!protocol.length)
		return;
	uint8_t first = protocol.at[0], last = protocol.at[protocol.length - 1];
	bool plain = is_alphanumeric(first) && is_alphanumeric(last);

	to[0] = plain ? (char)first : digits[first >> 4];
	to[1] = plain ? (char)last : digits[last & 15];
}

static void put_count(unsigned count, char to[2])
{
	if (count > 99)
		count = 99;
	to[0] = (char)('0' + count / 10);
	to[1] = (char)('0' + count % 10);
}

bool tls_hello_ja4_a(const struct tls_hello *hello, char text[TLS_JA4_A_BYTES + 1])
{
	struct list ciphers, types, signatures;
	const char *version = version_word(tls_hello_version(hello));

	text[0] = 0;
	if (!read_list(hello->ciphers, &ciphers) || !read_types(hello->extensions, &types) ||
		!read_list(hello->signatures, &signatures))
		return false;
	text[0] = (char)hello->carrier;
	text[1] = version[0];
	text[2] = version[1];
	text[3] = hello->asks_name ? 'd' : 'i';
	put_count(ciphers.n, text + 4);
	put_count(types.n, text + 6);
	put_protocol(tls_hello_protocol(hello), text + 8);
	text[TLS_JA4_A_BYTES] = 0;
	return true;
}

uint32_t tls_hello_ja4_b(const struct tls_hello *hello, char text[TLS_JA4_TEXT_BYTES])
{
	struct list ciphers;

	if (!read_list(hello->ciphers, &ciphers))
		return end(text, text);
	sort(&ciphers);
	return end(text, put_hexes(text, &ciphers));
}

// Without the name and ALPN, which the first part tells of: they change with the place asked. The
// signature algorithms keep their order.
uint32_t tls_hello_ja4_c(const struct tls_hello *hello, char text[TLS_JA4_TEXT_BYTES])
{
	struct list types, signatures;
	unsigned n = 0;
	char *to = text;

	if (!read_types(hello->extensions, &types) || !read_list(hello->signatures, &signatures))
		return end(text, text);
	for (unsigned i = 0; i < types.n; i++)
		if (types.value[i] != 0 && types.value[i] != 16)
			types.value[n++] = types.value[i];
	types.n = n;
	sort(&types);
	to = put_hexes(to, &types);
	if (types.n && signatures.n) {
		*to++ = '_';
		to = put_hexes(to, &signatures);
	}
	return end(text, to);
}
