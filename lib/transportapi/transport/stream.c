// SPDX-License-Identifier: BSD-3-Clause
// Connects, reads and closes stream sessions.
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "transportapi/transport/stream_session.h"
#include "transportapi/base/wire.h"

#define READ_BYTES    65536u
#define EVENT_BYTES   (4 * READ_BYTES) // read of one session before the others' turn
#define EVENT_READS   64u
#define LINGER_US     2000000u
#define LINGERING_MAX 256u
#define LINGER_BYTES  (1u << 20) // thrown away at most, then the other end is reset
#define SINK_BYTES    16384u
#define COMPLAIN_US   60000000u

static void wake(struct tapi_streams *streams)
{
	event_active(&streams->wake, EV_TIMEOUT, 0);
}

static struct timeval timeval_of(uint64_t us)
{
	return (struct timeval){
		.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};
}

static void wake_in(struct tapi_streams *streams, uint64_t wait_us)
{
	const struct timeval wait = timeval_of(wait_us);

	streams->wake_us = tapi_stream_now(streams) + wait_us;
	event_add(&streams->wake, &wait);
}

// The core may wish for no turn; and what is waited for already may be later: a session that gets
// stale in an hour.
static void wake_by(struct tapi_streams *streams, uint64_t wait_us)
{
	if (!event_pending(&streams->wake, EV_TIMEOUT, NULL) ||
		tapi_stream_now(streams) + wait_us < streams->wake_us)
		wake_in(streams, wait_us);
}

// Calls `each` for the messages that were kept before the connection stood.
static void each_kept(
	struct tapi_stream *stream, void (*each)(struct tapi_stream *stream, uint32_t size))
{
	for (size_t at = TAPI_WELCOME_BYTES; at < stream->out_length;) {
		const uint32_t size = tapi_get32(stream->out + at);

		each(stream, size);
		at += TAPI_FRAME_HEAD_BYTES + size;
	}
}

static void kept_is_lost(struct tapi_stream *stream, uint32_t size)
{
	(void)size;
	tapi_stream_drop(stream, &stream->of->stats.dropped_down);
}

static void kept_is_sent(struct tapi_stream *stream, uint32_t size)
{
	tapi_links_sent(&stream->of->links, &stream->link, size, tapi_stream_now(stream->of));
}

// What lies unread would make the close a reset, and that takes what we sent last. TCP throws away
// what nobody wants to see; AF_UNIX has to be read, and not into `buffer`, which may hold a
// message.
static void unread_drop(int fd)
{
	uint8_t sink[SINK_BYTES];

	ssize_t n = 1;

	for (unsigned i = 0; i < 4 && n > 0; i++)
		n = recv(fd, NULL, LINGER_BYTES, MSG_DONTWAIT | MSG_TRUNC);
	if (n >= 0 || errno != EFAULT)
		return;
	for (unsigned i = 0; i < LINGER_BYTES / SINK_BYTES; i++)
		if (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) <= 0)
			break;
}

// Off the loop, off the system. The memory stays until stream_free().
static void stream_close(struct tapi_stream *stream)
{
	struct tapi_streams *streams = stream->of;

	if (streams->reading == stream)
		streams->reading = NULL;
	if (!stream->link.up && !stream->link.inbound)
		each_kept(stream, kept_is_lost);
	event_del(&stream->readable);
	event_del(&stream->writable);
	tapi_stream_unhold(stream);
	unread_drop(stream->fd);
	close(stream->fd);
	stream->fd = -1;
	if (streams->core->budget)
		streams->core->budget->descriptors--;
	tapi_frame_reader_free(&stream->reader);
	tapi_stream_out_free(stream);
}

static void linger_end(struct tapi_stream *stream)
{
	TAILQ_REMOVE(&stream->of->lingering, stream, linger);
	stream->of->n_lingering--;
	stream_close(stream);
	free(stream);
}

// What a session counts for that nobody uses: strangers give way first.
#define STRANGER 4u

