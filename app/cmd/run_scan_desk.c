// SPDX-License-Identifier: BSD-3-Clause
// Passes what the control core asks on to the scan lcores' threads.
#include "cmd/run_scan_desk.h"

static bool status(void *ctx, unsigned index, struct scan_status *out)
{
	return scan_threads_status(((struct run_scan_desk *)ctx)->threads, index, out);
}

static bool files(void *ctx, unsigned lcore, struct scan_files_use *out)
{
	const struct dataplane *dp = ((struct run_scan_desk *)ctx)->dp;

	return lcore < dp->n_lcores && dp->lcores[lcore] && scan_files_look(dp->lcores[lcore], out);
}

static struct scan_trial *trial_of(void *ctx)
{
	return scan_threads_trial(((struct run_scan_desk *)ctx)->threads);
}

static int begin(void *ctx, uint64_t bytes, uint64_t now_ns, uint64_t *number)
{
	return scan_trial_begin(trial_of(ctx), bytes, now_ns, number);
}

static int add(void *ctx, uint64_t number, uint64_t at, const uint8_t *bytes, size_t length,
	uint64_t now_ns)
{
	return scan_trial_add(trial_of(ctx), number, at, bytes, length, now_ns);
}

static int run(void *ctx, uint64_t number, uint64_t now_ns, unsigned *worker)
{
	bool asleep = false;
	int rc = scan_trial_run(trial_of(ctx), number, now_ns, worker, &asleep);

	if (!rc && asleep)
		scan_threads_wake(((struct run_scan_desk *)ctx)->threads, UINT64_C(1) << *worker);
	return rc;
}

static int verdict(void *ctx, uint64_t number, uint64_t now_ns, struct scan_verdict *out)
{
	return scan_trial_verdict(trial_of(ctx), number, now_ns, out);
}

static void drop(void *ctx, uint64_t number)
{
	scan_trial_drop(trial_of(ctx), number);
}

const struct scan_desk *run_scan_desk_init(
	struct run_scan_desk *out, struct scan_threads *threads, const struct dataplane *dp)
{
	if (!threads)
		return NULL;
	*out = (struct run_scan_desk){
		.desk = {.config = dp->scan,
			.n = scan_threads_count(threads),
			.ctx = out,
			.status = status,
			.files = files,
			.begin = begin,
			.add = add,
			.run = run,
			.verdict = verdict,
			.drop = drop},
		.threads = threads,
		.dp = dp,
	};
	return &out->desk;
}
