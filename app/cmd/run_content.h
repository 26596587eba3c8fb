// SPDX-License-Identifier: BSD-3-Clause
// The reader of content in a gateway: its files, its thread, its end.
#ifndef SLUICE_RUN_CONTENT_H
#define SLUICE_RUN_CONTENT_H

#include "config/gateway.h"
#include "control/content/reader.h"
#include "control/stats/context.h"

// Opens the store and the audit log as the gateway's user, and starts the thread. -errno with a
// message.
int run_content_begin(
	const struct gateway *gateway, struct control_context *context, char *err, size_t err_len);
// Now and then: what the reader has told becomes events, and the head of the audit log is logged
// when that is due.
struct run_content {
	uint64_t head_due_ns;
	uint64_t head_seq; // that was logged
};
void run_content_tick(
	struct run_content *content, const struct control_context *context, uint64_t now_ns);
// All lcores have ended: what they recorded is written to its end. False: the disk hangs, and the
// thread uses what it was given until the process ends. Nothing, if there is no reader.
bool run_content_end(struct control_context *context);

#endif
