// SPDX-License-Identifier: BSD-3-Clause
// Does the path still work. Messages go out and nothing comes back for quiet_ms: a PING each
// quiet_ping_ms; quiet_pings of them unanswered, and the path is given up: 6 s by default, also
// where messages go one way only, since a PONG is owed. A path in use that is silent is asked every
// idle_ping_s. Where no address of ours can be reached, every path is kept open by keepalive_s: the
// other end cannot call us when one fails.
#include "transportapi/core/liveness.h"

#include <syslog.h>

#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/core/validate.h"

#define SLOW_WAIT_US (UINT64_C(3600) * TAPI_US_PER_S) // an answer by transports of minutes

void tapi_path_sample(struct tapi_path *path, bool answered, uint64_t rtt_us)
{
	struct tapi_address *at = path->address;

	if (rtt_us != 0 && rtt_us < UINT32_MAX)
		path->rtt_us = path->rtt_us == 0
				       ? (uint32_t)rtt_us
				       : path->rtt_us - path->rtt_us / 8 + (uint32_t)(rtt_us / 8);
	// The first ones weigh as in a mean, so that one early loss is not the whole truth.
	if (path->pings < 16)
		path->pings++;
	path->loss += ((answered ? 0.0f : 1.0f) - path->loss) / (float)path->pings;
	if (at != NULL) {
		at->rtt_us = path->rtt_us;
		at->loss = path->loss;
		at->pings = path->pings;
	}
}

static void tell_lost(const struct tapi_path *path)
{
	struct tapi_transport_api *api = path->carrier->loaded.api;
	struct tapi_session_info info = {.remote = ""};
	char who[TAPI_PEER_TEXT_BYTES];

	tapi_peer_id_text(&path->peer->id, who);
	if (path->session != NULL)
		api->session_info(api, path->session, &info);
	tapi_core_log(path->peer->core, LOG_NOTICE,
		"peer %.16s: %s: %s does not answer any more: given up", who,
		path->carrier->loaded.name, info.remote);
}

static uint64_t watch_probe(struct tapi_path *path, uint64_t now_us)
{
	struct tapi_probe *probe = path->probe;
	struct tapi_core *core = path->peer->core;
	const struct tapi_core_settings *set = &core->settings;
	bool slow = (path->carrier->loaded.api->flags & TAPI_HIGH_LATENCY) != 0;
	uint64_t wait_us = slow              ? SLOW_WAIT_US
			   : probe->liveness ? set->quiet_ping_us
					     : set->ping_wait_us;
	uint64_t due_us = probe->last_us + wait_us;

	if (now_us < due_us)
		return due_us;
	core->counters.ping_unanswered++;
	tapi_path_sample(path, false, 0);
	if (probe->liveness && probe->sent < set->quiet_pings && !slow) {
		tapi_probe_again(probe, now_us);
		return now_us + wait_us;
	}
	if (tapi_path_valid(path, now_us)) {
		core->counters.paths_lost++;
		tell_lost(path);
	}
	tapi_path_failed(path, now_us);
	return now_us;
}

static uint64_t later(uint64_t a_us, uint64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

// Up to an eighth sooner, by the peer's id: those that fell silent together are not asked together.
static uint64_t idle_ping_us(const struct tapi_path *path)
{
	const uint64_t each_us = path->peer->core->settings.idle_ping_us;
	const uint8_t *id = path->peer->id.octets;

	return each_us - each_us / 8 * (uint64_t)(id[0] << 8 | id[1]) / 65536;
}

// The other end cannot call us, or only as long as what we sent lately keeps the NAT open to it.
static bool behind_nat(const struct tapi_path *path)
{
	return path->peer->core->nated || path->carrier->nated;
}

// When a path that is valid wants its PING.
static uint64_t ping_due(const struct tapi_path *path, bool in_use)
{
	const struct tapi_core *core = path->peer->core;
	const struct tapi_core_settings *set = &core->settings;
	uint64_t due_us = TAPI_NEVER, each_us;

	if ((in_use || path->by_size) && path->unheard_us != 0)
		due_us = path->unheard_us + set->quiet_us;
	if (behind_nat(path) || in_use) {
		each_us = path->heard_us +
			  (behind_nat(path) ? set->keepalive_us : idle_ping_us(path));
		due_us = each_us < due_us ? each_us : due_us;
	}
	if (in_use && set->measured) {
		each_us = path->measured_us + set->measured_ping_us;
		due_us = each_us < due_us ? each_us : due_us;
	}
	return due_us;
}

// When a path has outlived its use; TAPI_NEVER: nothing of it is ours to give back.
static uint64_t close_due(const struct tapi_path *path, bool in_use)
{
	const struct tapi_core *core = path->peer->core;
	const struct tapi_core_settings *set = &core->settings;

	if (path->references == 0 || behind_nat(path))
		return TAPI_NEVER;
	if (!in_use && path->by_size && path->unheard_us != 0)
		return TAPI_NEVER; // whether it works is to be known first
	if (!in_use)
		return later(path->used_us, path->opened_us) + set->linger_us;
	if (set->idle_close_us == 0 || path->peer->queue.msgs != 0)
		return TAPI_NEVER;
	return later(path->used_us, path->opened_us) + set->idle_close_us;
}

// May end the path.
uint64_t tapi_path_watch(struct tapi_path *path, uint64_t now_us)
{
	bool in_use = path->peer->use.path == path;
	uint64_t close_us, ping_us;

	if (path->session == NULL || path->broken)
		return now_us; // its end is this turn's, or the next one's
	if (path->probe != NULL)
		return watch_probe(path, now_us);
	close_us = close_due(path, in_use);
	if (close_us <= now_us) {
		if (path->inbound)
			tapi_path_release(path); // its transport ends it when it is stale
		else
			tapi_path_end(path);
		return TAPI_NEVER;
	}
	if (!tapi_path_valid(path, now_us))
		return close_us;
	ping_us = ping_due(path, in_use);
	if (ping_us <= now_us) {
		path->measured_us = now_us;
		tapi_probe_start(path, true, now_us);
		return path->probe != NULL ? now_us + path->peer->core->settings.quiet_ping_us
					   : now_us + TAPI_US_PER_S;
	}
	return ping_us < close_us ? ping_us : close_us;
}
