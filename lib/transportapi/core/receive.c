// SPDX-License-Identifier: BSD-3-Clause
// Receives messages for the core. What a sender says of itself is believed only where the session,
// or the source, was validated; the others are delivered too, marked so: an application may answer
// a stranger, and the answer goes nowhere before a PONG (core.h).
#include "transportapi/core/receive.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "transportapi/base/limit.h"
#include "transportapi/base/wire.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/core.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/introduce.h"
#include "transportapi/core/path.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/reload.h"
#include "transportapi/core/secure.h"
#include "transportapi/core/secure_take.h"
#include "transportapi/core/state.h"
#include "transportapi/core/timer.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/helo.h"
#include "transportapi/proto/secure.h"

struct arrival {
	struct tapi_core *core;
	struct tapi_carrier *carrier;
	const struct tapi_message_pack *pack;
	struct tapi_peer *peer; // NULL: nothing is kept of the sender
	struct tapi_path *path; // NULL: without session, or one that is not its
	bool validated;
	bool sealed; // it was
};

enum tapi_result tapi_core_receive(struct tapi_core *core, uint16_t type,
	void (*receive)(void *context, const struct tapi_incoming *incoming), void *context)
{
	struct tapi_receiver **page = &core->receivers[type / TAPI_RECEIVER_PAGE];

	if (type < TAPI_TYPE_USER)
		return TAPI_EFORMAT;
	if (*page == NULL && receive == NULL)
		return TAPI_OK;
	if (*page == NULL)
		*page = calloc(TAPI_RECEIVER_PAGE, sizeof(**page));
	if (*page == NULL)
		return TAPI_ENOMEM;
	(*page)[type % TAPI_RECEIVER_PAGE] = (struct tapi_receiver){receive, context};
	return TAPI_OK;
}

static void deliver(struct arrival *in, uint16_t type, const uint8_t *body, uint32_t length)
{
	struct tapi_core *core = in->core;
	struct tapi_receiver *page = core->receivers[type / TAPI_RECEIVER_PAGE];
	struct tapi_receiver *receiver = page != NULL ? &page[type % TAPI_RECEIVER_PAGE] : NULL;
	struct tapi_incoming incoming = {
		.sender = &in->pack->sender,
		.type = type,
		.body = body,
		.length = length,
		.is_encrypted = in->pack->is_encrypted,
		.crc = in->pack->crc,
		.transport = in->carrier->loaded.name,
		.validated = in->validated,
		.sealed = in->sealed,
	};

	if (in->path != NULL) {
		in->path->used_us = tapi_core_now(core);
		tapi_path_trigger(in->path);
	}
	if (in->peer != NULL)
		in->peer->delivered_us = tapi_core_now(core);
	if (receiver == NULL || receiver->receive == NULL) {
		core->counters.unknown_type++;
		return;
	}
	core->counters.received_msgs++;
	core->counters.received_unvalidated += !in->validated;
	if (in->peer != NULL)
		in->peer->received_msgs++;
	receiver->receive(receiver->context, &incoming);
}

static void take_fragment(struct arrival *in, const uint8_t *part, uint32_t size)
{
	bool slow = (in->carrier->loaded.api->flags & TAPI_HIGH_LATENCY) != 0;
	struct tapi_core *core = in->core;
	uint64_t now_us = tapi_core_now(core), wait_us = slow ? 3600u : 10u;
	struct tapi_whole whole = {.message = NULL};
	struct arrival all = *in;
	struct tapi_message_pack pack = *in->pack;
	struct tapi_assemblies *into;
	uint16_t type;

	if (in->peer == NULL) {
		core->counters.fragment_bad++;
		return;
	}
	if (in->path != NULL)
		tapi_path_trigger(in->path);
	// Whoever writes the peer's name on a part must not get into what the peer says, nor in its
	// way. What began before the peer was validated goes on as it began.
	// What came sealed is never mixed with what did not.
	if (in->sealed)
		into = tapi_secure_get(in->peer) != NULL ? &in->peer->secure->assemblies : NULL;
	else
		into = &in->peer->strange;
	if (into == NULL)
		return;
	if (!in->sealed && in->validated &&
		(tapi_assemblies_wait_for(&in->peer->assemblies, part, size) ||
			!tapi_assemblies_wait_for(into, part, size)))
		into = &in->peer->assemblies;
	else if (!in->sealed)
		all.validated = false;
	if (tapi_fragment_take(into, part, size, in->pack->is_encrypted, in->pack->crc, now_us,
		    wait_us * TAPI_US_PER_S, &whole) != TAPI_OK) {
		core->counters.fragment_bad++;
		return;
	}
	if (whole.message == NULL) {
		tapi_peer_at(in->peer, now_us + wait_us * TAPI_US_PER_S);
		return;
	}
	pack.is_encrypted = whole.is_encrypted;
	pack.crc = whole.crc;
	all.pack = &pack;
	type = whole.size >= TAPI_MESSAGE_HEAD_BYTES ? tapi_get16(&whole.message[2]) : 0;
	// Its own size field is 0 where 16 bits do not hold it; the length is the parts'.
	if (type < TAPI_TYPE_USER)
		core->counters.malformed++;
	else
		deliver(&all, type, &whole.message[TAPI_MESSAGE_HEAD_BYTES],
			whole.size - TAPI_MESSAGE_HEAD_BYTES);
	free(whole.message);
}

