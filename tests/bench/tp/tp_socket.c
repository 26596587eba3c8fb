// SPDX-License-Identifier: BSD-3-Clause
// The papers' protocols and their younger kin, over plain sockets. Defaults only: an option is set
// where a protocol cannot be had without it (SO_ZEROCOPY, UDP_SEGMENT and UDP_GRO, TCP_CONGESTION
// by name), and the receive time-out of datagrams, without which a lost one would be waited for for
// ever.
#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tp.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

bool tp_transport_parse(const char *name, struct tp_transport *transport)
{
	static const struct tp_transport known[] = {
		{"tcp", TP_TCP, NULL},
		{"udp", TP_UDP, NULL},
		{"sendfile", TP_SENDFILE, NULL},
		{"tcp-zerocopy", TP_ZEROCOPY, NULL},
		{"tcp-uring", TP_URING, NULL},
		{"udp-gso", TP_GSO, NULL},
		{"mptcp", TP_MPTCP, NULL},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i].name)) {
			*transport = known[i];
			return true;
		}
	if (strncmp(name, "tcp-", 4) || !name[4])
		return false;
	*transport = (struct tp_transport){name, TP_TCP, &name[4]};
	return true;
}

bool tp_is_datagram(const struct tp_transport *transport)
{
	return transport->kind == TP_UDP || transport->kind == TP_GSO;
}

uint32_t tp_size_most(const struct tp_transport *transport)
{
	return tp_is_datagram(transport) ? TP_UDP_MOST : TP_SIZE_MOST;
}

static int on(int fd, int level, int option)
{
	const int one = 1;
	return setsockopt(fd, level, option, &one, sizeof(one)) ? -errno : 0;
}

static int make_socket(const struct tp_transport *transport)
{
	const int type = tp_is_datagram(transport) ? SOCK_DGRAM : SOCK_STREAM;
	int fd = socket(
		AF_INET, type | SOCK_CLOEXEC, transport->kind == TP_MPTCP ? IPPROTO_MPTCP : 0);
	if (fd < 0)
		return -errno;
	int error = 0;
	if (transport->control && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, transport->control,
					  (socklen_t)strlen(transport->control)))
		error = -errno;
	if (transport->kind == TP_GSO)
		error = on(fd, SOL_UDP, UDP_GRO);
	if (error) {
		close(fd);
		return error;
	}
	return fd;
}

static int make_end(const struct tp_transport *transport, int fd, struct tp_end *end)
{
	*end = (struct tp_end){.transport = transport, .fd = fd, .file = -1};
	int error = 0;
	// Whole pages of its own: what is sent without a copy must not share one with anything that
	// changes.
	void *pages = mmap(
		NULL, 2 * TP_SIZE_MOST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED) {
		error = -ENOMEM;
	} else {
		end->buffer = pages;
		end->incoming = &end->buffer[TP_SIZE_MOST];
		memset(end->incoming, 0, TP_SIZE_MOST); // no page faults while the clock runs
		for (uint32_t i = 0; i < TP_SIZE_MOST; i++)
			end->buffer[i] = (uint8_t)(i * 31);
	}
	if (!error && transport->kind == TP_SENDFILE) {
		end->file = memfd_create("tpbench", MFD_CLOEXEC);
		if (end->file < 0 || write(end->file, end->buffer, TP_SIZE_MOST) != TP_SIZE_MOST)
			error = -errno;
	}
	if (!error && transport->kind == TP_ZEROCOPY)
		error = on(fd, SOL_SOCKET, SO_ZEROCOPY);
	if (!error && transport->kind == TP_URING)
		error = tp_uring_new(&end->ring);
	if (error)
		tp_close(end);
	return error;
}

void tp_close(struct tp_end *end)
{
	if (end->buffer)
		munmap(end->buffer, 2 * TP_SIZE_MOST);
	if (end->file >= 0)
		close(end->file);
	if (end->ring)
		tp_uring_free(end->ring);
	close(end->fd);
	*end = (struct tp_end){.fd = -1, .file = -1};
}

int tp_listen(
	const struct tp_transport *transport, struct in_addr address, int *fd, in_port_t *port)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr = address};
	socklen_t length = sizeof(own);
	*fd = make_socket(transport);
	if (*fd < 0)
		return *fd;
	if (bind(*fd, (struct sockaddr *)&own, sizeof(own)) ||
		(!tp_is_datagram(transport) && listen(*fd, 4)) ||
		getsockname(*fd, (struct sockaddr *)&own, &length)) {
		int error = -errno;
		close(*fd);
		return error;
	}
	*port = own.sin_port;
	return 0;
}

int tp_connect(const struct tp_transport *transport, struct in_addr address, in_port_t port,
	int timeout_ms, struct tp_end *end)
{
	const struct sockaddr_in peer = {
		.sin_family = AF_INET, .sin_addr = address, .sin_port = port};
	int fd = make_socket(transport);
	if (fd < 0)
		return fd;
	int error = 0;
	if (tp_is_datagram(transport)) {
		const struct timeval time = {
			.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
		if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time)))
			error = -errno;
	}
	if (!error && connect(fd, (const struct sockaddr *)&peer, sizeof(peer)))
		error = -errno;
	if (error) {
		close(fd);
		return error;
	}
	return make_end(transport, fd, end);
}

int tp_accept(const struct tp_transport *transport, int listening, struct tp_end *end)
{
	if (tp_is_datagram(transport)) // connected by the first datagram (tp_echo)
		return make_end(transport, listening, end);
	int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(listening);
	return make_end(transport, fd, end);
}

