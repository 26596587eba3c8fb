// SPDX-License-Identifier: BSD-3-Clause
// Sums, the ledger, and the shape of the statistics object.
#include "control/stats/sum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/control/fake_control.h"
#include "pipeline/limits.h"
#include "pipeline/vocab/tick.h"

static struct dataplane *three_lcores(void)
{
	struct dataplane *dp = fake_dataplane_new(3, false);

	for (unsigned i = 0; i < 3; i++) {
		struct stats *stats = &dp->lcores[i]->stats;

		stats->received_pkts = 100;
		stats->injected_pkts = 2;
		stats->sent_pkts = 90;
		stats->dropped_pkts[DROP_RULE] = 5;
		stats->dropped_pkts[DROP_TX_FULL] = i;
		stats->held_pkts = 7 - i;
		stats->flows_active = 10;
		stats->heartbeat_ns = 1000 - i;
	}
	return dp;
}

static void the_ledger_closes(void **state)
{
	struct dataplane *dp = three_lcores();
	struct ledger ledger;
	struct stats sum;

	(void)state;
	stats_sum(dp, &sum, &ledger);
	assert_int_equal(sum.received_pkts, 300);
	assert_int_equal(ledger.received, 300);
	assert_int_equal(ledger.injected, 6);
	assert_int_equal(ledger.sent, 270);
	assert_int_equal(ledger.dropped, 18);
	assert_int_equal(ledger.held, 18);
	assert_int_equal(ledger.unaccounted, 0);
	assert_int_equal(sum.flows_active, 30);
	assert_int_equal(sum.heartbeat_ns, 998); // the oldest heart, not a sum
	dp->lcores[1]->stats.sent_pkts += 4;
	stats_sum(dp, &sum, &ledger);
	assert_int_equal(ledger.unaccounted, -4);
	fake_dataplane_free(dp);
}

static json_int_t number(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("no number %s", key);
	return json_integer_value(value);
}

static void port_counters(void *ctx, struct port_counters *out)
{
	(void)ctx;
	*out = (struct port_counters){.rx_pkts = 11, .rx_nombuf = 3, .link_up = true};
}

static void the_object_names_everything(void **state)
{
	struct dataplane *dp = three_lcores();
	json_t *root, *dropped, *port;

	(void)state;
	dp->ports[0].counters = port_counters;
	root = stats_json(dp, 61 * NS_PER_S + 5);
	assert_non_null(root);
	assert_int_equal(number(root, "uptime_s"), 61);
	assert_int_equal(number(root, "received"), 300);
	assert_int_equal(number(root, "unaccounted"), 0);
	dropped = json_object_get(root, "dropped");
	assert_int_equal(json_object_size(dropped), DROP_REASONS_MAX);
	assert_int_equal(number(dropped, "rule"), 15);
	assert_int_equal(number(dropped, "tx_full"), 3);
	assert_int_equal(number(json_object_get(root, "counters"), "received_pkts"), 300);
	assert_int_equal(number(json_object_get(root, "counters"), "flows_active"), 30);
	assert_int_equal(json_array_size(json_object_get(root, "lcores")), 3);
	port = json_array_get(json_object_get(root, "ports"), 0);
	assert_string_equal(json_string_value(json_object_get(port, "name")), "lan");
	assert_string_equal(json_string_value(json_object_get(port, "peer")), "wan");
	assert_int_equal(number(port, "rx_nombuf"), 3);
	json_decref(root);
	fake_dataplane_free(dp);
}

static void what_the_standby_did_is_its_lcores(void **state)
{
	struct dataplane *dp = three_lcores();
	struct lcore *standby = aligned_alloc(64, sizeof *standby);
	struct ledger ledger;
	struct stats sum;
	json_t *root, *lcore;

	(void)state;
	assert_non_null(standby);
	memset(standby, 0, sizeof *standby);
	standby->stats.received_pkts = 50;
	standby->stats.sent_pkts = 47;
	standby->stats.dropped_pkts[DROP_ETHERTYPE] = 2;
	standby->stats.held_pkts = 1;
	standby->stats.bypassed_pkts = 47;
	standby->stats.heartbeat_ns = 5; // nobody reads it
	dp->standbys[1] = standby;
	stats_lcore(dp->lcores[1], &sum);
	assert_int_equal(sum.received_pkts, 150);
	assert_int_equal(sum.heartbeat_ns, dp->lcores[1]->stats.heartbeat_ns);
	stats_sum(dp, &sum, &ledger);
	assert_int_equal(sum.received_pkts, 350);
	assert_int_equal(sum.bypassed_pkts, 47);
	assert_int_equal(sum.heartbeat_ns, 998); // it has no heart
	assert_int_equal(ledger.unaccounted, 0);
	dp->bypassed = 2;
	root = stats_json(dp, 0);
	lcore = json_array_get(json_object_get(root, "lcores"), 1);
	assert_int_equal(number(lcore, "received"), 150);
	assert_int_equal(number(lcore, "unaccounted"), 0);
	assert_true(json_is_true(json_object_get(lcore, "bypassed")));
	lcore = json_array_get(json_object_get(root, "lcores"), 0);
	assert_int_equal(number(lcore, "received"), 100);
	assert_true(json_is_false(json_object_get(lcore, "bypassed")));
	json_decref(root);
	dp->standbys[1] = NULL;
	free(standby);
	fake_dataplane_free(dp);
}

