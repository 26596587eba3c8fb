// SPDX-License-Identifier: BSD-3-Clause
// Handshakes and sealed payloads that come in. The work that a stranger can have done is bounded:
// two agreements per INITIATE, at most handshakes_per_s of them, half of it for those who were
// validated. Nothing is kept of one that does not prove its sender's key. The answer is shorter
// than the question and goes where it came from, as a PONG does.
#include "transportapi/core/secure_take.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "transportapi/base/wire.h"
#include "transportapi/core/conf.h"
#include "transportapi/core/limits.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/secure.h"

#define CROSSED_US    (TAPI_US_PER_S / 10)           // between two of ours that cross theirs
#define IN_USE_US     (UINT64_C(10) * TAPI_US_PER_S) // keys of which something was opened
#define CROSSED_TRIES 3                              // then theirs is answered all the same

static bool off(struct tapi_core *core, struct tapi_peer *peer)
{
	if (core->settings.encryption != TAPI_ENCRYPTION_OFF)
		return false;
	core->counters.sealed_unwanted++;
	if (peer != NULL)
		tapi_secure_ask(peer, tapi_core_now(core));
	return true;
}

static void answer(
	struct tapi_core *core, struct tapi_peer *peer, const struct tapi_message_pack *pack)
{
	const uint8_t *message = peer->secure->answer;
	uint32_t crc = tapi_core_crc(message, TAPI_RESPOND_BYTES);
	struct tapi_path *path = pack->session != NULL ? pack->session->user : NULL;
	uint64_t now_us = tapi_core_now(core);

	if (path == NULL || path->peer != peer || path->one_way || path->session == NULL)
		path = peer->use.path;
	else if (tapi_path_send(path, message, TAPI_RESPOND_BYTES, false, crc) == TAPI_OK) {
		core->counters.secure_answered++;
		return;
	}
	if (path != NULL && tapi_path_valid(path, now_us) && tapi_path_hold(path) &&
		tapi_path_send(path, message, TAPI_RESPOND_BYTES, false, crc) == TAPI_OK) {
		core->counters.secure_answered++;
		return;
	}
	// It waits for us: its addresses are asked, then we begin.
	core->counters.secure_no_way++;
	peer->wanted_us = now_us;
	tapi_secure_ask(peer, now_us);
}

// Theirs and ours under way at once: that of the lower id goes on. We send ours again, as the peer,
// who can reach us now, may not have got it.
static bool ours_goes_before(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	struct tapi_secure *secure = peer->secure;
	uint64_t soon_us;

	if (secure == NULL || secure->begun == NULL || secure->tries > CROSSED_TRIES ||
		memcmp(core->identity.id.octets, peer->id.octets, TAPI_PEER_ID_BYTES) > 0)
		return false;
	core->counters.secure_crossed++;
	soon_us = secure->sent_us + CROSSED_US > now_us ? secure->sent_us + CROSSED_US : now_us;
	if (soon_us < secure->again_us) {
		secure->again_us = soon_us;
		tapi_peer_at(peer, soon_us);
	}
	return true;
}

// One peer that is known must not take what others need. What anybody may have sent in its name is
// not paid from its share.
static bool may_look(
	struct tapi_core *core, struct tapi_peer *peer, bool validated, uint64_t now_us)
{
	uint16_t second = (uint16_t)(now_us / TAPI_US_PER_S);

	if (!validated)
		return tapi_core_may(&core->secure_bucket, false, now_us);
	if (peer->handshakes_s != second)
		peer->handshakes = 0;
	peer->handshakes_s = second;
	if (peer->handshakes >= tapi_secure_share(core) ||
		!tapi_core_may(&core->secure_bucket, true, now_us))
		return false;
	peer->handshakes++;
	return true;
}

// The same INITIATE again: the answer was lost, or it came twice.
static bool came_before(struct tapi_core *core, struct tapi_peer *peer,
	const struct tapi_message_pack *pack, bool validated, const uint8_t *message)
{
	const struct tapi_secure *secure = peer->secure;

	if (secure == NULL || !secure->answered ||
		memcmp(secure->ephemeral, &message[8], TAPI_KEY_BYTES) != 0)
		return false;
	core->counters.secure_repeated++;
	if (secure->next == NULL)
		return true;
	// Anybody can show it again, from any source.
	if (may_look(core, peer, validated, tapi_core_now(core)))
		answer(core, peer, pack);
	else
		core->counters.secure_limited++;
	return true;
}

static bool in_use(const struct tapi_secure *secure, uint64_t now_us)
{
	return secure != NULL && secure->current != NULL && secure->current->heard_us != 0 &&
	       now_us - secure->current->heard_us < IN_USE_US;
}

