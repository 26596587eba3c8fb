// SPDX-License-Identifier: BSD-3-Clause
// Runs sluice-scan as a process of replay, which has no launcher: once, with a folder of its
// own to unpack in, by the same hands as the launcher (process/scan_parent.h).
#ifndef SLUICE_REPLAY_SCAN_PROCESS_H
#define SLUICE_REPLAY_SCAN_PROCESS_H

#include "config/gateway.h"
#include "scan/engine.h"

#define SCAN_PROCESS_NEWS_MAX 4

struct scan_process;

// `file_ms`: the time for a file, in place of scan.timeout_ms. Takes what it needs of `gateway`,
// which it changes, and which outlives it. -errno with a message.
int scan_process_new(struct gateway *gateway, int arena, uint64_t file_ms,
	struct scan_process **out, char *err, size_t err_len);
// Starts it the first time; what has become of it since. The descriptors are the caller's.
unsigned scan_process_step(struct scan_process *own, struct scan_news news[SCAN_PROCESS_NEWS_MAX]);
// It and all its children; the next step has the news.
void scan_process_kill(struct scan_process *own);
// When its sockets are closed. Waits for its end. NULL is allowed.
void scan_process_free(struct scan_process *own);

#endif