static void latency_of_a_port_is_of_all_lcores(void **state)
{
	struct dataplane *dp = three_lcores();
	json_t *root, *latency, *bucket;
	struct histogram sum;

	(void)state;
	histogram_add(&dp->lcores[0]->latency[1], 1000, 98);
	histogram_add(&dp->lcores[2]->latency[1], 5000, 1);
	histogram_add(&dp->lcores[2]->latency[1], 9000000, 1);
	histogram_add(&dp->lcores[2]->latency[0], 1, 7);
	stats_latency(dp, 1, &sum);
	assert_int_equal(histogram_count(&sum), 100);
	root = stats_json(dp, 0);
	latency = json_object_get(json_array_get(json_object_get(root, "ports"), 1), "latency");
	assert_int_equal(number(latency, "count"), 100);
	assert_int_equal(number(latency, "sum_ns"), 9103000);
	assert_int_equal(number(latency, "p50_ns"), 1024);
	assert_int_equal(number(latency, "p90_ns"), 1024);
	assert_int_equal(number(latency, "p99_ns"), 5120);
	assert_int_equal(number(latency, "max_ns"), 9000000);
	assert_int_equal(json_array_size(json_object_get(latency, "buckets")), 3);
	bucket = json_array_get(json_object_get(latency, "buckets"), 0);
	assert_int_equal(json_integer_value(json_array_get(bucket, 0)), 1024);
	assert_int_equal(json_integer_value(json_array_get(bucket, 1)), 98);
	json_decref(root);
	fake_dataplane_free(dp);
}

static void pressure_is_that_of_the_fullest_lcore(void **state)
{
	struct dataplane *dp = three_lcores(); // of each 10 flows
	struct pressure out[PRESSURES_MAX];

	(void)state;
	static const struct lcore_limits limits = {.flows = 40};

	dp->limits = &limits;
	dp->lcores[0]->stats.flows_active = 0;
	dp->lcores[0]->stats.slab_blocks = 100;
	dp->lcores[0]->stats.slab_blocks_used = 91;
	dp->lcores[2]->stats.slab_blocks = 100;
	dp->lcores[2]->stats.slab_blocks_used = 2;
	dp->lcores[2]->stats.tcp_held_limit = 2;
	dp->lcores[2]->stats.tcp_held_active = 2;
	stats_pressure(dp, out);
	assert_int_equal(pressure_percent(&out[PRESSURE_FLOWS]), 25);
	assert_int_equal(out[PRESSURE_FLOWS].lcore, 1);
	assert_int_equal(pressure_percent(&out[PRESSURE_EMBRYOS]), 0);
	assert_int_equal(pressure_percent(&out[PRESSURE_MEMORY]), 91);
	assert_int_equal(out[PRESSURE_MEMORY].lcore, 0);
	assert_int_equal(pressure_percent(&out[PRESSURE_HELD]), 100);
	assert_int_equal(out[PRESSURE_HELD].lcore, 2);
	assert_int_equal(pressure_percent(&out[PRESSURE_TRACKED]), 0);
	fake_dataplane_free(dp);
}

static void the_eve_object_has_suricatas_groups(void **state)
{
	struct dataplane *dp = three_lcores();
	json_t *root, *ips, *tcp;
	struct stats *stats = &dp->lcores[1]->stats;

	(void)state;
	dp->ports[0].counters = port_counters;
	stats->slab_blocks = dp->lcores[0]->stats.slab_blocks = 4;
	stats->slab_blocks_used = 3;
	stats->tcp_memory_drops = 2;
	stats->tcp_half_limit_drops = 3;
	stats->tcp_held_limit_drops = 4;
	stats->tcp_not_tracked = 5;
	stats->tcp_conflict_pkts = 6;
	stats->tcp_overlap_pkts = 7;
	stats->tracked_active = 8;
	stats->tracked_limit = 16;
	stats->tcp_gaps = 9;
	stats->tcp_rewritten_pkts = 4;
	root = stats_eve_json(dp, NS_PER_S);
	assert_non_null(root);
	assert_int_equal(number(root, "uptime"), 1);
	assert_int_equal(number(json_object_get(root, "capture"), "rx_nombuf"), 3);
	assert_int_equal(number(json_object_get(root, "decoder"), "pkts"), 300);
	assert_int_equal(number(json_object_get(root, "flow"), "active"), 30);
	tcp = json_object_get(root, "tcp");
	assert_int_equal(number(tcp, "memuse"), 3 * 2048);
	assert_int_equal(number(tcp, "segment_memcap_drop"), 2 + 3 + 4);
	assert_int_equal(number(tcp, "ssn_memcap_drop"), 5);
	assert_int_equal(number(tcp, "overlap"), 7);
	assert_int_equal(number(tcp, "overlap_diff_data"), 6);
	assert_int_equal(number(tcp, "reassembly_gap"), 9);
	assert_int_equal(number(tcp, "active_sessions"), 8);
	assert_int_equal(number(json_object_get(root, "memcap"), "pressure"), 75);
	ips = json_object_get(root, "ips");
	assert_int_equal(number(ips, "replaced"), 4);
	assert_int_equal(number(ips, "accepted"), 264);
	assert_int_equal(number(ips, "blocked"), 18);
	assert_int_equal(number(json_object_get(ips, "drop_reason"), "rule"), 15);
	assert_int_equal(number(json_object_get(root, "sluice"), "sent"), 270);
	json_decref(root);
	fake_dataplane_free(dp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ledger_closes),
		cmocka_unit_test(the_object_names_everything),
		cmocka_unit_test(what_the_standby_did_is_its_lcores),
		cmocka_unit_test(latency_of_a_port_is_of_all_lcores),
		cmocka_unit_test(pressure_is_that_of_the_fullest_lcore),
		cmocka_unit_test(the_eve_object_has_suricatas_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
