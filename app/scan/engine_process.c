// SPDX-License-Identifier: BSD-3-Clause
// The engine that asks sluice-scan: which job is with a child, which ones wait, and what becomes of
// them when a child or its parent fails. A job that a child was given is told only when the child
// has answered or is dead, as it reads the job's extents until then.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <rte_malloc.h>
#include "scan/peer.h"
#include "scan/slots.h"
#include "pipeline/vocab/tick.h"

#define MESSAGES_MAX 16 // of one parent, in one turn
// Without a child that long there is no engine: nothing is held for one that may come.
#define CHILDLESS_NS NS_PER_S
// From the moment that a parent has closed its socket until its child is dead for certain, where
// nobody is left who could say so (README.md, "Without the launcher").
#define ORPHAN_NS (5 * NS_PER_S)
// A job is not begun with less than this part of its time left: it would end as a time-out, and
// its child with it.
#define LATE_SHARE 16

struct scan_engine {
	const struct scan_config *config;
	struct scan_peer now;  // asked
	struct scan_peer next; // loaded aside; takes over when it has a child
	struct scan_list waiting;
	struct scan_list
		stranded;      // were with a child whose parent is lost: until its death is known
	struct scan_list told; // verdicts for poll
	uint32_t running;      // with the child of `now`; JOB_NONE
	uint32_t free;
	uint32_t retired;    // the parent that is let go when no job is out; 0
	bool is_orphaned;    // nobody is left who starts, kills or buries parents
	uint64_t soonest_ns; // no job that waits has an earlier deadline
	uint64_t begun_ns;   // of the running one
	uint64_t id;         // of requests
	pthread_mutex_t mutex;
	struct scan_status status; // under the mutex: others read it
	struct scan_slot slots[SCAN_JOBS_MAX];
};

static void tell(struct scan_engine *engine, uint32_t index, enum scan_value value,
	enum scan_reason reason, uint64_t now_ns)
{
	struct scan_verdict *verdict = &engine->slots[index].verdict;

	verdict->value = (uint8_t)value;
	verdict->reason = (uint8_t)reason;
	verdict->done_ns = now_ns;
	if (!verdict->taken_ns)
		verdict->taken_ns = now_ns; // no child was given it
	scan_slots_add(engine->slots, &engine->told, index);
}

// Versions of ClamAV's signatures are far below; one that is not is said to be the highest.
static uint32_t version_of(const struct scan_wire_control *born)
{
	return born->db_version < UINT32_MAX ? (uint32_t)born->db_version : UINT32_MAX;
}

// Also of one that failed: how long it was with the child.
static void end_running(
	struct scan_engine *engine, enum scan_value value, enum scan_reason reason, uint64_t now_ns)
{
	uint32_t index = engine->running;
	struct scan_verdict *verdict = &engine->slots[index].verdict;

	engine->running = JOB_NONE;
	verdict->by =
		value == SCAN_ERROR || value == SCAN_TIMEOUT ? SCAN_BY_NOBODY : SCAN_BY_CLAMAV;
	verdict->db_version = version_of(&engine->now.born);
	pthread_mutex_lock(&engine->mutex);
	histogram_add(&engine->status.queue, engine->begun_ns - verdict->job.submitted_ns, 1);
	histogram_add(&engine->status.run, now_ns - engine->begun_ns, 1);
	pthread_mutex_unlock(&engine->mutex);
	tell(engine, index, value, reason, now_ns);
}

// How the running one ends when its child is dead: what was known when it was condemned.
static enum scan_value fate(const struct scan_engine *engine)
{
	return (enum scan_value)engine->slots[engine->running].verdict.value;
}

static void condemn(struct scan_engine *engine, enum scan_value value, uint64_t now_ns)
{
	if (engine->running != JOB_NONE && !engine->now.condemned)
		engine->slots[engine->running].verdict.value = (uint8_t)value;
	scan_peer_condemn(&engine->now, now_ns);
}

static bool is_there(const struct scan_engine *engine, uint64_t now_ns)
{
	const struct scan_peer *now = &engine->now;

	if (!now->number || now->failed || !now->was_born)
		return false;
	return now->child || now_ns - now->childless_ns < CHILDLESS_NS;
}

static void refuse_waiting(struct scan_engine *engine, uint64_t now_ns)
{
	while (engine->waiting.n)
		tell(engine, scan_slots_take(engine->slots, &engine->waiting), SCAN_UNSCANNED,
			SCAN_REASON_NO_ENGINE, now_ns);
	engine->soonest_ns = SCAN_NEVER;
}

