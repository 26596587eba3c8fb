// SPDX-License-Identifier: BSD-3-Clause
// The table of sessions: who goes when there is no room, what time ends, and that each link is
// freed exactly once, whatever the order of operations (TA13). Run under ASan by the check.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "transportapi/transport/sessions.h"

#define S         1000000u
#define ENDED_MAX 64

struct ended {
	struct tapi_session *session;
	enum tapi_down why;
};

struct world {
	struct tapi_links links;
	struct tapi_transport_stats stats;
	struct ended ended[ENDED_MAX];
	unsigned n_ended;
	uint16_t n_made;
	struct tapi_link *put_in_end; // the core drops this one while it hears of another
};

static void end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct world *world = context;

	assert_true(world->n_ended < ENDED_MAX);
	assert_false(link->linked);
	world->ended[world->n_ended++] = (struct ended){&link->session, why};
	if (world->put_in_end && world->put_in_end != link) {
		struct tapi_link *other = world->put_in_end;

		world->put_in_end = NULL;
		if (tapi_links_put(&world->links, other, 0))
			free(other);
	}
	free(link);
}

static const struct tapi_link_limits small = {.sessions = 4,
	.sessions_per_source = 2,
	.half_open = 2,
	.stale_us = 60 * S,
	.connect_us = 10 * S};

static void world_init(struct world *world)
{
	memset(world, 0, sizeof(*world));
	tapi_links_init(&world->links, &small, &world->stats, end, world);
}

static struct tapi_link *link_make(struct world *world, bool inbound, bool up, uint8_t source)
{
	struct tapi_link *link = calloc(1, sizeof(*link));

	assert_non_null(link);
	link->inbound = inbound;
	link->up = up;
	link->source = (struct tapi_source){.family = 4, .address = {10, 0, 0, source}};
	memcpy(link->key, &world->n_made, sizeof(world->n_made));
	link->key_length = sizeof(world->n_made);
	world->n_made++;
	return link;
}

static struct tapi_link *link_add(
	struct world *world, bool inbound, bool up, uint8_t source, uint64_t now_us)
{
	struct tapi_link *link = link_make(world, inbound, up, source);

	assert_int_equal(tapi_links_add(&world->links, link, now_us), TAPI_OK);
	assert_ptr_equal(link->session.internal, link);
	assert_ptr_equal(tapi_links_find(&world->links, link->key, link->key_length), link);
	return link;
}

static void refuse(struct world *world, bool inbound, bool up, uint8_t source)
{
	struct tapi_link *link = link_make(world, inbound, up, source);
	uint64_t before = world->stats.sessions_refused;

	assert_int_equal(tapi_links_add(&world->links, link, 0), TAPI_ELIMIT);
	assert_int_equal(world->stats.sessions_refused, before + 1);
	assert_null(tapi_links_find(&world->links, link->key, link->key_length));
	free(link);
}

static void world_end(struct world *world)
{
	world->n_ended = 0;
	tapi_links_end_all(&world->links, TAPI_DOWN_STOPPED, NULL);
	assert_int_equal(world->links.count, 0);
	assert_null(world->links.by_key);
	assert_null(world->links.by_source);
	assert_int_equal(world->stats.sessions_opened + world->stats.sessions_accepted,
		world->stats.sessions_closed);
}

static void counts_references(void **state)
{
	struct world world;
	struct tapi_link *ours, *theirs;

	(void)state;
	world_init(&world);
	ours = link_add(&world, false, true, 1, 0);
	assert_int_equal(ours->references, 1);
	tapi_links_get(&world.links, ours);
	assert_false(tapi_links_put(&world.links, ours, 0));
	assert_true(tapi_links_put(&world.links, ours, 0)); // the last: the caller's now
	assert_int_equal(world.links.count, 0);
	free(ours);

	theirs = link_add(&world, true, true, 1, 0);
	assert_int_equal(theirs->references, 0);
	assert_false(tapi_links_put(&world.links, theirs, 0)); // one too many frees nothing
	tapi_links_get(&world.links, theirs);
	assert_int_equal(tapi_links_turn(&world.links, 1000 * S), UINT64_MAX); // held: never stale
	assert_false(tapi_links_put(&world.links, theirs, 1000 * S));
	assert_int_equal(tapi_links_turn(&world.links, 1059 * S), 1060 * S);
	assert_int_equal(world.n_ended, 0);
	assert_int_equal(tapi_links_turn(&world.links, 1060 * S), UINT64_MAX);
	assert_int_equal(world.n_ended, 1);
	assert_int_equal(world.ended[0].why, TAPI_DOWN_STALE);
	assert_int_equal(world.stats.sessions_stale, 1);
	world_end(&world);
}