void tapi_stream_account(struct tapi_stream *stream)
{
	struct tapi_streams *streams = stream->of;
	const uint64_t bytes = stream->reader.rest_room + stream->out_room;
	const uint64_t counts = stream->link.references ? bytes : STRANGER * bytes;

	if (bytes == stream->bytes && counts == stream->holder.bytes)
		return;
	tapi_budget_hold(streams->core->budget, bytes, stream->bytes);
	stream->bytes = bytes;
	tapi_memory_set(&streams->share.memory, &stream->holder, counts);
}

// Its memory goes at once, its socket and its end with the next turn: it may be in use up the
// stack, where what it holds is not looked at again.
static void share_cut(struct tapi_memory_user *largest)
{
	struct tapi_stream *stream =
		(void *)((uint8_t *)largest - offsetof(struct tapi_stream, holder));
	struct tapi_streams *streams = stream->of;

	if (stream->lingering) {
		linger_end(stream);
		return;
	}
	if (!stream->link.up && !stream->link.inbound)
		each_kept(stream, kept_is_lost);
	tapi_frame_reader_free(&stream->reader);
	tapi_stream_out_free(stream);
	if (!stream->link.linked)
		return; // it ends already
	if (streams->reading == stream)
		streams->reading = NULL;
	stream->cut = true;
	streams->stats.sessions_cut++;
	tapi_links_fail(&streams->links, &stream->link, TAPI_DOWN_LIMIT);
	wake(streams);
}

// The session is gone. The socket follows in order: see stream.h.
static void linger_begin(struct tapi_stream *stream)
{
	const struct timeval span = timeval_of(LINGER_US);
	struct tapi_streams *streams = stream->of;

	if (!streams->running || !stream->link.up || stream->broken ||
		tapi_budget_no_descriptor(streams->core->budget) ||
		streams->n_lingering >= LINGERING_MAX ||
		(!stream->out && shutdown(stream->fd, SHUT_WR)) ||
		event_add(&stream->readable, &span)) {
		stream_close(stream);
		free(stream);
		return;
	}
	if (streams->reading == stream)
		streams->reading = NULL;
	tapi_frame_reader_free(&stream->reader);
	stream->lingering = true;
	tapi_stream_account(stream);
	stream->linger_until_us = tapi_stream_now(streams) + LINGER_US;
	TAILQ_INSERT_TAIL(&streams->lingering, stream, linger);
	streams->n_lingering++;
}

// The event's own time-out begins anew with each octet: what is left of the time is set again, or
// who sends one now and then would keep the socket for days.
static void linger_read(struct tapi_stream *stream, short what)
{
	const uint64_t now_us = tapi_stream_now(stream->of);
	struct timeval left;
	ssize_t n = 0;

	if (what & EV_READ)
		n = recv(stream->fd, stream->of->buffer, READ_BYTES, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		stream->lingered += (uint32_t)n;
	left = timeval_of(stream->linger_until_us > now_us ? stream->linger_until_us - now_us : 0);
	if (n <= 0 || stream->lingered > LINGER_BYTES || now_us >= stream->linger_until_us ||
		event_add(&stream->readable, &left))
		linger_end(stream);
}

// links' end(): reported where the core knows of it, then freed.
static void end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct tapi_stream *stream = (struct tapi_stream *)(void *)link;
	struct tapi_streams *streams = context;
	const bool in_order = (why == TAPI_DOWN_STALE || why == TAPI_DOWN_LIMIT) && !stream->cut;

	if (!in_order)
		stream_close(stream);
	if (stream->reported)
		streams->core->session_down(streams->core->core, &link->session, why);
	if (in_order)
		linger_begin(stream);
	else
		free(stream);
}

// From the loop, where the core may be reported at once.
static void end_now(struct tapi_stream *stream, enum tapi_down why)
{
	struct tapi_streams *streams = stream->of;

	tapi_links_fail(&streams->links, &stream->link, why);
	tapi_links_turn(&streams->links, tapi_stream_now(streams));
}

