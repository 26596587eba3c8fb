// SPDX-License-Identifier: BSD-3-Clause
// Parses the address that the HTTP server listens on.
#include "config/http_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int parse_unix(const char *path, struct http_address *out)
{
	size_t length = strlen(path);

	if (path[0] != '/' || length >= sizeof out->path.sun_path)
		return -EINVAL;
	out->is_unix = out->is_local = true;
	out->path.sun_family = AF_UNIX;
	memcpy(out->path.sun_path, path, length + 1);
	out->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
	return 0;
}

// 1 to 65535, in digits alone. 0: it is none.
static uint16_t parse_port(const char *text)
{
	size_t length = strspn(text, "0123456789");
	unsigned long port;

	if (!length || length > 5 || text[length])
		return 0;
	port = strtoul(text, NULL, 10);
	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

int http_address_parse(const char *text, struct http_address *out)
{
	char host[INET6_ADDRSTRLEN + 2];
	const char *colon = strrchr(text, ':');
	size_t length;
	uint16_t port;

	memset(out, 0, sizeof *out);
	if (strncmp(text, HTTP_UNIX_PREFIX, strlen(HTTP_UNIX_PREFIX)) == 0)
		return parse_unix(text + strlen(HTTP_UNIX_PREFIX), out);
	length = colon ? (size_t)(colon - text) : 0;
	port = colon ? parse_port(colon + 1) : 0;
	if (!port || !length || length >= sizeof host)
		return -EINVAL;
	memcpy(host, text, length);
	host[length] = '\0';
	if (host[0] == '[' && host[length - 1] == ']') {
		struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->storage;

		host[length - 1] = '\0';
		if (inet_pton(AF_INET6, host + 1, &v6->sin6_addr) != 1)
			return -EINVAL;
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		out->is_local = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
		out->length = sizeof *v6;
	} else {
		struct sockaddr_in *v4 = (struct sockaddr_in *)&out->storage;

		if (inet_pton(AF_INET, host, &v4->sin_addr) != 1)
			return -EINVAL;
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		out->is_local = ntohl(v4->sin_addr.s_addr) >> 24 == 127;
		out->length = sizeof *v4;
	}
	return 0;
}
