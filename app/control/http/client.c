// SPDX-License-Identifier: BSD-3-Clause
// Reads requests of HTTP clients and writes the answers, one at a time for each client.
#include "control/http/client.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <openssl/crypto.h>
#include <rte_common.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control/http/server.h"
#include "base/log.h"
#include "pipeline/vocab/tick.h"

#define LINGER_BYTES (1u << 20) // of what a refused client still sends
#define SPARE_NS     NS_PER_S   // a client younger than this in its state is not given up

enum state {
	STATE_IDLE,    // between requests
	STATE_HEAD,    // a request has begun
	STATE_BODY,    // of a command, of which not all is here
	STATE_RUNNING, // it is run
	STATE_SENDING, // its answer is leaving
	STATE_LINGER,  // refused; what it still sends is thrown away
};

struct http_client {
	TAILQ_ENTRY(http_client) entry;
	struct http_clients *owner;
	struct bufferevent *stream;
	struct event *deadline;
	enum state state;
	uint64_t since_ns; // in this state
	size_t seen;       // http_head_find
	size_t thrown;     // STATE_LINGER: bytes
	bool eof;          // sends nothing more; what it asked is still answered
	bool last;         // close when the answer has left
	bool refused;      // and linger before that
	size_t body;       // STATE_BODY: bytes
	struct http_command command;
	char peer[HTTP_PEER_MAX];
};

static void client_free(struct http_client *client)
{
	TAILQ_REMOVE(&client->owner->list, client, entry);
	client->owner->counts->open--;
	http_command_cancel(&client->command);
	if (client->deadline)
		event_free(client->deadline);
	if (client->stream)
		bufferevent_free(client->stream);
	free(client);
}

static void enter(struct http_client *client, enum state state)
{
	static const int patience_s[] = {
		HTTP_IDLE_S, HTTP_HEAD_S, HTTP_HEAD_S, HTTP_RUN_S, HTTP_SEND_S, HTTP_LINGER_S};
	struct timeval patience = {.tv_sec = patience_s[state]};

	client->state = state;
	client->since_ns = client->owner->now_ns();
	event_add(client->deadline, &patience);
}

static const char *status_text(int status)
{
	switch (status) {
	case 200: return "OK";
	case 400: return "Bad Request";
	case 401: return "Unauthorized";
	case 403: return "Forbidden";
	case 404: return "Not Found";
	case 405: return "Method Not Allowed";
	case 408: return "Request Timeout";
	case 411: return "Length Required";
	case 413: return "Content Too Large";
	case 414: return "URI Too Long";
	case 415: return "Unsupported Media Type";
	case 421: return "Misdirected Request";
	case 429: return "Too Many Requests";
	case 431: return "Request Header Fields Too Large";
	case 501: return "Not Implemented";
	case 503: return "Service Unavailable";
	case 504: return "Gateway Timeout";
	case 505: return "HTTP Version Not Supported";
	default: return "Error";
	}
}

static const char *status_advice(int status)
{
	switch (status) {
	case 401:
		return "The token is missing or wrong: it is in http.token_file of gateway.json.\n";
	case 403: return "Only the page of this server may ask this.\n";
	case 404: return "Here are / (the page), /metrics and /api/.\n";
	case 405: return "Only GET and HEAD: nothing can be changed here.\n";
	case 413: return "A request has no body here, and a command at most 4,096 bytes.\n";
	case 415: return "A command is sent as application/json.\n";
	case 421:
		return "This server is asked as localhost, 127.0.0.1 or [::1]. Behind a proxy, let "
		       "that set the Host to localhost.\n";
	case 429: return "The token is wrong, and too many wrong ones came before.\n";
	case 504: return "The command takes too long. What it has begun may still be done.\n";
	default: return "";
	}
}

static const char *status_header(int status)
{
	switch (status) {
	case 401: return "WWW-Authenticate: Bearer\r\n";
	case 405: return "Allow: GET, HEAD\r\n";
	case 429: return "Retry-After: " RTE_STR(HTTP_TOKEN_REFILL_S) "\r\n";
	case 503: return "Retry-After: 1\r\n";
	default: return "";
	}
}

static void put_head(struct http_client *client, int status, const char *type, size_t length)
{
	struct evbuffer *output = bufferevent_get_output(client->stream);
	time_t now = (time_t)(client->owner->now_ns() / NS_PER_S);
	char date[40];
	struct tm tm;

	gmtime_r(&now, &tm);
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &tm);
	evbuffer_add_printf(output,
		"HTTP/1.1 %d %s\r\n"
		"Date: %s\r\n"
		"Content-Type: %s\r\n"
		"Content-Length: %zu\r\n"
		"Cache-Control: no-store\r\n"
		"Content-Security-Policy: default-src 'self'; base-uri 'none'; "
		"form-action 'none'; frame-ancestors 'none'\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\n"
		"Referrer-Policy: no-referrer\r\n"
		"Vary: Accept\r\n"
		"X-Content-Type-Options: nosniff\r\n"
		"%s"
		"Connection: %s\r\n"
		"\r\n",
		status, status_text(status), date, type, length, status_header(status),
		client->last ? "close" : "keep-alive");
}

