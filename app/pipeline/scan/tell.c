// SPDX-License-Identifier: BSD-3-Clause
// Tells who obeys verdicts of what is known of a file.
#include "pipeline/scan/files_work.h"
#include "pipeline/swarm/swarm.h"

void scan_verdict_count(struct lcore *lcore, const struct scan_verdict *verdict)
{
	uint64_t *const counters[SCAN_VALUES_MAX] = {
		[SCAN_CLEAN] = &lcore->stats.scan_clean,
		[SCAN_UNSCANNED] = &lcore->stats.scan_unscanned,
		[SCAN_ERROR] = &lcore->stats.scan_errors,
		[SCAN_TIMEOUT] = &lcore->stats.scan_timeouts,
		[SCAN_INFECTED] = &lcore->stats.scan_infected,
	};

	++*counters[verdict->value];
	histogram_add(&lcore->scan_hold, lcore->now_ns - verdict->job.submitted_ns, 1);
}

bool scan_work_is_here(const struct lcore *lcore, const struct scan_file *file)
{
	return flow_at(lcore->flows, file->flow)->gen == file->generation;
}

void scan_work_tell(struct lcore *lcore, uint32_t number, const struct scan_verdict *verdict,
	bool goes_on, scan_told_fn *obey)
{
	struct scan_files *files = lcore->scan_files;
	struct scan_file *file = &files->file[number];
	const struct rule_scan rule = file->rule; // the file may be gone when it is asked for
	struct scan_told told = {
		.verdict = verdict,
		.rule = &rule,
		.owner = file->owner,
		.result = file->result,
		.ref = file->flow,
		.rule_uid = file->rule_uid,
		.item = file->item,
		.half = file->half,
		.enforces = file->enforces,
		.is_here = scan_work_is_here(lcore, file),
		.ended = file->ended,
		.over = !goes_on,
	};

	file->result.told = true;
	if (!goes_on)
		scan_work_give(lcore, number);
	else if (file->rule.windows && !file->part)
		scan_bytes_forget(&files->store, file->bytes, scan_work_window_from(file));
	if (told.is_here) {
		told.waits = scan_work_waits(lcore, told.ref, told.half);
		told.stands = scan_files_stand(lcore, told.ref, told.half);
	}
	obey(lcore, &told);
}
