// SPDX-License-Identifier: BSD-3-Clause
// The command debug-stall: makes a data lcore stand still, so that what then happens can be seen.
// Only with "debug" in gateway.json.
#include <string.h>

#include "control/ctl/command.h"
#include "base/log.h"
#include "pipeline/vocab/tick.h"

#define STALL_MS_MAX 60000

COMMAND(debug_stall, "debug-stall", "lcore, ms, where", "makes a data lcore stand still (tests)")
{
	struct dataplane *dp = request->context->dp;
	const char *where = "inspect";
	json_int_t lcore = 0, ms = 0;
	json_error_t error;
	json_t *message;

	const struct gateway *gateway = request->context->gateway;

	if (!gateway || !gateway->debug) {
		request_fail(request, "refused: gateway.json does not say \"debug\": true; that is "
				      "for tests, never for a gateway in use");
		return;
	}
	if (json_unpack_ex(arguments, &error, JSON_STRICT, "{s:I, s:I, s?s}", "lcore", &lcore, "ms",
		    &ms, "where", &where) < 0) {
		request_fail_arguments(request, error.text);
		return;
	}
	if (lcore < 0 || lcore >= dp->n_lcores) {
		request_fail(request, "lcore: 0 to %u", dp->n_lcores - 1);
		return;
	}
	if (ms < 1 || ms > STALL_MS_MAX) {
		request_fail(request, "ms: 1 to %d", STALL_MS_MAX);
		return;
	}
	bool inspect = !strcmp(where, "inspect");

	if (!inspect && strcmp(where, "driver") != 0) {
		request_fail(request,
			"where: \"inspect\" (when it next looks at a burst) or \"driver\" (in its "
			"next turn, where nobody can take its queues over)");
		return;
	}
	log_warning(
		"debug: data lcore %d will stand still for %d ms (%s)", (int)lcore, (int)ms, where);
	atomic_store(
		inspect ? &dp->lcores[lcore]->stall_inspect_ns : &dp->lcores[lcore]->stall_turn_ns,
		(uint64_t)ms * NS_PER_MS);
	message = json_object();
	put_number(&message, "lcore", (uint64_t)lcore);
	put_number(&message, "ms", (uint64_t)ms);
	put_text(&message, "where", where);
	request_ok(request, message);
}
