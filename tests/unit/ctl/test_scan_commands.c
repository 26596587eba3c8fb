// SPDX-License-Identifier: BSD-3-Clause
// scan-show, and a file of the operator's that is tested: in pieces, by a client that may go away.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/policy/reload.h"
#include "control/stats/alarm_counters.h"
#include "control/stats/scan_state.h"
#include "lib/control/control_world.h"
#include "lib/control/fake_desk.h"
#include "pipeline/policy/content_rules.h"

static struct world world;
static struct fake_desk fake;

static int begin(void **state)
{
	(void)state;
	world_new(&world);
	fake_desk_init(&fake);
	world.context.scan = &fake.desk;
	world.context.scan_reloads = &fake.reloads;
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_free(&world);
	return 0;
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "(none)";
}

static void it_shows_what_scan_lcores_tell(void **state)
{
	json_t *reply = ask(&world, "{\"command\":\"scan-show\"}"), *shown = message(reply);
	json_t *lcore = json_array_get(json_object_get(shown, "lcores"), 0);
	json_t *failed = json_array_get(json_object_get(shown, "lcores"), 1);
	json_t *lcores = json_object_get(shown, "data");

	(void)state;
	assert_true(is_ok(reply));
	assert_string_equal(text_of(shown, "engine"), "clamav");
	assert_int_equal(number(shown, "ready"), 1);
	assert_string_equal(text_of(lcore, "state"), "ready");
	assert_int_equal(number(lcore, "pid"), 4711);
	assert_int_equal(number(json_object_get(lcore, "database"), "signatures"), 8000000);
	assert_int_equal(number(json_object_get(lcore, "verdicts"), "infected"), 4);
	assert_int_equal(number(json_object_get(lcore, "unscanned"), "encrypted"), 3);
	assert_int_equal(number(json_object_get(lcore, "queue"), "count"), 100);
	assert_int_equal(number(json_object_get(lcore, "run"), "max_ns"), 9000000000);
	assert_string_equal(text_of(failed, "state"), "failed");
	assert_null(json_object_get(failed, "database"));
	assert_null(json_object_get(failed, "pid"));
	assert_int_equal(json_array_size(lcores), 1);
	assert_int_equal(number(json_array_get(lcores, 0), "arena_used_bytes"), 3 << 20);
	assert_int_equal(number(json_array_get(lcores, 0), "held"), 2);
	json_decref(reply);
	asks_nok(&world, "{\"command\":\"scan-show\",\"arguments\":{\"x\":1}}", "takes none");
}

static void it_shows_what_is_known_already(void **state)
{
	json_t *reply = ask(&world, "{\"command\":\"scan-show\"}"), *shown = message(reply);
	json_t *lcores = json_object_get(shown, "lcores");
	json_t *known = json_object_get(json_array_get(lcores, 0), "known");
	json_t *cache = json_object_get(shown, "cache");

	(void)state;
	assert_int_equal(number(known, "hits"), 300);
	assert_int_equal(number(known, "misses"), 95);
	assert_int_equal(number(known, "joined"), 7);
	assert_int_equal(number(known, "listed"), 12);
	known = json_object_get(json_array_get(lcores, 1), "known");
	assert_int_equal(number(known, "hits"), 20);
	assert_int_equal(number(cache, "entries"), 88); // of both scan lcores
	assert_int_equal(number(cache, "limit"), 65536);
	assert_int_equal(number(cache, "evicted"), 3);
	assert_int_equal(number(json_array_get(lcores, 0), "finished"), 8);
	json_decref(reply);
}

static void it_shows_how_reloads_ended(void **state)
{
	json_t *reply = ask(&world, "{\"command\":\"scan-show\"}");
	json_t *reloads = json_object_get(message(reply), "reloads");
	json_t *taken = json_object_get(reloads, "taken");
	json_t *refused = json_object_get(reloads, "refused");

	(void)state;
	assert_string_equal(text_of(reloads, "mode"), "concurrent");
	assert_true(json_is_false(json_object_get(reloads, "loading")));
	assert_int_equal(number(taken, "count"), 5);
	assert_non_null(json_object_get(taken, "time"));
	assert_null(json_object_get(taken, "reason"));
	assert_int_equal(number(refused, "count"), 1);
	assert_string_equal(text_of(refused, "reason"), "custom.ndb: it ends within a line");
	json_decref(reply);

	fake.reloads.is_loading = fake.reloads.is_sequential = true;
	fake.reloads.refused_ns = fake.reloads.refused = 0;
	reply = ask(&world, "{\"command\":\"scan-show\"}");
	reloads = json_object_get(message(reply), "reloads");
	assert_string_equal(text_of(reloads, "mode"), "sequential");
	assert_true(json_is_true(json_object_get(reloads, "loading")));
	assert_null(json_object_get(json_object_get(reloads, "refused"), "time"));
	assert_null(json_object_get(json_object_get(reloads, "refused"), "reason"));
	json_decref(reply);
}