static void traffic_keeps_from_getting_stale(void **state)
{
	struct world world;
	struct tapi_link *a, *b;
	struct tapi_session_info info;

	(void)state;
	world_init(&world);
	a = link_add(&world, true, true, 1, 0);
	b = link_add(&world, true, true, 2, 1 * S);
	tapi_links_received(&world.links, a, 100, 50 * S);
	tapi_links_sent(&world.links, a, 7, 51 * S);
	assert_int_equal(tapi_links_turn(&world.links, 61 * S), 111 * S);
	assert_int_equal(world.n_ended, 1);
	assert_ptr_equal(world.ended[0].session, &b->session);
	tapi_links_info(a, &info);
	assert_int_equal(info.received_msgs, 1);
	assert_int_equal(info.received_bytes, 100);
	assert_int_equal(info.sent_bytes, 7);
	assert_int_equal(info.last_received_us, 50 * S);
	assert_int_equal(info.last_sent_us, 51 * S);
	assert_true(info.inbound && info.up);
	assert_int_equal(world.stats.received_msgs, 1);
	assert_int_equal(world.stats.sent_bytes, 7);
	world_end(&world);
}

static void full_table_drops_the_least_used_unheld(void **state)
{
	struct world world;
	struct tapi_link *held, *a, *b;

	(void)state;
	world_init(&world);
	held = link_add(&world, true, true, 1, 0);
	tapi_links_get(&world.links, held);
	a = link_add(&world, true, true, 2, 1);
	b = link_add(&world, true, true, 3, 2);
	link_add(&world, false, true, 4, 3);
	tapi_links_received(&world.links, a, 1, 4); // b is the oldest now
	link_add(&world, true, true, 5, 5);
	assert_false(b->linked);
	assert_int_equal(world.n_ended, 0); // the core is reported where it may be reported
	tapi_links_turn(&world.links, 6);
	assert_int_equal(world.n_ended, 1);
	assert_ptr_equal(world.ended[0].session, &b->session);
	assert_int_equal(world.ended[0].why, TAPI_DOWN_LIMIT);
	assert_int_equal(world.stats.sessions_evicted, 1);

	link_add(&world, false, true, 6, 7); // in a's place
	link_add(&world, false, true, 7, 8);
	refuse(&world, false, true, 8); // all four are held
	refuse(&world, true, true, 8);
	assert_true(held->linked);
	world_end(&world);
}

// More than one makes room, where there are more than a reload leaves.
static void a_lower_limit_is_reached(void **state)
{
	struct world world;

	(void)state;
	world_init(&world);
	for (uint8_t i = 1; i <= 4; i++)
		link_add(&world, true, i > 2, i, i);
	world.links.limits.sessions = 2;
	link_add(&world, true, true, 5, 5);
	assert_int_equal(world.links.count, 2);
	world.links.limits = small;
	link_add(&world, true, false, 6, 6);
	link_add(&world, true, false, 7, 7);
	world.links.limits.half_open = 1;
	link_add(&world, true, false, 8, 8);
	assert_int_equal(world.links.n_opening, 1);
	world_end(&world);

	world_init(&world);
	link_add(&world, true, true, 1, 1);
	link_add(&world, true, true, 1, 2);
	world.links.limits.sessions_per_source = 1;
	link_add(&world, true, true, 1, 3);
	assert_int_equal(world.links.count, 1);
	assert_int_equal(world.stats.sessions_evicted, 2);
	world_end(&world);
}

static void one_source_has_its_share(void **state)
{
	struct world world;
	struct tapi_link *a, *b, *other, *next;

	(void)state;
	world_init(&world);
	other = link_add(&world, true, true, 9, 0); // older than all of the busy source
	a = link_add(&world, true, true, 1, 1);
	b = link_add(&world, true, true, 1, 2);
	tapi_links_sent(&world.links, a, 1, 3);
	next = link_add(&world, true, true, 1, 4); // its own least used goes, not the other's
	assert_false(b->linked);
	assert_true(a->linked && other->linked);
	tapi_links_get(&world.links, a);
	tapi_links_get(&world.links, next);
	refuse(&world, true, true, 1);
	link_add(&world, false, true, 1, 5); // our own connects are not of a source
	world_end(&world);
}

