// SPDX-License-Identifier: BSD-3-Clause
// Is the peer where it says (TA8, TA9): PINGs that we send, and PONGs that we believe.
//
// What an address that never answered may cost its owner, who may be a third party whom somebody
// out there named: one PING per HELO received, and less where the rate limits say so. An
// application that wants to send (validate lazy) only sets that one free: however much it sends, no
// second follows. What the program itself or the file of known peers named, and what did answer
// once, is asked again by back-off while the peer is wanted.
//
// Two peers cannot both answer one PING: the challenge goes to one session, the answer is signed
// over it, and only the key whose hash is the target's id is taken. Whoever sees the PING on its
// way can pass it on to the target, and so pretend to be its address: that is what it takes to
// relay, and messages reach the target all the same.
#include "transportapi/core/validate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "transportapi/base/limit.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/introduce.h"
#include "transportapi/core/limits.h"
#include "transportapi/core/liveness.h"
#include "transportapi/core/observed.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/state.h"
#include "transportapi/core/store.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/helo.h"
#include "transportapi/proto/ping.h"

#define TAPI_WRONG_PONGS_MAX 8 // signatures looked at in vain, per PING

#define WANTED_US     (UINT64_C(60) * TAPI_US_PER_S)   // a peer is wanted so long after a send
#define REMEMBERED_US (UINT64_C(3600) * TAPI_US_PER_S) // proven addresses are kept valid for
#define AGAIN_MAX     3 // PINGs of one challenge, where something else is heard meanwhile
#define VALID_US_MAX  (UINT64_C(86400) * TAPI_US_PER_S)

uint64_t tapi_backoff(struct tapi_core *core, unsigned failures)
{
	uint64_t wait_us = core->settings.retry_min_us;

	for (unsigned i = 1; i < failures && wait_us < core->settings.retry_max_us; i++)
		wait_us *= 2;
	if (wait_us > core->settings.retry_max_us)
		wait_us = core->settings.retry_max_us;
	// Within a quarter of it either way: those that failed together do not come back together.
	return wait_us - wait_us / 4 +
	       tapi_core_random_below(core, (uint32_t)(wait_us / 2 / 1000) + 1) * UINT64_C(1000);
}

// Those of the transport that carries it come first: the answer may need one.
static void add_helos(const struct tapi_core *core, struct tapi_ping *ping)
{
	size_t used;

	for (unsigned pass = 0; pass < 2; pass++)
		for (unsigned i = 0; i < core->n_own && ping->n_helos < TAPI_PING_HELOS_MAX; i++)
			if ((core->own[i].protocol == ping->protocol) == (pass == 0) &&
				tapi_helo_decode(&ping->helos[ping->n_helos], core->own[i].octets,
					core->own[i].size, &used) == TAPI_OK)
				ping->n_helos++;
}

static void probe_send(struct tapi_probe *probe, uint64_t now_us)
{
	struct tapi_path *path = probe->path;
	struct tapi_core *core = path->peer->core;
	struct tapi_ping ping = {.target = path->peer->id, .protocol = probe->protocol};
	uint8_t payload[TAPI_PING_BYTES_MAX];
	uint32_t mtu = path->mtu;
	size_t size;

	memcpy(ping.challenge, probe->challenge, sizeof(ping.challenge));
	memcpy(ping.address_hash, probe->address_hash, sizeof(ping.address_hash));
	// Ours go where they may be needed for the answer: to an address, first, and always where
	// no session leads back. On a session that the peer opened they would only make the PING
	// longer than what it sent.
	if (probe->protocol != 0 &&
		(!probe->liveness || (path->carrier->loaded.api->flags & TAPI_BIDIRECTIONAL) == 0))
		add_helos(core, &ping);
	size = tapi_ping_encode(&ping, payload, mtu < sizeof(payload) ? mtu : sizeof(payload));
	probe->last_us = now_us;
	probe->sent++;
	if (size == 0)
		return; // no transport has so small an mtu: the path fails by time
	core->counters.ping_sent++;
	core->counters.ping_sent_address += path->valid_until_us <= now_us && !path->inbound;
	tapi_path_send(
		path, payload, (uint32_t)size, false, (uint32_t)crc32(0, payload, (unsigned)size));
}

