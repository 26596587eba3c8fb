// SPDX-License-Identifier: BSD-3-Clause
// The transports of datagrams, as registry.c lists them.
#ifndef TRANSPORTAPI_UDP_H
#define TRANSPORTAPI_UDP_H

#include "transportapi/transport/datagram.h"

TAPI_EXPORT tapi_init_fn inittransport_udp, inittransport_raw_ip;
TAPI_EXPORT tapi_done_fn donetransport_udp, donetransport_raw_ip;
extern const struct tapi_conf_key tapi_udp_keys[], tapi_raw_ip_keys[];

// Octets of the IP header that the system leaves before what a raw socket receives; -1: malformed.
TAPI_EXPORT ssize_t tapi_raw_ip_skip(uint8_t family, const uint8_t *octets, size_t length);

#endif