static void take_helo(struct arrival *in, const uint8_t *message, uint32_t size)
{
	struct tapi_helo helo;
	size_t used;

	if (tapi_helo_decode(&helo, message, size, &used) != TAPI_OK || used != size) {
		in->core->counters.helo_received++;
		in->core->counters.helo_malformed++;
		return;
	}
	tapi_core_take_helo(in->core, &helo, message, size,
		in->validated ? TAPI_FROM_PEER : TAPI_FROM_STRANGER);
	if (in->path != NULL && in->path->valid_until_us == 0)
		tapi_path_trigger(in->path);
}

static void split(struct arrival *in);

static void take_sealed(struct arrival *in, const uint8_t *message, uint32_t size)
{
	struct tapi_message_pack pack = *in->pack;
	struct arrival inner = *in;
	struct tapi_opened opened;

	if (!tapi_secure_take_sealed(in->core, in->peer, in->path, message, size, &opened))
		return;
	pack.message = opened.payload;
	pack.size = opened.size;
	pack.is_encrypted = opened.is_encrypted;
	pack.crc = opened.crc;
	inner.pack = &pack;
	inner.sealed = true;
	split(&inner);
}

static void dispatch(struct arrival *in, const uint8_t *message, uint32_t size)
{
	uint16_t type = tapi_get16(&message[2]);

	// The core's own are in plain, but for parts of what is not.
	if (type < TAPI_TYPE_USER && in->pack->is_encrypted && type != TAPI_TYPE_FRAGMENT) {
		in->core->counters.malformed++;
		return;
	}
	// Sealed are HELOs, introductions, parts and messages of applications: nothing else.
	if (in->sealed && type < TAPI_TYPE_USER && type != TAPI_TYPE_HELO &&
		type != TAPI_TYPE_FRAGMENT && type != TAPI_TYPE_INTRODUCE) {
		in->core->counters.malformed++;
		return;
	}
	if (!in->sealed &&
		(type >= TAPI_TYPE_USER || type == TAPI_TYPE_FRAGMENT ||
			type == TAPI_TYPE_INTRODUCE) &&
		tapi_secure_clear_dropped(in->core, in->peer))
		return;
	switch (type) {
	case TAPI_TYPE_HELO: take_helo(in, message, size); break;
	case TAPI_TYPE_PING:
		tapi_core_take_ping(in->core, in->carrier, in->pack, in->validated, message, size);
		break;
	case TAPI_TYPE_PONG: tapi_core_take_pong(in->core, message, size); break;
	case TAPI_TYPE_FRAGMENT: take_fragment(in, message, size); break;
	case TAPI_TYPE_INTRODUCE:
		tapi_core_take_introduce(in->core, in->peer, in->validated, message, size);
		break;
	case TAPI_TYPE_INITIATE:
		tapi_secure_take_initiate(
			in->core, in->peer, in->pack, in->validated, message, size);
		break;
	case TAPI_TYPE_RESPOND: tapi_secure_take_respond(in->core, in->peer, message, size); break;
	case TAPI_TYPE_SEALED: take_sealed(in, message, size); break;
	default:
		if (type >= TAPI_TYPE_USER)
			deliver(in, type, &message[TAPI_MESSAGE_HEAD_BYTES],
				size - TAPI_MESSAGE_HEAD_BYTES);
		else
			in->core->counters.unknown_type++;
	}
}

// Without session: the sender is where one of its validated addresses leads.
static struct tapi_address *address_of(struct tapi_peer *peer, const struct tapi_carrier *carrier,
	const struct tapi_source *source, uint64_t now_us)
{
	struct tapi_transport_api *api = carrier->loaded.api;
	struct tapi_source leads;
	struct tapi_helo helo;

	if (api->address_source == NULL)
		return NULL;
	for (struct tapi_address *at = peer->addresses; at != NULL; at = at->next)
		if (at->carrier == carrier && tapi_address_valid(at, now_us) &&
			tapi_address_helo(at, &helo) &&
			api->address_source(api, &helo, &leads) == TAPI_OK &&
			leads.family == source->family && leads.port == source->port &&
			memcmp(leads.address, source->address, sizeof(leads.address)) == 0)
			return at;
	return NULL;
}

