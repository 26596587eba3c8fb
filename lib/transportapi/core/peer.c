// SPDX-License-Identifier: BSD-3-Clause
// Peers: their table, their turn, and what can be reported them.
#include "transportapi/core/peer.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "transportapi/base/limit.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/core.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/limits.h"
#include "transportapi/core/liveness.h"
#include "transportapi/core/path.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/select.h"
#include "transportapi/core/send.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/helo.h"

struct tapi_peer *tapi_peer_find(struct tapi_core *core, const struct tapi_peer_id *id)
{
	struct tapi_peer *peer;

	HASH_FIND(hh, core->peers, id, sizeof(*id), peer);
	return peer;
}

// Bursts of a quota: what a second carries, and at least one payload of any transport.
static uint64_t burst_of(const struct tapi_core *core, uint64_t rate)
{
	return rate > core->buffer_room ? rate : core->buffer_room;
}

void tapi_peer_quota(struct tapi_peer *peer, uint64_t in_rate, uint64_t out_rate)
{
	const struct tapi_core *core = peer->core;
	uint64_t now_us = tapi_core_now(core);

	tapi_bucket_change(&peer->in, in_rate, burst_of(core, in_rate), now_us);
	tapi_bucket_change(&peer->strange_in, in_rate, burst_of(core, in_rate), now_us);
	tapi_bucket_change(&peer->out, out_rate, burst_of(core, out_rate), now_us);
}

void tapi_peer_limits(struct tapi_peer *peer)
{
	peer->queue.msgs_max = peer->core->settings.queue_msgs;
	peer->queue.bytes_max = peer->core->settings.queue_bytes;
	if (!peer->own_quota)
		tapi_peer_quota(peer, peer->core->settings.in_rate, peer->core->settings.out_rate);
}

// What a peer is worth that cannot be reached now: nothing, if all there is of it may be made up;
// more, if it answered once; most, if somebody here named it.
static unsigned worth(const struct tapi_peer *peer)
{
	unsigned most = 0;

	for (const struct tapi_address *at = peer->addresses; at != NULL; at = at->next) {
		if (at->vouched)
			return 2;
		if (at->proven)
			most = 1;
	}
	return most;
}

// Ids come from the wire for free: who is worth least gives way, the oldest of some, unless an
// application waits for it. Those that were looked at and are worth more go to the end, so that
// they do not hide the others.
static bool evict_one(struct tapi_core *core)
{
	struct tapi_peer *peer, *next, *least = NULL;
	unsigned looked = 0, least_worth = UINT_MAX;

	for (peer = TAILQ_FIRST(&core->fresh); peer != NULL && looked < 16 && least_worth != 0;
		peer = next, looked++) {
		unsigned its = worth(peer);

		next = TAILQ_NEXT(peer, fresh);
		if (peer->queue.msgs == 0 && its < least_worth) {
			least = peer;
			least_worth = its;
		}
		if (its != 0) {
			TAILQ_REMOVE(&core->fresh, peer, fresh);
			TAILQ_INSERT_TAIL(&core->fresh, peer, fresh);
		}
	}
	if (least == NULL)
		return false;
	core->counters.peers_evicted++;
	tapi_peer_end(least);
	return true;
}

void tapi_core_peers_limit(struct tapi_core *core)
{
	while (core->n_peers > core->settings.max_peers && evict_one(core))
		;
}

struct tapi_peer *tapi_peer_get(struct tapi_core *core, const struct tapi_peer_id *id)
{
	struct tapi_peer *peer = tapi_peer_find(core, id);
	uint64_t now_us = tapi_core_now(core);

