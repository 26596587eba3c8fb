// SPDX-License-Identifier: BSD-3-Clause
// HELOs: our own, freshly signed; those of others, checked and kept (TA5 to TA7); and which of
// them are passed on.
#include "transportapi/core/helo.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "transportapi/base/wire.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/conf.h"
#include "transportapi/core/core.h"
#include "transportapi/core/limits.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/reload.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/helo.h"

static const char TEXT_PREFIX[] = "sluice-helo:";

static void add_own(struct tapi_core *core, struct tapi_helo *helo, uint64_t wall_us)
{
	struct tapi_own_helo *own = &core->own[core->n_own];

	helo->expires_us = wall_us + core->settings.helo_lifetime_us;
	helo->seq = wall_us;
	if (core->settings.encryption != TAPI_ENCRYPTION_OFF)
		helo->flags |= TAPI_HELO_ENCRYPTS;
	tapi_helo_sign(helo, &core->identity);
	own->protocol = helo->protocol;
	own->size = (uint16_t)tapi_helo_encode(helo, own->octets, sizeof(own->octets));
	core->n_own += own->size != 0;
}

// Every address of every transport. Where there is none, others learn that we can only be answered
// on sessions that we open: protocol 1, without address. An address that a NAT keeps for us
// (TAPI_HELO_NATED) may let in only whom we went to: paths are kept open as if there were none.
void tapi_core_make_helos(struct tapi_core *core, uint64_t now_us, bool announce)
{
	uint64_t wall_us = tapi_core_wall(core);
	struct tapi_helo helo;

	core->n_own = 0;
	core->nated = true;
	for (unsigned i = 0; i < core->n_carriers; i++) {
		struct tapi_transport_api *api = core->carriers[i].loaded.api;

		core->carriers[i].nated = false;
		for (unsigned index = 0;
			core->carriers[i].running && core->n_own < TAPI_OWN_HELOS_MAX; index++) {
			helo = (struct tapi_helo){.protocol = api->protocol, .mtu = api->mtu};
			if (api->create_helo(api, index, &helo) != TAPI_OK)
				break;
			add_own(core, &helo, wall_us);
			core->carriers[i].nated |= (helo.flags & TAPI_HELO_NATED) != 0;
			core->nated &= (helo.flags & TAPI_HELO_NATED) != 0;
		}
	}
	if (core->n_own == 0) {
		helo = (struct tapi_helo){
			.protocol = TAPI_PROTOCOL_NAT,
			.flags = TAPI_HELO_NATED | TAPI_HELO_OUTBOUND_ONLY,
		};
		add_own(core, &helo, wall_us);
	}
	if (announce)
		core->announced_us = now_us;
	// Who only looks at them does not put off when peers are reported.
	if (announce || core->own_refresh_us == TAPI_NEVER)
		core->own_refresh_us = now_us + core->settings.helo_lifetime_us / 2;
	// Peers hear of it in the course of a minute, not all at once.
	for (uint32_t i = 0; announce && i < core->n_reachable; i++) {
		struct tapi_peer *peer = core->reachable[i];

		peer->helos_due = true;
		peer->helos_us = now_us + tapi_core_random_below(core, 60 * TAPI_US_PER_S);
		tapi_peer_at(peer, peer->helos_us);
	}
}

bool tapi_address_helo(const struct tapi_address *address, struct tapi_helo *out)
{
	size_t used;

	return tapi_helo_decode(out, address->helo, address->helo_size, &used) == TAPI_OK;
}

void tapi_address_end(struct tapi_peer *peer, struct tapi_address *address)
{
	struct tapi_address **at = &peer->addresses;

	while (*at != address)
		at = &(*at)->next;
	*at = address->next;
	peer->n_addresses--;
	if (address->path != NULL)
		address->path->address = NULL; // a session to it goes on, while it is validated
	if (peer->use.address == address) {
		peer->use.address = NULL;
		if (peer->use.path == NULL)
			peer->choose = true;
	}
	free(address);
}

static struct tapi_address *find_address(struct tapi_peer *peer, const uint8_t *hash)
{
	for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
		if (memcmp(at->hash, hash, TAPI_ADDRESS_HASH_BYTES) == 0)
			return at;
	return NULL;
}

// What may fail at once: addresses of one transport and family (of IP, if it has any).
static bool kin(const struct tapi_address *a, const struct tapi_address *b)
{
	return a->carrier == b->carrier && a->family == b->family;
}

