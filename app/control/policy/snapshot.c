// SPDX-License-Identifier: BSD-3-Clause
// Builds all that a policy needs before it is published: rules, databases, scratch.
#include "control/policy/snapshot.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "control/policy/app_tables.h"
#include "control/policy/content_check.h"
#include "base/directory.h"
#include "base/log.h"
#include "control/policy/rule_totals.h"
#include "control/policy/signature_load.h"
#include "control/policy/signature_order.h"
#include "pipeline/policy/content_rules.h"

static_assert(EDITION_SCRATCHES_MAX >= LCORES_MAX, "a scratch for each lcore");

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

struct signature_edition *signature_edition_get(struct signature_edition *signatures)
{
	atomic_fetch_add(&signatures->users, 1);
	return signatures;
}

void signature_edition_put(struct signature_edition *signatures)
{
	if (!signatures || atomic_fetch_sub(&signatures->users, 1) > 1)
		return;
	edition_free(signatures->edition);
	set_put(signatures->own);
	set_put(signatures->files);
	free(signatures);
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	policy_free(snapshot->policy);
	app_tables_free(snapshot->tables);
	signature_edition_put(snapshot->signatures);
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
	rc = beside ? sigdb_new_overlay(beside->db, signatures, n, order->cache_dir, &set->db, NULL,
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
	if (now && signature_order_keep(now->signatures, now->n, &signatures, &n) < 0) {
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

static const struct signature_edition *base_signatures(const struct snapshot_order *order)
{
	return order->base ? order->base->signatures : NULL;
}

static struct signature_set *files_set(const struct snapshot_order *order,
	struct app_tables **tables, struct config_errors *errors)
{
	const struct signature_edition *base = base_signatures(order);
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
	return set_of(order, base ? base->files : NULL, NULL, signatures, n, errors);
}

static struct signature_set *own_set(const struct snapshot_order *order,
	struct signature_set *files, const struct policy *policy, struct config_errors *errors)
{
	const struct signature_edition *base = base_signatures(order);
	unsigned n = policy->n_user_signatures;
	struct signature *signatures = calloc(n, sizeof *signatures);

	if (!signatures)
		return no_memory(errors, order->path);
	memcpy(signatures, policy->user_signatures, n * sizeof *signatures);
	return set_of(order, base ? base->own : NULL, files, signatures, n, errors);
}

static int signatures_missing(const struct snapshot_order *order, struct config_errors *errors)
{
	config_error_add(errors, order->signature_dir, "",
		"no memory for scratch and counts of %u lcores", order->n_lcores);
	return -ENOMEM;
}

// The edition in force if both sets are its, or a new one, with a scratch for each lcore before
// anything is published: a lcore must not find itself without one. `files` is taken.
static int edition_make(const struct snapshot_order *order, struct snapshot *snapshot,
	struct signature_set *files, struct config_errors *errors)
{
	struct signature_edition *made = calloc(1, sizeof *made);
	const struct signature_edition *base = base_signatures(order);
	const struct policy *policy = snapshot->policy;

	if (!made) {
		set_put(files);
		return signatures_missing(order, errors);
	}
	snapshot->signatures = made;
	made->users = 1;
	made->files = files;
	if (policy->n_user_signatures) {
		made->own = own_set(order, files, policy, errors);
		if (!made->own)
			return -EINVAL;
	}
	if (base && base->files == made->files && base->own == made->own) {
		snapshot->signatures = signature_edition_get(order->base->signatures);
		signature_edition_put(made);
		return 0;
	}
	if (edition_new(made->own ? made->own->db : files->db, order->n_lcores, &made->edition) < 0)
		return signatures_missing(order, errors);
	return 0;
}

static int snapshot_fill(
	const struct snapshot_order *order, struct snapshot *snapshot, struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;
	struct signature_set *files;
	int rc;

	// Both are read even if the first is bad: all errors are reported at once.
	files = files_set(order, &snapshot->tables, errors);
	rc = policy_load(order->path, order->names, &snapshot->policy, errors);
	if (rc < 0 && errors->n + errors->dropped == before)
		config_error_add(errors, order->path, "", "%s", strerror(-rc));
	if (files && !rc)
		policy_check_content(snapshot->policy, snapshot->tables, order->path, errors);
	if (!files || errors->n + errors->dropped != before) {
		set_put(files);
		return -EINVAL;
	}
	rc = edition_make(order, snapshot, files, errors);
	if (rc < 0)
		return rc;
	snapshot->policy->edition = snapshot->signatures->edition;
	if (order->cache_dir)
		cache_prune(order, snapshot->policy->edition->db);
	if (app_tables_apply(snapshot->tables, snapshot->policy) < 0) {
		no_memory(errors, order->path);
		return -ENOMEM;
	}
	return rule_counts_new(snapshot->policy, order->n_lcores) < 0 ||
			       content_rules_scratch(snapshot->policy->content, order->n_lcores) < 0
		       ? signatures_missing(order, errors)
		       : 0;
}

// Such a rule is no error: a policy may be shared by gateways that differ.
static void warn_unscanned(const struct snapshot_order *order, const struct policy *policy,
	struct config_errors *errors)
{
	char path[64];

	for (uint32_t i = 0; i < policy->n_rules; i++) {
		const struct rule_content *content = policy->rules[i].content;

		if (order->no_files && content && content->has_scan) {
			snprintf(path, sizeof path, "$.rules[%u].scan", i);
			config_warning_add(errors, order->path, path,
				"rule \"%s\": no file is scanned: this gateway has no virus engine "
				"(scan.engine of gateway.json); each is unscanned, by "
				"unscanned.no_engine",
				policy->rules[i].id);
		}
		if (!order->no_streams || policy->rules[i].action != ACTION_SCAN)
			continue;
		snprintf(path, sizeof path, "$.rules[%u].action", i);
		config_warning_add(errors, order->path, path,
			"rule \"%s\": nothing is scanned, what it matches passes: "
			"this gateway has no engine that is asked about streams (scan.engine of "
			"gateway.json); to have files scanned, write \"scan\": {} in its place",
			policy->rules[i].id);
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
		warn_unscanned(order, snapshot->policy, errors);
		policy_check_kept(snapshot->policy, &order->kept, order->path, errors);
		for (size_t i = 0; i < errors->n_warnings; i++)
			log_warning("%s", errors->warnings[i]);
		return snapshot;
	}
	snapshot_free(snapshot);
	return NULL;
}
