// SPDX-License-Identifier: BSD-3-Clause
// The core's life: its transports, its time, its turns.
#include "transportapi/core/core.h"

#include <errno.h>
#include <event2/event.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "transportapi/base/acl.h"
#include "transportapi/base/budget.h"
#include "transportapi/base/conf.h"
#include "transportapi/base/limit.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/conf.h"
#include "transportapi/core/cost_table.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/limits.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/receive.h"
#include "transportapi/core/reload.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/select.h"
#include "transportapi/core/state.h"
#include "transportapi/core/store.h"
#include "transportapi/core/timer.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/ping.h"
#include "transportapi/proto/secure.h"
#include "transportapi/transport/registry.h"

#define ANNOUNCE_US (UINT64_C(10) * TAPI_US_PER_S) // between two changes of our addresses

static uint64_t clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * TAPI_US_PER_S + (uint64_t)now.tv_nsec / 1000;
}

uint64_t tapi_core_now(const struct tapi_core *core)
{
	return core->options.now_us != NULL ? core->options.now_us(core->options.context)
					    : clock_us(CLOCK_MONOTONIC);
}

uint64_t tapi_core_wall(const struct tapi_core *core)
{
	return core->options.wall_us != NULL ? core->options.wall_us(core->options.context)
					     : clock_us(CLOCK_REALTIME);
}

void tapi_core_random(struct tapi_core *core, void *octets, size_t length)
{
	if (core->options.random != NULL)
		core->options.random(core->options.context, octets, length);
	else
		randombytes_buf(octets, length);
}

uint32_t tapi_core_random_below(struct tapi_core *core, uint32_t below)
{
	uint32_t drawn;

	tapi_core_random(core, &drawn, sizeof(drawn));
	return below != 0 ? drawn % below : 0; // jitter and picks: the bias does not matter
}

uint32_t tapi_core_crc(const uint8_t *octets, uint32_t length)
{
	return (uint32_t)crc32(0, octets, length);
}

__attribute__((format(printf, 4, 0))) static void log_text(struct tapi_core *core, int priority,
	const char *who, const char *format, va_list arguments)
{
	char text[512];
	int length = snprintf(text, sizeof(text), "%s: ", who);
	const char *line = text;

	vsnprintf(&text[length], sizeof(text) - (size_t)length, format, arguments);
	if (strncmp(&text[length], text, (size_t)length) == 0) // a transport that says who it is
		line = &text[length];
	if (core->options.log != NULL)
		core->options.log(core->options.context, priority, line);
	else
		fprintf(stderr, "transportapi: %s\n", line);
}

void tapi_core_log(struct tapi_core *core, int priority, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	log_text(core, priority, "core", format, arguments);
	va_end(arguments);
}

// What a transport sees; its first argument is the carrier.
static uint64_t carrier_now(void *carrier)
{
	return tapi_core_now(((struct tapi_carrier *)carrier)->core);
}

static void carrier_random(void *carrier, void *octets, size_t length)
{
	tapi_core_random(((struct tapi_carrier *)carrier)->core, octets, length);
}

__attribute__((format(printf, 3, 4))) static void carrier_log(
	void *carrier, int priority, const char *format, ...)
{
	struct tapi_carrier *of = carrier;
	va_list arguments;

	va_start(arguments, format);
	log_text(of->core, priority, of->loaded.name, format, arguments);
	va_end(arguments);
}

// Peers are reported, but not as often as an address may come and go.
static void carrier_addresses_changed(void *carrier)
{
	struct tapi_core *core = ((struct tapi_carrier *)carrier)->core;
	uint64_t now_us = tapi_core_now(core), at_us = core->announced_us + ANNOUNCE_US;

	if (!core->started)
		return;
	at_us = core->announced_us != 0 && at_us > now_us ? at_us : now_us;
	if (at_us < core->own_refresh_us)
		core->own_refresh_us = at_us;
	tapi_core_wish(core, at_us);
}

void tapi_carrier_touch(struct tapi_carrier *carrier)
{
	uint64_t now_us = tapi_core_now(carrier->core);

	if (carrier->wish_us > now_us)
		carrier->wish_us = now_us;
	tapi_core_wish(carrier->core, now_us);
}

