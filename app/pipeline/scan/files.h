// SPDX-License-Identifier: BSD-3-Clause
// Files under scan: their bytes in the arena (bytes.h), jobs about them, and the verdicts
// (kP2PADM 3.1.5; scan/engine.h). A file is looked at
//   whole       when it has ended, all of it
//   by windows  each time that so many new bytes are there, with some of those before
// and where its newest bytes wait for what comes behind them (tcp_track.h, track_gate), once they
// have waited for SCAN_TAIL_NS: a file may end there, and nobody says so. Then all of it is looked
// at, if it has grown by half since the last time, and SCAN_AGAIN_MAX times at most, or if it has
// the size that was announced; else what is new, as a window.
//
// A file has one job at a time. What a job names is kept until its verdict, however late, and
// whatever becomes of the flow; who asked waits no longer than the configuration says.
// The owning data lcore only, but for scan_files_new and scan_files_free.
#ifndef SLUICE_SCAN_FILES_H
#define SLUICE_SCAN_FILES_H

#include "pipeline/lcore/lcore.h"
#include "pipeline/policy/content_rules.h"
#include "pipeline/vocab/item_id.h"
#include "scan/worker.h"

#define SCAN_TAIL_NS   (20 * NS_PER_MS)
#define SCAN_AGAIN_MAX 8

struct scan_files;
struct open_file; // of whoever decodes (content/state.h): not looked into here

// For an lcore, if the engine takes files (config->arena). -ENOMEM with a message.
int scan_files_new(struct lcore *lcore, const struct scan_config *config,
	struct scan_worker *const *workers, unsigned n_workers, unsigned n_lcores, char *err,
	size_t err_len);
void scan_files_free(struct lcore *lcore); // NULL is allowed

// The lcore's pool, as others see it; any core. False: it has none.
struct scan_files_use {
	uint64_t arena_bytes; // its part of the arena
	uint64_t arena_used;
	uint64_t arena_peak;
	uint64_t held; // halves of flows that wait for a verdict
};
bool scan_files_look(const struct lcore *lcore, struct scan_files_use *use);

// What is known of a file.
struct scan_result {
	uint64_t queue_ns, run_ns; // of its last job
	uint64_t hold_ns;          // since that was submitted
	uint8_t value;             // enum scan_value
	uint8_t reason;            // enum scan_reason
	uint8_t source;            // enum scan_source
	bool known;                // else there is no verdict (yet)
	bool told;                 // the policy was held against it before
	uint8_t by;                // enum scan_by: who looked at it ...
	uint32_t db_version;       // ... with signatures of this version
	char name[SCAN_NAME_MAX];
};

// A file begins. Its rule's `scan` is copied. `enforces`: its half waits for verdicts. Returns its
// number; 0: it is not scanned, and the result says why.
struct scan_begin {
	struct open_file *owner;
	const struct rule_scan *rule;
	uint64_t size; // bytes that are to come, by who announced it; 0: nobody says
	uint32_t ref;  // flow, TCP
	uint32_t rule_uid;
	struct item_id item; // in records
	uint8_t half;
	bool enforces;
};
uint32_t scan_file_begin(
	struct lcore *lcore, const struct scan_begin *begin, struct scan_result *result);
// Decoded bytes, in order: `at` is the offset in what is transferred. False: the file is not
// scanned any more, and has no number; the result says why.
bool scan_file_add(struct lcore *lcore, uint32_t number, uint64_t at, const uint8_t *bytes,
	uint32_t length, struct scan_result *result);
// Nothing of it follows. True: its verdict comes later, with its owner (scan_told). False: there is
// the result, and no number any more.
bool scan_file_end(struct lcore *lcore, uint32_t number, struct scan_result *result);
// Its owner does not want to know any more; a job that is out still holds its half.
void scan_file_drop(struct lcore *lcore, uint32_t number);

// Since the last call: for whoever has fed a span of this flow, of each half, as what a decoder
// tells may be of the other one.
enum scan_since {
	SCAN_SINCE_NOTHING,
	SCAN_SINCE_BYTES, // it gave bytes of a file whose half waits for verdicts
	SCAN_SINCE_JOB,   // a job began for which it waits
};
enum scan_since scan_files_since(struct lcore *lcore, uint32_t ref, unsigned half);
// The half waits for a verdict about a file, or for what comes behind the newest bytes of one.
bool scan_files_hold(struct lcore *lcore, uint32_t ref, unsigned half);
// Newest bytes of a file of the half wait for what comes behind them.
bool scan_files_stand(struct lcore *lcore, uint32_t ref, unsigned half);

// A verdict, or none in time.
struct scan_told {
	const struct scan_verdict *verdict;
	const struct rule_scan *rule;
	struct open_file *owner; // NULL: it is not interested any more
	struct scan_result result;
	uint32_t ref;
	uint32_t rule_uid;
	struct item_id item; // in records
	uint8_t half;
	bool enforces;
	bool is_here;                // the flow is still there
	const struct content_id *id; // by which it is put together; NULL: it is not
	bool condemned; // that id, for everybody; NULL owner, and no flow: nothing else is told
	bool ended;     // the file: this is its last verdict, and the owner is the callee's
	bool over;      // nothing more of it is looked at, for what the verdict is
	bool waits;     // its half waits for another job
	bool stands;    // bytes of a file of that half were not looked at yet
};
typedef void scan_told_fn(struct lcore *lcore, const struct scan_told *told);

// Of any job that somebody has waited for: counts it by its value, and how long it took.
void scan_verdict_count(struct lcore *lcore, const struct scan_verdict *verdict);
// A verdict with SCAN_JOB_FILE: as hold_take_verdicts has it from a ring.
void scan_files_verdict(
	struct lcore *lcore, const struct scan_verdict *verdict, scan_told_fn *told);
// Once a turn: jobs about what has waited long enough, and those that nobody answers in time.
void scan_files_turn(struct lcore *lcore, scan_told_fn *told);

#endif
