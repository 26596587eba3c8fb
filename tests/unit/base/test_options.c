// SPDX-License-Identifier: BSD-3-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "base/options.h"

static const char *config;
static bool dump;
static int verbose;
static struct option_list sets;

static const struct option_row rows[] = {
	{'c', "config", "FILE", OPTION_TEXT, &config, "the configuration"},
	{0, "dump-config", NULL, OPTION_FLAG, &dump, "print it"},
	{'v', "verbose", NULL, OPTION_COUNT, &verbose, "say more"},
	{0, "set", "KEY=VALUE", OPTION_LIST, &sets, "override"},
	{0},
};
static const struct option_command command = {"run", "sluice run", "Runs.", rows, NULL, false};
static const struct option_command with_operands = {
	"replay", "sluice replay", "Replays.", rows, NULL, true};

static char **operands, **rest;
static int n_operands, n_rest;

static int parse(const struct option_command *which, int argc, const char **argv)
{
	config = NULL;
	dump = false;
	verbose = 0;
	sets.n = 0;
	return options_parse(
		which, argc, (char **)(uintptr_t)argv, &operands, &n_operands, &rest, &n_rest);
}
#define PARSE(which, ...)                                                       \
	({                                                                      \
		static const char *argv_[] = {"run", __VA_ARGS__, NULL};        \
		parse(which, (int)(sizeof(argv_) / sizeof(*argv_)) - 1, argv_); \
	})

static void test_spellings(void **state)
{
	(void)state;
	assert_int_equal(PARSE(&command, "-c", "a.json", "-vv", "-v", "--dump-config"), -1);
	assert_string_equal(config, "a.json");
	assert_int_equal(verbose, 3);
	assert_true(dump);
	assert_int_equal(PARSE(&command, "-ca.json", "--set=a.b=1", "--set", "c=2"), -1);
	assert_string_equal(config, "a.json");
	assert_int_equal(sets.n, 2);
	assert_string_equal(sets.items[0], "a.b=1");
	assert_string_equal(sets.items[1], "c=2");
	assert_false(dump);
}

static void test_rest_and_operands(void **state)
{
	(void)state;
	assert_int_equal(PARSE(&command, "-v", "--", "--no-pci", "-m", "64"), -1);
	assert_int_equal(n_rest, 3);
	assert_string_equal(rest[0], "--no-pci");
	assert_int_equal(PARSE(&with_operands, "one", "-c", "x", "two", "-", "--", "three"), -1);
	assert_int_equal(n_operands, 3);
	assert_string_equal(operands[0], "one");
	assert_string_equal(operands[1], "two");
	assert_string_equal(operands[2], "-");
	assert_int_equal(n_rest, 1);
}

static void test_usage_errors(void **state)
{
	(void)state;
	assert_int_equal(PARSE(&command, "--confg", "x"), EXIT_CODE_USAGE);
	assert_int_equal(PARSE(&command, "-x"), EXIT_CODE_USAGE);
	assert_int_equal(PARSE(&command, "--config"), EXIT_CODE_USAGE);
	assert_int_equal(PARSE(&command, "-c"), EXIT_CODE_USAGE);
	assert_int_equal(PARSE(&command, "--dump-config=1"), EXIT_CODE_USAGE);
	assert_int_equal(PARSE(&command, "surplus"), EXIT_CODE_USAGE);
	assert_int_equal(PARSE(&command, "--help"), EXIT_CODE_OK);
	assert_int_equal(PARSE(&command, "-vh"), EXIT_CODE_OK);
}

static void test_list_is_bounded(void **state)
{
	(void)state;
	const char *argv[2 * OPTION_LIST_MAX + 4] = {"run"};
	int n = 1;
	for (int i = 0; i < OPTION_LIST_MAX; i++) {
		argv[n++] = "--set";
		argv[n++] = "a=1";
	}
	assert_int_equal(parse(&command, n, argv), -1);
	assert_int_equal(sets.n, OPTION_LIST_MAX);
	argv[n++] = "--set";
	argv[n++] = "a=1";
	assert_int_equal(parse(&command, n, argv), EXIT_CODE_USAGE);
}

static void test_suggest(void **state)
{
	(void)state;
	static const char *const words[] = {"config", "policy", "dump-config", "pidfile", NULL};
	assert_string_equal(nearest_word("confg", words), "config");
	assert_string_equal(nearest_word("cofnig", words), "config");
	assert_string_equal(nearest_word("polcy", words), "policy");
	assert_string_equal(nearest_word("dump", words), "dump-config");
	assert_string_equal(nearest_word("pid-file", words), "pidfile");
	assert_null(nearest_word("zebra", words));
	assert_null(nearest_word("x", words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_rest_and_operands),
		cmocka_unit_test(test_usage_errors),
		cmocka_unit_test(test_list_is_bounded),
		cmocka_unit_test(test_suggest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
