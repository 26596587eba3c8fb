// SPDX-License-Identifier: BSD-3-Clause
// What need not be scanned: from the hash of a file to a verdict, without the engine if it can be.
#include "scan/front.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rte_malloc.h>
#include "scan/cache.h"
#include "scan/hash_list.h"
#include "scan/hasher.h"

#define NONE     UINT32_MAX
#define TURN_MAX 64         // verdicts of the engine, in one turn
#define SLICE    (1u << 20) // bytes that are hashed in one turn: about a millisecond

struct slot {
	struct scan_verdict verdict; // its job, as it came, and what is known of the rest
	struct scan_key key;
	bool hashed; // its SHA-256 is in `key`
	uint32_t prev, next;
	bool owns; // of the cache: this is the file that is scanned
};

struct list {
	uint32_t first, last;
};

// Files that wait for a digest, the first of which may have begun.
struct hashing {
	struct scan_hasher *hasher;
	struct list list;
	bool begun;
};

struct scan_front {
	const struct scan_config *config;
	const struct scan_engine_ops *ops;
	struct scan_engine *engine;
	bool works;              // else nothing is hashed, and the engine has all jobs
	int asker;               // of the cache; -1: there is none
	struct hashing hash;     // SHA-256, by which a file is known
	struct hashing infected; // SHA-1, by which others may ask for it
	struct list ready;       // are the engine's, which had no room
	struct list waiting;     // for the same file in flight, the youngest first
	struct list told;
	uint32_t free;
	uint64_t soonest_ns; // no file that waits has an earlier deadline
	// Of the engine, when it was last asked. A verdict of that parent rests on that digest.
	uint32_t parent; // 0: it scans nothing
	uint8_t digest[SCAN_WIRE_DIGEST];
	uint32_t db_version;
	_Atomic uint64_t hits, misses, joined, listed;
	struct slot slots[]; // SCAN_JOBS_MAX, if anything is hashed
};

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

// ---- lists ----

static void append(struct scan_front *front, struct list *list, uint32_t index)
{
	struct slot *slot = &front->slots[index];

	slot->next = NONE;
	slot->prev = list->last;
	if (list->last == NONE)
		list->first = index;
	else
		front->slots[list->last].next = index;
	list->last = index;
}

static void prepend(struct scan_front *front, struct list *list, uint32_t index)
{
	struct slot *slot = &front->slots[index];

	slot->prev = NONE;
	slot->next = list->first;
	if (list->first == NONE)
		list->last = index;
	else
		front->slots[list->first].prev = index;
	list->first = index;
}

static void take(struct scan_front *front, struct list *list, uint32_t index)
{
	struct slot *slot = &front->slots[index];

	if (slot->prev == NONE)
		list->first = slot->next;
	else
		front->slots[slot->prev].next = slot->next;
	if (slot->next == NONE)
		list->last = slot->prev;
	else
		front->slots[slot->next].prev = slot->prev;
}

// ---- a file ----

// All of a file. Its number travels in `trigger`, which says nothing of files.
static bool is_hashed(const struct scan_front *front, const struct scan_job *job)
{
	const uint8_t whole = SCAN_JOB_FILE | SCAN_JOB_WHOLE;

	return front->works && (job->flags & whole) == whole && !job->from64 && job->to64;
}

// There is a verdict. One that is infected is told with its digests.
static void settle(struct scan_front *front, uint32_t index)
{
	struct slot *slot = &front->slots[index];
	bool digests = slot->verdict.value == SCAN_INFECTED && slot->hashed;

	append(front, digests ? &front->infected.list : &front->told, index);
}

static void tell(struct scan_front *front, uint32_t index, const struct scan_known *known,
	enum scan_source source, uint64_t now_ns)
{
	struct scan_verdict *verdict = &front->slots[index].verdict;

	verdict->value = known->value;
	verdict->reason = known->reason;
	verdict->source = (uint8_t)source;
	verdict->taken_ns = verdict->done_ns = now_ns;
	if (source == SCAN_SOURCE_CACHE) { // who has looked at it had the same signatures
		verdict->by = SCAN_BY_CLAMAV;
		verdict->db_version = front->db_version;
	}
	memcpy(verdict->name, known->name, sizeof(verdict->name));
	settle(front, index);
}

static void tell_timeout(struct scan_front *front, uint32_t index, uint64_t now_ns)
{
	tell(front, index, &(struct scan_known){.value = SCAN_TIMEOUT}, SCAN_SOURCE_NONE, now_ns);
}

