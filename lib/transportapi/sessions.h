// SPDX-License-Identifier: BSD-3-Clause
// The sessions of one transport: found by the address of the other end, counted (TA13), timed out,
// limited. A transport embeds struct tapi_link as the first member of its own.
//
// NEW -> connecting (connect_timeout) -> up -> dead. connect: one reference; came in: none, and
// stale after `stale_us` without traffic; associate one more; disconnect one less: at 0, a session
// that we opened ends, one that came in gets stale. A session with references never gets stale
// here: the core watches it.
#ifndef TRANSPORTAPI_SESSIONS_H
#define TRANSPORTAPI_SESSIONS_H

#include <sys/queue.h>

#include "transportapi/table.h"
#include "transportapi/transport.h"

#define TAPI_LINK_KEY_BYTES 112 // sockaddr_un fits

struct tapi_link {
	struct tapi_session session; // internal points at the link
	unsigned references;
	bool inbound, up, linked;
	uint8_t key[TAPI_LINK_KEY_BYTES]; // unique: the other end's address, or a number of the
					  // transport
	uint32_t key_length;
	struct tapi_source source; // family 0: no limit per source
	uint64_t opened_us, last_received_us, last_sent_us;
	uint64_t sent_msgs, sent_bytes, received_msgs, received_bytes, dropped_msgs;
	UT_hash_handle by_key;
	TAILQ_ENTRY(tapi_link) idle;    // references == 0: oldest use first
	TAILQ_ENTRY(tapi_link) opening; // !up: oldest first
};
TAILQ_HEAD(tapi_link_list, tapi_link);

struct tapi_link_limits {             // keys of the transport's section of the configuration
	uint32_t sessions;            // max_sessions, 4096
	uint32_t sessions_per_source; // max_per_source, 16, per /32 or /64
	uint32_t half_open;           // max_half_open, 256
	uint64_t stale_us;            // stale_s, 60
	uint64_t connect_us;          // connect_timeout_s, 10
};

struct tapi_links {
	struct tapi_link_limits limits;
	struct tapi_transport_stats *stats;
	struct tapi_link *by_key;
	struct tapi_source_count *by_source;
	struct tapi_link_list idle, opening;
	uint32_t count, n_opening;
	// Ends the link: the transport closes and frees it. Called inside add() (eviction), turn()
	// and end_all(). The link has left the table. It has to tell the core by session_down(),
	// from a place where that is allowed (transport.h): an eviction inside connect() waits for
	// turn().
	void (*end)(void *context, struct tapi_link *link, enum tapi_down why);
	void *context;
};

struct tapi_conf;
// Reads the limits from `section`; TAPI_ECONF with the reason in *error.
struct tapi_error;
TAPI_EXPORT enum tapi_result tapi_link_limits_read(struct tapi_link_limits *out,
	const struct tapi_conf *conf, const char *section, struct tapi_error *error);
TAPI_EXPORT void tapi_links_init(struct tapi_links *links, const struct tapi_link_limits *limits,
	struct tapi_transport_stats *stats,
	void (*end)(void *context, struct tapi_link *link, enum tapi_down why), void *context);
TAPI_EXPORT struct tapi_link *tapi_links_find(
	struct tapi_links *links, const void *key, size_t length);
// Key, key_length, source, inbound and up are filled in by the caller. Where
// the limit is reached, the least recently used session without references goes; if there is none:
// TAPI_ELIMIT, counted.
TAPI_EXPORT enum tapi_result tapi_links_add(
	struct tapi_links *links, struct tapi_link *link, uint64_t now_us);
TAPI_EXPORT void tapi_links_up(struct tapi_links *links, struct tapi_link *link, uint64_t now_us);
TAPI_EXPORT void tapi_links_sent(
	struct tapi_links *links, struct tapi_link *link, uint32_t bytes, uint64_t now_us);
TAPI_EXPORT void tapi_links_received(
	struct tapi_links *links, struct tapi_link *link, uint32_t bytes, uint64_t now_us);
TAPI_EXPORT void tapi_links_get(struct tapi_links *links, struct tapi_link *link); // associate
// true: the caller ends it now (it has left the table); false: it lives, or gets stale.
TAPI_EXPORT bool tapi_links_put(struct tapi_links *links, struct tapi_link *link, uint64_t now_us);
TAPI_EXPORT void tapi_links_remove(struct tapi_links *links, struct tapi_link *link);
TAPI_EXPORT uint64_t tapi_links_turn(struct tapi_links *links, uint64_t now_us); // next wish
// `keep` NULL: all of them.
TAPI_EXPORT void tapi_links_end_all(struct tapi_links *links, enum tapi_down why,
	bool (*keep)(void *context, const struct tapi_link *link));
TAPI_EXPORT void tapi_links_info(const struct tapi_link *link, struct tapi_session_info *out);

#endif
