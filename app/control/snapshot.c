// SPDX-License-Identifier: BSD-3-Clause
#include "snapshot.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app_tables.h"
#include "directory.h"
#include "log.h"
#include "rule_totals.h"
#include "signature_load.h"
#include "signature_order.h"

// A compiled set of signatures, shared by the snapshots that were loaded with the same ones.
struct signature_set {
	struct signature *signatures;
	unsigned n;
	struct sigdb *db;
	struct signature_set *beside; // of the files, when these are a policy's own
	atomic_uint users;            // a build shares while the control loop frees
};

static struct signature_set *set_get(struct signature_set *set)
{
	atomic_fetch_add(&set->users, 1);
	return set;
}

static void set_put(struct signature_set *set)
{
	if (!set || atomic_fetch_sub(&set->users, 1) > 1)
		return;
	sigdb_free(set->db);
	set_put(set->beside);
	free(set->signatures);
	free(set);
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	policy_free(snapshot->policy); // with the scratch, which is tied to the sets' databases
	app_tables_free(snapshot->tables);
	set_put(snapshot->own);
	set_put(snapshot->files);
	free(snapshot);
}

static struct signature_set *no_memory(struct config_errors *errors, const char *file)
{
	config_error_add(errors, file, "", "no memory");
	return NULL;
}

// At best: without a cache each start compiles, which takes a second or two.
static void cache_make(const char *dir)
{
	int rc = directory_make(dir);

	if (rc == 0 && access(dir, W_OK) < 0)
		rc = -errno;
	if (rc < 0)
		log_warning("%s: compiled signatures cannot be kept there: %s; make it writable, "
			    "or change paths.cache (null: none)",
			dir, strerror(-rc));
}

static void cache_prune(const struct snapshot_order *order, const struct sigdb *db)
{
	int rc = sigdb_cache_prune(order->cache_dir, db, order->cache_days, time(NULL));

	if (rc > 0)
		log_warning("%s: %d old files of compiled signatures cannot be removed: give the "
			    "folder to the gateway's user, or remove them",
			order->cache_dir, rc);
}

// Takes `signatures`, also on failure.
static struct signature_set *set_compile(const struct snapshot_order *order,
	struct signature_set *beside, struct signature *signatures, unsigned n,
	struct config_errors *errors)
{
	const char *file = beside ? order->path : order->signature_dir;
	struct signature_set *set = calloc(1, sizeof *set);
	char err[512] = "";
	int rc;

	if (!set) {
		free(signatures);
		return no_memory(errors, file);
	}
	set->signatures = signatures;
	set->n = n;
	set->beside = beside ? set_get(beside) : NULL;
	set->users = 1;
	if (order->cache_dir)
		cache_make(order->cache_dir);
	rc = beside ? sigdb_new_beside(beside->db, signatures, n, order->cache_dir, &set->db, NULL,
			      err, sizeof err)
		    : sigdb_new(signatures, n, order->cache_dir, &set->db, NULL, err, sizeof err);
	if (rc < 0) {
		config_error_add(errors, file, "", "%s", err[0] ? err : strerror(-rc));
		set_put(set);
		return NULL;
	}
	return set;
}

// The set of `signatures` (taken): the one in force if nothing changed, or a new one. Each that was
// there before keeps its number.
static struct signature_set *set_of(const struct snapshot_order *order, struct signature_set *now,
	struct signature_set *beside, struct signature *signatures, unsigned n,
	struct config_errors *errors)
{
	if (now && signature_order_keep(now->signatures, now->n, signatures, n) < 0) {
		free(signatures);
		return no_memory(errors, order->path);
	}
	if (now && now->beside == beside &&
		signature_order_same(now->signatures, now->n, signatures, n)) {
		free(signatures);
		return set_get(now);
	}
	return set_compile(order, beside, signatures, n, errors);
}

static struct signature_set *files_set(const struct snapshot_order *order,
	struct app_tables **tables, struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	struct signature *signatures = NULL;
	unsigned n = 0;

	if (signature_load_dir(order->signature_dir, &signatures, &n, tables, errors) < 0) {
		if (errors->n + errors->dropped == before)
			config_error_add(errors, order->signature_dir, "", "cannot be read");
		free(signatures);
		return NULL;
	}
	for (unsigned i = 0; i < n; i++)
		signatures[i].rank = (uint16_t)i;
	return set_of(order, order->base ? order->base->files : NULL, NULL, signatures, n, errors);
}

static struct signature_set *own_set(const struct snapshot_order *order,
	const struct snapshot *snapshot, struct config_errors *errors)
{
	const struct policy *policy = snapshot->policy;
	unsigned n = policy->n_user_signatures;
	struct signature *signatures = calloc(n, sizeof *signatures);

	if (!signatures)
		return no_memory(errors, order->path);
	memcpy(signatures, policy->user_signatures, n * sizeof *signatures);
	return set_of(order, order->base ? order->base->own : NULL, snapshot->files, signatures, n,
		errors);
}

// One scratch per lcore before anything is published: a lcore must not find itself without one.
static int scratch_new(struct policy *policy, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = sigdb_scratch_new(policy->sigdb, &policy->scratch[i]);

		if (rc < 0)
			return rc;
		policy->n_scratch = i + 1;
	}
	return 0;
}

static int snapshot_fill(
	const struct snapshot_order *order, struct snapshot *snapshot, struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	int rc;

	// Both are read even if the first is bad: all errors are told at once.
	snapshot->files = files_set(order, &snapshot->tables, errors);
	rc = policy_load(order->path, order->names, &snapshot->policy, errors);
	if (rc < 0 && errors->n + errors->dropped == before)
		config_error_add(errors, order->path, "", "%s", strerror(-rc));
	if (!snapshot->files || rc < 0)
		return -EINVAL;
	if (app_tables_apply(snapshot->tables, snapshot->policy) < 0) {
		no_memory(errors, order->path);
		return -ENOMEM;
	}
	snapshot->policy->sigdb = snapshot->files->db;
	if (snapshot->policy->n_user_signatures) {
		snapshot->own = own_set(order, snapshot, errors);
		if (!snapshot->own)
			return -EINVAL;
		snapshot->policy->sigdb = snapshot->own->db;
	}
	if (order->cache_dir)
		cache_prune(order, snapshot->policy->sigdb);
	rc = scratch_new(snapshot->policy, order->n_lcores);
	if (!rc)
		rc = rule_counts_new(snapshot->policy, order->n_lcores);
	if (rc < 0)
		config_error_add(errors, order->signature_dir, "",
			"no memory for scratch and counts of %u lcores", order->n_lcores);
	return rc;
}

// Such a rule is no error: a policy may be shared by gateways that differ.
static void warn_unscanned(const struct snapshot_order *order, const struct policy *policy)
{
	for (uint32_t i = 0; order->unscanned && i < policy->n_rules; i++) {
		if (policy->rules[i].action == ACTION_SCAN)
			log_warning("%s: rule \"%s\": nothing is scanned, what it matches passes: "
				    "this gateway has no scan engine (scan.engine of gateway.json)",
				order->path, policy->rules[i].id);
	}
}

struct snapshot *snapshot_build(const struct snapshot_order *order, struct config_errors *errors)
{
	struct snapshot *snapshot = calloc(1, sizeof *snapshot);

	if (!snapshot) {
		no_memory(errors, order->path);
		return NULL;
	}
	if (snapshot_fill(order, snapshot, errors) == 0) {
		warn_unscanned(order, snapshot->policy);
		return snapshot;
	}
	snapshot_free(snapshot);
	return NULL;
}