	if (peer != NULL)
		return peer;
	if (core->n_peers >= core->settings.max_peers && !evict_one(core)) {
		core->counters.peers_refused++;
		return NULL;
	}
	// With room in the heap and in the list of the reachable, later steps cannot fail.
	if (!tapi_timer_reserve(core, core->n_peers + 1))
		return NULL;
	if (core->n_peers >= core->reachable_room) {
		uint32_t room = core->reachable_room != 0 ? 2 * core->reachable_room : 32;
		struct tapi_peer **grown =
			realloc(core->reachable, room * sizeof(struct tapi_peer *));

		if (grown == NULL)
			return NULL;
		core->reachable = grown;
		core->reachable_room = room;
	}
	peer = calloc(1, sizeof(*peer));
	if (peer == NULL)
		return NULL;
	peer->id = *id;
	peer->core = core;
	peer->number = ++core->peers_born;
	HASH_ADD(hh, core->peers, id, sizeof(peer->id), peer);
	if (peer->hh.tbl == NULL) {
		free(peer);
		return NULL;
	}
	core->n_peers++;
	TAILQ_INSERT_TAIL(&core->fresh, peer, fresh);
	tapi_queue_init(&peer->queue, &core->queue_pool, core->settings.queue_msgs,
		core->settings.queue_bytes);
	tapi_assemblies_init(&peer->assemblies, &core->fragment_pool);
	tapi_assemblies_init(&peer->strange, &core->fragment_pool);
	tapi_bucket_init(
		&peer->in, core->settings.in_rate, burst_of(core, core->settings.in_rate), now_us);
	peer->strange_in = peer->in;
	tapi_bucket_init(&peer->out, core->settings.out_rate,
		burst_of(core, core->settings.out_rate), now_us);
	peer->flush_us = TAPI_NEVER;
	peer->fragment_id = tapi_core_random_below(core, UINT32_MAX);
	tapi_quota_again(peer);
	return peer;
}

// A receiver may have forgotten the peer whose message it is: nothing brings that one back.
void tapi_peer_at(struct tapi_peer *peer, uint64_t due_us)
{
	if (!peer->dead && peer->core->started)
		tapi_timer_sooner(peer->core, &peer->timer, due_us);
}

void tapi_peer_kick(struct tapi_peer *peer)
{
	tapi_peer_at(peer, tapi_core_now(peer->core));
}

void tapi_peer_end(struct tapi_peer *peer)
{
	struct tapi_core *core = peer->core;

	if (peer->dead)
		return;
	if (peer->reachable)
		tapi_peer_became(peer, false);
	peer->dead = true;
	tapi_line_leave(peer);
	core->counters.dropped_peer_gone += peer->queue.msgs;
	tapi_queue_clear(&peer->queue);
	tapi_timer_end(core, &peer->timer);
	HASH_DEL(core->peers, peer);
	core->n_peers--;
	TAILQ_REMOVE(&core->fresh, peer, fresh); // it is not reachable now
	TAILQ_INSERT_TAIL(&core->dead, peer, fresh);
}

// Frees those that ended; never inside a call of a transport, whose session may be theirs.
void tapi_core_reap(struct tapi_core *core)
{
	struct tapi_peer *peer;

	if (core->depth != 0)
		return;
	while ((peer = TAILQ_FIRST(&core->dead)) != NULL) {
		TAILQ_REMOVE(&core->dead, peer, fresh);
		while (peer->paths != NULL)
			tapi_path_end(peer->paths);
		while (peer->addresses != NULL)
			tapi_address_end(peer, peer->addresses);
		tapi_queue_clear(&peer->queue);
		tapi_assemblies_clear(&peer->assemblies);
		tapi_assemblies_clear(&peer->strange);
		tapi_secure_forget(peer);
		free(peer);
	}
}

void tapi_peer_forget(struct tapi_core *core, const struct tapi_peer_id *id, const char *why)
{
	struct tapi_peer *peer = tapi_peer_find(core, id);

	if (peer == NULL)
		return;
	core->depth++; // the watcher may forget it, too
	tapi_peer_lose(peer, why);
	tapi_peer_end(peer);
	core->depth--;
	tapi_core_reap(core);
	// Inside a call of a transport its sessions are closed when the loop comes back.
	tapi_core_wish(core, tapi_core_now(core));
}

void tapi_core_forget(struct tapi_core *core, const struct tapi_peer_id *id)
{
	tapi_peer_forget(core, id, "the program has forgotten it");
}

void tapi_peer_became(struct tapi_peer *peer, bool reachable)
{
	struct tapi_core *core = peer->core;
	struct tapi_peer *last;

	if (peer->reachable == reachable)
		return;
	peer->reachable = reachable;
	if (reachable) {
		peer->reachable_index = core->n_reachable;
		core->reachable[core->n_reachable++] = peer;
		TAILQ_REMOVE(&core->fresh, peer, fresh);
		core->counters.peers_reachable++;
		return;
	}
	last = core->reachable[--core->n_reachable];
	last->reachable_index = peer->reachable_index;
	core->reachable[last->reachable_index] = last;
	TAILQ_INSERT_TAIL(&core->fresh, peer, fresh);
	core->counters.peers_lost++;
}

