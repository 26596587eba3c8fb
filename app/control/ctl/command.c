// SPDX-License-Identifier: BSD-3-Clause
// Finds control commands by name, and keeps each request until it is answered.
#include "control/ctl/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What who has the page's token may ask, too (control/http/command.h).
static const char *const of_page[] = {"version", "flow-list", "flow-show", "explain", "flow-reset",
	"flow-allow", "cache-list", "cache-add", "cache-del", NULL};

static void request_end(struct request *request)
{
	if (request->timer)
		event_free(request->timer);
	if (request->state)
		request->state_free(request->state);
	request->command = NULL;
	request->inquiry = NULL;
	request->timer = NULL;
	request->state = NULL;
	request->state_free = NULL;
}

static void reply(struct request *request, const char *result, json_t *message)
{
	json_t *object = json_object();

	put_text(&object, "return", result);
	put_json(&object, "message", message); // none is lack of memory: no object either
	request_end(request);                  // the answer may run the next command
	request->answer(request->ctx, object);
}

void request_ok(struct request *request, json_t *message)
{
	if (!message) {
		request_fail(request, "no memory for the answer");
		return;
	}
	reply(request, "OK", message);
}

void request_fail(struct request *request, const char *format, ...)
{
	char text[512];
	json_t *message;
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	message = json_string(text);
	// What a client wrote may be quoted, and cut within a character.
	reply(request, "NOK", message ? message : json_string("not UTF-8"));
}

json_t *lines_json(char *const *lines, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++) {
		json_t *line = json_string(lines[i]);

		put_item(&list, line ? line : json_string("? (not UTF-8)"));
	}
	return list;
}

void request_fail_errors(
	struct request *request, const char *text, const struct config_errors *errors)
{
	json_t *message = json_object();

	put_text(&message, "text", text);
	put_json(&message, "errors", lines_json(errors->lines, errors->n));
	if (errors->dropped)
		put_number(&message, "errors_dropped", errors->dropped);
	reply(request, "NOK", message);
}

void request_fail_arguments(struct request *request, const char *text)
{
	const char *names = request->command->arguments;

	request_fail(request, "arguments: %s; %s takes %s", text, request->command->name,
		*names ? names : "none");
}

static void ask_ended(void *ctx, const char *error)
{
	struct request *request = ctx;

	request->ended(request, error);
}

void request_ask(struct request *request, const struct inquiry_question *question,
	void (*ended)(struct request *request, const char *error))
{
	struct inquiry_question asked = *question;
	int rc;

	request->ended = ended;
	asked.end = ask_ended;
	asked.ctx = request;
	rc = inquiry_start(request->inquiries, &asked, &request->inquiry);
	if (rc == -EBUSY)
		request_fail(request, "too many questions to the data lcores are open; try again, "
				      "and if it stays so look for a stalled lcore in `stats`");
	else if (rc < 0)
		request_fail(request, "no memory for the question");
}

bool request_failed(struct request *request, const char *error)
{
	if (error)
		request_fail(request, "%s", error);
	return error;
}

static void timer_done(evutil_socket_t fd, short what, void *ctx)
{
	struct request *request = ctx;

	(void)fd;
	(void)what;
	request->done(request);
}

void request_wait(struct request *request, unsigned ms, void (*done)(struct request *request))
{
	struct timeval delay = {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};

	request->done = done;
	if (!request->timer)
		request->timer = evtimer_new(request->context->base, timer_done, request);
	if (!request->timer || event_add(request->timer, &delay) < 0)
		request_fail(request, "no memory for a timer");
}

bool request_is_open(const struct request *request)
{
	return request->command != NULL;
}

void request_cancel(struct request *request)
{
	if (request->inquiry)
		inquiry_cancel(request->inquiry);
	request_end(request);
}

static bool is_of_page(const char *name)
{
	unsigned i = 0;

	while (of_page[i] && strcmp(of_page[i], name))
		i++;
	return of_page[i];
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; command_list[i]; i++) {
		if (!strcmp(command_list[i]->name, name))
			return command_list[i];
	}
	return NULL;
}

void command_run(struct request *request, const char *line, size_t length)
{
	static const struct command unknown = {.name = "?"};
	json_t *root, *arguments = NULL, *empty = NULL;
	const char *name = NULL;
	json_error_t error;

	request->command = &unknown;
	root = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
	if (!root && !error.text[0]) { // jansson says nothing of this one
		request_fail(request, "no memory");
		return;
	}
	if (!root) {
		request_fail(request, "not a JSON object on one line: %s (column %d)", error.text,
			error.column);
		return;
	}
	if (json_unpack_ex(root, &error, JSON_STRICT, "{s:s, s?o}", "command", &name, "arguments",
		    &arguments) < 0) {
		request_fail(request, "expected {\"command\": NAME, \"arguments\": {...}}: %s",
			error.text);
		goto out;
	}
	if (arguments && !json_is_object(arguments)) {
		request_fail(request, "\"arguments\" is not an object");
		goto out;
	}
	request->command = command_find(name);
	if (!request->command) {
		request->command = &unknown;
		request_fail(request, "no command \"%.64s\"; \"help\" lists them", name);
		goto out;
	}
	if (request->of_page && !is_of_page(name)) {
		request_fail(request, "%s is not for the page; use sluicectl", name);
		goto out;
	}
	empty = arguments ? NULL : json_object();
	if (!arguments && !empty)
		request_fail(request, "no memory");
	else
		request->command->run(request, arguments ? arguments : empty);
out:
	json_decref(empty);
	json_decref(root);
}

COMMAND(help, "help", "", "the commands")
{
	json_t *list = json_array();

	(void)arguments;
	for (size_t i = 0; list && command_list[i]; i++) {
		json_t *entry = json_object();

		put_text(&entry, "command", command_list[i]->name);
		put_text(&entry, "arguments", command_list[i]->arguments);
		put_text(&entry, "help", command_list[i]->help);
		if (json_array_append_new(list, entry) < 0) {
			json_decref(list);
			list = NULL;
		}
	}
	request_ok(request, list);
}
