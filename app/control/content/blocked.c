// SPDX-License-Identifier: BSD-3-Clause
// Keeps the operator's list of content ids, and publishes it.
#include "control/content/blocked.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <rte_rcu_qsbr.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/log.h"
#include "control/content/blocked_file.h"
#include "pipeline/policy/content_id_set.h"

struct old_set { // that an lcore may read still
	struct content_id_set *set;
	uint64_t token;
	struct old_set *next;
};

struct blocked_ids {
	struct dataplane *dp;
	struct blocked_id *entries;
	size_t n, room;
	struct content_id_set *published; // NULL: the list was empty
	struct old_set *old;
	struct blocked_counters counters;
	char path[PATH_MAX]; // "": none
	bool unpublished, unwritten;
	// The writing thread's until `done`.
	bool writing;
	pthread_t thread;
	char *text;
	size_t length;
	int rc;
	_Atomic bool done;
};

static void entry_clear(struct blocked_id *entry)
{
	free(entry->comment);
}

static struct blocked_id *find(const struct blocked_ids *blocked, const struct content_id *id)
{
	for (size_t i = 0; i < blocked->n; i++)
		if (content_id_same(&blocked->entries[i].id, id))
			return &blocked->entries[i];
	return NULL;
}

static void changed(struct blocked_ids *blocked)
{
	blocked->unpublished = blocked->unwritten = true;
}

static bool grow(struct blocked_ids *blocked)
{
	size_t room = blocked->room ? 2 * blocked->room : 64;
	struct blocked_id *grown;

	if (blocked->n < blocked->room)
		return true;
	grown = reallocarray(blocked->entries, room, sizeof *grown);
	if (!grown)
		return false;
	blocked->entries = grown;
	blocked->room = room;
	return true;
}

// The set says quickly whether an id is there; what was added since it was made is looked for.
static bool may_be_there(const struct blocked_ids *blocked, const struct content_id *id)
{
	return blocked->unpublished ||
	       (blocked->published && content_id_set_find(blocked->published, id));
}

// `entry`: the one with this id, or NULL.
static int put(struct blocked_ids *blocked, struct blocked_id *entry, const struct content_id *id,
	const char *comment, uint64_t now_ns, uint64_t expires_ns)
{
	char *copy = comment && *comment ? strdup(comment) : NULL;
	bool is_new = !entry;

	if (is_new && blocked->n >= BLOCKED_IDS_MAX) {
		blocked->counters.refused++;
		free(copy);
		return -ENOSPC;
	}
	if ((comment && *comment && !copy) || (is_new && !grow(blocked))) {
		free(copy);
		return -ENOMEM;
	}
	if (is_new) {
		entry = &blocked->entries[blocked->n++];
		*entry = (struct blocked_id){.id = *id, .added_ns = now_ns};
	}
	entry->expires_ns = expires_ns;
	if (copy) {
		free(entry->comment);
		entry->comment = copy;
	}
	changed(blocked);
	return is_new;
}

int blocked_ids_add(struct blocked_ids *blocked, const struct content_id *id, const char *comment,
	uint64_t now_ns, uint64_t expires_ns)
{
	struct blocked_id *entry = may_be_there(blocked, id) ? find(blocked, id) : NULL;

	return put(blocked, entry, id, comment, now_ns, expires_ns);
}

static void remove_at(struct blocked_ids *blocked, size_t i)
{
	entry_clear(&blocked->entries[i]);
	memmove(&blocked->entries[i], &blocked->entries[i + 1],
		(blocked->n - i - 1) * sizeof *blocked->entries);
	blocked->n--;
	changed(blocked);
}

int blocked_ids_remove(struct blocked_ids *blocked, const struct content_id *id)
{
	struct blocked_id *entry = find(blocked, id);

	if (!entry)
		return -ENOENT;
	remove_at(blocked, (size_t)(entry - blocked->entries));
	return 0;
}

size_t blocked_ids_flush(struct blocked_ids *blocked)
{
	size_t n = blocked->n;

	for (size_t i = 0; i < n; i++)
		entry_clear(&blocked->entries[i]);
	blocked->n = 0;
	if (n)
		changed(blocked);
	return n;
}

// ---- to the lcores ----

static struct content_id_set *set_of(const struct blocked_ids *blocked)
{
	struct content_id *ids = calloc(blocked->n + 1, sizeof *ids);
	struct content_id_set *set = NULL;
	struct hash_seed seed;

	if (!ids)
		return NULL;
	for (size_t i = 0; i < blocked->n; i++)
		ids[i] = blocked->entries[i].id;
	if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
		seed = HASH_SEED_FIXED;
	set = content_id_set_new(ids, (uint32_t)blocked->n, &seed);
	free(ids);
	return set;
}

int blocked_ids_publish(struct blocked_ids *blocked)
{
	struct content_id_set *set = NULL, *before = blocked->published;
	struct old_set *old = NULL;

	if (!blocked->unpublished)
		return 0;
	if (before && blocked->dp->qsbr) {
		old = calloc(1, sizeof *old);
		if (!old)
			return -ENOMEM;
	}
	if (blocked->n && !(set = set_of(blocked))) {
		free(old);
		return -ENOMEM;
	}
	atomic_store_explicit(&blocked->dp->blocked_ids, set, memory_order_release);
	blocked->published = set;
	blocked->unpublished = false;
	if (old) {
		*old = (struct old_set){.set = before,
			.token = rte_rcu_qsbr_start(blocked->dp->qsbr),
			.next = blocked->old};
		blocked->old = old;
	} else {
		content_id_set_free(before); // nobody else reads: replay, tests
	}
	return 0;
}

