// SPDX-License-Identifier: BSD-3-Clause
// Sends messages for the core. A small message must not wait for company that never comes, and many
// small ones should travel together. So, as Nagle did for TCP: on a path that is idle (nothing went
// out for flush_us, or something came back since) a message goes at once; on a busy one messages
// are gathered until a payload is full, flush_us after the last one at the most. Question and
// answer never wait; neither does a message that fills half a payload, since its like would not fit
// in beside it.
//
// What the transport has no room for stays here and is tried again soon: the queue fills, and
// tapi_core_send() tells the application. What a transport took is its own: nothing is sent twice.
#include "transportapi/core/send.h"

#include <string.h>
#include <zlib.h>

#include "transportapi/base/budget.h"
#include "transportapi/base/limit.h"
#include "transportapi/base/wire.h"
#include "transportapi/core/core.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/reload.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/select.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/secure.h"

#define RETRY_MIN_US    200
#define RETRY_MAX_US    2000
#define PAYLOADS_A_TURN 256 // then others have their turn
#define WAY_WAIT_US     1000000
#define WAY_LOOK_US     20000

static void account(struct tapi_path *path, uint32_t size, uint32_t msgs, uint64_t now_us)
{
	struct tapi_peer *peer = path->peer;
	struct tapi_core *core = peer->core;

	peer->sent_us = now_us;
	peer->sent_msgs += msgs;
	peer->sent_bytes += size;
	peer->blocked_us = 0;
	core->counters.sent_msgs += msgs;
	core->counters.sent_batches++;
	core->counters.sent_bytes += size;
	if (path->used_us < peer->app_us)
		path->used_us = peer->app_us; // HELOs are no use of a path
	if (path->unheard_us == 0) {
		path->unheard_us = now_us;
		tapi_peer_at(peer, now_us + core->settings.quiet_us);
	}
	peer->size_mean =
		peer->size_mean == 0 ? size : peer->size_mean - peer->size_mean / 8 + size / 8;
}

// The session that messages go on now, opened if need be; NULL: none, or a validated one is gone
// and the peer's turn will find another.
static struct tapi_path *path_in_use(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_path *path = peer->use.path;
	struct tapi_address *at = peer->use.address;

	if (path == NULL && at != NULL && tapi_address_valid(at, now_us)) {
		path = tapi_path_open(peer, at);
		if (path == NULL) {
			at->valid_until_us = 0;
			if (at->failures < UINT16_MAX)
				at->failures++;
			at->next_ping_us = now_us + tapi_backoff(peer->core, at->failures);
			peer->choose = true;
			tapi_peer_kick(peer);
			return NULL;
		}
		peer->use.path = path;
	}
	if (path == NULL)
		return NULL;
	if (!tapi_path_valid(path, now_us)) {
		peer->choose = true;
		tapi_peer_at(peer, now_us + 1);
		return NULL;
	}
	return tapi_path_hold(path) ? path : NULL;
}

// Streams know at once; for datagrams it takes system calls, so that they are asked only after they
// have refused one.
static bool medium_has_room(const struct tapi_path *path, uint32_t size)
{
	struct tapi_transport_api *api = path->carrier->loaded.api;

	if ((api->flags & TAPI_STREAM) == 0 && path->peer->blocked_us == 0)
		return true;
	return api->send_estimate == NULL || api->send_estimate(api, path->session) >= size;
}

static uint64_t flush_wait_us(const struct tapi_path *path)
{
	const struct tapi_core_settings *set = &path->peer->core->settings;

	return (path->carrier->loaded.api->flags & TAPI_STREAM) != 0 ? set->flush_stream_us
								     : set->flush_us;
}

// The transport has no room: soon again, in growing steps.
static uint64_t put_off(struct tapi_peer *peer, uint64_t now_us)
{
	peer->core->counters.send_refused++;
	peer->blocked_us = peer->blocked_us == 0                  ? RETRY_MIN_US
			   : peer->blocked_us >= RETRY_MAX_US / 2 ? RETRY_MAX_US
								  : 2 * peer->blocked_us;
	return now_us + peer->blocked_us;
}

