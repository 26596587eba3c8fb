// SPDX-License-Identifier: BSD-3-Clause
// A ring of the latest trace steps, for commands that read traces.
#include "control/event/trace_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct trace_log {
	uint64_t newest;
	struct trace_step steps[TRACE_LOG_STEPS]; // number n is at n % TRACE_LOG_STEPS
};

static void listen(void *ctx, const struct event *event)
{
	trace_log_take(ctx, event);
}

int trace_log_new(struct sink *sink, struct trace_log **out)
{
	struct trace_log *log = calloc(1, sizeof *log); // touched only when something is traced
	int rc;

	if (!log)
		return -ENOMEM;
	rc = sink_listen(sink, listen, log);
	if (rc < 0) {
		free(log);
		return rc;
	}
	*out = log;
	return 0;
}

void trace_log_free(struct trace_log *log)
{
	free(log);
}

void trace_log_take(struct trace_log *log, const struct event *event)
{
	struct trace_step *step;

	if (event->type != EVENT_TRACE)
		return;
	log->newest++;
	step = &log->steps[log->newest % TRACE_LOG_STEPS];
	*step = (struct trace_step){
		.number = log->newest,
		.now_ns = event->now_ns,
		.flow_id = event->flow_id,
		.packet = event->trace.packet,
		.frame_length = event->trace.frame_length,
		.tcp_seq = event->trace.tcp_seq,
		.payload_len = event->trace.payload_len,
		.l4_proto = event->l4_proto,
		.tcp_flags = event->tcp_flags,
		.half = event->half,
		.lcore = event->lcore,
	};
	memcpy(step->text, event->trace.text, sizeof step->text - 1);
}

uint64_t trace_log_newest(const struct trace_log *log)
{
	return log->newest;
}

const struct trace_step *trace_log_next(
	const struct trace_log *log, uint64_t flow_id, uint64_t after, bool *missed)
{
	uint64_t oldest = log->newest < TRACE_LOG_STEPS ? 1 : log->newest - TRACE_LOG_STEPS + 1;

	if (after + 1 < oldest) {
		*missed = true;
		after = oldest - 1;
	}
	for (uint64_t n = after + 1; n <= log->newest; n++) {
		const struct trace_step *step = &log->steps[n % TRACE_LOG_STEPS];

		if (step->flow_id == flow_id)
			return step;
	}
	return NULL;
}
