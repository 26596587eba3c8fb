// SPDX-License-Identifier: BSD-3-Clause
// A command of the live page: POST /api/command with the body of a command of the control socket,
// run by the same code. Off unless there is a token (control/http/token.h). Only the commands that
// the table in control/ctl/command.c opens for the page; each is logged and reported as an event of
// type audit, with who asked. Control core only.
//
// Nothing that a browser sends by itself is enough: the token stands in a header of its own, the
// body is JSON, so that another page's script would have to ask first (and nobody answers), and
// where the browser says which page asks it has to be this one.
#ifndef SLUICE_HTTP_COMMAND_H
#define SLUICE_HTTP_COMMAND_H

#include "control/ctl/command.h"
#include "control/http/parse.h"
#include "control/http/site.h"
#include "control/http/token.h"

#define HTTP_COMMANDS_MAX 4 // at a time
#define HTTP_PEER_MAX     64

struct http_commands { // of a server
	struct control_context *context;
	struct inquiries *inquiries;
	struct http_token token;
	struct http_counts *counts;
	unsigned running;
};

struct http_command {
	struct http_commands *owner;
	const char *peer; // borrowed
	struct request request;
	char *name, *arguments; // for the record; may be NULL
	// The answer as text, or NULL: no memory. Takes it. Not called after a cancel.
	void (*done)(void *ctx, char *text);
	void *ctx;
};

// May this request's body be run? 0, or the status of the refusal.
int http_command_admit(
	struct http_commands *commands, const struct http_request *request, const char *peer);
// Once more when the body is here: others may have begun since. The same answer.
int http_command_check_room(const struct http_commands *commands);
// Runs it; `body` is borrowed for the call. `done` may be called within.
void http_command_start(struct http_command *command, const char *body, size_t length);
bool http_command_is_open(const struct http_command *command);
// Who asked has gone, or waits no longer. What the lcores were asked to do they may still do.
void http_command_cancel(struct http_command *command);

#endif
