// SPDX-License-Identifier: BSD-3-Clause
// Addresses of udp, tcp and raw-ip: on the wire, as text, as the system has them.
//
//   wire   4 or 16 octets, then u16 port (where the transport has ports)       6 or 18; 4 or 16
//   text   "udp://192.0.2.1:2086", "tcp://[2001:db8::1]:2086", "ip://192.0.2.1"
//
// One address has one form: an IPv4 address inside an IPv6 one is none, nor is one that needs a
// scope (fe80::/10, TA27), nor port 0. Names are not looked up.
#ifndef TRANSPORTAPI_INET_ADDRESS_H
#define TRANSPORTAPI_INET_ADDRESS_H

#include <sys/socket.h>

#include "transportapi/base/transport.h"

#define TAPI_INET_WIRE_BYTES_MAX 18

// Octets written, at most TAPI_INET_WIRE_BYTES_MAX; family 0: none.
TAPI_EXPORT size_t tapi_inet_encode(
	uint8_t out[TAPI_INET_WIRE_BYTES_MAX], const struct tapi_source *address, bool has_port);
// What every form holds: TAPI_OK or TAPI_EADDR.
TAPI_EXPORT enum tapi_result tapi_inet_check(const struct tapi_source *address, bool has_port);
TAPI_EXPORT enum tapi_result tapi_inet_decode(
	struct tapi_source *out, const uint8_t *octets, size_t length, bool has_port);
// `scheme` is "udp". TAPI_EADDR: a family that is none, or no room.
TAPI_EXPORT enum tapi_result tapi_inet_print(char *out, size_t size, const char *scheme,
	const struct tapi_source *address, bool has_port);
TAPI_EXPORT enum tapi_result tapi_inet_parse(
	struct tapi_source *out, const char *text, const char *scheme, bool has_port);
// As configuration has them: "192.0.2.1", "192.0.2.1:4000", "2001:db8::1", "[2001:db8::1]:4000".
TAPI_EXPORT enum tapi_result tapi_inet_parse_endpoint(
	struct tapi_source *out, const char *text, uint16_t default_port);

TAPI_EXPORT socklen_t tapi_inet_to_sockaddr(
	struct sockaddr_storage *out, const struct tapi_source *address);
// An IPv4 address inside an IPv6 one becomes IPv4. false: neither.
TAPI_EXPORT bool tapi_inet_from_sockaddr(
	struct tapi_source *out, const struct sockaddr *address, socklen_t length);
// "cannot listen on udp://192.0.2.1:2086: Address already in use: ...": the error, and what to do.
// `privilege`: what EPERM and EACCES ask for, or NULL.
TAPI_EXPORT void tapi_inet_cannot_listen(char *out, size_t size, const char *scheme,
	const struct tapi_source *address, bool has_port, int error, const char *privilege);
#define TAPI_INET_LOW_PORT "a port below 1024 needs CAP_NET_BIND_SERVICE"
TAPI_EXPORT bool tapi_inet_equal(const struct tapi_source *a, const struct tapi_source *b);

#endif