// The medium takes less than the HELO promised (a smaller link, another family): smaller payloads
// and parts go out instead. Below the least that is of use there is nothing left to try.
static bool shrink(struct tapi_path *path, uint32_t size)
{
	if (size <= TAPI_PATH_MTU_LEAST)
		return false;
	path->mtu = (size < path->mtu ? size : path->mtu) - 20; // what IPv6's head has more
	if (path->mtu < TAPI_PATH_MTU_LEAST)
		path->mtu = TAPI_PATH_MTU_LEAST;
	return true;
}

static uint32_t extra_of(enum tapi_gate gate)
{
	return gate == TAPI_GATE_SEALED ? TAPI_SEALED_BYTES : 0;
}

// What a path takes of messages; the size of a sealed payload is a u16.
static uint32_t room_of(const struct tapi_path *path, enum tapi_gate gate)
{
	uint32_t mtu = path->mtu;

	if (gate != TAPI_GATE_SEALED)
		return mtu;
	mtu = mtu < UINT16_MAX ? mtu : UINT16_MAX;
	return mtu > TAPI_SEALED_BYTES ? mtu - TAPI_SEALED_BYTES : 0;
}

// One payload; TAPI_DROPPED with *again: not now. Other results: the path is not for it.
static enum tapi_result send_payload(struct tapi_path *path, enum tapi_gate gate,
	const uint8_t *payload, uint32_t size, bool is_encrypted, uint32_t crc, uint64_t now_us,
	uint64_t *again_us)
{
	struct tapi_peer *peer = path->peer;
	uint64_t when_us;
	enum tapi_result result;

	size += extra_of(gate);
	when_us = tapi_bucket_when(&peer->out, size, now_us);

	if (when_us > now_us) {
		*again_us = when_us;
		return TAPI_DROPPED;
	}
	if (!medium_has_room(path, size)) {
		*again_us = put_off(peer, now_us);
		return TAPI_DROPPED;
	}
	if (gate == TAPI_GATE_SEALED) {
		payload = tapi_secure_seal(
			peer, payload, size - TAPI_SEALED_BYTES, is_encrypted, crc, &size);
		is_encrypted = false;
		if (payload == NULL) {
			*again_us = put_off(peer, now_us);
			return TAPI_DROPPED;
		}
	}
	if (!is_encrypted)
		crc = (uint32_t)crc32(0, payload, size);
	result = tapi_path_send(path, payload, size, is_encrypted, crc);
	if (result == TAPI_OK) {
		tapi_bucket_take(&peer->out, size, now_us);
		peer->core->counters.sealed_sent += gate == TAPI_GATE_SEALED;
	} else if (result == TAPI_ETOOBIG && shrink(path, size))
		*again_us = now_us;
	else
		*again_us = put_off(peer, now_us);
	return result;
}

// Is a way being asked after that would take `size` octets?
static bool way_asked(const struct tapi_peer *peer, uint32_t size)
{
	for (const struct tapi_path *path = peer->paths; path != NULL; path = path->next)
		if (path->probe != NULL && path->session != NULL && path->mtu >= size)
			return true;
	return false;
}

// A message that is not cut and waited, by the cheapest path that takes it. One that is being asked
// after is waited for a moment: the way that is found first may be too small. TAPI_DROPPED: not
// now.
static enum tapi_result send_whole(struct tapi_peer *peer, enum tapi_gate gate,
	struct tapi_item *item, uint64_t now_us, uint64_t *again_us)
{
	uint32_t size = item->size + extra_of(gate);
	struct tapi_choice choice;
	struct tapi_path *path;
	char reason[sizeof(peer->reason)];
	enum tapi_result result;

	if (size > UINT16_MAX)
		return TAPI_ETOOBIG;
	if (!tapi_peer_best(peer, size, now_us, &choice, reason, sizeof(reason))) {
		if (!way_asked(peer, size) || now_us >= item->queued_us + WAY_WAIT_US)
			return TAPI_ETOOBIG;
		*again_us = now_us + WAY_LOOK_US;
		return TAPI_DROPPED;
	}
	path = choice.path != NULL ? choice.path : tapi_path_open(peer, choice.address);
	if (path == NULL || !tapi_path_valid(path, now_us) || !tapi_path_hold(path))
		return TAPI_ETOOBIG;
	result = send_payload(path, gate, item->message, item->size, item->is_encrypted, item->crc,
		now_us, again_us);
	if (result != TAPI_OK)
		return TAPI_DROPPED;
	account(path, item->size, 1, now_us);
	path->by_size = true;
	peer->core->counters.sent_by_size++;
	tapi_queue_sent_parts(&peer->queue, item);
	return TAPI_OK;
}

