// SPDX-License-Identifier: BSD-3-Clause
// A transport that runs in one core, and how it asks for its turn (transportapi/core/core.c).
#ifndef TRANSPORTAPI_CORE_CARRIER_H
#define TRANSPORTAPI_CORE_CARRIER_H

#include "transportapi/core/observed.h"
#include "transportapi/transport/registry.h"

struct tapi_core;

struct tapi_carrier { // a transport that runs in this core
	struct tapi_core *core;
	struct tapi_core_api api; // `core` of it is the carrier
	struct tapi_loaded loaded;
	bool own, running;
	bool nated;       // an address of it is that of a NAT: what goes out keeps it open
	uint64_t wish_us; // its next turn
	unsigned n_votes;
	struct tapi_vote votes[TAPI_OBSERVED_MAX];
};

void tapi_carrier_touch(struct tapi_carrier *carrier); // it wants a turn now
struct tapi_carrier *tapi_core_carrier(struct tapi_core *core, uint16_t protocol); // that runs

#endif