static void free_old(struct blocked_ids *blocked)
{
	struct old_set **at = &blocked->old;

	while (*at) {
		struct old_set *old = *at;

		if (rte_rcu_qsbr_check(blocked->dp->qsbr, old->token, false) == 0) {
			at = &old->next;
			continue;
		}
		*at = old->next;
		content_id_set_free(old->set);
		free(old);
	}
}

// ---- to the disk ----

static void *write_thread(void *ctx)
{
	struct blocked_ids *blocked = ctx;

	blocked->rc = blocked_file_write(blocked->path, blocked->text, blocked->length);
	atomic_store_explicit(&blocked->done, true, memory_order_release);
	return NULL;
}

static void writing_failed(struct blocked_ids *blocked, int rc)
{
	blocked->unwritten = true; // the next step tries again
	blocked->counters.failures++;
	if (!blocked->counters.failing)
		log_error("content ids: cannot write %s: %s; a restart would forget what was "
			  "changed. Make room, or make it writable; it is tried again",
			blocked->path, strerror(-rc));
	blocked->counters.failing = true;
}

static void writing_begin(struct blocked_ids *blocked)
{
	sigset_t all, before;
	int rc = blocked_file_text(blocked->entries, blocked->n, &blocked->text, &blocked->length);

	blocked->unwritten = false;
	if (!rc) {
		atomic_store_explicit(&blocked->done, false, memory_order_relaxed);
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &before); // signals are the control loop's
		rc = -pthread_create(&blocked->thread, NULL, write_thread, blocked);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	}
	blocked->writing = !rc;
	if (rc) {
		free(blocked->text);
		blocked->text = NULL;
		writing_failed(blocked, rc);
	}
}

// `waits`: also for one that has not ended yet.
static void writing_end(struct blocked_ids *blocked, bool waits)
{
	if (!blocked->writing ||
		(!waits && !atomic_load_explicit(&blocked->done, memory_order_acquire)))
		return;
	pthread_join(blocked->thread, NULL);
	blocked->writing = false;
	free(blocked->text);
	blocked->text = NULL;
	if (blocked->rc) {
		writing_failed(blocked, blocked->rc);
		return;
	}
	if (blocked->counters.failing)
		log_notice("content ids: %s is written again", blocked->path);
	blocked->counters.failing = false;
	blocked->counters.written++;
}

void blocked_ids_step(struct blocked_ids *blocked, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < blocked->n; i++) {
		struct blocked_id *entry = &blocked->entries[i];

		if (entry->expires_ns && entry->expires_ns <= now_ns)
			entry_clear(entry);
		else
			blocked->entries[kept++] = *entry;
	}
	if (kept != blocked->n)
		changed(blocked);
	blocked->counters.expired += blocked->n - kept;
	blocked->n = kept;
	blocked_ids_publish(blocked);
	if (blocked->old)
		free_old(blocked);
	writing_end(blocked, false);
	if (blocked->unwritten && blocked->path[0] && !blocked->writing)
		writing_begin(blocked);
}

// ---- beginning and end ----

static bool restore(void *ctx, const struct blocked_id *entry)
{
	struct blocked_ids *blocked = ctx;

	// none is there twice, unless somebody wrote so: to look would take a minute for a full
	// list
	if (put(blocked, NULL, &entry->id, entry->comment, entry->added_ns, entry->expires_ns) < 0)
		return false;
	blocked->counters.restored++;
	return true;
}

int blocked_ids_new(
	struct dataplane *dp, const char *folder, uint64_t now_ns, struct blocked_ids **out)
{
	struct blocked_ids *blocked = calloc(1, sizeof *blocked);

	*out = blocked;
	if (!blocked)
		return -ENOMEM;
	blocked->dp = dp;
	if (!folder)
		return 0;
	snprintf(blocked->path, sizeof blocked->path, "%s/%s", folder, BLOCKED_FILE);
	int rc = blocked_file_read(blocked->path, now_ns, restore, blocked, &blocked->counters.bad);

	if (rc < 0)
		log_error("content ids: %s cannot be read: %s; its ids pass", blocked->path,
			strerror(-rc));
	if (blocked->counters.bad)
		log_warning("content ids: %llu lines of %s are none and were left out",
			(unsigned long long)blocked->counters.bad, blocked->path);
	blocked->unwritten = blocked->counters.bad > 0;
	return blocked_ids_publish(blocked);
}

void blocked_ids_free(struct blocked_ids *blocked)
{
	struct old_set *old;

	if (!blocked)
		return;
	writing_end(blocked, true);
	if (blocked->unwritten && blocked->path[0]) {
		writing_begin(blocked);
		writing_end(blocked, true);
	}
	atomic_store_explicit(&blocked->dp->blocked_ids, NULL, memory_order_release);
	content_id_set_free(blocked->published);
	while ((old = blocked->old)) {
		blocked->old = old->next;
		content_id_set_free(old->set);
		free(old);
	}
	for (size_t i = 0; i < blocked->n; i++)
		entry_clear(&blocked->entries[i]);
	free(blocked->entries);
	free(blocked);
}

const struct blocked_id *blocked_ids_list(const struct blocked_ids *blocked, size_t *n)
{
	*n = blocked->n;
	return blocked->entries;
}

const struct blocked_counters *blocked_ids_counters(const struct blocked_ids *blocked)
{
	return &blocked->counters;
}