// As many parts as the transport takes now; true: it is over with this message.
static bool send_parts(struct tapi_path *path, enum tapi_gate gate, struct tapi_item *item,
	uint64_t now_us, uint64_t *again_us)
{
	struct tapi_peer *peer = path->peer;
	struct tapi_core *core = peer->core;
	uint32_t mtu = room_of(path, gate), size, next;
	enum tapi_result result;

	if (!core->settings.fragment || mtu <= TAPI_FRAGMENT_HEAD_BYTES) {
		result = core->settings.fragment ? TAPI_ETOOBIG
						 : send_whole(peer, gate, item, now_us, again_us);
		if (result == TAPI_OK || result == TAPI_DROPPED)
			return result == TAPI_OK;
		core->counters.dropped_too_big++;
		tapi_queue_drop(&peer->queue, item);
		return true;
	}
	if (mtu > UINT16_MAX)
		mtu = UINT16_MAX; // the size of a part is a u16
	if (item->part_sealed != (gate == TAPI_GATE_SEALED))
		item->part_offset = 0; // those in clear and those sealed are of two messages
	item->part_sealed = gate == TAPI_GATE_SEALED;
	if (item->part_offset == 0)
		item->part_id = ++peer->fragment_id;
	while (item->part_offset < item->size) {
		size = tapi_fragment_make(core->buffer, mtu, item->part_id, item->message,
			item->size, item->part_offset, &next);
		result = send_payload(path, gate, core->buffer, size, item->is_encrypted, item->crc,
			now_us, again_us);
		if (result == TAPI_ETOOBIG && size + extra_of(gate) <= TAPI_PATH_MTU_LEAST) {
			core->counters.dropped_too_big++;
			tapi_queue_drop(&peer->queue, item);
			return true;
		}
		if (result != TAPI_OK)
			return false;
		item->part_offset = next;
		core->counters.sent_fragments++;
		account(path, size, 0, now_us);
	}
	core->counters.sent_msgs++;
	peer->sent_msgs++;
	tapi_queue_sent_parts(&peer->queue, item);
	return true;
}

// Sends what is due. Nothing ends here: it is called from tapi_core_send() too.
uint64_t tapi_peer_flush(struct tapi_peer *peer, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	uint64_t again_us = TAPI_NEVER, deadline_us;
	struct tapi_batch batch;
	struct tapi_path *path;
	enum tapi_gate gate;
	bool due;

	if (peer->queue.msgs == 0)
		return peer->flush_us = TAPI_NEVER;
	deadline_us = tapi_queue_deadline(&peer->queue);
	if (deadline_us <= now_us) {
		tapi_queue_expire(&peer->queue, now_us);
		deadline_us = tapi_queue_deadline(&peer->queue);
	}
	path = path_in_use(peer, now_us);
	if (path == NULL)
		return deadline_us;
	gate = tapi_secure_gate(peer, now_us);
	if (gate == TAPI_GATE_WAIT)
		return deadline_us; // what ends the wait says so
	due = peer->flush_us <= now_us;
	// What a stream keeps of a frame may be too much for memory: what is being sent stays until
	// it is over.
	core->budget.sending++;
	for (unsigned sent = 0; peer->queue.msgs != 0; sent++) {
		enum tapi_result result;
		uint32_t size;

		if (sent == PAYLOADS_A_TURN) {
			again_us = now_us; // of the next turn
			break;
		}
		size = tapi_queue_batch(
			&peer->queue, core->buffer, room_of(path, gate), now_us, &batch);
		if (size == 0 && batch.too_long == NULL)
			break;
		if (size == 0) {
			if (!send_parts(path, gate, batch.too_long, now_us, &again_us))
				break;
			continue;
		}
		if (!due && !batch.full && 2 * peer->queue.msgs < peer->queue.msgs_max) {
			again_us = peer->flush_us;
			break;
		}
		result = send_payload(path, gate, core->buffer, size, batch.is_encrypted, batch.crc,
			now_us, &again_us);
		if (result == TAPI_ETOOBIG && size + extra_of(gate) <= TAPI_PATH_MTU_LEAST) {
			core->counters.dropped_too_big += batch.msgs;
			peer->dropped_msgs += batch.msgs;
			tapi_queue_sent(&peer->queue, &batch); // no smaller one is to be had
			continue;
		}
		if (result != TAPI_OK)
			break;
		tapi_queue_sent(&peer->queue, &batch);
		account(path, size, batch.app_msgs, now_us);
	}
	core->budget.sending--;
	tapi_budget_fit(&core->budget);
	peer->flush_us = peer->queue.msgs != 0 ? again_us : TAPI_NEVER;
	return peer->flush_us < deadline_us ? peer->flush_us : deadline_us;
}

