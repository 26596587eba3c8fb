// SPDX-License-Identifier: BSD-3-Clause
// Publishes a new policy to the data lcores, and frees the old one when none uses it.
#include "control/policy/reload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/policy/builder.h"
#include "control/policy/editions.h"
#include "base/log.h"
#include "control/policy/rule_totals.h"
#include "control/policy/snapshot.h"

#define CACHE_DAYS 30

struct reload_request {
	char *path;           // NULL: that of the policy in force when its turn comes
	bool check;           // says what a load would, and changes nothing
	reload_done_fn *done; // NULL: whoever asked has gone
	void *ctx;
	struct reload_request *next;
};

// One build. The thread works on this and on nothing else, and only reads `order`.
struct build {
	struct snapshot_order order;
	struct config_errors *errors; // its own, or those of who waits
	struct config_errors own_errors;
	struct snapshot *snapshot;
	struct reload_request *request; // NULL: reload_load or reload_check waits for it
	char *path;
	bool allowed; // by the guard
	bool check;
};

struct reload {
	struct dataplane *dp;
	struct rule_names *names;
	reload_report_fn *report;
	void *report_ctx;
	void (*guard)(void *ctx, struct config_errors *errors);
	void *guard_ctx;
	void (*observer)(void *ctx, enum reload_progress progress);
	void *observer_ctx;
	void (*adjust)(struct policy *policy);
	bool observed; // has heard of a beginning, not of the end
	char *signature_dir;
	char *cache_dir;
	unsigned cache_days;
	bool no_files, no_streams; // as in struct snapshot_order
	struct content_kept kept;
	char *path;
	struct snapshot *current;
	struct rule_totals totals;
	struct snapshot *waiting; // oldest first: grace periods end in their order
	struct editions editions;
	uint64_t generation;
	uint64_t loaded_ns;
	uint64_t freed;
	uint64_t failures;
	struct builder builder;          // wake -1: builds are made at once, by whoever asks
	struct build *build;             // that a thread is at
	struct build *answered;          // whose request is being answered
	struct reload_request *requests; // that wait for their turn, oldest first
	unsigned n_requests;
};

int reload_new(struct dataplane *dp, struct rule_names *names, const char *signature_dir,
	const char *cache_dir, struct reload **out)
{
	struct reload *reload = calloc(1, sizeof *reload);

	if (!reload)
		return -ENOMEM;
	reload->dp = dp;
	reload->names = names;
	reload->builder.wake = -1;
	reload->cache_days = CACHE_DAYS;
	reload->signature_dir = strdup(signature_dir);
	reload->cache_dir = cache_dir ? strdup(cache_dir) : NULL;
	if (!reload->signature_dir || (cache_dir && !reload->cache_dir)) {
		reload_free(reload);
		return -ENOMEM;
	}
	*out = reload;
	return 0;
}

void reload_set_cache_days(struct reload *reload, unsigned days)
{
	reload->cache_days = days;
}

void reload_set_unscanned(struct reload *reload)
{
	reload->no_files = reload->no_streams = true;
}

void reload_set_engine(struct reload *reload, const struct gateway *gateway)
{
	reload->no_files = gateway->scan.engine != SCAN_ENGINE_CLAMAV;
	reload->no_streams = gateway->scan.engine != SCAN_ENGINE_NULL;
}

void reload_set_kept(struct reload *reload, const struct gateway *gateway)
{
	reload->kept = (struct content_kept){true, gateway->paths.audit, gateway->paths.files};
}

