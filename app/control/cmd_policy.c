// SPDX-License-Identifier: BSD-3-Clause
// policy-show, policy-check, policy-reload.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "selection.h"
#include "tick.h"

#define RELOAD_POLL_MS    5
#define RELOAD_PATIENCE_S 10

static void put_state(json_t **parent, const struct control_context *context)
{
	const struct policy *policy = reload_policy(context->reload);
	const char *path = reload_path(context->reload);
	const struct sigdb *db = reload_sigdb(context->reload);

	put_number(parent, "generation", reload_generation(context->reload));
	put_text(parent, "path", path ? path : "");
	put_time(parent, "loaded", reload_loaded_ns(context->reload));
	put_number(parent, "rules", policy ? policy->n_rules : 0);
	put_number(parent, "signatures", db ? sigdb_count(db) : 0);
}

void cmd_policy_show(struct request *request, json_t *arguments)
{
	const struct control_context *context = request->context;
	const struct policy *policy = reload_policy(context->reload);
	json_t *message, *document;
	char *text;

	if (json_object_size(arguments)) {
		request_fail_arguments(request, "none expected");
		return;
	}
	if (!policy) {
		request_fail(request, "no policy is in force");
		return;
	}
	text = policy_dump(policy, context->names);
	document = text ? json_loads(text, 0, NULL) : NULL;
	free(text);
	message = json_object();
	put_state(&message, context);
	put_number(&message, "freed", reload_freed(context->reload));
	put_number(&message, "failures", reload_failures(context->reload));
	put_json(&message, "policy", document);
	request_ok(request, message);
}

// The path given, or that of the policy in force; false: answered.
static bool read_path(struct request *request, json_t *arguments, const char **path)
{
	json_error_t error;

	*path = NULL;
	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s?s}", "path", path) < 0) {
		request_fail_arguments(request, error.text);
		return false;
	}
	if (*path && **path != '/') {
		request_fail(request,
			"path: \"%.128s\" is not absolute, and the gateway stands in "
			"another directory than you",
			*path);
		return false;
	}
	if (!*path)
		*path = reload_path(request->context->reload);
	if (*path)
		return true;
	request_fail(request, "no policy is in force: name a path");
	return false;
}

void cmd_policy_check(struct request *request, json_t *arguments)
{
	struct config_errors errors = {0};
	const char *path;
	json_t *message;

	if (!read_path(request, arguments, &path))
		return;
	if (reload_check(request->context->reload, path, &errors) < 0) {
		char text[512];

		snprintf(text, sizeof text, "%s cannot be used", path);
		request_fail_errors(request, text, &errors);
	} else {
		message = json_object();
		put_text(&message, "path", path);
		put_text(&message, "result", "ok");
		request_ok(request, message);
	}
	config_errors_free(&errors);
}

struct reloading {
	uint64_t started_ns;
	uint64_t generation;
};

static void reload_wait(struct request *request)
{
	struct control_context *context = request->context;
	struct reloading *reloading = request->state;
	uint64_t now_ns = context->now_ns();
	json_t *message;

	if (!reload_step(context->reload)) {
		if (now_ns - reloading->started_ns > RELOAD_PATIENCE_S * NS_PER_S)
			request_fail(request,
				"generation %llu is published, but a data lcore has not taken it "
				"for %d s: it stands still (see heartbeat_ns in `stats`)",
				(unsigned long long)reloading->generation, RELOAD_PATIENCE_S);
		else
			request_wait(request, RELOAD_POLL_MS, reload_wait);
		return;
	}
	message = json_object();
	put_state(&message, context);
	put_number(&message, "took_ms", (now_ns - reloading->started_ns) / NS_PER_MS);
	log_notice("policy: generation %llu is in force on every lcore",
		(unsigned long long)reloading->generation);
	request_ok(request, message);
}

void cmd_policy_reload(struct request *request, json_t *arguments)
{
	struct control_context *context = request->context;
	struct config_errors errors = {0};
	struct reloading *reloading;
	char text[512];
	const char *path;
	char *copy;

	if (!read_path(request, arguments, &path))
		return;
	reloading = calloc(1, sizeof *reloading);
	if (!reloading) {
		request_fail(request, "no memory");
		return;
	}
	request->state = reloading;
	request->state_free = free;
	reloading->started_ns = context->now_ns();
	// The path may be the reload's own, which a success replaces.
	snprintf(text, sizeof text, "%s cannot be used; the old policy stays in force", path);
	copy = strdup(path);
	if (!copy) {
		request_fail(request, "no memory");
		return;
	}
	if (reload_load(context->reload, copy, context->now_ns(), &errors) < 0) {
		for (size_t i = 0; i < errors.n; i++)
			log_error("%s", errors.lines[i]);
		log_error("policy: %s", text);
		request_fail_errors(request, text, &errors);
	} else {
		reloading->generation = reload_generation(context->reload);
		log_notice("policy: %s loaded as generation %llu", copy,
			(unsigned long long)reloading->generation);
		reload_wait(request);
	}
	config_errors_free(&errors);
	free(copy);
}
