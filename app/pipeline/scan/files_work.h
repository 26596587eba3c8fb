// SPDX-License-Identifier: BSD-3-Clause
// What files.c and file_verdicts.c share; nobody else includes it.
#ifndef SLUICE_FILES_WORK_H
#define SLUICE_FILES_WORK_H

#include <string.h>
#include "pipeline/flow/share.h"
#include "pipeline/flow/table.h"
#include "pipeline/scan/bytes.h"
#include "pipeline/scan/files.h"
#include "pipeline/scan/halves.h"

#define NONE     0  // numbers begin at 1
#define TURN_MAX 32 // time-outs, and tails, of one turn
#define SCARCE_4 3  // quarters of places, or of the arena's part, taken: sources have shares ...
#define SHARE_4  1  // ... of so many quarters each

struct place { // in a list
	uint32_t prev, next;
	bool on;
};

struct list {
	uint32_t first, last;
};

struct scan_file {
	struct scan_bytes *bytes; // NULL: the place is free
	struct open_file *owner;
	struct scan_job job; // id 0: none is out
	struct rule_scan rule;
	struct scan_result result;
	uint64_t scanned64;   // behind what was looked at
	uint64_t whole64;     // ... from the first byte on, in one job
	uint64_t size64;      // that was announced; 0: none was
	uint64_t gave_ns;     // its newest bytes came then
	struct place tail;    // among those whose newest bytes wait, the oldest first
	struct place waiting; // among those with a job that was not given up, the same
	struct place sharing; // ... among those that wait for one that is not theirs (parts.h)
	uint32_t part;        // number in the swarm; 0: its bytes come over this flow alone
	uint64_t part_from;   // offset in the file of what this transfer brings
	uint64_t part_to;     // ... behind what it has brought
	uint8_t alone;        // enum part_alone: whether that is looked at by itself
	uint64_t changes;     // of the swarm's file, when it began to wait
	uint32_t flow, generation;
	uint32_t rule_uid;
	struct item_id item; // in records
	uint32_t next_free;
	uint32_t in_half; // of those that wait for it (halves.h); 0: none does
	uint32_t units;   // of STORE_EXTENT_MIN, that its source is counted for
	struct flow_share share;
	uint8_t half;
	uint8_t worker;
	uint8_t again;
	bool enforces;
	bool ended;
	bool dropped;  // its owner does not want to know
	bool given_up; // nobody waits for the job any more
};

struct scan_files {
	const struct scan_config *config;
	struct scan_worker *const *workers;
	struct scan_store store;
	unsigned n_workers;
	uint64_t next_id;
	uint32_t waiting_at[LCORES_MAX]; // jobs that each worker owes a verdict
	struct list tails, waiting, sharing;
	uint64_t swarm_changes;         // that were looked at
	uint64_t count_ns;              // then counters are taken over
	uint32_t n_sharing, n_unlooked; // of `sharing`; of these, since then
	struct scan_halves *halves;
	struct flow_shares places, memory; // of sources: files, and units of STORE_EXTENT_MIN
	uint64_t scarce_bytes;             // of the arena's part
	uint32_t free, n;
	uint32_t n_since;        // halves of which something is new
	uint32_t n_held;         // halves that wait for a verdict; others read it
	struct scan_file file[]; // from 1 on
};

// A file leaves a list, or is the last of it; the half that waits for it counts it.
void scan_work_list_remove(struct scan_files *files, struct list *list, uint32_t number);
void scan_work_list_append(struct scan_files *files, struct list *list, uint32_t number);
// Something is new for the half that waits for the file.
void scan_work_note_since(
	struct scan_files *files, const struct scan_file *file, enum scan_since what);
// A place for a file, without bytes. NONE: there is none, which is counted.
uint32_t scan_work_place(struct lcore *lcore, const struct scan_begin *begin);
// What a verdict says, without times.
static inline struct scan_result scan_result_of(const struct scan_verdict *verdict)
{
	struct scan_result result = {
		.value = verdict->value,
		.reason = verdict->reason,
		.source = verdict->source,
		.known = true,
		.by = verdict->by < SCAN_BY_MAX ? verdict->by : SCAN_BY_NOBODY,
		.db_version = verdict->db_version,
	};

	memcpy(result.name, verdict->name, sizeof(result.name));
	return result;
}

// The scan lcore that has the fewest jobs.
unsigned scan_work_least_busy(const struct scan_files *files);
// What is awaited of the file is there: `obey` is told. Else than with `goes_on` it is over.
void scan_work_tell(struct lcore *lcore, uint32_t number, const struct scan_verdict *verdict,
	bool goes_on, scan_told_fn *obey);
// Its flow is there.
bool scan_work_is_here(const struct lcore *lcore, const struct scan_file *file);
// A half waits for a job.
bool scan_work_waits(struct lcore *lcore, uint32_t ref, unsigned half);
// A result, and false.
bool scan_work_unscanned(struct scan_result *result, enum scan_reason reason);
// The file is gone; with a job out, when its verdict comes.
void scan_work_give(struct lcore *lcore, uint32_t number);
// A job about all from `from64` on. False: there is no room for it.
bool scan_work_submit(struct lcore *lcore, uint32_t number, uint64_t from64);
// True: a job about what is left is out. False: there is no room for one.
bool scan_work_submit_last(struct lcore *lcore, uint32_t number);
// Where a job about what is new begins.
uint64_t scan_work_window_from(const struct scan_file *file);
// All that is there.
bool scan_work_is_looked_at(const struct scan_file *file);

#endif
