// SPDX-License-Identifier: BSD-3-Clause
// /api/scan.json: what scan-show of the control socket tells, without names of files.
#include "control/http/api.h"

#include "control/ctl/scan_json.h"
#include "control/http/site.h"

int api_scan(const struct http_site *site, struct text *out)
{
	const struct control_context *context = site->context;
	json_t *root = scan_json(context, false);

	api_put_ms(&root, "now_ms", context->now_ns());
	return api_finish(root, out);
}
