// SPDX-License-Identifier: BSD-3-Clause
// The pool of heads in parts: who gets a place when all are taken, and at whose cost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "classify/app_proto.h"
#include "pipeline/vocab/hash_seed.h"
#include "classify/names/heads.h"

#define PLACES   32
#define NS_PER_S UINT64_C(1000000000)

static struct rig {
	struct name_heads *heads;
	struct names_follow flows[4 * PLACES];
	unsigned n;
	uint64_t now_ns;
} rig;

static void begin(void)
{
	memset(&rig, 0, sizeof(rig));
	rig.heads = name_heads_new(PLACES, &HASH_SEED_FIXED);
	rig.now_ns = 1000 * NS_PER_S;
	assert_non_null(rig.heads);
}

static void end(void)
{
	for (unsigned i = 0; i < rig.n; i++)
		names_follow_end(rig.heads, &rig.flows[i]);
	assert_int_equal(name_heads_left(rig.heads), PLACES);
	name_heads_free(rig.heads);
}

enum who { INSIDE, OUTSIDE, UNHEARD };

// A flow of the source 10.0.0.`host` that wants a place; NULL: it got none.
static struct names_follow *want(enum who who, uint8_t host)
{
	const struct flow_ends ends = {.address = {{[10] = 0xff, [11] = 0xff, 10, 0, 0, host}}};
	const struct name_user user = {.ends = &ends,
		.now_ns = rig.now_ns,
		.unheard = who == UNHEARD,
		.inside = who != OUTSIDE};
	struct names_follow *flow = &rig.flows[rig.n++];

	assert_true(rig.n <= 4 * PLACES);
	flow->phase = NAMES_HEAD;
	flow->head = name_head_acquire(rig.heads, flow, &user);
	flow->kept = flow->head ? 1 : 0;
	return flow->head ? flow : NULL;
}

static unsigned wants(enum who who, uint8_t first, unsigned n, unsigned hosts)
{
	unsigned got = 0;

	for (unsigned i = 0; i < n; i++)
		got += want(who, (uint8_t)(first + i % hosts)) != NULL;
	return got;
}

static bool has_lost(const struct names_follow *flow)
{
	if (flow->phase != NAMES_DISPLACED)
		return false;
	assert_int_equal(flow->head, 0);
	assert_int_equal(flow->kept, 0);
	return true;
}

static void one_source_starves_no_other(void **state)
{
	struct names_follow *first;
	(void)state;

	begin();
	assert_int_equal(wants(INSIDE, 66, PLACES, 1), PLACES);
	first = &rig.flows[0];
	assert_null(want(INSIDE, 66)); // at its own cost alone
	assert_int_equal(name_heads_displaced(rig.heads), 0);
	assert_non_null(want(INSIDE, 2));
	assert_true(has_lost(first));
	assert_non_null(want(OUTSIDE, 7));
	// until both have as many
	assert_int_equal(wants(INSIDE, 2, PLACES, 1), PLACES / 2 - 2);
	end();
}

static void nor_do_many(void **state)
{
	(void)state;
	begin();
	assert_int_equal(wants(INSIDE, 100, PLACES, 8), PLACES);
	assert_int_equal(wants(INSIDE, 1, 3, 3), 3);
	assert_int_equal(name_heads_displaced(rig.heads), 3);
	end();
}

static void what_rests_makes_way(void **state)
{
	struct names_follow *first, *second;
	(void)state;

	begin();
	assert_int_equal(wants(INSIDE, 1, PLACES, PLACES), PLACES); // one each
	first = &rig.flows[0];
	second = &rig.flows[1];
	rig.now_ns += (NAME_HEAD_REST_S - 1) * NS_PER_S;
	assert_null(want(INSIDE, 200));
	rig.now_ns += 1 * NS_PER_S;
	assert_non_null(want(INSIDE, 200));
	assert_true(has_lost(first));
	assert_false(has_lost(second));
	end();
}

static void what_is_not_heard_makes_way_at_once(void **state)
{
	(void)state;
	begin();
	assert_int_equal(wants(UNHEARD, 1, PLACES, PLACES), PLACES / 2);
	rig.now_ns += NAME_HEAD_REST_S * NS_PER_S;
	assert_non_null(want(UNHEARD, 1)); // for another such
	assert_int_equal(name_heads_left(rig.heads), PLACES / 2);
	assert_int_equal(name_heads_displaced(rig.heads), 1);
	assert_int_equal(wants(INSIDE, 50, PLACES / 2, PLACES), PLACES / 2);
	assert_int_equal(name_heads_displaced(rig.heads), 1);
	assert_int_equal(wants(INSIDE, 50, PLACES / 2, 1), PLACES / 2);
	assert_int_equal(name_heads_displaced(rig.heads), 1 + PLACES / 2);
	end();
}

static void and_displaces_nothing_else(void **state)
{
	(void)state;
	begin();
	assert_int_equal(wants(INSIDE, 66, PLACES, 1), PLACES);
	rig.now_ns += 100 * NS_PER_S;
	assert_null(want(UNHEARD, 1));
	assert_int_equal(name_heads_displaced(rig.heads), 0);
	end();
}

// Of any number of addresses.
static void half_is_for_who_begins_inside(void **state)
{
	(void)state;
	begin();
	assert_int_equal(wants(OUTSIDE, 1, PLACES, PLACES), PLACES / 2);
	assert_int_equal(name_heads_left(rig.heads), PLACES / 2);
	rig.now_ns += NAME_HEAD_REST_S * NS_PER_S;
	assert_non_null(want(OUTSIDE, 200)); // in place of another such
	assert_int_equal(wants(INSIDE, 66, PLACES / 2, PLACES), PLACES / 2);
	assert_int_equal(name_heads_displaced(rig.heads), 1);
	end();
}

// A source's IPv6 addresses are one.
static void a_slash_64_is_one_source(void **state)
{
	struct flow_ends ends = {.address = {{0x20, 1, 0xd, 0xb8}}};
	const struct name_user user = {.ends = &ends, .now_ns = 1, .inside = true};
	(void)state;

	begin();
	for (unsigned i = 0; i <= PLACES; i++) {
		struct names_follow *flow = &rig.flows[rig.n++];

		ends.address[0][15] = (uint8_t)i;
		flow->head = name_head_acquire(rig.heads, flow, &user);
		assert_int_equal(!flow->head, i == PLACES);
	}
	ends.address[0][7] = 1;
	rig.flows[rig.n].head = name_head_acquire(rig.heads, &rig.flows[rig.n], &user);
	assert_int_not_equal(rig.flows[rig.n++].head, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_source_starves_no_other),
		cmocka_unit_test(nor_do_many),
		cmocka_unit_test(what_rests_makes_way),
		cmocka_unit_test(what_is_not_heard_makes_way_at_once),
		cmocka_unit_test(and_displaces_nothing_else),
		cmocka_unit_test(half_is_for_who_begins_inside),
		cmocka_unit_test(a_slash_64_is_one_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
