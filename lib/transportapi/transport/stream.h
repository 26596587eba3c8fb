// SPDX-License-Identifier: BSD-3-Clause
// Sessions over connected stream sockets: what a transport of streams needs besides its addresses
// and listeners (tcp, unix; who listens: accept.h). Frames are those of frame.h, the table that of
// sessions.h.
//
// Sending: one system call per message, at once. A frame that the socket took in part keeps its
// remainder, which goes out before anything else; messages that come meanwhile are dropped and
// counted, so that the stream is whole frames, always (TA10). What is sent while a connect is under
// way is kept, up to one mtu. Each end says WELCOME before its first message and once (TA11): who
// connects when the connection stands, who accepts when it first answers.
//
// Who is let in is not `up` until his WELCOME is there: max_half_open and connect_timeout_s.
//
// Reading: a bounded number of octets per event, so that one session does not starve the others.
//
// Memory: half frames, either way, are part of the core's budget (budget.h). Where that is full,
// the session that holds most of all ends, whoever it is; one that nobody uses (no references)
// counts for four times what it holds, so that strangers go first.
//
// Ending: session_down() tells of a session that the core has seen. A socket that still stands is
// closed in order: the remainder, FIN, and what comes in is thrown away until the other end closes,
// too, or LINGER has passed; so nothing in flight is reset (TA14).
#ifndef TRANSPORTAPI_STREAM_H
#define TRANSPORTAPI_STREAM_H

#include <event2/event_struct.h>
#include <sys/socket.h>

#include "transportapi/base/budget.h"
#include "transportapi/proto/frame.h"
#include "transportapi/base/memory_accounting.h"
#include "transportapi/base/limit.h"
#include "transportapi/transport/sessions.h"

struct tapi_stream;
TAILQ_HEAD(tapi_stream_list, tapi_stream);

// A row for the table of keys: what tapi_streams_limit() is given.
#define TAPI_STREAM_RATE_KEY                                                                     \
	{                                                                                        \
		"rate_bytes_s", TAPI_CONF_UINT, 0, 1000000000000, 0, NULL, true,                 \
			"octets of messages sent per second, a tenth of it at once; 0: no limit" \
	}

struct tapi_streams {                  // of one transport, which begins with it
	struct tapi_transport_api api; // first, so that `self` is the instance
	const struct tapi_core_api *core;
	struct tapi_transport_stats stats;
	struct tapi_links links;
	struct tapi_bucket rate; // of what is sent
	struct event wake;       // ends that are due and may not be reported yet
	// Messages that follow one another with nothing heard between go on together: MSG_MORE
	// holds them, and this sends what is held, in the loop's next turn. NULL: the medium has no
	// such thing.
	void (*release)(int fd);
	bool (*may_hold)(int fd); // asked once per session
	struct event releasing;
	struct tapi_stream_list held;
	uint64_t wake_us; // when, if it waits for a time
	struct tapi_stream *reading;
	struct tapi_stream_list lingering;
	unsigned n_lingering;
	uint64_t last_number; // of a session: its key
	uint8_t *buffer;      // of the session that is read
	bool running;         // the transport sets it when it has started
	uint64_t complained_us;
	struct tapi_budget_share share; // sessions by the memory that they count for
	uint32_t wanted;                // descriptors, as told to the budget
};

// core->base is needed. TAPI_ENOMEM leaves nothing behind. `api`: the table, which is copied; that
// of the instance is streams->api. rate_bytes_s 0: no limit.
enum tapi_result tapi_streams_init(struct tapi_streams *streams, const struct tapi_core_api *core,
	const struct tapi_transport_api *api, const struct tapi_link_limits *limits,
	uint64_t rate_bytes_s);
void tapi_streams_done(struct tapi_streams *streams); // after stop
void tapi_streams_limit(struct tapi_streams *streams, const struct tapi_link_limits *limits,
	uint64_t rate_bytes_s); // a reload
// No longer running; ends all sessions, at once and by session_down().
void tapi_streams_stop(struct tapi_streams *streams);

// A socket to connect with: non-blocking. -1: there is none, which is logged, once a minute.
int tapi_stream_socket(struct tapi_streams *streams, int family);
// A session of ours. Takes `fd`, also when it fails. Who refuses is told by session_down() later,
// never here. `source` of family 0: the medium has no addresses of the Internet. What lies in its
// link's key behind key_length is zero, and the transport's.
enum tapi_result tapi_stream_connect(struct tapi_streams *streams, int fd,
	const struct sockaddr *address, socklen_t length, const struct tapi_source *source,
	struct tapi_session **out);
// A session that came in on `fd`, which is non-blocking, and taken also when it fails: a limit.
// Whom the deny list denies was not let so far.
enum tapi_result tapi_stream_accepted(
	struct tapi_streams *streams, int fd, const struct tapi_source *source);
// For getpeername() and the like; -1: it is closed.
int tapi_stream_fd(const struct tapi_session *session);
// Ends those that `allowed` does not want, told from the loop.
void tapi_streams_deny(struct tapi_streams *streams,
	bool (*allowed)(void *context, const struct tapi_link *link), void *context);

// Methods for the table of the transport, as they are.
enum tapi_result tapi_stream_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc);
enum tapi_result tapi_stream_associate(
	struct tapi_transport_api *self, struct tapi_session *session);
enum tapi_result tapi_stream_disconnect(
	struct tapi_transport_api *self, struct tapi_session *session);
uint64_t tapi_stream_turn(struct tapi_transport_api *self, uint64_t now_us);
uint32_t tapi_stream_estimate(struct tapi_transport_api *self, const struct tapi_session *session);
const struct tapi_transport_stats *tapi_stream_stats(struct tapi_transport_api *self);

#endif
