// SPDX-License-Identifier: BSD-3-Clause
// Receiving: gives what transports bring to its receivers, by type of message.
#ifndef TRANSPORTAPI_CORE_RECEIVE_H
#define TRANSPORTAPI_CORE_RECEIVE_H

#include "transportapi/base/transport.h"

#define TAPI_RECEIVER_PAGE 256

struct tapi_incoming;

struct tapi_receiver {
	void (*receive)(void *context, const struct tapi_incoming *incoming);
	void *context;
};

void tapi_core_take(void *carrier, const struct tapi_message_pack *pack);

#endif
