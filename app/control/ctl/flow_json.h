// SPDX-License-Identifier: BSD-3-Clause
// A live flow as the control socket shows it (docs/control-socket.md). NULL: no memory.
#ifndef SLUICE_FLOW_JSON_H
#define SLUICE_FLOW_JSON_H

#include "control/ctl/command.h"
#include "pipeline/query.h"

json_t *flow_json(const struct control_context *context, const struct flow_record *record);
// With its sequence edges and Community ID, as flow-show has it; `look`: and with how its halves
// stand, `content`: with its open files, or NULL.
json_t *flow_json_whole(const struct control_context *context, const struct flow_record *record,
	const struct flow_look *look, const struct content_look *content);

#endif
