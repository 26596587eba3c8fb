// SPDX-License-Identifier: BSD-3-Clause
// Counters, transports and peers as JSON text.
#include "transportapi/core/core.h"

#include <jansson.h>

#include "transportapi/core/carrier.h"
#include "transportapi/core/counters.h"
#include "transportapi/core/peer.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/state.h"
#include "transportapi/core/validate.h"
#include "transportapi/proto/fragment.h"

#define TAPI_STATS_PEERS_MAX 256 // of one page

static void number(json_t *object, const char *name, uint64_t value)
{
	json_object_set_new(object, name, json_integer((json_int_t)value));
}

static json_t *of_transport(const struct tapi_carrier *carrier)
{
	struct tapi_transport_api *api = carrier->loaded.api;
	const struct tapi_transport_stats *stats = api->stats(api);
	json_t *object = json_object();

	json_object_set_new(object, "name", json_string(carrier->loaded.name));
	json_object_set_new(object, "running", json_boolean(carrier->running));
	number(object, "protocol", api->protocol);
	number(object, "mtu", api->mtu);
	number(object, "cost", api->cost);
#define X(name, help) number(object, #name, stats->name);
	TAPI_TRANSPORT_COUNTERS(X)
#undef X
	return object;
}

static const char *const secure_words[] = {
	[TAPI_SECURE_CLEAR] = "clear",
	[TAPI_SECURE_PENDING] = "pending",
	[TAPI_SECURE_SEALED] = "sealed",
	[TAPI_SECURE_REFUSED] = "refused",
};

static json_t *of_peer(const struct tapi_peer *peer)
{
	struct tapi_peer_info info;
	json_t *object = json_object();
	char id[TAPI_PEER_TEXT_BYTES];

	tapi_peer_info_fill(peer, &info);
	tapi_peer_id_text(&info.id, id);
	json_object_set_new(object, "peer", json_string(id));
	json_object_set_new(object, "reachable", json_boolean(peer->reachable));
	json_object_set_new(object, "transport", json_string(info.transport));
	json_object_set_new(object, "address", json_string(info.address));
	json_object_set_new(object, "reason", json_string(info.reason));
	json_object_set_new(object, "encryption", json_string(secure_words[info.secure]));
	json_object_set_new(object, "inbound", json_boolean(info.inbound));
	json_object_set_new(object, "loss", json_real(info.loss));
	number(object, "mtu", info.mtu);
	number(object, "cost", info.cost);
	number(object, "rtt_us", info.rtt_us);
	number(object, "addresses", info.addresses);
	number(object, "validated", info.validated);
	number(object, "sessions", info.sessions);
	number(object, "queued_msgs", info.queued_msgs);
	number(object, "queued_bytes", info.queued_bytes);
	number(object, "sent_msgs", info.sent_msgs);
	number(object, "sent_bytes", info.sent_bytes);
	number(object, "received_msgs", info.received_msgs);
	number(object, "received_bytes", info.received_bytes);
	number(object, "dropped_msgs", info.dropped_msgs);
	number(object, "in_rate", info.in_rate);
	number(object, "out_rate", info.out_rate);
	return object;
}

static json_t *of_queues(const struct tapi_core *core)
{
	const struct tapi_queue_counters *counters = &core->queue_pool.counters;
	json_t *object = json_object();

	number(object, "bytes", core->queue_pool.bytes);
	number(object, "bytes_max", core->queue_pool.bytes_max);
#define X(name, help) number(object, #name, counters->name);
	TAPI_QUEUE_COUNTERS(X)
#undef X
	return object;
}

static json_t *of_fragments(const struct tapi_core *core)
{
	const struct tapi_fragment_counters *counters = &core->fragment_pool.counters;
	json_t *object = json_object();

	number(object, "bytes", core->fragment_pool.bytes);
	number(object, "bytes_max", core->fragment_pool.bytes_max);
#define X(name, help) number(object, #name, counters->name);
	TAPI_FRAGMENT_COUNTERS(X)
#undef X
	return object;
}

static json_t *of_core(const struct tapi_core *core)
{
	json_t *object = json_object();

#define X(name, help) number(object, #name, core->counters.name);
	TAPI_CORE_COUNTERS(X)
#undef X
	number(object, "peers", core->n_peers);
	number(object, "reachable", core->n_reachable);
	number(object, "memory_bytes", core->budget.bytes);
	number(object, "memory_bytes_max", core->budget.bytes_max);
	number(object, "pings_out", HASH_COUNT(core->probes));
	json_object_set_new(object, "nated", json_boolean(core->nated));
	return object;
}

char *tapi_core_stats_json(struct tapi_core *core, bool with_peers)
{
	json_t *root = json_object(), *transports = json_array(), *peers;
	char id[TAPI_PEER_TEXT_BYTES], *text;

	tapi_peer_id_text(&core->identity.id, id);
	json_object_set_new(root, "identity", json_string(id));
	json_object_set_new(root, "core", of_core(core));
	json_object_set_new(root, "queues", of_queues(core));
	json_object_set_new(root, "fragments", of_fragments(core));
	for (unsigned i = 0; i < core->n_carriers; i++)
		json_array_append_new(transports, of_transport(&core->carriers[i]));
	json_object_set_new(root, "transports", transports);
	if (with_peers) {
		peers = json_array();
		for (struct tapi_peer *peer = core->peers; peer != NULL; peer = peer->hh.next)
			json_array_append_new(peers, of_peer(peer));
		json_object_set_new(root, "peers", peers);
	}
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	return text;
}

// The table is in order of startup. Where the last one is gone, the next is looked for from the
// start.
static struct tapi_peer *page_begin(struct tapi_core *core, const struct tapi_stats_cursor *cursor)
{
	struct tapi_peer *peer = core->peers;

	if (cursor->after == 0)
		return peer;
	peer = tapi_peer_find(core, &cursor->last);
	if (peer != NULL && peer->number == cursor->after)
		return peer->hh.next;
	peer = core->peers;
	while (peer != NULL && peer->number <= cursor->after)
		peer = peer->hh.next;
	return peer;
}

char *tapi_core_stats_peers_json(
	struct tapi_core *core, struct tapi_stats_cursor *cursor, unsigned most)
{
	json_t *root = json_object(), *peers = json_array();
	struct tapi_peer *peer = page_begin(core, cursor);
	char *text;

	if (most == 0 || most > TAPI_STATS_PEERS_MAX)
		most = TAPI_STATS_PEERS_MAX;
	for (; peer != NULL && most != 0; peer = peer->hh.next, most--) {
		json_array_append_new(peers, of_peer(peer));
		cursor->after = peer->number;
		cursor->last = peer->id;
	}
	cursor->done = peer == NULL;
	json_object_set_new(root, "peers", peers);
	number(root, "of", core->n_peers);
	text = json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
	return text;
}
