// SPDX-License-Identifier: BSD-3-Clause
// The contract between the gateway and whatever tells clean bytes from infected ones. An engine is
// a table of functions; each scan lcore has an instance of its own (worker.h), which it alone
// calls. `trigger` is the exception: data lcores ask it, with nothing but the configuration, which
// is constant while any lcore runs.
//
// Nothing here waits. An engine that needs time (another process, a thread) takes the job, answers
// from `poll` when it can, and says by `next_ns` and its descriptors when it wants to be asked.
//
// An engine that is other processes does not start them, as the gateway may not: the launcher does,
// and `adopt` says what became of them.
#ifndef SLUICE_SCAN_ENGINE_H
#define SLUICE_SCAN_ENGINE_H

#include <poll.h>
#include <stddef.h>
#include "scan/arena.h"
#include "scan/job.h"
#include "scan/wire.h"
#include "pipeline/vocab/histogram.h"
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

struct swarm; // pipeline/swarm

// Work that scan lcores do beside jobs: a bounded piece of it each call. Zeroed: none.
struct scan_side_work {
	bool (*turn)(void *ctx, unsigned worker, uint64_t now_ns); // true: there was some
	bool (*is_due)(void *ctx);
	void *ctx;
};

// gateway.json: scan. Constant after start.
struct scan_config {
	const struct scan_engine_ops *ops; // NULL: none
	const struct scan_arena *arena;    // of file jobs; NULL: there are none
	struct scan_cache *cache;          // of verdicts, all scan lcores'; NULL: none
	struct scan_lists *lists;          // of hashes, the same
	struct swarm *swarm; // files that several flows bring parts of; NULL: none are put together
	struct scan_side_work side; // its
	uint64_t max_file_bytes;    // of one job; what is beyond is not asked about
	uint64_t timeout_ns;        // of a job, from its submission
	uint32_t flows;             // under scan at once, per data lcore
	uint8_t on_timeout;         // enum scan_failure
	uint8_t on_error;
	unsigned n_script;
	struct scan_script script[SCAN_SCRIPT_MAX];
};

struct scan_cache; // cache.h
struct scan_lists; // hash_list.h

struct scan_engine; // an instance; each engine defines its own

// A scan parent, as whoever starts and kills it tells of it.
struct scan_news {
	int fd;          // its control socket (wire.h); -1: it is dead, and all its children are
	uint32_t parent; // 1, 2, ...: who is started later has the higher number; 0: nobody is left
			 // who could tell that one is dead
	bool retire;     // it is not dead, but to be let go between two files (fd is -1)
};

enum scan_state {
	SCAN_STATE_ABSENT,  // no parent
	SCAN_STATE_LOADING, // it has had no child yet
	SCAN_STATE_READY,   // jobs are taken
	SCAN_STATE_WAITING, // its child is gone, the next one not there yet
	SCAN_STATE_FAILED,  // no child can be had: `text` says why
	SCAN_STATES_MAX
};

static inline const char *scan_state_word(enum scan_state state)
{
	static const char *const words[] = {"absent", "loading", "ready", "waiting", "failed"};

	static_assert(sizeof(words) / sizeof(words[0]) == SCAN_STATES_MAX, "a word each");
	return state < SCAN_STATES_MAX ? words[state] : "?";
}

#define SCAN_LOST_MAX 4

// What a scan lcore need not ask its engine about (front.h).
struct scan_known_status {
	uint64_t hits;   // files whose verdict was remembered
	uint64_t misses; // files that were hashed and are in neither cache nor list
	uint64_t joined; // files that waited for the verdict of the same file in flight
	uint64_t listed; // files that a list of hashes names
	// Of the one cache of all scan lcores
	uint64_t evicted;        // verdicts that made room before their time
	uint32_t entries, limit; // verdicts that are remembered; how many can be
};

// An instance, as others see it. Counters are since its beginning.
struct scan_status {
	uint64_t verdicts[SCAN_VALUES_MAX];
	uint64_t unscanned[SCAN_REASONS_MAX]; // of those of SCAN_UNSCANNED
	uint64_t replaced;                    // children that were killed by its wish
	uint64_t finished;                    // children that ended after their jobs, as they said
	uint64_t died;                        // children that ended otherwise
	struct histogram queue; // of jobs that a child was given: before that, in nanoseconds
	struct histogram run;   // ... with the child
	uint32_t waiting;       // jobs
	uint32_t running;       // 0 or 1
	uint8_t state;          // enum scan_state
	uint32_t parent;        // the one that scans; 0: none
	int32_t pid;            // of its child; 0: none
	uint32_t signatures;
	uint64_t db_version;
	uint64_t db_time_s;
	uint8_t digest[SCAN_WIRE_DIGEST];
	char text[SCAN_WIRE_TEXT];    // of the last child that ended, or of a failure; may be ""
	uint32_t refused;             // the last parent that was loaded aside and not taken; 0
	char refusal[SCAN_WIRE_TEXT]; // why
	// How often `parent` has seen its signatures' folder change and come to rest since it read
	// it, and what is wrong with it now, as far as that can be seen without loading; "":
	// nothing.
	uint32_t folders;
	char folder[SCAN_WIRE_TEXT];
	// Parents that do not keep to the wire, or not to their time: whoever can is to kill their
	// groups, and to say so by `adopt`. 0: none.
	uint32_t lost[SCAN_LOST_MAX];
	struct scan_known_status known;
};

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
	// Takes the descriptor. One parent scans; a later one that comes meanwhile takes over when
	// it has a child and no job is out. NULL: it has no processes.
	void (*adopt)(struct scan_engine *engine, const struct scan_news *news, uint64_t now_ns);
	// Any thread, at any time between make and destroy. NULL: it has nothing to tell.
	void (*status)(struct scan_engine *engine, struct scan_status *out);
};

// Verdicts by script: for tests of holding, and to see in a lab what a slow or dead scanner does.
extern const struct scan_engine_ops scan_engine_null;
// "clamav": asks sluice-scan about files (SCAN_JOB_FILE). One job is with a child at a time, the
// others wait, the oldest first. A job waits for a child that is expected; where none is, and
// before a parent's first one, it is answered unscanned(no_engine) at once.
extern const struct scan_engine_ops scan_engine_process;

#endif
