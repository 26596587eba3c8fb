// SPDX-License-Identifier: BSD-3-Clause
// The scan parent: has the database in memory, and keeps one child for each control socket. It
// reads no file, and believes no child.
#ifndef SLUICE_SCAN_PROGRAM_PARENT_H
#define SLUICE_SCAN_PROGRAM_PARENT_H

#include "scan/program/child.h"
#include "scan/program/settings.h"

// Runs until all control sockets are closed, or SIGTERM. Exit code: 0; 1 with a line on standard
// error.
int scan_parent_run(const struct scan_settings *settings, scan_look_fn *look);

// How long after the `n`th death in a row the next child waits, of children that lived less than
// SCAN_SHORT_LIFE_MS.
#define SCAN_SHORT_LIFE_MS  5000
#define SCAN_BACKOFF_MAX_MS 10000
static inline uint32_t scan_backoff_ms(unsigned n)
{
	return n < 2 ? 0 : n > 9 ? SCAN_BACKOFF_MAX_MS : 50u << (n - 2);
}

#endif
