// SPDX-License-Identifier: BSD-3-Clause
// The contract between the gateway and whatever tells clean bytes from infected ones. An engine is
// a table of functions; each scan lcore has an instance of its own (worker.h), which it alone
// calls. `trigger` is the exception: data lcores ask it, with nothing but the configuration, which
// is constant while any lcore runs.
//
// Nothing here waits. An engine that needs time (another process, a thread) takes the job, answers
// from `poll` when it can, and says by `next_ns` and its descriptors when it wants to be asked.
#ifndef SLUICE_SCAN_ENGINE_H
#define SLUICE_SCAN_ENGINE_H

#include <poll.h>
#include <stddef.h>
#include "scan/arena.h"
#include "scan/job.h"
#include "pipeline/vocab/span.h"

#define SCAN_SCRIPT_MAX 16
#define SCAN_JOBS_MAX   4096 // in one instance; a power of two
#define SCAN_NEVER      UINT64_MAX
#define SCAN_FDS_MAX    8 // descriptors of one instance

enum scan_failure { // what becomes of a flow for which there is no verdict
	SCAN_FAILURE_PASS,
	SCAN_FAILURE_RESET,
};

enum scan_script_verdict {
	SCAN_SCRIPT_CLEAN,
	SCAN_SCRIPT_INFECTED,
	SCAN_SCRIPT_ERROR,
	SCAN_SCRIPT_NEVER, // it tells only when nobody waits for it any more
};

// One line of the null engine's script.
struct scan_script {
	uint32_t after_bytes; // of the half; at least 1
	uint32_t delay_ms;    // from taking the job to its verdict
	uint8_t half;         // enum half
	uint8_t verdict;      // enum scan_script_verdict
	bool every;           // again after each further after_bytes
};

// gateway.json: scan. Constant after start.
struct scan_config {
	const struct scan_engine_ops *ops; // NULL: none
	const struct scan_arena *arena;    // of file jobs; NULL: there are none
	uint64_t timeout_ns;               // of a job, from its submission
	uint32_t flows;                    // under scan at once, per data lcore
	uint8_t on_timeout;                // enum scan_failure
	uint8_t on_error;
	unsigned n_script;
	struct scan_script script[SCAN_SCRIPT_MAX];
};

struct scan_engine; // an instance; each engine defines its own

#define SCAN_TRIGGER_NONE (-1)

struct scan_engine_ops {
	const char *name; // as gateway.json has it
	// Whether a verdict is needed when the bytes of `half` up to `to64` have been seen, those
	// up to `from64` having been asked about before: then no byte behind to64 leaves before it
	// is there. SCAN_TRIGGER_NONE, or what to put into the job. Pure; any lcore.
	int (*trigger)(
		const struct scan_config *config, enum half half, uint64_t from64, uint64_t to64);
	// One instance, for one scan lcore. -ENOMEM, -errno with a message.
	int (*make)(const struct scan_config *config, int socket, struct scan_engine **out,
		char *err, size_t err_len);
	void (*destroy)(struct scan_engine *engine); // NULL is allowed
	// Takes a copy of the job. 0; -EAGAIN: no room now (the job is the caller's still). Of a
	// file job, the extents may be read until its verdict was told, and not after.
	int (*submit)(struct scan_engine *engine, const struct scan_job *job, uint64_t now_ns);
	// Verdicts that are due, at most `max`, oldest first. Each job that was taken has exactly
	// one, however late: the extents of a file are free only then. Who asked waits no longer
	// than its own time-out.
	unsigned (*poll)(struct scan_engine *engine, uint64_t now_ns, struct scan_verdict *out,
		unsigned max);
	// When poll will next have something; SCAN_NEVER: not by itself.
	uint64_t (*next_ns)(const struct scan_engine *engine);
	// What to poll() for beside that: fills at most SCAN_FDS_MAX, returns how many. NULL: none.
	unsigned (*descriptors)(const struct scan_engine *engine, struct pollfd out[SCAN_FDS_MAX]);
};

// Verdicts by script: for tests of holding, and to see in a lab what a slow or dead scanner does.
extern const struct scan_engine_ops scan_engine_null;

#endif
