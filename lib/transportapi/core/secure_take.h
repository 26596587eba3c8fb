// SPDX-License-Identifier: BSD-3-Clause
// Handshakes and sealed payloads that come in (TA26).
#ifndef TRANSPORTAPI_CORE_SECURE_TAKE_H
#define TRANSPORTAPI_CORE_SECURE_TAKE_H

#include "transportapi/base/transport.h"
#include "transportapi/proto/secure.h"

struct tapi_core;
struct tapi_path;
struct tapi_peer;

// `peer`, `path` NULL: nothing is known of the sender.
void tapi_secure_take_initiate(struct tapi_core *core, struct tapi_peer *peer,
	const struct tapi_message_pack *pack, bool validated, const uint8_t *message,
	uint32_t size);
void tapi_secure_take_respond(
	struct tapi_core *core, struct tapi_peer *peer, const uint8_t *message, uint32_t size);
// false: dropped. What is opened stands in a buffer of the core until the next call.
bool tapi_secure_take_sealed(struct tapi_core *core, struct tapi_peer *peer, struct tapi_path *path,
	const uint8_t *message, uint32_t size, struct tapi_opened *opened);
// Is what came in clear, and is not the core's own, to be dropped? Counts it.
bool tapi_secure_clear_dropped(struct tapi_core *core, struct tapi_peer *peer);

#endif
