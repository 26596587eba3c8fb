// SPDX-License-Identifier: BSD-3-Clause
// The transport over UDP, protocol 17. Text udp://192.0.2.1:2086, udp://[2001:db8::1]:2086; on the
// wire of a HELO 4 or 16 octets and u16 port, network order, 6 or 18 octets. A datagram is an
// envelope and one message. Largest message 1432: 1500 of Ethernet without 20 (IPv6: 40), 8 and 40.
#include "transportapi/transport/udp.h"

#include <sys/socket.h>

#include "transportapi/transport/mapping.h"
#include "transportapi/transport/stun_client.h"

const struct tapi_conf_key tapi_udp_keys[] = {
	{"port", TAPI_CONF_UINT, 0, 65535, 2086, NULL, true, "to listen at; 0: any that is free"},
	TAPI_DATAGRAM_KEYS(1432, 100, "ADDRESS or ADDRESS:PORT"),
	TAPI_LINK_KEY_SESSIONS,
	TAPI_LINK_KEY_SOURCE,
	TAPI_LINK_KEY_STALE,
	TAPI_STUN_KEYS,
	TAPI_MAPPING_KEYS,
	{.name = NULL},
};

static const struct tapi_datagram_kind udp_kind = {
	.name = "udp",
	.scheme = "udp",
	.protocol = 17,
	.flags = TAPI_BIDIRECTIONAL,
	.keys = tapi_udp_keys,
	.has_port = true,
	.learns = true,
	.type = SOCK_DGRAM,
	.needs = TAPI_INET_LOW_PORT,
};

TAPI_EXPORT struct tapi_transport_api *inittransport_udp(const struct tapi_core_api *core)
{
	return tapi_datagram_new(core, &udp_kind);
}

TAPI_EXPORT void donetransport_udp(struct tapi_transport_api *self)
{
	tapi_datagram_free(self);
}