// What was another's to scan, too, will be nobody's.
static void disown(struct scan_front *front, struct slot *slot, const struct scan_known *known,
	uint32_t parent, uint64_t now_ns)
{
	bool sure = parent && parent == front->parent;

	if (slot->owns)
		scan_cache_over(front->config->cache, &slot->key, known, parent != 0,
			sure ? front->digest : NULL, now_ns);
	slot->owns = false;
}

// False: the engine has no room now.
static bool to_engine(struct scan_front *front, uint32_t index, uint64_t now_ns)
{
	struct scan_job job = front->slots[index].verdict.job;

	job.trigger = index;
	return front->ops->submit(front->engine, &job, now_ns) == 0;
}

static void scan(struct scan_front *front, uint32_t index, uint64_t now_ns)
{
	if (front->ready.first != NONE || !to_engine(front, index, now_ns))
		append(front, &front->ready, index);
}

// The list stays in order: new ones go to its front, and it is walked from there.
static void wait_for(struct scan_front *front, uint32_t index, bool again)
{
	uint64_t deadline_ns = front->slots[index].verdict.job.deadline_ns;

	if (again)
		append(front, &front->waiting, index);
	else
		prepend(front, &front->waiting, index);
	if (deadline_ns < front->soonest_ns)
		front->soonest_ns = deadline_ns;
}

// Its hash is known; `again`: it has waited.
static void ask_cache(struct scan_front *front, uint32_t index, bool again, uint64_t now_ns)
{
	struct slot *slot = &front->slots[index];
	enum scan_cache_answer answer = SCAN_CACHE_FULL;
	struct scan_known known;

	memcpy(slot->key.digest, front->digest, sizeof(slot->key.digest));
	if (front->asker >= 0 && front->parent)
		answer = scan_cache_ask(
			front->config->cache, front->asker, &slot->key, now_ns, &known);
	switch (answer) {
	case SCAN_CACHE_KNOWN:
		count(again ? &front->joined : &front->hits);
		tell(front, index, &known, SCAN_SOURCE_CACHE, now_ns);
		break;
	case SCAN_CACHE_WAIT: wait_for(front, index, again); break;
	case SCAN_CACHE_OWN:
	case SCAN_CACHE_FULL:
		slot->owns = answer == SCAN_CACHE_OWN;
		count(&front->misses);
		scan(front, index, now_ns);
		break;
	}
}

static void look_up(struct scan_front *front, uint32_t index, uint64_t now_ns)
{
	struct scan_known known;

	if (front->config->lists &&
		scan_lists_find(front->config->lists, front->slots[index].key.sha256, &known)) {
		count(&front->listed);
		tell(front, index, &known, SCAN_SOURCE_LIST, now_ns);
		return;
	}
	ask_cache(front, index, false, now_ns);
}

// ---- turns ----

// Goes on with the first of the list, for `*left` bytes at most. 1: its digest is in `out`; 0:
// there is more of it; -errno: it has none.
static int hash_first(struct scan_front *front, struct hashing *hashing, enum scan_hash hash,
	size_t *left, uint8_t *out)
{
	const struct scan_job *job = &front->slots[hashing->list.first].verdict.job;
	size_t bytes = *left;
	int rc = -EINVAL;

	if (hashing->begun || scan_hasher_begin(hashing->hasher, hash, job)) {
		rc = scan_hasher_go(hashing->hasher, &bytes, out);
		*left -= bytes;
	}
	hashing->begun = !rc;
	return rc;
}

// What is wrong with a file that cannot be hashed the engine tells.
static void hash_some(struct scan_front *front, uint64_t now_ns)
{
	size_t left = SLICE;

	while (front->hash.list.first != NONE && left) {
		uint32_t index = front->hash.list.first;
		struct slot *slot = &front->slots[index];
		bool is_late = now_ns >= slot->verdict.job.deadline_ns;
		int rc = is_late ? -ETIMEDOUT
				 : hash_first(front, &front->hash, SCAN_HASH_SHA256, &left,
					   slot->key.sha256);

		if (!rc)
			return;
		take(front, &front->hash.list, index);
		slot->hashed = rc > 0;
		if (is_late) {
			front->hash.begun = false;
			tell_timeout(front, index, now_ns);
		} else if (rc > 0) {
			look_up(front, index, now_ns);
		} else {
			scan(front, index, now_ns);
		}
	}
}

static void hash_infected(struct scan_front *front)
{
	size_t left = SLICE;

	while (front->infected.list.first != NONE && left) {
		uint32_t index = front->infected.list.first;
		struct scan_verdict *verdict = &front->slots[index].verdict;
		int rc = hash_first(front, &front->infected, SCAN_HASH_SHA1, &left, verdict->sha1);

		if (!rc)
			return;
		take(front, &front->infected.list, index);
		verdict->hashed = rc > 0;
		memcpy(verdict->sha256, front->slots[index].key.sha256, sizeof(verdict->sha256));
		append(front, &front->told, index);
	}
}

