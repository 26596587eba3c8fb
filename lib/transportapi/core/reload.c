// SPDX-License-Identifier: BSD-3-Clause
// Another configuration while running (TA17): all of it, or nothing.
#include "transportapi/core/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "transportapi/base/acl.h"
#include "transportapi/base/budget.h"
#include "transportapi/base/conf.h"
#include "transportapi/base/limit.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/conf.h"
#include "transportapi/core/core.h"
#include "transportapi/core/cost_table.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/limits.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/select.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/helo.h"

#define TAPI_DENIED_PEERS_MAX 65536

bool tapi_core_denied(struct tapi_core *core, const struct tapi_peer_id *peer)
{
	struct tapi_denied *denied;
	uint64_t wall_us = tapi_core_wall(core);

	if (tapi_acl_peer(core->acl, peer, wall_us) != TAPI_OK)
		return true;
	if (core->denied == NULL)
		return false;
	HASH_FIND(hh, core->denied, peer, sizeof(*peer), denied);
	if (denied != NULL && denied->until_us != 0 && denied->until_us <= wall_us) {
		HASH_DEL(core->denied, denied);
		free(denied);
		denied = NULL;
	}
	return denied != NULL;
}

// Where the table is full, denials whose time is over make room first.
static bool room_for_denied(struct tapi_core *core)
{
	struct tapi_denied *denied, *next;
	uint64_t wall_us = tapi_core_wall(core);

	if (HASH_COUNT(core->denied) < TAPI_DENIED_PEERS_MAX)
		return true;
	HASH_ITER(hh, core->denied, denied, next)
	{
		if (denied->until_us != 0 && denied->until_us <= wall_us) {
			HASH_DEL(core->denied, denied);
			free(denied);
		}
	}
	return HASH_COUNT(core->denied) < TAPI_DENIED_PEERS_MAX;
}

enum tapi_result tapi_core_deny_peer(
	struct tapi_core *core, const struct tapi_peer_id *peer, uint64_t until_us)
{
	struct tapi_denied *denied;

	HASH_FIND(hh, core->denied, peer, sizeof(*peer), denied);
	if (denied == NULL) {
		if (!room_for_denied(core))
			return TAPI_ELIMIT;
		denied = calloc(1, sizeof(*denied));
		if (denied == NULL)
			return TAPI_ENOMEM;
		denied->id = *peer;
		HASH_ADD(hh, core->denied, id, sizeof(denied->id), denied);
		if (denied->hh.tbl == NULL) {
			free(denied);
			return TAPI_ENOMEM;
		}
	}
	denied->until_us = until_us;
	core->denials++;
	tapi_peer_forget(core, peer, "the program denies it");
	return TAPI_OK;
}

static enum tapi_result same_transports(
	const struct tapi_conf *old, const struct tapi_conf *fresh, struct tapi_error *error)
{
	for (unsigned i = 0;; i++) {
		const char *was = tapi_conf_item(old, NULL, "transports", i);
		const char *is = tapi_conf_item(fresh, NULL, "transports", i);

		if (was == NULL && is == NULL)
			return TAPI_OK;
		if (was == NULL || is == NULL || strcmp(was, is) != 0) {
			snprintf(error->text, sizeof(error->text),
				"\"transports\" cannot change while running, nothing was changed: "
				"the name %u was %.32s "
				"and is %.32s now: restart, or put it back as it was",
				i + 1, was != NULL ? was : "absent", is != NULL ? is : "absent");
			return TAPI_ECONF;
		}
	}
}

// How many take what *conf and *acl are now, from the first on. TAPI_OK: all.
static unsigned each_takes(struct tapi_core *core, enum tapi_result *result)
{
	*result = TAPI_OK;
	for (unsigned i = 0; i < core->n_carriers; i++) {
		struct tapi_transport_api *api = core->carriers[i].loaded.api;

		*result = api->reload_configuration(api);
		if (*result != TAPI_OK)
			return i;
		if (core->carriers[i].running)
			tapi_carrier_touch(&core->carriers[i]);
	}
	return core->n_carriers;
}

// One that refuses puts the old ones back for all that had taken the new. Who is denied now comes
// second, when nobody has refused: a session that ended for it would not come back.
static enum tapi_result reload_transports(struct tapi_core *core, const struct tapi_conf *conf,
	const struct tapi_acl *acl, struct tapi_error *error)
{
	const struct tapi_conf *old_conf = core->conf;
	const struct tapi_acl *old_acl = core->acl;
	enum tapi_result result;
	unsigned taken, refuser;

	core->conf = conf;
	taken = refuser = each_takes(core, &result);
	if (result == TAPI_OK) {
		core->acl = acl;
		refuser = each_takes(core, &result);
	}
	if (result == TAPI_OK)
		return TAPI_OK;
	snprintf(error->text, sizeof(error->text),
		"%s refuses the new configuration (%s), nothing was changed; its log says where",
		core->carriers[refuser].loaded.name, tapi_result_name(result));
	core->conf = old_conf;
	core->acl = old_acl;
	while (taken-- > 0) {
		struct tapi_transport_api *api = core->carriers[taken].loaded.api;

		if (api->reload_configuration(api) != TAPI_OK)
			tapi_core_log(core, LOG_ERR, "%s does not take its old configuration back",
				core->carriers[taken].loaded.name);
	}
	return result;
}

