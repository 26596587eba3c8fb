// SPDX-License-Identifier: BSD-3-Clause
// Opens the socket of the HTTP server, and accepts its clients.
#include "control/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/listener.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/http/census.h"
#include "base/directory.h"
#include "config/http_address.h"
#include "control/http/client.h"
#include "base/log.h"
#include "control/stats/rates.h"
#include "control/event/recent_verdicts.h"

#define BACKLOG 64

struct http_server {
	struct http_site site;
	struct rates rates;
	struct recent_verdicts recent_verdicts;
	struct census census;
	struct inquiries *inquiries; // of the census, and of commands
	struct http_counts counts;
	struct http_documents documents;
	struct http_clients clients;
	struct evconnlistener *listener;
	struct event *pause; // accept again after descriptors ran out
	struct http_address address;
	dev_t device; // of the unix socket's file that we made
	ino_t inode;
};

// Who connects: an address, or at a unix socket the user.
static void peer_text(int fd, const struct sockaddr *address, char *out, size_t out_len)
{
	struct ucred user;
	socklen_t length = sizeof user;
	char text[INET6_ADDRSTRLEN] = "?";

	if (address->sa_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)address;

		inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
		snprintf(out, out_len, "%s:%u", text, ntohs(v4->sin_port));
	} else if (address->sa_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)address;

		inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
		snprintf(out, out_len, "[%s]:%u", text, ntohs(v6->sin6_port));
	} else if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &length) == 0) {
		snprintf(out, out_len, "uid %u", user.uid);
	} else {
		snprintf(out, out_len, "unix");
	}
}

static void accepted(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address,
	int length, void *ctx)
{
	struct http_server *server = ctx;
	char peer[HTTP_PEER_MAX];

	(void)listener;
	(void)length;
	peer_text(fd, address, peer, sizeof peer);
	http_client_new(&server->clients, fd, peer);
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

// What it shows, and what it may do; a negative errno with its message.
static int prepare(struct http_server *server, struct control_context *context,
	const struct gateway *gateway, char *err, size_t err_len)
{
	struct http_commands *commands = &server->clients.commands;
	int rc;

	server->pause = evtimer_new(context->base, accept_again, server);
	if (!server->pause || rates_start(&server->rates, context) < 0 ||
		inquiries_new(context->base, context->dp, context->now_ns, &server->inquiries) <
			0 ||
		census_start(&server->census, context, server->inquiries, gateway->http.hosts) < 0)
		return -ENOMEM;
	*commands = (struct http_commands){
		.context = context, .inquiries = server->inquiries, .counts = &server->counts};
	rc = gateway->http.token_file
		     ? http_token_read(&commands->token, gateway->http.token_file, err, err_len)
		     : 0;
	server->site.actions = commands->token.set;
	server->site.names = gateway->http.names;
	return rc;
}

// Last: the sink keeps the addresses for as long as it lives.
static int hear(struct http_server *server)
{
	struct sink *sink = server->site.context->sink;
	int rc = sink ? sink_listen(sink, recent_verdicts_add, &server->recent_verdicts) : 0;

	return rc == 0 && sink ? sink_listen(sink, census_see, &server->census) : rc;
}

int http_server_new(struct control_context *context, const struct gateway *gateway,
	struct http_server **out, char *err, size_t err_len)
{
	struct http_server *server = calloc(1, sizeof *server);
	const char *listen = gateway->http.listen;
	int fd, rc;

	snprintf(err, err_len, "no memory for the HTTP server");
	if (!server)
		return -ENOMEM;
	TAILQ_INIT(&server->clients.list);
	server->site = (struct http_site){.context = context,
		.rates = &server->rates,
		.recent_verdicts = &server->recent_verdicts,
		.census = &server->census,
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
	rc = prepare(server, context, gateway, err, err_len);
	if (rc < 0) {
		http_server_free(server);
		return rc;
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
	if (hear(server) < 0) {
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
	rates_stop(&server->rates);
	http_clients_free(&server->clients);
	census_stop(&server->census);
	inquiries_free(server->inquiries);
	http_documents_free(&server->documents);
	// Somebody may have put another one there meanwhile.
	if (server->inode && lstat(server->address.path.sun_path, &st) == 0 &&
		st.st_dev == server->device && st.st_ino == server->inode)
		unlink(server->address.path.sun_path);
	free(server);
}
