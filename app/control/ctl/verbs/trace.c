// SPDX-License-Identifier: BSD-3-Clause
// The command trace-read: what traced packets met, for who follows a flow.
#include <netinet/in.h>

#include "control/ctl/arguments.h"
#include "control/ctl/list_filter.h"
#include "control/event/trace_log.h"

static json_t *step_json(const struct trace_step *step)
{
	json_t *object = json_object();

	put_number(&object, "number", step->number);
	put_time(&object, "at", step->now_ns);
	put_number(&object, "lcore", step->lcore);
	put_number(&object, "packet", step->packet);
	put_text(&object, "direction", step->half == HALF_S2C ? "to_client" : "to_server");
	put_number(&object, "frame_length", step->frame_length);
	put_number(&object, "payload_length", step->payload_len);
	put_proto(&object, step->l4_proto);
	if (step->l4_proto == IPPROTO_TCP) {
		put_number(&object, "tcp_flags", step->tcp_flags);
		put_number(&object, "tcp_seq", step->tcp_seq);
	}
	put_text(&object, "text", step->text);
	return object;
}

COMMAND(trace_read, "trace-read", "flow_id, after, limit", "the newest of these events")
{
	const struct trace_log *log = request->context->trace_log;
	uint64_t flow_id, after = 0, limit = LIST_FILTER_LIMIT_MAX;
	json_t *message, *steps;
	bool missed = false;

	if (!arguments_known(request, arguments) ||
		!argument_flow_id(request, arguments, &flow_id) ||
		!argument_number(request, arguments, "after", 0, INT64_MAX, &after) ||
		!argument_number(request, arguments, "limit", 1, LIST_FILTER_LIMIT_MAX, &limit))
		return;
	if (!log) {
		request_fail(request, "this gateway keeps no trace; read its event file");
		return;
	}
	// Where to go on from, for who has not read yet.
	if (!argument_given(arguments, "after"))
		after = trace_log_newest(log);
	message = json_object();
	steps = json_array();
	while (limit--) {
		const struct trace_step *step = trace_log_next(log, flow_id, after, &missed);

		if (!step) {
			after = trace_log_newest(log);
			break;
		}
		put_item(&steps, step_json(step));
		after = step->number;
	}
	put_number(&message, "flow_id", flow_id);
	put_number(&message, "after", after);
	put_bool(&message, "missed", missed);
	put_json(&message, "steps", steps);
	request_ok(request, message);
}
