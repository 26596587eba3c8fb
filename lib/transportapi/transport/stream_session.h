// SPDX-License-Identifier: BSD-3-Clause
// One session of stream.h, as stream.c (life, reading) and stream_send.c see it.
#ifndef TRANSPORTAPI_STREAM_SESSION_H
#define TRANSPORTAPI_STREAM_SESSION_H

#include "transportapi/transport/stream.h"

struct tapi_stream {
	struct tapi_link link; // first
	struct tapi_streams *of;
	int fd;
	struct event readable, writable;
	bool reported;  // the core knows the session
	bool welcomed;  // our WELCOME is out, or begins `out`
	bool blocked;   // the socket took less than it was given; writable tells when it can more
	bool broken;    // the socket failed; reading tells the rest
	bool lingering; // no session any more
	bool cut;       // it ends because the budget of memory is full
	uint64_t linger_until_us;
	uint32_t lingered; // octets thrown away
	uint32_t kept;     // what is counted for messages in `out` while connecting
	uint8_t *out;      // heap: a remainder, or WELCOME and frames before the connection stands
	size_t out_at, out_length, out_room;
	struct tapi_frame_reader reader;
	TAILQ_ENTRY(tapi_stream) linger;
	bool asked, may_hold; // streams->may_hold()
	uint64_t heard;       // messages received by the transport when the last one was sent
	uint64_t bytes;       // of memory, as told to the budget
	struct tapi_memory_user holder;
	bool is_held; // the system keeps octets back, till streams->releasing
	TAILQ_ENTRY(tapi_stream) held;
};

static inline uint64_t tapi_stream_now(const struct tapi_streams *streams)
{
	return streams->core->now_us(streams->core->core);
}

static inline struct tapi_stream *tapi_stream_of(const struct tapi_session *session)
{
	return session->internal;
}

static inline void tapi_stream_drop(struct tapi_stream *stream, uint64_t *counter)
{
	stream->link.dropped_msgs++;
	++*counter;
}

void tapi_stream_out_free(struct tapi_stream *stream);
// What it holds now goes into the budget. Where that is more than all may hold, tapi_budget_fit()
// follows, when nothing of the stream is in hand: this one may be the one that ends.
void tapi_stream_account(struct tapi_stream *stream);
void tapi_stream_unhold(struct tapi_stream *stream);            // before it is closed
void tapi_streams_release(int none, short what, void *streams); // of `releasing`
bool tapi_stream_out_append(struct tapi_stream *stream, const void *octets, size_t length);
void tapi_stream_welcome(struct tapi_streams *streams, uint8_t out[TAPI_WELCOME_BYTES]);
// Sends what it can of `out`; the rest follows when the socket is writable.
void tapi_stream_flush(struct tapi_stream *stream);

#endif
