// SPDX-License-Identifier: BSD-3-Clause
// The core: peers by identity, over whatever transports reach them (the paper, II).
//
// One core has one identity, one libevent loop and a set of transports. Messages to a peer are
// queued, packed below the mtu, and sent over the cheapest transport that is known to reach it;
// they may be lost, doubled and reordered. Nothing but PINGs goes to an address that was not
// validated.
//
// Receivers and watchers may call anything but new, start, stop, free, reload and turn.
//
// Threads: all of it on the thread of the loop. Time: a core that has an event base keeps its own
// timer; one that was given `now_us` and no base is driven by tapi_core_turn().
#ifndef TRANSPORTAPI_CORE_H
#define TRANSPORTAPI_CORE_H

#include "transportapi/base/acl.h"
#include "transportapi/base/conf.h"
#include "transportapi/proto/helo.h"
#include "transportapi/base/transport.h"

#define TAPI_TYPE_USER 64 // types from here on are the application's

struct tapi_core;

// A transport that the program brings itself: it stands before what is built in or on disk.
struct tapi_own_transport {
	const char *name;
	tapi_init_fn *init;
	tapi_done_fn *done;
};

struct tapi_core_options {
	struct event_base *base; // the caller's; outlives the core
	const struct tapi_conf
		*conf; // the caller's; has to live until free or a reload replaced it
	struct tapi_identity *identity; // copied. NULL: the file that core.identity names
	// NULL: the system's. Tests give their own. `context` is their first argument.
	uint64_t (*now_us)(void *context);  // monotonic
	uint64_t (*wall_us)(void *context); // since 1970
	void (*random)(void *context, void *octets, size_t length);
	void (*log)(void *context, int priority, const char *text); // NULL: standard error
	void *context;
	bool own_turns; // the caller calls tapi_core_turn(); no timer is armed
	const struct tapi_own_transport
		*transports; // NULL, or ended by a NULL name; outlive the core
};

// What is wrong is in *error. A transport that cannot be had is logged, and the others run (TA1);
// none at all is TAPI_ECONF.
TAPI_EXPORT enum tapi_result tapi_core_new(
	struct tapi_core **out, const struct tapi_core_options *options, struct tapi_error *error);
TAPI_EXPORT enum tapi_result tapi_core_start(struct tapi_core *core, struct tapi_error *error);
TAPI_EXPORT void tapi_core_stop(struct tapi_core *core); // keeps known peers in their file
TAPI_EXPORT void tapi_core_free(struct tapi_core *core);
// All or nothing: after an error the old configuration is in force.
TAPI_EXPORT enum tapi_result tapi_core_reload(
	struct tapi_core *core, const struct tapi_conf *conf, struct tapi_error *error);
// What is due. Returns when it wants to be called next.
TAPI_EXPORT uint64_t tapi_core_turn(struct tapi_core *core, uint64_t now_us);
TAPI_EXPORT const struct tapi_identity *tapi_core_identity(const struct tapi_core *core);

struct tapi_incoming { // borrowed for the call
	const struct tapi_peer_id *sender;
	uint16_t type;
	const void *body;
	uint32_t length;
	bool is_encrypted;
	uint32_t crc; // where is_encrypted: of the plain text, unchecked
	const char *transport;
	// The sender was found at this address or session, by PING and PONG. It did not sign the
	// message: who forges the source of a datagram, or sits on the way, can speak in its name.
	bool validated;
	// It came sealed by the session with the sender (core.encryption): nobody else wrote it,
	// wherever it came from.
	bool sealed;
};
// One receiver per type, TAPI_TYPE_USER and more; NULL takes it away.
TAPI_EXPORT enum tapi_result tapi_core_receive(struct tapi_core *core, uint16_t type,
	void (*receive)(void *context, const struct tapi_incoming *incoming), void *context);

struct tapi_outgoing {
	uint16_t type;
	const void *body;
	uint32_t length;
	unsigned priority;    // 0 to 3, the highest
	uint64_t deadline_us; // from now; 0: the queue's default
	bool is_encrypted;
	uint32_t crc; // where is_encrypted: of the plain text
};
// TAPI_OK: queued. TAPI_DROPPED: the queue or the quota is full; TAPI_ENOADDR: nothing is known of
// the peer; TAPI_ETOOBIG; TAPI_EACL: the peer is denied, or core.encryption is "require" and it
// does not encrypt.
TAPI_EXPORT enum tapi_result tapi_core_send(struct tapi_core *core, const struct tapi_peer_id *peer,
	const struct tapi_outgoing *outgoing);

// HELOs. add: from a friend or a file; it is checked, and validated when somebody wants to send or
// `core.validate` is eager. Own ones: freshly signed, until `each` returns false.
TAPI_EXPORT enum tapi_result tapi_core_add_helo(
	struct tapi_core *core, const uint8_t *octets, size_t length);
TAPI_EXPORT void tapi_core_own_helos(struct tapi_core *core,
	bool (*each)(void *context, const uint8_t *octets, size_t length), void *context);