static void sources_are_counted_per_64(void **state)
{
	static const uint8_t addresses[][16] = {
		{0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 1}, // three of one /64
		{0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 2}, {0x20, 1, 0xd, 0xb8, 0, 0, 0, 1, 3},
		{0x20, 1, 0xd, 0xb8, 0, 0, 0, 2, 1}, {32, 1, 0xd, 0xb8}, // as IPv4: 32.1.13.184
	};
	struct world world;
	struct tapi_link *link[5];

	(void)state;
	world_init(&world);
	world.links.limits.sessions = 100;
	for (unsigned i = 0; i < 5; i++) {
		link[i] = link_make(&world, true, true, 0);
		link[i]->source.family = i == 4 ? 4 : 6;
		memcpy(link[i]->source.address, addresses[i], 16);
		assert_int_equal(tapi_links_add(&world.links, link[i], i), TAPI_OK);
	}
	assert_false(link[0]->linked);
	for (unsigned i = 1; i < 5; i++)
		assert_true(link[i]->linked);
	world_end(&world);
}

static void half_open_are_few_and_not_for_long(void **state)
{
	struct world world;
	struct tapi_link *ours, *theirs, *fresh;

	(void)state;
	world_init(&world);
	ours = link_add(&world, false, false, 1, 0);
	theirs = link_add(&world, true, false, 2, 1 * S);
	fresh = link_add(&world, true, false, 3, 2 * S); // takes the oldest that nobody holds
	assert_true(ours->linked && !theirs->linked && fresh->linked);
	tapi_links_up(&world.links, fresh, 3 * S);
	assert_int_equal(world.links.n_opening, 1);
	link_add(&world, false, false, 4, 4 * S);
	refuse(&world, false, false, 5);

	assert_int_equal(tapi_links_turn(&world.links, 9 * S), 10 * S);
	assert_int_equal(world.n_ended, 1);
	assert_int_equal(tapi_links_turn(&world.links, 10 * S), 14 * S);
	assert_int_equal(world.n_ended, 2);
	assert_ptr_equal(world.ended[1].session, &ours->session);
	assert_int_equal(world.ended[1].why, TAPI_DOWN_ERROR);           // reference and all
	assert_int_equal(tapi_links_turn(&world.links, 14 * S), 63 * S); // fresh, since it is up
	world_end(&world);
}

static bool keep_even(void *context, const struct tapi_link *link)
{
	(void)context;
	return link->source.address[3] % 2 == 0;
}

static void reload_ends_who_is_denied_now(void **state)
{
	struct world world;
	struct tapi_link *a, *b, *c, *d;

	(void)state;
	world_init(&world);
	a = link_add(&world, false, true, 1, 0);
	b = link_add(&world, true, true, 2, 0);
	c = link_add(&world, true, false, 3, 0);
	d = link_add(&world, false, false, 5, 0);
	world.put_in_end = d; // dropped by the core before it hears of it: no end() for that one
	tapi_links_end_all(&world.links, TAPI_DOWN_DENIED, keep_even);
	assert_int_equal(world.links.count, 1);
	assert_true(b->linked);
	assert_int_equal(world.n_ended, 2);
	assert_ptr_equal(world.ended[0].session, &a->session);
	assert_ptr_equal(world.ended[1].session, &c->session);
	assert_int_equal(world.ended[0].why, TAPI_DOWN_DENIED);
	world_end(&world);
}

// Random operations against a list of what has to be.

#define MANY  64
#define STEPS 200000u

struct model {
	struct world world;
	struct tapi_link *link[MANY]; // NULL: none
	unsigned references[MANY];
	bool told_gone[MANY]; // no longer linked
	uint64_t made, freed;
};

static void model_end(void *context, struct tapi_link *link, enum tapi_down why)
{
	struct model *model = context;

	for (unsigned i = 0; i < MANY; i++) {
		if (model->link[i] != link)
			continue;
		assert_int_equal(model->references[i], link->references);
		assert_true(why != TAPI_DOWN_STALE || link->references == 0);
		model->link[i] = NULL;
		model->freed++;
		free(link);
		return;
	}
	fail_msg("the end of a link that was freed before");
}