// Sessions that ended, and those a send found broken.
static void bury(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_path *path = peer->paths, *next;

	for (; path != NULL; path = next) {
		bool early, failed;

		next = path->next;
		if (path->session != NULL && !path->broken)
			continue;
		// A peer that closes what it had answered on may be called again at once; one that
		// hangs up at the door may not.
		early = path->probe != NULL || now_us - path->opened_us < TAPI_US_PER_S;
		failed = path->why == TAPI_DOWN_ERROR || path->why == TAPI_DOWN_DENIED ||
			 (path->why == TAPI_DOWN_CLOSED && early);
		if (failed)
			tapi_path_failed(path, now_us);
		else
			tapi_path_end(path);
		peer->choose = true;
	}
}

static uint64_t expire_addresses(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_address *at = peer->addresses, *next;
	uint64_t wish_us = TAPI_NEVER;

	for (; at != NULL; at = next) {
		next = at->next;
		if (at->expires_us <= now_us) {
			peer->choose = true;
			tapi_address_end(peer, at);
			continue;
		}
		if (at->expires_us < wish_us)
			wish_us = at->expires_us;
		if (at->valid_until_us == 0)
			continue;
		if (at->valid_until_us <= now_us) {
			at->valid_until_us = 0;
			peer->choose = true;
		} else if (at->valid_until_us < wish_us) {
			wish_us = at->valid_until_us;
		}
	}
	return wish_us;
}

static uint64_t watch_paths(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_path *path = peer->paths, *next;
	uint64_t wish_us = TAPI_NEVER;

	for (; path != NULL; path = next) {
		uint64_t path_us;

		next = path->next;
		path_us = tapi_path_watch(path, now_us);
		if (path_us < wish_us)
			wish_us = path_us;
	}
	return wish_us;
}

