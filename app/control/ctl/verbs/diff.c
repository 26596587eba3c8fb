// SPDX-License-Identifier: BSD-3-Clause
// The command policy-diff: what a reload of a file would change, in the policy and for living
// flows. The file is built as for a check; then the data lcores are asked for their flows, page by
// page.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/ctl/arguments.h"
#include "control/ctl/flow_diff.h"
#include "control/policy/diff.h"
#include "control/policy/snapshot.h"
#include "pipeline/query.h"
#include "pipeline/policy/policy.h"

#define EXAMPLES_DEFAULT 10
#define EXAMPLES_MAX     100

struct diffing {
	struct request *request;
	struct reload_request *wait;
	char *path;
	unsigned examples;
	struct snapshot *candidate;
	json_t *message; // of what differs in the documents
	struct flow_diff *flows;
	uint64_t generation; // in force, compared with
};

static void diffing_free(void *state)
{
	struct diffing *diffing = state;

	if (diffing->wait)
		reload_forget(diffing->wait);
	flow_diff_free(diffing->flows);
	snapshot_free(diffing->candidate);
	json_decref(diffing->message);
	free(diffing->path);
	free(diffing);
}

static json_t *document_of(const struct policy *policy, const struct rule_names *names)
{
	char *text = policy_dump(policy, names);
	json_t *document = text ? json_loads(text, 0, NULL) : NULL;

	free(text);
	return document;
}

static json_t *documents_compare(struct diffing *diffing, const struct rule_names *names)
{
	const struct control_context *context = diffing->request->context;
	json_t *old = document_of(reload_policy(context->reload), context->names);
	json_t *new = document_of(diffing->candidate->policy, names);
	json_t *message = old && new ? policy_diff(old, new) : NULL;

	if (message)
		put_json(&message, "reevaluate", json_incref(json_object_get(new, "reevaluate")));
	json_decref(old);
	json_decref(new);
	return message;
}

// The policy in force is only compared with while it is: a reload may have freed it.
static bool is_in_force(const struct diffing *diffing)
{
	return reload_generation(diffing->request->context->reload) == diffing->generation;
}

static void flows_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct request *request = ctx;
	struct diffing *diffing = request->state;
	const struct flow_record *records = query->out;

	(void)lcore;
	(void)last;
	for (uint32_t i = 0; i < query->n && is_in_force(diffing); i++)
		flow_diff_look(diffing->flows, &records[i]);
}

static void flows_end(struct request *request, const char *error)
{
	struct diffing *diffing = request->state;
	json_t *message;

	if (request_failed(request, error))
		return;
	if (!is_in_force(diffing)) {
		request_fail(request, "another policy was loaded meanwhile: ask again");
		return;
	}
	message = diffing->message;
	diffing->message = NULL;
	put_text(&message, "path", diffing->path);
	put_number(&message, "generation", diffing->generation);
	put_json(&message, "flows", flow_diff_json(diffing->flows, request->context));
	request_ok(request, message);
}

static void candidate_done(void *ctx, bool good, const struct config_errors *errors)
{
	struct diffing *diffing = ctx;
	struct request *request = diffing->request;
	struct control_context *context = request->context;
	const struct rule_names *names;
	char text[512];

	diffing->wait = NULL;
	if (!good) {
		snprintf(text, sizeof text, "%s cannot be used", diffing->path);
		request_fail_errors(request, text, errors);
		return;
	}
	diffing->candidate = reload_candidate_take(context->reload, &names);
	diffing->generation = reload_generation(context->reload);
	diffing->message = documents_compare(diffing, names);
	uint64_t error_ns =
		(uint64_t)atomic_load_explicit(&context->dp->wall_error_ns, memory_order_relaxed);
	diffing->flows = flow_diff_new(reload_policy(context->reload), diffing->candidate->policy,
		context->now_ns() + error_ns, diffing->examples);
	if (!diffing->message || !diffing->flows) {
		request_fail(request, "no memory");
		return;
	}
	request_ask(request, &(struct inquiry_question){.type = QUERY_FLOWS, .page = flows_page},
		flows_end);
}

COMMAND(policy_diff, "policy-diff", "path, examples", "what a reload of a file would change")
{
	struct control_context *context = request->context;
	uint64_t examples = EXAMPLES_DEFAULT;
	struct reload_request *wait;
	struct diffing *diffing;
	const char *path = NULL;
	int rc;

	if (!arguments_known(request, arguments) ||
		!argument_text(request, arguments, "path", &path) ||
		!argument_number(request, arguments, "examples", 0, EXAMPLES_MAX, &examples) ||
		!policy_path_known(request, path))
		return;
	diffing = calloc(1, sizeof *diffing);
	if (!diffing) {
		request_fail(request, "no memory");
		return;
	}
	*diffing = (struct diffing){.request = request,
		.path = strdup(path ? path : reload_path(context->reload)),
		.examples = (unsigned)examples};
	request->state = diffing;
	request->state_free = diffing_free;
	if (!diffing->path) {
		request_fail(request, "no memory");
		return;
	}
	rc = reload_ask(
		context->reload, path, true, context->now_ns(), candidate_done, diffing, &wait);
	if (rc == -EBUSY)
		request_fail(request, "%d reloads wait for their turn already: try again later",
			RELOAD_REQUESTS_MAX);
	else if (rc < 0)
		request_fail(request, "no memory");
	else if (wait)
		diffing->wait = wait;
}
