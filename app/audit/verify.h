// SPDX-License-Identifier: BSD-3-Clause
// Verifies an audit log (log.h): every line has its number and the hash of the line before it. What
// the chain cannot tell (the last lines are missing; all lines were written anew) is told by a head
// that was kept elsewhere, the anchor. One pass, memory for one line; any thread.
#ifndef SLUICE_AUDIT_VERIFY_H
#define SLUICE_AUDIT_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/record.h"

struct audit_fault {
	const char *file; // NULL: of the log as a whole
	uint64_t line;    // in that file, from 1 on
	uint64_t seq;     // that the line has; 0: unknown
	const char *what; // a sentence
};
typedef void audit_fault_fn(void *ctx, const struct audit_fault *fault);

struct audit_summary {
	unsigned files;
	uint64_t lines;     // that have the form of a record
	uint64_t first_seq; // 1: the log is given from its beginning on; 0: no record
	uint64_t last_seq;
	char head[AUDIT_HEX_BYTES]; // of the last record: what an anchor may be
	uint64_t anchor_seq;        // of the record that the anchor is the hash of; 0: not found
	uint64_t faults;
};

// The chain as a stream of bytes, for files and for the fuzzer.
struct audit_chain;

// `anchor` is a head that the log had at some time, or NULL. NULL: no memory.
struct audit_chain *audit_chain_new(audit_fault_fn *report, void *ctx, const char *anchor);
void audit_chain_free(struct audit_chain *chain);
// The next file in the order in which they were written; `name` is kept until its end.
void audit_chain_file(struct audit_chain *chain, const char *name);
void audit_chain_feed(struct audit_chain *chain, const char *bytes, size_t length);
void audit_chain_file_end(struct audit_chain *chain);
// After the last file.
void audit_chain_end(struct audit_chain *chain, struct audit_summary *out);

// The files of a log at `paths`: files, and folders with audit.log and audit.log.<number>; the
// order is that of their first numbers. 0 whatever is wrong with the log; -errno with a sentence in
// `err` when something cannot be read, or there is no such file.
int audit_verify(
	char *const *paths, unsigned n_paths, struct audit_chain *chain, char *err, size_t err_len);

#endif
