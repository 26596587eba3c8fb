// SPDX-License-Identifier: BSD-3-Clause
// Three orders of the same links: by key; by age of their last use, where nobody holds them, in all
// and per source; by age, where they do not stand yet. All steps are O(1) but the search for the
// oldest half-open session without references, which passes over our own connects.
#include "transportapi/transport/sessions.h"

#include <stdlib.h>
#include <string.h>

#define SOURCE_KEY_BYTES 9 // family, then the /32 or the /64

struct tapi_source_count {
	uint8_t key[SOURCE_KEY_BYTES];
	uint32_t count; // inbound links of it in the table
	struct tapi_link_list idle;
	UT_hash_handle hh;
};

static uint64_t limit_read(const struct tapi_conf *conf, const char *section,
	const struct tapi_conf_key *keys, const char *name)
{
	for (const struct tapi_conf_key *key = keys; key->name; key++)
		if (strcmp(key->name, name) == 0)
			return tapi_conf_uint(conf, section, keys, name);
	return UINT32_MAX; // of seconds, a century
}

struct tapi_link_limits tapi_link_limits_read(
	const struct tapi_conf *conf, const char *section, const struct tapi_conf_key *keys)
{
	return (struct tapi_link_limits){
		.sessions = (uint32_t)limit_read(conf, section, keys, "max_sessions"),
		.sessions_per_source = (uint32_t)limit_read(conf, section, keys, "max_per_source"),
		.half_open = (uint32_t)limit_read(conf, section, keys, "max_half_open"),
		.stale_us = limit_read(conf, section, keys, "stale_s") * 1000000,
		.connect_us = limit_read(conf, section, keys, "connect_timeout_s") * 1000000,
	};
}

void tapi_links_init(struct tapi_links *links, const struct tapi_link_limits *limits,
	struct tapi_transport_stats *stats,
	void (*end)(void *context, struct tapi_link *link, enum tapi_down why), void *context)
{
	*links = (struct tapi_links){
		.limits = *limits, .stats = stats, .end = end, .context = context};
	TAILQ_INIT(&links->idle);
	TAILQ_INIT(&links->opening);
	TAILQ_INIT(&links->ending);
}

struct tapi_link *tapi_links_find(struct tapi_links *links, const void *key, size_t length)
{
	struct tapi_link *link;

	HASH_FIND(by_key, links->by_key, key, length, link);
	return link;
}

static struct tapi_source_count *source_get(
	struct tapi_links *links, const struct tapi_source *source)
{
	struct tapi_source_count *of;
	uint8_t key[SOURCE_KEY_BYTES] = {source->family};

	memcpy(key + 1, source->address, source->family == 4 ? 4 : 8);
	HASH_FIND(hh, links->by_source, key, sizeof(key), of);
	if (of)
		return of;
	of = calloc(1, sizeof(*of));
	if (!of)
		return NULL;
	memcpy(of->key, key, sizeof(key));
	TAILQ_INIT(&of->idle);
	HASH_ADD(hh, links->by_source, key, sizeof(of->key), of);
	if (!of->hh.tbl) {
		free(of);
		return NULL;
	}
	return of;
}

static void source_drop_empty(struct tapi_links *links, struct tapi_source_count *of)
{
	if (of->count > 0)
		return;
	HASH_DELETE(hh, links->by_source, of);
	free(of);
}

static void idle_insert(struct tapi_links *links, struct tapi_link *link)
{
	TAILQ_INSERT_TAIL(&links->idle, link, idle);
	if (link->of_source)
		TAILQ_INSERT_TAIL(&link->of_source->idle, link, sibling);
}

static void idle_remove(struct tapi_links *links, struct tapi_link *link)
{
	TAILQ_REMOVE(&links->idle, link, idle);
	if (link->of_source)
		TAILQ_REMOVE(&link->of_source->idle, link, sibling);
}

static void opening_remove(struct tapi_links *links, struct tapi_link *link)
{
	TAILQ_REMOVE(&links->opening, link, opening);
	links->n_opening--;
}

