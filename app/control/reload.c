// SPDX-License-Identifier: BSD-3-Clause
#include "reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "directory.h"
#include "log.h"
#include "rule_totals.h"
#include "signature_load.h"
#include "signature_order.h"

// A compiled set of signatures, shared by the snapshots that were loaded with the same files.
struct signature_set {
	struct signature *signatures;
	unsigned n;
	struct sigdb *db;
	unsigned users;
};

struct snapshot {
	struct policy *policy;
	struct signature_set *set;
	uint64_t token; // of the grace period that has to pass before it is freed
	struct snapshot *next;
};

struct reload {
	struct dataplane *dp;
	struct rule_names *names;
	struct app_names *apps;
	struct sink *sink;
	void (*guard)(void *ctx, struct config_errors *errors);
	void *guard_ctx;
	void (*observer)(void *ctx, enum reload_progress progress);
	void *observer_ctx;
	bool observed; // has heard of a beginning, not of the end
	char *signature_dir;
	char *cache_dir;
	char *path;
	struct snapshot *current;
	struct rule_totals totals;
	struct snapshot *waiting; // oldest first: grace periods end in their order
	uint64_t generation;
	uint64_t loaded_ns;
	uint64_t freed;
	uint64_t failures;
};

int reload_new(struct dataplane *dp, struct rule_names *names, const char *signature_dir,
	const char *cache_dir, struct reload **out)
{
	struct reload *reload = calloc(1, sizeof *reload);

	if (!reload)
		return -ENOMEM;
	reload->dp = dp;
	reload->names = names;
	reload->apps = app_names_new();
	reload->signature_dir = strdup(signature_dir);
	reload->cache_dir = cache_dir ? strdup(cache_dir) : NULL;
	if (!reload->apps || !reload->signature_dir || (cache_dir && !reload->cache_dir)) {
		reload_free(reload);
		return -ENOMEM;
	}
	*out = reload;
	return 0;
}

void reload_set_sink(struct reload *reload, struct sink *sink)
{
	reload->sink = sink;
	if (!sink)
		return;
	sink_set_sigdb(sink, reload_sigdb(reload));
	sink_set_apps(sink, reload->apps);
}

void reload_set_guard(
	struct reload *reload, void (*guard)(void *ctx, struct config_errors *errors), void *ctx)
{
	reload->guard = guard;
	reload->guard_ctx = ctx;
}

void reload_set_observer(struct reload *reload,
	void (*observer)(void *ctx, enum reload_progress progress), void *ctx)
{
	reload->observer = observer;
	reload->observer_ctx = ctx;
	reload->observed = false;
}

static void observe(struct reload *reload, enum reload_progress progress)
{
	reload->observed = progress == RELOAD_BEGINS;
	if (reload->observer)
		reload->observer(reload->observer_ctx, progress);
}

static bool guard_allows(const struct reload *reload, struct config_errors *errors)
{
	size_t before = errors->n + errors->dropped;

	if (reload->guard)
		reload->guard(reload->guard_ctx, errors);
	return errors->n + errors->dropped == before;
}

static void set_put(struct signature_set *set)
{
	if (!set || --set->users)
		return;
	sigdb_free(set->db);
	free(set->signatures);
	free(set);
}

static void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	policy_free(snapshot->policy); // with the scratch, which is tied to the set's database
	set_put(snapshot->set);
	free(snapshot);
}

static struct signature_set *no_memory(struct config_errors *errors, const char *file)
{
	config_error_add(errors, file, "", "no memory");
	return NULL;
}

// At best: without a cache each start compiles, which takes a second or two.
static void cache_make(const struct reload *reload)
{
	if (!reload->cache_dir)
		return;
	int rc = directory_make(reload->cache_dir);
	if (rc == 0 && access(reload->cache_dir, W_OK) < 0)
		rc = -errno;
	if (rc < 0)
		log_warning("%s: compiled signatures cannot be kept there: %s; make it writable, "
			    "or change paths.cache (null: none)",
			reload->cache_dir, strerror(-rc));
}

