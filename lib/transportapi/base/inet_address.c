// SPDX-License-Identifier: BSD-3-Clause
// Converts IP addresses between wire, text and socket forms.
#include "transportapi/base/inet_address.h"

#include <errno.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "transportapi/base/wire.h"

#define PORT_BYTES 2

static size_t address_bytes(uint8_t family)
{
	return family == 4 ? 4 : family == 6 ? 16 : 0;
}

static bool is_mapped(const uint8_t address[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

static bool needs_scope(const uint8_t address[16])
{
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

bool tapi_inet_equal(const struct tapi_source *a, const struct tapi_source *b)
{
	return a->family == b->family && a->port == b->port &&
	       memcmp(a->address, b->address, address_bytes(a->family)) == 0;
}

size_t tapi_inet_encode(
	uint8_t out[TAPI_INET_WIRE_BYTES_MAX], const struct tapi_source *address, bool has_port)
{
	const size_t n = address_bytes(address->family);
	uint8_t *p = out;

	if (!n)
		return 0;
	p = tapi_put(p, address->address, n);
	if (has_port)
		p = tapi_put16(p, address->port);
	return (size_t)(p - out);
}

enum tapi_result tapi_inet_check(const struct tapi_source *address, bool has_port)
{
	if (address->family == 6 && (is_mapped(address->address) || needs_scope(address->address)))
		return TAPI_EADDR;
	return has_port && !address->port ? TAPI_EADDR : TAPI_OK;
}

enum tapi_result tapi_inet_decode(
	struct tapi_source *out, const uint8_t *octets, size_t length, bool has_port)
{
	const size_t n = has_port && length >= PORT_BYTES ? length - PORT_BYTES : length;

	*out = (struct tapi_source){0};
	if (n != 4 && n != 16)
		return TAPI_EADDR;
	if (n == length && has_port)
		return TAPI_EADDR;
	out->family = n == 4 ? 4 : 6;
	memcpy(out->address, octets, n);
	if (has_port)
		out->port = tapi_get16(octets + n);
	return tapi_inet_check(out, has_port);
}

enum tapi_result tapi_inet_print(char *out, size_t size, const char *scheme,
	const struct tapi_source *address, bool has_port)
{
	const bool v6 = address->family == 6;
	char text[INET6_ADDRSTRLEN], port[8] = "";
	int n;

	if (size)
		out[0] = '\0';
	if (!address_bytes(address->family) ||
		!inet_ntop(v6 ? AF_INET6 : AF_INET, address->address, text, sizeof(text)))
		return TAPI_EADDR;
	if (has_port)
		snprintf(port, sizeof(port), ":%u", (unsigned)address->port);
	n = snprintf(out, size, "%s://%s%s%s%s", scheme, v6 ? "[" : "", text, v6 ? "]" : "", port);
	return n > 0 && (size_t)n < size ? TAPI_OK : TAPI_EADDR;
}

// Decimal, no sign, no leading zero, nothing after it; 0 is none.
static uint16_t parse_port(const char *text)
{
	uint32_t port = 0;

	for (unsigned i = 0; text[i]; i++) {
		if (text[i] < '0' || text[i] > '9' || i == 5)
			return 0;
		port = port * 10 + (uint32_t)(text[i] - '0');
		if (!port)
			return 0;
	}
	return port > UINT16_MAX ? 0 : (uint16_t)port;
}

static enum tapi_result parse_address(struct tapi_source *out, const char *text, size_t n, bool v6)
{
	char address[INET6_ADDRSTRLEN];

	if (!n || n >= sizeof(address))
		return TAPI_EADDR;
	memcpy(address, text, n);
	address[n] = '\0';
	out->family = v6 ? 6 : 4;
	return inet_pton(v6 ? AF_INET6 : AF_INET, address, out->address) == 1 ? TAPI_OK
									      : TAPI_EADDR;
}

enum tapi_result tapi_inet_parse_endpoint(
	struct tapi_source *out, const char *text, uint16_t default_port)
{
	const char *colon = strchr(text, ':'), *end;
	const bool bracket = text[0] == '[', v6 = bracket || (colon && strchr(colon + 1, ':'));
	enum tapi_result result;

	*out = (struct tapi_source){.port = default_port};
	text += bracket;
	end = bracket ? strchr(text, ']') : v6 || !colon ? text + strlen(text) : colon;
	if (!end)
		return TAPI_EADDR;
	result = parse_address(out, text, (size_t)(end - text), v6);
	if (result)
		return result;
	end += bracket;
	if (*end == ':') {
		out->port = parse_port(end + 1);
		if (!out->port)
			return TAPI_EADDR;
	} else if (*end) {
		return TAPI_EADDR;
	}
	return tapi_inet_check(out, false);
}

enum tapi_result tapi_inet_parse(
	struct tapi_source *out, const char *text, const char *scheme, bool has_port)
{
	const size_t n = strlen(scheme);
	enum tapi_result result;

	*out = (struct tapi_source){0};
	if (strncmp(text, scheme, n) != 0 || strncmp(text + n, "://", 3) != 0)
		return TAPI_EADDR;
	text += n + 3;
	result = tapi_inet_parse_endpoint(out, text, 0);
	if (result)
		return result;
	// an IPv6 address stands in brackets here
	if ((out->family == 6) != (text[0] == '[') || (!has_port && out->port))
		return TAPI_EADDR;
	return tapi_inet_check(out, has_port);
}

socklen_t tapi_inet_to_sockaddr(struct sockaddr_storage *out, const struct tapi_source *address)
{
	if (address->family == 4) {
		struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(address->port)};

		memcpy(&in.sin_addr, address->address, 4);
		memcpy(out, &in, sizeof(in));
		return sizeof(in);
	}
	if (address->family == 6) {
		struct sockaddr_in6 in6 = {
			.sin6_family = AF_INET6, .sin6_port = htons(address->port)};

		memcpy(&in6.sin6_addr, address->address, 16);
		memcpy(out, &in6, sizeof(in6));
		return sizeof(in6);
	}
	return 0;
}

bool tapi_inet_from_sockaddr(
	struct tapi_source *out, const struct sockaddr *address, socklen_t length)
{
	*out = (struct tapi_source){0};
	if (length >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET) {
		struct sockaddr_in in;

		memcpy(&in, address, sizeof(in));
		out->family = 4;
		memcpy(out->address, &in.sin_addr, 4);
		out->port = ntohs(in.sin_port);
		return true;
	}
	if (length >= sizeof(struct sockaddr_in6) && address->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;

		memcpy(&in6, address, sizeof(in6));
		out->family = 6;
		memcpy(out->address, &in6.sin6_addr, 16);
		out->port = ntohs(in6.sin6_port);
		if (is_mapped(out->address)) {
			out->family = 4;
			memmove(out->address, out->address + 12, 4);
			memset(out->address + 4, 0, 12);
		}
		return true;
	}
	return false;
}

void tapi_inet_cannot_listen(char *out, size_t size, const char *scheme,
	const struct tapi_source *address, bool has_port, int error, const char *privilege)
{
	char text[TAPI_TEXT_BYTES], hint[200] = "";

	if (tapi_inet_print(text, sizeof(text), scheme, address, has_port) != TAPI_OK)
		snprintf(text, sizeof(text), "%s", scheme);
	if (error == EADDRINUSE)
		snprintf(hint, sizeof(hint),
			": `ss -anp` tells who does; end that, or change the port");
	else if (error == EADDRNOTAVAIL)
		snprintf(hint, sizeof(hint),
			": this machine has no such address (`ip address` tells those it has)");
	else if ((error == EPERM || error == EACCES) && privilege)
		snprintf(hint, sizeof(hint), ": %s", privilege);
	snprintf(out, size, "cannot listen on %s: %s%s", text, strerror(error), hint);
}