// What the kernel says of pages that it sent in place: they are ours again.
static void drain_completions(struct tp_end *end)
{
	char control[128];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
	while (end->unacknowledged &&
		recvmsg(end->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) >= 0) {
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
			struct sock_extended_err told;
			memcpy(&told, CMSG_DATA(c), sizeof(told));
			if (told.ee_origin != SO_EE_ORIGIN_ZEROCOPY)
				continue;
			uint32_t count = told.ee_data - told.ee_info + 1;
			end->unacknowledged -=
				count < end->unacknowledged ? count : end->unacknowledged;
		}
		message.msg_controllen = sizeof(control);
	}
}

static ssize_t send_some(struct tp_end *end, uint32_t done, uint32_t size)
{
	switch (end->transport->kind) {
	case TP_SENDFILE: {
		off_t offset = done;
		return sendfile(end->fd, end->file, &offset, size - done);
	}
	case TP_ZEROCOPY: {
		ssize_t sent =
			send(end->fd, &end->buffer[done], size - done, MSG_ZEROCOPY | MSG_NOSIGNAL);
		if (sent >= 0)
			end->unacknowledged++;
		if (end->unacknowledged > 16 || (sent < 0 && errno == ENOBUFS))
			drain_completions(end);
		return sent;
	}
	case TP_URING: {
		int sent = tp_uring_send(end->ring, end->fd, &end->buffer[done], size - done);
		if (sent < 0)
			errno = -sent;
		return sent;
	}
	default: return send(end->fd, &end->buffer[done], size - done, MSG_NOSIGNAL);
	}
}

static int send_stream(struct tp_end *end, uint32_t size)
{
	for (uint32_t done = 0; done < size;) {
		ssize_t sent = send_some(end, done, size);
		if (sent < 0 && errno == ENOBUFS && end->transport->kind == TP_ZEROCOPY &&
			end->unacknowledged)
			continue; // as many pages pinned as may be: some have come back by now, or
				  // will
		if (sent <= 0)
			return sent ? -errno : -ECONNRESET;
		done += (uint32_t)sent;
	}
	return 0;
}

static int receive_stream(struct tp_end *end, uint32_t size)
{
	for (uint32_t done = 0; done < size;) {
		ssize_t got = recv(end->fd, &end->incoming[done], size - done, 0);
		if (got <= 0)
			return got ? -errno : -ECONNRESET;
		done += (uint32_t)got;
	}
	return 0;
}

static void write_number(uint8_t *where, uint32_t number, uint32_t room)
{
	memcpy(where, &number, room < sizeof(number) ? room : sizeof(number));
}

static int send_segments(struct tp_end *end, uint32_t size)
{
	char control[CMSG_SPACE(sizeof(uint16_t))] = {};
	struct iovec vector = {.iov_base = end->buffer, .iov_len = size};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	for (uint32_t at = 0; at < size; at += TP_SEGMENT)
		write_number(&end->buffer[at], end->number, size - at);
	if (size > TP_SEGMENT) {
		const uint16_t segment = TP_SEGMENT;
		message.msg_control = control;
		message.msg_controllen = sizeof(control);
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_UDP;
		c->cmsg_type = UDP_SEGMENT;
		c->cmsg_len = CMSG_LEN(sizeof(segment));
		memcpy(CMSG_DATA(c), &segment, sizeof(segment));
	}
	return sendmsg(end->fd, &message, 0) < 0 ? -errno : 0;
}

int tp_send(struct tp_end *end, uint32_t size)
{
	if (!tp_is_datagram(end->transport))
		return send_stream(end, size);
	if (end->transport->kind == TP_GSO)
		return send_segments(end, size);
	write_number(end->buffer, end->number, size);
	return send(end->fd, end->buffer, size, 0) < 0 ? -errno : 0;
}

// Of a message, or of some of its segments; *number is whose.
static ssize_t receive_datagram(struct tp_end *end, uint32_t *number)
{
	ssize_t got = recv(end->fd, end->incoming, TP_SIZE_MOST, 0);
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	*number = end->number; // of a last segment too short to say
	if (got >= (ssize_t)sizeof(*number))
		memcpy(number, end->incoming, sizeof(*number));
	return got;
}

int tp_receive(struct tp_end *end, uint32_t size)
{
	if (!tp_is_datagram(end->transport))
		return receive_stream(end, size);
	for (uint32_t done = 0; done < size;) {
		uint32_t number = 0;
		ssize_t got = receive_datagram(end, &number);
		if (got < 0)
			return (int)got;
		if (number == end->number)
			done += (uint32_t)got;
		else
			end->late++;
	}
	return 0;
}

static int echo_datagrams(struct tp_end *end, uint32_t size)
{
	struct sockaddr_in peer;
	socklen_t length = sizeof(peer);
	// The first one tells whom to answer.
	if (recvfrom(end->fd, end->incoming, 1, MSG_PEEK, (struct sockaddr *)&peer, &length) < 0 ||
		connect(end->fd, (struct sockaddr *)&peer, length))
		return -errno;
	for (uint32_t done = 0;;) {
		uint32_t number = 0;
		ssize_t got = receive_datagram(end, &number);
		if (got == -ECONNREFUSED)
			continue;
		if (got < 0)
			return (int)got;
		if (number != end->number)
			done = 0; // what came of the one before is incomplete for ever
		end->number = number;
		done += (uint32_t)got;
		if (done < size)
			continue;
		done = 0;
		int error = tp_send(end, size);
		if (error && error != -ECONNREFUSED)
			return error;
	}
}

int tp_echo(struct tp_end *end, uint32_t size)
{
	if (tp_is_datagram(end->transport))
		return echo_datagrams(end, size);
	for (;;) {
		int error = receive_stream(end, size);
		if (!error)
			error = send_stream(end, size);
		if (error)
			return error;
	}
}