void tapi_probe_start(struct tapi_path *path, bool liveness, uint64_t now_us)
{
	struct tapi_core *core = path->peer->core;
	struct tapi_probe *probe = calloc(1, sizeof(*probe));
	void *carrier = path->carrier;

	if (probe == NULL)
		return;
	path->carrier->api.random(carrier, probe->challenge, sizeof(probe->challenge));
	probe->path = path;
	probe->first_us = now_us;
	probe->liveness = liveness;
	if (path->address != NULL) {
		probe->protocol = path->carrier->loaded.api->protocol;
		memcpy(probe->address_hash, path->address->hash, sizeof(probe->address_hash));
	}
	HASH_ADD(hh, core->probes, challenge, sizeof(probe->challenge), probe);
	if (probe->hh.tbl == NULL) {
		free(probe);
		return;
	}
	path->probe = probe;
	probe_send(probe, now_us);
}

// The same challenge again: whichever of these PINGs is answered, the path lives.
void tapi_probe_again(struct tapi_probe *probe, uint64_t now_us)
{
	probe_send(probe, now_us);
}

void tapi_probe_end(struct tapi_probe *probe)
{
	if (probe == NULL)
		return;
	HASH_DEL(probe->path->peer->core->probes, probe);
	probe->path->probe = NULL;
	free(probe);
}

// The /24 or /48 that an address is of.
static size_t prefix_key(const struct tapi_source *source, uint8_t out[7])
{
	size_t length = source->family == 4 ? 3 : 6;

	out[0] = source->family;
	memcpy(&out[1], source->address, length);
	return 1 + length;
}

// Peers that are known, and have an address due, take turns: one PING each, then the next. One that
// has many addresses, or grants little time by its PONGs, waits in line like the others.
void tapi_line_leave(struct tapi_peer *peer)
{
	struct tapi_core *core = peer->core;
	struct tapi_peer *next;

	if (!peer->in_line)
		return;
	peer->in_line = false;
	TAILQ_REMOVE(&core->line, peer, line);
	next = TAILQ_FIRST(&core->line);
	if (next != NULL)
		tapi_peer_at(next, tapi_bucket_when(&core->ping_bucket, 1, tapi_core_now(core)));
}

void tapi_line_clear(struct tapi_core *core)
{
	struct tapi_peer *peer;

	while ((peer = TAILQ_FIRST(&core->line)) != NULL) {
		peer->in_line = false;
		TAILQ_REMOVE(&core->line, peer, line);
	}
}

static bool line_turn(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	struct tapi_peer *first = TAILQ_FIRST(&core->line);

	if ((first == NULL || first == peer) &&
		tapi_bucket_when(&core->ping_bucket, 1, now_us) <= now_us)
		return true;
	if (!peer->in_line) {
		peer->in_line = true;
		TAILQ_INSERT_TAIL(&core->line, peer, line);
		core->counters.ping_limited++;
	}
	return false;
}

// When this PING may go; now_us: it is taken from all limits. What has answered before is held by
// the total alone; of that, what somebody here named does not wait behind strangers.
static uint64_t limits(struct tapi_core *core, struct tapi_bucket *bucket, const void *key,
	size_t length, const struct tapi_source *source, bool proven, bool vouched, uint64_t now_us)
{
	uint64_t share = tapi_core_share(bucket, proven || vouched),
		 when_us = tapi_bucket_when(bucket, share, now_us), each_us;
	bool asked = !proven && core->settings.ping_address_us != 0;
	uint8_t prefix[7];
	size_t prefix_length = 0;

	if (asked) {
		each_us = tapi_rate_map_when(core->ping_address, key, length, now_us);
		when_us = each_us > when_us ? each_us : when_us;
	}
	if (!proven && source->family != 0) {
		prefix_length = prefix_key(source, prefix);
		each_us = tapi_rate_map_when(core->ping_prefix, prefix, prefix_length, now_us);
		when_us = each_us > when_us ? each_us : when_us;
	}
	if (when_us > now_us)
		return when_us;
	// A map that is full says no, and when() cannot tell: then the others have counted one too
	// many, which errs on the quiet side.
	if (!tapi_bucket_take(bucket, 1, now_us) ||
		(asked && !tapi_rate_map_take(core->ping_address, key, length, now_us)) ||
		(prefix_length != 0 &&
			!tapi_rate_map_take(core->ping_prefix, prefix, prefix_length, now_us)))
		return now_us + TAPI_US_PER_S;
	return now_us;
}

