// SPDX-License-Identifier: BSD-3-Clause
// The clients of the HTTP server: one request at a time, the next only when its answer has left.
// Control core only.
#ifndef SLUICE_HTTP_CLIENT_H
#define SLUICE_HTTP_CLIENT_H

#include <sys/queue.h>
#include "control/http/command.h"
#include "control/http/document.h"

struct http_client;

struct http_clients {
	struct event_base *base;
	struct http_documents *documents;
	struct http_commands commands;
	struct http_counts *counts;
	uint64_t (*now_ns)(void);
	bool loopback; // ask for the Host's name
	TAILQ_HEAD(, http_client) list;
};

// Takes the connected descriptor; `peer` is who it is, for the records.
void http_client_new(struct http_clients *clients, int fd, const char *peer);
void http_clients_free(struct http_clients *clients); // closes them all

#endif
