// SPDX-License-Identifier: BSD-3-Clause
// Publication of policies (docs/architecture.md, "State shared between data lcores"). Control core
// only. Whole document, all or nothing, serialised; the old policy stays on any error.
#ifndef SLUICE_RELOAD_H
#define SLUICE_RELOAD_H

#include "config/gateway.h"
#include "pipeline/lcore/lcore.h"
#include "control/policy/load.h"

struct reload;
struct snapshot;

// `dp->policy` is NULL until the first reload_load succeeds. `cache_dir` may be NULL.
int reload_new(struct dataplane *dp, struct rule_names *names, const char *signature_dir,
	const char *cache_dir, struct reload **out);
// Databases in `cache_dir` that nobody has used for that long are removed; 0: never. Default 30.
void reload_set_cache_days(struct reload *reload, unsigned days);
// There is no scan engine: rules that want one are warned of when they are loaded or checked.
void reload_set_unscanned(struct reload *reload);
// The same of rules that want another engine than the gateway's.
void reload_set_engine(struct reload *reload, const struct gateway *gateway);
// The same of rules whose records or files gateway.json gives no place.
void reload_set_kept(struct reload *reload, const struct gateway *gateway);
// Called at the end of each load: refused for `errors`, or, when those are NULL, in force. NULL:
// nobody.
typedef void reload_report_fn(void *ctx, const struct reload *reload, uint64_t now_ns,
	const char *path, const struct config_errors *errors);
void reload_set_report(struct reload *reload, reload_report_fn *report, void *ctx);
// Asked before every load and check: a guard that adds to `errors` refuses it. The gateway's says
// which restart key of gateway.json has changed since the start.
void reload_set_guard(
	struct reload *reload, void (*guard)(void *ctx, struct config_errors *errors), void *ctx);
// Called on each policy before it is published: replay's, which looks and does not act. NULL: none.
void reload_set_adjust(struct reload *reload, void (*adjust)(struct policy *policy));
// Who wants to know how a reload goes: RELOAD_BEGINS before anything is read, then RELOAD_REFUSED,
// or RELOAD_IN_FORCE when the last lcore obeys. NULL: nobody.
enum reload_progress { RELOAD_BEGINS, RELOAD_REFUSED, RELOAD_IN_FORCE };
void reload_set_observer(struct reload *reload,
	void (*observer)(void *ctx, enum reload_progress progress), void *ctx);
// Loads, compiles (signatures only if they changed), makes one scratch per lcore, publishes the
// next generation. 0, or -EINVAL with `errors`: nothing changed. Reported. At once:
// for the start, replay and tests; -EBUSY while a request is at work.
int reload_load(struct reload *reload, const char *policy_path, uint64_t now_ns,
	struct config_errors *errors);
// What reload_load would say of that file and of the signatures, without doing it. 0 or -EINVAL.
int reload_check(struct reload *reload, const char *policy_path, struct config_errors *errors);

// While a gateway runs, nobody waits for a compiler. A request is built by a thread of its own and
// published by reload_turn; requests take turns in the order they came, and each is answered.
#define RELOAD_REQUESTS_MAX 64 // that wait
struct reload_request;
// The end of a request: published (of a check: it could be), or refused with `errors` (borrowed).
typedef void reload_done_fn(void *ctx, bool good, const struct config_errors *errors);
// Threads are used from here on. -errno.
int reload_start(struct reload *reload);
// Readable when reload_turn has something to do; -1 before reload_start.
int reload_fd(const struct reload *reload);
// Publishes what was built, answers its request, and begins the next.
void reload_turn(struct reload *reload, uint64_t now_ns);
// `path` NULL: that of the policy in force when its turn comes. -EBUSY: too many wait; -ENOMEM.
// `*out` is NULL when `done` was called before this returns: without threads, or without memory.
int reload_ask(struct reload *reload, const char *path, bool check, uint64_t now_ns,
	reload_done_fn *done, void *ctx, struct reload_request **out);
// In the `done` of a check that went well: what was built becomes the caller's, who frees it by
// snapshot_free. Its rules have the numbers of `*names`, which are gone when `done` returns.
struct snapshot *reload_candidate_take(struct reload *reload, const struct rule_names **names);
// `done` shall not be called; what was asked for happens all the same. Not after `done`.
void reload_forget(struct reload_request *request);
// A request with that `ctx` waits, and has not begun.
bool reload_waits_for(const struct reload *reload, const void *ctx);
bool reload_is_building(const struct reload *reload);
// Frees snapshots whose grace period is over, and editions of signatures that no flow is classified
// with any more; never blocks. True when no snapshot is waiting: the last published generation is
// in force on every lcore.
bool reload_step(struct reload *reload, uint64_t now_ns);
uint64_t reload_generation(const struct reload *reload);
// Adds to `sum` what the rule `uid` (0: policies' defaults) did since the start.
void reload_rule_counts(const struct reload *reload, uint32_t uid, struct rule_counts *sum);
uint64_t reload_freed(const struct reload *reload); // snapshots freed so far
uint64_t reload_failures(const struct reload *reload);
const char *reload_path(const struct reload *reload);             // of the policy in force
const struct policy *reload_policy(const struct reload *reload);  // in force, or NULL
uint64_t reload_loaded_ns(const struct reload *reload);           // when it was published
const struct app_names *reload_apps(const struct reload *reload); // what app ids mean
const struct sigdb *reload_sigdb(const struct reload *reload);
// Replaced signatures (editions.h): kept for flows that began with them; freed with the last of
// those; freed before, because those took too long.
struct reload_editions {
	unsigned leaving;
	uint64_t drained;
	uint64_t retired;
};
struct reload_editions reload_editions(const struct reload *reload);
// All lcores have left. The sink may be gone already; if not, it must not render any more. False: a
// compiler was still at work after RELOAD_END_MS; what it uses is left to it, and the process must
// end by _exit(), which does not take libraries down under it.
#define RELOAD_END_MS 1000
bool reload_free(struct reload *reload);

#endif