static bool whole(void *context, struct tapi_message_pack *pack)
{
	struct tapi_stream *stream = context;
	struct tapi_streams *streams = stream->of;
	const uint64_t now = tapi_stream_now(streams);

	tapi_links_up(&streams->links, &stream->link, now);
	tapi_links_received(&streams->links, &stream->link, pack->size, now);
	stream->reported = true;
	pack->session = &stream->link.session;
	pack->source = stream->link.source;
	streams->core->receive(streams->core->core, pack);
	return streams->reading == stream && stream->link.linked;
}

// What was read is added to *octets. false: there is no more to read now, or no stream.
static bool read_once(struct tapi_stream *stream, size_t *octets)
{
	struct tapi_streams *streams = stream->of;
	const ssize_t n = recv(stream->fd, streams->buffer, READ_BYTES, 0);
	const uint64_t sent = streams->stats.sent_msgs;
	enum tapi_result result;

	if (n < 0 && errno == EINTR)
		return true;
	if (n < 0 && errno == EAGAIN && !stream->broken)
		return false;
	if (n <= 0) {
		if (stream->reader.rest_length)
			streams->stats.bad_frame++; // cut
		end_now(stream, n < 0 || stream->broken ? TAPI_DOWN_ERROR : TAPI_DOWN_CLOSED);
		return false;
	}
	*octets += (size_t)n;
	streams->reading = stream;
	result = tapi_frame_reader_feed(&stream->reader, streams->buffer, (size_t)n, whole, stream);
	if (streams->reading != stream)
		return false;
	streams->reading = NULL;
	tapi_stream_account(stream);
	if (stream->bytes)
		tapi_budget_fit(streams->core->budget);
	if (!stream->link.linked)
		return false; // its end waits
	if (result) {
		if (result == TAPI_ENOMEM)
			streams->stats.dropped_error++;
		else
			streams->stats.bad_frame++;
		end_now(stream, TAPI_DOWN_ERROR);
		return false;
	}
	if (stream->reader.welcomed)
		tapi_links_up(&streams->links, &stream->link, tapi_stream_now(streams));
	// Less than there was room for: the socket is empty, and if not, the loop says so. Who sent
	// something may have its answer by now, where both ends are on one host: asking for it
	// costs less than a turn of the loop.
	return n == (ssize_t)READ_BYTES || stream->broken || streams->stats.sent_msgs != sent;
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct tapi_stream *stream = context;
	size_t octets = 0;

	(void)fd;
	if (stream->lingering) {
		linger_read(stream, what);
		return;
	}
	if (!stream->link.linked)
		return;
	for (unsigned i = 0; i < EVENT_READS && octets < EVENT_BYTES; i++)
		if (!read_once(stream, &octets))
			return;
}

static void on_connected(struct tapi_stream *stream)
{
	struct tapi_streams *streams = stream->of;
	socklen_t length = sizeof(int);
	int error = 0;

	if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &length) || error ||
		event_add(&stream->readable, NULL)) {
		end_now(stream, TAPI_DOWN_ERROR);
		return;
	}
	tapi_links_up(&streams->links, &stream->link, tapi_stream_now(streams));
	each_kept(stream, kept_is_sent);
	stream->kept = 0;
	tapi_stream_flush(stream);
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
	struct tapi_stream *stream = context;

	(void)fd;
	(void)what;
	if (!stream->lingering && !stream->link.linked)
		return;
	if (!stream->link.up && !stream->link.inbound)
		on_connected(stream);
	else
		tapi_stream_flush(stream);
}

