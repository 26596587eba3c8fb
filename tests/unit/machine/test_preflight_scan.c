// SPDX-License-Identifier: BSD-3-Clause
// What `sluice check --preflight`, and a start, say of the virus scanner: program, signatures,
// user, and whether the memory for files can be had.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/options.h"
#include "machine/preflight.h"

static char folder[] = "/tmp/test_preflight_scan.XXXXXX";
static char program[] = "/bin/true", database[64], empty[64];
static struct preflight found;
static struct preflight_host host;
static struct gateway gateway;

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(database, sizeof(database), "%s/db", folder);
	snprintf(empty, sizeof(empty), "%s/empty", folder);
	char file[96];

	snprintf(file, sizeof(file), "%s/a.ndb", database);
	if (mkdir(database, 0755) || mkdir(empty, 0755))
		return -1;
	FILE *out = fopen(file, "we");

	return !out || fclose(out);
}

static int end(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf -- '%s'", folder);
	return system(command);
}

static int setup(void **state)
{
	(void)state;
	host = (struct preflight_host){.memory_mb = 8000, .available_mb = 1000};
	gateway = (struct gateway){.n_data = 1};
	gateway.scan.engine = SCAN_ENGINE_CLAMAV;
	gateway.scan.program = program;
	gateway.scan.database = database;
	gateway.scan.arena_mb = 256;
	return 0;
}

// What it says of `what`; its code is `code`.
static const char *says_of(const char *what, int code, bool warning)
{
	found.n = 0;
	preflight_scan(&gateway, &host, 500, &found);
	for (unsigned i = 0; i < found.n; i++) {
		if (strcmp(found.items[i].what, what))
			continue;
		assert_int_equal(found.items[i].code, code);
		assert_int_equal(found.items[i].warning, warning);
		return found.items[i].text;
	}
	fail_msg("nothing about %s", what);
	return "";
}

static void has(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("\"%s\" is not in: %s", words, text);
}

static void another_engine_needs_nothing(void **state)
{
	(void)state;
	gateway.scan.engine = SCAN_ENGINE_NONE;
	found.n = 0;
	preflight_scan(&gateway, &host, 500, &found);
	assert_int_equal(found.n, 0);
}

static void what_is_there_is_reported(void **state)
{
	(void)state;
	has(says_of("scan.program", 0, false), program);
	has(says_of("scan.database", 0, false), database);
	has(says_of("scan.arena_mb", 0, false), "256 MB");
}

static void a_program_that_is_missing_is_a_package_away(void **state)
{
	char missing[] = "/nowhere/sluice-scan";

	(void)state;
	gateway.scan.program = missing;
	has(says_of("scan.program", 0, true), "apt-get install sluice-scan");
	has(says_of("scan.program", 0, true), "no_engine");
}

static void so_are_signatures(void **state)
{
	char missing[] = "/nowhere/db";

	(void)state;
	gateway.scan.database = empty;
	has(says_of("scan.database", 0, true), "there are no signatures");
	has(says_of("scan.database", 0, true), "apt-get install clamav-freshclam");
	gateway.scan.database = missing;
	has(says_of("scan.database", 0, true), "No such file");
}

static void a_user_that_is_not_there_is_an_error(void **state)
{
	char nobody[] = "no-such-user-here";

	(void)state;
	gateway.scan.user = nobody;
	has(says_of("scan.user", EXIT_CODE_CONFIG, false), "adduser");
	assert_int_equal(preflight_code(&found), EXIT_CODE_CONFIG);
}

static void the_gateways_own_user_is_warned_of(void **state)
{
	char nobody[] = "nobody";

	(void)state;
	if (geteuid())
		skip(); // only root can become one
	gateway.scan.user = nobody;
	has(says_of("scan.user", 0, false), "nobody");
	gateway.user = nobody;
	has(says_of("scan.user", 0, true), "the gateway's user, too");
}

static void an_arena_that_cannot_be_had_is_told_before(void **state)
{
	(void)state;
	gateway.scan.arena_mb = 9000;
	has(says_of("scan.arena_mb", EXIT_CODE_UNAVAILABLE, false), "the machine has 8000 MB");
	gateway.scan.arena_mb = 501; // 1000 are free, and the gateway itself takes 500
	has(says_of("scan.arena_mb", 0, true), "500 MB are left");
	gateway.memory.hugepages = true; // those are reserved, and no longer among what is free
	has(says_of("scan.arena_mb", 0, false), "1000 MB");
	host.memory_mb = 0; // not known
	found.n = 0;
	preflight_scan(&gateway, &host, 500, &found);
	for (unsigned i = 0; i < found.n; i++)
		assert_string_not_equal(found.items[i].what, "scan.arena_mb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(another_engine_needs_nothing, setup),
		cmocka_unit_test_setup(what_is_there_is_reported, setup),
		cmocka_unit_test_setup(a_program_that_is_missing_is_a_package_away, setup),
		cmocka_unit_test_setup(so_are_signatures, setup),
		cmocka_unit_test_setup(a_user_that_is_not_there_is_an_error, setup),
		cmocka_unit_test_setup(the_gateways_own_user_is_warned_of, setup),
		cmocka_unit_test_setup(an_arena_that_cannot_be_had_is_told_before, setup),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