static void count_error(struct http_counts *counts, int status)
{
	switch (status) {
	case 401:
	case 403:
	case 429: break; // http_command_admit has counted why
	case 404: counts->not_found++; break;
	case 408:
	case 504: counts->timed_out++; break;
	case 503: counts->refused++; break;
	default: counts->malformed++;
	}
}

// An answer of a few words. Those to requests that were understood leave the connection open.
static void answer_error(struct http_client *client, int status, bool head_only)
{
	const char *advice = status_advice(status);
	size_t length = 4 + strlen(status_text(status)) + 1 + strlen(advice);

	if (status != 404)
		client->last = client->refused = true;
	count_error(client->owner->counts, status);
	put_head(client, status, "text/plain; charset=utf-8", length);
	if (!head_only)
		evbuffer_add_printf(bufferevent_get_output(client->stream), "%d %s\n%s", status,
			status_text(status), advice);
	enter(client, STATE_SENDING);
}

static void document_sent(const void *bytes, size_t length, void *ctx)
{
	(void)bytes;
	(void)length;
	http_document_put(ctx);
}

static bool is_this_machine(const struct http_request *request)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	if (!request->has_host) // HTTP/1.0: no browser of today
		return true;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(request->host, names[i]) == 0)
			return true;
	}
	return false;
}

static void command_done(void *ctx, char *text)
{
	struct http_client *client = ctx;

	if (!text) {
		answer_error(client, 503, false);
		return;
	}
	client->owner->counts->requests++;
	put_head(client, 200, "application/json", strlen(text));
	evbuffer_add(bufferevent_get_output(client->stream), text, strlen(text));
	free(text);
	enter(client, STATE_SENDING);
}

static void begin_command(struct http_client *client, const struct http_request *request)
{
	struct http_commands *commands = &client->owner->commands;
	int status = http_command_admit(commands, request, client->peer);

	if (status) {
		answer_error(client, status, false);
		return;
	}
	client->command = (struct http_command){
		.owner = commands, .peer = client->peer, .done = command_done, .ctx = client};
	client->body = request->length;
	enter(client, STATE_BODY);
}

static bool take_body(struct http_client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	const char *bytes;
	int status;

	if (evbuffer_get_length(input) < client->body) {
		if (client->eof) { // it will never be whole
			client_free(client);
			return true;
		}
		return false;
	}
	bytes = client->body ? (const char *)evbuffer_pullup(input, (ev_ssize_t)client->body) : "";
	status = bytes ? http_command_check_room(&client->owner->commands) : 503;
	if (status) {
		answer_error(client, status, false);
	} else {
		enter(client, STATE_RUNNING);
		http_command_start(&client->command, bytes, client->body);
	}
	evbuffer_drain(input, client->body);
	return false;
}

static void answer(struct http_client *client, const struct http_request *request)
{
	const struct http_place *place;
	struct http_document *document;

	client->last |= !request->keep_alive;
	if (client->owner->loopback && !is_this_machine(request)) {
		answer_error(client, 421, request->head);
		return;
	}
	if (request->post) {
		begin_command(client, request);
		return;
	}
	place = http_place_find(request);
	if (!place) {
		answer_error(client, 404, request->head);
		return;
	}
	document = http_document_get(client->owner->documents, place);
	if (!document) {
		answer_error(client, 503, request->head);
		return;
	}
	client->owner->counts->requests++;
	put_head(client, 200, place->type, document->length);
	if (request->head || !document->length ||
		evbuffer_add_reference(bufferevent_get_output(client->stream), document->bytes,
			document->length, document_sent, document) < 0)
		http_document_put(document);
	enter(client, STATE_SENDING);
}

// Takes one request, if there is one. True: the client is gone.
static bool take_request(struct http_client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	size_t length = evbuffer_get_length(input);
	struct http_request request;
	const char *bytes;
	long head;
	int status;

	if (client->state == STATE_BODY)
		return take_body(client);
	if (!length) {
		if (client->eof) {
			client_free(client);
			return true;
		}
		return false;
	}
	if (client->state == STATE_IDLE) {
		client->seen = 0;
		enter(client, STATE_HEAD);
	}
	if (length > HTTP_HEAD_MAX)
		length = HTTP_HEAD_MAX;
	bytes = (const char *)evbuffer_pullup(input, (ev_ssize_t)length);
	head = bytes ? http_head_find(bytes, length, &client->seen) : -503;
	if (head < 0) {
		answer_error(client, (int)-head, false);
	} else if (!head) {
		if (length >= HTTP_HEAD_MAX) {
			answer_error(client, 431, false);
		} else if (client->eof) { // it will never end
			client_free(client);
			return true;
		}
	} else {
		status = http_head_parse(bytes, (size_t)head, &request);
		evbuffer_drain(input, (size_t)head);
		if (status)
			answer_error(client, status, request.head);
		else
			answer(client, &request);
		OPENSSL_cleanse(request.token, sizeof request.token);
		if (client->state == STATE_BODY)
			return take_body(client);
	}
	return false;
}