struct tapi_carrier *tapi_core_carrier(struct tapi_core *core, uint16_t protocol)
{
	for (unsigned i = 0; i < core->n_carriers; i++)
		if (core->carriers[i].running && core->carriers[i].loaded.api->protocol == protocol)
			return &core->carriers[i];
	return NULL;
}

struct tapi_transport_api *tapi_core_transport(struct tapi_core *core, const char *name)
{
	for (unsigned i = 0; i < core->n_carriers; i++)
		if (strcmp(core->carriers[i].loaded.name, name) == 0)
			return core->carriers[i].loaded.api;
	return NULL;
}

const struct tapi_identity *tapi_core_identity(const struct tapi_core *core)
{
	return &core->identity;
}

static enum tapi_result load_own(struct tapi_carrier *carrier, const struct tapi_own_transport *own,
	struct tapi_error *error)
{
	snprintf(carrier->loaded.name, sizeof(carrier->loaded.name), "%s", own->name);
	carrier->loaded.done = own->done;
	carrier->loaded.api = own->init(&carrier->api);
	carrier->own = true;
	if (carrier->loaded.api == NULL) {
		snprintf(error->text, sizeof(error->text), "%s refused to start", own->name);
		return TAPI_ECONF;
	}
	if (carrier->loaded.api->version != TAPI_VERSION) {
		snprintf(error->text, sizeof(error->text), "%s is of version %u, this is %u",
			own->name, carrier->loaded.api->version, TAPI_VERSION);
		own->done(carrier->loaded.api);
		return TAPI_ECONF;
	}
	return TAPI_OK;
}

static void carrier_unload(struct tapi_carrier *carrier)
{
	if (carrier->own)
		carrier->loaded.done(carrier->loaded.api);
	else
		tapi_transport_unload(&carrier->loaded);
}

static enum tapi_result load_one(struct tapi_core *core, const char *name, struct tapi_error *error)
{
	const struct tapi_own_transport *own = core->options.transports;
	struct tapi_carrier *carrier = &core->carriers[core->n_carriers];
	struct tapi_carrier *twin;
	enum tapi_result result;

	if (core->n_carriers == TAPI_TRANSPORTS_MAX) {
		snprintf(error->text, sizeof(error->text), "%s: at most %d transports", name,
			TAPI_TRANSPORTS_MAX);
		return TAPI_ELIMIT;
	}
	*carrier = (struct tapi_carrier){
		.core = core,
		.wish_us = TAPI_NEVER,
		.api = {TAPI_VERSION, &core->identity.id, carrier, tapi_core_take,
			tapi_core_session_down, core->options.base, carrier_now, carrier_random,
			carrier_log, &core->conf, &core->acl, &core->budget,
			carrier_addresses_changed},
	};
	// The name stands in the log while the transport starts.
	snprintf(carrier->loaded.name, sizeof(carrier->loaded.name), "%s", name);
	while (own != NULL && own->name != NULL && strcmp(own->name, name) != 0)
		own++;
	if (own != NULL && own->name != NULL)
		result = load_own(carrier, own, error);
	else
		result = tapi_transport_load(&carrier->loaded, name, core->settings.module_path,
			core->settings.modules_first, &carrier->api, error);
	if (result != TAPI_OK)
		return result;
	twin = NULL;
	for (unsigned i = 0; i < core->n_carriers; i++)
		if (core->carriers[i].loaded.api->protocol == carrier->loaded.api->protocol)
			twin = &core->carriers[i];
	if (twin != NULL) {
		snprintf(error->text, sizeof(error->text), "%s has the protocol number of %s", name,
			twin->loaded.name);
		carrier_unload(carrier);
		return TAPI_ECONF;
	}
	if (carrier->loaded.object != NULL)
		tapi_core_log(core, LOG_INFO, "transport %s was loaded from %s", name,
			core->settings.module_path);
	core->n_carriers++;
	return TAPI_OK;
}

static enum tapi_result load_transports(struct tapi_core *core, struct tapi_error *error)
{
	struct tapi_error why = {.text = "\"transports\" names none"};
	const char *name, *folder = core->settings.module_path;
	uint32_t mtu = TAPI_PING_BYTES_MAX;