// Those that wait, as there is news of the files in flight. The youngest asks first: where a file
// has to be scanned anew it has the most time for it.
static void ask_again(struct scan_front *front, uint64_t now_ns)
{
	struct list all = front->waiting;

	if (front->asker < 0 || !scan_cache_news(front->config->cache, front->asker))
		return;
	front->waiting = (struct list){NONE, NONE};
	front->soonest_ns = SCAN_NEVER;
	while (all.first != NONE) {
		uint32_t index = all.first;

		take(front, &all, index);
		ask_cache(front, index, true, now_ns);
	}
}

static void look_at_clock(struct scan_front *front, uint64_t now_ns)
{
	if (now_ns < front->soonest_ns)
		return;
	front->soonest_ns = SCAN_NEVER;
	for (uint32_t index = front->waiting.first, next; index != NONE; index = next) {
		uint64_t deadline_ns = front->slots[index].verdict.job.deadline_ns;

		next = front->slots[index].next;
		if (now_ns >= deadline_ns) {
			take(front, &front->waiting, index);
			tell_timeout(front, index, now_ns);
		} else if (deadline_ns < front->soonest_ns) {
			front->soonest_ns = deadline_ns;
		}
	}
}

// At the end of a turn: the verdicts of the next one are of the parent that it has now.
static void look_at_engine(struct scan_front *front)
{
	struct scan_status status;

	if (!front->ops->status)
		return;
	front->ops->status(front->engine, &status);
	bool scans = status.state == SCAN_STATE_READY || status.state == SCAN_STATE_WAITING;

	front->parent = scans ? status.parent : 0;
	memcpy(front->digest, status.digest, sizeof(front->digest));
	front->db_version =
		status.db_version < UINT32_MAX ? (uint32_t)status.db_version : UINT32_MAX;
}

static void retry_ready(struct scan_front *front, uint64_t now_ns)
{
	while (front->ready.first != NONE && to_engine(front, front->ready.first, now_ns))
		take(front, &front->ready, front->ready.first);
}

// One that the engine tells, of a file that was hashed.
static void engine_told(struct scan_front *front, const struct scan_verdict *verdict)
{
	uint32_t index = verdict->job.trigger;
	struct slot *slot = &front->slots[index];
	const struct scan_job job = slot->verdict.job;
	struct scan_known known = {.value = verdict->value, .reason = verdict->reason};

	memcpy(known.name, verdict->name, sizeof(known.name));
	disown(front, slot, &known, verdict->parent, verdict->done_ns);
	slot->verdict = *verdict;
	slot->verdict.job = job;
	settle(front, index);
}

static unsigned take_told(struct scan_front *front, struct scan_verdict *out, unsigned max)
{
	unsigned n = 0;

	while (n < max && front->told.first != NONE) {
		uint32_t index = front->told.first;

		take(front, &front->told, index);
		out[n++] = front->slots[index].verdict;
		front->slots[index].next = front->free;
		front->free = index;
	}
	return n;
}

static unsigned ask_engine(
	struct scan_front *front, uint64_t now_ns, struct scan_verdict *out, unsigned max)
{
	struct scan_verdict verdicts[TURN_MAX];
	unsigned n = front->ops->poll(
			 front->engine, now_ns, verdicts, max < TURN_MAX ? max : TURN_MAX),
		 passed = 0;

	for (unsigned i = 0; i < n; i++) {
		if (is_hashed(front, &verdicts[i].job))
			engine_told(front, &verdicts[i]);
		else
			out[passed++] = verdicts[i];
	}
	return passed;
}

unsigned scan_front_poll(
	struct scan_front *front, uint64_t now_ns, struct scan_verdict *out, unsigned max)
{
	if (!front->works)
		return front->ops->poll(front->engine, now_ns, out, max);
	hash_some(front, now_ns);
	ask_again(front, now_ns);
	look_at_clock(front, now_ns);
	retry_ready(front, now_ns);
	unsigned n = ask_engine(front, now_ns, out, max);

	look_at_engine(front);
	hash_infected(front);
	return n + take_told(front, out + n, max - n);
}

// Without an engine nothing is remembered.
static bool hash_is_of_use(const struct scan_front *front)
{
	return (front->parent && front->asker >= 0) ||
	       (front->config->lists && !scan_lists_are_empty(front->config->lists));
}

int scan_front_submit(struct scan_front *front, const struct scan_job *job, uint64_t now_ns)
{
	uint32_t index = front->free;

	if (!is_hashed(front, job))
		return front->ops->submit(front->engine, job, now_ns);
	if (index == NONE)
		return -EAGAIN;
	front->free = front->slots[index].next;
	front->slots[index] = (struct slot){.verdict = {.job = *job}};
	if (hash_is_of_use(front))
		append(front, &front->hash.list, index);
	else
		scan(front, index, now_ns);
	return 0;
}