static struct signature_set *set_compile(struct reload *reload, struct signature *signatures,
	unsigned n, struct config_errors *errors)
{
	struct signature_set *set = calloc(1, sizeof *set);
	char err[512] = "";
	int rc;

	if (!set) {
		free(signatures);
		return no_memory(errors, reload->signature_dir);
	}
	*set = (struct signature_set){.signatures = signatures, .n = n, .users = 1};
	cache_make(reload);
	rc = sigdb_new(signatures, n, reload->cache_dir, &set->db, NULL, err, sizeof err);
	if (rc < 0) {
		config_error_add(
			errors, reload->signature_dir, "", "%s", err[0] ? err : strerror(-rc));
		set_put(set);
		return NULL;
	}
	return set;
}

// The set of the files as they are now: the one in force if nothing changed, or a new one.
static struct signature_set *set_get(struct reload *reload, struct config_errors *errors)
{
	struct signature_set *now = reload->current ? reload->current->set : NULL;
	struct signature *signatures = NULL;
	unsigned n = 0;

	if (signature_load_dir(reload->signature_dir, &signatures, &n, errors) < 0) {
		if (!errors->n)
			config_error_add(errors, reload->signature_dir, "", "cannot be read");
		free(signatures);
		return NULL;
	}
	for (unsigned i = 0; i < n; i++)
		signatures[i].rank = (uint16_t)i;
	if (now && signature_order_keep(now->signatures, now->n, signatures, n) < 0) {
		free(signatures);
		return no_memory(errors, reload->signature_dir);
	}
	if (now && signature_order_same(now->signatures, now->n, signatures, n)) {
		free(signatures);
		now->users++;
		return now;
	}
	return set_compile(reload, signatures, n, errors);
}

// One scratch per lcore before anything is published: a lcore must not find itself without one.
static int scratch_new(struct policy *policy, const struct sigdb *db, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		int rc = sigdb_scratch_new(db, &policy->scratch[i]);

		if (rc < 0)
			return rc;
		policy->n_scratch = i + 1;
	}
	return 0;
}

static struct snapshot *snapshot_build(struct reload *reload, const char *path,
	struct rule_names *names, struct config_errors *errors)
{
	struct snapshot *snapshot = calloc(1, sizeof *snapshot);
	size_t before = errors->n + errors->dropped;
	int rc;

	if (!snapshot) {
		no_memory(errors, path);
		return NULL;
	}
	// Both are read even if the first is bad: all errors are told at once.
	snapshot->set = set_get(reload, errors);
	rc = policy_load(path, names, &snapshot->policy, errors);
	if (rc < 0 && errors->n + errors->dropped == before)
		config_error_add(errors, path, "", "%s", strerror(-rc));
	if (!snapshot->set || rc < 0)
		goto fail;
	snapshot->policy->sigdb = snapshot->set->db;
	rc = scratch_new(snapshot->policy, snapshot->set->db, reload->dp->n_lcores);
	if (!rc)
		rc = rule_counts_new(snapshot->policy, reload->dp->n_lcores);
	if (!rc)
		rc = rule_totals_reserve(&reload->totals, snapshot->policy);
	if (rc < 0) {
		config_error_add(errors, reload->signature_dir, "",
			"no memory for scratch and counts of %u lcores", reload->dp->n_lcores);
		goto fail;
	}
	return snapshot;
fail:
	snapshot_free(snapshot);
	return NULL;
}

static void publish(struct reload *reload, struct snapshot *snapshot)
{
	struct snapshot *old = reload->current, **end = &reload->waiting;

	snapshot->policy->generation = ++reload->generation;
	atomic_store_explicit(&reload->dp->policy, snapshot->policy, memory_order_release);
	reload->current = snapshot;
	if (!old)
		return;
	// Readers that report from here on have let go of the old one.
	old->token = reload->dp->qsbr ? rte_rcu_qsbr_start(reload->dp->qsbr) : 0;
	while (*end)
		end = &(*end)->next;
	*end = old;
}