static bool wanted(const struct tapi_peer *peer, uint64_t now_us, uint64_t for_us)
{
	return peer->wanted_us != 0 && now_us - peer->wanted_us < for_us;
}

// Applications of either side had something to say lately: what is valid is kept so.
static bool in_touch(const struct tapi_peer *peer, uint64_t now_us)
{
	return peer->core->settings.eager || wanted(peer, now_us, REMEMBERED_US) ||
	       (peer->delivered_us != 0 && now_us - peer->delivered_us < REMEMBERED_US);
}

// When `at` wants its PING; TAPI_NEVER: there is no reason for one.
static uint64_t address_due(
	const struct tapi_peer *peer, const struct tapi_address *at, uint64_t now_us)
{
	bool eager = peer->core->settings.eager;

	if (!at->carrier->running || (at->path != NULL && at->path->probe != NULL))
		return TAPI_NEVER;
	if (tapi_address_valid(at, now_us) && !at->suspect) {
		if (!in_touch(peer, now_us))
			return TAPI_NEVER;
		return at->revalidate_us > at->next_ping_us ? at->revalidate_us : at->next_ping_us;
	}
	if (at->trigger &&
		(eager || wanted(peer, now_us, WANTED_US) ||
			(peer->reported_us != 0 && now_us - peer->reported_us < WANTED_US)))
		return at->next_ping_us;
	if (at->vouched && wanted(peer, now_us, WANTED_US))
		return at->next_ping_us;
	if (at->proven && (eager || wanted(peer, now_us, REMEMBERED_US)))
		return at->next_ping_us;
	return TAPI_NEVER;
}

// An address that may be asked now: a session that carries nothing but PINGs until the PONG.
static void validate_address(struct tapi_peer *peer, struct tapi_address *at, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	struct tapi_transport_api *api = at->carrier->loaded.api;
	struct tapi_source source = {.family = 0};
	struct tapi_helo helo;
	struct tapi_path *path;
	uint64_t when_us;

	if (!tapi_address_helo(at, &helo))
		return;
	if (api->address_source != NULL && api->address_source(api, &helo, &source) != TAPI_OK)
		source.family = 0;
	if ((at->proven || at->vouched) && !line_turn(peer, now_us))
		return;
	when_us = limits(core, &core->ping_bucket, at->hash, sizeof(at->hash), &source, at->proven,
		at->vouched, now_us);
	if (when_us > now_us) {
		core->counters.ping_limited++;
		at->next_ping_us = when_us;
		return;
	}
	tapi_line_leave(peer);
	at->trigger = false;
	path = tapi_path_open(peer, at);
	if (path == NULL) {
		if (at->failures < UINT16_MAX)
			at->failures++;
		at->next_ping_us = now_us + tapi_backoff(core, at->failures);
		return;
	}
	// What was valid is asked as a path in use is, several times: one lost PING is no proof.
	if (path->probe == NULL)
		tapi_probe_start(path, tapi_address_valid(at, now_us), now_us);
	if (at->path != NULL && at->path->probe == NULL)
		at->next_ping_us = now_us + tapi_backoff(core, 1); // no memory
	if ((helo.flags & TAPI_HELO_NATED) != 0 && wanted(peer, now_us, WANTED_US))
		tapi_introduce_ask(peer, now_us); // it may not hear us before it went to us
}