static unsigned kin_count(const struct tapi_peer *peer, const struct tapi_address *of)
{
	unsigned count = 0;

	for (const struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
		count += kin(at, of);
	return count;
}

// Room for `fresh` (NULL: the limit was lowered), which has no place yet. What is valid, or has a
// session, stays. Of the others those that were never proven go first; of these one of the kind
// that there is most of, the one that came in being one of them; of this kind what its owner signed
// first. If that is the one that came in, false: whoever names many addresses at once is believed
// to name the best first.
static bool address_room(struct tapi_peer *peer, const struct tapi_address *fresh)
{
	struct tapi_address *worst = NULL;
	unsigned most = 0;

	if (peer->n_addresses < peer->core->settings.helos_per_peer)
		return true;
	for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next) {
		unsigned count = kin_count(peer, at) + (fresh != NULL && kin(at, fresh));

		if (at->path != NULL || at->valid_until_us != 0)
			continue;
		if (worst == NULL || at->proven < worst->proven ||
			(at->proven == worst->proven &&
				(count > most || (count == most && at->seq < worst->seq)))) {
			worst = at;
			most = count;
		}
	}
	if (worst != NULL && fresh != NULL && !worst->proven && fresh->seq <= worst->seq &&
		most <= kin_count(peer, fresh) + 1)
		worst = NULL;
	peer->core->counters.helo_left_out += worst != NULL || fresh != NULL;
	if (worst == NULL)
		return false;
	tapi_address_end(peer, worst);
	return true;
}

void tapi_addresses_limit(struct tapi_peer *peer)
{
	while (peer->n_addresses > peer->core->settings.helos_per_peer && address_room(peer, NULL))
		;
}

// Of the Internet: 4 or 6; else 0.
static uint8_t family_of(struct tapi_carrier *carrier, const struct tapi_helo *helo)
{
	struct tapi_transport_api *api = carrier->loaded.api;
	struct tapi_source source = {.family = 0};

	if (api->address_source == NULL || api->address_source(api, helo, &source) != TAPI_OK)
		return 0;
	return source.family;
}

static enum tapi_result keep(struct tapi_core *core, struct tapi_peer *peer,
	struct tapi_carrier *carrier, struct tapi_address *old, const struct tapi_helo *helo,
	const uint8_t *hash, const uint8_t *octets, size_t length, enum tapi_origin origin)
{
	uint64_t now_us = tapi_core_now(core), wall_us = tapi_core_wall(core);
	struct tapi_address *at, **link;

	at = calloc(1, sizeof(*at) + length);
	if (at == NULL)
		return TAPI_ENOMEM;
	at->carrier = carrier;
	at->family = family_of(carrier, helo);
	at->seq = helo->seq;
	if (old == NULL && !address_room(peer, at)) {
		core->counters.helo_no_room++;
		free(at);
		return TAPI_ELIMIT;
	}
	if (old != NULL) {
		// The same key at the same address: what was proven of it stands.
		*at = *old;
		for (link = &peer->addresses; *link != old; link = &(*link)->next)
			;
		*link = at;
		if (at->path != NULL)
			at->path->address = at;
		if (peer->use.address == old)
			peer->use.address = at;
		core->store_due |= at->proven;
		free(old);
	} else {
		memcpy(at->hash, hash, sizeof(at->hash));
		at->next = peer->addresses;
		peer->addresses = at;
		peer->n_addresses++;
	}
	at->seq = helo->seq;
	at->mtu = helo->mtu;
	at->expires_us =
		helo->expires_us > wall_us ? now_us + (helo->expires_us - wall_us) : now_us;
	at->helo_size = (uint16_t)length;
	memcpy(at->helo, octets, length);
	at->trigger = true;
	at->vouched |= origin >= TAPI_FROM_PROGRAM;
	at->proven |= origin == TAPI_FROM_FILE;
	core->counters.helo_stored++;
	tapi_peer_kick(peer);
	return TAPI_OK;
}

static enum tapi_result refuse(uint64_t *counter, enum tapi_result result)
{
	(*counter)++;
	return result;
}

