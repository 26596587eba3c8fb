// SPDX-License-Identifier: BSD-3-Clause
// What the files of the core share. All of it belongs to one core, on the thread of its loop.
//
// One rule keeps it simple: paths and addresses are made anywhere, but they end, and another path
// is chosen, in tapi_peer_turn() alone. Whoever learns something (a PONG, a dead session, a full
// queue) notes it and says when the peer wants its turn. So a receiver may call anything.
#ifndef TRANSPORTAPI_CORE_INTERNAL_H
#define TRANSPORTAPI_CORE_INTERNAL_H

#include <sys/queue.h>
#include <syslog.h>

#include "transportapi/base/budget.h"
#include "transportapi/core/core.h"
#include "transportapi/core/secure.h"
#include "transportapi/proto/fragment.h"
#include "transportapi/base/limit.h"
#include "transportapi/core/cost_table.h"
#include "transportapi/proto/ping.h"
#include "transportapi/core/queue.h"
#include "transportapi/transport/registry.h"
#include "transportapi/proto/secure.h"
#include "transportapi/base/table.h"
#include "transportapi/base/wire.h"

#define TAPI_TRANSPORTS_MAX     16
#define TAPI_OWN_HELOS_MAX      32
#define TAPI_PEER_PATHS_MAX     16
#define TAPI_RECEIVER_PAGE      256
#define TAPI_OBSERVED_MAX       16 // votes kept per transport
#define TAPI_DENIED_PEERS_MAX   65536
#define TAPI_QUOTAS_MAX         65536
#define TAPI_STATS_PEERS_MAX    256 // of one page
#define TAPI_US_PER_S           1000000u
#define TAPI_NEVER              UINT64_MAX
#define TAPI_PATH_MTU_LEAST     256 // a PING and its PONG go in whole
#define TAPI_LOSS_SAMPLES_LEAST 8   // PINGs, before their loss is believed
#define TAPI_WRONG_PONGS_MAX    8   // signatures looked at in vain, per PING

