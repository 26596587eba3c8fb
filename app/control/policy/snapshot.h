// SPDX-License-Identifier: BSD-3-Clause
// Building what a policy needs in force: the document, compiled signatures, scratch for every
// lcore. Any thread, one build at a time: it reads files and what the order gives it, logs, and
// touches nothing else. app/control/policy/reload publishes and frees snapshots.
#ifndef SLUICE_SNAPSHOT_H
#define SLUICE_SNAPSHOT_H

#include <stdatomic.h>

#include "control/policy/content_check.h"
#include "control/policy/load.h"

struct signature_set;

// The compiled signatures of the files and of the policy, shared by the snapshots that were loaded
// with the same ones; freed with its last user.
struct signature_edition {
	struct edition *edition;
	struct signature_set *files; // of config/signatures
	struct signature_set *own;   // beside those; NULL: the policy has no patterns
	atomic_uint users;
	// while it leaves (editions.h)
	struct signature_edition *next;
	uint64_t since_ns;
	uint64_t token; // of the grace period after which no flow looks into it
	bool retired;
};
struct signature_edition *signature_edition_get(struct signature_edition *signatures); // any thread
void signature_edition_put(struct signature_edition *signatures); // the same; NULL is allowed

struct snapshot {
	struct policy *policy;
	struct signature_edition *signatures;
	struct app_tables *tables; // hosts and networks of config/signatures
	uint64_t token;            // of the grace period that has to pass before it is freed
	struct snapshot *next;
};

struct snapshot_order {   // borrowed until the build is over
	const char *path; // of the policy
	const char *signature_dir;
	const char *cache_dir; // or NULL
	unsigned cache_days;   // unused databases older than that are removed; 0: never
	bool no_files;         // no engine scans files: a rule that has them scanned is warned of
	bool no_streams;       // the same of rules of action scan
	struct content_kept kept; // a rule that asks for more is warned of
	unsigned n_lcores;
	const struct snapshot
		*base;            // in force, not freed meanwhile; what has not changed is shared
	struct rule_names *names; // that nobody else uses meanwhile
};

// NULL with everything in `errors`. Warnings are logged, too.
struct snapshot *snapshot_build(const struct snapshot_order *order, struct config_errors *errors);
void snapshot_free(struct snapshot *snapshot); // NULL is allowed

#endif
