// SPDX-License-Identifier: BSD-3-Clause
// Configuration of the transports' library: what is taken, what is refused and where it says so,
// defaults, and what a reload may change.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "transportapi/base/conf.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct tapi_conf_key keys[] = {
	{"port", TAPI_CONF_UINT, 1, 65535, 2086, NULL, false, "where to listen"},
	{"stale_s", TAPI_CONF_UINT, 5, 3600, 60, NULL, true, "when a session is stale"},
	{"huge", TAPI_CONF_UINT, 0, UINT64_MAX, UINT64_MAX, NULL, true, "as it comes"},
	{"listen", TAPI_CONF_BOOL, 0, 0, 1, NULL, false, "whether to listen"},
	{"path", TAPI_CONF_TEXT, 1, 8, 0, NULL, false, "a file"},
	{"name", TAPI_CONF_TEXT, 0, 8, 0, "udp", true, "how it is called"},
	{"advertise", TAPI_CONF_TEXTS, 0, 2, 0, NULL, false, "addresses"},
	{"mode", TAPI_CONF_CHOICE, 0, 0, 0, "seed|measured|none", false, "how to choose"},
	{"ports", TAPI_CONF_UINTS, 1, 65535, 0, NULL, false, "ports"},
	{.name = NULL},
};

static struct tapi_conf *parsed(const char *text)
{
	struct tapi_error error = {""};
	struct tapi_conf *conf = tapi_conf_parse(text, &error);

	if (!conf)
		fail_msg("%s", error.text);
	return conf;
}

static void test_defaults(void **state)
{
	struct tapi_conf *conf = parsed("{}");
	uint64_t number;

	(void)state;
	assert_int_equal(tapi_conf_check(conf, "udp", keys, NULL), TAPI_OK);
	assert_int_equal(tapi_conf_uint(conf, "udp", keys, "port"), 2086);
	assert_true(tapi_conf_uint(conf, "udp", keys, "huge") == UINT64_MAX);
	assert_true(tapi_conf_bool(conf, "udp", keys, "listen"));
	assert_null(tapi_conf_text(conf, "udp", keys, "path"));
	assert_string_equal(tapi_conf_text(conf, "udp", keys, "name"), "udp");
	assert_string_equal(tapi_conf_text(conf, "udp", keys, "mode"), "seed");
	// asked again it is the same text: a caller may keep it as long as the configuration
	assert_ptr_equal(tapi_conf_text(conf, "udp", keys, "mode"),
		tapi_conf_text(conf, "tcp", keys, "mode"));
	assert_null(tapi_conf_item(conf, "udp", "advertise", 0));
	assert_null(tapi_conf_item(conf, NULL, "transports", 0));
	assert_false(tapi_conf_number(conf, "udp", "ports", 0, &number));
	assert_null(tapi_conf_section(conf, 0));
	tapi_conf_free(conf);
	tapi_conf_free(NULL);
}

static void test_values(void **state)
{
	struct tapi_conf *conf = parsed("{\"transports\": [\"udp\", \"tcp\"], \"core\": {},\n"
					"\"udp\": {\"port\": 1, \"huge\": 9223372036854775807,\n"
					"\"listen\": false, \"path\": \"/a\", \"name\": \"\",\n"
					"\"advertise\": [\"a\", \"b\"], \"mode\": \"measured\",\n"
					"\"ports\": [65535, 1]}}");
	uint64_t number;

	(void)state;
	assert_int_equal(tapi_conf_check(conf, "udp", keys, NULL), TAPI_OK);
	assert_int_equal(tapi_conf_uint(conf, "udp", keys, "port"), 1);
	assert_true(tapi_conf_uint(conf, "udp", keys, "huge") == INT64_MAX);
	assert_false(tapi_conf_bool(conf, "udp", keys, "listen"));
	assert_string_equal(tapi_conf_text(conf, "udp", keys, "path"), "/a");
	assert_string_equal(tapi_conf_text(conf, "udp", keys, "name"), "");
	assert_string_equal(tapi_conf_text(conf, "udp", keys, "mode"), "measured");
	assert_string_equal(tapi_conf_item(conf, "udp", "advertise", 1), "b");
	assert_null(tapi_conf_item(conf, "udp", "advertise", 2));
	assert_true(tapi_conf_number(conf, "udp", "ports", 0, &number));
	assert_int_equal(number, 65535);
	assert_true(tapi_conf_number(conf, "udp", "ports", 1, &number));
	assert_int_equal(number, 1);
	assert_false(tapi_conf_number(conf, "udp", "ports", 2, &number));
	assert_string_equal(tapi_conf_item(conf, NULL, "transports", 0), "udp");
	assert_string_equal(tapi_conf_item(conf, NULL, "transports", 1), "tcp");
	assert_null(tapi_conf_item(conf, NULL, "transports", 2));
	assert_string_equal(tapi_conf_section(conf, 0), "core");
	assert_string_equal(tapi_conf_section(conf, 1), "udp");
	assert_null(tapi_conf_section(conf, 2));
	tapi_conf_free(conf);
}

