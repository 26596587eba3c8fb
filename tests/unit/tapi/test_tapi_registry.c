// SPDX-License-Identifier: BSD-3-Clause
// Transports by name (TA1, TA3): what is there and right is loaded, what is not named is not, what
// is wrong is refused with a text that says what is wrong and where it was found.
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <dlfcn.h>
#include <cmocka.h>

#include "transport/rig.h"
#include "transportapi/core/core.h"

static struct rig rig;

static int set_up(void **state)
{
	(void)state;
	rig_init(&rig, 1);
	rig_configure(&rig.nodes[0], "{\"chaos\": {\"below\": \"null\"}}");
	unsetenv("BROKEN_LOADED");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	rig_end(&rig);
	return 0;
}

static struct tapi_error error;

static enum tapi_result load(
	struct tapi_loaded *out, const char *name, const char *directory, bool objects_first)
{
	memset(&error, 0, sizeof(error));
	return tapi_transport_load(out, name, directory, objects_first, &rig.nodes[0].core, &error);
}

// Which object a function is in.
static const char *object_of(const struct tapi_transport_api *api)
{
	Dl_info info;
	void *address;

	memcpy(&address, &api->send, sizeof(address));
	assert_true(dladdr(address, &info));
	return info.dli_fname;
}

static void names_that_are_none(void **state)
{
	static const char *const names[] = {"", "UDP", "../null", "a/b", "nu ll", "null\n",
		"a-name-that-is-longer-than-it-may-be-by-far"};
	struct tapi_loaded loaded;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(load(&loaded, names[i], BROKEN_DIRECTORY, true), TAPI_ECONF);
		assert_non_null(strstr(error.text, "is not the name of a transport"));
		assert_null(loaded.api);
		tapi_transport_unload(&loaded); // of nothing: nothing happens
	}
}

static void unknown_name_says_where_it_looked(void **state)
{
	struct tapi_loaded loaded;

	(void)state;
	assert_int_equal(load(&loaded, "pigeon", NULL, false), TAPI_ENOADDR);
	assert_non_null(strstr(error.text, "pigeon: not built in ("));
	assert_int_equal(load(&loaded, "carrier-pigeon", "/nowhere", false), TAPI_ENOADDR);
	assert_non_null(strstr(error.text, "carrier-pigeon"));
	assert_non_null(strstr(error.text, "/nowhere/libtransportapi_carrier_pigeon.so"));
}

static void builtins_have_their_names(void **state)
{
	unsigned n = 0;

	(void)state;
	for (const char *name; (name = tapi_transport_builtin(n)); n++) {
		struct tapi_loaded loaded;

		// Without a directory: it is in the library itself.
		if (load(&loaded, name, NULL, false) != TAPI_OK)
			fail_msg("%s: %s; %s", name, error.text, rig.log);
		assert_string_equal(loaded.api->name, name);
		assert_string_equal(loaded.name, name);
		assert_null(loaded.object);
		for (unsigned i = 0; i < n; i++)
			assert_string_not_equal(tapi_transport_builtin(i), name);
		tapi_transport_unload(&loaded);
		assert_null(loaded.api);
	}
	assert_true(n >= 2);
	assert_null(tapi_transport_builtin(n + 1000));
}

static void broken_ones_are_refused(void **state)
{
	static const struct {
		const char *name, *text;
	} broken[] = {
		{"refuses", "refused to begin"},
		{"version", "of version 2 of the contract, this program is of 1"},
		{"renamed", "says that its name is udp"},
		{"methodless", "has no method send"},
		{"protocol", "has protocol number 1,"},
		{"unsized", "has no mtu"},
		{"doneless", "has not both functions"},
		{"initless", "has not both functions"},
	};
	struct tapi_loaded loaded;

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		assert_int_equal(
			load(&loaded, broken[i].name, BROKEN_DIRECTORY, false), TAPI_ECONF);
		if (!strstr(error.text, broken[i].text) || !strstr(error.text, broken[i].name) ||
			!strstr(error.text, BROKEN_DIRECTORY))
			fail_msg("%s: %s", broken[i].name, error.text);
		assert_null(loaded.api);
		assert_null(loaded.object);
		// The others still run: one after each.
		assert_int_equal(load(&loaded, "undamaged", BROKEN_DIRECTORY, false), TAPI_OK);
		assert_string_equal(loaded.api->name, "undamaged");
		assert_non_null(strstr(object_of(loaded.api), "libtransportapi_undamaged.so"));
		tapi_transport_unload(&loaded);
	}
}

static void not_an_object(void **state)
{
	char directory[] = "/tmp/tapi-registry.XXXXXX", path[128];
	struct tapi_loaded loaded;
	FILE *out;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/libtransportapi_text.so", directory);
	out = fopen(path, "w");
	assert_non_null(out);
	fputs("not a shared object\n", out);
	fclose(out);
	assert_int_equal(load(&loaded, "text", directory, false), TAPI_ECONF);
	assert_non_null(strstr(error.text, "transport text: cannot be loaded: "));
	assert_non_null(strstr(error.text, path)); // the loader's own words
	unlink(path);
	rmdir(directory);
}

static void what_is_not_named_is_not_loaded(void **state)
{
	struct tapi_loaded loaded;

	(void)state;
	assert_int_equal(load(&loaded, "null", BROKEN_DIRECTORY, true), TAPI_OK);
	assert_null(getenv("BROKEN_LOADED")); // nine objects lie there
	tapi_transport_unload(&loaded);
	assert_int_equal(load(&loaded, "undamaged", BROKEN_DIRECTORY, false), TAPI_OK);
	assert_string_equal(getenv("BROKEN_LOADED"), "undamaged");
	tapi_transport_unload(&loaded);
}

