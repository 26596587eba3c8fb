// SPDX-License-Identifier: BSD-3-Clause
// Limits of sessions: who goes when there is no room, and what is counted.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

// Sessions that are held are not thrown out for another: the new one is refused.
static void connects_are_limited(void **state)
{
	struct row_pair pair;
	struct rig_session *second;
	struct tapi_helo helo;

	(void)state;
	row_pair_begin_as(&pair, NULL, &(struct row_wish){.extra = "\"max_sessions\": 1"});
	helo = row_helo(pair.b, pair.a);
	assert_int_equal(rig_connect(pair.b, &helo, &second), TAPI_ELIMIT);
	assert_int_equal(rig_stats(pair.b)->sessions_refused, 1);
	assert_int_equal(rig_send(pair.out, 1, 10), TAPI_OK);
	assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
	assert_int_equal(rig_connect(pair.b, &helo, &second), TAPI_OK);
	row_pair_end(&pair);
}

static bool takes_sessions(void)
{
	return row_is(TAPI_BIDIRECTIONAL) && !row_has(ROW_SILENT);
}

struct crowd { // a has room for one; b came first, c comes
	struct row_pair pair;
	struct rig_node *c;
	struct rig_session *first, *late;
};

static void crowd_begin(struct crowd *crowd)
{
	struct tapi_helo helo;

	row_pair_begin_as(&crowd->pair, &(struct row_wish){.extra = "\"max_sessions\": 1"}, NULL);
	crowd->first = row_pair_meet(&crowd->pair);
	crowd->c = row_node(&crowd->pair.rig, 2, NULL);
	helo = row_helo(crowd->c, crowd->pair.a);
	assert_int_equal(rig_connect(crowd->c, &helo, &crowd->late), TAPI_OK);
}

static void idle_ones_make_room(void **state)
{
	struct crowd crowd;
	const struct tapi_transport_stats *stats;

	(void)state;
	if (!takes_sessions())
		skip();
	crowd_begin(&crowd);
	assert_int_equal(rig_send(crowd.late, 7, 100), TAPI_OK);
	assert_true(rig_until_arrivals(crowd.pair.a, 2));
	assert_true(rig_until_down(crowd.first));
	assert_int_equal(crowd.first->why, TAPI_DOWN_LIMIT);
	stats = rig_stats(crowd.pair.a);
	assert_int_equal(stats->sessions_evicted, 1);
	assert_int_equal(stats->sessions_accepted, 2);
	assert_memory_equal(&rig_inbound(crowd.pair.a)->sender, &crowd.c->id, sizeof(crowd.c->id));
	row_pair_end(&crowd.pair);
}

static bool has_refused(void *context)
{
	return rig_stats(context)->sessions_refused > 0;
}

static void held_ones_do_not(void **state)
{
	struct crowd crowd;

	(void)state;
	if (!takes_sessions())
		skip();
	crowd_begin(&crowd);
	assert_int_equal(rig_associate(crowd.first), TAPI_OK);
	rig_send(crowd.late, 7, 100);
	assert_true(rig_until(&crowd.pair.rig, has_refused, crowd.pair.a));
	rig_pump(&crowd.pair.rig, 20);
	assert_false(crowd.first->down);
	assert_null(rig_arrival(crowd.pair.a, 7));
	// The one that is there goes on.
	assert_int_equal(rig_send(crowd.pair.out, 8, 100), TAPI_OK);
	assert_true(rig_until_arrivals(crowd.pair.a, 2));
	assert_non_null(rig_arrival(crowd.pair.a, 8));
	row_pair_end(&crowd.pair);
}

// An eviction inside connect waits for turn; until then the session is there, and good for nothing.
static void evicted_is_told_by_turn(void **state)
{
	struct row_pair pair;
	struct rig_session *in, *back;
	struct tapi_helo helo;

	(void)state;
	if (!takes_sessions())
		skip();
	row_pair_begin_as(&pair, &(struct row_wish){.extra = "\"max_sessions\": 1"}, NULL);
	in = row_pair_meet(&pair);
	helo = row_helo(pair.a, pair.b);
	assert_int_equal(rig_connect(pair.a, &helo, &back), TAPI_OK);
	assert_false(in->down);
	assert_int_equal(rig_associate(in), TAPI_EDOWN);
	assert_int_equal(rig_send(in, 5, 100), TAPI_EDOWN);
	assert_int_equal(rig_stats(pair.a)->dropped_down, 1);
	rig_turn(pair.a);
	assert_true(in->down);
	assert_int_equal(in->why, TAPI_DOWN_LIMIT);
	assert_int_equal(rig_stats(pair.a)->sessions_evicted, 1);
	assert_false(back->down);
	row_pair_end(&pair);
}

int cases_limits(void)
{
	const struct CMUnitTest tests[] = {
		CASE(connects_are_limited),
		CASE(idle_ones_make_room),
		CASE(held_ones_do_not),
		CASE(evicted_is_told_by_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