// X(name, help): every message and every refusal ends in one of these.
#define TAPI_CORE_COUNTERS(X)                                                                      \
	X(send_accepted, "messages of the application that were taken")                            \
	X(send_no_address, "messages refused: nothing is known of the peer")                       \
	X(send_full, "messages refused: the queue is full")                                        \
	X(send_too_big, "messages refused: too long")                                              \
	X(send_denied, "messages refused: the peer is denied")                                     \
	X(send_insecure,                                                                           \
		"messages refused: encryption is required, and the peer does not encrypt")         \
	X(sent_msgs, "messages of the application that a transport took")                          \
	X(sent_batches, "payloads that a transport took, with messages of the application")        \
	X(sent_bytes, "their octets")                                                              \
	X(sent_direct, "of these messages, sent at once without the queue")                        \
	X(sent_fragments, "parts of messages beyond the mtu")                                      \
	X(sent_by_size, "of these messages, sent by another path, whose mtu takes them")           \
	X(send_refused, "payloads that a transport did not take; they are tried again")            \
	X(dropped_too_big, "messages dropped: the mtu does not take them, even in parts")          \
	X(dropped_peer_gone, "messages dropped with a peer that was forgotten or denied")          \
	X(received_payloads, "payloads that transports brought")                                   \
	X(received_bytes, "their octets")                                                          \
	X(received_msgs, "messages given to a receiver")                                           \
	X(received_unvalidated, "of these, from a sender that was not validated")                  \
	X(received_denied, "payloads dropped: the sender is denied")                               \
	X(received_mine, "payloads dropped: the sender claims to be us")                           \
	X(received_quota, "payloads dropped: the sender's quota")                                  \
	X(sender_conflict, "payloads on the session of another validated peer")                    \
	X(crc_bad, "payloads dropped: wrong CRC of the plain text")                                \
	X(malformed, "messages dropped: wrong size, or of the core and not as they have to be")    \
	X(unknown_type, "messages dropped: nobody receives their type")                            \
	X(fragment_bad, "parts dropped: malformed, in conflict, or no room")                       \
	X(helo_received, "HELOs that came in, by any way")                                         \
	X(helo_malformed, "HELOs dropped: malformed")                                              \
	X(helo_bad_signature, "HELOs dropped: wrong signature")                                    \
	X(helo_expired, "HELOs dropped: expired, or expiring too far from now")                    \
	X(helo_own, "HELOs of our own that came back")                                             \
	X(helo_denied, "HELOs dropped: the peer or the address is denied")                         \
	X(helo_bad_address, "HELOs dropped: the address is malformed")                             \
	X(helo_unknown_transport, "HELOs dropped: of a transport that does not run here")          \
	X(helo_old, "HELOs dropped: what is known is as new")                                      \
	X(helo_limited, "HELOs dropped: helos_per_s")                                              \
	X(helo_no_room, "HELOs dropped: no room for the peer or the address")                      \
	X(helo_left_out, "addresses forgotten for others of the same peer, or not taken for them") \
	X(helo_stored, "HELOs kept")                                                               \
	X(ping_sent, "PINGs sent")                                                                 \
	X(ping_sent_address, "of these, to an address that is not validated")                      \
	X(ping_limited, "PINGs put off by a rate limit")                                           \
	X(ping_unanswered, "PINGs that nobody answered in time")                                   \
	X(ping_received, "PINGs that came in")                                                     \
	X(ping_not_ours, "PINGs dropped: for another peer")                                        \
	X(ping_limited_in, "PINGs dropped: pongs_per_s")                                           \
	X(pong_sent, "PONGs sent")                                                                 \
	X(pong_no_way, "PINGs that came without session, and no HELO for their source")            \
	X(pong_received, "PONGs that were right")                                                  \
	X(pong_unknown, "PONGs dropped: no such challenge is out (made up, late, often wrong)")    \
	X(pong_wrong, "PONGs dropped: wrong signature or peer")                                    \
	X(pong_expired, "PONGs dropped: no longer valid")                                          \
	X(connects, "sessions begun")                                                              \
	X(connects_failed, "sessions that could not be begun")                                     \
	X(associates, "sessions of others that are used to answer")                                \
	X(disconnects, "references given back")                                                    \
	X(sessions_down, "sessions that ended")                                                    \
	X(paths_lost, "paths given up: three PINGs unanswered")                                    \
	X(switches, "changes of the path in use")                                                  \
	X(peers_reachable, "peers that became reachable")                                          \
	X(peers_lost, "peers that no path leads to any more")                                      \
	X(peers_refused, "peers refused: max_peers")                                               \
	X(peers_evicted, "peers forgotten for another, not reachable")                             \
	X(introduce_asked, "peers asked to introduce us to another behind a NAT")                  \
	X(introduce_made, "peers told of another who asked for that")                              \
	X(introduce_told, "times that we were told of another, and PINGed it")                     \
	X(introduce_refused, "INTRODUCEs dropped: from strangers, too many, nothing known")        \
	X(gossip_sent, "HELOs of others passed on")                                                \
	X(secure_begun, "handshakes that we began")                                                \
	X(secure_again, "their messages that were sent again")                                     \
	X(secure_timed_out, "of these handshakes, given up: nobody answered")                      \
	X(secure_answered, "handshakes of peers that were answered, repetitions included")         \
	X(secure_repeated, "handshakes of peers that came again")                                  \
	X(secure_crossed, "handshakes of peers not answered: ours is under way and goes before")   \
	X(secure_limited, "handshakes and answers dropped: handshakes_per_s")                      \
	X(secure_replayed, "handshakes dropped: not newer than the last one")                      \
	X(secure_stale, "answers dropped: to no handshake of ours that is under way")              \
	X(secure_bad, "handshakes and answers dropped: malformed, altered, or not of the peer")    \
	X(secure_no_way, "handshakes that could not be answered where they came from")             \
	X(secure_made, "sessions with peers that stand, new keys of old ones included")            \
	X(secure_ended, "keys that ended by time")                                                 \
	X(sealed_sent, "payloads that a transport took sealed")                                    \
	X(sealed_received, "payloads that were opened")                                            \
	X(sealed_bad, "sealed payloads dropped: malformed, forged or altered")                     \
	X(sealed_replayed, "sealed payloads dropped: they came before, or too late")               \
	X(sealed_unknown, "sealed payloads dropped: of keys that we do not have")                  \
	X(sealed_unwanted, "handshakes and sealed payloads dropped: core.encryption is off")       \
	X(clear_dropped, "messages and parts dropped: in clear, of a peer that has to encrypt")    \
	X(stored, "times that known peers were written to their file")

struct tapi_core_counters {
#define X(name, help) uint64_t name;
	TAPI_CORE_COUNTERS(X)
#undef X
};

