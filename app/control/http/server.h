// SPDX-License-Identifier: BSD-3-Clause
// The HTTP server: metrics, the live page and what it reads, on the control core's libevent
// loop. Read-only: GET and HEAD, no bodies, nothing that changes anything; so it asks nobody for a
// password, and listens where other machines cannot reach it unless it is reported otherwise. With
// a token the page may also run some commands (control/http/command.h).
//
// A client costs at most one connection of HTTP_CLIENTS_MAX, HTTP_HEAD_MAX bytes of input, one
// answer (a reference to a shared document) and a while. When all are taken, the one that has
// been idle or slow for longest makes room. On loopback the Host that a request names has to be
// this machine: a page from elsewhere must not read through a browser (DNS rebinding).
#ifndef SLUICE_HTTP_SERVER_H
#define SLUICE_HTTP_SERVER_H

#include "config/gateway.h"
#include "control/http/site.h"

#define HTTP_CLIENTS_MAX 64
#define HTTP_HEAD_S      5  // from a request's first byte to its empty line
#define HTTP_RUN_S       30 // for a command of the page
#define HTTP_SEND_S      20 // until an answer has been taken
#define HTTP_IDLE_S      75 // between two requests
#define HTTP_LINGER_S    1  // for the other end to see why it was refused

struct http_server;

// As gateway->http says, which outlives it. A negative errno and a message that says what to do.
int http_server_new(struct control_context *context, const struct gateway *gateway,
	struct http_server **out, char *err, size_t err_len);
// The sink must not drain any more. Removes a unix socket; NULL is allowed.
void http_server_free(struct http_server *server);

#endif
