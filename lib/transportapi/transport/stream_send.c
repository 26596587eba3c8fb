// SPDX-License-Identifier: BSD-3-Clause
// Queues frames of a stream session and writes them to its socket.
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "transportapi/transport/stream_session.h"

#define FOLLOWS_US 100

void tapi_stream_out_free(struct tapi_stream *stream)
{
	free(stream->out);
	stream->out = NULL;
	stream->out_at = stream->out_length = stream->out_room = 0;
	tapi_stream_account(stream);
}

bool tapi_stream_out_append(struct tapi_stream *stream, const void *octets, size_t length)
{
	const size_t wanted = stream->out_length + length;

	if (wanted > stream->out_room) {
		uint8_t *grown = realloc(stream->out, wanted);

		if (!grown)
			return false;
		stream->out = grown;
		stream->out_room = wanted;
		tapi_stream_account(stream);
	}
	if (length)
		memcpy(stream->out + stream->out_length, octets, length);
	stream->out_length = wanted;
	return true;
}

void tapi_stream_welcome(struct tapi_streams *streams, uint8_t out[TAPI_WELCOME_BYTES])
{
	uint8_t nonce[TAPI_WELCOME_NONCE_BYTES];

	streams->core->random(streams->core->core, nonce, sizeof(nonce));
	tapi_welcome_encode(out, streams->core->my_identity, nonce);
}

// The socket refused for good. What came before is read first, and the reader finds the end.
static void broken(struct tapi_stream *stream)
{
	stream->broken = true;
	event_active(&stream->readable, EV_READ, 0);
}

static void blocked(struct tapi_stream *stream, bool is)
{
	if (stream->blocked == is)
		return;
	stream->blocked = is;
	if (!is)
		event_del(&stream->writable);
	else if (event_add(&stream->writable, NULL))
		broken(stream); // nobody would send the remainder
}

// What the socket took of `out` is gone from it.
static void out_took(struct tapi_stream *stream, size_t n)
{
	stream->out_at += n;
	if (stream->out_at == stream->out_length)
		tapi_stream_out_free(stream);
}

static bool is_passing(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOBUFS || error == ENOMEM;
}

