// SPDX-License-Identifier: BSD-3-Clause
// Keeps the connection cache on disk: a full file, and a journal of what changed since.
#include "control/cache/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control/policy/app_names.h"
#include "control/cache/file.h"
#include "base/directory.h"
#include "control/cache/inquiry.h"
#include "base/log.h"
#include "pipeline/limits.h"
#include "pipeline/vocab/tick.h"
#include "pipeline/cache/conn_cache.h"
#include "pipeline/query.h"

#define TICK_MS      50
#define JOURNAL_ROOM (32u * CACHE_LINE_MAX) // of lines between two ticks, written when full

struct writing { // one that is on its way to the disk; the thread's until `done`
	struct conn_list list;
	char **rules; // by uid, of those in the list; owned: a reload may replace the tables
	uint32_t n_rules;
	char *apps[APPS_MAX];
	char path[PATH_MAX];
	int rc;
	_Atomic bool done;
};

struct cache_store {
	const struct control_context *context;
	struct inquiries *inquiries;
	struct inquiry *inquiry; // reads the replicas
	struct event *timer;     // libevent's
	char path[PATH_MAX];
	char journal_path[PATH_MAX];
	char old_path[PATH_MAX];
	int journal;            // -1: none
	uint64_t journal_bytes; // in the file
	size_t used;            // in `buffer`
	bool thread_runs;
	pthread_t thread;
	struct writing writing;
	uint64_t looked_ns; // at whether to write
	uint64_t hits;      // of all lcores, at the last writing
	bool changed;       // something was learned since
	uint64_t removals;  // context->cache_removals at the last writing
	struct cache_store_stats stats;
	char buffer[JOURNAL_ROOM];
};

static void reported_once(struct cache_store *store, const char *path, int rc)
{
	store->stats.failures++;
	if (store->stats.failing)
		return;
	store->stats.failing = true;
	log_error("connection cache: cannot write %s: %s; blocked peers would be forgotten by a "
		  "restart. Make room, or make it writable; it is tried again",
		path, strerror(-rc));
}

// A gateway that was killed, or lost its power, may have left half a line: it must not spoil the
// first of ours. Read, it counts as a bad line.
static void journal_end_line(const struct cache_store *store, off_t size)
{
	char last;

	if (size && pread(store->journal, &last, 1, size - 1) == 1 && last != '\n' &&
		write(store->journal, "\n", 1) < 0)
		log_debug("connection cache: %s: %s", store->journal_path, strerror(errno));
}

