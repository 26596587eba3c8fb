// SPDX-License-Identifier: BSD-3-Clause
// The command scan-reload: begins to load signatures.
#include "control/ctl/command.h"

// Loading may take minutes: it is begun, and not waited for.
COMMAND(scan_reload, "scan-reload", "", "begins to load the virus scanner's signatures anew")
{
	struct scan_reloads *reloads = request->context->scan_reloads;
	json_t *message;

	if (json_object_size(arguments)) {
		request_fail_arguments(request, "none expected");
		return;
	}
	const char *why_not = reloads ? reloads->ask(reloads->ctx)
				      : "there is no engine that has signatures: set scan.engine "
					"of gateway.json to clamav, and restart";

	if (why_not) {
		request_fail(request, "%s", why_not);
		return;
	}
	message = json_object();
	put_text(&message, "result", "begun");
	put_text(&message, "mode", reloads->is_sequential ? "sequential" : "concurrent");
	put_number(&message, "taken", reloads->taken);
	put_number(&message, "refused", reloads->refused);
	request_ok(request, message);
}
