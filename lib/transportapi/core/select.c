// SPDX-License-Identifier: BSD-3-Clause
// The cheapest way that works (TA15). Candidates are addresses and sessions that are validated, of
// transports that run. The score of a candidate is the cost of its transport; in mode "measured"
// that times (1 + 10 x loss), times the median round trip that tpbench found for messages of this
// peer's usual size. Equal scores: an open session before a new connect, then the shorter round
// trip, then the lower protocol number. What is in use is left only for what is cheaper by
// hysteresis_percent, or when it fails.
#include "transportapi/core/select.h"

#include <stdio.h>
#include <syslog.h>

#include "transportapi/core/carrier.h"
#include "transportapi/core/core.h"
#include "transportapi/core/cost_table.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"

#define TAPI_LOSS_SAMPLES_LEAST 8 // PINGs, before their loss is believed

#define CANDIDATES_MAX (64 + TAPI_PEER_PATHS_MAX)

struct candidate {
	struct tapi_choice choice;
	const struct tapi_carrier *carrier;
	double score;
	bool open, suspect;
	uint32_t rtt_us;
};

static double live_loss(const struct candidate *of, bool *known)
{
	const struct tapi_path *path = of->choice.path;
	const struct tapi_address *at = of->choice.address;

	*known = true;
	if (path != NULL && path->pings >= TAPI_LOSS_SAMPLES_LEAST)
		return (double)path->loss;
	if (at != NULL && at->pings >= TAPI_LOSS_SAMPLES_LEAST)
		return (double)at->loss;
	*known = false;
	return 0;
}

// Where the table knows nothing of a transport, it is taken to be as slow as the slowest that it
// knows of these candidates: what was not measured is not preferred for it.
static void score_measured(struct tapi_core *core, struct candidate *all, unsigned n, uint32_t size)
{
	double slowest_us = 0, median_us, loss;

	for (unsigned i = 0; i < n; i++)
		if (tapi_cost_table_at(
			    core->measured, all[i].carrier->loaded.name, size, &median_us, &loss) &&
			median_us > slowest_us)
			slowest_us = median_us;
	for (unsigned i = 0; i < n; i++) {
		bool live;
		double seen = live_loss(&all[i], &live);

		if (!tapi_cost_table_at(
			    core->measured, all[i].carrier->loaded.name, size, &median_us, &loss)) {
			median_us = slowest_us;
			loss = 0;
		}
		if (slowest_us > 0 && median_us > 0)
			all[i].score *= median_us;
		all[i].score *= 1 + 10 * (live ? seen : loss);
	}
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	if (a->suspect != b->suspect)
		return !a->suspect;
	if (a->score < b->score || a->score > b->score)
		return a->score < b->score;
	if (a->open != b->open)
		return a->open;
	if (a->rtt_us != b->rtt_us && a->rtt_us != 0 && b->rtt_us != 0)
		return a->rtt_us < b->rtt_us;
	return a->carrier->loaded.api->protocol < b->carrier->loaded.api->protocol;
}

static bool usable(const struct tapi_path *path, uint64_t now_us)
{
	return tapi_path_valid(path, now_us) && !path->one_way && path->carrier->running;
}

static unsigned collect(struct tapi_peer *peer, uint32_t size, uint64_t now_us,
	struct candidate all[CANDIDATES_MAX])
{
	unsigned n = 0;

	for (struct tapi_address *at = peer->addresses; at != NULL && n < CANDIDATES_MAX;
		at = at->next)
		if (tapi_address_valid(at, now_us) &&
			(at->path == NULL || usable(at->path, now_us)))
			all[n++] = (struct candidate){
				.choice = {at, at->path},
				.carrier = at->carrier,
				.open = at->path != NULL,
				.suspect = at->suspect,
				.rtt_us = at->rtt_us,
			};
	for (struct tapi_path *path = peer->paths; path != NULL && n < CANDIDATES_MAX;
		path = path->next)
		if ((path->address == NULL || !tapi_address_valid(path->address, now_us)) &&
			usable(path, now_us) &&
			(!path->inbound ||
				(path->carrier->loaded.api->flags & TAPI_BIDIRECTIONAL) != 0))
			all[n++] = (struct candidate){
				.choice = {NULL, path},
				.carrier = path->carrier,
				.open = true,
				.suspect = path->suspect,
				.rtt_us = path->rtt_us,
			};
	for (unsigned i = 0; i < n; i++)
		all[i].score = all[i].carrier->loaded.api->cost;
	if (peer->core->settings.measured)
		score_measured(peer->core, all, n, size);
	return n;
}

static bool same(const struct tapi_choice *a, const struct tapi_choice *b)
{
	if (a->address != NULL || b->address != NULL)
		return a->address == b->address;
	return a->path == b->path;
}

