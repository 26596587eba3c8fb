// SPDX-License-Identifier: BSD-3-Clause
// Keys of peers: begun, used, renewed, forgotten. The other half, what comes in, is in
// transportapi/core/secure_take.c.
//
// A session is renewed by the side that began it after rekey_s, or rekey_msgs payloads, with
// something to send; by the other side a quarter later, so that they rarely do it at once. Nothing
// is sent under keys of twice that age, nothing taken under keys of three times. What was in use
// before stays to open what is under way.
#include "transportapi/core/secure.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "transportapi/core/conf.h"
#include "transportapi/core/core.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/helo.h"
#include "transportapi/proto/secure.h"

#define AGAIN_LEAST_US (TAPI_US_PER_S / 2)           // first wait for an answer
#define AGAIN_DOUBLED  4                             // waits grow to 16 times that
#define TRIES_MAX      8                             // 40 s in all
#define REST_US        (UINT64_C(8) * TAPI_US_PER_S) // after a handshake that failed
#define ACTIVE_US      (UINT64_C(5) * TAPI_US_PER_S) // since the application sent something
#define ASK_US         (UINT64_C(5) * TAPI_US_PER_S)

void tapi_keys_free(struct tapi_keys *keys)
{
	if (keys == NULL)
		return;
	sodium_memzero(keys, sizeof(*keys));
	free(keys);
}

static void begun_free(struct tapi_secure *secure)
{
	if (secure->begun == NULL)
		return;
	sodium_memzero(secure->begun, sizeof(*secure->begun));
	free(secure->begun);
	secure->begun = NULL;
}

void tapi_secure_forget(struct tapi_peer *peer)
{
	struct tapi_secure *secure = peer->secure;

	if (secure == NULL)
		return;
	tapi_keys_free(secure->current);
	tapi_keys_free(secure->previous);
	tapi_keys_free(secure->next);
	begun_free(secure);
	tapi_assemblies_clear(&secure->assemblies);
	sodium_memzero(secure, sizeof(*secure));
	free(secure);
	peer->secure = NULL;
}

struct tapi_secure *tapi_secure_get(struct tapi_peer *peer)
{
	if (peer->secure != NULL)
		return peer->secure;
	peer->secure = calloc(1, sizeof(*peer->secure));
	if (peer->secure != NULL)
		tapi_assemblies_init(&peer->secure->assemblies, &peer->core->fragment_pool);
	return peer->secure;
}

uint64_t tapi_secure_stamp(struct tapi_core *core)
{
	uint64_t wall_us = tapi_core_wall(core);

	core->secure_stamp = wall_us > core->secure_stamp ? wall_us : core->secure_stamp + 1;
	return core->secure_stamp;
}

uint64_t tapi_secure_share(const struct tapi_core *core)
{
	uint64_t share = core->settings.handshakes_per_s / 8 + 1;

	return share < UINT16_MAX ? share : UINT16_MAX;
}

static bool has_to(const struct tapi_peer *peer)
{
	enum tapi_encryption mode = peer->core->settings.encryption;

	return mode == TAPI_ENCRYPTION_REQUIRE ||
	       (mode == TAPI_ENCRYPTION_PREFER && peer->offer == TAPI_OFFER_YES);
}

uint32_t tapi_secure_extra(const struct tapi_peer *peer)
{
	return has_to(peer) ? TAPI_SEALED_BYTES : 0;
}

bool tapi_secure_refused(const struct tapi_peer *peer)
{
	return peer->core->settings.encryption == TAPI_ENCRYPTION_REQUIRE &&
	       peer->offer == TAPI_OFFER_NO;
}

static bool usable(const struct tapi_peer *peer, uint64_t now_us)
{
	const struct tapi_core_settings *set = &peer->core->settings;
	const struct tapi_keys *keys = peer->secure != NULL ? peer->secure->current : NULL;

	return keys != NULL && now_us - keys->made_us < 2 * set->rekey_us &&
	       keys->sent / 2 < set->rekey_msgs;
}

