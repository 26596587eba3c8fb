// SPDX-License-Identifier: BSD-3-Clause
// Two peers behind NATs that both know a third (TA28). Each NAT lets in only whom something went to
// lately: our PING opens ours, and is lost at the other's. So whoever PINGs an address that a NAT
// keeps asks some peers in touch to introduce it; one that is in touch with that peer, too, tells
// it HELOs of ours, and of whom they are; its PING comes in through what ours opened, and so on.
//
//   INTRODUCE  u16 size=40, u16 type=12 | u8 1 (ask) or 2 (reported), u8 0, u16 0 | id[32]
//
// Nobody gets another to PING a third party by it: the HELOs that are passed on are of addresses
// where the one who passes them on found the peer itself; who is reported PINGs once for that HELO,
// below all limits of PINGs; and only validated peers are listened to, each below a rate.
#include "transportapi/core/introduce.h"

#include <string.h>

#include "transportapi/base/limit.h"
#include "transportapi/base/wire.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/helo.h"

#define INTRODUCE_BYTES 40
#define ASK             1
#define TOLD            2
#define ASKED_PEERS     3 // of those in touch, drawn by chance
#define ASK_AGAIN_US    (UINT64_C(10) * TAPI_US_PER_S)
#define PASSED_HELOS    2
// Of one peer: 8 at once, 15 in a minute.
#define TOKENS_EACH  4
#define TOKENS_BURST 32

static void put(
	struct tapi_peer *to, uint8_t what, const struct tapi_peer_id *whom, uint64_t now_us)
{
	uint8_t body[INTRODUCE_BYTES - TAPI_MESSAGE_HEAD_BYTES] = {what};

	memcpy(&body[4], whom->octets, sizeof(whom->octets));
	tapi_queue_put(&to->queue, TAPI_TYPE_INTRODUCE, body, sizeof(body), 0, false, 0,
		now_us + to->core->settings.queue_deadline_us, now_us);
	if (to->flush_us > now_us)
		to->flush_us = now_us;
	tapi_peer_kick(to);
}

void tapi_introduce_ask(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	uint32_t n = core->n_reachable, asked = 0;

	if (!core->settings.introduce || n == 0 ||
		(peer->introduce_us != 0 && now_us - peer->introduce_us < ASK_AGAIN_US))
		return;
	peer->introduce_us = now_us;
	for (uint32_t i = 0, at = tapi_core_random_below(core, n); i < n && asked < ASKED_PEERS;
		i++) {
		struct tapi_peer *other = core->reachable[(at + i) % n];

		if (other == peer)
			continue;
		put(other, ASK, &peer->id, now_us);
		asked++;
	}
	core->counters.introduce_asked += asked;
}

static bool same_place(const struct tapi_source *a, const struct tapi_source *b)
{
	return a->family != 0 && a->family == b->family && a->port == b->port &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

// We found the peer there: by a PING to the address, or to the session that it opened from it.
static bool found_there(
	const struct tapi_peer *peer, const struct tapi_address *at, uint64_t now_us)
{
	struct tapi_transport_api *api = at->carrier->loaded.api;
	struct tapi_session_info info;
	struct tapi_source leads;
	struct tapi_helo helo;

	if (tapi_address_valid(at, now_us) && !at->suspect)
		return true;
	if (api->address_source == NULL || !tapi_address_helo(at, &helo) ||
		api->address_source(api, &helo, &leads) != TAPI_OK)
		return false;
	for (struct tapi_path *path = peer->paths; path != NULL; path = path->next) {
		if (path->carrier != at->carrier || !tapi_path_valid(path, now_us))
			continue;
		api->session_info(api, path->session, &info);
		if (same_place(&info.source, &leads))
			return true;
	}
	return false;
}

// false: refused.
static bool introduce(
	struct tapi_core *core, struct tapi_peer *asker, struct tapi_peer *target, uint64_t now_us)
{
	unsigned passed = 0;

	if (target == NULL || target == asker || !target->reachable)
		return false;
	for (struct tapi_address *at = asker->addresses; at != NULL && passed < PASSED_HELOS;
		at = at->next) {
		if (at->expires_us <= now_us || !found_there(asker, at, now_us))
			continue;
		tapi_peer_queue_helo(target, at->helo, at->helo_size, now_us);
		passed++;
	}
	if (passed == 0)
		return false;
	put(target, TOLD, &asker->id, now_us);
	core->counters.introduce_made++;
	return true;
}

void tapi_core_take_introduce(struct tapi_core *core, struct tapi_peer *from, bool validated,
	const uint8_t *message, uint32_t size)
{
	uint64_t now_us = tapi_core_now(core);
	struct tapi_peer_id id;
	struct tapi_peer *peer;

	if (size != INTRODUCE_BYTES || (message[4] != ASK && message[4] != TOLD) ||
		message[5] != 0 || tapi_get16(&message[6]) != 0) {
		core->counters.malformed++;
		return;
	}
	if (!core->settings.introduce || !validated || from == NULL) {
		core->counters.introduce_refused++;
		return;
	}
	if (from->introduced.rate_per_s == 0)
		tapi_bucket_init(&from->introduced, 1, TOKENS_BURST, now_us);
	memcpy(id.octets, &message[8], sizeof(id.octets));
	peer = tapi_peer_find(core, &id);
	if (!tapi_bucket_take(&from->introduced, TOKENS_EACH, now_us)) {
		core->counters.introduce_refused++;
	} else if (message[4] == ASK) {
		core->counters.introduce_refused += !introduce(core, from, peer, now_us);
	} else if (peer == NULL || peer == from) {
		core->counters.introduce_refused++; // none of its HELOs was taken
	} else {
		core->counters.introduce_told++;
		peer->reported_us = now_us;
		tapi_peer_kick(peer);
	}
}