// In a list of the newest.
static void note_lost(struct scan_engine *engine, uint32_t parent)
{
	uint32_t *lost = engine->status.lost;

	pthread_mutex_lock(&engine->mutex);
	memmove(lost + 1, lost, sizeof(engine->status.lost) - sizeof(lost[0]));
	lost[0] = parent;
	pthread_mutex_unlock(&engine->mutex);
}

static void take_over(struct scan_engine *engine)
{
	scan_peer_close(&engine->now);
	engine->now = engine->next;
	scan_peer_init(&engine->next);
}

// The parent that is asked. Its child may read on until both are known to be dead.
static void lose_now(struct scan_engine *engine, uint64_t now_ns)
{
	if (engine->running != JOB_NONE) {
		struct scan_slot *slot = &engine->slots[engine->running];

		slot->closed_ns = engine->now.has_closed ? now_ns : SCAN_NEVER;
		scan_slots_add(engine->slots, &engine->stranded, engine->running);
		engine->running = JOB_NONE;
	}
	note_lost(engine, engine->now.number);
	pthread_mutex_lock(&engine->mutex);
	memcpy(engine->status.text, engine->now.text, sizeof(engine->status.text));
	pthread_mutex_unlock(&engine->mutex);
	take_over(engine); // by one that has a child or will have one, or by none
}

// The one aside is not taken: what is in force stays.
static void refuse_next(struct scan_engine *engine, bool is_lost)
{
	if (is_lost)
		note_lost(engine, engine->next.number);
	pthread_mutex_lock(&engine->mutex);
	engine->status.refused = engine->next.number;
	memcpy(engine->status.refusal, engine->next.text, sizeof(engine->status.refusal));
	pthread_mutex_unlock(&engine->mutex);
	scan_peer_close(&engine->next);
}

static void child_gone(struct scan_engine *engine, uint64_t now_ns)
{
	bool asked = engine->now.condemned, finished = engine->now.rests && !asked;

	pthread_mutex_lock(&engine->mutex);
	engine->status.finished += finished;
	engine->status.replaced += asked && !engine->now.hung_up;
	engine->status.died += !finished && (!asked || engine->now.hung_up);
	pthread_mutex_unlock(&engine->mutex);
	if (engine->running != JOB_NONE)
		end_running(engine, asked ? fate(engine) : SCAN_ERROR, SCAN_REASON_NONE, now_ns);
	engine->now.condemned = engine->now.rests = false;
}

static void hear_now(struct scan_engine *engine, uint64_t now_ns)
{
	scan_peer_retry(&engine->now);
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		switch (scan_peer_hear(&engine->now, now_ns)) {
		case SCAN_PEER_QUIET: return;
		case SCAN_PEER_BORN:
		case SCAN_PEER_FOLDER:
		case SCAN_PEER_FAILED: break;
		case SCAN_PEER_GONE: child_gone(engine, now_ns); break;
		case SCAN_PEER_LOST: lose_now(engine, now_ns); return;
		}
	}
}

static void hear_next(struct scan_engine *engine, uint64_t now_ns)
{
	for (unsigned i = 0; i < MESSAGES_MAX; i++) {
		switch (scan_peer_hear(&engine->next, now_ns)) {
		case SCAN_PEER_QUIET: return;
		case SCAN_PEER_BORN:
		case SCAN_PEER_FOLDER: break;
		case SCAN_PEER_GONE: engine->next.condemned = engine->next.rests = false; break;
		case SCAN_PEER_FAILED: refuse_next(engine, false); return;
		case SCAN_PEER_LOST: refuse_next(engine, true); return;
		}
	}
}

static void hear_child(struct scan_engine *engine, uint64_t now_ns)
{
	struct scan_wire_verdict said;
	bool runs = engine->running != JOB_NONE;
	int rc = scan_peer_verdict(&engine->now, runs ? engine->id : 0, &said);

	if (!rc)
		return;
	if (rc < 0) { // it may live on without its socket
		condemn(engine, SCAN_ERROR, now_ns);
		return;
	}
	memcpy(engine->slots[engine->running].verdict.name, said.name, sizeof(said.name));
	engine->slots[engine->running].verdict.source = SCAN_SOURCE_ENGINE;
	end_running(engine, (enum scan_value)said.value, (enum scan_reason)said.reason, now_ns);
	if (said.last)
		scan_peer_rest(&engine->now, now_ns);
}