// Nothing went out for a while, or the peer has answered since.
static bool path_idle(const struct tapi_path *path, uint64_t now_us)
{
	const struct tapi_peer *peer = path->peer;

	return peer->sent_us == 0 || peer->heard_us >= peer->sent_us ||
	       now_us - peer->sent_us >= flush_wait_us(path);
}

// One message is the payload.
static bool send_alone(struct tapi_path *path, enum tapi_gate gate,
	const struct tapi_outgoing *outgoing, uint64_t now_us)
{
	struct tapi_core *core = path->peer->core;
	uint32_t size = outgoing->length + TAPI_MESSAGE_HEAD_BYTES;
	uint64_t again_us;
	uint8_t *p;

	p = tapi_put16(core->buffer, (uint16_t)size);
	p = tapi_put16(p, outgoing->type);
	if (outgoing->length != 0)
		memcpy(p, outgoing->body, outgoing->length);
	if (send_payload(path, gate, core->buffer, size, outgoing->is_encrypted, outgoing->crc,
		    now_us, &again_us) != TAPI_OK)
		return false;
	account(path, size, 1, now_us);
	core->counters.send_accepted++;
	core->counters.sent_direct++;
	return true;
}

// The short way, without a copy in the queue. false: it has to queue.
static bool send_at_once(
	struct tapi_peer *peer, const struct tapi_outgoing *outgoing, uint64_t now_us)
{
	struct tapi_path *path = peer->use.path;
	uint32_t size = outgoing->length + TAPI_MESSAGE_HEAD_BYTES, mtu;
	enum tapi_gate gate;

	if (peer->queue.msgs != 0 || path == NULL || path->references == 0 ||
		!tapi_path_valid(path, now_us))
		return false;
	gate = tapi_secure_gate(peer, now_us);
	if (gate == TAPI_GATE_WAIT)
		return false;
	mtu = room_of(path, gate);
	if (size > mtu || size > UINT16_MAX ||
		(size <= mtu / 2 && !outgoing->is_encrypted && !path_idle(path, now_us)))
		return false;
	return send_alone(path, gate, outgoing, now_us);
}

static enum tapi_result refuse(uint64_t *counter, enum tapi_result result)
{
	(*counter)++;
	return result;
}

// Too long for the path in use, and not to be cut: by the cheapest that takes it whole, now or not
// at all, as the queue is that of the path in use.
static enum tapi_result send_by_size(struct tapi_peer *peer, enum tapi_gate gate,
	const struct tapi_outgoing *outgoing, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	uint32_t size = outgoing->length + TAPI_MESSAGE_HEAD_BYTES + extra_of(gate);
	struct tapi_choice choice;
	struct tapi_path *path;
	char reason[sizeof(peer->reason)];

	if (size > UINT16_MAX ||
		!tapi_peer_best(peer, size, now_us, &choice, reason, sizeof(reason)))
		return refuse(&core->counters.send_too_big, TAPI_ETOOBIG);
	path = choice.path != NULL ? choice.path : tapi_path_open(peer, choice.address);
	if (path == NULL || !tapi_path_valid(path, now_us) || !tapi_path_hold(path) ||
		!send_alone(path, gate, outgoing, now_us))
		return refuse(&core->counters.send_full, TAPI_DROPPED);
	path->by_size = true;
	core->counters.sent_by_size++;
	return TAPI_OK;
}