static json_t *tested(const char *base64, unsigned bytes)
{
	char line[200];
	json_t *reply;
	json_int_t test;

	snprintf(line, sizeof line,
		"{\"command\":\"scan-test-begin\",\"arguments\":{\"bytes\":%u}}", bytes);
	reply = ask(&world, line);
	assert_true(is_ok(reply));
	test = number(message(reply), "test");
	assert_true(number(message(reply), "piece_bytes") > 40000);
	json_decref(reply);
	snprintf(line, sizeof line,
		"{\"command\":\"scan-test-add\",\"arguments\":{\"test\":%d,\"at\":0,"
		"\"base64\":\"%s\"}}",
		(int)test, base64);
	asks_ok(&world, line);
	snprintf(line, sizeof line, "{\"command\":\"scan-test-run\",\"arguments\":{\"test\":%d}}",
		(int)test);
	return ask(&world, line);
}

static void a_file_is_tested(void **state)
{
	json_t *reply, *said;

	(void)state;
	fake.looks = 3;                // the answer comes later
	reply = tested("eEVWSUx5", 6); // xEVILy
	said = message(reply);
	assert_true(is_ok(reply));
	assert_string_equal(text_of(said, "verdict"), "infected");
	assert_string_equal(text_of(said, "signature"), "Test.Eicar");
	assert_string_equal(text_of(said, "engine"), "clamav");
	assert_int_equal(number(said, "bytes"), 6);
	assert_int_equal(number(said, "queue_ns"), 2000000);
	assert_int_equal(number(said, "scan_ns"), 40000000);
	assert_int_equal(number(json_object_get(said, "database"), "version"), 27001);
	json_decref(reply);
	reply = tested("Z29vZA==", 4); // good
	assert_memory_equal(fake.file, "good", 4);
	assert_string_equal(text_of(message(reply), "verdict"), "clean");
	assert_null(json_object_get(message(reply), "signature"));
	json_decref(reply);
	reply = tested("TE9DS0VE", 6);
	assert_string_equal(text_of(message(reply), "reason"), "encrypted");
	json_decref(reply);
}

#define BEGIN(bytes) "{\"command\":\"scan-test-begin\",\"arguments\":{\"bytes\":" bytes "}}"
#define ADD(base64)                                                                              \
	"{\"command\":\"scan-test-add\",\"arguments\":{\"test\":1,\"at\":0,\"base64\":\"" base64 \
	"\"}}"
#define RUN(test) "{\"command\":\"scan-test-run\",\"arguments\":{\"test\":" test "}}"

static void what_cannot_be_is_refused(void **state)
{
	(void)state;
	asks_nok(&world, BEGIN("0"), "empty");
	asks_nok(&world, BEGIN("1048577"), "too big: more than 1 MiB (scan.max_file_mb)");
	asks_nok(&world, RUN("1"), "no such test");
	asks_ok(&world, BEGIN("4"));
	for (unsigned i = 0; i < 5; i++) {
		static const char *const wrong[] = {
			ADD("abc"), ADD("a=bc"), ADD("===="), ADD("a\\u0001bc"), ADD("\xc3\xa4xx")};

		asks_nok(&world, wrong[i], "base64");
	}
	asks_nok(&world, ADD("eEVWSUx5"), "not those that were announced"); // six
	asks_ok(&world, ADD("eEU="));
	asks_nok(&world, RUN("1"), "not those that were announced");
	asks_nok(&world, RUN("2"), "no such test");
	fake.refuses = -EBUSY;
	asks_nok(&world, BEGIN("4"), "another file");
	fake.refuses = -ENODEV;
	asks_nok(&world, BEGIN("4"), "looks at no files");
	world.context.scan = NULL;
	asks_nok(&world, BEGIN("4"), "scan.engine");
	asks_nok(&world, ADD("eEU="), "scan.engine");
	asks_nok(&world, RUN("1"), "scan.engine");
}

