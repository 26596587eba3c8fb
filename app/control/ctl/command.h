// SPDX-License-Identifier: BSD-3-Clause
// The commands of the control socket. A command gets its arguments (an object, maybe empty) and
// answers its request exactly once, at once or later; whoever sent it may go away meanwhile.
// Control core only.
#ifndef SLUICE_CONTROL_COMMAND_H
#define SLUICE_CONTROL_COMMAND_H

#include "config/json_put.h"
#include "control/ctl/socket.h"
#include "control/cache/inquiry.h"

struct request {
	struct control_context *context;
	struct inquiries *inquiries;
	// Takes `reply`; NULL when there was no memory for one. Not called by request_cancel.
	void (*answer)(void *ctx, json_t *reply);
	void *ctx;
	bool of_page; // only what the page may ask
	// Of a command that answers later; cleared with the answer.
	const struct command *command;
	struct inquiry *inquiry;
	void (*ended)(struct request *request, const char *error); // of the inquiry
	struct event *timer;                                       // libevent's
	void (*done)(struct request *request);
	void *state;
	void (*state_free)(void *state);
};

struct command {
	const char *name;
	const char *arguments; // for the list of commands: "limit, app, host"
	const char *help;
	void (*run)(struct request *request, json_t *arguments);
};
extern const struct command *const command_list[]; // by alphabet, NULL ends it
// Heads the function of a command, and is all that makes it one: the build lists it
// (command_list.py), `help` and sluicectl know it. `symbol`: its name, with _ for -.
#define COMMAND(symbol, name_, arguments_, help_)                                         \
	static void run_##symbol(struct request *request, json_t *arguments);             \
	extern const struct command command_##symbol;                                     \
	const struct command command_##symbol = {name_, arguments_, help_, run_##symbol}; \
	static void run_##symbol(struct request *request, json_t *arguments)

// Parses `line` and runs it. Everything wrong with it is answered with NOK.
void command_run(struct request *request, const char *line, size_t length);
bool request_is_open(const struct request *request); // still owes its answer
void request_cancel(struct request *request);        // the client has gone

// {"return":"OK","message":MESSAGE}; takes it, NULL is answered as lack of memory.
void request_ok(struct request *request, json_t *message);
// {"return":"NOK","message":TEXT}
void request_fail(struct request *request, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
// The same, and what the command takes.
void request_fail_arguments(struct request *request, const char *text);
// {"return":"NOK","message":{"text":TEXT,"errors":[...],"errors_dropped":N}}
void request_fail_errors(
	struct request *request, const char *text, const struct config_errors *errors);
// Lines of struct config_errors as an array.
json_t *lines_json(char *const *lines, size_t n);
// NOK with what went wrong. False: nothing did (NULL), and nothing is answered.
bool request_failed(struct request *request, const char *error);
// Puts a question to the lcores, whose pages get the request; answers with NOK by itself if that
// cannot be. `ended`: as the question's end.
void request_ask(struct request *request, const struct inquiry_question *question,
	void (*ended)(struct request *request, const char *error));
// Calls back after `ms`, once; answers with NOK by itself if there is no memory.
void request_wait(struct request *request, unsigned ms, void (*done)(struct request *request));

// A policy's path (NULL: of the one in force) can be used. False: it is answered already.
bool policy_path_known(struct request *request, const char *path);

#endif