static void journal_open(struct cache_store *store)
{
	struct stat st = {0};

	store->journal = open(store->journal_path,
		O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (store->journal < 0) {
		reported_once(store, store->journal_path, -errno);
		return;
	}
	if (fstat(store->journal, &st) == 0)
		journal_end_line(store, st.st_size);
	store->journal_bytes = fstat(store->journal, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

static void journal_flush(struct cache_store *store)
{
	if (!store->used)
		return;
	if (store->journal < 0)
		journal_open(store);
	ssize_t n = store->journal < 0 ? -1 : write(store->journal, store->buffer, store->used);

	if (n == (ssize_t)store->used) {
		store->journal_bytes += store->used;
	} else if (store->journal >= 0) {
		reported_once(store, store->journal_path, n < 0 ? -errno : -ENOSPC);
		// a torn line must not spoil the next one
		if (n > 0 && ftruncate(store->journal, (off_t)store->journal_bytes) < 0)
			log_debug("connection cache: %s: %s", store->journal_path, strerror(errno));
	}
	store->used = 0;
}

static void learned(void *ctx, const struct event *event)
{
	struct cache_store *store = ctx;
	const struct control_context *context = store->context;

	if (event->type != EVENT_CONNCACHE || event->reason != CONNCACHE_ADD)
		return;
	const struct app_proto *proto = app_names_get(reload_apps(context->reload), event->app);
	struct cache_line line = {
		.entry = {.key = {.port = event->ends.port[HALF_S2C],
				  .realm = event->conncache.realm,
				  .l4_proto = event->l4_proto,
				  .from_inside = event->conncache.from_inside,
				  .mode = event->conncache.cache_mode},
			.created_ns = event->conncache.created_ns,
			.expires_ns = event->conncache.expires_ns,
			.app = event->app,
			.confidence = event->confidence,
			.flags = (uint8_t)((event->conncache.by_hand ? CONN_ENTRY_OPERATOR : 0) |
					   (event->conncache.fixed ? CONN_ENTRY_FIXED : 0))},
		.rule = rule_names_get(context->names, event->rule_uid),
		.app = proto ? proto->name : NULL,
	};

	memcpy(line.entry.key.initiator, event->ends.address[HALF_C2S], 16);
	memcpy(line.entry.key.responder, event->ends.address[HALF_S2C], 16);
	store->changed = true;
	if (sizeof store->buffer - store->used < CACHE_LINE_MAX)
		journal_flush(store);
	if (store->journal_bytes + store->used > CACHE_JOURNAL_MAX) {
		reported_once(store, store->journal_path, -EFBIG);
		return;
	}
	store->used += cache_line_write(
		&line, store->buffer + store->used, sizeof store->buffer - store->used);
}

static uint64_t hits_now(const struct cache_store *store)
{
	const struct dataplane *dp = store->context->dp;
	uint64_t hits = 0;

	for (unsigned i = 0; i < dp->n_lcores; i++)
		hits += __atomic_load_n(&dp->lcores[i]->stats.cache_hits, __ATOMIC_RELAXED);
	return hits;
}

// An allowance lets pass, and ends with the run: in the file it would block.
static void take_entries(struct conn_list *list, const struct conn_entry *entries, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!(entries[i].flags & CONN_ENTRY_ALLOWED))
			conn_list_add(list, &entries[i]);
	}
}

static void read_page(void *ctx, unsigned lcore, const struct query *query, bool last)
{
	struct cache_store *store = ctx;
	const struct conn_entry *entries = query->out;

	(void)lcore;
	(void)last;
	take_entries(&store->writing.list, entries, query->n);
}

static void names_free(struct writing *writing)
{
	for (uint32_t uid = 0; uid < writing->n_rules; uid++)
		free(writing->rules[uid]);
	free(writing->rules);
	writing->rules = NULL;
	writing->n_rules = 0;
	for (unsigned app = 0; app < APPS_MAX; app++) {
		free(writing->apps[app]);
		writing->apps[app] = NULL;
	}
}

static bool name_copy(char **copy, const char *name)
{
	if (*copy || !name)
		return true;
	*copy = strdup(name);
	return *copy != NULL;
}

static int names_copy(struct writing *writing, const struct control_context *context)
{
	const struct app_names *apps = reload_apps(context->reload);
	const struct conn_list *list = &writing->list;
	uint32_t last = 0;
	bool good = !list->no_memory;

	for (uint32_t i = 0; i < list->n; i++) {
		if (list->entries[i].rule_uid > last)
			last = list->entries[i].rule_uid;
	}
	writing->rules = calloc((size_t)last + 1, sizeof *writing->rules);
	if (!writing->rules)
		return -ENOMEM;
	writing->n_rules = last + 1;
	for (uint32_t i = 0; i < list->n && good; i++) {
		uint32_t uid = list->entries[i].rule_uid;
		const struct app_proto *app = app_names_get(apps, list->entries[i].app);

		good = name_copy(&writing->rules[uid], rule_names_get(context->names, uid)) &&
		       (!app || name_copy(&writing->apps[list->entries[i].app], app->name));
	}
	return good ? 0 : -ENOMEM;
}

static int write_list(struct writing *writing)
{
	struct conn_list *list = &writing->list;
	struct cache_line *lines;

	conn_list_merge(list);
	lines = calloc((size_t)list->n + 1, sizeof *lines);
	if (!lines)
		return -ENOMEM;
	for (uint32_t i = 0; i < list->n; i++)
		lines[i] = (struct cache_line){.entry = list->entries[i],
			.rule = writing->rules[list->entries[i].rule_uid],
			.app = writing->apps[list->entries[i].app]};
	int rc = cache_file_write(writing->path, lines, list->n);

	free(lines);
	return rc;
}

static void *write_thread(void *ctx)
{
	struct writing *writing = ctx;

	writing->rc = write_list(writing);
	atomic_store_explicit(&writing->done, true, memory_order_release);
	return NULL;
}

static void writing_end(struct cache_store *store, int rc)
{
	struct writing *writing = &store->writing;

	if (rc < 0) {
		reported_once(store, store->path, rc);
		store->changed = true; // the next interval tries again
	} else {
		unlink(store->old_path); // what it tells has been written
		store->stats.writings++;
		store->stats.written = writing->list.n;
		if (store->stats.failing)
			log_notice("connection cache: %s is written again", store->path);
		store->stats.failing = false;
	}
	names_free(writing);
	conn_list_free(&writing->list);
}

// The replicas have been read. All signals stay with the control loop's thread.
static void read_end(void *ctx, const char *error)
{
	struct cache_store *store = ctx;
	sigset_t all, before;

	if (error) {
		log_warning("connection cache: not written this time: %s", error);
		conn_list_free(&store->writing.list);
		store->changed = true;
		store->removals--; // what an operator took out is still in the file: soon again
		return;
	}
	int rc = names_copy(&store->writing, store->context);

	if (rc < 0) {
		writing_end(store, rc);
		return;
	}
	atomic_store(&store->writing.done, false);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&store->thread, NULL, write_thread, &store->writing);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	store->thread_runs = rc == 0;
	if (rc)
		writing_end(store, -rc);
}

