// SPDX-License-Identifier: BSD-3-Clause
// Inside app/classify: the name that a client asks for in clear. TLS: the server name of its hello
// (RFC 6066 3; under Encrypted Client Hello that is the outer one), over any number of records.
// HTTP/1: the authority of the target in absolute or authority form, else the Host field
// (RFC 9112 3.2, 3.2.2), of the first request. Pure.
#ifndef SLUICE_HOST_NAME_H
#define SLUICE_HOST_NAME_H

#include <stdint.h>

#define HOST_NAME_BYTES 255

enum host_seen {
	HOST_NONE, // there is none, and none will come
	HOST_MORE, // not yet
	HOST_FOUND,
	HOST_UNASKED, // a hello of TLS that asks for none, or for an address: the server may tell
};

struct host_name {
	uint8_t bytes[HOST_NAME_BYTES]; // as the client wrote it, without its port
	uint8_t length;
	uint16_t app; // that the client asks for by ALPN, whether or not there is a name; APP_NONE
};

// `bytes` is what a half begins with.
enum host_seen host_name_find(const uint8_t *bytes, uint32_t length, struct host_name *name);

#endif