// What is no document of sections at all, and the place of it.
static void test_shape(void **state)
{
	static const struct {
		const char *text, *error;
	} bad[] = {
		{"", "configuration:1: "},
		{"{\"udp\": {\"port\": 1,\n}}", "configuration:2: "},
		{"[1]", "configuration:1: has to be an object"},
		{"7", "configuration:1: has to be an object"},
		{"{} {}", "configuration:1: end of file expected"},
		{"{\"udp\": {\"port\": 1,\n\"port\": 2}}", "configuration:2: duplicate object key"},
		{"{\"transports\": [],\n\"udp\": 7}", "configuration:2: udp: has to be an object"},
		{"{\"transports\": \"udp\"}", "configuration:1: transports: has to be a list"},
		{"{\n\"transports\": [\"udp\",\n\"[{\\\"\",\n5]}",
			"configuration:4: transports[2]: has to be a text"},
		{"{\"udp\": {\"port\": 123456789012345678901234}}",
			"configuration:1: too big integer"},
		{"{\"a\": {\"b\": \"\\u0000\"}}", "configuration:1: \\u0000 is not allowed"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++) {
		struct tapi_error error = {""};

		assert_null(tapi_conf_parse(bad[i].text, &error));
		if (!strstr(error.text, bad[i].error))
			fail_msg("%s: not \"%s\"", error.text, bad[i].error);
		assert_null(tapi_conf_parse(bad[i].text, NULL));
	}
}

// The longest list of numbers, and one more.
static void test_many_numbers(void **state)
{
	static char text[2 * 65537 + 64];
	char *end = text + snprintf(text, sizeof(text), "{\"udp\": {\"ports\": [1");

	(void)state;
	for (unsigned i = 1; i < 65536; i++) {
		memcpy(end, ",1", 2);
		end += 2;
	}
	memcpy(end, "]}}", 4);
	struct tapi_conf *conf = parsed(text);

	assert_int_equal(tapi_conf_check(conf, "udp", keys, NULL), TAPI_OK);
	tapi_conf_free(conf);
	memcpy(end, ",1]}}", 6);
	struct tapi_error error = {""};

	conf = parsed(text);
	assert_int_equal(tapi_conf_check(conf, "udp", keys, &error), TAPI_ECONF);
	assert_non_null(strstr(error.text, "udp.ports: 65537 numbers, 65536 is the most"));
	tapi_conf_free(conf);
}

// A value that does not fit its key.
static void test_refused(void **state)
{
	static const struct {
		const char *members, *error;
	} bad[] = {
		{"\"prot\": 1", "udp.prot: no such key; the nearest is \"port\""},
		{"\"stale\": 1", "udp.stale: no such key; the nearest is \"stale_s\""},
		{"\"advertised\": []", "udp.advertised: no such key; the nearest is \"advertise\""},
		{"\"colour\": 1", "udp.colour: no such key"},
		{"\"port\": 0", "udp.port: 0 is not from 1 to 65535"},
		{"\"port\": 65536", "udp.port: 65536 is not from 1 to 65535"},
		{"\"port\": -1", "udp.port: -1 is not from 1 to 65535"},
		{"\"port\": \"1\"", "udp.port: has to be a number from 1 to 65535"},
		{"\"port\": 1.0", "udp.port: has to be a number from 1 to 65535"},
		{"\"port\": null", "udp.port: has to be a number"},
		{"\"huge\": -1", "udp.huge: -1 is not from 0 to 18446744073709551615"},
		{"\"listen\": 1", "udp.listen: has to be true or false"},
		{"\"path\": \"\"", "udp.path: 0 octets are not from 1 to 8"},
		{"\"path\": \"123456789\"", "udp.path: 9 octets are not from 1 to 8"},
		{"\"path\": 8", "udp.path: has to be a text"},
		{"\"advertise\": \"a\"", "udp.advertise: has to be a list of texts"},
		{"\"advertise\": [\"a\", \"b\", \"c\"]", "udp.advertise: 3 texts, 2 is the most"},
		{"\"advertise\": [\"a\", 2]", "udp.advertise[1]: has to be a text"},
		{"\"mode\": \"\"", "udp.mode: \"\" is none of \"seed|measured|none\""},
		{"\"mode\": \"see\"", "udp.mode: \"see\" is none of"},
		{"\"mode\": \"seed|measured\"", "udp.mode: \"seed|measured\" is none of"},
		{"\"mode\": 2", "udp.mode: what is no text is none of"},
		{"\"ports\": 53", "udp.ports: has to be a list of numbers"},
		{"\"ports\": [53, 0]", "udp.ports[1]: 0 is not from 1 to 65535"},
		{"\"ports\": [53, 1, \"x\"]", "udp.ports[2]: has to be a number"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(bad); i++) {
		char text[256], want[256];
		struct tapi_error error = {""};
		struct tapi_conf *conf;

		snprintf(text, sizeof(text), "{\"tcp\": {\"port\": 7},\n\"udp\": {\n%s}}",
			bad[i].members);
		conf = parsed(text);
		assert_int_equal(tapi_conf_check(conf, "udp", keys, &error), TAPI_ECONF);
		snprintf(want, sizeof(want), "configuration:3: %s", bad[i].error);
		if (strncmp(error.text, want, strlen(want)) != 0)
			fail_msg("%s: not \"%s\"", error.text, want);
		assert_int_equal(tapi_conf_check(conf, "udp", keys, NULL), TAPI_ECONF);
		assert_int_equal(tapi_conf_check(conf, "tcp", keys, NULL), TAPI_OK);
		tapi_conf_free(conf);
	}
}

// The line is of the value, whatever stands around it.
static void test_places(void **state)
{
	static const char text[] = "{\n\"a\": {\"port\": [\"port\", {\"udp\": 1}],\n"
				   " \"x\": {\"list\": 5}},\n"
				   "\"udp\":\n {\"q\": \"\\\"list\\\": {\", \"list\"\n:\n"
				   "[\"one\",\n[2, [3]], {\"x\": [1,\n2]}\n,\"four\"],\n"
				   "\"last\": 1, \"none\": []}\n, \"list\": {}}\n";
	static const struct {
		const char *section, *name;
		int index;
		const char *error;
	} places[] = {
		{"udp", NULL, -1, "configuration:4: udp: no"},
		{"udp", "list", -1, "configuration:5: udp.list: no"},
		{"udp", "list", 0, "configuration:7: udp.list[0]: no"},
		{"udp", "list", 1, "configuration:8: udp.list[1]: no"},
		{"udp", "list", 2, "configuration:8: udp.list[2]: no"},
		{"udp", "list", 3, "configuration:10: udp.list[3]: no"},
		{"udp", "list", 4, "configuration: udp.list[4]: no"},
		{"udp", "last", -1, "configuration:11: udp.last: no"},
		{"udp", "last", 0, "configuration: udp.last[0]: no"},
		{"udp", "none", 0, "configuration: udp.none[0]: no"},
		{"udp", "lost", -1, "configuration: udp.lost: no"},
		{"tcp", "list", -1, "configuration: tcp.list: no"},
		{NULL, "list", -1, "configuration:12: list: no"},
	};
	struct tapi_conf *conf = parsed(text);

	(void)state;
	for (unsigned i = 0; i < COUNT(places); i++) {
		struct tapi_error error = {""};

		assert_int_equal(tapi_conf_wrong(conf, places[i].section, places[i].name,
					 places[i].index, &error, "n%c", 'o'),
			TAPI_ECONF);
		assert_string_equal(error.text, places[i].error);
	}
	tapi_conf_free(conf);
}

static void test_file(void **state)
{
	static const char text[] = "{\"udp\": {\n\"port\": 0}}";
	char path[] = "/tmp/tapi_conf.XXXXXX";
	int fd = mkstemp(path);
	struct tapi_error error = {""};
	struct tapi_conf *conf;
	char want[128];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	conf = tapi_conf_load(path, &error);
	assert_non_null(conf);
	assert_int_equal(tapi_conf_check(conf, "udp", keys, &error), TAPI_ECONF);
	snprintf(want, sizeof(want), "%s:2: udp.port: 0 is not from 1 to 65535", path);
	assert_string_equal(error.text, want);
	tapi_conf_free(conf);
	// a NUL does not end it unseen
	assert_int_equal(write(fd, "\0 {", 3), 3);
	assert_null(tapi_conf_load(path, &error));
	// nor is a file without end read for ever
	assert_int_equal(ftruncate(fd, 17 << 20), 0);
	assert_null(tapi_conf_load(path, &error));
	assert_non_null(strstr(error.text, "is no configuration"));
	close(fd);
	unlink(path);
	assert_null(tapi_conf_load(path, &error));
	assert_non_null(strstr(error.text, "No such file"));
	assert_null(tapi_conf_load("/tmp", &error));
	assert_non_null(strstr(error.text, "directory"));
}

static void test_reload(void **state)
{
	static const struct {
		const char *old, *fresh, *error;
	} pairs[] = {
		{"{}", "{\"udp\": {\"port\": 2086}}", NULL},
		{"{}", "{\"udp\": {\"listen\": true, \"mode\": \"seed\"}}", NULL},
		{"{}", "{\"udp\": {\"advertise\": [], \"ports\": []}}", NULL},
		{"{}", "{\"udp\": {\"stale_s\": 7, \"name\": \"x\"}}", NULL}, // live
		{"{}", "{\"udp\": {\"port\": 2087}}", "configuration:1: udp.port: cannot change"},
		{"{\"udp\": {\"port\": 1}}", "{}", "configuration: udp.port: cannot change"},
		{"{}", "{\"udp\": {\"listen\": false}}", "udp.listen: cannot change"},
		{"{}", "{\"udp\": {\"path\": \"a\"}}", "udp.path: cannot change"},
		{"{\"udp\": {\"path\": \"b\"}}", "{\"udp\": {\"path\": \"a\"}}",
			"udp.path: cannot change"},
		{"{}", "{\"udp\": {\"mode\": \"none\"}}", "udp.mode: cannot change"},
		{"{\"udp\": {\"advertise\": [\"a\"]}}", "{}", "udp.advertise: cannot change"},
		{"{\"udp\": {\"ports\": [1, 2]}}", "{\"udp\": {\"ports\": [2, 1]}}",
			"udp.ports: cannot change"},
	};

	(void)state;
	for (unsigned i = 0; i < COUNT(pairs); i++) {
		struct tapi_conf *old = parsed(pairs[i].old), *fresh = parsed(pairs[i].fresh);
		struct tapi_error error = {""};

		assert_int_equal(tapi_conf_compare(old, fresh, "udp", keys, &error),
			pairs[i].error ? TAPI_ECONF : TAPI_OK);
		if (pairs[i].error && !strstr(error.text, pairs[i].error))
			fail_msg("%s: not \"%s\"", error.text, pairs[i].error);
		tapi_conf_free(old);
		tapi_conf_free(fresh);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_many_numbers),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
