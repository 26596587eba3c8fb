// SPDX-License-Identifier: BSD-3-Clause
// Accepts stream connections within limits, and pauses when no descriptor is left.
#include "transportapi/transport/accept.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "transportapi/base/budget.h"

#define ACCEPTS_PER_EVENT 64u
#define REST_US           100000

static void rest(struct tapi_accepting *accepting)
{
	static const struct timeval span = {.tv_usec = REST_US};
	struct tapi_accept_socket *socket;

	if (accepting->resting || event_add(&accepting->resume, &span))
		return;
	accepting->resting = true;
	TAILQ_FOREACH (socket, &accepting->sockets, entry)
		event_del(&socket->acceptable);
}

static void on_resume(evutil_socket_t fd, short what, void *context)
{
	struct tapi_accepting *accepting = context;
	struct tapi_accept_socket *socket;

	(void)fd;
	(void)what;
	accepting->resting = false;
	TAILQ_FOREACH (socket, &accepting->sockets, entry)
		event_add(&socket->acceptable, NULL);
}

static void reserve_take(struct tapi_accepting *accepting)
{
	if (accepting->reserve < 0)
		accepting->reserve = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

// accept() failed for want of something. A connection that waits would wake the loop for ever: it
// is taken with the descriptor that is kept for this, and closed; else nobody listens for a while.
static void starved(struct tapi_accept_socket *socket, int error)
{
	struct tapi_accepting *accepting = socket->of;
	const struct tapi_core_api *core = accepting->core;

	if (!accepting->complained) {
		core->log(core->core, LOG_ERR,
			"%s: cannot accept connections: %s; they are refused (raise LimitNOFILE, "
			"or lower %s.max_sessions)",
			accepting->name, strerror(error), accepting->name);
		accepting->complained = true;
	}
	if ((error == EMFILE || error == ENFILE) && accepting->reserve >= 0) {
		close(accepting->reserve);
		accepting->reserve = -1;
		const int fd = accept4(socket->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			++*accepting->refused;
			close(fd);
		}
		reserve_take(accepting);
		if (fd >= 0 && accepting->reserve >= 0)
			return;
	}
	rest(accepting);
}

static void on_acceptable(evutil_socket_t listening, short what, void *context)
{
	struct tapi_accept_socket *socket = context;
	struct tapi_accepting *accepting = socket->of;

	(void)what;
	for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
		struct sockaddr_storage system;
		socklen_t length = sizeof(system);
		const int fd = accept4(listening, (struct sockaddr *)&system, &length,
			SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (errno == EAGAIN)
				return;
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
				errno == ENOMEM || errno == EBADF || errno == EINVAL)
				starved(socket, errno);
			if (accepting->resting)
				return;
			continue; // the connection failed before it was ours (accept(2))
		}
		accepting->complained = false;
		accepting->taken(accepting->context, fd, &system, length);
		// Who gave way for it closes in the loop's next turn, and the next one waits for
		// that.
		if (tapi_budget_no_descriptor(accepting->core->budget))
			return;
	}
}

bool tapi_accepting_add(struct tapi_accepting *accepting, struct tapi_accept_socket *socket, int fd)
{
	*socket = (struct tapi_accept_socket){.of = accepting, .fd = fd};
	if (event_assign(&socket->acceptable, accepting->core->base, fd, EV_READ | EV_PERSIST,
		    on_acceptable, socket) ||
		(!accepting->resting && event_add(&socket->acceptable, NULL)))
		return false;
	TAILQ_INSERT_TAIL(&accepting->sockets, socket, entry);
	reserve_take(accepting);
	return true;
}

void tapi_accepting_remove(struct tapi_accept_socket *socket)
{
	TAILQ_REMOVE(&socket->of->sockets, socket, entry);
	event_del(&socket->acceptable);
	close(socket->fd);
}

void tapi_accepting_close(struct tapi_accepting *accepting)
{
	event_del(&accepting->resume);
	accepting->resting = false;
	if (accepting->reserve >= 0)
		close(accepting->reserve);
	accepting->reserve = -1;
}

enum tapi_result tapi_accepting_init(struct tapi_accepting *accepting)
{
	accepting->reserve = -1;
	accepting->resting = accepting->complained = false;
	TAILQ_INIT(&accepting->sockets);
	return event_assign(&accepting->resume, accepting->core->base, -1, 0, on_resume, accepting)
		       ? TAPI_ENOMEM
		       : TAPI_OK;
}
