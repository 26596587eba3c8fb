// SPDX-License-Identifier: BSD-3-Clause
// The sessions of one transport: found by the address of the other end, counted (TA13), timed out,
// limited. A transport embeds struct tapi_link as the first member of its own.
//
// NEW -> connecting (connect_timeout) -> up -> dead. connect: one reference; came in: none, and
// stale after `stale_us` without traffic; associate one more; disconnect one less: at 0, a session
// that we opened ends, one that came in gets stale. A session with references never gets stale
// here: the core watches it.
//
// How a link ends, each exactly once: put() says true and the transport frees it; remove(), and
// the transport frees it; or `end` is called, from turn() and end_all() alone, where the core may
// be reported, and frees it. What is evicted, or fail()s, is no longer `linked`, waits for turn(),
// and may be sent nothing until then: TAPI_EDOWN.
#ifndef TRANSPORTAPI_SESSIONS_H
#define TRANSPORTAPI_SESSIONS_H

#include <sys/queue.h>

#include "transportapi/base/budget.h"
#include "transportapi/base/conf.h"
#include "transportapi/base/table.h"
#include "transportapi/base/transport.h"

#define TAPI_LINK_KEY_BYTES 120 // a number and the path of a sockaddr_un fit

struct tapi_link {
	struct tapi_session session; // internal points at the link
	unsigned references;
	bool inbound, up;
	bool linked; // in the table; false: nothing is sent or received on it any more
	bool ending; // waits for its end()
	enum tapi_down why;
	uint8_t key[TAPI_LINK_KEY_BYTES]; // the other end's address, or a number of the transport;
					  // of several with one key, find gives any
	uint32_t key_length;
	struct tapi_source source; // family 0: no limit per source
	uint64_t opened_us, last_received_us, last_sent_us;
	uint64_t used_us; // since when nobody used it, where references == 0
	uint64_t sent_msgs, sent_bytes, received_msgs, received_bytes, dropped_msgs;
	struct tapi_source_count *of_source; // where inbound
	UT_hash_handle by_key;
	TAILQ_ENTRY(tapi_link) idle;    // references == 0: oldest use first; or ending
	TAILQ_ENTRY(tapi_link) sibling; // references == 0, inbound: the same, of one source
	TAILQ_ENTRY(tapi_link) opening; // !up: oldest first
};
TAILQ_HEAD(tapi_link_list, tapi_link);

struct tapi_link_limits {
	uint32_t sessions;            // max_sessions
	uint32_t sessions_per_source; // max_per_source: that came in, per /32 or /64
	uint32_t half_open;           // max_half_open
	uint64_t stale_us;            // stale_s
	uint64_t connect_us;          // connect_timeout_s
};

// Rows for the table of keys of a transport that has sessions. All of them; LOCAL: where the medium
// has no addresses of the Internet (tapi_source.family 0), and none to count by; or one by one: no
// key for what a transport never has (udp connects nothing, with raw-ip nobody comes in).
#define TAPI_LINK_KEY_SESSIONS                                                 \
	{                                                                      \
		"max_sessions", TAPI_CONF_UINT, 1, 1u << 20, 4096, NULL, true, \
			"sessions at a time"                                   \
	}
#define TAPI_LINK_KEY_STALE                                                                    \
	{                                                                                      \
		"stale_s", TAPI_CONF_UINT, 1, 86400, 60, NULL, true,                           \
			"a session that came in and that nobody holds ends after this silence" \
	}
#define TAPI_LINK_KEY_SOURCE                                                      \
	{                                                                         \
		"max_per_source", TAPI_CONF_UINT, 1, 1u << 20, 16, NULL, true,    \
			"sessions that came in from one IPv4 address or IPv6 /64" \
	}
