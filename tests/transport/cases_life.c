// SPDX-License-Identifier: BSD-3-Clause
// The life of a session (TA13): references, what gets stale and what does not, each end reported
// once.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

#define STALE_US 60000000u // default of stale_s

static unsigned references(struct rig_session *session)
{
	struct tapi_session_info info;

	rig_info(session, &info);
	assert_int_equal(info.inbound, session->inbound);
	return info.references;
}

static void passes(struct rig *rig, uint64_t us)
{
	rig->ahead_us += us;
	for (unsigned i = 0; i < RIG_NODES; i++)
		if (rig->nodes[i].api)
			rig_turn(&rig->nodes[i]);
}

static void outbound_counts(void **state)
{
	struct row_pair pair;
	struct tapi_session_info info;
	const struct tapi_transport_stats *stats;

	(void)state;
	row_pair_begin(&pair);
	stats = rig_stats(pair.b);
	assert_int_equal(stats->sessions_opened, 1);
	assert_int_equal(references(pair.out), 1);
	assert_int_equal(rig_send(pair.out, 1, 100), TAPI_OK);
	rig_pump(&pair.rig, 5);
	rig_info(pair.out, &info);
	assert_ptr_equal(strstr(info.remote, row->scheme), info.remote);
	assert_int_equal(info.sent_msgs, 1);
	assert_int_equal(info.sent_bytes, 100);
	assert_true(info.up);
	assert_true(info.opened_us <= info.last_sent_us && info.opened_us > 0);
	if (!row_is(TAPI_SESSIONLESS)) {
		assert_int_equal(rig_associate(pair.out), TAPI_OK);
		assert_int_equal(references(pair.out), 2);
		assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
		assert_int_equal(references(pair.out), 1);
	}
	// One that is held does not get stale: the core watches it.
	passes(&pair.rig, 3 * (uint64_t)STALE_US);
	assert_non_null(pair.out->session);
	assert_false(pair.out->down);
	stats = rig_stats(pair.b);
	assert_int_equal(stats->sessions_closed, 0);
	assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
	assert_null(pair.out->session);
	stats = rig_stats(pair.b);
	assert_int_equal(stats->sessions_closed, 1);
	rig_pump(&pair.rig, 20);
	assert_int_equal(pair.b->n_downs, 0); // the core knew
	row_pair_end(&pair);
}

static void two_connects_are_two_references(void **state)
{
	struct row_pair pair;
	struct rig_session *second;
	struct tapi_helo helo;

	(void)state;
	row_pair_begin(&pair);
	helo = row_helo(pair.b, pair.a);
	assert_int_equal(rig_connect(pair.b, &helo, &second), TAPI_OK);
	assert_int_equal(rig_send(pair.out, 1, 10), TAPI_OK);
	assert_int_equal(rig_send(second, 2, 10), TAPI_OK);
	if (!row_has(ROW_SILENT)) // what waits for a session to stand ends with it
		assert_true(rig_until_arrivals(pair.a, 2));
	assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
	assert_int_equal(rig_send(second, 3, 10), TAPI_OK); // it stands on its own
	if (!row_has(ROW_SILENT))
		assert_true(rig_until_arrivals(pair.a, 3));
	assert_int_equal(rig_disconnect(second), TAPI_OK);
	rig_pump(&pair.rig, 20);
	assert_int_equal(pair.b->n_downs, 0);
	row_pair_end(&pair);
}

static bool is_bidirectional(void)
{
	return row_is(TAPI_BIDIRECTIONAL) && !row_has(ROW_SILENT);
}

static void inbound_is_answered(void **state)
{
	struct row_pair pair;
	struct rig_session *in;
	struct tapi_session_info info;

	(void)state;
	if (!is_bidirectional())
		skip();
	row_pair_begin(&pair);
	in = row_pair_meet(&pair);
	assert_int_equal(references(in), 0);
	assert_memory_equal(&in->sender, &pair.b->id, sizeof(pair.b->id));
	rig_info(in, &info);
	assert_int_equal(info.received_msgs, 1);
	assert_int_equal(info.received_bytes, 100);
	assert_true(info.last_received_us >= info.opened_us);
	assert_int_equal(rig_associate(in), TAPI_OK);
	assert_int_equal(rig_associate(in), TAPI_OK);
	assert_int_equal(references(in), 2);
	assert_int_equal(rig_send(in, 77, 200), TAPI_OK);
	assert_true(rig_until_arrivals(pair.b, 1));
	assert_non_null(rig_arrival(pair.b, 77));
	// It came by the session that b has: an answer opens no second one.
	assert_ptr_equal(rig_arrival(pair.b, 77)->session, pair.out);
	assert_memory_equal(&rig_arrival(pair.b, 77)->sender, &pair.a->id, sizeof(pair.a->id));
	assert_int_equal(rig_stats(pair.b)->sessions_accepted, 0);
	assert_int_equal(rig_disconnect(in), TAPI_OK);
	assert_int_equal(rig_disconnect(in), TAPI_OK);
	assert_int_equal(references(in), 0);
	rig_disconnect(in); // nothing is held: the rig asserts that it is refused
	assert_int_equal(references(in), 0);
	rig_pump(&pair.rig, 20);
	assert_false(in->down); // it gets stale, it is not closed
	row_pair_end(&pair);
}

