// SPDX-License-Identifier: BSD-3-Clause
// The text of metrics, byte for byte, in both formats.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "control/http/metrics_text.h"

static void put_all(struct metrics *m)
{
	char labels[METRICS_LABELS_MAX] = "";

	assert_true(metrics_label(labels, "rule_id", "a\"b\\c\nd"));
	assert_true(metrics_label(labels, "lcore", "0"));
	metrics_family(m, "x_pkts", METRIC_COUNTER, NULL, "packets");
	metrics_u64(m, labels, UINT64_MAX);
	metrics_u64(m, NULL, 0);
	metrics_family(m, "x_seconds", METRIC_GAUGE, "seconds", "time");
	metrics_seconds(m, NULL, 1500000000);
	metrics_seconds(m, NULL, 7);
	metrics_seconds(m, NULL, 3000000000);
	metrics_family(m, "x_left", METRIC_GAUGE, NULL, "left");
	metrics_i64(m, "a=\"b\"", INT64_MIN);
	metrics_family(m, "x_build", METRIC_INFO, NULL, "what");
	metrics_info(m, "v=\"1\"");
	metrics_family(m, "x_wait_seconds", METRIC_HISTOGRAM, "seconds", "waits");
	metrics_bucket(m, "port=\"a\"", 250, 1);
	metrics_bucket(m, NULL, 1000000000, 2);
	metrics_bucket(m, NULL, UINT64_MAX, 3);
	metrics_sum_seconds(m, NULL, 1000000250, 3);
	metrics_end(m);
}

static void expect_text(bool openmetrics, const char *expected)
{
	struct metrics m = {.openmetrics = openmetrics};

	put_all(&m);
	assert_false(m.text.failed);
	text_put(&m.text, "", 1);
	assert_string_equal(m.text.bytes, expected);
	text_free(&m.text);
}

static void test_openmetrics(void **state)
{
	(void)state;
	expect_text(true,
		"# TYPE x_pkts counter\n"
		"# HELP x_pkts packets\n"
		"x_pkts_total{rule_id=\"a\\\"b\\\\c\\nd\",lcore=\"0\"} 18446744073709551615\n"
		"x_pkts_total 0\n"
		"# TYPE x_seconds gauge\n"
		"# UNIT x_seconds seconds\n"
		"# HELP x_seconds time\n"
		"x_seconds 1.5\n"
		"x_seconds 0.000000007\n"
		"x_seconds 3\n"
		"# TYPE x_left gauge\n"
		"# HELP x_left left\n"
		"x_left{a=\"b\"} -9223372036854775808\n"
		"# TYPE x_build info\n"
		"# HELP x_build what\n"
		"x_build_info{v=\"1\"} 1\n"
		"# TYPE x_wait_seconds histogram\n"
		"# UNIT x_wait_seconds seconds\n"
		"# HELP x_wait_seconds waits\n"
		"x_wait_seconds_bucket{port=\"a\",le=\"0.00000025\"} 1\n"
		"x_wait_seconds_bucket{le=\"1.0\"} 2\n"
		"x_wait_seconds_bucket{le=\"+Inf\"} 3\n"
		"x_wait_seconds_count 3\n"
		"x_wait_seconds_sum 1.00000025\n"
		"# EOF\n");
}

static void test_classic(void **state)
{
	(void)state;
	expect_text(false,
		"# TYPE x_pkts_total counter\n"
		"# HELP x_pkts_total packets\n"
		"x_pkts_total{rule_id=\"a\\\"b\\\\c\\nd\",lcore=\"0\"} 18446744073709551615\n"
		"x_pkts_total 0\n"
		"# TYPE x_seconds gauge\n"
		"# HELP x_seconds time\n"
		"x_seconds 1.5\n"
		"x_seconds 0.000000007\n"
		"x_seconds 3\n"
		"# TYPE x_left gauge\n"
		"# HELP x_left left\n"
		"x_left{a=\"b\"} -9223372036854775808\n"
		"# TYPE x_build_info gauge\n"
		"# HELP x_build_info what\n"
		"x_build_info{v=\"1\"} 1\n"
		"# TYPE x_wait_seconds histogram\n"
		"# HELP x_wait_seconds waits\n"
		"x_wait_seconds_bucket{port=\"a\",le=\"0.00000025\"} 1\n"
		"x_wait_seconds_bucket{le=\"1.0\"} 2\n"
		"x_wait_seconds_bucket{le=\"+Inf\"} 3\n"
		"x_wait_seconds_count 3\n"
		"x_wait_seconds_sum 1.00000025\n");
}

static void test_labels_that_do_not_fit_are_left_out(void **state)
{
	char labels[METRICS_LABELS_MAX] = "", value[METRICS_LABELS_MAX];

	(void)state;
	memset(value, '"', sizeof value - 1); // twice as long when escaped
	value[sizeof value - 1] = '\0';
	assert_true(metrics_label(labels, "port", "lan"));
	assert_false(metrics_label(labels, "rule_id", value));
	assert_string_equal(labels, "port=\"lan\"");
	value[100] = '\0';
	assert_true(metrics_label(labels, "rule_id", value));
	assert_int_equal(strlen(labels), strlen("port=\"lan\",rule_id=\"\"") + 200);
	assert_false(metrics_label(labels, "reason", "0123456789012345678901234567890123456789"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_openmetrics),
		cmocka_unit_test(test_classic),
		cmocka_unit_test(test_labels_that_do_not_fit_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
