// SPDX-License-Identifier: BSD-3-Clause
// Opens the sockets of a datagram transport, and replaces them at a reload.
#include "transportapi/transport/datagram_socket.h"

#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#define PORT_TRIES 16 // for one free port of both families

static void socket_close(struct tapi_datagram_socket *one)
{
	tapi_datagram_connected_close(one);
	if (one->event)
		event_free(one->event);
	if (one->fd >= 0)
		close(one->fd);
	free(one);
}

void tapi_datagram_close(struct tapi_datagram_sockets *sockets)
{
	for (unsigned i = 0; i < sockets->n; i++)
		socket_close(sockets->at[i]);
	sockets->n = 0;
}

void tapi_datagram_take(
	struct tapi_datagram_sockets *old, const struct tapi_datagram_sockets *fresh)
{
	for (unsigned i = 0; i < old->n; i++)
		if (!old->at[i]->kept)
			socket_close(old->at[i]);
	*old = *fresh;
	for (unsigned i = 0; i < old->n; i++)
		old->at[i]->kept = false;
}

static struct tapi_datagram_socket *find_bound(
	const struct tapi_datagram_sockets *sockets, const struct tapi_source *bound)
{
	for (unsigned i = 0; i < sockets->n; i++)
		if (sockets->at[i]->bound.family == bound->family &&
			memcmp(sockets->at[i]->bound.address, bound->address,
				sizeof(bound->address)) == 0)
			return sockets->at[i];
	return NULL;
}

// The address of ours that the system takes on the way to `remote`; family 0: there is no way.
// Nothing is sent for it.
static struct tapi_source own_towards(const struct tapi_source *remote)
{
	struct tapi_source probe = *remote, own = {0};
	struct sockaddr_storage name;
	socklen_t length;
	int fd;

	probe.port = 9; // any: raw-ip has none
	length = tapi_inet_to_sockaddr(&name, &probe);
	fd = socket(name.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return own;
	if (connect(fd, (struct sockaddr *)&name, length) == 0) {
		length = sizeof(name);
		if (getsockname(fd, (struct sockaddr *)&name, &length) == 0)
			tapi_inet_from_sockaddr(&own, (struct sockaddr *)&name, length);
	}
	close(fd);
	return own;
}

struct tapi_datagram_socket *tapi_datagram_pick(const struct tapi_datagram_sockets *sockets,
	const struct tapi_source *bound, const struct tapi_source *remote)
{
	struct tapi_datagram_socket *found = find_bound(sockets, bound), *any = NULL;
	unsigned n = 0;

	if (found)
		return found;
	for (unsigned i = sockets->n; i-- > 0;)
		if (sockets->at[i]->bound.family == remote->family) {
			any = sockets->at[i];
			n++;
		}
	if (n > 1) {
		const struct tapi_source own = own_towards(remote);

		found = find_bound(sockets, &own);
	}
	return found ? found : any;
}

// Larger than the system lets everybody have, where we may.
static void set_buffer(int fd, int name, int force, uint32_t bytes)
{
	int value = (int)bytes;

	if (bytes > 0 && setsockopt(fd, SOL_SOCKET, force, &value, sizeof(value)) < 0)
		setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value));
}

static void set_buffers(int fd, const struct tapi_datagram_wanted *wanted)
{
	set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, wanted->receive_buffer_bytes);
	set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, wanted->send_buffer_bytes);
}

static void set_reuse(int fd, int value)
{
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, sizeof(value));
}

// An address that one of our own sockets has, in part (0.0.0.0 and 192.0.2.1), is given by Linux to
// another where both have SO_REUSEADDR at this moment. Not before, and not after: nobody else may
// take the port from us.
int tapi_datagram_bind_beside(int fd, const struct sockaddr_storage *address, socklen_t length,
	struct tapi_datagram_socket *const *old, unsigned n)
{
	int result = bind(fd, (const struct sockaddr *)address, length);

	if (result == 0 || errno != EADDRINUSE || n == 0)
		return result;
	for (unsigned i = 0; i < n; i++)
		set_reuse(old[i]->fd, 1);
	set_reuse(fd, 1);
	result = bind(fd, (const struct sockaddr *)address, length);
	if (result < 0)
		result = -errno;
	set_reuse(fd, 0);
	for (unsigned i = 0; i < n; i++)
		set_reuse(old[i]->fd, 0);
	errno = result < 0 ? -result : errno;
	return result < 0 ? -1 : 0;
}