static uint32_t mtu_in_use(const struct tapi_peer *peer)
{
	const struct tapi_address *at = peer->use.address;
	uint32_t mtu, extra = tapi_secure_extra(peer);

	if (peer->use.path == NULL && at == NULL)
		return UINT32_MAX;
	mtu = peer->use.path != NULL ? peer->use.path->mtu : tapi_path_mtu(at->carrier, at->mtu);
	return mtu > extra ? mtu - extra : 0;
}

static enum tapi_result enqueue(
	struct tapi_peer *peer, const struct tapi_outgoing *outgoing, uint64_t now_us)
{
	struct tapi_core *core = peer->core;
	uint64_t wait_us = outgoing->deadline_us != 0 ? outgoing->deadline_us
						      : core->settings.queue_deadline_us;
	struct tapi_path *path = peer->use.path;
	enum tapi_result result;
	uint64_t wish_us;

	result = tapi_queue_put(&peer->queue, outgoing->type, outgoing->body, outgoing->length,
		outgoing->priority, outgoing->is_encrypted, outgoing->crc,
		wait_us < TAPI_NEVER - now_us ? now_us + wait_us : TAPI_NEVER, now_us);
	if (result == TAPI_DROPPED)
		return refuse(&core->counters.send_full, result);
	if (result == TAPI_ETOOBIG)
		return refuse(&core->counters.send_too_big, result);
	if (result != TAPI_OK)
		return result;
	core->counters.send_accepted++;
	if (path == NULL) {
		if (peer->flush_us == TAPI_NEVER)
			peer->flush_us = now_us;
		tapi_peer_kick(peer);
		return TAPI_OK;
	}
	if (peer->flush_us == TAPI_NEVER)
		peer->flush_us =
			path_idle(path, now_us) ? now_us : peer->sent_us + flush_wait_us(path);
	// While the medium is full, trying again with each message would only cost.
	if (peer->blocked_us != 0)
		wish_us = peer->flush_us;
	else if (peer->flush_us <= now_us || 2 * peer->queue.msgs >= peer->queue.msgs_max ||
		 peer->queue.bytes >= path->mtu)
		wish_us = tapi_peer_flush(peer, now_us);
	else
		wish_us = peer->flush_us;
	if (wish_us != TAPI_NEVER)
		tapi_peer_at(peer, wish_us);
	return TAPI_OK;
}

enum tapi_result tapi_core_send(
	struct tapi_core *core, const struct tapi_peer_id *id, const struct tapi_outgoing *outgoing)
{
	struct tapi_core_counters *count = &core->counters;
	struct tapi_peer *peer = tapi_peer_find(core, id);
	enum tapi_gate gate;
	uint64_t now_us;
	bool woken;

	if (outgoing->type < TAPI_TYPE_USER || outgoing->priority >= TAPI_PRIORITIES ||
		(outgoing->body == NULL && outgoing->length != 0))
		return TAPI_EFORMAT;
	if (!core->started)
		return TAPI_EDOWN;
	if (outgoing->length > TAPI_MESSAGE_BYTES_MAX - TAPI_MESSAGE_HEAD_BYTES)
		return refuse(&count->send_too_big, TAPI_ETOOBIG);
	if (tapi_core_denied(core, id))
		return refuse(&count->send_denied, TAPI_EACL);
	if (peer == NULL || (peer->addresses == NULL && peer->paths == NULL))
		return refuse(&count->send_no_address, TAPI_ENOADDR);
	if (tapi_secure_refused(peer))
		return refuse(&count->send_insecure, TAPI_EACL);
	now_us = tapi_core_now(core);
	// Addresses that wait to be asked are, now that somebody wants them (validate.c).
	woken = peer->wanted_us == 0 || now_us - peer->wanted_us >= 30 * TAPI_US_PER_S;
	if (woken) {
		peer->wanted_us = now_us;
		tapi_peer_kick(peer);
	}
	peer->app_us = now_us;
	if (!core->settings.fragment &&
		outgoing->length + TAPI_MESSAGE_HEAD_BYTES > mtu_in_use(peer)) {
		gate = tapi_secure_gate(peer, now_us);
		return gate != TAPI_GATE_WAIT ? send_by_size(peer, gate, outgoing, now_us)
					      : enqueue(peer, outgoing, now_us);
	}
	if (send_at_once(peer, outgoing, now_us))
		return TAPI_OK;
	return enqueue(peer, outgoing, now_us);
}
