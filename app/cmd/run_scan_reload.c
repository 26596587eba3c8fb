// SPDX-License-Identifier: BSD-3-Clause
// Reloads of signatures on a gateway: asked for by command or by the watch of their folder, led by
// scan/reload.h, told in the log and as events.
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "cmd/run_scan_inside.h"
#include "pipeline/vocab/tick.h"

static int launcher_of(const struct run_scan *scan)
{
	return scan->launcher && !scan->is_lost ? launcher_scan_fd(scan->launcher) : -1;
}

static void tell_event(struct run_scan *scan, const char *state, const char *reason)
{
	const struct scan_status *status = &scan->status[0];
	struct scanner_report report = {.state = state,
		.reason = reason,
		.in_force =
			status->state == SCAN_STATE_READY || status->state == SCAN_STATE_WAITING,
		.signatures = status->signatures,
		.db_version = status->db_version,
		.db_time_s = status->db_time_s};

	memcpy(report.digest, status->digest, sizeof(report.digest));
	if (scan->context->sink)
		sink_scanner_event(scan->context->sink, scan->context->now_ns(), &report);
}

static void refused(struct run_scan *scan, const char *why)
{
	const struct scan_status *status = &scan->status[0];
	bool in_force = status->state == SCAN_STATE_READY || status->state == SCAN_STATE_WAITING;

	scan->reloads.refused++;
	scan->reloads.refused_ns = scan->context->now_ns();
	scan_wire_text(scan->reloads.refusal, sizeof(scan->reloads.refusal), why);
	log_error("scanner: new signatures are not taken: %s; %s", why,
		in_force ? "those in force stay"
			 : "there are none: files pass or end as the policy says for those that "
			   "are not scanned");
	tell_event(scan, "refused", why);
}

static const char under_way[] = "one is under way: ask again when the log says how it ended";

static const char *begin(struct run_scan *scan)
{
	if (!scan_reload_ask(&scan->reload))
		return under_way;
	scan->reloads.is_loading = true;
	return NULL;
}

// The lists of hashes first, as they take no time: a wrong line refuses all of it.
static const char *ask(void *ctx)
{
	struct run_scan *scan = ctx;

	if (launcher_of(scan) < 0)
		return "the launcher has died, and nobody else starts a scanner: restart the "
		       "gateway";
	if (scan->reload.state != SCAN_RELOAD_IDLE)
		return under_way;
	if (scan_threads_read_lists(scan->threads, false, scan->why_not, sizeof(scan->why_not)) < 0)
		return scan->why_not;
	return begin(scan);
}

void run_scan_reload_new(struct run_scan *scan)
{
	const struct gateway *gateway = scan->context->gateway;

	scan->reload = (struct scan_reload){
		.is_sequential = gateway->scan.reload == SCAN_RELOAD_SEQUENTIAL,
		.job_ns = gateway->scan.timeout_ms * NS_PER_MS};
	scan->reloads = (struct scan_reloads){
		.ctx = scan, .ask = ask, .is_sequential = scan->reload.is_sequential};
	scan->context->scan_reloads = &scan->reloads;
}

static void came_into_force(struct run_scan *scan)
{
	const struct scan_status *status = &scan->status[0];
	uint64_t now_s = scan->context->now_ns() / NS_PER_S;
	uint64_t age_s = now_s > status->db_time_s ? now_s - status->db_time_s : 0;

	if (scan->parent == status->parent &&
		!memcmp(scan->digest, status->digest, sizeof(scan->digest)))
		return;
	scan->parent = status->parent;
	memcpy(scan->digest, status->digest, sizeof(scan->digest));
	scan->reloads.taken++;
	scan->reloads.taken_ns = scan->context->now_ns();
	log_notice("scanner: ready, %u signatures, version %" PRIu64 ", %" PRIu64 " days and "
		   "%" PRIu64 " hours old, digest %02x%02x%02x%02x",
		status->signatures, status->db_version, age_s / 86400, age_s % 86400 / 3600,
		status->digest[0], status->digest[1], status->digest[2], status->digest[3]);
	tell_event(scan, "taken", "");
}

static void report(struct run_scan *scan)
{
	const struct scan_status *status = &scan->status[0];

	if (status->state == SCAN_STATE_READY)
		came_into_force(scan);
	// One that has none tries again when its folder changes: what is wrong may be something
	// else.
	if (status->state == SCAN_STATE_FAILED && scan->reload.state == SCAN_RELOAD_IDLE &&
		(scan->state != status->state || strcmp(status->text, scan->reloads.refusal) != 0))
		refused(scan, status->text);
	if (status->state == scan->state)
		return;
	scan->state = status->state;
	if (status->state == SCAN_STATE_ABSENT && scan->reload.state == SCAN_RELOAD_LETTING) {
		log_notice("scanner: the old signatures have been let go; until the new ones are "
			   "loaded files pass or end as the policy says for those that are not "
			   "scanned");
		tell_event(scan, "gone", "reload");
	} else if (status->state == SCAN_STATE_ABSENT) {
		log_error("scanner: gone (%s); files pass or end as the policy says for those that "
			  "are not scanned, until the next one is there",
			status->text[0] ? status->text : "no reason given");
		tell_event(scan, "gone", status->text);
	}
}

// Not while one is under way: what changes then is seen by the one that is taken.
static void watch(struct run_scan *scan)
{
	const struct scan_status *status = &scan->status[0];

	if (scan->reload.state != SCAN_RELOAD_IDLE)
		return;
	if (scan->watched != status->parent) {
		scan->watched = status->parent;
		scan->folders = 0;
	}
	if (scan->folders == status->folders)
		return;
	scan->folders = status->folders;
	if (status->folder[0]) {
		refused(scan, status->folder);
		return;
	}
	log_notice("scanner: the folder of signatures has changed: they are loaded anew");
	begin(scan);
}

static void let_go(struct run_scan *scan, int fd)
{
	scan_parent_anew(fd);
	run_scan_tell_all(
		scan, &(struct scan_news){.fd = -1, .parent = scan->reload.parent, .retire = true});
}

static void step(struct run_scan *scan, enum scan_reload_step next)
{
	int fd = launcher_of(scan), rc = 0;

	switch (next) {
	case SCAN_RELOAD_NOTHING: return;
	case SCAN_RELOAD_ASIDE:
		rc = scan_parent_aside(fd);
		log_notice("scanner: signatures are loaded anew (%s)",
			scan->reload.is_sequential ? "sequential" : "concurrent");
		break;
	case SCAN_RELOAD_LET_GO:
		log_notice("scanner: signatures are loaded anew (sequential)");
		let_go(scan, fd);
		break;
	case SCAN_RELOAD_KILL: rc = scan_parent_kill(fd, scan->reload.parent); break;
	case SCAN_RELOAD_TAKEN: break; // told by what came into force
	case SCAN_RELOAD_REFUSED: refused(scan, scan->reload.text); break;
	}
	if (rc == -EPIPE)
		run_scan_lost_launcher(scan);
}

void run_scan_reload_tick(struct run_scan *scan, unsigned n)
{
	report(scan);
	if (launcher_of(scan) >= 0) {
		watch(scan);
		step(scan,
			scan_reload_turn(&scan->reload, scan->status, n, scan->context->now_ns()));
	}
	scan->reloads.is_loading = !scan->is_lost && scan->reload.state != SCAN_RELOAD_IDLE;
}