// What is learned from here on goes to a new journal; the old one stays until its entries are in
// the file. If there is one already (the last writing failed), both do.
static void journal_turn(struct cache_store *store)
{
	journal_flush(store);
	if (access(store->old_path, F_OK) == 0)
		return;
	if (store->journal >= 0)
		close(store->journal);
	store->journal = -1;
	if (rename(store->journal_path, store->old_path) < 0 && errno != ENOENT)
		reported_once(store, store->old_path, -errno);
	journal_open(store);
}

static void writing_begin(struct cache_store *store)
{
	const struct inquiry_question question = {
		.type = QUERY_CACHE, .page = read_page, .end = read_end, .ctx = store};

	if (inquiry_start(store->inquiries, &question, &store->inquiry) < 0)
		return; // busy: the next tick tries again
	journal_turn(store);
	store->hits = hits_now(store);
	store->removals = store->context->cache_removals;
	store->changed = false;
}

static void tick(evutil_socket_t fd, short what, void *ctx)
{
	struct cache_store *store = ctx;
	uint64_t now_ns = store->context->now_ns();

	(void)fd;
	(void)what;
	journal_flush(store);
	if (store->thread_runs) {
		if (!atomic_load_explicit(&store->writing.done, memory_order_acquire))
			return;
		pthread_join(store->thread, NULL);
		store->thread_runs = false;
		writing_end(store, store->writing.rc);
	}
	if (store->inquiry)
		return;
	bool removed = store->removals != store->context->cache_removals;

	if (!removed && now_ns - store->looked_ns < CACHE_STORE_INTERVAL_S * NS_PER_S)
		return;
	store->looked_ns = now_ns;
	if (removed || store->changed || store->hits != hits_now(store))
		writing_begin(store);
}

static void restore(struct cache_store *store)
{
	const struct control_context *context = store->context;
	const char *paths[] = {store->path, store->old_path, store->journal_path};
	struct dataplane *dp = context->dp;
	struct cache_read read = {0};
	uint32_t max = dp->limits->conn_cache;

	for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		int rc = cache_file_read(paths[i], context->names, reload_apps(context->reload),
			context->now_ns(), &read);

		if (rc < 0)
			log_error("connection cache: cannot read %s: %s; its blocked peers are "
				  "forgotten",
				paths[i], strerror(-rc));
	}
	cache_read_settle(&read, max);
	if (read.list.no_memory)
		log_error("connection cache: no memory for what %s holds", store->path);
	if (read.bad)
		log_warning("connection cache: %" PRIu64 " lines in %s and its journal are none of "
			    "ours and were left out",
			read.bad, store->path);
	if (read.unknown)
		log_warning("connection cache: %" PRIu64 " entries in %s are of applications that "
			    "are not known any more and were left out",
			read.unknown, store->path);
	for (uint32_t i = 0; i < read.list.n; i++) {
		struct conn_entry entry = read.list.entries[i];
		bool taken = false;

		for (unsigned k = 0; k < dp->n_lcores; k++) {
			taken |= conn_cache_restore(dp->lcores[k], &entry);
			entry.hits = entry.saved_bytes = 0; // are counted once
		}
		store->stats.restored += taken;
	}
	if (read.lines)
		log_notice("connection cache: %" PRIu64 " blocked peers are known from before (%s)",
			store->stats.restored, store->path);
	conn_list_free(&read.list);
}