// What it sent is answered, though nobody reads that.
static void a_client_that_goes_leaves_the_test(void **state)
{
	static const char line[] = RUN("1") "\n";
	int fd = client(&world);

	(void)state;
	asks_ok(&world, BEGIN("2"));
	asks_ok(&world, ADD("eEU="));
	fake.looks = UINT32_MAX;
	assert_true(put(&world, fd, line, strlen(line)));
	for (unsigned i = 0; i < 100 && !fake.runs; i++)
		turn(&world);
	assert_true(fake.runs);
	assert_int_equal(fake.drops, 0);
	close(fd);
	for (unsigned i = 0; i < 100; i++)
		turn(&world);
	assert_true(fake.runs);
	fake.looks = 1;
	for (unsigned i = 0; i < 2000 && !fake.drops; i++) {
		turn(&world);
		usleep(1000);
	}
	assert_int_equal(fake.drops, 1);
	asks_ok(&world, BEGIN("2"));
	fd = client(&world); // and one that waits when the gateway ends
	asks_ok(&world, "{\"command\":\"scan-test-add\",\"arguments\":{\"test\":2,\"at\":0,"
			"\"base64\":\"eEU=\"}}");
	fake.looks = UINT32_MAX;
	assert_true(put(&world, fd, RUN("2") "\n", sizeof(line) - 1));
	for (unsigned i = 0; i < 100 && !fake.runs; i++)
		turn(&world);
	assert_true(fake.runs);
	control_socket_free(world.socket);
	assert_int_equal(fake.drops, 2);
	world_open(&world);
	close(fd);
}

static struct rule_content scans = {.has_scan = true};

static uint64_t alarmed(void)
{
	uint64_t values[ALARM_COUNTERS_MAX];

	alarm_counters_read(&world.context, values);
	return values[ALARM_COUNTER_SCAN_NOT_READY];
}

static void missing_because(const char *word)
{
	char why[256] = "";

	assert_true(scan_state_is_missing(&world.context, why, sizeof why));
	if (!strstr(why, word))
		fail_msg("\"%s\" has no \"%s\"", why, word);
	assert_int_equal(alarmed(), 1);
	json_t *reply = ask(&world, "{\"command\":\"scan-show\"}");

	assert_string_equal(text_of(message(reply), "problem"), why);
	json_decref(reply);
	reply = ask(&world, "{\"command\":\"stats\"}");
	assert_int_equal(number(json_object_get(message(reply), "look_into"), "scan_not_ready"), 1);
	json_decref(reply);
}

// Only where a rule asks for it, and no scan lcore takes jobs.
static void that_nothing_scans_is_told(void **state)
{
	struct policy *policy = (struct policy *)(uintptr_t)reload_policy(world.context.reload);
	struct rule_content *before = policy->rules[0].content;

	(void)state;
	world.context.scan = NULL;
	assert_int_equal(alarmed(), 0);
	policy->rules[0].content = &scans;
	missing_because("scan.engine of gateway.json names none");
	world.context.scan = &fake.desk;
	assert_int_equal(alarmed(), 0); // one of two is enough
	fake.status[0].state = SCAN_STATE_WAITING;
	assert_int_equal(alarmed(), 0); // for the next child, a moment
	fake.status[0].state = SCAN_STATE_LOADING;
	missing_because("loads its signatures");
	fake.status[0].state = SCAN_STATE_ABSENT;
	missing_because("does not run");
	fake.status[0] = fake.status[1];
	missing_because("/var/lib/clamav has no signatures");
	policy->rules[0].content = before;
	assert_int_equal(alarmed(), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_shows_what_scan_lcores_tell, begin, end),
		cmocka_unit_test_setup_teardown(it_shows_what_is_known_already, begin, end),
		cmocka_unit_test_setup_teardown(it_shows_how_reloads_ended, begin, end),
		cmocka_unit_test_setup_teardown(a_file_is_tested, begin, end),
		cmocka_unit_test_setup_teardown(what_cannot_be_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_client_that_goes_leaves_the_test, begin, end),
		cmocka_unit_test_setup_teardown(that_nothing_scans_is_told, begin, end),
	};

	signal(SIGPIPE, SIG_IGN); // as the control loop does
	return cmocka_run_group_tests(tests, NULL, NULL);
}