static void look_at_clock(struct scan_engine *engine, uint64_t now_ns)
{
	if (engine->now.rests && !engine->now.condemned && now_ns >= engine->now.patience_ns)
		condemn(engine, SCAN_ERROR, now_ns);
	if (engine->running != JOB_NONE &&
		now_ns >= engine->slots[engine->running].verdict.job.deadline_ns)
		condemn(engine, SCAN_TIMEOUT, now_ns);
	if (engine->now.condemned && now_ns >= engine->now.patience_ns) {
		scan_wire_text(engine->now.text, sizeof(engine->now.text),
			"the scanner does not replace its child");
		lose_now(engine, now_ns);
	}
	if (!is_there(engine, now_ns))
		refuse_waiting(engine, now_ns);
	if (now_ns < engine->soonest_ns)
		return;
	struct scan_list all = engine->waiting;

	engine->waiting = (struct scan_list){0};
	engine->soonest_ns = SCAN_NEVER;
	while (all.n) {
		uint32_t index = scan_slots_take(engine->slots, &all);
		uint64_t deadline_ns = engine->slots[index].verdict.job.deadline_ns;

		if (now_ns >= deadline_ns) {
			tell(engine, index, SCAN_TIMEOUT, SCAN_REASON_NONE, now_ns);
			continue;
		}
		if (deadline_ns < engine->soonest_ns)
			engine->soonest_ns = deadline_ns;
		scan_slots_add(engine->slots, &engine->waiting, index);
	}
}

static bool is_late(const struct scan_job *job, uint64_t now_ns)
{
	uint64_t all_ns = job->deadline_ns - job->submitted_ns;

	return now_ns >= job->deadline_ns || job->deadline_ns - now_ns < all_ns / LATE_SHARE;
}

// False: the extents are not those of a file in the arena.
static bool make_request(
	struct scan_engine *engine, const struct scan_job *job, struct scan_wire_request *request)
{
	const struct scan_extents *extents = scan_arena_extents(engine->config->arena, job);

	if (!extents)
		return false;
	*request = (struct scan_wire_request){.bytes = job->to64 - job->from64,
		.flags = job->flags & SCAN_JOB_WHOLE ? SCAN_WIRE_WHOLE : 0,
		.n_extents = extents->n,
		.lead = extents->lead};
	scan_wire_head_set(&request->head, SCAN_WIRE_REQUEST, engine->id + 1);
	memcpy(request->extents, extents->extent, extents->n * sizeof(extents->extent[0]));
	return true;
}

static void begin(struct scan_engine *engine, uint64_t now_ns)
{
	struct scan_wire_request request;

	while (engine->running == JOB_NONE && engine->waiting.n) {
		if (scan_peer_is_ready(&engine->next))
			take_over(engine);
		if (!scan_peer_is_ready(&engine->now))
			return;
		const struct scan_job *job = &engine->slots[engine->waiting.first].verdict.job;

		if (is_late(job, now_ns)) {
			tell(engine, scan_slots_take(engine->slots, &engine->waiting), SCAN_TIMEOUT,
				SCAN_REASON_NONE, now_ns);
		} else if (!make_request(engine, job, &request)) {
			tell(engine, scan_slots_take(engine->slots, &engine->waiting), SCAN_ERROR,
				SCAN_REASON_NONE, now_ns);
		} else if (scan_peer_request(&engine->now, &request) < 0) {
			condemn(engine, SCAN_ERROR, now_ns); // the job waits for the next child
		} else {
			engine->id++;
			engine->running = scan_slots_take(engine->slots, &engine->waiting);
			engine->slots[engine->running].verdict.parent = engine->now.number;
			engine->slots[engine->running].verdict.taken_ns = now_ns;
			engine->begun_ns = now_ns;
		}
	}
}

static enum scan_state state_of(const struct scan_peer *peer)
{
	if (!peer->number)
		return SCAN_STATE_ABSENT;
	if (peer->failed)
		return SCAN_STATE_FAILED;
	if (!peer->was_born)
		return SCAN_STATE_LOADING;
	return scan_peer_is_ready(peer) ? SCAN_STATE_READY : SCAN_STATE_WAITING;
}

static void publish(struct scan_engine *engine)
{
	struct scan_status *status = &engine->status;
	const struct scan_peer *now = &engine->now;

	pthread_mutex_lock(&engine->mutex);
	status->waiting = engine->waiting.n;
	status->running = engine->running != JOB_NONE;
	status->state = (uint8_t)state_of(now);
	status->parent = now->number;
	status->pid = now->child ? now->born.pid : 0;
	status->signatures = now->born.signatures;
	status->db_version = now->born.db_version;
	status->db_time_s = now->born.db_time_s;
	memcpy(status->digest, now->born.digest, sizeof(status->digest));
	status->folders = now->folders;
	memcpy(status->folder, now->folder, sizeof(status->folder));
	if (now->text[0])
		memcpy(status->text, now->text, sizeof(status->text));
	pthread_mutex_unlock(&engine->mutex);
}