	if (folder != NULL && access(folder, R_OK | X_OK) != 0)
		tapi_core_log(core, LOG_WARNING,
			"core.module_path: %s: %s; no transport is loaded from there", folder,
			strerror(errno));
	for (unsigned i = 0; (name = tapi_conf_item(core->conf, NULL, "transports", i)) != NULL;
		i++)
		if (load_one(core, name, &why) != TAPI_OK)
			tapi_core_log(core, LOG_ERR, "transport left out: %s", why.text);
	if (core->n_carriers == 0) {
		snprintf(error->text, sizeof(error->text), "no transport can be had: %.280s",
			why.text);
		return TAPI_ECONF;
	}
	for (unsigned i = 0; i < core->n_carriers; i++)
		if (core->carriers[i].loaded.api->mtu > mtu)
			mtu = core->carriers[i].loaded.api->mtu;
	core->buffer_room = mtu;
	core->buffer = malloc(mtu);
	return core->buffer != NULL ? TAPI_OK : TAPI_ENOMEM;
}

static void on_event(evutil_socket_t fd, short what, void *context)
{
	struct tapi_core *core = context;

	(void)fd;
	(void)what;
	tapi_core_turn(core, tapi_core_now(core));
}

static enum tapi_result prepare(struct tapi_core *core, struct tapi_error *error)
{
	const struct tapi_core_settings *set = &core->settings;
	enum tapi_result result = tapi_core_settings_read(&core->settings, core->conf, error);
	uint64_t now_us = tapi_core_now(core);

	if (result == TAPI_OK)
		result = tapi_acl_new(&core->acl_owned, core->conf, error);
	core->acl = core->acl_owned;
	if (result == TAPI_OK && set->measured_table != NULL)
		result = tapi_cost_table_load(&core->measured, set->measured_table, error);
	if (result != TAPI_OK)
		return result;
	if (core->options.identity != NULL) {
		core->identity = *core->options.identity;
	} else if (set->identity == NULL) {
		snprintf(error->text, sizeof(error->text),
			"core.identity names no file, and the program gave no key");
		return TAPI_ECONF;
	} else if ((result = tapi_identity_load(&core->identity, set->identity, error)) !=
		   TAPI_OK) {
		return result;
	}
	if (!tapi_static_of(&core->secure_static, &core->identity)) {
		snprintf(error->text, sizeof(error->text), "the identity is no Ed25519 key");
		return TAPI_ECONF;
	}
	core->ping_address = tapi_rate_map_new(1, set->ping_address_us, 65536);
	core->ping_prefix = tapi_rate_map_new(
		(uint32_t)set->ping_prefix_per_min, UINT64_C(60) * TAPI_US_PER_S, 65536);
	tapi_bucket_init(&core->ping_bucket, set->ping_per_s, set->ping_per_s, now_us);
	core->ping_in_bucket = core->ping_bucket;
	tapi_bucket_init(&core->pong_bucket, set->pongs_per_s, set->pongs_per_s, now_us);
	tapi_bucket_init(&core->helo_bucket, set->helos_per_s, set->helos_per_s, now_us);
	tapi_budget_init(&core->budget, set->memory_total_bytes);
	tapi_bucket_init(
		&core->secure_bucket, set->handshakes_per_s, set->handshakes_per_s, now_us);
	tapi_fragment_pool_init(&core->fragment_pool, set->fragment_total_bytes);
	tapi_fragment_pool_join(&core->fragment_pool, &core->budget);
	tapi_queue_pool_init(&core->queue_pool, set->queue_total_bytes);
	tapi_queue_pool_join(&core->queue_pool, &core->budget);
	if (core->ping_address == NULL || core->ping_prefix == NULL)
		return TAPI_ENOMEM;
	if (core->options.base != NULL && !core->options.own_turns) {
		core->event = event_new(core->options.base, -1, 0, on_event, core);
		if (core->event == NULL)
			return TAPI_ENOMEM;
	}
	return load_transports(core, error);
}

enum tapi_result tapi_core_new(
	struct tapi_core **out, const struct tapi_core_options *options, struct tapi_error *error)
{
	struct tapi_core *core;
	enum tapi_result result;