static bool old(const struct tapi_peer *peer, const struct tapi_keys *keys, uint64_t now_us)
{
	const struct tapi_core_settings *set = &peer->core->settings;
	uint64_t more = keys->initiator ? 0 : 1; // a quarter of it

	return now_us - keys->made_us >= set->rekey_us + more * set->rekey_us / 4 ||
	       keys->sent >= set->rekey_msgs + more * set->rekey_msgs / 4;
}

enum tapi_secure_state tapi_secure_state_of(const struct tapi_peer *peer)
{
	if (!has_to(peer))
		return TAPI_SECURE_CLEAR;
	if (tapi_secure_refused(peer))
		return TAPI_SECURE_REFUSED;
	return usable(peer, tapi_core_now(peer->core)) ? TAPI_SECURE_SEALED : TAPI_SECURE_PENDING;
}

bool tapi_secure_waits(const struct tapi_peer *peer, uint64_t now_us)
{
	return has_to(peer) && !usable(peer, now_us);
}

// Where a handshake may go: as messages, to what was validated.
static struct tapi_path *way(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_path *path = peer->use.path;

	if (path == NULL && peer->use.address != NULL &&
		tapi_address_valid(peer->use.address, now_us))
		path = tapi_path_open(peer, peer->use.address);
	if (path == NULL || !tapi_path_valid(path, now_us) || !tapi_path_hold(path))
		return NULL;
	return path;
}

static void send_again(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_secure *secure = peer->secure;
	struct tapi_path *path = way(peer, now_us);
	uint64_t wait_us = AGAIN_LEAST_US;

	if (path != NULL) {
		const uint8_t *message = secure->begun->message;

		if (2 * UINT64_C(1) * path->rtt_us > wait_us)
			wait_us = 2 * UINT64_C(1) * path->rtt_us;
		peer->core->counters.secure_again += secure->tries != 0;
		tapi_path_send(path, message, TAPI_INITIATE_BYTES, false,
			tapi_core_crc(message, TAPI_INITIATE_BYTES));
	}
	wait_us <<= secure->tries < AGAIN_DOUBLED ? secure->tries : AGAIN_DOUBLED;
	wait_us += tapi_core_random_below(peer->core, (uint32_t)(wait_us / 4 / 1000) + 1) *
		   UINT64_C(1000);
	secure->tries++;
	secure->wrong = 0;
	secure->sent_us = now_us;
	secure->again_us = now_us + wait_us;
	tapi_peer_at(peer, secure->again_us);
}

static void begin(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	uint8_t ephemeral[TAPI_KEY_BYTES];
	struct tapi_secure *secure;

	if (!peer->has_key || peer->rest_until_us > now_us)
		return;
	secure = tapi_secure_get(peer);
	if (secure == NULL || secure->begun != NULL)
		return;
	// What we answered just now is about to be in use.
	if (secure->next != NULL && now_us - secure->next->made_us < 2 * AGAIN_LEAST_US) {
		tapi_peer_at(peer, secure->next->made_us + 2 * AGAIN_LEAST_US);
		return;
	}
	if (way(peer, now_us) == NULL)
		return;
	secure->begun = calloc(1, sizeof(*secure->begun));
	if (secure->begun == NULL)
		return;
	tapi_core_random(core, ephemeral, sizeof(ephemeral));
	secure->tries = 0;
	peer->ask = false;
	if (tapi_secure_initiate(secure->begun, &core->identity, &core->secure_static,
		    peer->public_key, ephemeral, tapi_core_random_below(core, 0x7fffffff) + 1,
		    tapi_secure_stamp(core)) == TAPI_OK) {
		core->counters.secure_begun++;
		send_again(peer, now_us);
	} else { // its key agrees with nobody
		core->counters.secure_bad++;
		begun_free(secure);
		peer->rest_until_us = now_us + UINT64_C(3600) * TAPI_US_PER_S;
	}
	sodium_memzero(ephemeral, sizeof(ephemeral));
}