// True: the client is gone.
static bool throw_away(struct http_client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);

	client->thrown += evbuffer_get_length(input);
	evbuffer_drain(input, evbuffer_get_length(input));
	if (!client->eof && client->thrown <= LINGER_BYTES)
		return false;
	client_free(client);
	return true;
}

static void readable(struct bufferevent *stream, void *ctx)
{
	struct http_client *client = ctx;

	(void)stream;
	// While a command runs or an answer leaves, the next request waits: in the buffer, then in
	// the socket.
	if (client->state == STATE_LINGER)
		throw_away(client);
	else if (client->state != STATE_SENDING && client->state != STATE_RUNNING)
		take_request(client);
}

static void written(struct bufferevent *stream, void *ctx)
{
	struct http_client *client = ctx;

	// libevent also calls once when writing is enabled, maybe just after the first answer was
	// put.
	if (client->state != STATE_SENDING || evbuffer_get_length(bufferevent_get_output(stream)))
		return;
	if (client->refused) {
		// Closing with unread input would reset the connection, and the answer with it.
		shutdown(bufferevent_getfd(stream), SHUT_WR);
		enter(client, STATE_LINGER);
		throw_away(client);
	} else if (client->last) {
		client_free(client);
	} else {
		enter(client, STATE_IDLE);
		take_request(client);
	}
}

static void gone(struct bufferevent *stream, short what, void *ctx)
{
	struct http_client *client = ctx;

	// Of one turn of the loop, both: it sends nothing more, and takes nothing more.
	if (what & BEV_EVENT_ERROR || !(what & BEV_EVENT_EOF)) {
		client_free(client);
		return;
	}
	client->eof = true;
	bufferevent_disable(stream, EV_READ);
	readable(stream, client);
}

static void late(evutil_socket_t fd, short what, void *ctx)
{
	struct http_client *client = ctx;

	(void)fd;
	(void)what;
	if (client->state == STATE_HEAD || client->state == STATE_BODY) {
		answer_error(client, 408, false);
		return;
	}
	if (client->state == STATE_RUNNING) {
		http_command_cancel(&client->command);
		answer_error(client, 504, false);
		return;
	}
	if (client->state == STATE_SENDING) {
		client->owner->counts->timed_out++;
		log_info("http: a client was dropped: it does not read its answer");
	}
	client_free(client);
}

static void refuse_connection(struct http_clients *clients, int fd)
{
	static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
				   "Retry-After: 1\r\nConnection: close\r\n\r\n";

	clients->counts->refused++;
	// All or nothing: a new connection has room for this.
	if (send(fd, busy, sizeof busy - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("http: %s", strerror(errno));
	close(fd);
}

// Gives up who has been idle or slow for longest. False: everybody is busy.
static bool make_room(struct http_clients *clients)
{
	struct http_client *client, *oldest = NULL;
	uint64_t now_ns = clients->now_ns();

	TAILQ_FOREACH (client, &clients->list, entry) {
		if (now_ns - client->since_ns >= SPARE_NS && client->state != STATE_RUNNING &&
			(!oldest || client->since_ns < oldest->since_ns))
			oldest = client;
	}
	if (!oldest)
		return false;
	client_free(oldest);
	return true;
}

void http_client_new(struct http_clients *clients, int fd, const char *peer)
{
	struct http_client *client;

	if (clients->counts->open >= HTTP_CLIENTS_MAX && !make_room(clients)) {
		refuse_connection(clients, fd);
		return;
	}
	client = calloc(1, sizeof *client);
	if (!client) {
		refuse_connection(clients, fd);
		return;
	}
	client->owner = clients;
	snprintf(client->peer, sizeof client->peer, "%s", peer);
	TAILQ_INSERT_TAIL(&clients->list, client, entry);
	clients->counts->open++;
	clients->counts->connections++;
	evutil_make_socket_nonblocking(fd);
	// Deferred: no callback while we are still in one.
	client->stream = bufferevent_socket_new(
		clients->base, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	client->deadline = evtimer_new(clients->base, late, client);
	if (!client->stream || !client->deadline) {
		if (!client->stream)
			close(fd);
		client_free(client);
		return;
	}
	bufferevent_setcb(client->stream, readable, written, gone, client);
	bufferevent_setwatermark(client->stream, EV_READ, 0, HTTP_HEAD_MAX);
	enter(client, STATE_IDLE);
	bufferevent_enable(client->stream, EV_READ | EV_WRITE);
}

void http_clients_free(struct http_clients *clients)
{
	while (!TAILQ_EMPTY(&clients->list))
		client_free(TAILQ_FIRST(&clients->list));
}