// "cheapest of 2 (udp 100, tcp 200)", each transport once.
static void tell(const struct candidate *all, unsigned n, const struct candidate *taken,
	const char *why, char *out, size_t room)
{
	int length = snprintf(
		out, room, "%s of %u (%s %.4g", why, n, taken->carrier->loaded.name, taken->score);

	for (unsigned i = 0; i < n; i++) {
		bool reported = all[i].carrier == taken->carrier;

		for (unsigned j = 0; j < i && !reported; j++)
			reported = all[j].carrier == all[i].carrier;
		if (!reported && length > 0 && (size_t)length < room)
			length += snprintf(&out[length], room - (size_t)length, ", %s %.4g",
				all[i].carrier->loaded.name, all[i].score);
	}
	if (length > 0 && (size_t)length + 1 < room)
		snprintf(&out[length], room - (size_t)length, ")");
}

static const struct candidate *cheapest(const struct candidate *all, unsigned n)
{
	const struct candidate *best = &all[0];

	for (unsigned i = 1; i < n; i++)
		if (better(&all[i], best))
			best = &all[i];
	return best;
}

static uint32_t mtu_of(const struct candidate *of)
{
	return of->choice.path != NULL ? of->choice.path->mtu
				       : tapi_path_mtu(of->carrier, of->choice.address->mtu);
}

bool tapi_peer_best(struct tapi_peer *peer, uint32_t size, uint64_t now_us, struct tapi_choice *out,
	char *reason, size_t room)
{
	struct candidate all[CANDIDATES_MAX];
	unsigned n = collect(peer, size, now_us, all), fit = 0;
	const struct candidate *best;

	// What does not go in parts has to fit.
	for (unsigned i = 0; i < n; i++)
		if (peer->core->settings.fragment || mtu_of(&all[i]) >= size)
			all[fit++] = all[i];
	n = fit;
	if (n == 0)
		return false;
	best = cheapest(all, n);
	*out = best->choice;
	tell(all, n, best, "cheapest", reason, room);
	return true;
}

static void announce(struct tapi_peer *peer, enum tapi_peer_event what)
{
	struct tapi_core *core = peer->core;
	struct tapi_peer_info info;

	if (core->watch == NULL)
		return;
	tapi_peer_info_fill(peer, &info);
	core->watch(core->watch_context, what, &info);
}

void tapi_peer_lose(struct tapi_peer *peer, const char *why)
{
	char who[TAPI_PEER_TEXT_BYTES];

	peer->use = (struct tapi_choice){NULL, NULL};
	if (!peer->reachable)
		return;
	snprintf(peer->reason, sizeof(peer->reason), "%s", why);
	tapi_peer_id_text(&peer->id, who);
	if (!peer->core->stopping) // not ten thousand lines
		tapi_core_log(peer->core, LOG_NOTICE, "peer %.16s: %s", who, peer->reason);
	tapi_peer_became(peer, false);
	announce(peer, TAPI_PEER_LOST);
}

void tapi_peer_select(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	struct candidate all[CANDIDATES_MAX];
	unsigned n = collect(peer, peer->size_mean, now_us, all);
	const struct candidate *best, *current = NULL;
	char who[TAPI_PEER_TEXT_BYTES];
	const char *why = "cheapest";
	bool was_reachable = peer->reachable, had = peer->use.address != NULL || peer->use.path;

	peer->choose = false;
	if (n == 0) {
		tapi_peer_lose(peer, peer->denied ? "no validated path is left: section acl denies "
						    "its addresses now"
						  : "no validated path is left");
		return;
	}
	peer->denied = false; // what is left was not
	best = cheapest(all, n);
	for (unsigned i = 0; i < n && had; i++)
		if (same(&all[i].choice, &peer->use))
			current = &all[i];
	// A session whose address got valid, or lost its HELO, is the same way.
	for (unsigned i = 0; i < n && current == NULL && peer->use.path != NULL; i++)
		if (all[i].choice.path == peer->use.path)
			current = &all[i];
	if (current != NULL && best != current && best->suspect == current->suspect) {
		double enough =
			current->score * (100 - (double)core->settings.hysteresis_percent) / 100;
		bool opens = best->open && !current->open && best->score <= current->score;

		if (best->score >= enough && !opens)
			best = current;
	}
	if (current == NULL && was_reachable)
		why = "the last one failed: cheapest";
	peer->use = best->choice;
	if (best == current) {
		return;
	}
	tell(all, n, best, why, peer->reason, sizeof(peer->reason));
	tapi_peer_id_text(&peer->id, who);
	tapi_core_log(core, LOG_INFO, "peer %.16s: %s: %s", who, best->carrier->loaded.name,
		peer->reason);
	peer->blocked_us = 0;
	if (peer->queue.msgs != 0)
		peer->flush_us = now_us;
	if (!was_reachable) {
		tapi_peer_became(peer, true);
		peer->helos_due = peer->gossip_due = true;
		peer->helos_us = now_us;
		announce(peer, TAPI_PEER_REACHABLE);
	} else {
		core->counters.switches++;
		announce(peer, TAPI_PEER_SWITCHED);
	}
}
