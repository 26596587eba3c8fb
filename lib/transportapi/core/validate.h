// SPDX-License-Identifier: BSD-3-Clause
// Validation: PINGs that the core sends to addresses and sessions, and the PONGs that answer them.
#ifndef TRANSPORTAPI_CORE_VALIDATE_H
#define TRANSPORTAPI_CORE_VALIDATE_H

#include "transportapi/base/table.h"
#include "transportapi/proto/ping.h"

struct tapi_carrier;
struct tapi_core;
struct tapi_path;
struct tapi_peer;

struct tapi_probe { // a PING that may be answered
	uint8_t challenge[TAPI_CHALLENGE_BYTES];
	struct tapi_path *path;
	uint64_t first_us, last_us; // sent
	unsigned sent;
	uint16_t protocol;                             // 0: for the session
	uint8_t address_hash[TAPI_ADDRESS_HASH_BYTES]; // zeros there
	bool liveness;                                 // of a path that was validated
	uint8_t wrong;                                 // answers that were looked at
	UT_hash_handle hh;
};

void tapi_probe_start(struct tapi_path *path, bool liveness, uint64_t now_us);
void tapi_probe_again(struct tapi_probe *probe, uint64_t now_us);
void tapi_probe_end(struct tapi_probe *probe);
// PINGs that are due; the next wish.
uint64_t tapi_peer_validate(struct tapi_peer *peer, uint64_t now_us);
void tapi_core_take_ping(struct tapi_core *core, struct tapi_carrier *carrier,
	const struct tapi_message_pack *pack, bool validated, const uint8_t *message,
	uint32_t size);
void tapi_line_leave(struct tapi_peer *peer); // it asks for no PING any more
void tapi_line_clear(struct tapi_core *core);
void tapi_core_take_pong(struct tapi_core *core, const uint8_t *message, uint32_t size);
void tapi_path_trigger(struct tapi_path *path); // what came in asks for a PING (TA8)
uint64_t tapi_backoff(struct tapi_core *core, unsigned failures);

#endif
