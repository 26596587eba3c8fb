// SPDX-License-Identifier: BSD-3-Clause
// Sessions as the core knows them: opened by us to an address, or by the peer. A record lives from
// connect, or the first message, until its session is gone or given back; session->user names it.
#include "transportapi/core/path.h"

#include <stdlib.h>

#include "transportapi/core/carrier.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/helo.h"

uint32_t tapi_path_mtu(const struct tapi_carrier *carrier, uint32_t helo_mtu)
{
	uint32_t mtu = carrier->loaded.api->mtu;

	if (helo_mtu != 0 && helo_mtu < mtu)
		mtu = helo_mtu > TAPI_PATH_MTU_LEAST ? helo_mtu : TAPI_PATH_MTU_LEAST;
	return mtu < carrier->loaded.api->mtu ? mtu : carrier->loaded.api->mtu;
}

// Of a session that the peer opened: the least of what its HELOs say of that transport; a medium
// with a smaller one yet says so when it refuses (transportapi/core/send.c).
static uint32_t mtu_inbound(const struct tapi_peer *peer, const struct tapi_carrier *carrier)
{
	uint32_t mtu = carrier->loaded.api->mtu;

	for (const struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
		if (at->carrier == carrier && tapi_path_mtu(carrier, at->mtu) < mtu)
			mtu = tapi_path_mtu(carrier, at->mtu);
	return mtu;
}

static struct tapi_path *path_new(
	struct tapi_peer *peer, struct tapi_carrier *carrier, struct tapi_session *session)
{
	uint64_t now_us = tapi_core_now(peer->core);
	struct tapi_path *path;

	if (peer->n_paths >= TAPI_PEER_PATHS_MAX)
		return NULL;
	path = calloc(1, sizeof(*path));
	if (path == NULL)
		return NULL;
	path->peer = peer;
	path->carrier = carrier;
	path->session = session;
	path->opened_us = path->heard_us = now_us;
	path->mtu = mtu_inbound(peer, carrier);
	path->next = peer->paths;
	peer->paths = path;
	peer->n_paths++;
	session->user = path;
	return path;
}

static void unlink_path(struct tapi_path *path)
{
	struct tapi_path **at = &path->peer->paths;

	while (*at != path)
		at = &(*at)->next;
	*at = path->next;
	path->peer->n_paths--;
	if (path->peer->use.path == path)
		path->peer->use.path = NULL;
}

// A reference of ours: from its next turn on the peer knows when to give it back.
static void watch_soon(struct tapi_path *path)
{
	struct tapi_core *core = path->peer->core;

	tapi_peer_at(path->peer, tapi_core_now(core) + 1);
}

static void detach(struct tapi_path *path)
{
	if (path->address != NULL)
		path->address->path = NULL;
	path->address = NULL;
}

// Another peer's from now on: nothing that was the last one's stays with it, neither what was
// proven nor what leads here.
static void pass_on(struct tapi_path *path, struct tapi_peer *peer)
{
	tapi_probe_end(path->probe);
	detach(path);
	path->peer->choose = true;
	tapi_peer_kick(path->peer);
	unlink_path(path);
	path->peer = peer;
	path->next = peer->paths;
	peer->paths = path;
	peer->n_paths++;
	path->valid_until_us = 0;
	path->suspect = false;
	path->by_size = false;
	path->trigger = false;
	path->unheard_us = 0;
}

// The address was validated, not this session; but the session goes nowhere else.
static void path_as_address(struct tapi_path *path, const struct tapi_address *address)
{
	path->valid_until_us = address->valid_until_us;
	path->revalidate_us = address->revalidate_us;
	path->rtt_us = address->rtt_us;
	path->loss = address->loss;
	path->pings = address->pings;
}

// connect() may answer with a session that the peer had opened, where the medium has one per pair
// of addresses (udp).
static struct tapi_path *adopt(
	struct tapi_peer *peer, struct tapi_address *address, struct tapi_path *path)
{
	uint64_t now_us = tapi_core_now(peer->core);
	struct tapi_transport_api *api = path->carrier->loaded.api;

	if (path->peer != peer && tapi_path_valid(path, now_us)) {
		// Another peer has proven to be there.
		peer->core->counters.disconnects++;
		api->disconnect(api, path->session);
		return NULL;
	}
	path->references++;
	if (path->peer != peer)
		pass_on(path, peer);
	detach(path);
	path->address = address;
	path->mtu = tapi_path_mtu(path->carrier, address->mtu);
	address->path = path;
	if (!tapi_path_valid(path, now_us))
		path_as_address(path, address);
	watch_soon(path);
	return path;
}

struct tapi_path *tapi_path_open(struct tapi_peer *peer, struct tapi_address *address)
{
	struct tapi_carrier *carrier = address->carrier;
	struct tapi_transport_api *api = carrier->loaded.api;
	struct tapi_core *core = peer->core;
	struct tapi_session *session = NULL;
	struct tapi_helo helo;
	struct tapi_path *path;

	if (address->path != NULL)
		return address->path;
	if (!carrier->running || !tapi_address_helo(address, &helo))
		return NULL;
	if (api->connect(api, &helo, &session) != TAPI_OK) {
		core->counters.connects_failed++;
		tapi_carrier_touch(carrier);
		return NULL;
	}
	core->counters.connects++;
	tapi_carrier_touch(carrier);
	if (session->user != NULL)
		return adopt(peer, address, session->user);
	path = path_new(peer, carrier, session);
	if (path == NULL) {
		core->counters.disconnects++;
		api->disconnect(api, session);
		return NULL;
	}
	path->references = 1;
	path->address = address;
	path->mtu = tapi_path_mtu(carrier, address->mtu);
	path_as_address(path, address);
	address->path = path;
	watch_soon(path);
	return path;
}

// Anybody may write the peer's name on what it sends: half of the room is for sessions that we open
// and those that were validated. In the other half, who was asked and did not answer, or is not
// asked, gives way, the one longest not heard of. No transport calls back from inside a call of
// ours (transport.h), so that nobody up the stack holds the one that ends here.
static bool room_inbound(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_path *oldest = NULL;
	unsigned strange = 0;

	for (struct tapi_path *path = peer->paths; path != NULL; path = path->next) {
		if (!path->inbound || path->references != 0 || path->session == NULL ||
			tapi_path_valid(path, now_us))
			continue;
		strange++;
		if (path->probe == NULL && (oldest == NULL || path->heard_us < oldest->heard_us))
			oldest = path;
	}
	if (strange < TAPI_PEER_PATHS_MAX / 2 && peer->n_paths < TAPI_PEER_PATHS_MAX)
		return true;
	if (oldest == NULL)
		return false;
	tapi_path_end(oldest);
	return true;
}

struct tapi_path *tapi_path_inbound(
	struct tapi_peer *peer, struct tapi_carrier *carrier, struct tapi_session *session)
{
	struct tapi_path *path = session->user;

	if (!room_inbound(peer, tapi_core_now(peer->core)))
		return NULL;
	if (path == NULL) {
		path = path_new(peer, carrier, session);
		if (path != NULL)
			path->inbound = true;
		return path;
	}
	// Nobody has proven to be its far end: the last one who says so has it.
	pass_on(path, peer);
	path->next_ping_us = 0;
	path->asked_us = 0;
	path->mtu = mtu_inbound(peer, carrier);
	return path;
}

bool tapi_path_hold(struct tapi_path *path)
{
	struct tapi_transport_api *api = path->carrier->loaded.api;
	enum tapi_result result;

	if (path->session == NULL || path->broken || path->one_way)
		return false;
	if (path->references != 0)
		return true;
	result = api->associate(api, path->session);
	tapi_carrier_touch(path->carrier);
	if (result == TAPI_OK) {
		path->references = 1;
		path->peer->core->counters.associates++;
		watch_soon(path);
		return true;
	}
	if (result == TAPI_EUNIDIR)
		path->one_way = true;
	else
		path->broken = true;
	path->peer->choose = true;
	tapi_peer_kick(path->peer);
	return false;
}

void tapi_path_release(struct tapi_path *path)
{
	struct tapi_transport_api *api = path->carrier->loaded.api;

	while (path->references > 0 && path->session != NULL) {
		struct tapi_session *session = path->session;

		path->peer->core->counters.disconnects++;
		// At 0 a session that we opened ends here, and its name with it. One that was about
		// to end anyway may still be reported as down: not to a record that is gone.
		if (--path->references == 0 && !path->inbound) {
			session->user = NULL;
			path->session = NULL;
		}
		api->disconnect(api, session);
		tapi_carrier_touch(path->carrier);
	}
	path->references = 0;
}

void tapi_path_end(struct tapi_path *path)
{
	struct tapi_peer *peer = path->peer;

	tapi_probe_end(path->probe);
	if (path->session != NULL && path->inbound)
		path->session->user = NULL; // it lives on in its transport, until it is stale
	tapi_path_release(path);
	if (path->address != NULL)
		path->address->path = NULL;
	unlink_path(path);
	peer->choose = true;
	free(path);
}

enum tapi_result tapi_path_send(struct tapi_path *path, const uint8_t *payload, uint32_t size,
	bool is_encrypted, uint32_t crc)
{
	struct tapi_carrier *carrier = path->carrier;
	struct tapi_transport_api *api = carrier->loaded.api;
	enum tapi_result result;

	if (path->session == NULL || path->broken)
		return TAPI_EDOWN;
	result = api->send(api, path->session, payload, size, is_encrypted, crc);
	if (result != TAPI_OK || (api->flags & TAPI_RELAYED) != 0 ||
		path->peer->core->event == NULL)
		tapi_carrier_touch(carrier);
	if (result == TAPI_EDOWN || result == TAPI_EACL || result == TAPI_EUNIDIR) {
		path->broken = result != TAPI_EUNIDIR;
		path->one_way = result == TAPI_EUNIDIR;
		path->why = TAPI_DOWN_ERROR;
		path->peer->choose = true;
		tapi_peer_kick(path->peer);
	}
	return result;
}

// What failed is likely the medium: what else goes over it, and was not heard of just now, is not
// believed before it has answered a PING. So a blocked udp is left at once, not address by address.
static void suspect_kin(struct tapi_peer *peer, const struct tapi_carrier *carrier, uint64_t now_us)
{
	uint64_t fresh_us = peer->core->settings.quiet_us;

	for (struct tapi_path *path = peer->paths; path != NULL; path = path->next)
		if (path->carrier == carrier && path->valid_until_us > now_us &&
			now_us - path->heard_us >= fresh_us) {
			path->suspect = true;
			path->next_ping_us = 0;
		}
	for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
		if (at->carrier == carrier && at->valid_until_us != 0 &&
			(at->path == NULL || at->path->suspect)) {
			at->suspect = true;
			at->next_ping_us = now_us;
		}
}

void tapi_path_failed(struct tapi_path *path, uint64_t now_us)
{
	struct tapi_peer *peer = path->peer;
	struct tapi_carrier *carrier = path->carrier;
	struct tapi_address *at = path->address;
	bool was_valid = path->valid_until_us > now_us;

	peer->choose = true;
	path->valid_until_us = 0;
	path->suspect = false;
	tapi_probe_end(path->probe);
	if (at != NULL) {
		at->valid_until_us = 0;
		at->suspect = false;
		if (at->failures < UINT16_MAX)
			at->failures++;
		at->next_ping_us = now_us + tapi_backoff(peer->core, at->failures);
	}
	if (path->failures < UINT16_MAX)
		path->failures++;
	path->next_ping_us = now_us + tapi_backoff(peer->core, path->failures);
	path->unheard_us = 0;
	if (path->inbound && path->session != NULL && !path->broken) {
		// The record stays as long as the session: if something is heard again, a PING
		// may bring it back.
		tapi_path_release(path);
		if (at != NULL) {
			at->path = NULL;
			path->address = NULL;
		}
		if (peer->use.path == path)
			peer->use.path = NULL;
	} else {
		tapi_path_end(path);
	}
	if (was_valid)
		suspect_kin(peer, carrier, now_us);
}

void tapi_core_session_down(void *context, struct tapi_session *session, enum tapi_down why)
{
	struct tapi_carrier *carrier = context;
	struct tapi_path *path = session->user;

	carrier->core->counters.sessions_down++;
	if (path == NULL)
		return;
	session->user = NULL;
	path->session = NULL; // its references are gone with it
	path->references = 0;
	path->why = why;
	path->peer->denied |= why == TAPI_DOWN_DENIED;
	path->peer->choose = true;
	tapi_peer_kick(path->peer);
}