// 0, or the errno of what went wrong.
static int socket_prepare(struct tapi_datagram_socket *one,
	const struct tapi_datagram_wanted *wanted, const struct tapi_source *address,
	const struct tapi_datagram_sockets *old)
{
	const struct tapi_datagram_kind *kind = wanted->kind;
	struct sockaddr_storage name;
	socklen_t length = tapi_inet_to_sockaddr(&name, address);
	int on = 1;

	one->fd = socket(
		name.ss_family, kind->type | SOCK_NONBLOCK | SOCK_CLOEXEC, kind->ip_protocol);
	if (one->fd < 0)
		return errno;
	if (name.ss_family == AF_INET6 && kind->type == SOCK_DGRAM && // a raw one has no other
		setsockopt(one->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
		return errno;
	set_buffers(one->fd, wanted);
	if (kind->prepare && !kind->prepare(one->fd, address->family))
		return errno;
	if (tapi_datagram_bind_beside(one->fd, &name, length, old->at, old->n) < 0)
		return errno;
	length = sizeof(name);
	if (getsockname(one->fd, (struct sockaddr *)&name, &length) < 0)
		return errno;
	tapi_inet_from_sockaddr(&one->bound, (struct sockaddr *)&name, length);
	if (!kind->has_port)
		one->bound.port = 0;
	one->event =
		event_new(wanted->core->base, one->fd, EV_READ | EV_PERSIST, wanted->readable, one);
	if (!one->event || event_add(one->event, NULL) < 0)
		return ENOMEM;
	return 0;
}

static void say_why(
	const struct tapi_datagram_wanted *wanted, const struct tapi_source *address, int error)
{
	const struct tapi_core_api *core = wanted->core;
	char text[TAPI_TEXT_BYTES + 256];

	tapi_inet_cannot_listen(text, sizeof(text), wanted->kind->scheme, address,
		wanted->kind->has_port, error, wanted->kind->needs);
	core->log(core->core, LOG_ERR, "%s: %s", wanted->kind->name, text);
}

// `address`: asked, or the port of the other family instead of 0.
static int socket_open(struct tapi_datagram_socket **out, const struct tapi_datagram_wanted *wanted,
	const struct tapi_source *asked, const struct tapi_source *address,
	const struct tapi_datagram_sockets *old)
{
	struct tapi_datagram_socket *one = calloc(1, sizeof(*one));
	int error;

	if (!one)
		return ENOMEM;
	one->fd = one->connected.fd = -1;
	one->owner = wanted->owner;
	one->asked = *asked;
	error = socket_prepare(one, wanted, address, old);
	if (error) {
		socket_close(one);
		return error;
	}
	*out = one;
	return 0;
}

static struct tapi_datagram_socket *find_asked(
	const struct tapi_datagram_sockets *old, const struct tapi_source *asked)
{
	for (unsigned i = 0; i < old->n; i++)
		if (tapi_inet_equal(&old->at[i]->asked, asked))
			return old->at[i];
	return NULL;
}

static void give_up(struct tapi_datagram_sockets *fresh)
{
	for (unsigned i = 0; i < fresh->n; i++) {
		if (fresh->at[i]->kept)
			fresh->at[i]->kept = false;
		else
			socket_close(fresh->at[i]);
	}
	fresh->n = 0;
}

// "Any port" is the same one at all addresses: what the first of them was given.
static enum tapi_result open_once(struct tapi_datagram_sockets *out,
	const struct tapi_datagram_sockets *old, const struct tapi_datagram_wanted *wanted,
	bool last_try, bool *again)
{
	uint16_t any_port = 0;

	out->n = 0;
	*again = false;
	for (unsigned i = 0; i < wanted->asked.n; i++) {
		const struct tapi_source *asked = &wanted->asked.address[i];
		struct tapi_source address = *asked;
		struct tapi_datagram_socket *one = find_asked(old, asked);
		int error = 0;

		if (one) {
			one->kept = true;
		} else {
			if (address.port == 0)
				address.port = any_port;
			error = socket_open(&one, wanted, asked, &address, old);
		}
		if (error && wanted->all && asked->family == 6 &&
			(error == EAFNOSUPPORT || error == EADDRNOTAVAIL)) {
			wanted->core->log(wanted->core->core, LOG_INFO,
				"%s: this host has no IPv6: IPv4 alone", wanted->kind->name);
			continue;
		}
		if (error) {
			*again = error == EADDRINUSE && asked->port == 0 && any_port != 0;
			if (!*again || last_try)
				say_why(wanted, &address, error);
			give_up(out);
			return error == ENOMEM ? TAPI_ENOMEM : TAPI_ESYS;
		}
		out->at[out->n++] = one;
		if (asked->port == 0)
			any_port = one->bound.port;
	}
	return TAPI_OK;
}

enum tapi_result tapi_datagram_open(struct tapi_datagram_sockets *out,
	const struct tapi_datagram_sockets *old, const struct tapi_datagram_wanted *wanted)
{
	enum tapi_result result;
	bool again;

	for (unsigned i = 0; i < old->n; i++) // they would be in the way; they open again
		tapi_datagram_connected_close(old->at[i]);
	for (unsigned i = 1;; i++) {
		result = open_once(out, old, wanted, i == PORT_TRIES, &again);
		if (result == TAPI_OK || !again || i == PORT_TRIES)
			break;
	}
	for (unsigned i = 0; result == TAPI_OK && i < out->n; i++)
		set_buffers(out->at[i]->fd, wanted);
	return result;
}
