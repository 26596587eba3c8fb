// SPDX-License-Identifier: BSD-3-Clause
// Between a flow under inspection and the scan engine (docs/architecture.md;
// kP2PADM 3.1.5): which half of which flow waits for a verdict, and which verdict is whose.
//
// A TCP flow whose decision is ACTION_SCAN has a place in a pool (scan.flows). The inspection shows
// each span that it has consumed; where the engine's trigger wants a verdict, a job goes out and
// the half is *processing*: the inspection keeps what follows (HELD) until inspect_resume. A half
// has at most one job. Its verdict, or its time-out, comes in hold_take_verdicts, where the
// reference {lcore, flow, generation, half, id} is held against what the half waits for.
//
// Without an engine lcore->hold is NULL, and every function here does nothing.
// The owning data lcore only, but for hold_new and hold_free.
#ifndef SLUICE_HOLD_H
#define SLUICE_HOLD_H

#include "pipeline/scan/files.h"
#include "pipeline/stage/packet_ctx.h"
#include "scan/worker.h"

// The scan lcores of a gateway, as data lcores see them. Constant after start.
struct hold_workers {
	const struct scan_config *config;
	struct scan_worker *const *workers;
	unsigned n_workers; // at least 1
	bool in_line;       // replay, tests: who takes verdicts takes the workers' turns, too
};

// For every lcore, after lcore_new. -ENOMEM with a message.
int hold_new(struct lcore *lcore, const struct hold_workers *workers, char *err, size_t err_len);
void hold_free(struct lcore *lcore);

// The flow is to be scanned: it gets its place. False: there is none free (counted); of a flow
// whose ends are not both heard also if half of the places are taken. True also where there is
// nothing to do: no engine, not TCP, it has one already.
bool hold_begin(struct lcore *lcore, uint32_t ref);

// The inspection has consumed a span of ctx->ref. True: from this span's end on, the half is
// processing until inspect_resume. Not to be called for a half that is processing already.
bool hold_span(struct lcore *lcore, struct packet_ctx *ctx, const struct span *span);

// The half's bytes are counted from 0 again (its track is a new one, or began anew): what the
// engine was asked of it is void, and a job that is out is for bytes that nobody took.
void hold_anew(struct lcore *lcore, uint32_t ref, enum half half);

// Takes a bounded number of verdicts, and ends jobs that nobody has answered. Each half's job is
// over, then `obey` does what its verdict says (hold_verdict.h): the flow may be gone before the
// next verdict is looked at.
typedef void hold_verdict_fn(
	struct lcore *lcore, uint32_t ref, enum half half, const struct scan_verdict *verdict);
struct hold_obey {
	hold_verdict_fn *half;
	scan_told_fn *file; // of files (scan/files.h)
};
void hold_take_verdicts(struct lcore *lcore, const struct hold_obey *obey);

// The policy does not scan the flow any more: verdicts that are due are stale. Returns the halves
// that waited for one (bits, by enum half): the caller lets them go on.
unsigned hold_leave(struct lcore *lcore, uint32_t ref);

// The flow's entry goes, for whatever reason: a pending job's verdict will find nobody.
void hold_end(struct lcore *lcore, uint32_t ref);

// What was scanned of a flow, for its records.
struct hold_summary {
	uint32_t jobs;
	uint64_t longest_ns;  // that a half of it was held
	uint64_t since_ns[2]; // by half: its job was submitted then; 0: it waits for none
	uint8_t worst;        // enum scan_value of all its verdicts; the highest is the worst
	bool has_verdict;
};
// False: it has no place here.
bool hold_summary(const struct lcore *lcore, uint32_t ref, struct hold_summary *out);

#endif
