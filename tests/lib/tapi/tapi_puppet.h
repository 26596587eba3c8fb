// SPDX-License-Identifier: BSD-3-Clause
// A peer without a core: a key, a HELO, and an answer to what it is sent. Thousands fit where as
// many cores would not, and what they say is written here, not by what is under test. Its medium is
// its owner's.
#ifndef TESTS_LIB_TAPI_PUPPET_H
#define TESTS_LIB_TAPI_PUPPET_H

#include "transportapi/proto/helo.h"

#define PUPPET_ASK  64 // is answered
#define PUPPET_TELL 65 // the answer, with the same body

struct puppet {
	struct tapi_identity identity;
	uint16_t helo_size;
	uint8_t helo[TAPI_HELO_BYTES_MAX];
	uint32_t pings, asks, others, malformed; // that came
};

// Keys by `number`; `address` of `protocol`, for 12 h from `wall_us`. No address: NULL.
void puppet_make(struct puppet *out, uint64_t number, uint16_t protocol, uint32_t mtu,
	const void *address, uint16_t address_size, uint64_t wall_us);
// Octets of the answer to a payload (0: none) in `out`: PONGs to PINGs for it, and TELLs.
uint32_t puppet_answer(struct puppet *puppet, const struct tapi_peer_id *sender,
	const struct tapi_source *source, const uint8_t *payload, uint32_t size, uint64_t wall_us,
	uint8_t *out, uint32_t room);
// One message into `out`; its octets.
uint32_t puppet_message(uint8_t *out, uint16_t type, const void *body, uint32_t length);

#endif