static enum tapi_result stream_add(struct tapi_streams *streams, int fd, bool inbound,
	const struct tapi_source *source, struct tapi_stream **out)
{
	struct tapi_stream *stream = calloc(1, sizeof(*stream));
	uint8_t welcome[TAPI_WELCOME_BYTES];
	enum tapi_result result = TAPI_ENOMEM;

	if (!stream)
		goto no_stream;
	*stream = (struct tapi_stream){.of = streams, .fd = fd, .reported = !inbound};
	stream->link.session.protocol = streams->api.protocol;
	stream->link.inbound = inbound;
	stream->link.source = *source;
	streams->last_number++;
	memcpy(stream->link.key, &streams->last_number, sizeof(streams->last_number));
	stream->link.key_length = sizeof(streams->last_number);
	tapi_frame_reader_init(&stream->reader, streams->api.mtu);
	if (event_assign(&stream->readable, streams->core->base, fd, EV_READ | EV_PERSIST,
		    on_readable, stream) ||
		event_assign(&stream->writable, streams->core->base, fd, EV_WRITE | EV_PERSIST,
			on_writable, stream))
		goto no_event;
	if (!inbound) {
		tapi_stream_welcome(streams, welcome);
		if (!tapi_stream_out_append(stream, welcome, sizeof(welcome)))
			goto no_event;
		stream->welcomed = true;
		stream->blocked = true; // until it stands
	}
	if (event_add(inbound ? &stream->readable : &stream->writable, NULL))
		goto no_event;
	if (tapi_budget_no_descriptor(streams->core->budget) && streams->n_lingering)
		linger_end(TAILQ_FIRST(&streams->lingering));
	result = tapi_links_add(&streams->links, &stream->link, tapi_stream_now(streams));
	if (!TAILQ_EMPTY(&streams->links.ending))
		wake(streams); // one was evicted
	if (result)
		goto no_link;
	if (streams->core->budget)
		streams->core->budget->descriptors++;
	if (inbound)
		wake_by(streams, streams->links.limits.connect_us);
	if (out)
		*out = stream;
	return TAPI_OK;

no_link:
	event_del(&stream->readable);
	event_del(&stream->writable);
no_event:
	tapi_stream_out_free(stream);
	free(stream);
no_stream:
	close(fd);
	return result;
}

int tapi_stream_socket(struct tapi_streams *streams, int family)
{
	const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int error = errno;
	const uint64_t now = tapi_stream_now(streams);

	if (fd >= 0 || (streams->complained_us && now - streams->complained_us < COMPLAIN_US))
		return fd;
	streams->complained_us = now ? now : 1;
	streams->core->log(streams->core->core, LOG_ERR,
		"%s: no socket to connect with: %s%s; told once a minute at most",
		streams->api.name, strerror(error),
		error == EMFILE ? " (raise LimitNOFILE, or lower max_sessions)" : "");
	return -1;
}

enum tapi_result tapi_stream_connect(struct tapi_streams *streams, int fd,
	const struct sockaddr *address, socklen_t length, const struct tapi_source *source,
	struct tapi_session **out)
{
	const int why = connect(fd, address, length) ? errno : 0;
	struct tapi_stream *stream;
	const enum tapi_result result = stream_add(streams, fd, false, source, &stream);

	if (result)
		return result;
	// who refuses at once is told from no other place than who refuses later
	if (why && why != EINPROGRESS) {
		event_del(&stream->writable);
		tapi_links_fail(&streams->links, &stream->link, TAPI_DOWN_ERROR);
		wake(streams);
	}
	*out = &stream->link.session;
	return TAPI_OK;
}

enum tapi_result tapi_stream_accepted(
	struct tapi_streams *streams, int fd, const struct tapi_source *source)
{
	return stream_add(streams, fd, true, source, NULL);
}

int tapi_stream_fd(const struct tapi_session *session)
{
	return tapi_stream_of(session)->fd;
}

void tapi_streams_deny(struct tapi_streams *streams,
	bool (*allowed)(void *context, const struct tapi_link *link), void *context)
{
	struct tapi_link *link, *next;

	HASH_ITER(by_key, streams->links.by_key, link, next)
	if (!allowed(context, link))
		tapi_links_fail(&streams->links, link, TAPI_DOWN_DENIED);
	wake(streams);
}

enum tapi_result tapi_stream_associate(
	struct tapi_transport_api *self, struct tapi_session *session)
{
	struct tapi_stream *stream = tapi_stream_of(session);

	(void)self;
	if (!stream->link.linked)
		return TAPI_EDOWN;
	tapi_links_get(&stream->of->links, &stream->link);
	return TAPI_OK;
}