// Section "core": transportapi/core/conf.c.
struct tapi_core_settings {
	bool measured, fragment, eager, introduce;
	unsigned hysteresis_percent, advertise, observed_agree;
	uint32_t queue_msgs, max_peers, helos_per_peer;
	uint64_t queue_bytes, queue_total_bytes, fragment_total_bytes, memory_total_bytes,
		queue_deadline_us;
	uint64_t flush_us, flush_stream_us, store_us, store_soon_us;
	uint64_t helo_lifetime_us, pong_valid_us, ping_wait_us;
	uint64_t ping_address_us, ping_prefix_per_min, ping_per_s, pongs_per_s, helos_per_s;
	uint64_t retry_min_us, retry_max_us;
	uint64_t quiet_us, quiet_ping_us, idle_ping_us, helo_repeat_us, idle_close_us, linger_us,
		keepalive_us;
	uint64_t measured_ping_us;
	unsigned quiet_pings;
	uint64_t in_rate, out_rate;
	uint64_t rekey_us, rekey_msgs, handshakes_per_s;
	enum tapi_encryption encryption;
	const char *identity, *known_peers, *module_path, *measured_table; // the configuration's
	bool modules_first;
};

extern const struct tapi_conf_key tapi_core_keys[];
// All sections: "transports", "core", "acl" and those of the transports that are named.
enum tapi_result tapi_core_settings_read(
	struct tapi_core_settings *out, const struct tapi_conf *conf, struct tapi_error *error);

struct tapi_vote { // one peer's word on where our messages come from
	struct tapi_peer_id peer;
	struct tapi_source source;
	uint64_t when_us;
};

struct tapi_carrier { // a transport that runs in this core
	struct tapi_core *core;
	struct tapi_core_api api; // `core` of it is the carrier
	struct tapi_loaded loaded;
	bool own, running;
	bool nated;       // an address of it is that of a NAT: what goes out keeps it open
	uint64_t wish_us; // its next turn
	unsigned n_votes;
	struct tapi_vote votes[TAPI_OBSERVED_MAX];
};

struct tapi_timer { // embedded; in the heap of the core while `place` is not 0
	uint64_t due_us;
	uint32_t place;
};

struct tapi_probe { // a PING that may be answered
	uint8_t challenge[TAPI_CHALLENGE_BYTES];
	struct tapi_path *path;
	uint64_t first_us, last_us; // sent
	unsigned sent;
	uint16_t protocol;                             // 0: for the session
	uint8_t address_hash[TAPI_ADDRESS_HASH_BYTES]; // zeros there
	bool liveness;                                 // of a path that was validated
	uint8_t wrong;                                 // answers that were looked at
	UT_hash_handle hh;
};

// A session as the core knows it.
struct tapi_path {
	struct tapi_path *next; // of the peer
	struct tapi_peer *peer;
	struct tapi_carrier *carrier;
	struct tapi_session *session; // NULL: it is gone, the record goes in the peer's next turn
	struct tapi_address *address; // where it leads; NULL: the peer opened it
	struct tapi_probe *probe;     // NULL: no PING is out
	uint32_t references;          // that we hold
	uint32_t mtu;                 // the least of the transport's and the HELO's
	enum tapi_down why;           // of session == NULL
	bool inbound;
	bool broken;  // a send said so: to be closed
	bool one_way; // cannot answer
	bool by_size; // carries what the path in use has too small an mtu for
	bool trigger; // something came in: one PING is due, if it is not validated
	bool suspect; // its like failed: not used before a PONG, unless nothing else is left
	uint16_t failures;
	uint64_t next_ping_us;
	uint64_t valid_until_us;               // monotonic; 0: not validated
	uint64_t revalidate_us;                // when half of that is over
	uint64_t opened_us, heard_us, used_us; // used: by messages of applications, either way
	uint64_t asked_us;    // when what came in last was answered by a PING, or a PONG
	uint64_t measured_us; // the last PING of liveness
	uint64_t unheard_us;  // the first message sent since heard_us; 0: none
	uint32_t rtt_us;      // smoothed; 0: unknown
	uint32_t pings;       // whose answer counts in `loss`
	float loss;
};

