// SPDX-License-Identifier: BSD-3-Clause
// Sessions over connected stream sockets: what a transport of streams needs besides its addresses
// and listeners (tcp). Frames are those of frame.h, the table that of sessions.h.
//
// Sending: one system call per message, at once. A frame that the socket took in part keeps its
// remainder, which goes out before anything else; messages that come meanwhile are dropped and
// counted, so that the stream is whole frames, always (TA10). What is sent while a connect is under
// way is kept, up to one mtu. Each end says WELCOME before its first message and once (TA11): who
// connects when the connection stands, who accepts when it first answers.
//
// Reading: a bounded number of octets per event, so that one session does not starve the others.
//
// Ending: session_down() tells of a session that the core has seen. A socket that still stands is
// closed in order: the remainder, FIN, and what comes in is thrown away until the other end closes,
// too, or LINGER has passed; so nothing in flight is reset (TA14).
#ifndef TRANSPORTAPI_STREAM_H
#define TRANSPORTAPI_STREAM_H

#include <event2/event_struct.h>

#include "transportapi/frame.h"
#include "transportapi/limit.h"
#include "transportapi/sessions.h"

struct tapi_stream;
TAILQ_HEAD(tapi_stream_list, tapi_stream);

struct tapi_streams { // of one transport; embedded there
	const struct tapi_core_api *core;
	const struct tapi_transport_api *api;
	struct tapi_transport_stats stats;
	struct tapi_links links;
	struct tapi_bucket rate; // of what is sent
	struct event wake;       // ends that are due and may not be told yet
	struct tapi_stream *reading;
	struct tapi_stream_list lingering;
	unsigned n_lingering;
	uint64_t last_number; // of a session: its key
	uint8_t *buffer;      // of the session that is read
	bool running;
};

// core->base is needed. TAPI_ENOMEM leaves nothing behind.
enum tapi_result tapi_streams_init(struct tapi_streams *streams, const struct tapi_core_api *core,
	const struct tapi_transport_api *api, const struct tapi_link_limits *limits,
	uint64_t rate_bytes_s);
void tapi_streams_done(struct tapi_streams *streams); // after stop
void tapi_streams_limit(struct tapi_streams *streams, const struct tapi_link_limits *limits,
	uint64_t rate_bytes_s); // a reload
// Ends all sessions, at once and by session_down().
void tapi_streams_stop(struct tapi_streams *streams);

// Takes `fd`, also when it fails: non-blocking and connected, or connecting (inbound false). What a
// session of ours lacks is told by session_down() later, never here.
enum tapi_result tapi_stream_add(struct tapi_streams *streams, int fd, bool inbound,
	const struct tapi_source *source, struct tapi_session **out);
// The connect failed at once: the end is told from the loop.
void tapi_stream_refused(struct tapi_streams *streams, struct tapi_session *session);
// Ends those that `allowed` does not want, told from the loop.
void tapi_streams_deny(struct tapi_streams *streams,
	bool (*allowed)(void *context, const struct tapi_link *link), void *context);

// Methods of the transport.
enum tapi_result tapi_stream_send(struct tapi_streams *streams, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc);
enum tapi_result tapi_stream_associate(struct tapi_streams *streams, struct tapi_session *session);
enum tapi_result tapi_stream_disconnect(struct tapi_streams *streams, struct tapi_session *session);
uint32_t tapi_stream_estimate(
	const struct tapi_streams *streams, const struct tapi_session *session);

#endif