// One message of ours for one that came in, since its source may be forged: a PONG for a PING, a
// PING for others (transportapi/core/receive.c sets the trigger). PINGs and PONGs are no reason for
// more, nor are HELOs where a PONG came once, or two silent peers would keep one another awake.
static bool inbound_trigger(const struct tapi_path *path, uint64_t now_us)
{
	return path->trigger ||
	       (path->heard_us > path->asked_us && wanted(path->peer, now_us, WANTED_US));
}

void tapi_path_trigger(struct tapi_path *path)
{
	struct tapi_core *core = path->peer->core;
	uint64_t now_us = tapi_core_now(core);

	if (tapi_path_valid(path, now_us))
		return;
	// Our PING was lost at its NAT, it seems, which is open now: where others were asked to
	// introduce us alone, as the source of what came in may be forged.
	if (path->probe != NULL && path->address != NULL && path->probe->sent < AGAIN_MAX &&
		path->peer->introduce_us != 0 && now_us - path->peer->introduce_us < WANTED_US)
		tapi_probe_again(path->probe, now_us);
	if (path->probe != NULL)
		return;
	path->trigger = true;
	tapi_peer_at(path->peer, path->next_ping_us > now_us ? path->next_ping_us : now_us);
}

// A session that the peer opened: is it the peer? Streams have shown that their address is theirs;
// a datagram's source may be a third party, so that the limits of addresses hold.
static uint64_t validate_inbound(struct tapi_path *path, uint64_t now_us)
{
	struct tapi_core *core = path->peer->core;
	struct tapi_transport_api *api = path->carrier->loaded.api;
	struct tapi_session_info info = {.references = 0};
	bool valid = tapi_path_valid(path, now_us) && !path->suspect;
	uint64_t due_us = path->next_ping_us;

	if (path->session == NULL || path->broken || path->one_way || path->probe != NULL ||
		path->address != NULL || (api->flags & TAPI_BIDIRECTIONAL) == 0)
		return TAPI_NEVER;
	if (valid) {
		due_us = path->revalidate_us > due_us ? path->revalidate_us : due_us;
		if (!in_touch(path->peer, now_us))
			return TAPI_NEVER;
	} else if (!tapi_path_valid(path, now_us) && !inbound_trigger(path, now_us)) {
		return TAPI_NEVER;
	}
	if (due_us > now_us)
		return due_us;
	if ((api->flags & TAPI_STREAM) == 0 && !valid) {
		struct {
			struct tapi_source source;
			uint16_t protocol;
		} key;
		uint64_t when_us;

		api->session_info(api, path->session, &info);
		memset(&key, 0, sizeof(key));
		key.source.family = info.source.family;
		memcpy(key.source.address, info.source.address, sizeof(key.source.address));
		key.source.port = info.source.port;
		key.protocol = api->protocol;
		when_us = limits(core, &core->ping_in_bucket, &key, sizeof(key), &info.source,
			path->valid_until_us != 0 || path->suspect, false, now_us);
		if (when_us > now_us) {
			core->counters.ping_limited++;
			path->next_ping_us = when_us;
			return when_us;
		}
	}
	path->next_ping_us = now_us + tapi_backoff(core, path->failures + 1u);
	path->asked_us = now_us;
	path->trigger = false;
	tapi_probe_start(path, tapi_path_valid(path, now_us), now_us);
	return TAPI_NEVER;
}

uint64_t tapi_peer_validate(struct tapi_peer *peer, uint64_t now_us)
{
	uint64_t wish_us = TAPI_NEVER, due_us;
	bool waits = false;

	for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next) {
		due_us = address_due(peer, at, now_us);
		if (due_us <= now_us) {
			validate_address(peer, at, now_us);
			due_us = address_due(peer, at, now_us);
		}
		if (due_us <= now_us && peer->in_line)
			waits = true; // whoever is before it says when
		else
			wish_us = due_us < wish_us ? due_us : wish_us;
	}
	if (!waits)
		tapi_line_leave(peer);
	else if (TAILQ_FIRST(&peer->core->line) == peer)
		wish_us = tapi_bucket_when(&peer->core->ping_bucket, 1, now_us);
	for (struct tapi_path *path = peer->paths; path != NULL; path = path->next) {
		due_us = validate_inbound(path, now_us);
		wish_us = due_us < wish_us ? due_us : wish_us;
		if (path->probe != NULL) {
			due_us = tapi_path_watch(path, now_us); // when it has waited long enough
			wish_us = due_us < wish_us ? due_us : wish_us;
		}
	}
	return wish_us;
}