struct tapi_address { // one HELO of a peer
	struct tapi_address *next;
	struct tapi_carrier *carrier;
	struct tapi_path *path; // open to it, or NULL
	uint8_t hash[TAPI_ADDRESS_HASH_BYTES];
	uint8_t family; // of IP: 4, 6; 0: neither
	uint64_t seq;
	uint64_t expires_us;        // monotonic
	uint64_t valid_until_us;    // monotonic; 0: not validated
	uint64_t revalidate_us;     // when half of that is over
	uint64_t validated_wall_us; // last; for the file of known peers
	uint64_t next_ping_us;      // not before: back-off
	uint16_t failures;
	bool proven;  // a PONG came from here once
	bool vouched; // the program, or the file of known peers, gave it: nobody out there did
	bool trigger; // a HELO came: one PING is due (TA8)
	bool suspect;
	uint32_t mtu; // as the HELO says
	uint32_t rtt_us, pings;
	float loss;
	uint16_t helo_size;
	uint8_t helo[]; // as signed
};

// Of a HELO. PEER: who brought it is validated.
enum tapi_origin { TAPI_FROM_STRANGER, TAPI_FROM_PEER, TAPI_FROM_PROGRAM, TAPI_FROM_FILE };

struct tapi_choice { // how to reach a peer: an address (path NULL: not open), or a path alone
	struct tapi_address *address;
	struct tapi_path *path;
};

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
TAILQ_HEAD(tapi_peer_list, tapi_peer);

struct tapi_receiver {
	void (*receive)(void *context, const struct tapi_incoming *incoming);
	void *context;
};

struct tapi_denied { // by tapi_core_deny_peer
	struct tapi_peer_id id;
	uint64_t until_us;
	UT_hash_handle hh;
};

struct tapi_quota { // by tapi_core_quota: it outlives the peer
	struct tapi_peer_id id;
	uint64_t in_rate, out_rate;
	UT_hash_handle hh;
};

struct tapi_own_helo {
	uint16_t protocol, size;
	uint8_t octets[TAPI_HELO_BYTES_MAX];
};

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