int reload_load(struct reload *reload, const char *policy_path, uint64_t now_ns,
	struct config_errors *errors)
{
	struct snapshot *snapshot = NULL;
	char *path = strdup(policy_path);

	observe(reload, RELOAD_BEGINS);
	bool allowed = guard_allows(reload, errors);

	// what is wrong with the policy is told all the same
	if (path)
		snapshot = snapshot_build(reload, policy_path, reload->names, errors);
	else
		no_memory(errors, policy_path);
	if (!snapshot || !allowed) {
		snapshot_free(snapshot);
		free(path);
		reload->failures++;
		if (reload->sink)
			sink_policy_event(reload->sink, now_ns, reload->generation, false,
				policy_path, errors);
		observe(reload, RELOAD_REFUSED);
		return -EINVAL;
	}
	publish(reload, snapshot);
	free(reload->path);
	reload->path = path;
	reload->loaded_ns = now_ns;
	if (reload->sink) {
		// Numbers mean the same in both sets (signature_order), so that events of lcores
		// which are still behind are written with the new one; the old one may go.
		sink_set_sigdb(reload->sink, snapshot->set->db);
		sink_policy_event(
			reload->sink, now_ns, reload->generation, true, policy_path, NULL);
	}
	return 0;
}

int reload_check(struct reload *reload, const char *policy_path, struct config_errors *errors)
{
	struct rule_names *names = rule_names_new(); // a check leaves no names behind
	struct snapshot *snapshot;

	if (!names) {
		no_memory(errors, policy_path);
		return -EINVAL;
	}
	bool allowed = guard_allows(reload, errors);

	snapshot = snapshot_build(reload, policy_path, names, errors);
	rule_names_free(names);
	bool good = snapshot && allowed;

	snapshot_free(snapshot);
	return good ? 0 : -EINVAL;
}

bool reload_step(struct reload *reload)
{
	struct rte_rcu_qsbr *qsbr = reload->dp->qsbr;

	while (reload->waiting) {
		struct snapshot *oldest = reload->waiting;

		if (qsbr && rte_rcu_qsbr_check(qsbr, oldest->token, false) == 0)
			return false;
		reload->waiting = oldest->next;
		rule_totals_fold(&reload->totals, oldest->policy);
		snapshot_free(oldest);
		reload->freed++;
	}
	if (reload->observed)
		observe(reload, RELOAD_IN_FORCE);
	return true;
}

void reload_rule_counts(const struct reload *reload, uint32_t uid, struct rule_counts *sum)
{
	rule_totals_add(&reload->totals, uid, sum);
	for (const struct snapshot *s = reload->waiting; s; s = s->next)
		rule_counts_add(s->policy, uid, sum);
	if (reload->current)
		rule_counts_add(reload->current->policy, uid, sum);
}

uint64_t reload_generation(const struct reload *reload)
{
	return reload->generation;
}

uint64_t reload_freed(const struct reload *reload)
{
	return reload->freed;
}

uint64_t reload_failures(const struct reload *reload)
{
	return reload->failures;
}

const char *reload_path(const struct reload *reload)
{
	return reload->path;
}

const struct policy *reload_policy(const struct reload *reload)
{
	return reload->current ? reload->current->policy : NULL;
}

uint64_t reload_loaded_ns(const struct reload *reload)
{
	return reload->loaded_ns;
}

const struct app_names *reload_apps(const struct reload *reload)
{
	return reload->apps;
}

const struct sigdb *reload_sigdb(const struct reload *reload)
{
	return reload->current ? reload->current->set->db : NULL;
}

void reload_free(struct reload *reload)
{
	if (!reload)
		return;
	atomic_store_explicit(&reload->dp->policy, NULL, memory_order_release);
	while (reload->waiting) {
		struct snapshot *oldest = reload->waiting;

		reload->waiting = oldest->next;
		snapshot_free(oldest);
	}
	snapshot_free(reload->current);
	rule_totals_free(&reload->totals);
	app_names_free(reload->apps);
	free(reload->signature_dir);
	free(reload->cache_dir);
	free(reload->path);
	free(reload);
}
