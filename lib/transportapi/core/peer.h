// SPDX-License-Identifier: BSD-3-Clause
// Peers: what the core knows of each, the table that finds them, and their turns.
//
// One rule keeps it simple: paths and addresses are made anywhere, but they end, and another path
// is chosen, in tapi_peer_turn() alone. Whoever learns something (a PONG, a dead session, a full
// queue) notes it and says when the peer wants its turn. So a receiver may call anything.
#ifndef TRANSPORTAPI_CORE_PEER_H
#define TRANSPORTAPI_CORE_PEER_H

#include <sys/queue.h>

#include "transportapi/base/limit.h"
#include "transportapi/base/table.h"
#include "transportapi/core/core.h"
#include "transportapi/core/queue.h"
#include "transportapi/core/select.h"
#include "transportapi/core/timer.h"
#include "transportapi/proto/fragment.h"

struct tapi_address;
struct tapi_core;
struct tapi_path;
struct tapi_secure;

struct tapi_peer {
	struct tapi_peer_id id;
	struct tapi_timer timer;
	struct tapi_core *core;
	uint64_t number; // counts up with each startup, as the table's order does
	struct tapi_address *addresses;
	struct tapi_path *paths;
	struct tapi_choice use;
	uint8_t n_addresses, n_paths;
	bool reachable, dead, choose;
	bool in_line; // in core->line: an address of it is due, and waits for a PING that may go
	bool helos_due, gossip_due;
	bool own_quota;           // by tapi_core_quota(): a reload leaves it
	uint64_t helos_us;        // when own HELOs go to it
	uint64_t helos_sent_us;   // when they did, last
	uint64_t app_us;          // an application sent something, last
	uint64_t wanted_us;       // the same, to half a minute
	uint64_t delivered_us;    // an application got something, last
	uint64_t flush_us;        // the queue goes out; TAPI_NEVER: nothing waits
	uint64_t sent_us;         // a payload with messages, last
	uint64_t heard_us;        // a payload with messages, last
	uint64_t introduce_us;    // others were asked to introduce us, last; 0: never
	uint64_t reported_us;     // another reported that it asks for us; 0: never
	uint64_t blocked_us;      // how long to wait after a transport took nothing, next time
	uint32_t reachable_index; // in core->reachable
	uint32_t size_mean;       // of what is sent, for the measured table
	uint32_t fragment_id;
	bool denied; // a reload took addresses or sessions from it, and no way was found since
	struct tapi_queue queue;
	struct tapi_assemblies assemblies; // of what is validated
	struct tapi_assemblies strange;    // of what others may have sent in its name
	struct tapi_bucket in, out;
	struct tapi_bucket introduced; // INTRODUCEs that it sends; rate 0: none came yet
	struct tapi_bucket strange_in; // as `in`, for what others may have sent in its name
	struct tapi_secure *secure;    // NULL: no keys
	uint8_t public_key[TAPI_PUBLIC_KEY_BYTES]; // where has_key: of the id, proven
	uint64_t offer_seq;                        // of the HELO that `offer` is of
	uint64_t rest_until_us;                    // no handshake of ours before
	uint64_t asked_us;                         // tapi_secure_ask
	uint8_t offer;                             // enum tapi_offer
	bool has_key, ask, complained;
	uint16_t handshakes, handshakes_s; // of its that were looked at, in which second
	uint64_t sent_msgs, sent_bytes, received_msgs, received_bytes, dropped_msgs;
	char reason[112];
	TAILQ_ENTRY(tapi_peer) line;
	TAILQ_ENTRY(tapi_peer) fresh; // never validated, oldest first; or dead
	UT_hash_handle hh;
};

struct tapi_peer *tapi_peer_find(struct tapi_core *core, const struct tapi_peer_id *id);
struct tapi_peer *tapi_peer_get(struct tapi_core *core, const struct tapi_peer_id *id);
void tapi_peer_kick(struct tapi_peer *peer);                // its turn, now
void tapi_peer_at(struct tapi_peer *peer, uint64_t due_us); // at the latest; not of a dead one
void tapi_peer_turn(struct tapi_peer *peer, uint64_t now_us);
// LOST, if it was reachable, then its end.
void tapi_peer_forget(struct tapi_core *core, const struct tapi_peer_id *id, const char *why);
void tapi_peer_quota(struct tapi_peer *peer, uint64_t in_rate, uint64_t out_rate);
void tapi_peer_end(struct tapi_peer *peer); // out of the table at once; freed by reap
void tapi_core_reap(struct tapi_core *core);
void tapi_core_peers_limit(struct tapi_core *core); // max_peers, after a reload
void tapi_peer_became(struct tapi_peer *peer, bool reachable);
void tapi_peer_info_fill(const struct tapi_peer *peer, struct tapi_peer_info *out);
void tapi_peer_limits(struct tapi_peer *peer); // of the settings, after a reload

#endif