static unsigned take_verdicts(struct scan_engine *engine, struct scan_verdict *out, unsigned max)
{
	struct scan_status *status = &engine->status;
	unsigned n = 0;

	pthread_mutex_lock(&engine->mutex);
	for (; n < max && engine->told.n; n++) {
		uint32_t index = scan_slots_take(engine->slots, &engine->told);

		out[n] = engine->slots[index].verdict;
		status->verdicts[out[n].value]++;
		if (out[n].value == SCAN_UNSCANNED)
			status->unscanned[out[n].reason]++;
		engine->slots[index].next = engine->free;
		engine->free = index;
	}
	pthread_mutex_unlock(&engine->mutex);
	return n;
}

static void tell_stranded(struct scan_engine *engine, uint32_t index, uint64_t now_ns)
{
	enum scan_value value = (enum scan_value)engine->slots[index].verdict.value;

	tell(engine, index, value == SCAN_CLEAN ? SCAN_ERROR : value, SCAN_REASON_NONE, now_ns);
}

static void bury_orphans(struct scan_engine *engine, uint64_t now_ns)
{
	struct scan_list all = engine->stranded;

	if (!engine->is_orphaned)
		return;
	engine->stranded = (struct scan_list){0};
	while (all.n) {
		uint32_t index = scan_slots_take(engine->slots, &all);
		uint64_t closed_ns = engine->slots[index].closed_ns;

		if (closed_ns == SCAN_NEVER || now_ns < closed_ns + ORPHAN_NS)
			scan_slots_add(engine->slots, &engine->stranded, index);
		else
			tell_stranded(engine, index, now_ns);
	}
}

// Between two files.
static void change_parents(struct scan_engine *engine)
{
	if (engine->running != JOB_NONE)
		return;
	if (scan_peer_is_ready(&engine->next) ||
		(engine->retired && engine->now.number == engine->retired))
		take_over(engine);
}

static unsigned process_poll(
	struct scan_engine *engine, uint64_t now_ns, struct scan_verdict *out, unsigned max)
{
	hear_child(engine, now_ns); // first: what it said before it died counts
	hear_now(engine, now_ns);
	hear_next(engine, now_ns);
	change_parents(engine);
	bury_orphans(engine, now_ns);
	look_at_clock(engine, now_ns);
	begin(engine, now_ns);
	publish(engine);
	return take_verdicts(engine, out, max);
}

static int process_submit(struct scan_engine *engine, const struct scan_job *job, uint64_t now_ns)
{
	uint32_t index = engine->free;

	if (index == JOB_NONE)
		return -EAGAIN;
	engine->free = engine->slots[index].next;
	engine->slots[index].verdict = (struct scan_verdict){.job = *job};
	if (!(job->flags & SCAN_JOB_FILE) || job->to64 < job->from64) {
		tell(engine, index, SCAN_ERROR, SCAN_REASON_NONE, now_ns);
	} else if (job->to64 - job->from64 > engine->config->max_file_bytes) {
		tell(engine, index, SCAN_UNSCANNED, SCAN_REASON_TOO_BIG, now_ns);
	} else if (!is_there(engine, now_ns)) {
		tell(engine, index, SCAN_UNSCANNED, SCAN_REASON_NO_ENGINE, now_ns);
	} else {
		if (job->deadline_ns < engine->soonest_ns)
			engine->soonest_ns = job->deadline_ns;
		scan_slots_add(engine->slots, &engine->waiting, index);
	}
	return 0;
}

static uint64_t orphan_ns(const struct scan_engine *engine, uint64_t next_ns)
{
	uint32_t index = engine->stranded.first;

	for (unsigned i = 0; i < engine->stranded.n; i++, index = engine->slots[index].next) {
		uint64_t closed_ns = engine->slots[index].closed_ns;

		if (closed_ns != SCAN_NEVER && closed_ns + ORPHAN_NS < next_ns)
			next_ns = closed_ns + ORPHAN_NS;
	}
	return next_ns;
}

static uint64_t process_next_ns(const struct scan_engine *engine)
{
	const struct scan_peer *now = &engine->now;
	uint64_t next_ns = engine->waiting.n ? engine->soonest_ns : SCAN_NEVER;

	if (engine->told.n)
		return 0;
	if (engine->running != JOB_NONE && !now->condemned &&
		engine->slots[engine->running].verdict.job.deadline_ns < next_ns)
		next_ns = engine->slots[engine->running].verdict.job.deadline_ns;
	if ((now->condemned || now->rests) && now->patience_ns < next_ns)
		next_ns = now->patience_ns;
	if (engine->waiting.n && !now->child && now->childless_ns + CHILDLESS_NS < next_ns)
		next_ns = now->childless_ns + CHILDLESS_NS;
	return engine->is_orphaned ? orphan_ns(engine, next_ns) : next_ns;
}