static uint64_t sooner(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

// A path that nobody uses is not kept open by this.
static uint64_t tell_helos(struct tapi_peer *peer, uint64_t now_us)
{
	const struct tapi_path *path = peer->use.path;

	if (!peer->reachable)
		return TAPI_NEVER;
	if (!peer->helos_due && path != NULL && path->used_us > peer->helos_sent_us) {
		peer->helos_due = true;
		peer->helos_us = peer->helos_sent_us + peer->core->settings.helo_repeat_us;
	}
	if (peer->helos_due && peer->helos_us <= now_us) {
		tapi_peer_send_helos(peer, peer->gossip_due, now_us);
		peer->gossip_due = false;
	}
	if (peer->helos_due)
		return peer->helos_us;
	return path != NULL ? now_us + peer->core->settings.helo_repeat_us : TAPI_NEVER;
}

void tapi_peer_turn(struct tapi_peer *peer, uint64_t now_us)
{
	uint64_t wish_us;

	bury(peer, now_us);
	wish_us = expire_addresses(peer, now_us);
	wish_us = sooner(wish_us, watch_paths(peer, now_us));
	if (peer->choose)
		tapi_peer_select(peer, now_us); // tells the application, which may forget the peer
	if (peer->dead)
		return;
	wish_us = sooner(wish_us, tell_helos(peer, now_us));
	wish_us = sooner(wish_us, tapi_peer_validate(peer, now_us));
	wish_us = sooner(wish_us, tapi_secure_turn(peer, now_us));
	wish_us = sooner(wish_us, tapi_peer_flush(peer, now_us));
	wish_us = sooner(wish_us, tapi_fragment_turn(&peer->assemblies, now_us));
	wish_us = sooner(wish_us, tapi_fragment_turn(&peer->strange, now_us));
	// What asked for a turn meanwhile stands; what only time brings is not due twice.
	if (wish_us != TAPI_NEVER)
		tapi_peer_at(peer, wish_us > now_us ? wish_us : now_us + 1);
}

void tapi_peer_info_fill(const struct tapi_peer *peer, struct tapi_peer_info *out)
{
	const struct tapi_path *path = peer->use.path;
	const struct tapi_address *at = peer->use.address;
	const struct tapi_carrier *carrier = path != NULL ? path->carrier
					     : at != NULL ? at->carrier
							  : NULL;
	uint64_t now_us = tapi_core_now(peer->core);
	struct tapi_helo helo;

	*out = (struct tapi_peer_info){
		.id = peer->id,
		.queued_msgs = peer->queue.msgs,
		.queued_bytes = peer->queue.bytes,
		.sent_msgs = peer->sent_msgs,
		.sent_bytes = peer->sent_bytes,
		.received_msgs = peer->received_msgs,
		.received_bytes = peer->received_bytes,
		.dropped_msgs = peer->dropped_msgs + peer->queue.counters.expired +
				peer->queue.counters.dropped_full +
				peer->queue.counters.dropped_pool +
				peer->queue.counters.dropped_too_big,
		.secure = tapi_secure_state_of(peer),
		.in_rate = peer->in.rate_per_s,
		.out_rate = peer->out.rate_per_s,
	};
	snprintf(out->reason, sizeof(out->reason), "%s", peer->reason);
	for (const struct tapi_address *each = peer->addresses; each != NULL; each = each->next) {
		out->addresses++;
		out->validated += tapi_address_valid(each, now_us);
	}
	for (const struct tapi_path *each = peer->paths; each != NULL; each = each->next)
		out->sessions += each->session != NULL;
	if (carrier == NULL)
		return;
	snprintf(out->transport, sizeof(out->transport), "%s", carrier->loaded.name);
	out->mtu = path != NULL ? path->mtu : tapi_path_mtu(carrier, at->mtu);
	out->mtu -= out->mtu > tapi_secure_extra(peer) ? tapi_secure_extra(peer) : 0;
	out->cost = carrier->loaded.api->cost;
	out->rtt_us = path != NULL && path->rtt_us != 0 ? path->rtt_us
		      : at != NULL                      ? at->rtt_us
							: 0;
	out->loss = path != NULL ? (double)path->loss : (double)at->loss;
	if (path != NULL && path->session != NULL) {
		struct tapi_session_info info;

		carrier->loaded.api->session_info(carrier->loaded.api, path->session, &info);
		snprintf(out->address, sizeof(out->address), "%s", info.remote);
		out->inbound = path->inbound;
	} else if (at != NULL && tapi_address_helo(at, &helo)) {
		carrier->loaded.api->address_to_string(
			carrier->loaded.api, &helo, out->address, sizeof(out->address));
	}
}

void tapi_core_watch(struct tapi_core *core,
	void (*event)(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info),
	void *context)
{
	core->watch = event;
	core->watch_context = context;
}

enum tapi_result tapi_core_peer(
	struct tapi_core *core, const struct tapi_peer_id *id, struct tapi_peer_info *out)
{
	struct tapi_peer *peer = tapi_peer_find(core, id);

	if (peer == NULL)
		return TAPI_ENOADDR;
	tapi_peer_info_fill(peer, out);
	return TAPI_OK;
}

void tapi_core_peers(struct tapi_core *core,
	bool (*each)(void *context, const struct tapi_peer_info *info), void *context)
{
	struct tapi_peer *peer, *next;
	struct tapi_peer_info info;

	core->depth++; // `each` may forget a peer
	HASH_ITER(hh, core->peers, peer, next)
	{
		if (peer->dead)
			continue;
		tapi_peer_info_fill(peer, &info);
		if (!each(context, &info))
			break;
	}
	core->depth--;
	tapi_core_reap(core);
}

enum tapi_result tapi_core_best(struct tapi_core *core, const struct tapi_peer_id *id,
	uint32_t size, struct tapi_peer_info *out)
{
	struct tapi_peer *peer = tapi_peer_find(core, id);
	struct tapi_choice use, best;
	char reason[sizeof(peer->reason)];

	if (peer == NULL || !tapi_peer_best(peer, size + tapi_secure_extra(peer),
				    tapi_core_now(core), &best, reason, sizeof(reason)))
		return TAPI_ENOADDR;
	use = peer->use;
	peer->use = best;
	tapi_peer_info_fill(peer, out);
	peer->use = use;
	snprintf(out->reason, sizeof(out->reason), "%s", reason);
	return TAPI_OK;
}
