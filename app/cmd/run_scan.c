// SPDX-License-Identifier: BSD-3-Clause
// Passes on what becomes of scan parents, and asks for the end of those that are lost.
#include "cmd/run_scan.h"

#include <errno.h>
#include <unistd.h>
#include "base/log.h"
#include "content/memory.h"

#define ARENA_UNIT CONTENT_BLOCK_MAX // each data lcore hands out its part in blocks

int run_scan_arena(struct run_scan *scan, const struct gateway *gateway, struct launcher *launcher,
	char *err, size_t err_len)
{
	if (gateway->scan.engine != SCAN_ENGINE_CLAMAV)
		return 0;
	size_t trial = ((size_t)gateway->scan.max_file_mb << 20) + SCAN_PAGE; // with its extents
	int rc = scan_arena_new_spare(&scan->arena, (size_t)gateway->scan.arena_mb << 20,
		ARENA_UNIT, gateway->n_data, trial, err, err_len);

	launcher->arena_plus_1 = scan->arena.fd + 1;
	return rc;
}

static void lost_launcher(struct run_scan *scan)
{
	if (!scan->is_lost)
		log_error("the launcher has died: the scanner is not started again when it ends");
	scan->is_lost = true;
}

int run_scan_new(struct run_scan *scan, struct dataplane *dp, const struct gateway *gateway,
	struct launcher *launcher, char *err, size_t err_len)
{
	const struct scan_arena *arena = scan->arena.base ? &scan->arena : NULL;
	int rc = scan_threads_new(dp, gateway, arena, &scan->threads, err, err_len);

	if (rc < 0 || !arena || launcher_scan_fd(launcher) < 0)
		return rc;
	scan->launcher = launcher;
	if (scan_parent_begin(launcher_scan_fd(launcher)) == -EPIPE)
		lost_launcher(scan);
	return 0;
}

static void tell(struct run_scan *scan, unsigned index, const struct scan_news *news)
{
	scan->waits[index] = scan_threads_tell(scan->threads, index, news) < 0;
	scan->later[index] = *news;
}

// False: a scan lcore has not read its mail; nothing new is taken until it has.
static bool tell_what_waits(struct run_scan *scan)
{
	bool all = true;

	for (unsigned i = 0; i < scan_threads_count(scan->threads); i++) {
		if (scan->waits[i])
			tell(scan, i, &scan->later[i]);
		all = all && !scan->waits[i];
	}
	return all;
}

static void take_news(struct run_scan *scan, int fd)
{
	unsigned n = scan_threads_count(scan->threads);
	int fds[SCAN_PARENT_CONTROLS_MAX], rc;
	struct scan_parent_news news;

	while (tell_what_waits(scan)) {
		rc = scan_parent_news(fd, &news, fds);
		if (rc == -EPIPE)
			lost_launcher(scan);
		if (rc == -EAGAIN || rc == -EPIPE)
			return;
		for (unsigned i = 0; !rc && i < n; i++)
			tell(scan, i,
				&(struct scan_news){
					.fd = i < news.n_fds ? fds[i] : -1, .parent = news.parent});
	}
}

static void ask_for_ends(struct run_scan *scan, int fd, const struct scan_status *status)
{
	for (unsigned i = 0; i < SCAN_LOST_MAX; i++) {
		uint32_t lost = status->lost[i];

		if (lost > scan->killed && scan_parent_kill(fd, lost) == 0)
			scan->killed = lost;
	}
}

static void report(struct run_scan *scan, const struct scan_status *status)
{
	if (status->refused > scan->refused)
		log_error("scanner: the new one is not taken: %s; the one before it goes on",
			status->refusal);
	scan->refused = status->refused;
	if (status->state == scan->state)
		return;
	if (status->state == SCAN_STATE_READY && scan->state != SCAN_STATE_WAITING)
		log_notice("scanner: ready, %u signatures", status->signatures);
	else if (status->state == SCAN_STATE_FAILED)
		log_error("scanner: no engine: %s; files pass or end as the policy says for those "
			  "that are not scanned",
			status->text);
	else if (status->state == SCAN_STATE_ABSENT)
		log_error("scanner: gone (%s); files pass or end as the policy says for those that "
			  "are not scanned, until the next one is there",
			status->text[0] ? status->text : "no reason given");
	scan->state = status->state;
}

void run_scan_tick(struct run_scan *scan)
{
	struct scan_status status;
	int fd = scan->launcher ? launcher_scan_fd(scan->launcher) : -1;

	if (fd < 0)
		return;
	if (!scan->is_lost)
		take_news(scan, fd);
	for (unsigned i = 0; scan_threads_status(scan->threads, i, &status); i++) {
		ask_for_ends(scan, fd, &status);
		if (i == 0)
			report(scan, &status);
	}
}

void run_scan_free(struct run_scan *scan)
{
	scan_threads_free(scan->threads);
	scan->threads = NULL;
	for (unsigned i = 0; i < SCAN_PARENT_CONTROLS_MAX; i++) {
		if (scan->waits[i] && scan->later[i].fd >= 0)
			close(scan->later[i].fd);
		scan->waits[i] = false;
	}
	scan->launcher = NULL;
	if (scan->arena.base) // zeroed: it was never made
		scan_arena_free(&scan->arena);
}