enum tapi_gate tapi_secure_gate(struct tapi_peer *peer, uint64_t now_us)
{
	if (!has_to(peer))
		return TAPI_GATE_CLEAR;
	if (usable(peer, now_us)) {
		// A HELO alone is no reason for new ones.
		if (old(peer, peer->secure->current, now_us) && now_us - peer->app_us < ACTIVE_US)
			begin(peer, now_us);
		return TAPI_GATE_SEALED;
	}
	if (!tapi_secure_refused(peer))
		begin(peer, now_us);
	return TAPI_GATE_WAIT;
}

const uint8_t *tapi_secure_seal(struct tapi_peer *peer, const uint8_t *payload, uint32_t size,
	bool is_encrypted, uint32_t crc, uint32_t *sealed_size)
{
	struct tapi_core *core = peer->core;

	if (core->sealed == NULL)
		core->sealed = malloc(core->buffer_room + TAPI_SEALED_BYTES);
	if (core->sealed == NULL || size > UINT16_MAX - TAPI_SEALED_BYTES)
		return NULL;
	*sealed_size =
		tapi_seal(peer->secure->current, payload, size, is_encrypted, crc, core->sealed);
	return core->sealed;
}

static void confirm(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_secure *secure = peer->secure;
	struct tapi_path *path = way(peer, now_us);
	const uint8_t *sealed;
	uint32_t size;

	if (path == NULL)
		return; // what goes out later confirms as well
	secure->confirm = false;
	sealed = tapi_secure_seal(peer, NULL, 0, false, 0, &size);
	if (sealed == NULL)
		return;
	if (tapi_path_send(path, sealed, size, false, tapi_core_crc(sealed, size)) == TAPI_OK)
		peer->core->counters.sealed_sent++;
}

static void give_up(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	char who[TAPI_PEER_TEXT_BYTES];

	core->counters.secure_timed_out++;
	begun_free(peer->secure);
	peer->rest_until_us = now_us + REST_US;
	tapi_peer_id_text(&peer->id, who);
	if (!usable(peer, now_us) && !peer->complained)
		tapi_core_log(core, LOG_NOTICE,
			"peer %.16s: does not answer our handshake: nothing goes to it in clear "
			"(core.encryption); is something on the way between that drops it?",
			who);
	peer->complained = true;
}

// Returns when the first that is left ends.
static uint64_t expire(struct tapi_peer *peer, struct tapi_keys **keys, uint64_t now_us)
{
	uint64_t end_us;

	if (*keys == NULL)
		return TAPI_NEVER;
	end_us = (*keys)->made_us + 3 * peer->core->settings.rekey_us;
	if (end_us > now_us)
		return end_us;
	tapi_keys_free(*keys);
	*keys = NULL;
	peer->core->counters.secure_ended++;
	return TAPI_NEVER;
}

