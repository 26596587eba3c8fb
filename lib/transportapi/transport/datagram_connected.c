// SPDX-License-Identifier: BSD-3-Clause
// Opens and closes the connected socket for the busiest remote address.
#include "transportapi/transport/datagram_connected.h"

#include <event2/event.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "transportapi/transport/datagram_socket.h"

#define CONNECT_AFTER \
	64 // messages on end: what it costs to open one is a tenth of what it will save
#define LINE_US 5000000

void tapi_datagram_connected_close(struct tapi_datagram_socket *one)
{
	if (!one->connected.event)
		return;
	event_free(one->connected.event);
	close(one->connected.fd);
	one->connected = (struct tapi_datagram_connected){.fd = -1};
}

// What waits in it is heard still, so it stays open, until its place is wanted.
bool tapi_datagram_lines_forget(struct tapi_datagram_sockets *sockets, const void *session)
{
	bool had = false;

	for (unsigned i = 0; i < sockets->n; i++)
		if (sockets->at[i]->connected.event &&
			sockets->at[i]->connected.session == session) {
			sockets->at[i]->connected.session = NULL;
			had = true;
		}
	return had;
}

static int copy_buffer(int to, int from, int name, int force)
{
	int bytes;
	socklen_t length = sizeof(bytes);

	if (getsockopt(from, SOL_SOCKET, name, &bytes, &length) < 0)
		return -1;
	bytes /= 2; // it tells twice what was set (socket(7))
	if (setsockopt(to, SOL_SOCKET, force, &bytes, sizeof(bytes)) == 0)
		return 0;
	return setsockopt(to, SOL_SOCKET, name, &bytes, sizeof(bytes));
}

static int line_connect(
	struct tapi_datagram_socket *one, const struct sockaddr *name, socklen_t length)
{
	struct sockaddr_storage own;
	socklen_t own_length = tapi_inet_to_sockaddr(&own, &one->bound);
	int fd = socket(name->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return -1;
	if ((name->sa_family == AF_INET6 &&
		    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0) ||
		copy_buffer(fd, one->fd, SO_RCVBUF, SO_RCVBUFFORCE) < 0 ||
		copy_buffer(fd, one->fd, SO_SNDBUF, SO_SNDBUFFORCE) < 0 ||
		tapi_datagram_bind_beside(fd, &own, own_length, &one, 1) < 0 ||
		connect(fd, name, length) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

// What goes wrong is no fault: all goes by the socket itself, as before.
static void line_open(struct tapi_datagram_socket *one, const void *session,
	const struct sockaddr *name, socklen_t length, uint64_t now_us)
{
	int fd = line_connect(one, name, length);
	struct event *event;

	if (fd < 0)
		return;
	event = event_new(event_get_base(one->event), fd, EV_READ | EV_PERSIST,
		event_get_callback(one->event), one);
	if (!event || event_add(event, NULL) < 0) {
		if (event)
			event_free(event);
		close(fd);
		return;
	}
	one->connected.fd = fd;
	one->connected.event = event;
	one->connected.session = session;
	one->connected.until_us = now_us + LINE_US;
}

bool tapi_datagram_connected_sent(struct tapi_datagram_socket *one, const void *session,
	const struct sockaddr *name, socklen_t length, uint64_t now_us)
{
	struct tapi_datagram_connected *connected = &one->connected;
	int waiting = 0;

	if (connected->last != session) {
		connected->last = session;
		connected->run = 0;
	}
	connected->run++;
	if (connected->event && connected->session == session) {
		// What came in by it and waits would be lost with it.
		if (now_us < connected->until_us || ioctl(connected->fd, FIONREAD, &waiting) < 0 ||
			waiting)
			return true;
		tapi_datagram_connected_close(one);
		return false;
	}
	if (connected->run < CONNECT_AFTER)
		return true;
	if (connected->event && (ioctl(connected->fd, FIONREAD, &waiting) < 0 || waiting))
		return true;
	if (connected->event) {
		tapi_datagram_connected_close(one);
		return false; // and the next CONNECT_AFTER open theirs
	}
	connected->run = 0;
	line_open(one, session, name, length, now_us);
	return true;
}
