// SPDX-License-Identifier: BSD-3-Clause
// What was measured, as the selection reads it (TB7): between two sizes, beyond them, and files
// that are not what tools/tpbench writes.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "transportapi/core/cost_table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char path[64];

static enum tapi_result load(
	struct tapi_cost_table **out, const char *text, struct tapi_error *error)
{
	enum tapi_result result;
	int fd;

	snprintf(path, sizeof(path), "/tmp/tapi_measured.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	result = tapi_cost_table_load(out, path, error);
	unlink(path);
	return result;
}

static void assert_at(const struct tapi_cost_table *measured, const char *transport, uint32_t size,
	double median_us, double loss)
{
	double got_median, got_loss;

	assert_true(tapi_cost_table_at(measured, transport, size, &got_median, &got_loss));
	assert_true(got_median > median_us - 1e-9 && got_median < median_us + 1e-9);
	assert_true(got_loss > loss - 1e-9 && got_loss < loss + 1e-9);
}

static void test_between(void **state)
{
	struct tapi_cost_table *measured;
	struct tapi_error error = {""};
	double median_us, loss;

	(void)state;
	// in no order; what else stands there is not looked at
	if (load(&measured,
		    "{\"meta\": {\"rows\": 7}, \"rows\": ["
		    "{\"transport\": \"udp\", \"size\": 1221, \"median_us\": 30, \"loss\": 0.5},"
		    "{\"transport\": \"tcp\", \"size\": 407, \"median_us\": 40.5, \"loss\": 0},"
		    "{\"transport\": \"udp\", \"size\": 11, \"median_us\": 10, \"loss\": 0},"
		    "{\"transport\": \"udp\", \"size\": 411, \"median_us\": 20.0, \"loss\": 0.25,"
		    " \"env\": \"lo\"}]}",
		    &error))
		fail_msg("%s", error.text);
	assert_at(measured, "udp", 11, 10, 0);
	assert_at(measured, "udp", 411, 20, 0.25);
	assert_at(measured, "udp", 1221, 30, 0.5);
	assert_at(measured, "udp", 211, 15, 0.125);
	assert_at(measured, "udp", 816, 25, 0.375);
	assert_at(measured, "udp", 0, 10, 0);
	assert_at(measured, "udp", UINT32_MAX, 30, 0.5);
	assert_at(measured, "tcp", 0, 40.5, 0);
	assert_at(measured, "tcp", 407, 40.5, 0);
	assert_at(measured, "tcp", 408, 40.5, 0);
	assert_false(tapi_cost_table_at(measured, "ud", 11, &median_us, &loss));
	assert_false(tapi_cost_table_at(measured, "raw-ip", 11, &median_us, &loss));
	tapi_cost_table_free(measured);
	tapi_cost_table_free(NULL);
}

#define ROW(members) "{\"rows\": [{\"transport\": \"udp\", " members "}]}"

static void test_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", ":1: "},
		{"{\"rows\":\n[}", ":2: "},
		{"[]", "\"rows\" has to be a list"},
		{"{\"rows\": []}", "\"rows\" has to be a list"},
		{"{\"rows\": {}}", "\"rows\" has to be a list"},
		{"{\"rows\": [7]}", "rows[0].transport: has to be"},
		{"{\"rows\": [{\"transport\": \"\"}]}", "rows[0].transport: has to be"},
		{"{\"rows\": [{\"transport\": \"12345678901234567890123456789012\"}]}",
			"rows[0].transport: has to be"},
		{ROW("\"size\": -1, \"median_us\": 1, \"loss\": 0"), "rows[0].size: has to be"},
		{ROW("\"size\": 1.5, \"median_us\": 1, \"loss\": 0"), "rows[0].size: has to be"},
		{ROW("\"size\": 4294967296, \"median_us\": 1, \"loss\": 0"), "rows[0].size: has"},
		{ROW("\"size\": 1, \"median_us\": null, \"loss\": 0"), "rows[0].median_us: has"},
		{ROW("\"size\": 1, \"median_us\": -0.5, \"loss\": 0"), "rows[0].median_us: has"},
		{ROW("\"size\": 1, \"median_us\": 1"), "rows[0].loss: has to be"},
		{ROW("\"size\": 1, \"median_us\": 1, \"loss\": 1.01"), "rows[0].loss: has to be"},
		{ROW("\"size\": 1, \"median_us\": 1, \"loss\": -0.01"), "rows[0].loss: has to be"},
		{"{\"rows\": ["
		 "{\"transport\": \"udp\", \"size\": 7, \"median_us\": 1, \"loss\": 0},"
		 "{\"transport\": \"udp\", \"size\": 8, \"median_us\": 1, \"loss\": 0},"
		 "{\"transport\": \"udp\", \"size\": 7, \"median_us\": 2, \"loss\": 0}]}",
			"both of udp and 7 octets"},
	};
	struct tapi_cost_table *measured;
	struct tapi_error error = {""};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++) {
		assert_int_equal(load(&measured, bad[i].text, &error), TAPI_ECONF);
		assert_null(measured);
		if (!strstr(error.text, bad[i].error) || !strstr(error.text, path))
			fail_msg("%s: not \"%s\"", error.text, bad[i].error);
		assert_int_equal(load(&measured, bad[i].text, NULL), TAPI_ECONF);
	}
	assert_int_equal(tapi_cost_table_load(&measured, path, &error), TAPI_ECONF);
	assert_null(measured);
	assert_non_null(strstr(error.text, "No such file"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_between),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