static void inbound_gets_stale(void **state)
{
	struct row_pair pair;
	struct rig_session *in;
	const struct tapi_transport_stats *stats;

	(void)state;
	if (!is_bidirectional())
		skip();
	row_pair_begin(&pair);
	in = row_pair_meet(&pair);
	passes(&pair.rig, STALE_US - 5000000);
	assert_false(in->down);
	// What comes in keeps it.
	assert_int_equal(rig_send(pair.out, 2, 100), TAPI_OK);
	assert_true(rig_until_arrivals(pair.a, 2));
	passes(&pair.rig, STALE_US - 5000000);
	assert_false(in->down);
	assert_true(pair.a->wish <= rig_now(&pair.rig) + STALE_US);
	passes(&pair.rig, 6000000);
	assert_true(in->down);
	assert_int_equal(in->why, TAPI_DOWN_STALE);
	assert_int_equal(pair.a->n_downs, 1);
	stats = rig_stats(pair.a);
	assert_int_equal(stats->sessions_stale, 1);
	assert_int_equal(stats->sessions_closed, 1);
	row_pair_end(&pair);
}

static void inbound_held_stays(void **state)
{
	struct row_pair pair;
	struct rig_session *in;

	(void)state;
	if (!is_bidirectional())
		skip();
	row_pair_begin(&pair);
	in = row_pair_meet(&pair);
	assert_int_equal(rig_associate(in), TAPI_OK);
	passes(&pair.rig, 10 * (uint64_t)STALE_US);
	assert_false(in->down);
	assert_int_equal(rig_send(in, 5, 100), TAPI_OK);
	assert_true(rig_until_arrivals(pair.b, 1));
	// Given up, it has the whole time again.
	assert_int_equal(rig_disconnect(in), TAPI_OK);
	passes(&pair.rig, STALE_US - 5000000);
	assert_false(in->down);
	passes(&pair.rig, 6000000);
	assert_true(in->down);
	assert_int_equal(in->why, TAPI_DOWN_STALE);
	row_pair_end(&pair);
}

// The other end goes: a stream tells it, datagrams do not.
static void other_end_goes(void **state)
{
	struct row_pair pair;
	struct rig_session *in;

	(void)state;
	if (!is_bidirectional())
		skip();
	row_pair_begin(&pair);
	in = row_pair_meet(&pair);
	assert_int_equal(rig_associate(in), TAPI_OK);
	assert_int_equal(rig_send(pair.out, 2, row->mtu), TAPI_OK);
	assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
	// What was taken is the medium's: it still comes.
	assert_true(rig_until_arrivals(pair.a, 2));
	if (row_is(TAPI_STREAM)) {
		assert_true(rig_until_down(in));
		assert_int_equal(in->why, TAPI_DOWN_CLOSED);
	} else {
		rig_pump(&pair.rig, 20);
		assert_false(in->down);
	}
	row_pair_end(&pair);
}

// A connect that nobody answers: a stream's ends by session_down, never inside connect.
static void nobody_there(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo;
	enum tapi_result result;

	(void)state;
	if (row_has(ROW_SILENT))
		skip();
	row_pair_begin(&pair);
	helo = row_helo(pair.b, pair.a);
	assert_int_equal(rig_disconnect(pair.out), TAPI_OK);
	rig_stop(pair.a);
	result = rig_connect(pair.b, &helo, &pair.out);
	if (result == TAPI_OK) {
		rig_send(pair.out, 1, 100);
		if (row_is(TAPI_STREAM)) {
			assert_true(rig_until_down(pair.out));
			assert_int_equal(pair.out->why, TAPI_DOWN_ERROR);
		} else { // datagrams go nowhere, and that is all
			for (unsigned i = 0; i < 20; i++) {
				rig_send(pair.out, i, 100);
				rig_pump(&pair.rig, 1);
			}
			assert_false(pair.out->down);
		}
	} else { // a medium that knows at once
		assert_true(result == TAPI_ENOADDR || result == TAPI_ESYS || result == TAPI_EDOWN);
	}
	row_pair_end(&pair);
}

// The core has the other end's session and one of its own: A may answer on another (TA14).
static void crossing_sessions(void **state)
{
	struct row_pair pair;
	struct rig_session *in, *back;
	struct tapi_helo helo;

	(void)state;
	if (!is_bidirectional())
		skip();
	row_pair_begin(&pair);
	in = row_pair_meet(&pair);
	helo = row_helo(pair.a, pair.b);
	assert_int_equal(rig_connect(pair.a, &helo, &back), TAPI_OK);
	for (uint32_t i = 10; i < 20; i++) {
		assert_int_equal(rig_send(back, i, 300), TAPI_OK);
		assert_int_equal(rig_send(pair.out, i, 300), TAPI_OK);
	}
	assert_true(rig_until_arrivals(pair.b, 10));
	assert_true(rig_until_arrivals(pair.a, 11));
	assert_int_equal(rig_disconnect(back), TAPI_OK);
	if (in->session)
		assert_int_equal(rig_send(pair.out, 99, 300), TAPI_OK);
	assert_true(rig_until_arrivals(pair.a, 12));
	row_pair_end(&pair);
}

static void stop_tells_each(void **state)
{
	struct row_pair pair;
	struct rig_session *in;

	(void)state;
	row_pair_begin(&pair);
	if (is_bidirectional()) {
		in = row_pair_meet(&pair);
		rig_stop(pair.a);
		assert_true(in->down);
		assert_int_equal(in->why, TAPI_DOWN_STOPPED);
		assert_int_equal(pair.a->n_downs, 1);
	}
	rig_stop(pair.b);
	assert_true(pair.out->down);
	row_pair_end(&pair);
}

int cases_life(void)
{
	const struct CMUnitTest tests[] = {
		CASE(outbound_counts),
		CASE(two_connects_are_two_references),
		CASE(inbound_is_answered),
		CASE(inbound_gets_stale),
		CASE(inbound_held_stays),
		CASE(other_end_goes),
		CASE(nobody_there),
		CASE(crossing_sessions),
		CASE(stop_tells_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