void tapi_secure_take_initiate(struct tapi_core *core, struct tapi_peer *peer,
	const struct tapi_message_pack *pack, bool validated, const uint8_t *message, uint32_t size)
{
	struct tapi_core_counters *count = &core->counters;
	uint64_t now_us = tapi_core_now(core);
	uint8_t ephemeral[TAPI_KEY_BYTES];
	struct tapi_secure *secure;
	struct tapi_secure_message heard;
	struct tapi_keys *keys;

	if (size != TAPI_INITIATE_BYTES) {
		count->secure_bad++;
		return;
	}
	if (off(core, peer))
		return;
	if (peer == NULL) {
		count->secure_no_way++;
		return;
	}
	if (came_before(core, peer, pack, validated, message) || ours_goes_before(peer, now_us))
		return;
	if (!may_look(core, peer, validated, now_us)) {
		count->secure_limited++;
		if (!validated && pack->session != NULL && pack->session->user != NULL)
			tapi_path_trigger(pack->session->user); // known, it does not wait
		return;
	}
	if (tapi_secure_parse(&heard, &core->identity, &core->secure_static, &pack->sender, message,
		    size) != TAPI_OK) {
		count->secure_bad++;
		return;
	}
	secure = tapi_secure_get(peer);
	keys = secure != NULL ? calloc(1, sizeof(*keys)) : NULL;
	if (keys == NULL) {
		sodium_memzero(&heard, sizeof(heard));
		return;
	}
	if (heard.stamp <= secure->stamp) {
		count->secure_replayed++;
		// Or its clock was set back: it has nothing that we take, but can answer us.
		if (!in_use(secure, now_us))
			tapi_secure_ask(peer, now_us);
		free(keys);
		sodium_memzero(&heard, sizeof(heard));
		return;
	}
	tapi_core_random(core, ephemeral, sizeof(ephemeral));
	if (tapi_secure_respond(&heard, ephemeral, tapi_core_random_below(core, 0x7fffffff) + 1,
		    secure->answer, keys) == TAPI_OK) {
		tapi_secure_learn_key(peer, heard.public_key);
		secure->stamp = heard.stamp;
		memcpy(secure->ephemeral, heard.ephemeral, TAPI_KEY_BYTES);
		secure->answered = true;
		if (secure->begun != NULL) { // theirs goes before
			sodium_memzero(secure->begun, sizeof(*secure->begun));
			free(secure->begun);
			secure->begun = NULL;
		}
		keys->made_us = now_us;
		tapi_keys_free(secure->next);
		secure->next = keys;
		answer(core, peer, pack);
		tapi_peer_at(peer, now_us + 1); // what has to end when
	} else {
		count->secure_bad++;
		free(keys);
	}
	sodium_memzero(&heard, sizeof(heard));
	sodium_memzero(ephemeral, sizeof(ephemeral));
}

void tapi_secure_take_respond(
	struct tapi_core *core, struct tapi_peer *peer, const uint8_t *message, uint32_t size)
{
	struct tapi_keys *keys;

	if (size != TAPI_RESPOND_BYTES) {
		core->counters.secure_bad++;
		return;
	}
	if (off(core, peer))
		return;
	// The index is 31 bits of chance: who has not seen our handshake has us compute nothing.
	if (peer == NULL || peer->secure == NULL || peer->secure->begun == NULL ||
		tapi_get32(&message[8]) != peer->secure->begun->here) {
		core->counters.secure_stale++;
		return;
	}
	if (peer->secure->wrong >= tapi_secure_share(core) ||
		!tapi_core_may(&core->secure_bucket, true, tapi_core_now(core))) {
		core->counters.secure_limited++;
		return;
	}
	keys = calloc(1, sizeof(*keys));
	if (keys == NULL)
		return;
	if (tapi_secure_finish(peer->secure->begun, &core->secure_static, message, size, keys) !=
		TAPI_OK) {
		core->counters.secure_bad++;
		peer->secure->wrong++;
		free(keys);
		return;
	}
	keys->made_us = tapi_core_now(core);
	peer->secure->confirm = true;
	tapi_secure_stands(peer, keys, keys->made_us);
}

static struct tapi_keys *keys_of(const struct tapi_secure *secure, uint32_t index)
{
	if (secure == NULL)
		return NULL;
	if (secure->current != NULL && secure->current->here == index)
		return secure->current;
	if (secure->next != NULL && secure->next->here == index)
		return secure->next;
	if (secure->previous != NULL && secure->previous->here == index)
		return secure->previous;
	return NULL;
}

bool tapi_secure_take_sealed(struct tapi_core *core, struct tapi_peer *peer, struct tapi_path *path,
	const uint8_t *message, uint32_t size, struct tapi_opened *opened)
{
	struct tapi_core_counters *count = &core->counters;
	uint64_t now_us = tapi_core_now(core);
	struct tapi_keys *keys;

	if (size < TAPI_SEALED_HEAD_BYTES || size > core->buffer_room) {
		count->sealed_bad++;
		return false;
	}
	if (off(core, peer))
		return false;
	keys = peer != NULL ? keys_of(peer->secure, tapi_get32(&message[4])) : NULL;
	if (keys == NULL || now_us - keys->made_us >= 3 * core->settings.rekey_us) {
		count->sealed_unknown++;
		// Who made that up cannot have us change keys that the peer uses.
		if (peer != NULL && !in_use(peer->secure, now_us))
			tapi_secure_ask(peer, now_us);
		if (path != NULL)
			tapi_path_trigger(path);
		return false;
	}
	if (core->opened == NULL)
		core->opened = malloc(core->buffer_room);
	if (core->opened == NULL)
		return false;
	switch (tapi_open(keys, message, size, core->opened, opened)) {
	case TAPI_OK: break;
	case TAPI_DROPPED: count->sealed_replayed++; return false;
	default: count->sealed_bad++; return false;
	}
	count->sealed_received++;
	keys->heard_us = now_us;
	if (keys == peer->secure->next) {
		peer->secure->next = NULL;
		tapi_secure_stands(peer, keys, now_us);
	}
	return true;
}

bool tapi_secure_clear_dropped(struct tapi_core *core, struct tapi_peer *peer)
{
	enum tapi_encryption mode = core->settings.encryption;

	if (mode == TAPI_ENCRYPTION_OFF ||
		(mode == TAPI_ENCRYPTION_PREFER && (peer == NULL || peer->offer != TAPI_OFFER_YES)))
		return false;
	core->counters.clear_dropped++;
	if (peer != NULL && !tapi_secure_refused(peer))
		tapi_secure_ask(peer, tapi_core_now(core));
	return true;
}