// core.c
uint64_t tapi_core_now(const struct tapi_core *core);
uint64_t tapi_core_wall(const struct tapi_core *core);
uint32_t tapi_core_random_below(struct tapi_core *core, uint32_t below);
void tapi_core_random(struct tapi_core *core, void *octets, size_t length);
uint32_t tapi_core_crc(const uint8_t *octets, uint32_t length);
void tapi_core_log(struct tapi_core *core, int priority, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void tapi_carrier_touch(struct tapi_carrier *carrier); // it wants a turn now
struct tapi_carrier *tapi_core_carrier(struct tapi_core *core, uint16_t protocol); // that runs
bool tapi_core_denied(struct tapi_core *core, const struct tapi_peer_id *peer);
// Signatures and answers cost time that a flood of strangers must not take from those who are
// known: the last half of a bucket is for these.
static inline uint64_t tapi_core_share(const struct tapi_bucket *bucket, bool known)
{
	return known ? 1 : bucket->burst / 2 + 1;
}
static inline bool tapi_core_may(struct tapi_bucket *bucket, bool known, uint64_t now_us)
{
	return tapi_bucket_when(bucket, tapi_core_share(bucket, known), now_us) <= now_us &&
	       tapi_bucket_take(bucket, 1, now_us);
}

// transportapi/core/limits.c
void tapi_quota_again(struct tapi_peer *peer); // what was set for it before it was evicted
void tapi_quotas_free(struct tapi_core *core);
void tapi_core_descriptors(struct tapi_core *core); // at the start, after a reload

// transportapi/core/timer.c: peers by their next wish.
bool tapi_timer_reserve(struct tapi_core *core, uint32_t timers); // room, once per peer
void tapi_timer_at(struct tapi_core *core, struct tapi_timer *timer, uint64_t due_us);
void tapi_timer_sooner(struct tapi_core *core, struct tapi_timer *timer, uint64_t due_us);
void tapi_timer_end(struct tapi_core *core, struct tapi_timer *timer);
struct tapi_timer *tapi_timer_due(struct tapi_core *core, uint64_t now_us);
uint64_t tapi_timer_next(const struct tapi_core *core);
void tapi_core_wish(struct tapi_core *core, uint64_t at_us); // the event, if it is armed later

// peer.c
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

// transportapi/core/helo.c
// announce: peers are reported in the course of a minute.
void tapi_core_make_helos(struct tapi_core *core, uint64_t now_us, bool announce);
enum tapi_result tapi_core_take_helo(struct tapi_core *core, const struct tapi_helo *helo,
	const uint8_t *octets, size_t length, enum tapi_origin origin);
bool tapi_address_helo(const struct tapi_address *address, struct tapi_helo *out);
void tapi_address_end(struct tapi_peer *peer, struct tapi_address *address);
void tapi_addresses_limit(struct tapi_peer *peer); // helos_per_peer, after a reload
void tapi_peer_queue_helo(
	struct tapi_peer *peer, const uint8_t *octets, uint32_t size, uint64_t now_us);
void tapi_peer_send_helos(struct tapi_peer *peer, bool gossip, uint64_t now_us);

// path.c
struct tapi_path *tapi_path_open(struct tapi_peer *peer, struct tapi_address *address);
struct tapi_path *tapi_path_inbound(
	struct tapi_peer *peer, struct tapi_carrier *carrier, struct tapi_session *session);
bool tapi_path_hold(struct tapi_path *path);    // a reference, to send messages on it
void tapi_path_release(struct tapi_path *path); // all of ours
// For messages to a peer: what both sides can.
uint32_t tapi_path_mtu(const struct tapi_carrier *carrier, uint32_t helo_mtu);
void tapi_path_end(struct tapi_path *path); // and the record
enum tapi_result tapi_path_send(struct tapi_path *path, const uint8_t *payload, uint32_t size,
	bool is_encrypted, uint32_t crc);
void tapi_path_failed(struct tapi_path *path, uint64_t now_us);
void tapi_core_session_down(void *carrier, struct tapi_session *session, enum tapi_down why);
static inline bool tapi_path_valid(const struct tapi_path *path, uint64_t now_us)
{
	return path->session != NULL && !path->broken && path->valid_until_us > now_us;
}
static inline bool tapi_address_valid(const struct tapi_address *address, uint64_t now_us)
{
	return address->valid_until_us > now_us && address->carrier->running;
}

// validate.c
void tapi_probe_start(struct tapi_path *path, bool liveness, uint64_t now_us);
void tapi_probe_again(struct tapi_probe *probe, uint64_t now_us);
void tapi_probe_end(struct tapi_probe *probe);
// PINGs that are due; the next wish.
uint64_t tapi_peer_validate(struct tapi_peer *peer, uint64_t now_us);
void tapi_core_take_ping(struct tapi_core *core, struct tapi_carrier *carrier,
	const struct tapi_message_pack *pack, bool validated, const uint8_t *message,
	uint32_t size);
void tapi_line_leave(struct tapi_peer *peer); // it asks for no PING any more
void tapi_line_clear(struct tapi_core *core);
void tapi_core_take_pong(struct tapi_core *core, const uint8_t *message, uint32_t size);
void tapi_path_trigger(struct tapi_path *path); // what came in asks for a PING (TA8)
uint64_t tapi_backoff(struct tapi_core *core, unsigned failures);

// liveness.c
uint64_t tapi_path_watch(struct tapi_path *path, uint64_t now_us);
void tapi_path_sample(struct tapi_path *path, bool answered, uint64_t rtt_us);

// select.c
void tapi_peer_select(struct tapi_peer *peer, uint64_t now_us);
void tapi_peer_lose(struct tapi_peer *peer, const char *why); // tells the application
bool tapi_peer_best(struct tapi_peer *peer, uint32_t size, uint64_t now_us, struct tapi_choice *out,
	char *reason, size_t room);

// transportapi/core/send.c
uint64_t tapi_peer_flush(struct tapi_peer *peer, uint64_t now_us); // next wish

// transportapi/core/receive.c
void tapi_core_take(void *carrier, const struct tapi_message_pack *pack);

// transportapi/core/introduce.c
void tapi_introduce_ask(struct tapi_peer *peer, uint64_t now_us); // a PING went to its NAT
void tapi_core_take_introduce(struct tapi_core *core, struct tapi_peer *from, bool validated,
	const uint8_t *message, uint32_t size);

// transportapi/core/observed.c
void tapi_observed_vote(struct tapi_carrier *carrier, const struct tapi_peer_id *peer,
	const struct tapi_source *source, uint64_t now_us);

// transportapi/core/store.c
void tapi_core_load_peers(struct tapi_core *core);
void tapi_core_store_peers(struct tapi_core *core);
void tapi_core_store_soon(struct tapi_core *core); // what must not be lost with the program

#endif
