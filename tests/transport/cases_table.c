// SPDX-License-Identifier: BSD-3-Clause
// The table's fields (TA2), and starting and stopping (TA4).
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

static void fields(void **state)
{
	struct rig rig;
	struct rig_node *a;

	(void)state;
	rig_init(&rig, 1);
	a = rig_load(&rig, 0, row->transport, row_has(ROW_OBJECT) ? MODULE_DIRECTORY : NULL,
		row_has(ROW_OBJECT), row_conf(0, NULL));
	assert_int_equal(a->api->version, TAPI_VERSION);
	assert_string_equal(a->api->name, row->transport);
	assert_int_equal(a->api->protocol, row->protocol);
	assert_int_equal(a->api->mtu, row->mtu);
	assert_int_equal(a->api->cost, row->cost);
	assert_int_equal(a->api->flags, row->flags);
	assert_int_equal(row_has(ROW_OBJECT), a->loaded.object != NULL);
	rig_end(&rig);
}

// Another instance of the same process has a state of its own, and a table of its own.
static void instances_are_apart(void **state)
{
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	assert_ptr_not_equal(pair.a->api, pair.b->api);
	assert_ptr_not_equal(rig_stats(pair.a), rig_stats(pair.b));
	assert_int_equal(rig_send(pair.out, 1, 10), TAPI_OK);
	rig_pump(&pair.rig, 10); // it may have waited for the session to stand
	assert_int_equal(rig_stats(pair.b)->sent_msgs, 1);
	assert_int_equal(rig_stats(pair.a)->sent_msgs, 0);
	row_pair_end(&pair);
}

static void starts_and_stops(void **state)
{
	struct row_pair pair;
	struct tapi_helo helo;
	struct rig_session *late;

	(void)state;
	row_pair_begin(&pair);
	for (unsigned round = 1; round <= 3; round++) {
		unsigned before = pair.a->n_arrivals;

		if (!row_has(ROW_SILENT)) {
			assert_int_equal(rig_send(pair.out, round, 100), TAPI_OK);
			assert_true(rig_until_arrivals(pair.a, before + 1));
		}
		// What is on its way when it stops does not come any more; the rig asserts it.
		for (unsigned i = 0; i < 50; i++)
			rig_send(pair.out, 1000 + i, 100);
		before = pair.a->n_arrivals;
		rig_stop(pair.a);
		rig_stop(pair.a); // twice is as once
		rig_pump(&pair.rig, 5);
		assert_int_equal(pair.a->n_arrivals, before);
		// The session of the other end may have died by it, or not know yet.
		rig_stop(pair.b);
		assert_null(pair.out->session);
		assert_true(pair.out->down);
		assert_int_equal(rig_start(pair.a), TAPI_OK); // the address is free again
		helo = row_helo(pair.b, pair.a);
		assert_int_not_equal(rig_connect(pair.b, &helo, &late), TAPI_OK); // b stands
		assert_int_equal(rig_start(pair.b), TAPI_OK);
		assert_int_equal(rig_connect(pair.b, &helo, &pair.out), TAPI_OK);
	}
	row_pair_end(&pair);
}

// A bound address is one instance's; when that one stops, another has it at once.
static void address_is_free_after_stop(void **state)
{
	struct rig rig;
	struct rig_node *a, *second;

	(void)state;
	if (!row_has(ROW_EXCLUSIVE))
		skip();
	rig_init(&rig, 1);
	a = row_node(&rig, 0, NULL);
	second = rig_load(&rig, 2, row->transport, row_has(ROW_OBJECT) ? MODULE_DIRECTORY : NULL,
		row_has(ROW_OBJECT), row_conf(0, NULL)); // the same address
	rig.log[0] = 0;
	assert_int_equal(rig_start(second), TAPI_ESYS);
	assert_true(rig.log[0] != 0); // it is reported
	rig_stop(a);
	assert_int_equal(rig_start(second), TAPI_OK);
	rig_stop(second);
	assert_int_equal(rig_start(a), TAPI_OK);
	rig_end(&rig);
}

static void what_was_never_started_can_go(void **state)
{
	struct rig rig;

	(void)state;
	rig_init(&rig, 1);
	rig_load(&rig, 0, row->transport, row_has(ROW_OBJECT) ? MODULE_DIRECTORY : NULL,
		row_has(ROW_OBJECT), row_conf(0, NULL));
	rig_turn(&rig.nodes[0]);
	rig_end(&rig);
}

// donetransport_NAME of one that runs stops it.
static void done_stops(void **state)
{
	struct row_pair pair;

	(void)state;
	row_pair_begin(&pair);
	rig_send(pair.out, 1, 10);
	tapi_transport_unload(&pair.b->loaded);
	assert_true(pair.out->down);
	pair.b->api = NULL;
	row_pair_end(&pair);
}

int cases_table(void)
{
	const struct CMUnitTest tests[] = {
		CASE(fields),
		CASE(instances_are_apart),
		CASE(starts_and_stops),
		CASE(address_is_free_after_stop),
		CASE(what_was_never_started_can_go),
		CASE(done_stops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