static void built_in_first_or_objects_first(void **state)
{
	struct tapi_loaded loaded;

	(void)state;
	assert_int_equal(load(&loaded, "null", MODULE_DIRECTORY, false), TAPI_OK);
	assert_null(loaded.object);
	assert_null(strstr(object_of(loaded.api), "libtransportapi_null.so"));
	tapi_transport_unload(&loaded);
	assert_int_equal(load(&loaded, "null", MODULE_DIRECTORY, true), TAPI_OK);
	assert_non_null(loaded.object);
	assert_non_null(strstr(object_of(loaded.api), "libtransportapi_null.so"));
	tapi_transport_unload(&loaded);
	// An object that is not there: what is built in serves.
	assert_int_equal(load(&loaded, "null", "/nowhere", true), TAPI_OK);
	assert_null(loaded.object);
	tapi_transport_unload(&loaded);
}

// TA3: a core of another version is refused by each transport.
static void other_core_is_refused(void **state)
{
	struct tapi_loaded loaded;

	(void)state;
	rig.nodes[0].core.version = TAPI_VERSION + 1;
	for (unsigned i = 0; tapi_transport_builtin(i); i++)
		assert_int_equal(load(&loaded, tapi_transport_builtin(i), NULL, false), TAPI_ECONF);
}

// What the configuration says wrongly, it says where.
static void wrong_keys_are_told(void **state)
{
	struct tapi_loaded loaded;
	char conf[128];

	(void)state;
	for (unsigned i = 0; tapi_transport_builtin(i); i++) {
		snprintf(conf, sizeof(conf), "{\"%s\": {\"no_such_key\": 1}}",
			tapi_transport_builtin(i));
		rig_configure(&rig.nodes[0], conf);
		rig.log[0] = 0;
		assert_int_equal(load(&loaded, tapi_transport_builtin(i), NULL, false), TAPI_ECONF);
		if (!strstr(rig.log, "no_such_key"))
			fail_msg("%s: %s", tapi_transport_builtin(i), rig.log);
	}
}

static char core_log[4096];

static void on_core_log(void *context, int priority, const char *text)
{
	size_t used = strlen(core_log);

	(void)context;
	(void)priority;
	snprintf(&core_log[used], sizeof(core_log) - used, "%s\n", text);
}

// A core of the configuration's transports: each that is wrong is reported and left out, the others
// run, and what it does not name is not loaded.
static void core_has_those_that_can_be_had(void **state)
{
	static const uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_core_options options = {.base = rig.base, .log = on_core_log};
	struct tapi_identity identity;
	struct tapi_core *core;

	(void)state;
	tapi_identity_from_seed(&identity, seed);
	rig_configure(&rig.nodes[0],
		"{\"transports\": [\"pigeon\", \"version\", \"null\", \"methodless\"],"
		" \"core\": {\"module_path\": \"" BROKEN_DIRECTORY "\"}}");
	options.conf = rig.nodes[0].conf;
	options.identity = &identity;
	core_log[0] = 0;
	assert_int_equal(tapi_core_new(&core, &options, &error), TAPI_OK);
	assert_non_null(tapi_core_transport(core, "null"));
	assert_null(tapi_core_transport(core, "pigeon"));
	assert_null(tapi_core_transport(core, "methodless"));
	if (!strstr(core_log, "transport pigeon: neither built in nor at " BROKEN_DIRECTORY) ||
		!strstr(core_log, "transport version (") ||
		!strstr(core_log, "transport methodless ("))
		fail_msg("%s", core_log);
	assert_string_not_equal(getenv("BROKEN_LOADED"), "undamaged"); // it is not in the list
	assert_null(tapi_core_transport(core, "undamaged"));
	assert_int_equal(tapi_core_start(core, &error), TAPI_OK);
	tapi_core_stop(core);
	tapi_core_free(core);
}

// modules_first: the operator's object stands before what is built in.
static void core_takes_objects_first(void **state)
{
	static const uint8_t seed[TAPI_SEED_BYTES];
	struct tapi_core_options options = {.base = rig.base, .log = on_core_log};
	struct tapi_identity identity;
	struct tapi_core *core;

	(void)state;
	tapi_identity_from_seed(&identity, seed);
	rig_configure(&rig.nodes[0],
		"{\"transports\": [\"udp\"], \"core\": {\"module_path\": \"" MODULE_DIRECTORY
		"\", \"modules_first\": true}, \"acl\": {\"local\": true},"
		" \"udp\": {\"port\": 0, \"bind\": [\"127.0.0.1\"]}}");
	options.conf = rig.nodes[0].conf;
	options.identity = &identity;
	assert_int_equal(tapi_core_new(&core, &options, &error), TAPI_OK);
	assert_non_null(
		strstr(object_of(tapi_core_transport(core, "udp")), "libtransportapi_udp.so"));
	assert_int_equal(tapi_core_start(core, &error), TAPI_OK);
	tapi_core_stop(core);
	tapi_core_free(core);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(names_that_are_none),
		TEST(unknown_name_says_where_it_looked),
		TEST(builtins_have_their_names),
		TEST(broken_ones_are_refused),
		TEST(not_an_object),
		TEST(what_is_not_named_is_not_loaded),
		TEST(built_in_first_or_objects_first),
		TEST(other_core_is_refused),
		TEST(wrong_keys_are_told),
		TEST(core_has_those_that_can_be_had),
		TEST(core_takes_objects_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
