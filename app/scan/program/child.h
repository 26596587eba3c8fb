// SPDX-License-Identifier: BSD-3-Clause
// A child: closes its jail, then answers requests until it has done its jobs or the other end of
// its socket is closed. It reads hostile files, and is lost without loss.
#ifndef SLUICE_SCAN_PROGRAM_CHILD_H
#define SLUICE_SCAN_PROGRAM_CHILD_H

#include "scan/program/clam.h"
#include "scan/program/jail.h"

// What looks at a file; scan_clam_scan, but in tests.
typedef void scan_look_fn(
	struct scan_clam *clam, const uint8_t *bytes, size_t n, struct scan_outcome *out);

struct scan_child {
	struct scan_clam *clam;
	scan_look_fn *look;
	const struct scan_jail *jail;
	const char *folder;
	pid_t parent;
	int arena, files, ready; // descriptors; through `ready` it says why its jail did not
				 // close, or one byte 0 when it did
	uint64_t arena_bytes, jobs;
};

// Room for the longest file with its lead, and a page behind it that nobody can read.
#define SCAN_CHILD_RANGE ((size_t)SCAN_FILE_MAX + 2 * SCAN_PAGE)

_Noreturn void scan_child_run(const struct scan_child *child);
// What it does in its jail: answers the requests that come through `files`. `range`: of
// SCAN_CHILD_RANGE bytes, where nothing is; it is so again afterwards. Its exit code.
int scan_child_serve(const struct scan_child *child, uint8_t *range);

#endif
