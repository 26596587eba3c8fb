// SPDX-License-Identifier: BSD-3-Clause
#include "transportapi/listen.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#define BACKLOG           1024
#define ACCEPTS_PER_EVENT 64u
#define REST_US           100000

struct tapi_listener {
	struct tapi_listeners *of;
	struct tapi_source wanted, bound; // wanted.port 0: any
	int fd;
	struct event acceptable;
};

static void listener_free(struct tapi_listener *listener)
{
	if (!listener)
		return;
	if (listener->fd >= 0) {
		event_del(&listener->acceptable);
		close(listener->fd);
	}
	free(listener);
}

static void rest(struct tapi_listeners *listeners)
{
	static const struct timeval span = {.tv_usec = REST_US};

	if (listeners->resting || event_add(&listeners->resume, &span))
		return;
	listeners->resting = true;
	for (unsigned i = 0; i < listeners->n; i++)
		event_del(&listeners->at[i]->acceptable);
}

static void on_resume(evutil_socket_t fd, short what, void *context)
{
	struct tapi_listeners *listeners = context;

	(void)fd;
	(void)what;
	listeners->resting = false;
	for (unsigned i = 0; i < listeners->n; i++)
		event_add(&listeners->at[i]->acceptable, NULL);
}

static void reserve_take(struct tapi_listeners *listeners)
{
	if (listeners->reserve < 0)
		listeners->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// accept() failed for want of something. A connection that waits would wake the loop for ever: it
// is taken with the descriptor that is kept for this, and closed; else nobody listens for a while.
static void starved(struct tapi_listener *listener, int error)
{
	struct tapi_listeners *listeners = listener->of;
	const struct tapi_core_api *core = listeners->core;

	if (!listeners->complained) {
		core->log(core->core, LOG_ERR,
			"%s: cannot accept connections: %s; they are refused (raise LimitNOFILE, "
			"or lower %s.max_sessions)",
			listeners->name, strerror(error), listeners->name);
		listeners->complained = true;
	}
	if ((error == EMFILE || error == ENFILE) && listeners->reserve >= 0) {
		close(listeners->reserve);
		listeners->reserve = -1;
		const int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			++*listeners->refused;
			close(fd);
		}
		reserve_take(listeners);
		if (fd >= 0 && listeners->reserve >= 0)
			return;
	}
	rest(listeners);
}

static void on_acceptable(evutil_socket_t listening, short what, void *context)
{
	struct tapi_listener *listener = context;
	struct tapi_listeners *listeners = listener->of;

	(void)what;
	for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
		struct sockaddr_storage system;
		socklen_t length = sizeof(system);
		struct tapi_source from;
		const int fd = accept4(listening, (struct sockaddr *)&system, &length,
			SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (errno == EAGAIN)
				return;
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				errno == ENOMEM || errno == EBADF || errno == EINVAL)
				starved(listener, errno);
			if (listeners->resting)
				return;
			continue; // the connection failed before it was ours (accept(2))
		}
		listeners->complained = false;
		if (tapi_inet_from_sockaddr(&from, (const struct sockaddr *)&system, length))
			listeners->taken(listeners->context, fd, &from);
		else
			close(fd);
	}
}

// 0 or errno.
static int bind_port(struct tapi_listener *listener, uint16_t port)
{
	struct tapi_source address = listener->wanted;
	struct sockaddr_storage system;
	socklen_t length;

	address.port = port;
	length = tapi_inet_to_sockaddr(&system, &address);
	return bind(listener->fd, (const struct sockaddr *)&system, length) ? errno : 0;
}

// 0 or errno. `beside`: a port to prefer where any will do, so that both families have one.
static int listener_start(struct tapi_listener *listener, uint16_t beside)
{
	const int on = 1;
	const bool v6 = listener->wanted.family == 6;
	struct sockaddr_storage system;
	socklen_t length = sizeof(system);
	int error = 0;

	listener->fd =
		socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return errno;
	// connections inherit TCP_NODELAY
	if (setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		setsockopt(listener->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
		(v6 && setsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))))
		error = errno;
	if (!error && !listener->wanted.port && beside)
		error = bind_port(listener, beside) ? bind_port(listener, 0) : 0;
	else if (!error)
		error = bind_port(listener, listener->wanted.port);
	if (!error && (listen(listener->fd, BACKLOG) ||
			      getsockname(listener->fd, (struct sockaddr *)&system, &length)))
		error = errno;
	if (!error &&
		(!tapi_inet_from_sockaddr(
			 &listener->bound, (const struct sockaddr *)&system, length) ||
			event_assign(&listener->acceptable, listener->of->core->base, listener->fd,
				EV_READ | EV_PERSIST, on_acceptable, listener) ||
			event_add(&listener->acceptable, NULL)))
		error = EINVAL;
	if (!error)
		return 0;
	close(listener->fd);
	listener->fd = -1;
	return error;
}

static struct tapi_listener *listener_new(
	struct tapi_listeners *of, const struct tapi_source *wanted, uint16_t beside, int *error)
{
	struct tapi_listener *listener = calloc(1, sizeof(*listener));

