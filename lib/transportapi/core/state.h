// SPDX-License-Identifier: BSD-3-Clause
// The state of one core, and what all of its parts ask of it: time, chance, CRC and log. All of it
// belongs to the thread of its loop.
#ifndef TRANSPORTAPI_CORE_STATE_H
#define TRANSPORTAPI_CORE_STATE_H

#include <sys/queue.h>

#include "transportapi/base/budget.h"
#include "transportapi/base/limit.h"
#include "transportapi/core/carrier.h"
#include "transportapi/core/conf.h"
#include "transportapi/core/core.h"
#include "transportapi/core/counters.h"
#include "transportapi/core/helo.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/receive.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/proto/secure.h"

#define TAPI_TRANSPORTS_MAX 16

struct event;
struct tapi_cost_table;
struct tapi_denied;
struct tapi_peer;
struct tapi_probe;
struct tapi_quota;
struct tapi_timer;

TAILQ_HEAD(tapi_peer_list, tapi_peer);

struct tapi_core {
	struct tapi_core_options options;
	struct tapi_identity identity;
	const struct tapi_conf *conf;
	struct tapi_acl *acl_owned;
	const struct tapi_acl *acl;
	struct tapi_core_settings settings;
	struct tapi_cost_table *measured;
	struct tapi_core_counters counters;
	bool started, stopping;
	unsigned depth; // in a call of a transport or of our own turn: nothing is freed

	unsigned n_carriers;
	struct tapi_carrier carriers[TAPI_TRANSPORTS_MAX];
	unsigned n_own;
	struct tapi_own_helo own[TAPI_OWN_HELOS_MAX];
	uint64_t own_refresh_us; // monotonic
	uint64_t announced_us;   // when peers were last reported another list; 0: never
	bool nated;              // no address of ours can be reached unless we go first

	struct tapi_peer *peers;
	uint32_t n_peers;
	uint64_t peers_born;
	struct tapi_peer_list fresh, dead;
	struct tapi_peer **reachable; // those that are
	uint32_t n_reachable, reachable_room;
	struct tapi_quota *quotas;
	struct tapi_denied *denied;
	uint64_t denials; // calls of tapi_core_deny_peer

	struct tapi_probe *probes;
	struct tapi_bucket ping_bucket, pong_bucket, helo_bucket, secure_bucket;
	struct tapi_bucket ping_in_bucket; // as ping_bucket, for sessions that came in
	struct tapi_peer_list line;        // of those who are known: one PING, then the next peer
	struct tapi_static secure_static;  // of `identity`
	uint64_t secure_stamp;             // the last
	struct tapi_rate_map *ping_address, *ping_prefix;
	struct tapi_budget budget;
	uint32_t descriptors_told; // wanted, when it was too much; 0: it was not
	struct tapi_queue_pool queue_pool;
	struct tapi_fragment_pool fragment_pool;

	struct tapi_timer **heap; // from 1
	uint32_t n_heap, heap_room;
	struct event *event; // NULL: own_turns
	uint64_t armed_us;
	uint64_t store_us;
	uint64_t stored_us, store_cost_us; // the last time, and how long it took
	bool store_due;                    // something changed

	struct tapi_receiver *receivers[65536 / TAPI_RECEIVER_PAGE];
	void (*watch)(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info);
	void *watch_context;
	uint8_t *buffer; // one payload, of the largest mtu
	uint32_t buffer_room;
	uint8_t *sealed, *opened; // one more each, on first use
};

uint64_t tapi_core_now(const struct tapi_core *core);
uint64_t tapi_core_wall(const struct tapi_core *core);
uint32_t tapi_core_random_below(struct tapi_core *core, uint32_t below);
void tapi_core_random(struct tapi_core *core, void *octets, size_t length);
uint32_t tapi_core_crc(const uint8_t *octets, uint32_t length);
void tapi_core_log(struct tapi_core *core, int priority, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