void tapi_stream_flush(struct tapi_stream *stream)
{
	if (stream->out) {
		const ssize_t n = send(stream->fd, stream->out + stream->out_at,
			stream->out_length - stream->out_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			out_took(stream, (size_t)n);
		else if (!is_passing(errno))
			broken(stream);
	}
	blocked(stream, stream->out && !stream->broken);
	if (stream->lingering && !stream->out)
		shutdown(stream->fd, SHUT_WR); // the end follows from reading
}

// Before the connection stands: messages of one mtu are kept. The head counts for a message that is
// shorter, so that their number is bounded, too.
static enum tapi_result keep(struct tapi_stream *stream, const uint8_t head[TAPI_FRAME_HEAD_BYTES],
	const void *message, uint32_t size)
{
	struct tapi_streams *streams = stream->of;
	const uint32_t counted = size > TAPI_FRAME_HEAD_BYTES ? size : TAPI_FRAME_HEAD_BYTES;
	const size_t before = stream->out_length;

	if (stream->kept + counted > streams->api.mtu) {
		tapi_stream_drop(stream, &streams->stats.dropped_block);
		return TAPI_DROPPED;
	}
	if (!tapi_stream_out_append(stream, head, TAPI_FRAME_HEAD_BYTES) ||
		!tapi_stream_out_append(stream, message, size)) {
		stream->out_length = before;
		tapi_stream_drop(stream, &streams->stats.dropped_error);
		return TAPI_DROPPED;
	}
	stream->kept += counted;
	return TAPI_OK;
}

// The socket took `n` octets of what lay ahead, and of the frame after it: WELCOME (the first
// time), head, message. true: the frame has begun, and what it lacks is kept.
static bool keep_remainder(
	struct tapi_stream *stream, const struct iovec *frame, unsigned parts, size_t n)
{
	const size_t ahead = stream->out_length - stream->out_at;

	if (n < ahead || !n) {
		out_took(stream, n);
		blocked(stream, true);
		return false;
	}
	if (stream->out)
		tapi_stream_out_free(stream);
	n -= ahead;
	if (!n) {
		blocked(stream, true);
		return false;
	}
	stream->welcomed = true;
	for (unsigned i = 0; i < parts; i++) {
		const size_t gone = n < frame[i].iov_len ? n : frame[i].iov_len;

		n -= gone;
		if (!tapi_stream_out_append(stream, (const uint8_t *)frame[i].iov_base + gone,
			    frame[i].iov_len - gone)) {
			// half a frame is out: the stream can only end
			shutdown(stream->fd, SHUT_RDWR);
			broken(stream);
			return true;
		}
	}
	blocked(stream, stream->out != NULL);
	return true;
}

void tapi_stream_unhold(struct tapi_stream *stream)
{
	if (!stream->is_held)
		return;
	stream->is_held = false;
	TAILQ_REMOVE(&stream->of->held, stream, held);
}

void tapi_streams_release(int none, short what, void *context)
{
	struct tapi_streams *streams = context;
	struct tapi_stream *stream;

	(void)none;
	(void)what;
	while ((stream = TAILQ_FIRST(&streams->held))) {
		tapi_stream_unhold(stream);
		streams->release(stream->fd);
	}
}

// A question or an answer never waits: something was heard since the last one went, on any session,
// or that is long ago. What comes right behind another goes with what follows, a turn of the loop
// later at most.
static int held_back(struct tapi_stream *stream)
{
	struct tapi_streams *streams = stream->of;
	const uint64_t heard = streams->stats.received_msgs;
	const bool follows = stream->heard == heard;

	stream->heard = heard;
	if (!streams->release || !follows ||
		tapi_stream_now(streams) - stream->link.last_sent_us >= FOLLOWS_US)
		return 0;
	if (!stream->asked) {
		stream->asked = true;
		stream->may_hold = streams->may_hold(stream->fd);
	}
	if (!stream->may_hold)
		return 0;
	if (!stream->is_held) {
		if (TAILQ_EMPTY(&streams->held))
			event_active(&streams->releasing, EV_TIMEOUT, 0);
		stream->is_held = true;
		TAILQ_INSERT_TAIL(&streams->held, stream, held);
	}
	return MSG_MORE;
}

static enum tapi_result write_frame(struct tapi_stream *stream, uint8_t head[TAPI_FRAME_HEAD_BYTES],
	const void *message, uint32_t size)
{
	struct tapi_streams *streams = stream->of;
	uint8_t welcome[TAPI_WELCOME_BYTES];
	const unsigned ahead = stream->out != NULL;
	struct iovec parts[4];
	struct msghdr header = {.msg_iov = parts};
	unsigned n_parts = 0;
	size_t total = 0;
	ssize_t n;

	if (ahead)
		parts[n_parts++] = (struct iovec){
			stream->out + stream->out_at, stream->out_length - stream->out_at};
	if (!stream->welcomed) {
		tapi_stream_welcome(streams, welcome);
		parts[n_parts++] = (struct iovec){welcome, sizeof(welcome)};
	}
	parts[n_parts++] = (struct iovec){head, TAPI_FRAME_HEAD_BYTES};
	parts[n_parts++] = (struct iovec){(void *)(uintptr_t)message, size};
	for (unsigned i = 0; i < n_parts; i++)
		total += parts[i].iov_len;
	header.msg_iovlen = n_parts;
	n = sendmsg(stream->fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT | held_back(stream));
	if (n == (ssize_t)total) {
		stream->welcomed = true;
		if (ahead) {
			tapi_stream_out_free(stream);
			blocked(stream, false);
		}
	} else if (n < 0 && !is_passing(errno)) {
		broken(stream);
		tapi_stream_drop(stream, &streams->stats.dropped_down);
		return TAPI_EDOWN;
	} else if (n < 0 && (errno == ENOBUFS || errno == ENOMEM)) {
		tapi_stream_drop(stream, &streams->stats.dropped_error);
		return TAPI_DROPPED;
	} else if (!keep_remainder(stream, parts + ahead, n_parts - ahead, n < 0 ? 0 : (size_t)n)) {
		tapi_stream_drop(stream, &streams->stats.dropped_block);
		return TAPI_DROPPED;
	}
	tapi_links_sent(&streams->links, &stream->link, size, tapi_stream_now(streams));
	return TAPI_OK;
}

enum tapi_result tapi_stream_send(struct tapi_transport_api *self, struct tapi_session *session,
	const void *message, uint32_t size, bool is_encrypted, uint32_t crc)
{
	struct tapi_stream *stream = tapi_stream_of(session);
	struct tapi_streams *streams = stream->of;
	uint8_t head[TAPI_FRAME_HEAD_BYTES];
	enum tapi_result result;

	(void)self;
	if (size > streams->api.mtu) {
		tapi_stream_drop(stream, &streams->stats.dropped_too_big);
		return TAPI_ETOOBIG;
	}
	if (!streams->running || !stream->link.linked || stream->broken) {
		tapi_stream_drop(stream, &streams->stats.dropped_down);
		return TAPI_EDOWN;
	}
	if (streams->rate.rate_per_s &&
		!tapi_bucket_take(&streams->rate, size, tapi_stream_now(streams))) {
		tapi_stream_drop(stream, &streams->stats.dropped_rate);
		return TAPI_DROPPED;
	}
	tapi_frame_encode(head, size, is_encrypted, crc);
	result = stream->link.up ? write_frame(stream, head, message, size)
				 : keep(stream, head, message, size);
	if (stream->out)
		tapi_budget_fit(streams->core->budget);
	return result;
}

uint32_t tapi_stream_estimate(struct tapi_transport_api *self, const struct tapi_session *session)
{
	const struct tapi_stream *stream = tapi_stream_of(session);

	if (!stream->link.linked || stream->broken)
		return 0;
	if (!stream->link.up)
		return self->mtu - stream->kept;
	return stream->blocked ? 0 : self->mtu;
}
