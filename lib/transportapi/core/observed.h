// SPDX-License-Identifier: BSD-3-Clause
// The address that other peers see of us: the votes of one transport, and the verdict (TA28).
#ifndef TRANSPORTAPI_CORE_OBSERVED_H
#define TRANSPORTAPI_CORE_OBSERVED_H

#include "transportapi/proto/ping.h"

#define TAPI_OBSERVED_MAX 16 // votes kept per transport

struct tapi_carrier;

struct tapi_vote { // one peer's word on where our messages come from
	struct tapi_peer_id peer;
	struct tapi_source source;
	uint64_t when_us;
};

void tapi_observed_vote(struct tapi_carrier *carrier, const struct tapi_peer_id *peer,
	const struct tapi_source *source, uint64_t now_us);

#endif
