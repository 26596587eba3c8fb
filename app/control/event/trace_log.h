// SPDX-License-Identifier: BSD-3-Clause
// The newest steps of traced packets, kept for `sluicectl trace`, which asks for them again and
// again. Listens at the event sink. Control core only.
#ifndef SLUICE_TRACE_LOG_H
#define SLUICE_TRACE_LOG_H

#include "control/event/sink.h"

#define TRACE_LOG_STEPS 8192

struct trace_log;

struct trace_step {
	uint64_t number; // from 1, of all flows together
	uint64_t now_ns;
	uint64_t flow_id;
	uint32_t packet; // steps of one packet have the same, on one lcore
	uint32_t frame_length;
	uint32_t tcp_seq;
	uint16_t payload_len;
	uint8_t l4_proto;
	uint8_t tcp_flags;
	uint8_t half;
	uint8_t lcore;
	char text[80];
};

// Listens at `sink`, and must live as long as it takes events. 0, -ENOMEM, -ENOSPC.
int trace_log_new(struct sink *sink, struct trace_log **out);
void trace_log_free(struct trace_log *log); // after the sink; NULL is fine
void trace_log_take(struct trace_log *log, const struct event *event);

uint64_t trace_log_newest(const struct trace_log *log); // number of the last step; 0: none yet
// The first step of `flow_id` after number `after`, or NULL. `*missed` is set if steps after that
// number (of whatever flow) were overwritten before they were asked for.
const struct trace_step *trace_log_next(
	const struct trace_log *log, uint64_t flow_id, uint64_t after, bool *missed);

#endif