#define TAPI_LINK_KEYS_LOCAL                                                    \
	TAPI_LINK_KEY_SESSIONS,                                                 \
		{"max_half_open", TAPI_CONF_UINT, 1, 1u << 20, 256, NULL, true, \
			"sessions that do not stand yet"},                      \
		TAPI_LINK_KEY_STALE,                                            \
	{                                                                       \
		"connect_timeout_s", TAPI_CONF_UINT, 1, 3600, 10, NULL, true,   \
			"a session that does not stand after this ends"         \
	}
#define TAPI_LINK_KEYS TAPI_LINK_KEYS_LOCAL, TAPI_LINK_KEY_SOURCE

struct tapi_links {
	struct tapi_link_limits limits; // a reload writes others here
	struct tapi_transport_stats *stats;
	const struct tapi_budget *budget; // of descriptors, where each link has one; NULL: none
	struct tapi_link *by_key;
	struct tapi_source_count *by_source;
	struct tapi_link_list idle, opening, ending;
	uint32_t count, n_opening;
	// Close, tell the core by session_down(), free. The link has left the table.
	void (*end)(void *context, struct tapi_link *link, enum tapi_down why);
	void *context;
};

// From `section`, after tapi_conf_check() with `keys`. No key: no limit.
TAPI_EXPORT struct tapi_link_limits tapi_link_limits_read(
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys);

TAPI_EXPORT void tapi_links_init(struct tapi_links *links, const struct tapi_link_limits *limits,
	struct tapi_transport_stats *stats,
	void (*end)(void *context, struct tapi_link *link, enum tapi_down why), void *context);
TAPI_EXPORT struct tapi_link *tapi_links_find(
	struct tapi_links *links, const void *key, size_t length);
// The caller has filled in key, key_length, source, inbound, up and session.protocol; all else is
// zero. Sets internal and the first reference of a session that we open. Where a limit is reached,
// the least recently used session without references goes (of the source, of those that do not
// stand, of all); if there is none: TAPI_ELIMIT, counted, and the link stays the caller's.
TAPI_EXPORT enum tapi_result tapi_links_add(
	struct tapi_links *links, struct tapi_link *link, uint64_t now_us);
TAPI_EXPORT void tapi_links_up(struct tapi_links *links, struct tapi_link *link, uint64_t now_us);
// A message on the link: counted in both. (One that is dropped: the caller adds to dropped_msgs and
// to the counter of stats that says why.)
TAPI_EXPORT void tapi_links_sent(
	struct tapi_links *links, struct tapi_link *link, uint32_t bytes, uint64_t now_us);
TAPI_EXPORT void tapi_links_received(
	struct tapi_links *links, struct tapi_link *link, uint32_t bytes, uint64_t now_us);
TAPI_EXPORT void tapi_links_get(struct tapi_links *links, struct tapi_link *link); // associate
// disconnect. true: the caller ends and frees it now, without session_down (it is in no list);
// false: it lives, gets stale, or its end() is still to come.
TAPI_EXPORT bool tapi_links_put(struct tapi_links *links, struct tapi_link *link, uint64_t now_us);
// Takes it out, and no end() comes.
TAPI_EXPORT void tapi_links_remove(struct tapi_links *links, struct tapi_link *link);
// Takes it out; end() comes with the next turn(), which is due at once.
TAPI_EXPORT void tapi_links_fail(
	struct tapi_links *links, struct tapi_link *link, enum tapi_down why);
// Time-outs, and what waits for its end. Returns the next wish.
TAPI_EXPORT uint64_t tapi_links_turn(struct tapi_links *links, uint64_t now_us);
// Ends each that `keep` does not want; NULL: all of them. end_all: now (stop_server); fail_all:
// with the next turn (reload_configuration).
TAPI_EXPORT void tapi_links_end_all(struct tapi_links *links, enum tapi_down why,
	bool (*keep)(void *context, const struct tapi_link *link));
TAPI_EXPORT void tapi_links_fail_all(struct tapi_links *links, enum tapi_down why,
	bool (*keep)(void *context, const struct tapi_link *link));
// All but `remote`.
TAPI_EXPORT void tapi_links_info(const struct tapi_link *link, struct tapi_session_info *out);

#endif
