// SPDX-License-Identifier: BSD-3-Clause
// The address that others see of us (TA28). A PONG tells where the PING came from; one peer may
// lie or sit behind the same NAT, so that `observed_agree` different ones must say the same. The
// latest votes count, one per peer and transport.
#include "transportapi/core/observed.h"

#include <string.h>

#include "transportapi/core/carrier.h"
#include "transportapi/core/core.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"

#define VOTE_STANDS_US (UINT64_C(3600) * TAPI_US_PER_S)

static bool agree(const struct tapi_source *a, const struct tapi_source *b)
{
	return a->family == b->family && a->port == b->port &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

void tapi_observed_vote(struct tapi_carrier *carrier, const struct tapi_peer_id *peer,
	const struct tapi_source *source, uint64_t now_us)
{
	struct tapi_vote *place = NULL;

	for (unsigned i = 0; i < carrier->n_votes && place == NULL; i++)
		if (tapi_peer_id_equal(&carrier->votes[i].peer, peer))
			place = &carrier->votes[i];
	if (place == NULL && carrier->n_votes < TAPI_OBSERVED_MAX)
		place = &carrier->votes[carrier->n_votes++];
	if (place == NULL) {
		place = &carrier->votes[0];
		for (unsigned i = 1; i < TAPI_OBSERVED_MAX; i++)
			if (carrier->votes[i].when_us < place->when_us)
				place = &carrier->votes[i];
	}
	*place = (struct tapi_vote){*peer, *source, now_us};
}

bool tapi_core_observed(struct tapi_core *core, uint16_t protocol, struct tapi_source *out)
{
	struct tapi_carrier *carrier = tapi_core_carrier(core, protocol);
	uint64_t now_us = tapi_core_now(core);
	unsigned most = 0;

	if (carrier == NULL)
		return false;
	for (unsigned i = 0; i < carrier->n_votes; i++) {
		unsigned n = 0;

		for (unsigned j = 0; j < carrier->n_votes; j++)
			n += now_us - carrier->votes[j].when_us < VOTE_STANDS_US &&
			     agree(&carrier->votes[i].source, &carrier->votes[j].source);
		if (n > most) {
			most = n;
			*out = carrier->votes[i].source;
		}
	}
	return most >= core->settings.observed_agree;
}
