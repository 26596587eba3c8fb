// SPDX-License-Identifier: BSD-3-Clause
// The commands policy-show, policy-check and policy-reload.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "control/ctl/list_filter.h"
#include "pipeline/vocab/tick.h"

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
	put_number(parent, "applications", policy ? policy->n_applications : 0);
}

COMMAND(policy_show, "policy-show", "", "the policy in force")
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

bool policy_path_known(struct request *request, const char *path)
{
	if (path && *path != '/') {
		request_fail(request,
			"path: \"%.128s\" is not absolute, and the gateway stands in "
			"another directory than you",
			path);
		return false;
	}
	if (path || reload_path(request->context->reload))
		return true;
	request_fail(request, "no policy is in force: name a path");
	return false;
}

// The path given, or NULL for that of the policy in force; false: answered.
static bool read_path(struct request *request, json_t *arguments, const char **path)
{
	json_error_t error;

	*path = NULL;
	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s?s}", "path", path) < 0) {
		request_fail_arguments(request, error.text);
		return false;
	}
	return policy_path_known(request, *path);
}

// A reload or a check under way; the state of its request.
struct asking {
	struct request *request;
	struct reload_request *wait; // NULL: it was answered
	char *path;                  // as given, or that in force when it was asked for
	bool check;
	uint64_t started_ns;
	uint64_t published_ns; // compiling may have taken a busy machine seconds
	uint64_t generation;
	json_t *warnings; // NULL: none
};

static void asking_free(void *state)
{
	struct asking *asking = state;

	if (asking->wait)
		reload_forget(asking->wait);
	json_decref(asking->warnings);
	free(asking->path);
	free(asking);
}

static void put_warnings(json_t **parent, const struct asking *asking)
{
	if (asking->warnings)
		put_json(parent, "warnings", json_incref(asking->warnings));
}

static void in_force_wait(struct request *request)
{
	struct control_context *context = request->context;
	struct asking *asking = request->state;
	uint64_t now_ns = context->now_ns();
	json_t *message;

	if (!reload_step(context->reload, now_ns)) {
		if (now_ns - asking->published_ns > RELOAD_PATIENCE_S * NS_PER_S)
			request_fail(request,
				"generation %llu is published, but a data lcore has not taken it "
				"for %d s: it stands still (see heartbeat_ns in `stats`)",
				(unsigned long long)asking->generation, RELOAD_PATIENCE_S);
		else
			request_wait(request, RELOAD_POLL_MS, in_force_wait);
		return;
	}
	message = json_object();
	put_state(&message, context);
	put_number(&message, "generation", asking->generation);
	put_number(&message, "took_ms", (now_ns - asking->started_ns) / NS_PER_MS);
	put_warnings(&message, asking);
	log_notice("policy: generation %llu is in force on every lcore",
		(unsigned long long)asking->generation);
	request_ok(request, message);
}

static void check_answer(struct request *request, const struct asking *asking)
{
	json_t *message = json_object();

	put_text(&message, "path", asking->path);
	put_text(&message, "result", "ok");
	put_warnings(&message, asking);
	request_ok(request, message);
}

// The build has ended. A reload that was published is answered when every lcore obeys; its patience
// begins now, not with the compiler.
static void asking_done(void *ctx, bool good, const struct config_errors *errors)
{
	struct asking *asking = ctx;
	struct request *request = asking->request;
	struct reload *reload = request->context->reload;
	char text[512];

	asking->wait = NULL;
	if (!good) {
		snprintf(text, sizeof text, "%s cannot be used%s", asking->path,
			asking->check ? "" : "; the old policy stays in force");
		for (size_t i = 0; i < errors->n && !asking->check; i++)
			log_error("%s", errors->lines[i]);
		if (!asking->check)
			log_error("policy: %s", text);
		request_fail_errors(request, text, errors);
		return;
	}
	if (errors && errors->n_warnings)
		asking->warnings = lines_json(errors->warnings, errors->n_warnings);
	if (asking->check) {
		check_answer(request, asking);
		return;
	}
	asking->generation = reload_generation(reload);
	asking->published_ns = request->context->now_ns();
	log_notice("policy: %s loaded as generation %llu", reload_path(reload),
		(unsigned long long)asking->generation);
	in_force_wait(request);
}

static void ask(struct request *request, json_t *arguments, bool check)
{
	struct control_context *context = request->context;
	struct asking *asking;
	const char *path;
	int rc;

	if (!read_path(request, arguments, &path))
		return;
	asking = calloc(1, sizeof *asking);
	if (!asking) {
		request_fail(request, "no memory");
		return;
	}
	*asking = (struct asking){
		.request = request,
		.check = check,
		.path = strdup(path ? path : reload_path(context->reload)),
		.started_ns = context->now_ns(),
	};
	request->state = asking;
	request->state_free = asking_free;
	if (!asking->path) {
		request_fail(request, "no memory");
		return;
	}
	struct reload_request *wait;

	rc = reload_ask(
		context->reload, path, check, asking->started_ns, asking_done, asking, &wait);
	if (rc == -EBUSY)
		request_fail(request, "%d reloads wait for their turn already: try again later",
			RELOAD_REQUESTS_MAX);
	else if (rc < 0)
		request_fail(request, "no memory");
	else if (wait)
		asking->wait = wait;
}

COMMAND(policy_check, "policy-check", "path", "validates a policy without loading it")
{
	ask(request, arguments, true);
}

COMMAND(policy_reload, "policy-reload", "path", "puts the policy file in force on all lcores")
{
	ask(request, arguments, false);
}
