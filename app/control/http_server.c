// SPDX-License-Identifier: BSD-3-Clause
#include "http_server.h"

#include <errno.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "directory.h"
#include "http_address.h"
#include "http_client.h"
#include "log.h"
#include "pulse.h"
#include "recent.h"

#define BACKLOG 64

struct http_server {
	struct http_site site;
	struct pulse pulse;
	struct recent recent;
	struct http_counts counts;
	struct http_documents documents;
	struct http_clients clients;
	struct evconnlistener *listener;
	struct event *pause; // accept again after descriptors ran out
	struct http_address address;
	dev_t device; // of the unix socket's file that we made
	ino_t inode;
};

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int length, void *ctx)
{
	struct http_server *server = ctx;

	(void)listener;
	(void)address;
	(void)length;
	http_client_new(&server->clients, fd);
}

// As at the control socket: without a pause libevent would call again at once, for ever.
static void accept_failed(struct evconnlistener *listener, void *ctx)
{
	struct http_server *server = ctx;
	struct timeval delay = {.tv_sec = 1};

	log_warning("http: cannot accept: %s", strerror(errno));
	evconnlistener_disable(listener);
	event_add(server->pause, &delay);
}

static void accept_again(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	evconnlistener_enable(((struct http_server *)ctx)->listener);
}

// A unix socket that nobody answers at any more is in the way of the next one.
static void remove_dead(const struct http_address *address)
{
	struct stat st;
	int fd, rc;

	if (lstat(address->path.sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	rc = connect(fd, &address->any, address->length);
	if (rc < 0 && errno == ECONNREFUSED)
		unlink(address->path.sun_path);
	close(fd);
}

// As open as the control socket: its group may read.
static int bind_unix(struct http_server *server, int fd)
{
	mode_t mask;
	struct stat st;
	int rc;

	remove_dead(&server->address);
	directory_make_for(server->address.path.sun_path);
	mask = umask(0117);
	rc = bind(fd, &server->address.any, server->address.length) < 0 ? -errno : 0;
	umask(mask);
	if (rc == 0 && stat(server->address.path.sun_path, &st) == 0) {
		server->device = st.st_dev;
		server->inode = st.st_ino;
	}
	return rc;
}

// A listening descriptor, or -errno.
static int listen_at(struct http_server *server)
{
	const struct http_address *address = &server->address;
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, rc;

	if (fd < 0)
		return -errno;
	if (address->is_unix) {
		rc = bind_unix(server, fd);
	} else {
		// [::] means IPv6 alone, so that an address says what it opens.
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (address->any.sa_family == AF_INET6)
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
		rc = bind(fd, &address->any, address->length) < 0 ? -errno : 0;
	}
	if (rc == 0 && listen(fd, BACKLOG) < 0)
		rc = -errno;
	if (rc < 0) {
		close(fd);
		return rc;
	}
	return fd;
}

static void explain(const char *listen, int error, char *err, size_t err_len)
{
	const char *what =
		error == -EADDRINUSE ? "another program has it: stop that, or name another port"
		: error == -EADDRNOTAVAIL ? "no interface of this machine has this address"
		: error == -EACCES        ? "ports below 1024 and this folder are not for this user"
					  : "change http.listen, or set it to null";

	snprintf(err, err_len, "http.listen: cannot listen at %s: %s; %s", listen, strerror(-error),
		what);
}

int http_server_new(struct control_context *context, const char *listen, struct http_server **out,
	char *err, size_t err_len)
{
	struct http_server *server = calloc(1, sizeof *server);
	int fd;

	snprintf(err, err_len, "no memory for the HTTP server");
	if (!server)
		return -ENOMEM;
	TAILQ_INIT(&server->clients.list);
	server->site = (struct http_site){.context = context,
		.pulse = &server->pulse,
		.recent = &server->recent,
		.counts = &server->counts};
	server->documents.site = &server->site;
	server->clients.base = context->base;
	server->clients.documents = &server->documents;
	server->clients.counts = &server->counts;
	server->clients.now_ns = context->now_ns;
	if (http_address_parse(listen, &server->address) < 0) {
		snprintf(err, err_len, "http.listen: \"%s\" is no address", listen);
		free(server);
		return -EINVAL;
	}
	server->clients.loopback = server->address.is_local && !server->address.is_unix;
	server->pause = evtimer_new(context->base, accept_again, server);
	if (!server->pause || pulse_start(&server->pulse, context) < 0) {
		http_server_free(server);
		return -ENOMEM;
	}
	fd = listen_at(server);
	if (fd < 0) {
		explain(listen, fd, err, err_len);
		http_server_free(server);
		return fd;
	}
	server->listener = evconnlistener_new(context->base, accepted, server,
		LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!server->listener) {
		close(fd);
		http_server_free(server);
		return -ENOMEM;
	}
	// Last: the sink keeps the address for as long as it lives.
	if (context->sink && sink_listen(context->sink, recent_see, &server->recent) < 0) {
		snprintf(err, err_len, "too many listen to the events");
		http_server_free(server);
		return -ENOSPC;
	}
	evconnlistener_set_error_cb(server->listener, accept_failed);
	if (!server->address.is_local)
		log_warning("http: %s can be reached by other machines: whoever can, sees who is "
			    "blocked and why",
			listen);
	*out = server;
	return 0;
}

void http_server_free(struct http_server *server)
{
	struct stat st;

	if (!server)
		return;
	if (server->listener)
		evconnlistener_free(server->listener);
	if (server->pause)
		event_free(server->pause);
	pulse_stop(&server->pulse);
	http_clients_free(&server->clients);
	http_documents_free(&server->documents);
	// Somebody may have put another one there meanwhile.
	if (server->inode && lstat(server->address.path.sun_path, &st) == 0 &&
		st.st_dev == server->device && st.st_ino == server->inode)
		unlink(server->address.path.sun_path);
	free(server);
}