static uint64_t least(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

uint64_t tapi_secure_turn(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_secure *secure = peer->secure;
	uint64_t wish_us;

	// begin() holds a path only if it begins: one that is held and let go in each turn has
	// another turn follow at once.
	if (peer->ask && peer->core->settings.encryption != TAPI_ENCRYPTION_OFF)
		begin(peer, now_us);
	secure = peer->secure;
	if (secure == NULL) // who waits out a rest is heard of when it ends
		return peer->queue.msgs != 0 && peer->rest_until_us > now_us ? peer->rest_until_us
									     : TAPI_NEVER;
	wish_us = expire(peer, &secure->current, now_us);
	wish_us = least(wish_us, expire(peer, &secure->previous, now_us));
	wish_us = least(wish_us, expire(peer, &secure->next, now_us));
	wish_us = least(wish_us, tapi_fragment_turn(&secure->assemblies, now_us));
	if (secure->begun != NULL && secure->again_us <= now_us) {
		if (secure->tries >= TRIES_MAX)
			give_up(peer, now_us);
		else
			send_again(peer, now_us);
	}
	if (secure->begun != NULL)
		wish_us = least(wish_us, secure->again_us);
	if (secure->current == NULL)
		secure->confirm = false;
	if (secure->confirm)
		confirm(peer, now_us);
	// After a rest, and when an answer of ours was not used, who waits tries again.
	if (peer->queue.msgs != 0 && secure->begun == NULL && !usable(peer, now_us) && has_to(peer))
		wish_us = least(wish_us, peer->rest_until_us > now_us ? peer->rest_until_us
								      : now_us + AGAIN_LEAST_US);
	if (secure->current == NULL && secure->previous == NULL && secure->next == NULL &&
		secure->begun == NULL && secure->assemblies.count == 0)
		tapi_secure_forget(peer);
	return wish_us;
}

void tapi_secure_stands(struct tapi_peer *peer, struct tapi_keys *keys, uint64_t now_us)
{
	struct tapi_secure *secure = peer->secure;
	char who[TAPI_PEER_TEXT_BYTES];

	peer->core->counters.secure_made++;
	peer->offer = TAPI_OFFER_YES; // nobody else could have done that, and not before
	peer->complained = false;
	peer->rest_until_us = 0;
	peer->ask = false;
	if (secure->current == NULL) {
		tapi_peer_id_text(&peer->id, who);
		tapi_core_log(
			peer->core, LOG_INFO, "peer %.16s: what goes there is encrypted", who);
	}
	// Two that were made at once: both sides use the younger, and open what comes by the other.
	if (secure->current != NULL && secure->current->made_us > keys->made_us) {
		tapi_keys_free(secure->previous);
		secure->previous = keys;
	} else {
		tapi_keys_free(secure->previous);
		secure->previous = secure->current;
		secure->current = keys;
	}
	if (keys->initiator && secure->begun != NULL)
		begun_free(secure);
	if (peer->queue.msgs != 0)
		peer->flush_us = now_us;
	tapi_peer_kick(peer);
}

void tapi_secure_ask(struct tapi_peer *peer, uint64_t now_us)
{
	if (peer->asked_us != 0 && now_us - peer->asked_us < ASK_US)
		return;
	peer->asked_us = now_us;
	if (peer->core->settings.encryption != TAPI_ENCRYPTION_OFF) {
		peer->ask = true;
	} else if (peer->reachable) { // our HELO says that we do not
		peer->helos_due = true;
		peer->helos_us = now_us;
	}
	tapi_peer_kick(peer);
}

void tapi_secure_learn_key(struct tapi_peer *peer, const uint8_t key[TAPI_PUBLIC_KEY_BYTES])
{
	memcpy(peer->public_key, key, TAPI_PUBLIC_KEY_BYTES);
	peer->has_key = true;
}

// The newest HELO says. An older one, which anybody may keep and show, does not.
void tapi_secure_learn_helo(struct tapi_peer *peer, const struct tapi_helo *helo)
{
	bool offers = (helo->flags & TAPI_HELO_ENCRYPTS) != 0;
	bool was_refused = tapi_secure_refused(peer);
	char who[TAPI_PEER_TEXT_BYTES];

	tapi_secure_learn_key(peer, helo->public_key);
	if (helo->seq < peer->offer_seq)
		return;
	peer->offer_seq = helo->seq;
	peer->offer = offers ? TAPI_OFFER_YES : TAPI_OFFER_NO;
	if (!offers)
		tapi_secure_forget(peer);
	if (!was_refused && tapi_secure_refused(peer)) {
		tapi_peer_id_text(&peer->id, who);
		tapi_core_log(peer->core, LOG_NOTICE,
			"peer %.16s: does not encrypt, and core.encryption is \"require\": nothing "
			"goes there, nothing that comes is delivered",
			who);
	}
}

void tapi_core_secure_reload(struct tapi_core *core, enum tapi_encryption was)
{
	if (was == core->settings.encryption || core->settings.encryption != TAPI_ENCRYPTION_OFF)
		return;
	for (struct tapi_peer *peer = core->peers; peer != NULL; peer = peer->hh.next)
		tapi_secure_forget(peer);
}
