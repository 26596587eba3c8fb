// SPDX-License-Identifier: BSD-3-Clause
// Virus scanning in replay (--scan): sluice-scan as a process of ours, as the section `scan` of a
// gateway.json has it. At each job the run waits for the scanner in real time while the captures'
// clock stands still, so that nothing depends on the machine's speed; the verdict is there at once,
// or --scan-ms later on that clock. Control core (replay has no other thread).
#ifndef SLUICE_REPLAY_SCAN_H
#define SLUICE_REPLAY_SCAN_H

#include <stddef.h>
#include "pipeline/lcore/lcore.h"
#include "replay/replay.h"

struct replay_scan;

// Reads the gateway.json of the options: before EAL starts. -1 to go on, else an exit code; what is
// wrong is printed.
int replay_scan_read(const struct replay_options *options, struct replay_scan **out);
// MB that EAL needs for it. NULL: none.
unsigned replay_scan_mb(const struct replay_scan *scan);
// Starts the scanner and waits until it can scan; every lcore of `dp` has its files scanned from
// then on. -errno with a message; end is due in any case.
int replay_scan_begin(struct replay_scan *scan, struct dataplane *dp, char *err, size_t err_len);
// Before the lcores go. The scanner is ended, what it has unpacked removed.
void replay_scan_end(struct replay_scan *scan);
void replay_scan_free(struct replay_scan *scan); // NULL is allowed

// Of these three NULL is allowed, and says nothing is scanned.
// There is work for the lcores before the clock may go on.
bool replay_scan_is_due(struct replay_scan *scan, uint64_t now_ns);
// How far the clock may go at most, where it has come `passed_ns` of a silence and would go
// `step_ns`: files that wait for their tail or a verdict must not wait longer than they would.
uint64_t replay_scan_step(
	const struct replay_scan *scan, uint64_t now_ns, uint64_t passed_ns, uint64_t step_ns);
// How long after the last packet a verdict may come.
uint64_t replay_scan_patience(const struct replay_scan *scan);
// Why nothing can be scanned any more: what the run says from here on is worth nothing. NULL: it
// can.
const char *replay_scan_failed(const struct replay_scan *scan);

#endif
