// SPDX-License-Identifier: BSD-3-Clause
// Passes on what becomes of scan parents, and asks for the end of those that are lost.
#include "cmd/run_scan.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "cmd/run_scan_inside.h"
#include "content/memory.h"

#define ARENA_UNIT CONTENT_BLOCK_MAX // each data lcore hands out its part in blocks

int run_scan_arena(struct run_scan *scan, const struct gateway *gateway, struct launcher *launcher,
	char *err, size_t err_len)
{
	if (gateway->scan.engine != SCAN_ENGINE_CLAMAV)
		return 0;
	size_t trial = ((size_t)gateway->scan.max_file_mb << 20) + SCAN_PAGE; // with its extents
	const struct scan_arena_room room = {
		.bytes = (size_t)gateway->scan.arena_mb << 20,
		.unit = ARENA_UNIT,
		.n_parts = gateway->n_data,
		.shared = (size_t)gateway->scan.swarm_mb << 20,
		.spare = trial,
	};
	int rc = scan_arena_new_of(&scan->arena, &room, err, err_len);

	launcher->arena_plus_1 = scan->arena.fd + 1;
	return rc;
}

void run_scan_lost_launcher(struct run_scan *scan)
{
	if (scan->is_lost)
		return;
	log_error("the launcher has died: the scanner is not started again when it ends, and new "
		  "signatures are not loaded; restart when convenient");
	scan->is_lost = true;
	run_scan_tell_all(scan, &(struct scan_news){.fd = -1});
}

int run_scan_new(struct run_scan *scan, struct control_context *context, struct launcher *launcher,
	char *err, size_t err_len)
{
	const struct scan_arena *arena = scan->arena.base ? &scan->arena : NULL;
	int rc = scan_threads_new(
		context->dp, context->gateway, arena, &scan->threads, err, err_len);

	if (rc < 0 || !arena || launcher_scan_fd(launcher) < 0)
		return rc;
	scan->launcher = launcher;
	scan->context = context;
	run_scan_reload_new(scan);
	if (scan_parent_begin(launcher_scan_fd(launcher)) == -EPIPE)
		run_scan_lost_launcher(scan);
	return 0;
}

// What is told later keeps its order, and has room: two parents at most live at a time.
static void tell(struct run_scan *scan, unsigned index, const struct scan_news *news)
{
	uint8_t *n = &scan->n_later[index];

	if (!*n && scan_threads_tell(scan->threads, index, news) == 0)
		return;
	if (*n < RUN_SCAN_MAIL_MAX)
		scan->later[index][(*n)++] = *news;
	else if (news->fd >= 0)
		close(news->fd);
}

void run_scan_tell_all(struct run_scan *scan, const struct scan_news *news)
{
	for (unsigned i = 0; i < scan_threads_count(scan->threads); i++)
		tell(scan, i, news);
}

// False: a scan lcore has not read its mail; nothing new is taken until it has.
static bool tell_what_waits(struct run_scan *scan)
{
	bool all = true;

	for (unsigned i = 0; i < scan_threads_count(scan->threads); i++) {
		uint8_t *n = &scan->n_later[i];

		while (*n && scan_threads_tell(scan->threads, i, &scan->later[i][0]) == 0) {
			(*n)--;
			memmove(scan->later[i], scan->later[i] + 1, *n * sizeof(scan->later[i][0]));
		}
		all = all && !*n;
	}
	return all;
}

static void take_one(struct run_scan *scan, const struct scan_parent_news *news, const int *fds)
{
	uint64_t now_ns = scan->context->now_ns();

	if (!news->parent)
		scan_reload_none(&scan->reload);
	else if (news->n_fds)
		scan_reload_started(&scan->reload, news->parent, now_ns);
	else
		scan_reload_dead(&scan->reload, news->parent);
	for (unsigned i = 0; news->parent && i < scan_threads_count(scan->threads); i++)
		tell(scan, i,
			&(struct scan_news){
				.fd = i < news->n_fds ? fds[i] : -1, .parent = news->parent});
}

static void take_news(struct run_scan *scan, int fd)
{
	int fds[SCAN_PARENT_CONTROLS_MAX], rc;
	struct scan_parent_news news;

	while (tell_what_waits(scan)) {
		rc = scan_parent_news(fd, &news, fds);
		if (rc == -EPIPE)
			run_scan_lost_launcher(scan);
		if (rc == -EAGAIN || rc == -EPIPE)
			return;
		if (!rc)
			take_one(scan, &news, fds);
	}
}

static bool was_asked(const struct run_scan *scan, uint32_t parent)
{
	for (unsigned i = 0; i < RUN_SCAN_ENDS_MAX; i++)
		if (scan->asked[i] == parent)
			return true;
	return false;
}

static void ask_for_ends(struct run_scan *scan, int fd, const struct scan_status *status)
{
	for (unsigned i = 0; i < SCAN_LOST_MAX; i++) {
		uint32_t lost = status->lost[i];

		if (lost && !was_asked(scan, lost) && scan_parent_kill(fd, lost) == 0)
			scan->asked[scan->n_asked++ % RUN_SCAN_ENDS_MAX] = lost;
	}
}

void run_scan_check_lists(
	const struct run_scan *scan, const char *gateway_path, struct config_errors *errors)
{
	char err[300];

	if (scan->threads && scan_threads_read_lists(scan->threads, true, err, sizeof(err)) < 0)
		config_error_add(errors, gateway_path, "$.scan", "%s", err);
}

static void follow(struct run_scan *scan, uint64_t generation)
{
	bool first = !scan->generation; // they were read at the start
	char err[300];

	if (!scan->threads || generation == scan->generation)
		return;
	scan->generation = generation;
	if (!first && scan_threads_read_lists(scan->threads, false, err, sizeof(err)) < 0)
		log_error("%s; the lists that were read before stay in force", err);
}

void run_scan_tick(struct run_scan *scan, uint64_t generation)
{
	int fd = scan->launcher ? launcher_scan_fd(scan->launcher) : -1;
	unsigned n = 0;

	follow(scan, generation);
	if (fd < 0)
		return;
	if (scan->is_lost)
		tell_what_waits(scan);
	else
		take_news(scan, fd);
	for (; n < SCAN_PARENT_CONTROLS_MAX &&
		scan_threads_status(scan->threads, n, &scan->status[n]);
		n++)
		ask_for_ends(scan, fd, &scan->status[n]);
	run_scan_reload_tick(scan, n);
}

void run_scan_free(struct run_scan *scan)
{
	scan_threads_free(scan->threads);
	scan->threads = NULL;
	for (unsigned i = 0; i < SCAN_PARENT_CONTROLS_MAX; i++) {
		for (unsigned j = 0; j < scan->n_later[i]; j++)
			if (scan->later[i][j].fd >= 0)
				close(scan->later[i][j].fd);
		scan->n_later[i] = 0;
	}
	scan->launcher = NULL;
	if (scan->context)
		scan->context->scan_reloads = NULL;
	if (scan->arena.base) // zeroed: it was never made
		scan_arena_free(&scan->arena);
}