// The cheap questions first; the signature is asked for only of what would be new.
enum tapi_result tapi_core_take_helo(struct tapi_core *core, const struct tapi_helo *helo,
	const uint8_t *octets, size_t length, enum tapi_origin origin)
{
	struct tapi_core_counters *count = &core->counters;
	struct tapi_carrier *carrier = NULL;
	struct tapi_address *old = NULL;
	struct tapi_peer *peer;
	struct tapi_peer_id id;
	enum tapi_result result;
	uint8_t hash[TAPI_ADDRESS_HASH_BYTES];

	count->helo_received++;
	tapi_helo_peer(helo, &id);
	if (tapi_peer_id_equal(&id, &core->identity.id))
		return refuse(&count->helo_own, TAPI_OK);
	if (tapi_core_denied(core, &id))
		return refuse(&count->helo_denied, TAPI_EACL);
	if (helo->protocol != TAPI_PROTOCOL_NAT) {
		carrier = tapi_core_carrier(core, helo->protocol);
		if (carrier == NULL)
			return refuse(&count->helo_unknown_transport, TAPI_EADDR);
	}
	tapi_helo_address_hash(helo, hash);
	peer = tapi_peer_find(core, &id);
	if (peer != NULL && carrier != NULL)
		old = find_address(peer, hash);
	if (old != NULL && helo->seq <= old->seq) {
		old->trigger = true; // it may be asked again: the limits of PINGs hold
		old->vouched |= origin >= TAPI_FROM_PROGRAM;
		tapi_peer_kick(peer);
		return refuse(&count->helo_old, TAPI_OK);
	}
	// A check costs some 100 microseconds: nobody out there may have us do nothing else.
	if (origin < TAPI_FROM_PROGRAM &&
		!tapi_core_may(&core->helo_bucket, origin == TAPI_FROM_PEER, tapi_core_now(core)))
		return refuse(&count->helo_limited, TAPI_ELIMIT);
	result = tapi_helo_check(helo, tapi_core_wall(core),
		carrier != NULL && (carrier->loaded.api->flags & TAPI_HIGH_LATENCY) != 0);
	if (result == TAPI_EEXPIRED)
		return refuse(&count->helo_expired, result);
	if (result != TAPI_OK)
		return refuse(&count->helo_bad_signature, result);
	if (carrier != NULL) {
		result = carrier->loaded.api->verify_helo(carrier->loaded.api, helo);
		if (result == TAPI_EACL)
			return refuse(&count->helo_denied, result);
		if (result != TAPI_OK)
			return refuse(&count->helo_bad_address, result);
	}
	if (peer == NULL)
		peer = tapi_peer_get(core, &id);
	if (peer == NULL)
		return refuse(&count->helo_no_room, TAPI_ELIMIT);
	tapi_secure_learn_helo(peer, helo);
	if (carrier == NULL)
		return refuse(&count->helo_stored, TAPI_OK); // there is no address to keep
	return keep(core, peer, carrier, old, helo, hash, octets, length, origin);
}

enum tapi_result tapi_core_add_helo(struct tapi_core *core, const uint8_t *octets, size_t length)
{
	struct tapi_helo helo;
	enum tapi_result result;
	size_t used;

	result = tapi_helo_decode(&helo, octets, length, &used);
	if (result != TAPI_OK) {
		core->counters.helo_received++;
		core->counters.helo_malformed++;
		return result;
	}
	result = tapi_core_take_helo(core, &helo, octets, used, TAPI_FROM_PROGRAM);
	tapi_core_reap(core); // who gave way for it
	return result;
}

void tapi_core_own_helos(struct tapi_core *core,
	bool (*each)(void *context, const uint8_t *octets, size_t length), void *context)
{
	if (core->started)
		tapi_core_make_helos(core, tapi_core_now(core), false);
	for (unsigned i = 0; i < core->n_own; i++)
		if (!each(context, core->own[i].octets, core->own[i].size))
			return;
}

