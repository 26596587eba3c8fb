// SPDX-License-Identifier: BSD-3-Clause
// The keys of the engine clamav: what they are when absent, that each is read and bounded, and that
// each needs a restart. Where infected files go.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "config/gateway.h"

#define MINIMAL                                                                              \
	"{\"schema_version\":1,\"ports\":[{\"name\":\"a\",\"device\":\"x\"},"                \
	"{\"name\":\"b\",\"device\":\"y\"}],\"pairs\":[{\"inside\":\"a\",\"outside\":\"b\"," \
	"\"mode\":\"bridge\"}],\"lcores\":{\"data\":[1],\"control\":0}}"

static struct gateway *with(const char *set)
{
	struct config_errors errors = {0};
	struct gateway *gateway = NULL;
	char text[128];
	char *sets[] = {text};

	snprintf(text, sizeof(text), "%s", set ? set : "");
	if (gateway_parse(MINIMAL, "gateway.json", sets, set != NULL, &gateway, &errors) < 0)
		gateway = NULL;
	config_errors_free(&errors);
	return gateway;
}

static void defaults(void **state)
{
	struct gateway *gateway = with(NULL);

	(void)state;
	assert_non_null(gateway);
	assert_int_equal(gateway->scan.engine, SCAN_ENGINE_NONE);
	assert_null(gateway->scan.program);
	assert_string_equal(gateway_scan_program(gateway), SCAN_PROGRAM_INSTALLED);
	assert_string_equal(gateway->scan.database, "/var/lib/clamav");
	assert_string_equal(gateway->scan.tmp, "/run/sluice-scan");
	assert_null(gateway->scan.user);
	assert_int_equal(gateway->scan.arena_mb, 256);
	assert_int_equal(gateway->scan.swarm_mb, 128);
	assert_int_equal(gateway->scan.swarm_files, 4096);
	assert_int_equal(gateway->scan.swarm_s, 600);
	assert_int_equal(gateway->scan.tmp_mb, 512);
	assert_int_equal(gateway->scan.memory_mb, 1024);
	assert_int_equal(gateway->scan.jobs, 1000);
	assert_int_equal(gateway->scan.max_file_mb, 100);
	assert_int_equal(gateway->scan.max_scan_mb, 400);
	assert_int_equal(gateway->scan.max_recursion, 17);
	assert_int_equal(gateway->scan.max_files, 10000);
	assert_int_equal(gateway->scan.reload, SCAN_RELOAD_CONCURRENT);
	assert_true(gateway->scan.watch);
	assert_int_equal(gateway->scan.watch_s, 10);
	assert_int_equal(gateway->scan.cache, 65536);
	assert_int_equal(gateway->scan.cache_s, 3600);
	assert_null(gateway->scan.allow);
	assert_null(gateway->scan.deny);
	gateway_free(gateway);
}

static void each_is_read_and_needs_a_restart(void **state)
{
	static const char *const sets[] = {"scan.engine=clamav", "scan.program=/p",
		"scan.database=/d", "scan.tmp=/t", "scan.user=u", "scan.arena_mb=4",
		"scan.swarm_mb=0", "scan.swarm_files=5", "scan.swarm_s=6", "scan.tmp_mb=5",
		"scan.memory_mb=16", "scan.jobs=6", "scan.max_file_mb=7", "scan.max_scan_mb=8",
		"scan.max_recursion=9", "scan.max_files=10", "scan.reload=sequential",
		"scan.watch=false", "scan.watch_s=11", "scan.cache=0", "scan.cache_s=1",
		"scan.allow=/a", "scan.deny=/b"};
	struct gateway *before = with(NULL);

	(void)state;
	for (unsigned i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		struct gateway *after = with(sets[i]);
		char key[64] = "";

		assert_non_null(after);
		memcpy(key, sets[i], strcspn(sets[i], "="));
		assert_string_equal(gateway_restart_difference(before, after), key);
		gateway_free(after);
	}
	gateway_free(before);
}

static void bounds(void **state)
{
	static const char *const bad[] = {"scan.engine=clam", "scan.arena_mb=3",
		"scan.arena_mb=65537", "scan.swarm_mb=65537", "scan.swarm_files=0",
		"scan.swarm_s=0", "scan.swarm_s=86401", "scan.tmp_mb=0", "scan.memory_mb=15",
		"scan.jobs=0", "scan.max_file_mb=0", "scan.max_file_mb=257",
		"scan.max_scan_mb=2001", "scan.max_recursion=101", "scan.max_files=1000001",
		"scan.cache=1048577", "scan.cache_s=0", "scan.cache_s=604801"};

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(with(bad[i]));
}

// A folder of its own, for copies of what is stored.
static void quarantine(void **state)
{
	struct gateway *gateway = with("paths={\"files\":\"/f\",\"quarantine\":\"/q\"}");

	(void)state;
	assert_non_null(gateway);
	assert_string_equal(gateway->paths.quarantine, "/q");
	assert_int_equal(gateway->content.quarantine_mb, 1024);
	gateway_free(gateway);
	assert_null(with("paths.quarantine=/q"));
	assert_null(with("paths={\"files\":\"/f\",\"quarantine\":\"/f\"}"));
	gateway = with(NULL);
	assert_null(gateway->paths.quarantine);
	gateway_free(gateway);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(each_is_read_and_needs_a_restart),
		cmocka_unit_test(bounds),
		cmocka_unit_test(quarantine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