uint64_t scan_front_next_ns(const struct scan_front *front)
{
	uint64_t next_ns = front->ops->next_ns(front->engine);

	if (!front->works)
		return next_ns;
	if (front->hash.list.first != NONE || front->infected.list.first != NONE ||
		front->told.first != NONE)
		return 0;
	return front->soonest_ns < next_ns ? front->soonest_ns : next_ns;
}

unsigned scan_front_descriptors(const struct scan_front *front, struct pollfd out[SCAN_FDS_MAX])
{
	unsigned n = front->ops->descriptors ? front->ops->descriptors(front->engine, out) : 0;

	if (front->asker >= 0 && n < SCAN_FDS_MAX)
		out[n++] = (struct pollfd){
			.fd = scan_cache_descriptor(front->config->cache, front->asker),
			.events = POLLIN};
	return n;
}

void scan_front_adopt(struct scan_front *front, const struct scan_news *news, uint64_t now_ns)
{
	if (front->ops->adopt)
		front->ops->adopt(front->engine, news, now_ns);
	else if (news->fd >= 0)
		close(news->fd);
}

bool scan_front_status(struct scan_front *front, struct scan_status *out)
{
	struct scan_cache_use use = {0};

	if (!front->ops->status)
		return false;
	front->ops->status(front->engine, out);
	if (front->config->cache)
		scan_cache_look(front->config->cache, &use);
	out->known = (struct scan_known_status){
		.hits = atomic_load_explicit(&front->hits, memory_order_relaxed),
		.misses = atomic_load_explicit(&front->misses, memory_order_relaxed),
		.joined = atomic_load_explicit(&front->joined, memory_order_relaxed),
		.listed = atomic_load_explicit(&front->listed, memory_order_relaxed),
		.evicted = use.evicted,
		.entries = use.entries,
		.limit = use.limit,
	};
	return true;
}

// ---- life ----

static int make_hasher(struct scan_front *front, char *err, size_t err_len)
{
	front->hash.hasher = scan_hasher_new(front->config->arena);
	front->infected.hasher = scan_hasher_new(front->config->arena);
	front->works = true;
	if (!front->hash.hasher || !front->infected.hasher) {
		snprintf(err, err_len, "SHA-256 and SHA-1 of libcrypto cannot be had");
		return -ENOMEM;
	}
	if (!front->config->cache)
		return 0;
	front->asker = scan_cache_join(front->config->cache);
	if (front->asker >= 0)
		return 0;
	snprintf(err, err_len, "scan cache: %s", strerror(-front->asker));
	return front->asker;
}

int scan_front_new(const struct scan_config *config, int socket, struct scan_front **out, char *err,
	size_t err_len)
{
	bool hashes = config->arena && (config->cache || config->lists);
	uint32_t n = hashes ? SCAN_JOBS_MAX : 0;
	struct scan_front *front = rte_zmalloc_socket(
		"scan_front", sizeof(*front) + n * sizeof(front->slots[0]), 64, socket);
	int rc = 0;

	if (!front) {
		snprintf(err, err_len, "no memory for %u scan jobs", SCAN_JOBS_MAX);
		return -ENOMEM;
	}
	front->config = config;
	front->ops = config->ops;
	front->asker = -1;
	front->hash.list = front->infected.list = (struct list){NONE, NONE};
	front->ready = front->waiting = front->told = (struct list){NONE, NONE};
	front->soonest_ns = SCAN_NEVER;
	front->free = n ? 0 : NONE;
	for (uint32_t i = 0; i < n; i++)
		front->slots[i].next = i + 1 < n ? i + 1 : NONE;
	if (hashes)
		rc = make_hasher(front, err, err_len);
	if (!rc)
		rc = config->ops->make(config, socket, &front->engine, err, err_len);
	if (rc < 0) {
		scan_front_free(front);
		return rc;
	}
	*out = front;
	return 0;
}

void scan_front_free(struct scan_front *front)
{
	if (!front)
		return;
	for (uint32_t i = 0; front->works && i < SCAN_JOBS_MAX; i++)
		disown(front, &front->slots[i], &(struct scan_known){.value = SCAN_ERROR}, 0, 0);
	if (front->engine)
		front->ops->destroy(front->engine);
	if (front->asker >= 0)
		scan_cache_leave(front->config->cache, front->asker);
	scan_hasher_free(front->hash.hasher);
	scan_hasher_free(front->infected.hasher);
	rte_free(front);
}