	*out = NULL;
	error->text[0] = '\0';
	if (sodium_init() < 0) {
		snprintf(error->text, sizeof(error->text), "libsodium finds no source of chance");
		return TAPI_ESYS;
	}
	core = calloc(1, sizeof(*core));
	if (core == NULL)
		return TAPI_ENOMEM;
	core->options = *options;
	core->conf = options->conf;
	core->armed_us = TAPI_NEVER;
	core->own_refresh_us = TAPI_NEVER;
	core->store_us = TAPI_NEVER;
	TAILQ_INIT(&core->fresh);
	TAILQ_INIT(&core->dead);
	TAILQ_INIT(&core->line);
	result = prepare(core, error);
	if (result != TAPI_OK) {
		if (error->text[0] == '\0')
			snprintf(error->text, sizeof(error->text), "%s", tapi_result_name(result));
		tapi_core_free(core);
		return result;
	}
	core->options.identity = NULL; // copied
	*out = core;
	return TAPI_OK;
}

enum tapi_result tapi_core_start(struct tapi_core *core, struct tapi_error *error)
{
	uint64_t now_us = tapi_core_now(core);
	unsigned running = 0;

	if (core->started)
		return TAPI_OK;
	for (unsigned i = 0; i < core->n_carriers; i++) {
		struct tapi_carrier *carrier = &core->carriers[i];
		enum tapi_result result = carrier->loaded.api->start_server(carrier->loaded.api);

		carrier->running = result == TAPI_OK;
		running += carrier->running;
		if (!carrier->running)
			tapi_core_log(core, LOG_ERR,
				"%s does not start (%s): left out, until the next start",
				carrier->loaded.name, tapi_result_name(result));
	}
	if (running == 0) {
		snprintf(error->text, sizeof(error->text),
			"no transport starts: the log says why of each");
		return TAPI_ESYS;
	}
	core->started = true;
	tapi_core_descriptors(core);
	core->store_us = now_us + core->settings.store_us;
	for (unsigned i = 0; i < core->n_carriers; i++)
		if (core->carriers[i].running)
			tapi_carrier_touch(&core->carriers[i]);
	tapi_core_make_helos(core, now_us, false);
	if (core->nated)
		tapi_core_log(core, LOG_NOTICE,
			"no address of ours can be advertised: peers can only answer where we go "
			"first; if this is not behind NAT, see bind, advertise and section acl "
			"(acl.local for peers of one machine)");
	tapi_core_load_peers(core);
	for (struct tapi_peer *peer = core->peers; peer != NULL; peer = peer->hh.next)
		tapi_peer_kick(peer);
	tapi_core_wish(core, now_us);
	return TAPI_OK;
}

// Peers and their addresses stay; what was validated has to be so again after the next start.
void tapi_core_stop(struct tapi_core *core)
{
	if (!core->started)
		return;
	tapi_core_store_peers(core);
	core->stopping = true;
	core->depth++;
	tapi_line_clear(core);
	for (struct tapi_peer *peer = core->peers; peer != NULL; peer = peer->hh.next)
		for (struct tapi_path *path = peer->paths; path != NULL; path = path->next)
			tapi_path_release(path);
	for (unsigned i = 0; i < core->n_carriers; i++) {
		struct tapi_carrier *carrier = &core->carriers[i];

		if (carrier->running)
			carrier->loaded.api->stop_server(carrier->loaded.api);
		carrier->running = false;
		carrier->wish_us = TAPI_NEVER;
	}
	for (struct tapi_peer *peer = core->peers; peer != NULL; peer = peer->hh.next) {
		while (peer->paths != NULL)
			tapi_path_end(peer->paths);
		for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next) {
			at->valid_until_us = 0;
			at->next_ping_us = 0;
			at->failures = 0;
			at->trigger |= at->proven || at->vouched;
		}
		tapi_secure_forget(peer);
		tapi_peer_lose(peer, "the core stops");
		tapi_timer_end(core, &peer->timer);
	}
	core->depth--;
	tapi_core_reap(core);
	core->stopping = false;
	core->started = false;
	core->own_refresh_us = TAPI_NEVER;
	core->store_us = TAPI_NEVER;
	if (core->event != NULL)
		event_del(core->event);
	core->armed_us = TAPI_NEVER;
}