static int name_paths(struct cache_store *store, const char *directory)
{
	int n = snprintf(
		store->old_path, sizeof store->old_path, "%s/conn-cache.journal.old", directory);

	if (n >= (int)sizeof store->old_path)
		return -ENAMETOOLONG;
	snprintf(store->path, sizeof store->path, "%s/conn-cache.jsonl", directory);
	snprintf(store->journal_path, sizeof store->journal_path, "%s/conn-cache.journal",
		directory);
	memcpy(store->writing.path, store->path, sizeof store->path);
	return 0;
}

int cache_store_new(const struct control_context *context, const char *directory,
	struct cache_store **out, char *err, size_t err_len)
{
	struct cache_store *store = calloc(1, sizeof *store);
	int rc = store ? name_paths(store, directory) : -ENOMEM;

	if (!rc)
		rc = directory_make(directory);
	if (!rc && access(directory, R_OK | W_OK | X_OK) < 0)
		rc = -errno;
	if (rc < 0) {
		snprintf(err, err_len,
			"%s: cannot keep the connection cache there: %s; make it writable, or "
			"change paths.state (null: it is forgotten by a restart)",
			directory, strerror(-rc));
		free(store);
		return rc;
	}
	store->context = context;
	store->journal = -1;
	restore(store);
	*out = store;
	return 0;
}

int cache_store_start(struct cache_store *store)
{
	const struct control_context *context = store->context;
	struct timeval every = {.tv_usec = TICK_MS * 1000};

	int rc = inquiries_new(context->base, context->dp, context->now_ns, &store->inquiries);

	if (rc < 0)
		return rc;
	store->timer = event_new(context->base, -1, EV_PERSIST, tick, store);
	if (!store->timer || event_add(store->timer, &every) < 0)
		return -ENOMEM;
	store->looked_ns = context->now_ns();
	// journals that were read are put together with the next interval
	store->changed =
		access(store->journal_path, F_OK) == 0 || access(store->old_path, F_OK) == 0;
	return sink_listen(context->sink, learned, store);
}

const struct cache_store_stats *cache_store_stats(const struct cache_store *store)
{
	return &store->stats;
}

static void write_last(struct cache_store *store)
{
	struct dataplane *dp = store->context->dp;
	struct writing *writing = &store->writing;
	struct conn_entry entries[64];

	journal_turn(store);
	for (unsigned i = 0; i < dp->n_lcores; i++) {
		uint32_t cursor = 0;
		unsigned n;

		while ((n = conn_cache_read(dp->lcores[i]->conn_cache, &cursor, entries, 64)) > 0)
			take_entries(&writing->list, entries, n);
	}
	int rc = names_copy(writing, store->context);

	if (!rc)
		rc = write_list(writing);
	if (!rc)
		unlink(store->journal_path);
	writing_end(store, rc);
}

void cache_store_free(struct cache_store *store, bool lcores_left)
{
	if (!store)
		return;
	if (store->timer)
		event_free(store->timer);
	if (store->thread_runs) {
		pthread_join(store->thread, NULL);
		writing_end(store, store->writing.rc);
	}
	if (store->inquiry)
		inquiry_cancel(store->inquiry);
	conn_list_free(&store->writing.list);
	if (store->inquiries && lcores_left) {
		write_last(store);
		inquiries_free(store->inquiries);
	} else {
		journal_flush(store);
	}
	if (store->journal >= 0)
		close(store->journal);
	free(store);
}
