// SPDX-License-Identifier: BSD-3-Clause
// Sending: takes the messages that wait for a peer to the transport.
#ifndef TRANSPORTAPI_CORE_SEND_H
#define TRANSPORTAPI_CORE_SEND_H

#include <stdint.h>

struct tapi_peer;

uint64_t tapi_peer_flush(struct tapi_peer *peer, uint64_t now_us); // next wish

#endif
