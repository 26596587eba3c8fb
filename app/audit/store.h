// SPDX-License-Identifier: BSD-3-Clause
// A store of transferred files, in the layout of Suricata's file-store version 2:
//
//   FOLDER/tmp/                        files that are not whole yet; emptied at the start
//   FOLDER/<first two digits>/<sha256> a file, once, however often it was transferred
//   FOLDER/<..>/<sha256>.<unix seconds>.<id>.json   what was known of one transfer of it
//
// Without a folder files are only digested. One thread calls it, which may wait for the disk; one
// process has a folder (flock). What goes wrong costs the file that it happened to, and is counted.
// Below the folder no symbolic link is followed, and no name comes from outside: all are digits.
#ifndef SLUICE_AUDIT_STORE_H
#define SLUICE_AUDIT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/digest.h"

struct store;
struct store_file;

enum store_full {
	STORE_FULL_EVICT,  // the files that came longest ago go
	STORE_FULL_REFUSE, // what comes is not stored
};

// 0: no limit. Bytes and files are of what the folder has, sidecars and tmp/ with it.
struct store_limits {
	uint64_t bytes;
	uint64_t files;
	uint64_t file_bytes; // of one file; a longer one is not stored, and evicts nothing
	uint64_t age_s;      // since the last transfer of a file
	unsigned open_files; // further ones are only digested
	enum store_full full;
	bool owner_only; // files 0600, folders 0700; else 0640 and 0750
};

struct store_counters {
	uint64_t stored;     // files that are new
	uint64_t duplicates; // transfers of files that were there
	uint64_t sidecars;
	uint64_t evicted, aged;
	uint64_t refused;       // files that a limit kept out
	uint64_t quarantined;   // infected files whose copy went to quarantine
	uint64_t removed;       // infected files whose copy is gone
	uint64_t errors;        // files that the disk cost, sidecars, and removals that failed
	uint64_t used_bytes;    // rising until the walk is over
	uint64_t used_files;    // likewise
	uint64_t foreign_files; // found in the folder, and not of the store: left alone
	unsigned open_files;
	int error; // errno of what failed last
	bool walking;
};

// What became of the transfer: CLOSED, TRUNCATED (its end did not come) or ERROR (not stored), as
// in the records of Suricata.
enum store_state {
	STORE_CLOSED,
	STORE_TRUNCATED,
	STORE_ERROR,
};

struct store_result {
	enum store_state state;
	uint64_t size; // behind the last byte that came
	bool gaps;     // bytes before it did not come; they are stored and digested as zeros
	bool digested; // else `digests` are empty: what came out of order was not stored
	bool stored;
	bool duplicate;   // and was stored before
	bool quarantined; // not stored, but in the quarantine
	// Why it is not stored: ENOSPC, EFBIG, EDQUOT (a limit), EMFILE ...; 0: it is, or there is
	// no folder, or its state is ERROR.
	int error;
	struct file_digests digests;
	char path[68]; // below the folder, of the quarantine if it is there; "": nowhere
};

// `folder` is made if it is not there; NULL: only digests. It may be read-only: then nothing is
// stored until that changes. 0, or -errno with a sentence in `err`: it cannot be opened, or another
// process has it (-EBUSY).
int store_open(const char *folder, const struct store_limits *limits, struct store **out, char *err,
	size_t err_len);
// Files that are open are aborted.
void store_close(struct store *store);
// Goes on with what takes long, about `work` files of it: finding what the folder has, and removing
// what is too old. True: there is more to do at once. Until what it has is found nothing is
// evicted: what the limits do not have room for by then is refused.
bool store_step(struct store *store, uint64_t now_s, unsigned work);
void store_look(const struct store *store, struct store_counters *out);

// Never NULL but without memory. The id is the caller's, for sidecars.
struct store_file *store_begin(struct store *store);
// Bytes of the file, in any order, also again; of bytes that are digested already the first ones
// stay. 0, or -errno: it will not be stored; what comes in order is digested all the same.
int store_write(struct store_file *file, uint64_t offset, const void *bytes, size_t length);
// These three end the life of `file`.
void store_end(struct store_file *file, enum store_state state, uint64_t now_s,
	struct store_result *result);
// As store_end of a file in which something was found: the store keeps no copy of it, nor one that
// came earlier with the same bytes, with its sidecars. `quarantine` has it then; where that is
// NULL, or has no room, nobody. What could not be removed is `stored`, and counted as an error.
void store_end_infected(struct store_file *file, enum store_state state, uint64_t now_s,
	struct store *quarantine, struct store_result *result);
void store_abort(struct store_file *file);
// The sidecar of a transfer that `store` has, be it the quarantine: `json` as it is. Time and id
// together are its name. 0 or -errno, which is counted.
int store_note(struct store *store, const struct store_result *result, uint64_t now_s, uint64_t id,
	const char *json, size_t length);

#endif