// Out of the table and of all lists. References stay as they are: who holds some still names it.
static void leave(struct tapi_links *links, struct tapi_link *link)
{
	HASH_DELETE(by_key, links->by_key, link);
	if (link->references == 0)
		idle_remove(links, link);
	if (!link->up)
		opening_remove(links, link);
	if (link->of_source) {
		link->of_source->count--;
		source_drop_empty(links, link->of_source);
		link->of_source = NULL;
	}
	link->linked = false;
	links->count--;
	links->stats->sessions_closed++;
}

void tapi_links_fail(struct tapi_links *links, struct tapi_link *link, enum tapi_down why)
{
	if (!link->linked)
		return;
	leave(links, link);
	link->ending = true;
	link->why = why;
	TAILQ_INSERT_TAIL(&links->ending, link, idle);
}

void tapi_links_remove(struct tapi_links *links, struct tapi_link *link)
{
	if (link->ending) {
		TAILQ_REMOVE(&links->ending, link, idle);
		link->ending = false;
	} else if (link->linked) {
		leave(links, link);
	}
}

static bool evict(struct tapi_links *links, struct tapi_link *link)
{
	if (!link)
		return false;
	links->stats->sessions_evicted++;
	tapi_links_fail(links, link, TAPI_DOWN_LIMIT);
	return true;
}

static struct tapi_link *oldest_unheld_opening(struct tapi_links *links)
{
	struct tapi_link *link;

	TAILQ_FOREACH (link, &links->opening, opening)
		if (link->references == 0)
			return link;
	return NULL;
}

// The narrow limits first: what they evict may make room below the wide one. More than one goes
// where a reload has lowered a limit.
static bool make_room(struct tapi_links *links, const struct tapi_link *link)
{
	const struct tapi_source_count *of = link->of_source;

	while (of && of->count > links->limits.sessions_per_source)
		if (!evict(links, TAILQ_FIRST(&of->idle)))
			return false;
	while (!link->up && links->n_opening >= links->limits.half_open)
		if (!evict(links, oldest_unheld_opening(links)))
			return false;
	while (links->count >= links->limits.sessions)
		if (!evict(links, TAILQ_FIRST(&links->idle)))
			return false;
	// One for one: the descriptor comes back when the end is reported.
	if (tapi_budget_no_descriptor(links->budget) && !evict(links, TAILQ_FIRST(&links->idle)))
		return false;
	return true;
}

enum tapi_result tapi_links_add(struct tapi_links *links, struct tapi_link *link, uint64_t now_us)
{
	enum tapi_result result = TAPI_ELIMIT;

	if (link->inbound && link->source.family != 0) {
		link->of_source = source_get(links, &link->source);
		if (!link->of_source)
			return TAPI_ENOMEM;
		link->of_source->count++; // before room is made: it may not go away by that
	}
	if (!make_room(links, link)) {
		links->stats->sessions_refused++;
		goto refused;
	}
	HASH_ADD_KEYPTR(by_key, links->by_key, link->key, link->key_length, link);
	if (!link->by_key.tbl) {
		result = TAPI_ENOMEM;
		goto refused;
	}
	link->session.internal = link;
	link->references = link->inbound ? 0 : 1;
	link->opened_us = link->used_us = now_us;
	link->linked = true;
	links->count++;
	if (link->inbound) {
		idle_insert(links, link);
		links->stats->sessions_accepted++;
	} else {
		links->stats->sessions_opened++;
	}
	if (!link->up) {
		TAILQ_INSERT_TAIL(&links->opening, link, opening);
		links->n_opening++;
	}
	return TAPI_OK;

refused:
	if (link->of_source) {
		link->of_source->count--;
		source_drop_empty(links, link->of_source);
		link->of_source = NULL;
	}
	return result;
}

static void touch(struct tapi_links *links, struct tapi_link *link, uint64_t now_us)
{
	link->used_us = now_us;
	if (!link->linked || link->references > 0 || !TAILQ_NEXT(link, idle))
		return;
	idle_remove(links, link);
	idle_insert(links, link);
}