static bool same_source(const struct tapi_source *a, const struct tapi_source *b)
{
	return a->family == b->family && a->port == b->port &&
	       memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

// The answer to a PING without session: to an address that the pinger signed and that is where the
// PING came from, or over a path on which the pinger was validated. Never elsewhere, so that nobody
// can have us send to a third party.
static bool answer_elsewhere(struct tapi_core *core, struct tapi_carrier *carrier,
	const struct tapi_message_pack *pack, const struct tapi_ping *ping, const bool *proven,
	const uint8_t *pong, uint32_t size)
{
	struct tapi_transport_api *api = carrier->loaded.api;
	uint32_t crc = (uint32_t)crc32(0, pong, size);
	struct tapi_peer *peer = tapi_peer_find(core, &pack->sender);
	struct tapi_session *session;
	struct tapi_source source;
	enum tapi_result result;

	for (unsigned i = 0; i < ping->n_helos; i++) {
		if (!proven[i] || ping->helos[i].protocol != api->protocol ||
			api->address_source == NULL ||
			api->address_source(api, &ping->helos[i], &source) != TAPI_OK ||
			!same_source(&source, &pack->source))
			continue;
		if (api->connect(api, &ping->helos[i], &session) != TAPI_OK)
			continue;
		result = api->send(api, session, pong, size, false, crc);
		api->disconnect(api, session);
		tapi_carrier_touch(carrier);
		return result == TAPI_OK;
	}
	if (peer == NULL || peer->use.path == NULL ||
		!tapi_path_valid(peer->use.path, tapi_core_now(core)))
		return false;
	return tapi_path_hold(peer->use.path) &&
	       tapi_path_send(peer->use.path, pong, size, false, crc) == TAPI_OK;
}

void tapi_core_take_ping(struct tapi_core *core, struct tapi_carrier *carrier,
	const struct tapi_message_pack *pack, bool validated, const uint8_t *message, uint32_t size)
{
	enum tapi_origin origin = validated ? TAPI_FROM_PEER : TAPI_FROM_STRANGER;
	struct tapi_transport_api *api = carrier->loaded.api;
	uint64_t now_us = tapi_core_now(core), wall_us = tapi_core_wall(core);
	struct tapi_ping ping;
	struct tapi_pong pong;
	struct tapi_path *path;
	bool proven[TAPI_PING_HELOS_MAX] = {false};
	uint8_t helo[TAPI_HELO_BYTES_MAX], out[TAPI_PONG_BYTES];
	uint32_t length;

	if (tapi_ping_decode(&ping, message, size) != TAPI_OK || size < TAPI_PONG_BYTES) {
		core->counters.malformed++;
		return;
	}
	core->counters.ping_received++;
	if (!tapi_peer_id_equal(&ping.target, &core->identity.id)) {
		core->counters.ping_not_ours++;
		return;
	}
	if (!tapi_core_may(&core->pong_bucket, validated, now_us)) {
		core->counters.ping_limited_in++;
		return;
	}
	for (unsigned i = 0; i < ping.n_helos; i++) {
		struct tapi_peer_id id;

		tapi_helo_peer(&ping.helos[i], &id);
		length = (uint32_t)tapi_helo_encode(&ping.helos[i], helo, sizeof(helo));
		if (tapi_peer_id_equal(&id, &pack->sender) && length != 0)
			proven[i] = tapi_core_take_helo(
					    core, &ping.helos[i], helo, length, origin) == TAPI_OK;
	}
	tapi_pong_sign(&pong, &ping, &pack->sender, &pack->source,
		wall_us + core->settings.pong_valid_us, &core->identity);
	length = (uint32_t)tapi_pong_encode(&pong, out, sizeof(out));
	if (length == 0)
		return;
	if (pack->session != NULL && api->send(api, pack->session, out, length, false,
					     (uint32_t)crc32(0, out, length)) == TAPI_OK) {
		core->counters.pong_sent++;
		path = pack->session->user;
		if (path != NULL && (api->flags & TAPI_STREAM) != 0)
			tapi_path_trigger(path); // a stream's source is not forged
		else if (path != NULL)
			path->asked_us = now_us;
		if (core->event == NULL || (api->flags & TAPI_RELAYED) != 0)
			tapi_carrier_touch(carrier);
	} else if (answer_elsewhere(core, carrier, pack, &ping, proven, out, length)) {
		core->counters.pong_sent++;
	} else {
		core->counters.pong_no_way++;
	}
}

static bool proven_peer(const struct tapi_peer *peer)
{
	for (const struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
		if (at->proven)
			return true;
	return false;
}

static void believe(struct tapi_core *core, struct tapi_probe *probe, const struct tapi_pong *pong)
{
	struct tapi_path *path = probe->path;
	struct tapi_address *at = path->address;
	uint64_t now_us = tapi_core_now(core), wall_us = tapi_core_wall(core), for_us;

	for_us = pong->valid_until_us - wall_us; // checked: it is later
	if (for_us > VALID_US_MAX)
		for_us = VALID_US_MAX;
	tapi_secure_learn_key(path->peer, pong->public_key);
	path->valid_until_us = now_us + for_us;
	path->revalidate_us = now_us + for_us / 2;
	path->failures = 0;
	path->suspect = false;
	path->asked_us = now_us;
	path->trigger = false;
	path->heard_us = now_us; // by whatever way the answer came, the PING arrived by this one
	path->unheard_us = 0;
	tapi_path_sample(path, true, probe->sent == 1 ? now_us - probe->last_us : 0);
	if (at != NULL) {
		at->valid_until_us = path->valid_until_us < at->expires_us ? path->valid_until_us
									   : at->expires_us;
		at->revalidate_us = path->revalidate_us;
		// The file of known peers need not be exact to the PONG.
		if (!at->proven && !proven_peer(path->peer))
			tapi_core_store_soon(core);
		if (!at->proven || wall_us - at->validated_wall_us > REMEMBERED_US)
			core->store_due = true;
		at->validated_wall_us = wall_us;
		at->failures = 0;
		at->suspect = false;
		at->proven = true;
		at->trigger = false;
		// However short the time that is granted: one peer must not take all PINGs of a
		// second.
		at->next_ping_us = now_us + core->settings.retry_min_us / 2;
	}
	if (pong->observed.family != 0)
		tapi_observed_vote(path->carrier, &path->peer->id, &pong->observed, now_us);
	path->peer->choose = true;
	tapi_peer_kick(path->peer);
	tapi_probe_end(probe);
}

// It may come over any transport: only what is in it counts.
void tapi_core_take_pong(struct tapi_core *core, const uint8_t *message, uint32_t size)
{
	struct tapi_pong pong;
	struct tapi_ping ping;
	struct tapi_probe *probe;

	if (tapi_pong_decode(&pong, message, size) != TAPI_OK) {
		core->counters.malformed++;
		return;
	}
	HASH_FIND(hh, core->probes, pong.challenge, sizeof(pong.challenge), probe);
	// Who got the PING knows the challenge, and could have us check signatures and do no more.
	if (probe == NULL || probe->wrong >= TAPI_WRONG_PONGS_MAX) {
		core->counters.pong_unknown++;
		return;
	}
	ping = (struct tapi_ping){.target = probe->path->peer->id, .protocol = probe->protocol};
	memcpy(ping.challenge, probe->challenge, sizeof(ping.challenge));
	memcpy(ping.address_hash, probe->address_hash, sizeof(ping.address_hash));
	switch (tapi_pong_check(&pong, &ping, &core->identity.id, tapi_core_wall(core))) {
	case TAPI_OK:
		core->counters.pong_received++;
		believe(core, probe, &pong);
		break;
	case TAPI_EEXPIRED:
		core->counters.pong_expired++;
		probe->wrong++;
		break;
	default: core->counters.pong_wrong++; probe->wrong++;
	}
}
