// SPDX-License-Identifier: BSD-3-Clause
// Looks at a folder now and then.
#include "scan/program/watch.h"

#include "scan/program/database.h"

void scan_watch_begin(
	struct scan_watch *watch, const char *folder, uint64_t every_s, uint64_t now_ms)
{
	uint64_t mark = scan_database_mark(folder);

	*watch = (struct scan_watch){.folder = folder,
		.every_ms = every_s * 1000,
		.due_ms = now_ms + every_s * 1000,
		.taken = mark,
		.last = mark};
}

bool scan_watch_changed(struct scan_watch *watch, uint64_t now_ms)
{
	if (!watch->every_ms || now_ms < watch->due_ms)
		return false;
	uint64_t mark = scan_database_mark(watch->folder);
	bool is_stable = mark == watch->last, is_new = mark != watch->taken;

	watch->due_ms = now_ms + watch->every_ms;
	watch->last = mark;
	if (is_stable && is_new)
		watch->taken = mark;
	return is_stable && is_new;
}

int scan_watch_wait_ms(const struct scan_watch *watch, uint64_t now_ms)
{
	if (!watch->every_ms)
		return -1;
	return watch->due_ms > now_ms ? (int)(watch->due_ms - now_ms) : 0;
}