void reload_set_report(struct reload *reload, reload_report_fn *report, void *ctx)
{
	reload->report = report;
	reload->report_ctx = ctx;
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

void reload_set_adjust(struct reload *reload, void (*adjust)(struct policy *policy))
{
	reload->adjust = adjust;
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

// Private names for a build: its rules get numbers of their own, its applications those that they
// had before.
static struct rule_names *names_for_build(const struct reload *reload)
{
	struct rule_names *names = rule_names_new();
	struct app_names *apps = app_names_copy(reload_apps(reload));

	if (names && apps) {
		app_names_adopt_take(rule_names_apps(names), apps);
		return names;
	}
	app_names_free(apps);
	rule_names_free(names);
	return NULL;
}

static void build_free(struct build *build)
{
	snapshot_free(build->snapshot); // of a check; else it is published, or refused
	rule_names_free(build->order.names);
	config_errors_free(&build->own_errors);
	free(build->path);
	free(build);
}

// What can be known before the build; NULL: no memory.
static struct build *build_begin(
	struct reload *reload, const char *path, bool check, struct config_errors *errors)
{
	struct build *build = calloc(1, sizeof *build);

	if (!build)
		return NULL;
	build->check = check;
	build->errors = errors ? errors : &build->own_errors;
	build->path = strdup(path);
	build->order = (struct snapshot_order){
		.path = build->path,
		.signature_dir = reload->signature_dir,
		.cache_dir = reload->cache_dir,
		.cache_days = reload->cache_days,
		.no_files = reload->no_files,
		.no_streams = reload->no_streams,
		.kept = reload->kept,
		.n_lcores = reload->dp->n_lcores,
		.base = reload->current,
		.names = names_for_build(reload),
	};
	if (!build->path || !build->order.names) {
		build_free(build);
		return NULL;
	}
	if (!check)
		observe(reload, RELOAD_BEGINS);
	build->allowed = guard_allows(reload, build->errors);
	return build;
}

// What is wrong with the policy is reported also when the guard refuses it.
static void build_run(void *ctx)
{
	struct build *build = ctx;

	build->snapshot = snapshot_build(&build->order, build->errors);
}

static void publish(struct reload *reload, struct snapshot *snapshot, uint64_t now_ns)
{
	struct snapshot *old = reload->current, **end = &reload->waiting;

	editions_follow(
		&reload->editions, old ? old->signatures : NULL, snapshot->signatures, now_ns);
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

// Gives what was built the numbers that the gateway knows things by. False: no memory, reported.
static bool adopt(struct reload *reload, struct build *build)
{
	struct policy *policy = build->snapshot->policy;

	if (policy_intern(policy, reload->names) < 0 ||
		rule_totals_reserve(&reload->totals, policy) < 0) {
		config_error_add(build->errors, build->path, "", "no memory");
		return false;
	}
	if (reload->adjust)
		reload->adjust(policy);
	app_names_swap(rule_names_apps(reload->names), rule_names_apps(build->order.names));
	return true;
}

static void refuse(struct reload *reload, const char *path, const struct config_errors *errors,
	uint64_t now_ns)
{
	reload->failures++;
	if (reload->report)
		reload->report(reload->report_ctx, reload, now_ns, path, errors);
	observe(reload, RELOAD_REFUSED);
}

// 0: it is published, or for a check, could be; else -EINVAL, with build->errors.
static int build_end(struct reload *reload, struct build *build, uint64_t now_ns)
{
	struct snapshot *snapshot = build->snapshot;
	bool good = snapshot && build->allowed;

	if (build->check)
		return good ? 0 : -EINVAL;
	if (!good || !adopt(reload, build)) {
		refuse(reload, build->path, build->errors, now_ns);
		return -EINVAL;
	}
	build->snapshot = NULL;
	publish(reload, snapshot, now_ns);
	free(reload->path);
	reload->path = build->path;
	build->path = NULL;
	reload->loaded_ns = now_ns;
	if (reload->report)
		reload->report(reload->report_ctx, reload, now_ns, reload->path, NULL);
	return 0;
}

static int at_once(struct reload *reload, const char *path, bool check, uint64_t now_ns,
	struct config_errors *errors)
{
	struct build *build;
	int rc;

	if (reload->build) {
		config_error_add(errors, path, "", "another policy is being loaded: try again");
		return -EBUSY;
	}
	build = build_begin(reload, path, check, errors);
	if (!build) {
		config_error_add(errors, path, "", "no memory");
		if (!check)
			refuse(reload, path, errors, now_ns);
		return -EINVAL;
	}
	build_run(build);
	rc = build_end(reload, build, now_ns);
	build_free(build);
	return rc;
}

int reload_load(struct reload *reload, const char *policy_path, uint64_t now_ns,
	struct config_errors *errors)
{
	return at_once(reload, policy_path, false, now_ns, errors);
}

int reload_check(struct reload *reload, const char *policy_path, struct config_errors *errors)
{
	return at_once(reload, policy_path, true, 0, errors);
}

static void request_free(struct reload_request *request)
{
	free(request->path);
	free(request);
}

static void request_answer(
	struct reload_request *request, bool good, const struct config_errors *errors)
{
	reload_done_fn *done = request->done;
	void *ctx = request->ctx;

	request_free(request);
	if (done)
		done(ctx, good, errors);
}

static void build_answer(struct reload *reload, struct build *build, uint64_t now_ns)
{
	struct build *before = reload->answered;
	int rc = build_end(reload, build, now_ns);

	reload->answered = build;
	request_answer(build->request, rc == 0, build->errors);
	reload->answered = before;
	build_free(build);
}

struct snapshot *reload_candidate_take(struct reload *reload, const struct rule_names **names)
{
	struct snapshot *snapshot = reload->answered->snapshot;

	*names = reload->answered->order.names;
	reload->answered->snapshot = NULL;
	return snapshot;
}

static void request_begin(struct reload *reload, struct reload_request *request, uint64_t now_ns)
{
	const char *path = request->path ? request->path : reload->path;
	struct build *build = path ? build_begin(reload, path, request->check, NULL) : NULL;
	struct config_errors errors = {0};

	if (build) {
		build->request = request;
		if (reload->builder.wake >= 0) {
			reload->build = build;
			builder_begin(&reload->builder, build_run, build);
			return;
		}
		build_run(build);
		build_answer(reload, build, now_ns);
		return;
	}
	config_error_add(
		&errors, path ? path : "", "", path ? "no memory" : "no policy is in force");
	if (!request->check)
		refuse(reload, path ? path : "", &errors, now_ns);
	request_answer(request, false, &errors);
	config_errors_free(&errors);
}

static void next_begin(struct reload *reload, uint64_t now_ns)
{
	while (reload->requests && !reload->build) {
		struct reload_request *request = reload->requests;

		reload->requests = request->next;
		reload->n_requests--;
		request_begin(reload, request, now_ns);
	}
}

int reload_start(struct reload *reload)
{
	return builder_open(&reload->builder);
}

int reload_fd(const struct reload *reload)
{
	return reload->builder.wake;
}

void reload_turn(struct reload *reload, uint64_t now_ns)
{
	struct build *build = reload->build;

	if (!build || !builder_end(&reload->builder))
		return;
	reload->build = NULL;
	build_answer(reload, build, now_ns);
	next_begin(reload, now_ns);
}

static bool is_open(const struct reload *reload, const struct reload_request *request)
{
	for (const struct reload_request *r = reload->requests; r; r = r->next)
		if (r == request)
			return true;
	return reload->build && reload->build->request == request;
}

int reload_ask(struct reload *reload, const char *path, bool check, uint64_t now_ns,
	reload_done_fn *done, void *ctx, struct reload_request **out)
{
	struct reload_request *request, **end = &reload->requests;

	*out = NULL;
	if (reload->n_requests == RELOAD_REQUESTS_MAX)
		return -EBUSY;
	request = calloc(1, sizeof *request);
	if (!request)
		return -ENOMEM;
	*request = (struct reload_request){.check = check, .done = done, .ctx = ctx};
	request->path = path ? strdup(path) : NULL;
	if (path && !request->path) {
		free(request);
		return -ENOMEM;
	}
	*out = request;
	while (*end)
		end = &(*end)->next;
	*end = request;
	reload->n_requests++;
	next_begin(reload, now_ns);
	if (!is_open(reload, request))
		*out = NULL;
	return 0;
}

void reload_forget(struct reload_request *request)
{
	request->done = NULL;
}

bool reload_waits_for(const struct reload *reload, const void *ctx)
{
	for (const struct reload_request *r = reload->requests; r; r = r->next)
		if (r->ctx == ctx)
			return true;
	return false;
}

bool reload_is_building(const struct reload *reload)
{
	return reload->build != NULL;
}

// False: one is waiting for a lcore.
static bool snapshots_step(struct reload *reload)
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
	return true;
}

bool reload_step(struct reload *reload, uint64_t now_ns)
{
	bool in_force = snapshots_step(reload);

	editions_step(&reload->editions, reload->dp, now_ns);
	if (in_force && reload->observed && (!reload->build || reload->build->check))
		observe(reload, RELOAD_IN_FORCE);
	return in_force;
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
	return rule_names_apps(reload->names);
}

const struct sigdb *reload_sigdb(const struct reload *reload)
{
	return reload->current ? reload->current->policy->edition->db : NULL;
}

struct reload_editions reload_editions(const struct reload *reload)
{
	return (struct reload_editions){
		.leaving = reload->editions.n_leaving,
		.drained = reload->editions.drained,
		.retired = reload->editions.retired,
	};
}

// A compiler cannot be interrupted.
static bool build_leave(struct reload *reload)
{
	struct build *build = reload->build;

	if (!builder_leave(&reload->builder, RELOAD_END_MS)) {
		log_warning("policy: %s is still being compiled; leaving without it", build->path);
		return false;
	}
	request_free(build->request);
	build_free(build);
	return true;
}

bool reload_free(struct reload *reload)
{
	if (!reload)
		return true;
	if (reload->build && !build_leave(reload)) {
		atomic_store_explicit(&reload->dp->policy, NULL, memory_order_release);
		return false;
	}
	while (reload->requests) {
		struct reload_request *request = reload->requests;

		reload->requests = request->next;
		request_free(request);
	}
	builder_close(&reload->builder);
	atomic_store_explicit(&reload->dp->policy, NULL, memory_order_release);
	while (reload->waiting) {
		struct snapshot *oldest = reload->waiting;

		reload->waiting = oldest->next;
		snapshot_free(oldest);
	}
	snapshot_free(reload->current);
	editions_free(&reload->editions);
	rule_totals_free(&reload->totals);
	free(reload->signature_dir);
	free(reload->cache_dir);
	free(reload->path);
	free(reload);
	return true;
}
