// SPDX-License-Identifier: BSD-3-Clause
// Round trips by a clock. A loop that waits for each answer sends less while the other end is slow,
// and so misses the slowness; here message i is due at i / rate and its latency counts from then,
// sent late or not.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tp_rtt.h"

struct loop {
	struct tp_end *end;
	struct tp_rtt_row *row;
	bool datagrams;
	uint32_t size, timeout_ms;
	uint64_t start_ns, period_ns;
	uint32_t sent, answered; // messages; what is answered of a stream is in order
	uint32_t sent_part, answered_part;
	uint8_t *seen; // datagrams that came, by number
};

static uint64_t due_ns(const struct loop *loop, uint32_t number)
{
	return loop->start_ns + number * loop->period_ns;
}

static int send_due(struct loop *loop, uint64_t now)
{
	struct tp_end *end = loop->end;
	while (loop->sent < loop->row->count && due_ns(loop, loop->sent) <= now) {
		if (loop->datagrams)
			memcpy(end->buffer, &loop->sent, sizeof(loop->sent));
		ssize_t n = send(end->fd, &end->buffer[loop->sent_part],
			loop->size - loop->sent_part, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == ECONNREFUSED)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -errno;
		loop->sent_part += (uint32_t)n;
		if (loop->sent_part == loop->size) {
			loop->sent_part = 0;
			loop->sent++;
		}
	}
	return 0;
}

static void note(struct loop *loop, uint32_t number, uint64_t now)
{
	loop->row->sample_ns[loop->row->samples++] = now - due_ns(loop, number);
}

static void note_datagram(struct loop *loop, ssize_t length)
{
	uint32_t number;
	memcpy(&number, loop->end->incoming, sizeof(number));
	if (length != (ssize_t)loop->size || number >= loop->sent || loop->seen[number]) {
		loop->end->late++; // of the warm-up, or a second copy
		return;
	}
	loop->seen[number] = 1;
	note(loop, number, tp_now_ns());
	loop->answered++;
}

static int receive_all(struct loop *loop)
{
	for (;;) {
		ssize_t n = recv(loop->end->fd, loop->end->incoming, TP_SIZE_MOST, MSG_DONTWAIT);
		if (!n && !loop->datagrams)
			return -ECONNRESET;
		if (n < 0)
			return errno == EAGAIN || errno == ECONNREFUSED ? 0 : -errno;
		if (loop->datagrams) {
			note_datagram(loop, n);
			continue;
		}
		const uint64_t now = tp_now_ns();
		for (loop->answered_part += (uint32_t)n; loop->answered_part >= loop->size;
			loop->answered_part -= loop->size)
			note(loop, loop->answered++, now);
	}
}

static int nap(const struct loop *loop, uint64_t until_ns, uint64_t now)
{
	struct pollfd want = {.fd = loop->end->fd, .events = POLLIN};
	if (loop->sent_part || (loop->sent < loop->row->count && due_ns(loop, loop->sent) <= now))
		want.events |= POLLOUT;
	const uint64_t left = until_ns > now ? until_ns - now : 0;
	const struct timespec time = {
		.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
	return ppoll(&want, 1, &time, NULL) < 0 ? -errno : 0;
}

int tp_open_loop(const struct tp_rtt_options *options, struct tp_end *end, uint32_t size,
	struct tp_rtt_row *row)
{
	struct loop loop = {.end = end,
		.row = row,
		.size = size,
		.datagrams = tp_is_datagram(&options->transport),
		.start_ns = tp_now_ns(),
		.period_ns = 1000000000u / options->rate};
	const uint64_t patience_ns = (uint64_t)options->timeout_ms * 1000000u;
	int error = 0;
	loop.seen = calloc(row->count, 1);
	if (!loop.seen)
		return -ENOMEM;
	while (!error && loop.answered < row->count && !tp_expired()) {
		uint64_t now = tp_now_ns();
		error = send_due(&loop, now);
		if (!error)
			error = receive_all(&loop);
		if (error || loop.answered == row->count)
			break;
		uint64_t until = due_ns(&loop, loop.sent < row->count ? loop.sent : row->count - 1);
		if (loop.sent == row->count || until <= now)
			until = (loop.sent == row->count ? until : now) + patience_ns;
		if (loop.sent == row->count && loop.datagrams && now >= until)
			break; // the rest is lost
		error = nap(&loop, until, tp_now_ns());
		if (error == -EINTR)
			error = 0; // the deadline's bell
	}
	row->lost = loop.datagrams ? row->count - loop.answered : 0;
	free(loop.seen);
	if (!error && tp_expired())
		error = -EINTR;
	return error;
}