enum tapi_result tapi_stream_disconnect(
	struct tapi_transport_api *self, struct tapi_session *session)
{
	struct tapi_stream *stream = tapi_stream_of(session);
	struct tapi_streams *streams = stream->of;

	(void)self;
	if (stream->link.references == 0)
		return TAPI_EDOWN; // nobody holds it: a fault of the caller
	if (tapi_links_put(&streams->links, &stream->link, tapi_stream_now(streams)))
		linger_begin(stream);
	return TAPI_OK;
}

uint64_t tapi_stream_turn(struct tapi_transport_api *self, uint64_t now_us)
{
	return tapi_links_turn(&((struct tapi_streams *)(void *)self)->links, now_us);
}

const struct tapi_transport_stats *tapi_stream_stats(struct tapi_transport_api *self)
{
	return &((struct tapi_streams *)(void *)self)->stats;
}

static void on_wake(evutil_socket_t fd, short what, void *context)
{
	struct tapi_streams *streams = context;
	uint64_t now_us = tapi_stream_now(streams);
	uint64_t next_us = tapi_links_turn(&streams->links, now_us);

	(void)fd;
	(void)what;
	if (streams->running && next_us != UINT64_MAX)
		wake_in(streams, next_us > now_us ? next_us - now_us : 0);
}

// A tenth of a second, and the largest message has to fit.
static uint64_t burst_of(const struct tapi_streams *streams, uint64_t rate_bytes_s)
{
	return rate_bytes_s / 10 > streams->api.mtu ? rate_bytes_s / 10 : streams->api.mtu;
}

static void descriptors_want(struct tapi_streams *streams, uint32_t wanted)
{
	if (streams->core->budget)
		streams->core->budget->descriptors_wanted += wanted - streams->wanted;
	streams->wanted = wanted;
}

enum tapi_result tapi_streams_init(struct tapi_streams *streams, const struct tapi_core_api *core,
	const struct tapi_transport_api *api, const struct tapi_link_limits *limits,
	uint64_t rate_bytes_s)
{
	*streams = (struct tapi_streams){.core = core, .api = *api};
	TAILQ_INIT(&streams->lingering);
	TAILQ_INIT(&streams->held);
	streams->buffer = malloc(READ_BYTES);
	if (!streams->buffer)
		return TAPI_ENOMEM;
	if (event_assign(&streams->wake, core->base, -1, 0, on_wake, streams) ||
		event_assign(
			&streams->releasing, core->base, -1, 0, tapi_streams_release, streams)) {
		free(streams->buffer);
		return TAPI_ENOMEM;
	}
	tapi_links_init(&streams->links, limits, &streams->stats, end, streams);
	streams->share.cut = share_cut;
	tapi_budget_join(core->budget, &streams->share);
	streams->links.budget = core->budget;
	descriptors_want(streams, limits->sessions + LINGERING_MAX);
	tapi_bucket_init(&streams->rate, rate_bytes_s, burst_of(streams, rate_bytes_s),
		tapi_stream_now(streams));
	return TAPI_OK;
}

void tapi_streams_limit(
	struct tapi_streams *streams, const struct tapi_link_limits *limits, uint64_t rate_bytes_s)
{
	streams->links.limits = *limits;
	descriptors_want(streams, limits->sessions + LINGERING_MAX);
	tapi_bucket_change(&streams->rate, rate_bytes_s, burst_of(streams, rate_bytes_s),
		tapi_stream_now(streams));
}

void tapi_streams_stop(struct tapi_streams *streams)
{
	struct tapi_stream *stream;

	streams->running = false;
	tapi_links_end_all(&streams->links, TAPI_DOWN_STOPPED, NULL);
	while ((stream = TAILQ_FIRST(&streams->lingering)))
		linger_end(stream);
	event_del(&streams->wake);
	event_del(&streams->releasing);
}

void tapi_streams_done(struct tapi_streams *streams)
{
	tapi_budget_leave(streams->core->budget, &streams->share);
	descriptors_want(streams, 0);
	free(streams->buffer);
	streams->buffer = NULL;
}