	if (!listener) {
		*error = ENOMEM;
		return NULL;
	}
	*listener = (struct tapi_listener){.of = of, .wanted = *wanted, .fd = -1};
	*error = listener_start(listener, beside);
	if (!*error)
		return listener;
	free(listener);
	return NULL;
}

static struct tapi_listener *take_wanted(
	struct tapi_listener *from[], unsigned n, const struct tapi_source *wanted)
{
	for (unsigned i = 0; i < n; i++)
		if (from[i] && tapi_inet_equal(&from[i]->wanted, wanted)) {
			struct tapi_listener *found = from[i];

			from[i] = NULL;
			return found;
		}
	return NULL;
}

static bool no_ipv6(const struct tapi_source *wanted, int error)
{
	return wanted->family == 6 && (error == EAFNOSUPPORT || error == EADDRNOTAVAIL);
}

static enum tapi_result cannot(struct tapi_listeners *listeners, const struct tapi_source *wanted,
	int why, struct tapi_error *error)
{
	char text[80];

	tapi_inet_print(text, sizeof(text), listeners->name, wanted, true);
	snprintf(error->text, sizeof(error->text), "cannot listen on %s: %s%s", text, strerror(why),
		why == EADDRINUSE      ? ": `ss -ltnp` tells who does; end that, or change the port"
		: why == EADDRNOTAVAIL ? ": this machine has no such address"
		: why == EACCES        ? ": a port below 1024 needs CAP_NET_BIND_SERVICE"
				       : "");
	return TAPI_ESYS;
}

enum tapi_result tapi_listeners_open(struct tapi_listeners *listeners,
	const struct tapi_inet_list *wanted, bool implicit, struct tapi_error *error)
{
	struct tapi_listener *old[TAPI_INET_LIST_MAX] = {0}, *fresh[TAPI_INET_LIST_MAX];
	struct tapi_inet_list gone = {0}; // closed to make place: 0.0.0.0:N covers 192.0.2.1:N
	const unsigned n_old = listeners->n;
	unsigned n = 0, n_kept;
	enum tapi_result result = TAPI_OK;
	int why;

	memcpy(old, listeners->at, sizeof(old[0]) * n_old);
	for (unsigned i = 0; i < wanted->n; i++) {
		fresh[n] = take_wanted(old, n_old, &wanted->address[i]);
		n += fresh[n] != NULL;
	}
	n_kept = n;
	for (unsigned i = 0; i < wanted->n && !result; i++) {
		const struct tapi_source *address = &wanted->address[i];
		bool kept = false;

		for (unsigned j = 0; j < n_kept; j++)
			kept |= tapi_inet_equal(&fresh[j]->wanted, address);
		if (kept)
			continue;
		const uint16_t beside = n ? fresh[0]->bound.port : 0;

		fresh[n] = listener_new(listeners, address, beside, &why);
		if (!fresh[n] && why == EADDRINUSE && !gone.n) {
			for (unsigned j = 0; j < n_old; j++)
				if (old[j]) {
					gone.address[gone.n] = old[j]->wanted;
					gone.address[gone.n++].port = old[j]->bound.port;
					listener_free(old[j]);
					old[j] = NULL;
				}
			if (gone.n)
				fresh[n] = listener_new(listeners, address, beside, &why);
		}
		if (fresh[n])
			n++;
		else if (!implicit || !no_ipv6(address, why))
			result = cannot(listeners, address, why, error);
	}
	if (!result) {
		for (unsigned j = 0; j < n_old; j++)
			listener_free(old[j]);
	} else { // back to what was
		while (n > n_kept)
			listener_free(fresh[--n]);
		for (unsigned j = 0; j < n_old; j++)
			if (old[j])
				fresh[n++] = old[j];
		for (unsigned j = 0; j < gone.n; j++) {
			fresh[n] = listener_new(listeners, &gone.address[j], 0, &why);
			n += fresh[n] != NULL;
		}
	}
	memcpy(listeners->at, fresh, sizeof(fresh[0]) * n);
	listeners->n = n;
	reserve_take(listeners);
	if (listeners->resting)
		for (unsigned i = 0; i < n; i++)
			event_del(&listeners->at[i]->acceptable);
	return result;
}

void tapi_listeners_close(struct tapi_listeners *listeners)
{
	while (listeners->n)
		listener_free(listeners->at[--listeners->n]);
	event_del(&listeners->resume);
	listeners->resting = false;
	if (listeners->reserve >= 0)
		close(listeners->reserve);
	listeners->reserve = -1;
}

void tapi_listeners_bound(const struct tapi_listeners *listeners, struct tapi_inet_list *out)
{
	out->n = 0;
	for (unsigned i = 0; i < listeners->n; i++)
		out->address[out->n++] = listeners->at[i]->bound;
}

enum tapi_result tapi_listeners_init(struct tapi_listeners *listeners)
{
	listeners->reserve = -1;
	listeners->n = 0;
	listeners->resting = listeners->complained = false;
	return event_assign(&listeners->resume, listeners->core->base, -1, 0, on_resume, listeners)
		       ? TAPI_ENOMEM
		       : TAPI_OK;
}
