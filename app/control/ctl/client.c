// SPDX-License-Identifier: BSD-3-Clause
// Reads commands from clients of the control socket and writes the answers, within bounds.
#include "control/ctl/client.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/ctl/command.h"
#include "base/log.h"

struct client {
	TAILQ_ENTRY(client) entry;
	struct control_clients *owner;
	struct bufferevent *stream;
	struct event *deadline; // of a line that has begun
	bool running;           // in run_lines: nobody else frees it
	bool eof;               // sends nothing more; what is in the buffer is still answered
	bool closing;           // as soon as the answer has left
	struct request request;
};

struct control_clients {
	struct control_context *context;
	struct inquiries *inquiries;
	unsigned n;
	TAILQ_HEAD(, client) list;
};

static void client_free(struct client *client)
{
	if (request_is_open(&client->request))
		request_cancel(&client->request);
	TAILQ_REMOVE(&client->owner->list, client, entry);
	client->owner->n--;
	if (client->deadline)
		event_free(client->deadline);
	if (client->stream)
		bufferevent_free(client->stream);
	free(client);
}

static void answered(void *ctx, json_t *reply);

// Answers what is no command, and closes when that has left.
static void client_refuse(struct client *client, const char *text)
{
	client->closing = true;
	request_fail(&client->request, "%s", text);
}

// The clock of a line runs while there is a part of one, and nothing else to do.
static void deadline_set(struct client *client, size_t waiting)
{
	struct timeval patience = {.tv_sec = CONTROL_LINE_S};

	if (!waiting)
		event_del(client->deadline);
	else if (!evtimer_pending(client->deadline, NULL))
		event_add(client->deadline, &patience);
}

// Takes lines until one is answered later, an answer has to leave first, or there is none.
static void run_lines(struct client *client)
{
	struct evbuffer *input = bufferevent_get_input(client->stream);
	struct evbuffer *output = bufferevent_get_output(client->stream);

	client->running = true;
	while (!client->closing && !request_is_open(&client->request) &&
		evbuffer_get_length(output) == 0) {
		size_t length;
		char *line = evbuffer_readln(input, &length, EVBUFFER_EOL_LF);

		if (!line) {
			length = evbuffer_get_length(input);
			if (length >= CONTROL_LINE_MAX)
				client_refuse(client, "the line is too long");
			deadline_set(client, length);
			break;
		}
		event_del(client->deadline);
		if (length >= CONTROL_LINE_MAX)
			client_refuse(client, "the line is too long");
		else if (length)
			command_run(&client->request, line, length);
		free(line);
	}
	client->running = false;
	if (evbuffer_get_length(output) == 0 &&
		(client->closing || (client->eof && !request_is_open(&client->request))))
		client_free(client);
}

static void readable(struct bufferevent *stream, void *ctx)
{
	(void)stream;
	run_lines(ctx);
}

static void written(struct bufferevent *stream, void *ctx)
{
	struct client *client = ctx;

	// libevent also calls once when writing is enabled, maybe just after the first answer was
	// put.
	if (evbuffer_get_length(bufferevent_get_output(stream)))
		return;
	if (client->closing)
		client_free(client);
	else
		run_lines(client);
}

static void gone(struct bufferevent *stream, short what, void *ctx)
{
	struct client *client = ctx;

	if (what & BEV_EVENT_EOF && !(what & BEV_EVENT_ERROR)) { // both may come at once
		client->eof = true;
		bufferevent_disable(stream, EV_READ);
		run_lines(client);
		return;
	}
	if ((what & BEV_EVENT_TIMEOUT) && (what & BEV_EVENT_READING) &&
		(request_is_open(&client->request) ||
			evbuffer_get_length(bufferevent_get_output(stream)))) {
		bufferevent_enable(stream, EV_READ); // it waits for us, not we for it
		return;
	}
	if (what & BEV_EVENT_TIMEOUT)
		log_info("control socket: a client was dropped: it %s",
			what & BEV_EVENT_WRITING ? "does not read its answer" : "is idle");
	client_free(client);
}

static void line_late(evutil_socket_t fd, short what, void *ctx)
{
	struct client *client = ctx;

	(void)fd;
	(void)what;
	client->running = true;
	client_refuse(client, "the line did not end in time");
	client->running = false;
	if (!evbuffer_get_length(bufferevent_get_output(client->stream)))
		client_free(client);
}

static void answered(void *ctx, json_t *reply)
{
	struct client *client = ctx;
	char *text = reply ? json_dumps(reply, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(reply);
	if (!text) {
		client->closing = true;
	} else {
		bufferevent_write(client->stream, text, strlen(text));
		bufferevent_write(client->stream, "\n", 1);
		free(text);
	}
	// `written` goes on when this has left. Without memory it never comes; the client is then
	// freed by run_lines, or here if nobody is in there.
	if (!client->running && client->closing &&
		evbuffer_get_length(bufferevent_get_output(client->stream)) == 0)
		client_free(client);
}

static void refuse_connection(int fd)
{
	static const char busy[] =
		"{\"return\":\"NOK\",\"message\":\"too many clients; try again\"}\n";

	// All or nothing: a new connection has room for this.
	if (send(fd, busy, sizeof busy - 1, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		log_debug("control socket: %s", strerror(errno));
	close(fd);
}

void control_client_new(struct control_clients *clients, int fd)
{
	struct timeval idle = {.tv_sec = CONTROL_IDLE_S}, slow = {.tv_sec = CONTROL_WRITE_S};
	struct event_base *base = clients->context->base;
	struct client *client;

	if (clients->n >= CONTROL_CLIENTS_MAX) {
		refuse_connection(fd);
		return;
	}
	client = calloc(1, sizeof *client);
	if (!client) {
		refuse_connection(fd);
		return;
	}
	client->owner = clients;
	client->request = (struct request){
		.context = clients->context,
		.inquiries = clients->inquiries,
		.answer = answered,
		.ctx = client,
	};
	TAILQ_INSERT_TAIL(&clients->list, client, entry);
	clients->n++;
	evutil_make_socket_nonblocking(fd);
	// Deferred: no callback while we are still in one.
	client->stream =
		bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	client->deadline = evtimer_new(base, line_late, client);
	if (!client->stream || !client->deadline) {
		if (!client->stream)
			close(fd);
		client_free(client);
		return;
	}
	bufferevent_setcb(client->stream, readable, written, gone, client);
	bufferevent_set_timeouts(client->stream, &idle, &slow);
	bufferevent_setwatermark(client->stream, EV_READ, 0, CONTROL_LINE_MAX);
	bufferevent_enable(client->stream, EV_READ | EV_WRITE);
}

int control_clients_new(struct control_context *context, struct control_clients **out)
{
	struct control_clients *clients = calloc(1, sizeof *clients);

	if (!clients)
		return -ENOMEM;
	clients->context = context;
	TAILQ_INIT(&clients->list);
	if (inquiries_new(context->base, context->dp, context->now_ns, &clients->inquiries) < 0) {
		free(clients);
		return -ENOMEM;
	}
	*out = clients;
	return 0;
}

void control_clients_free(struct control_clients *clients)
{
	if (!clients)
		return;
	while (!TAILQ_EMPTY(&clients->list))
		client_free(TAILQ_FIRST(&clients->list));
	inquiries_free(clients->inquiries);
	free(clients);
}