size_t tapi_core_own_helos_text(struct tapi_core *core, char *out, size_t room)
{
	uint8_t all[TAPI_OWN_HELOS_MAX * TAPI_HELO_BYTES_MAX];
	size_t length = 0, prefix = sizeof(TEXT_PREFIX) - 1;

	if (core->started)
		tapi_core_make_helos(core, tapi_core_now(core), false);
	for (unsigned i = 0; i < core->n_own; i++) {
		memcpy(&all[length], core->own[i].octets, core->own[i].size);
		length += core->own[i].size;
	}
	if (room < prefix + sodium_base64_encoded_len(
				    length, sodium_base64_VARIANT_URLSAFE_NO_PADDING))
		return 0;
	memcpy(out, TEXT_PREFIX, prefix);
	sodium_bin2base64(
		&out[prefix], room - prefix, all, length, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return strlen(out);
}

enum tapi_result tapi_core_add_helos_text(
	struct tapi_core *core, const char *text, struct tapi_error *error)
{
	uint8_t all[TAPI_OWN_HELOS_MAX * TAPI_HELO_BYTES_MAX];
	size_t length, used, prefix = sizeof(TEXT_PREFIX) - 1;
	enum tapi_result result = TAPI_OK, left_out = TAPI_OK;
	struct tapi_helo helo;
	const char *end;
	uint64_t given_up = core->counters.helo_left_out;
	bool taken = false;

	if (strncmp(text, TEXT_PREFIX, prefix) != 0 ||
		sodium_base642bin(all, sizeof(all), &text[prefix], strlen(text) - prefix, " \n\r\t",
			&length, &end, sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0 ||
		*end != '\0' || length == 0) {
		snprintf(error->text, sizeof(error->text),
			"this is no HELO: it has to begin with \"%s\" and go on in URL-safe "
			"Base64, whole",
			TEXT_PREFIX);
		return TAPI_EFORMAT;
	}
	for (size_t at = 0; at < length; at += used) {
		result = tapi_helo_decode(&helo, &all[at], length - at, &used);
		if (result != TAPI_OK) {
			snprintf(error->text, sizeof(error->text),
				"the HELO at octet %zu is malformed: was the text cut?", at);
			return result;
		}
		result = tapi_core_take_helo(core, &helo, &all[at], used, TAPI_FROM_PROGRAM);
		tapi_core_reap(core); // who gave way for it
		taken |= result == TAPI_OK;
		if (result == TAPI_EADDR || result == TAPI_EACL ||
			result == TAPI_ELIMIT) { // another one may do
			left_out = result;
		} else if (result != TAPI_OK) {
			snprintf(error->text, sizeof(error->text),
				"the HELO at octet %zu (protocol %u) is refused: %s", at,
				helo.protocol, tapi_result_name(result));
			return result;
		}
	}
	given_up = core->counters.helo_left_out - given_up;
	if (given_up != 0)
		tapi_core_log(core, LOG_NOTICE,
			"a HELO in text has %llu addresses more than core.helos_per_peer (%u) "
			"keeps of a "
			"peer: of each transport and family some were kept, those that were signed "
			"last, or stand first; raise it to keep all",
			(unsigned long long)given_up, core->settings.helos_per_peer);
	if (taken || left_out == TAPI_OK)
		return TAPI_OK;
	snprintf(error->text, sizeof(error->text), "nothing of this HELO can be used: %s",
		left_out == TAPI_ELIMIT ? "no room: core.max_peers or core.helos_per_peer is "
					  "reached"
		: left_out == TAPI_EACL
			? "section acl denies the peer, or all of its addresses "
			  "(those of this machine need acl.local)"
			: "its addresses are of transports that do not run here; see "
			  "\"transports\" at both ends");
	return left_out;
}

void tapi_peer_queue_helo(
	struct tapi_peer *peer, const uint8_t *octets, uint32_t size, uint64_t now_us)
{
	tapi_queue_put(&peer->queue, TAPI_TYPE_HELO, &octets[TAPI_MESSAGE_HEAD_BYTES],
		size - TAPI_MESSAGE_HEAD_BYTES, 0, false, 0,
		now_us + peer->core->settings.queue_deadline_us, now_us);
}

static void helos_in_clear(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	struct tapi_path *path = peer->use.path;

	if (path == NULL || !tapi_path_valid(path, now_us) || !tapi_path_hold(path))
		return;
	for (unsigned i = 0; i < core->n_own; i++)
		tapi_path_send(path, core->own[i].octets, core->own[i].size, false,
			tapi_core_crc(core->own[i].octets, core->own[i].size));
}

// Ours, all; and of others one validated, unexpired address each, of so many peers drawn by chance
// as `advertise` says (TA8: nobody else is advertised).
//
// Ours are reported again while the peer is in touch: each is a trigger there for the one PING that
// an address gets per HELO, so that a lost PING, or a wall that falls, is found out in time.
void tapi_peer_send_helos(struct tapi_peer *peer, bool gossip, uint64_t now_us)
{
	struct tapi_core *core = peer->core;

	peer->helos_due = false;
	peer->helos_sent_us = now_us;
	// Without keys messages wait, but the peer may have none because it has not heard of us;
	// and a HELO alone is no reason for new ones.
	if (tapi_secure_waits(peer, now_us)) {
		helos_in_clear(peer, now_us);
		return;
	}
	for (unsigned i = 0; i < core->n_own; i++)
		tapi_peer_queue_helo(peer, core->own[i].octets, core->own[i].size, now_us);
	for (unsigned i = 0; gossip && i < core->settings.advertise && i + 1 < core->n_reachable;
		i++) {
		struct tapi_peer *other =
			core->reachable[tapi_core_random_below(core, core->n_reachable)];
		struct tapi_address *at = other != peer ? other->addresses : NULL;

		while (at != NULL && (!tapi_address_valid(at, now_us) || at->suspect))
			at = at->next;
		if (at == NULL)
			continue;
		tapi_peer_queue_helo(peer, at->helo, at->helo_size, now_us);
		core->counters.gossip_sent++;
	}
	if (peer->queue.msgs != 0 && peer->flush_us > now_us)
		peer->flush_us = now_us;
}
