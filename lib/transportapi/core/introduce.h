// SPDX-License-Identifier: BSD-3-Clause
// Introduction of two peers behind NATs by a third (TA28).
#ifndef TRANSPORTAPI_CORE_INTRODUCE_H
#define TRANSPORTAPI_CORE_INTRODUCE_H

#include <stdbool.h>
#include <stdint.h>

struct tapi_core;
struct tapi_peer;

void tapi_introduce_ask(struct tapi_peer *peer, uint64_t now_us); // a PING went to its NAT
void tapi_core_take_introduce(struct tapi_core *core, struct tapi_peer *from, bool validated,
	const uint8_t *message, uint32_t size);

#endif
