// SPDX-License-Identifier: BSD-3-Clause
// Opens listening sockets for IP streams, and replaces them at a reload.
#include "transportapi/transport/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tapi_listener {
	struct tapi_listeners *of;
	struct tapi_source wanted, bound; // wanted.port 0: any
	struct tapi_accept_socket socket;
};

static void listener_free(struct tapi_listener *listener)
{
	if (!listener)
		return;
	tapi_accepting_remove(&listener->socket);
	free(listener);
}

static void on_taken(void *context, int fd, const struct sockaddr_storage *system, socklen_t length)
{
	struct tapi_listeners *listeners = context;
	struct tapi_source from;

	if (tapi_inet_from_sockaddr(&from, (const struct sockaddr *)system, length))
		listeners->taken(listeners->context, fd, &from);
	else
		close(fd);
}

// 0 or errno.
static int bind_port(const struct tapi_listener *listener, int fd, uint16_t port)
{
	struct tapi_source address = listener->wanted;
	struct sockaddr_storage system;
	socklen_t length;

	address.port = port;
	length = tapi_inet_to_sockaddr(&system, &address);
	return bind(fd, (const struct sockaddr *)&system, length) ? errno : 0;
}

// 0 or errno. `beside`: a port to prefer where any will do, so that both families have one.
static int listener_start(struct tapi_listener *listener, uint16_t beside)
{
	const int on = 1;
	const bool v6 = listener->wanted.family == 6;
	struct sockaddr_storage system;
	socklen_t length = sizeof(system);
	int error = 0;
	const int fd =
		socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	// connections inherit TCP_NODELAY
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) ||
		(v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))))
		error = errno;
	if (!error && !listener->wanted.port && beside)
		error = bind_port(listener, fd, beside) ? bind_port(listener, fd, 0) : 0;
	else if (!error)
		error = bind_port(listener, fd, listener->wanted.port);
	if (!error && (listen(fd, TAPI_ACCEPT_BACKLOG) ||
			      getsockname(fd, (struct sockaddr *)&system, &length)))
		error = errno;
	if (!error && (!tapi_inet_from_sockaddr(
			       &listener->bound, (const struct sockaddr *)&system, length) ||
			      !tapi_accepting_add(&listener->of->accepting, &listener->socket, fd)))
		error = EINVAL;
	if (!error)
		return 0;
	close(fd);
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
	*listener = (struct tapi_listener){.of = of, .wanted = *wanted};
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
	tapi_inet_cannot_listen(error->text, sizeof(error->text), listeners->name, wanted, true,
		why, TAPI_INET_LOW_PORT);
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
	return result;
}

void tapi_listeners_close(struct tapi_listeners *listeners)
{
	while (listeners->n)
		listener_free(listeners->at[--listeners->n]);
	tapi_accepting_close(&listeners->accepting);
}

void tapi_listeners_bound(const struct tapi_listeners *listeners, struct tapi_inet_list *out)
{
	out->n = 0;
	for (unsigned i = 0; i < listeners->n; i++)
		out->address[out->n++] = listeners->at[i]->bound;
}

enum tapi_result tapi_listeners_init(struct tapi_listeners *listeners)
{
	listeners->n = 0;
	listeners->accepting = (struct tapi_accepting){.core = listeners->core,
		.name = listeners->name,
		.taken = on_taken,
		.context = listeners,
		.refused = listeners->refused};
	return tapi_accepting_init(&listeners->accepting);
}