// Whose session it is. A message whose sender is another than the one who proved to be there is
// taken as from a stranger: a shared or forged source must not pass for the peer.
static void recognise(struct arrival *in, uint64_t now_us)
{
	const struct tapi_message_pack *pack = in->pack;
	struct tapi_session *session = pack->session;
	bool answers = (in->carrier->loaded.api->flags & TAPI_BIDIRECTIONAL) != 0;
	struct tapi_path *path = session != NULL ? session->user : NULL;
	struct tapi_address *at;

	if (path != NULL && !tapi_peer_id_equal(&path->peer->id, &pack->sender)) {
		in->peer = tapi_peer_find(in->core, &pack->sender);
		if (!path->inbound || path->references != 0 || tapi_path_valid(path, now_us)) {
			in->core->counters.sender_conflict++;
			return;
		}
		in->peer = tapi_peer_get(in->core, &pack->sender);
		if (in->peer == NULL)
			return;
		path = tapi_path_inbound(in->peer, in->carrier, session);
	} else if (path == NULL && session != NULL && answers && !in->core->stopping) {
		in->peer = tapi_peer_get(in->core, &pack->sender);
		if (in->peer == NULL)
			return;
		path = tapi_path_inbound(in->peer, in->carrier, session);
		tapi_carrier_touch(in->carrier); // when it gets stale
	}
	in->path = path;
	in->peer = path != NULL ? path->peer : tapi_peer_find(in->core, &pack->sender);
	if (path != NULL) {
		path->heard_us = now_us;
		path->unheard_us = 0;
		in->validated = tapi_path_valid(path, now_us);
		// An application waits for the peer: what came in sets its PING free.
		if (!in->validated && path->probe == NULL && path->peer->queue.msgs != 0)
			tapi_peer_kick(path->peer);
		return;
	}
	if (in->peer == NULL || session != NULL)
		return;
	at = address_of(in->peer, in->carrier, &pack->source, now_us);
	in->validated = at != NULL;
	if (at != NULL && at->path != NULL) {
		at->path->heard_us = now_us;
		at->path->unheard_us = 0;
	}
}

static void split(struct arrival *in)
{
	const uint8_t *message = in->pack->message;
	uint32_t left = in->pack->size, size;
	uint64_t denials = in->core->denials;

	while (left != 0) {
		// A receiver may have denied the sender.
		if (denials != in->core->denials && tapi_core_denied(in->core, &in->pack->sender)) {
			in->core->counters.received_denied++;
			return;
		}
		size = left >= TAPI_MESSAGE_HEAD_BYTES ? tapi_get16(message) : 0;
		if (size < TAPI_MESSAGE_HEAD_BYTES || size > left) {
			in->core->counters.malformed++;
			return;
		}
		dispatch(in, message, size);
		message += size;
		left -= size;
	}
}

static void take(struct tapi_carrier *carrier, const struct tapi_message_pack *pack)
{
	struct tapi_core *core = carrier->core;
	struct arrival in = {.core = core, .carrier = carrier, .pack = pack};
	uint64_t now_us = tapi_core_now(core);

	core->counters.received_payloads++;
	core->counters.received_bytes += pack->size;
	if (tapi_peer_id_equal(&pack->sender, &core->identity.id)) {
		core->counters.received_mine++;
		return;
	}
	if (tapi_core_denied(core, &pack->sender)) {
		core->counters.received_denied++;
		return;
	}
	// Only the core looks (TA12); what is encrypted has the sum of a text we do not have.
	if (!pack->is_encrypted && (uint32_t)crc32(0, pack->message, pack->size) != pack->crc) {
		core->counters.crc_bad++;
		return;
	}
	recognise(&in, now_us);
	// What others may have sent in the peer's name is not paid from what the peer has.
	if (in.peer != NULL && !tapi_bucket_take(in.validated ? &in.peer->in : &in.peer->strange_in,
				       pack->size, now_us)) {
		core->counters.received_quota++;
		in.peer->dropped_msgs++;
		return;
	}
	if (in.peer != NULL) {
		in.peer->received_bytes += pack->size;
		in.peer->heard_us = now_us;
	}
	split(&in);
}

void tapi_core_take(void *context, const struct tapi_message_pack *pack)
{
	struct tapi_carrier *carrier = context;

	if (!carrier->core->started)
		return;
	carrier->core->depth++; // receivers may forget the peer whose session this is
	take(carrier, pack);
	carrier->core->depth--;
	tapi_core_reap(carrier->core);
}
