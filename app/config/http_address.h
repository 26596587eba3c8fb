// SPDX-License-Identifier: BSD-3-Clause
// Where the HTTP server listens: "127.0.0.1:9111", "[::1]:9111" or "unix:/run/sluice/http.sock".
// Addresses are numbers: a name would be looked up at start, when there may be no network yet.
#ifndef SLUICE_HTTP_ADDRESS_H
#define SLUICE_HTTP_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#define HTTP_UNIX_PREFIX "unix:"

struct http_address {
	bool is_unix;
	bool is_local; // no other machine can connect: loopback, or a unix socket
	socklen_t length;
	union {
		struct sockaddr any;
		struct sockaddr_storage storage;
		struct sockaddr_un path;
	};
};

// 0 or -EINVAL. Pure; any thread.
int http_address_parse(const char *text, struct http_address *out);

#endif