// Peers and addresses that are denied now go; transports close the sessions themselves.
static void apply_denials(struct tapi_core *core)
{
	struct tapi_peer *peer, *next;

	HASH_ITER(hh, core->peers, peer, next)
	{
		struct tapi_address *at = peer->addresses, *after;
		struct tapi_helo helo;

		if (tapi_core_denied(core, &peer->id)) {
			char who[TAPI_PEER_TEXT_BYTES];

			tapi_peer_id_text(&peer->id, who);
			tapi_core_log(core, LOG_NOTICE,
				"peer %.16s: is denied now (acl.deny_peers), its sessions close",
				who);
			tapi_peer_lose(peer, "section acl denies the peer now");
			tapi_peer_end(peer);
			continue;
		}
		for (; at != NULL; at = after) {
			struct tapi_transport_api *api = at->carrier->loaded.api;

			after = at->next;
			if (!tapi_address_helo(at, &helo) ||
				api->verify_helo(api, &helo) != TAPI_OK) {
				peer->denied = true;
				tapi_address_end(peer, at);
			}
		}
		tapi_addresses_limit(peer);
		tapi_peer_limits(peer);
		peer->choose = true;
		tapi_peer_kick(peer);
	}
}

static void apply_settings(struct tapi_core *core, uint64_t now_us)
{
	const struct tapi_core_settings *set = &core->settings;
	struct tapi_rate_map *map;

	// What was counted until now is forgotten with the map: a reload is rare, and the total
	// stays in its bucket.
	map = tapi_rate_map_new(1, set->ping_address_us, 65536);
	if (map != NULL) {
		tapi_rate_map_free(core->ping_address);
		core->ping_address = map;
	}
	map = tapi_rate_map_new(
		(uint32_t)set->ping_prefix_per_min, UINT64_C(60) * TAPI_US_PER_S, 65536);
	if (map != NULL) {
		tapi_rate_map_free(core->ping_prefix);
		core->ping_prefix = map;
	}
	tapi_bucket_change(&core->ping_bucket, set->ping_per_s, set->ping_per_s, now_us);
	tapi_bucket_change(&core->ping_in_bucket, set->ping_per_s, set->ping_per_s, now_us);
	tapi_bucket_change(&core->pong_bucket, set->pongs_per_s, set->pongs_per_s, now_us);
	tapi_bucket_change(&core->helo_bucket, set->helos_per_s, set->helos_per_s, now_us);
	tapi_bucket_change(
		&core->secure_bucket, set->handshakes_per_s, set->handshakes_per_s, now_us);
	tapi_queue_pool_limit(&core->queue_pool, set->queue_total_bytes);
	tapi_fragment_pool_limit(&core->fragment_pool, set->fragment_total_bytes);
	core->budget.bytes_max = set->memory_total_bytes;
	tapi_budget_fit(&core->budget);
	if (core->started)
		tapi_core_descriptors(core);
}

enum tapi_result tapi_core_reload(
	struct tapi_core *core, const struct tapi_conf *conf, struct tapi_error *error)
{
	struct tapi_core_settings settings;
	struct tapi_cost_table *measured = NULL;
	struct tapi_acl *acl = NULL;
	enum tapi_encryption was;
	enum tapi_result result;

	error->text[0] = '\0';
	result = tapi_core_settings_read(&settings, conf, error);
	if (result == TAPI_OK)
		result = tapi_conf_compare(core->conf, conf, "core", tapi_core_keys, error);
	if (result == TAPI_OK)
		result = same_transports(core->conf, conf, error);
	if (result == TAPI_OK)
		result = tapi_acl_new(&acl, conf, error);
	if (result == TAPI_OK && settings.measured_table != NULL)
		result = tapi_cost_table_load(&measured, settings.measured_table, error);
	if (result == TAPI_OK)
		result = reload_transports(core, conf, acl, error);
	if (result != TAPI_OK) {
		tapi_acl_free(acl);
		tapi_cost_table_free(measured);
		return result;
	}
	tapi_acl_free(core->acl_owned);
	core->acl_owned = acl;
	tapi_cost_table_free(core->measured);
	core->measured = measured;
	was = core->settings.encryption;
	core->settings = settings;
	tapi_core_secure_reload(core, was);
	apply_settings(core, tapi_core_now(core));
	core->depth++;
	apply_denials(core);
	tapi_core_peers_limit(core);
	if (core->started)
		tapi_core_make_helos(core, tapi_core_now(core), true);
	core->depth--;
	tapi_core_reap(core);
	return TAPI_OK;
}