static unsigned process_descriptors(
	const struct scan_engine *engine, struct pollfd out[SCAN_FDS_MAX])
{
	const struct scan_peer *const peers[] = {&engine->now, &engine->next};
	unsigned n = 0;

	for (unsigned i = 0; i < 2; i++) {
		short events = (short)(POLLIN | (peers[i]->untold ? POLLOUT : 0));

		if (peers[i]->control >= 0)
			out[n++] = (struct pollfd){.fd = peers[i]->control, .events = events};
	}
	if (engine->now.file >= 0)
		out[n++] = (struct pollfd){.fd = engine->now.file, .events = POLLIN};
	return n;
}

// What was with its child can be told now.
static void parent_dead(struct scan_engine *engine, uint32_t parent, uint64_t now_ns)
{
	struct scan_list all = engine->stranded;

	engine->stranded = (struct scan_list){0};
	while (all.n) {
		uint32_t index = scan_slots_take(engine->slots, &all);

		if (engine->slots[index].verdict.parent != parent)
			scan_slots_add(engine->slots, &engine->stranded, index);
		else
			tell_stranded(engine, index, now_ns);
	}
	pthread_mutex_lock(&engine->mutex);
	for (unsigned i = 0; i < SCAN_LOST_MAX; i++)
		if (engine->status.lost[i] == parent)
			engine->status.lost[i] = 0;
	pthread_mutex_unlock(&engine->mutex);
}

static void process_adopt(struct scan_engine *engine, const struct scan_news *news, uint64_t now_ns)
{
	if (news->fd >= 0) {
		if (!engine->now.number) {
			scan_peer_open(&engine->now, news);
		} else {
			scan_peer_close(&engine->next);
			scan_peer_open(&engine->next, news);
		}
		return;
	}
	if (!news->parent || news->retire) {
		engine->is_orphaned |= !news->parent;
		engine->retired = news->retire ? news->parent : engine->retired;
		return;
	}
	// What it has said before it died is still to be read.
	if (engine->now.number == news->parent) {
		hear_child(engine, now_ns);
		hear_now(engine, now_ns);
		if (engine->now.number == news->parent)
			lose_now(engine, now_ns);
	}
	if (engine->next.number == news->parent) {
		hear_next(engine, now_ns);
		if (engine->next.number == news->parent)
			refuse_next(engine, true);
	}
	parent_dead(engine, news->parent, now_ns);
}

static void process_status(struct scan_engine *engine, struct scan_status *out)
{
	pthread_mutex_lock(&engine->mutex);
	*out = engine->status;
	pthread_mutex_unlock(&engine->mutex);
}

static int process_trigger(
	const struct scan_config *config, enum half half, uint64_t from64, uint64_t to64)
{
	(void)config;
	(void)half;
	(void)from64;
	(void)to64;
	return SCAN_TRIGGER_NONE; // streams are nothing to it, files are
}

static int process_make(const struct scan_config *config, int socket, struct scan_engine **out,
	char *err, size_t err_len)
{
	struct scan_engine *engine =
		rte_zmalloc_socket("scan_process", sizeof(*engine), 64, socket);

	if (!engine) {
		snprintf(err, err_len, "no memory for %u scan jobs", SCAN_JOBS_MAX);
		return -ENOMEM;
	}
	engine->config = config;
	engine->running = JOB_NONE;
	engine->soonest_ns = SCAN_NEVER;
	pthread_mutex_init(&engine->mutex, NULL);
	scan_peer_init(&engine->now);
	scan_peer_init(&engine->next);
	for (uint32_t i = 0; i < SCAN_JOBS_MAX; i++)
		engine->slots[i].next = i + 1 < SCAN_JOBS_MAX ? i + 1 : JOB_NONE;
	*out = engine;
	return 0;
}

static void process_destroy(struct scan_engine *engine)
{
	if (!engine)
		return;
	scan_peer_close(&engine->now);
	scan_peer_close(&engine->next);
	pthread_mutex_destroy(&engine->mutex);
	rte_free(engine);
}

const struct scan_engine_ops scan_engine_process = {
	.name = "clamav",
	.trigger = process_trigger,
	.make = process_make,
	.destroy = process_destroy,
	.submit = process_submit,
	.poll = process_poll,
	.next_ns = process_next_ns,
	.descriptors = process_descriptors,
	.adopt = process_adopt,
	.status = process_status,
};