void tapi_core_free(struct tapi_core *core)
{
	struct tapi_denied *denied, *next_denied;
	struct tapi_peer *peer, *next_peer;

	if (core == NULL)
		return;
	core->watch = NULL; // its context may be gone
	tapi_core_stop(core);
	HASH_ITER(hh, core->peers, peer, next_peer)
	{
		tapi_peer_end(peer);
	}
	tapi_core_reap(core);
	for (unsigned i = 0; i < core->n_carriers; i++)
		carrier_unload(&core->carriers[i]);
	HASH_ITER(hh, core->denied, denied, next_denied)
	{
		HASH_DEL(core->denied, denied);
		free(denied);
	}
	tapi_quotas_free(core);
	for (size_t i = 0; i < sizeof(core->receivers) / sizeof(core->receivers[0]); i++)
		free(core->receivers[i]);
	if (core->event != NULL)
		event_free(core->event);
	tapi_rate_map_free(core->ping_address);
	tapi_rate_map_free(core->ping_prefix);
	tapi_cost_table_free(core->measured);
	tapi_acl_free(core->acl_owned);
	tapi_identity_wipe(&core->identity);
	sodium_memzero(&core->secure_static, sizeof(core->secure_static));
	free(core->sealed);
	if (core->opened != NULL)
		sodium_memzero(core->opened, core->buffer_room);
	free(core->opened);
	free(core->reachable);
	free(core->buffer);
	free(core->heap);
	free(core);
}

static uint64_t next_wish(const struct tapi_core *core)
{
	uint64_t next_us = tapi_timer_next(core);

	for (unsigned i = 0; i < core->n_carriers; i++)
		if (core->carriers[i].running && core->carriers[i].wish_us < next_us)
			next_us = core->carriers[i].wish_us;
	if (core->own_refresh_us < next_us)
		next_us = core->own_refresh_us;
	if (core->store_due && core->store_us < next_us)
		next_us = core->store_us;
	return next_us;
}

static uint64_t later(uint64_t a_us, uint64_t b_us)
{
	return a_us > b_us ? a_us : b_us;
}

// Transports, then peers: what the first bring in, the others answer in the same turn. The rounds
// are bounded, so that a transport that always wants more cannot hold the loop.
// So many peers have their turn, then what has come in is read: thousands of PINGs at one moment
// would have their PONGs overflow the socket.
#define PEERS_A_TURN 32

uint64_t tapi_core_turn(struct tapi_core *core, uint64_t now_us)
{
	struct tapi_timer *timer;
	unsigned peers = 0;
	uint64_t next_us;

	if (!core->started || core->depth != 0)
		return TAPI_NEVER;
	core->depth++;
	core->armed_us = 0; // nothing is armed before the end of this
	if (core->own_refresh_us <= now_us)
		tapi_core_make_helos(core, now_us, true);
	for (unsigned round = 0; round < 4 && next_wish(core) <= now_us; round++) {
		for (unsigned i = 0; i < core->n_carriers; i++) {
			struct tapi_carrier *carrier = &core->carriers[i];
			uint64_t wish_us;

			if (!carrier->running || carrier->wish_us > now_us)
				continue;
			carrier->wish_us = TAPI_NEVER; // what is touched meanwhile shows
			wish_us = carrier->loaded.api->turn(carrier->loaded.api, now_us);
			if (wish_us < carrier->wish_us)
				carrier->wish_us = wish_us;
		}
		while (peers < PEERS_A_TURN && (timer = tapi_timer_due(core, now_us)) != NULL) {
			struct tapi_peer *peer =
				(struct tapi_peer *)((char *)timer -
						     offsetof(struct tapi_peer, timer));

			tapi_timer_end(core, timer);
			// What was noted since this turn began is not of the future.
			tapi_peer_turn(peer, later(now_us, tapi_core_now(core)));
			peers++;
		}
		if (core->store_due && core->store_us <= now_us)
			tapi_core_store_peers(core);
	}
	core->depth--;
	tapi_core_reap(core);
	next_us = next_wish(core);
	core->armed_us = TAPI_NEVER;
	if (next_us != TAPI_NEVER)
		tapi_core_wish(core, next_us);
	return next_us;
}