void tapi_links_up(struct tapi_links *links, struct tapi_link *link, uint64_t now_us)
{
	if (link->up)
		return;
	if (link->linked)
		opening_remove(links, link);
	link->up = true;
	touch(links, link, now_us);
}

void tapi_links_sent(
	struct tapi_links *links, struct tapi_link *link, uint32_t bytes, uint64_t now_us)
{
	link->sent_msgs++;
	link->sent_bytes += bytes;
	link->last_sent_us = now_us;
	links->stats->sent_msgs++;
	links->stats->sent_bytes += bytes;
	touch(links, link, now_us);
}

void tapi_links_received(
	struct tapi_links *links, struct tapi_link *link, uint32_t bytes, uint64_t now_us)
{
	link->received_msgs++;
	link->received_bytes += bytes;
	link->last_received_us = now_us;
	links->stats->received_msgs++;
	links->stats->received_bytes += bytes;
	touch(links, link, now_us);
}

void tapi_links_get(struct tapi_links *links, struct tapi_link *link)
{
	if (link->linked && link->references == 0)
		idle_remove(links, link);
	link->references++;
}

bool tapi_links_put(struct tapi_links *links, struct tapi_link *link, uint64_t now_us)
{
	if (link->references == 0)
		return false; // nothing was held: a fault of the caller, and no reason to free it
	if (link->references > 1 || link->inbound) {
		link->references--;
		if (link->references == 0 && link->linked) {
			link->used_us = now_us;
			idle_insert(links, link);
		}
		return false;
	}
	// The last reference of a session that we opened. Out while it still counts as held.
	tapi_links_remove(links, link);
	link->references = 0;
	return true;
}

// `end` may come back into the table: each step starts from a head.
static void end_waiting(struct tapi_links *links)
{
	struct tapi_link *link;

	while ((link = TAILQ_FIRST(&links->ending)) != NULL) {
		TAILQ_REMOVE(&links->ending, link, idle);
		link->ending = false;
		links->end(links->context, link, link->why);
	}
}

uint64_t tapi_links_turn(struct tapi_links *links, uint64_t now_us)
{
	uint64_t next = UINT64_MAX;
	struct tapi_link *link;

	while ((link = TAILQ_FIRST(&links->opening)) != NULL &&
		now_us >= link->opened_us + links->limits.connect_us)
		tapi_links_fail(links, link, TAPI_DOWN_ERROR);
	while ((link = TAILQ_FIRST(&links->idle)) != NULL &&
		now_us >= link->used_us + links->limits.stale_us) {
		links->stats->sessions_stale++;
		tapi_links_fail(links, link, TAPI_DOWN_STALE);
	}
	end_waiting(links);

	link = TAILQ_FIRST(&links->opening);
	if (link)
		next = link->opened_us + links->limits.connect_us;
	link = TAILQ_FIRST(&links->idle);
	if (link && link->used_us + links->limits.stale_us < next)
		next = link->used_us + links->limits.stale_us;
	return next;
}

void tapi_links_fail_all(struct tapi_links *links, enum tapi_down why,
	bool (*keep)(void *context, const struct tapi_link *link))
{
	struct tapi_link *link, *next;

	HASH_ITER(by_key, links->by_key, link, next)
	if (!keep || !keep(links->context, link))
		tapi_links_fail(links, link, why);
}

// First out with all of them, then the calls: they may change the table.
void tapi_links_end_all(struct tapi_links *links, enum tapi_down why,
	bool (*keep)(void *context, const struct tapi_link *link))
{
	tapi_links_fail_all(links, why, keep);
	end_waiting(links);
}

void tapi_links_info(const struct tapi_link *link, struct tapi_session_info *out)
{
	*out = (struct tapi_session_info){
		.source = link->source,
		.references = link->references,
		.inbound = link->inbound,
		.up = link->up,
		.opened_us = link->opened_us,
		.last_received_us = link->last_received_us,
		.last_sent_us = link->last_sent_us,
		.sent_msgs = link->sent_msgs,
		.sent_bytes = link->sent_bytes,
		.received_msgs = link->received_msgs,
		.received_bytes = link->received_bytes,
		.dropped_msgs = link->dropped_msgs,
	};
}
