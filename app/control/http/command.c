// SPDX-License-Identifier: BSD-3-Clause
// Runs a control command that the live page has posted.
#include "control/http/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void record(const struct http_commands *commands, const struct audit_report *report)
{
	struct control_context *context = commands->context;

	log_notice("page: %s: %s %s: %s%s%.200s", report->peer, report->command, report->arguments,
		report->result, *report->message ? ": " : "", report->message);
	if (context->sink)
		sink_audit_event(context->sink, context->now_ns(), report);
}

// Which page asks: this one, or a program that is no browser.
static bool is_own_page(const struct http_request *request)
{
	if (request->has_site) // the browser's own word, also behind a proxy
		return request->same_site;
	return !request->has_origin || strcmp(request->origin, request->authority) == 0;
}

static int refuse(struct http_commands *commands, const char *peer, const char *why, int status)
{
	record(commands, &(struct audit_report){.peer = peer,
				 .command = "none",
				 .arguments = "{}",
				 .result = "refused",
				 .message = why});
	return status;
}

int http_command_admit(
	struct http_commands *commands, const struct http_request *request, const char *peer)
{
	if (!commands->token.set)
		return 405;
	if (!request->json)
		return 415;
	if (!is_own_page(request) || !request->has_token) {
		commands->counts->no_token++;
		return request->has_token ? 403 : 401;
	}
	switch (http_token_try(&commands->token, request->token, strlen(request->token),
		commands->context->now_ns())) {
	case HTTP_TOKEN_RIGHT: break;
	case HTTP_TOKEN_WRONG:
		commands->counts->bad_token++;
		return refuse(commands, peer, "wrong token", 401);
	case HTTP_TOKEN_THROTTLED: commands->counts->throttled++; return 429;
	}
	return http_command_check_room(commands);
}

int http_command_check_room(const struct http_commands *commands)
{
	return commands->running >= HTTP_COMMANDS_MAX ? 503 : 0;
}

// What the record says of it: a name that is one, and arguments that are escaped.
static void remember(struct http_command *command, const char *body, size_t length)
{
	json_t *root = json_loadb(body, length, JSON_REJECT_DUPLICATES, NULL);
	const char *name = json_string_value(json_object_get(root, "command"));
	const json_t *arguments = json_object_get(root, "arguments");

	if (name && strspn(name, "abcdefghijklmnopqrstuvwxyz-") == strlen(name))
		command->name = strndup(name, 64);
	if (json_is_object(arguments))
		command->arguments = json_dumps(arguments, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(root);
}

static void forget(struct http_command *command)
{
	free(command->name);
	free(command->arguments);
	command->name = command->arguments = NULL;
}

static void report(struct http_command *command, const char *result, const char *message)
{
	record(command->owner, &(struct audit_report){.peer = command->peer,
				       .command = command->name ? command->name : "none",
				       .arguments = command->arguments ? command->arguments : "{}",
				       .result = result,
				       .message = message ? message : ""});
	forget(command);
}

static void answered(void *ctx, json_t *reply)
{
	struct http_command *command = ctx;
	const char *result = json_string_value(json_object_get(reply, "return"));
	char *text = reply ? json_dumps(reply, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	report(command, result ? result : "NOK",
		json_string_value(json_object_get(reply, "message")));
	json_decref(reply);
	command->owner->running--;
	command->done(command->ctx, text);
}

void http_command_start(struct http_command *command, const char *body, size_t length)
{
	struct http_commands *owner = command->owner;

	owner->running++;
	owner->counts->commands++;
	remember(command, body, length);
	command->request = (struct request){.context = owner->context,
		.inquiries = owner->inquiries,
		.answer = answered,
		.ctx = command,
		.of_page = true};
	command_run(&command->request, body, length);
}

bool http_command_is_open(const struct http_command *command)
{
	return request_is_open(&command->request);
}

void http_command_cancel(struct http_command *command)
{
	if (!http_command_is_open(command)) // or none has begun
		return;
	request_cancel(&command->request);
	command->owner->running--;
	report(command, "unknown", "nobody waited for the answer");
}
