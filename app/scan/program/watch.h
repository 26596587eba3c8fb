// SPDX-License-Identifier: BSD-3-Clause
// Watches the folder of signatures: whoever writes to it (freshclam writes beside, and renames) is
// given the time to end.
#ifndef SLUICE_SCAN_PROGRAM_WATCH_H
#define SLUICE_SCAN_PROGRAM_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct scan_watch {
	const char *folder; // borrowed
	uint64_t every_ms;  // 0: it is not watched
	uint64_t due_ms;
	uint64_t taken,
		last; // marks (database.h): of what was loaded or told, and of the last look
};

// From the folder as it is now: to be called before it is read.
void scan_watch_begin(
	struct scan_watch *watch, const char *folder, uint64_t every_s, uint64_t now_ms);
// Looks if it is time. True, once: it is another than before, and has been the same for one period.
bool scan_watch_changed(struct scan_watch *watch, uint64_t now_ms);
// Until the next look; -1: never.
int scan_watch_wait_ms(const struct scan_watch *watch, uint64_t now_ms);

#endif
