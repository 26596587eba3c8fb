// SPDX-License-Identifier: BSD-3-Clause
// Between a scan lcore and its engine: whole files are hashed, and what a list of hashes names, the
// cache remembers, or another asker has in flight, is not asked about. Everything else goes to the
// engine as it came.
//
// A file waits here for its hash, or for the verdict of the same file in flight; each has its own
// deadline, as nobody reads its bytes meanwhile. What the engine was given it tells by itself.
// One scan lcore's, as the engine is, but for scan_front_status.
#ifndef SLUICE_SCAN_FRONT_H
#define SLUICE_SCAN_FRONT_H

#include "scan/engine.h"

struct scan_front;

// With an instance of the configuration's engine. -ENOMEM, or what the engine says, with a message.
int scan_front_new(const struct scan_config *config, int socket, struct scan_front **out, char *err,
	size_t err_len);
void scan_front_free(struct scan_front *front); // NULL is allowed

// As the functions of an engine (scan_engine_ops).
int scan_front_submit(struct scan_front *front, const struct scan_job *job, uint64_t now_ns);
unsigned scan_front_poll(
	struct scan_front *front, uint64_t now_ns, struct scan_verdict *out, unsigned max);
uint64_t scan_front_next_ns(const struct scan_front *front);
unsigned scan_front_descriptors(const struct scan_front *front, struct pollfd out[SCAN_FDS_MAX]);
void scan_front_adopt(struct scan_front *front, const struct scan_news *news, uint64_t now_ns);
bool scan_front_status(struct scan_front *front, struct scan_status *out);

#endif