// "sluice-helo:" and URL-safe Base64 of the octets, for people to pass on (examples). Octets
// without the NUL; 0: no room (16 KiB are enough), and nothing is written.
TAPI_EXPORT size_t tapi_core_own_helos_text(struct tapi_core *core, char *out, size_t room);
// Addresses that are denied (TAPI_EACL), or of transports that do not run here (TAPI_EADDR), are
// left out, and an error only where no other one is in the text.
TAPI_EXPORT enum tapi_result tapi_core_add_helos_text(
	struct tapi_core *core, const char *text, struct tapi_error *error);

// Peers and how they are reached.
enum tapi_peer_event {
	TAPI_PEER_REACHABLE, // a path is validated
	TAPI_PEER_SWITCHED,  // another path is used
	TAPI_PEER_LOST,      // no path is left, or it is forgotten, denied, or the core stops
};
enum tapi_secure_state {
	TAPI_SECURE_CLEAR,   // what goes to it is not encrypted
	TAPI_SECURE_PENDING, // it has to be, and there are no keys yet: messages wait
	TAPI_SECURE_SEALED,
	TAPI_SECURE_REFUSED, // "require", and the peer does not encrypt: nothing goes or comes
};
struct tapi_peer_info {
	struct tapi_peer_id id;
	char transport[32]; // of the path in use; empty: none
	char address[TAPI_TEXT_BYTES];
	char reason[160];   // why this path: "cheapest of 2 (udp 100, tcp 200)"
	bool inbound;       // a session that the peer opened
	uint32_t mtu, cost; // mtu: what is left for messages, where they are sealed
	uint64_t rtt_us;    // smoothed; 0: unknown
	double loss;
	unsigned addresses, validated, sessions;
	uint32_t queued_msgs;
	uint64_t queued_bytes;
	uint64_t sent_msgs, sent_bytes, received_msgs, received_bytes, dropped_msgs;
	enum tapi_secure_state secure;
	uint64_t in_rate, out_rate; // quota, octets per second; 0: none (TA29)
};
TAPI_EXPORT void tapi_core_watch(struct tapi_core *core,
	void (*event)(void *context, enum tapi_peer_event what, const struct tapi_peer_info *info),
	void *context);
TAPI_EXPORT enum tapi_result tapi_core_peer(
	struct tapi_core *core, const struct tapi_peer_id *peer, struct tapi_peer_info *out);
TAPI_EXPORT void tapi_core_peers(struct tapi_core *core,
	bool (*each)(void *context, const struct tapi_peer_info *info), void *context);
// How a message of `size` octets would go, and why (info->reason); TAPI_ENOADDR: no way yet.
TAPI_EXPORT enum tapi_result tapi_core_best(struct tapi_core *core, const struct tapi_peer_id *peer,
	uint32_t size, struct tapi_peer_info *out);
// Its sessions are closed, its addresses forgotten.
TAPI_EXPORT void tapi_core_forget(struct tapi_core *core, const struct tapi_peer_id *peer);
// until_us (wall clock) 0: for ever.
TAPI_EXPORT enum tapi_result tapi_core_deny_peer(
	struct tapi_core *core, const struct tapi_peer_id *peer, uint64_t until_us);
// Quota of one peer, octets per second; 0: none. At once go those of a second, or one largest mtu.
// What cannot go before its deadline is queued all the same, and expires. The policy engine of a
// gateway calls this (TA29). It stands over a reload, whatever in_rate and out_rate of the
// configuration are, and a time in which the peer is not known (it is kept for 65,536 peers:
// TAPI_ELIMIT); TAPI_QUOTA_CONFIGURED, twice: as the configuration says, again. TAPI_ENOADDR: the
// peer is not known, and has no quota.
#define TAPI_QUOTA_CONFIGURED UINT64_MAX
TAPI_EXPORT enum tapi_result tapi_core_quota(struct tapi_core *core,
	const struct tapi_peer_id *peer, uint64_t in_rate, uint64_t out_rate);
// The address that our peers say we have, if k of n agree (TA28); false: not known.
TAPI_EXPORT bool tapi_core_observed(
	struct tapi_core *core, uint16_t protocol, struct tapi_source *out);
// Counters and peers as JSON text, heap, the caller frees it.
TAPI_EXPORT char *tapi_core_stats_json(struct tapi_core *core, bool with_peers);
// The same of peers, without the rest, in pages: {"peers": [...], "of": N}. What the loop does
// meanwhile stays short: a page of 256 takes some 2 ms, all of ten thousand peers 80 ms.
// A cursor of zeros begins; `done` is true with the last page. Who comes or goes between two pages
// may be in one or not; who stays is there once. At most `most` peers, 256 if it is 0 or more.
struct tapi_stats_cursor {
	uint64_t after;           // the core's
	struct tapi_peer_id last; // likewise
	bool done;
};
TAPI_EXPORT char *tapi_core_stats_peers_json(
	struct tapi_core *core, struct tapi_stats_cursor *cursor, unsigned most);
// A transport of this core, for benches and tests.
TAPI_EXPORT struct tapi_transport_api *tapi_core_transport(
	struct tapi_core *core, const char *name);

#endif