static uint32_t chance(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

static void model_check(const struct model *model)
{
	const struct tapi_links *links = &model->world.links;
	unsigned linked = 0, opening = 0, idle = 0, waiting = 0, seen = 0;
	const struct tapi_link *link, *last = NULL;

	for (unsigned i = 0; i < MANY; i++) {
		link = model->link[i];
		if (!link)
			continue;
		assert_int_equal(link->references, model->references[i]);
		assert_true(link->linked != link->ending);
		linked += link->linked;
		waiting += link->ending;
		opening += link->linked && !link->up;
		idle += link->linked && link->references == 0;
	}
	assert_int_equal(links->count, linked);
	assert_int_equal(links->n_opening, opening);
	assert_true(links->count <= links->limits.sessions);
	assert_true(links->n_opening <= links->limits.half_open);
	TAILQ_FOREACH (link, &links->idle, idle) {
		assert_true(!last || last->used_us <= link->used_us);
		last = link;
		seen++;
	}
	assert_int_equal(seen, idle);
	seen = 0;
	TAILQ_FOREACH (link, &links->ending, idle)
		seen++;
	assert_int_equal(seen, waiting);
	assert_int_equal(model->world.stats.sessions_opened + model->world.stats.sessions_accepted,
		links->count + model->world.stats.sessions_closed);
}

static void model_step(struct model *model, uint64_t *seed, uint64_t *now_us)
{
	struct tapi_links *links = &model->world.links;
	unsigned i = chance(seed, MANY), what = chance(seed, 100);
	struct tapi_link *link = model->link[i];

	*now_us += chance(seed, S);
	if (!link) {
		link = link_make(
			&model->world, chance(seed, 2), chance(seed, 2), (uint8_t)chance(seed, 12));
		model->made++;
		if (tapi_links_add(links, link, *now_us) != TAPI_OK) {
			model->freed++;
			free(link);
			return;
		}
		model->link[i] = link;
		model->references[i] = link->inbound ? 0 : 1;
	} else if (what < 40 && (link->references > 0 || chance(seed, 4) == 0)) {
		unsigned before = model->references[i];
		bool mine = tapi_links_put(links, link, *now_us);

		assert_int_equal(mine, before == 1 && !link->inbound);
		model->references[i] -= before > 0;
		if (mine) {
			model->link[i] = NULL;
			model->freed++;
			free(link);
		}
	} else if (what < 60 && link->linked) {
		tapi_links_get(links, link);
		model->references[i]++;
	} else if (what < 80) {
		tapi_links_received(links, link, 1, *now_us);
	} else if (what < 88) {
		tapi_links_up(links, link, *now_us);
	} else if (what < 92) {
		tapi_links_fail(links, link, TAPI_DOWN_CLOSED);
		assert_true(link->ending);
	} else if (what < 94) {
		tapi_links_remove(links, link);
		model->link[i] = NULL;
		model->freed++;
		free(link);
	} else if (what == 94 && chance(seed, 50) == 0) {
		tapi_links_fail_all(links, TAPI_DOWN_DENIED, chance(seed, 2) ? keep_even : NULL);
	} else {
		uint64_t next = tapi_links_turn(links, *now_us);

		assert_true(next > *now_us);
		assert_true(TAILQ_EMPTY(&links->ending));
	}
}

static void each_is_freed_exactly_once(void **state)
{
	static struct model model;
	uint64_t seed = 4711, now_us = 0;

	(void)state;
	world_init(&model.world);
	model.world.links.end = model_end;
	model.world.links.context = &model;
	model.world.links.limits = (struct tapi_link_limits){.sessions = 36,
		.sessions_per_source = 3,
		.half_open = 6,
		.stale_us = 12 * S,
		.connect_us = 10 * S};
	for (unsigned step = 0; step < STEPS; step++) {
		model_step(&model, &seed, &now_us);
		model_check(&model);
	}
	tapi_links_end_all(&model.world.links, TAPI_DOWN_STOPPED, NULL);
	model_check(&model);
	assert_int_equal(model.made, model.freed);
	assert_null(model.world.links.by_key);
	assert_null(model.world.links.by_source);
	// Every way out was taken.
	assert_true(model.world.stats.sessions_stale > 100);
	assert_true(model.world.stats.sessions_evicted > 100);
	assert_true(model.world.stats.sessions_refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_references),
		cmocka_unit_test(traffic_keeps_from_getting_stale),
		cmocka_unit_test(full_table_drops_the_least_used_unheld),
		cmocka_unit_test(a_lower_limit_is_reached),
		cmocka_unit_test(one_source_has_its_share),
		cmocka_unit_test(sources_are_counted_per_64),
		cmocka_unit_test(half_open_are_few_and_not_for_long),
		cmocka_unit_test(reload_ends_who_is_denied_now),
		cmocka_unit_test(each_is_freed_exactly_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
