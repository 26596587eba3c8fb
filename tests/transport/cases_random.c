// SPDX-License-Identifier: BSD-3-Clause
// Operations in random order, on three nodes and a clock that jumps: the rig asserts the contract
// at each step; at the end all is closed, and every counter agrees. SEED=n STEPS=n repeat a run.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rows.h"

#define STEPS 6000

static const struct row_wish *narrow(void)
{
	static struct row_wish wish = {
		.chaos = "\"drop_ppm\": 50000, \"duplicate_ppm\": 50000, "
			 "\"reorder_ppm\": 100000, \"jitter_ms\": 20",
	};

	if (row_has(ROW_RAW_SOCKET)) // session-less: none comes in
		wish.extra = "\"max_sessions\": 12";
	else if (row_has(ROW_ACL)) // others have no sources to count by
		wish.extra = "\"max_sessions\": 12, \"stale_s\": 30, \"max_per_source\": 5";
	else if (row_has(ROW_SILENT))
		wish.extra = "\"max_sessions\": 12";
	else
		wish.extra = "\"max_sessions\": 12, \"stale_s\": 30";
	return &wish;
}

// One of those that live; NULL: none does.
static struct rig_session *any_session(struct rig *rig, struct rig_node *node)
{
	struct rig_session *session, *chosen = NULL;
	unsigned n = 0;

	LIST_FOREACH (session, &node->sessions, next)
		if (session->session && rig_random(rig) % ++n == 0)
			chosen = session;
	return chosen;
}

static void act(struct rig *rig, struct rig_node *node, const struct tapi_helo *helos)
{
	struct rig_session *session = any_session(rig, node);
	unsigned what = (unsigned)(rig_random(rig) % 1000);
	uint32_t serial = (uint32_t)rig_random(rig);
	uint64_t size = rig_random(rig);
	enum tapi_result result;

	if (what < 120) { // to another
		result = rig_connect(node, &helos[rig_random(rig) % RIG_NODES], &session);
		assert_true(result == TAPI_OK || result == TAPI_ELIMIT || result == TAPI_ENOADDR ||
			    result == TAPI_ESYS);
	} else if (what < 200 && session) {
		result = rig_associate(session);
		assert_true(result == TAPI_OK || result == TAPI_EDOWN || result == TAPI_EUNIDIR);
	} else if (what < 400 && session) {
		rig_disconnect(session);
	} else if (what < 850 && session) {
		result = rig_send(session, serial,
			(uint32_t)(1 + size % (what < 800 ? 2000 % row->mtu : row->mtu)));
		assert_true(result == TAPI_OK || result == TAPI_DROPPED || result == TAPI_EDOWN ||
			    result == TAPI_ESYS || result == TAPI_ETOOBIG);
	} else if (what < 930) {
		rig_turn(node);
	} else if (what < 960) {
		rig_pump(rig, 0);
	} else if (what < 980) {
		rig->ahead_us += size % 20000000;
	} else if (what < 990) {
		assert_int_equal(
			rig_reload(node, row_conf((unsigned)(node - rig->nodes), narrow())),
			TAPI_OK);
	} else if (what < 993) {
		rig_stop(node);
		assert_int_equal(rig_start(node), TAPI_OK);
	}
}

static void closes(struct rig_node *node)
{
	const struct tapi_transport_stats *stats;

	rig_stop(node);
	assert_true(LIST_EMPTY(&node->sessions));
	stats = rig_stats(node);
	// What a stream kept until it stands is taken, and dropped if it never does.
	assert_true(stats->sent_msgs <= node->taken && stats->sent_bytes <= node->given_bytes);
	if (!row_is(TAPI_STREAM)) {
		assert_int_equal(stats->sent_msgs, node->taken);
		assert_int_equal(stats->sent_bytes, node->given_bytes);
	}
	assert_int_equal(stats->sent_msgs + stats->dropped_block + stats->dropped_rate +
				 stats->dropped_down + stats->dropped_too_big +
				 stats->dropped_error,
		node->given);
	assert_int_equal(stats->received_msgs, node->n_arrivals);
	assert_int_equal(stats->sessions_opened + stats->sessions_accepted, stats->sessions_closed);
	assert_int_equal(stats->bad_frame, 0);
	assert_true(stats->bad_source <= stats->sessions_refused); // no room for the sender
}

static void any_order(void **state)
{
	const char *wanted = getenv("SEED"), *steps = getenv("STEPS");
	uint64_t seed = wanted ? strtoull(wanted, NULL, 0) : 20030918;
	unsigned long n = steps ? strtoul(steps, NULL, 0) : STEPS;
	struct tapi_helo helos[RIG_NODES];
	uint64_t sent = 0, received = 0;
	struct rig rig;

	(void)state;
	printf("seed %llu, %lu steps\n", (unsigned long long)seed, n);
	rig_init(&rig, seed);
	rig.thin = true;
	for (unsigned i = 0; i < RIG_NODES; i++)
		row_node(&rig, i, narrow());
	for (unsigned i = 0; i < RIG_NODES; i++)
		helos[i] = row_helo(&rig.nodes[0], &rig.nodes[i]);
	for (unsigned long i = 0; i < n; i++)
		act(&rig, &rig.nodes[rig_random(&rig) % RIG_NODES], helos);
	rig_pump(&rig, 50);
	for (unsigned i = 0; i < RIG_NODES; i++) {
		const struct tapi_transport_stats *stats;

		closes(&rig.nodes[i]);
		stats = rig_stats(&rig.nodes[i]);
		sent += stats->sent_msgs + stats->fault_doubled - stats->fault_dropped -
			stats->fault_refused;
		received += stats->received_msgs;
	}
	assert_true(received <= sent);
	if (row_has(ROW_SILENT))
		assert_int_equal(received, 0);
	else
		assert_true(received > sent / 20);
	rig_end(&rig);
}

int cases_random(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
