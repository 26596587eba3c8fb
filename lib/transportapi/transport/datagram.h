// SPDX-License-Identifier: BSD-3-Clause
// What udp and raw-ip share: sockets of datagrams, one per address that is bound, an envelope
// before each message, sessions by the remote address.
//
// Receiving reads bursts until the socket is empty, at most a budget of messages per event, so that
// the other sockets of the loop have their turn. Sending is one system call per message, at once;
// what the system would not take now is dropped and counted.
//
// A session that connect makes is always a new one, also to an address that has some; what comes
// from there then belongs to any of them. One that comes in is made by a datagram of an unknown
// remote (not where the kind is session-less) and keeps to the socket that it came in by.
#ifndef TRANSPORTAPI_DATAGRAM_H
#define TRANSPORTAPI_DATAGRAM_H

#include <sys/types.h>

#include "transportapi/base/conf.h"
#include "transportapi/transport/sessions.h"
#include "transportapi/base/transport.h"

struct tapi_datagram_kind {
	const char *name;   // of the transport and its section
	const char *scheme; // of its addresses as text
	uint16_t protocol;
	uint32_t flags; // TAPI_SESSIONLESS: no session comes in
	const struct tapi_conf_key
		*keys; // TAPI_DATAGRAM_KEYS and rows of sessions.h; "port" where has_port
	bool has_port;
	bool learns;           // its address outside a NAT: TAPI_STUN_KEYS, TAPI_MAPPING_KEYS
	int type, ip_protocol; // of socket(2)
	const char *needs;     // what a refused socket lacks, for the log; NULL: nothing special
	// Options before bind. false: errno says why. NULL: none.
	bool (*prepare)(int fd, uint8_t family);
	// Octets before the envelope of what was received; negative: malformed. NULL: none.
	ssize_t (*skip)(uint8_t family, const uint8_t *octets, size_t length);
};

#define TAPI_DATAGRAM_IPV6_LESS 20 // of the mtu, where the header is IPv6's

// Rows of the section's keys. `form`: how an address is written, for people.
#define TAPI_DATAGRAM_KEYS(mtu_default, cost_default, form)                                        \
	{"bind", TAPI_CONF_TEXTS, 0, 32, 0, NULL, true,                                            \
		"addresses to listen at, " form "; none: all that the host has"},                  \
		{"ipv6", TAPI_CONF_BOOL, 0, 0, 1, NULL, true, "IPv6 besides IPv4"},                \
		{"advertise", TAPI_CONF_TEXTS, 0, 32, 0, NULL, true,                               \
			"addresses to advertise instead of the bound ones, " form},                \
		{"nat", TAPI_CONF_BOOL, 0, 0, 0, NULL, true, "behind NAT: nothing is advertised"}, \
		{"cost", TAPI_CONF_UINT, 0, 1000000, cost_default, NULL, true,                     \
			"lower is preferred"},                                                     \
		{"mtu", TAPI_CONF_UINT, 1100, 65000, mtu_default, NULL, false,                     \
			"largest message over IPv4; 20 less are advertised for IPv6"},             \
		{"rate_bytes_s", TAPI_CONF_UINT, 0, 1000000000000, 0, NULL, true,                  \
			"octets of messages sent per second, a tenth of it at once; 0: no limit"}, \
		{"receive_buffer_bytes", TAPI_CONF_UINT, 0, 1u << 30, 1u << 20, NULL, true,        \
			"of each socket; 0: as the system has it"},                                \
	{                                                                                          \
		"send_buffer_bytes", TAPI_CONF_UINT, 0, 1u << 30, 0, NULL, true,                   \
			"of each socket; 0: as the system has it"                                  \
	}

// NULL after saying why in the log.
struct tapi_transport_api *tapi_datagram_new(
	const struct tapi_core_api *core, const struct tapi_datagram_kind *kind);
void tapi_datagram_free(struct tapi_transport_api *self);

#endif
