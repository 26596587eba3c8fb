// SPDX-License-Identifier: BSD-3-Clause
// policy.json's time windows: what is read, refused, and written back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "policy_text.h"

#define DOC(body)     "{'schema_version':1," body "}"
#define WINDOWS(body) DOC("'time_windows':{" body "}")
#define TIMED(match)                                                  \
	DOC("'time_windows':{'office':{'from':'08:00','to':'18:00'}," \
	    "'night':[{'from':'22:00','to':'06:00'}]},"               \
	    "'rules':[{'id':'r','match':{" match "},'action':'drop'}]")

static void windows_are_read(void **state)
{
	struct policy *policy = good(TIMED("'time':['night'],'not_time':['office']"));
	(void)state;

	assert_int_equal(policy->times.n_windows, 2);
	assert_string_equal(policy->times.windows[0].name, "office");
	assert_true(policy->rules[0].has_time);
	assert_int_equal(policy->rules[0].windows, 2);
	assert_int_equal(policy->rules[0].not_windows, 1);
	assert_int_equal(policy->times.zone_min, 0);
	policy_free(policy);
	policy = good(DOC("'time_windows':{'a':{'days':['sun']}},'time_zone':'-09:30'"));
	assert_int_equal(policy->times.zone_min, -570); // wherever it stands
	assert_int_equal(policy->times.windows[0].spans[0].first, 6 * 1440);
	assert_int_equal(policy->times.windows[0].spans[0].end, 7 * 1440);
	policy_free(policy);
	policy = good(TIMED("'not_time':['office']"));
	assert_false(policy->rules[0].has_time);
	policy_free(policy);
}

static void wrong_windows_are_told(void **state)
{
	(void)state;
	BAD(DOC("'time_zone':'CET'"), "$.time_zone", "is no zone", "+01:00");
	BAD(DOC("'time_zone':'+15:00'"), "is no zone");
	BAD(DOC("'time_zone':'+1:00'"), "is no zone");
	BAD(DOC("'time_zone':60"), "$.time_zone", "an integer");
	BAD(WINDOWS("'a b':{}"), "$.time_windows[\"a b\"]", "is not a name");
	BAD(WINDOWS("'a':'08:00'"), "$.time_windows.a", "array of them", "a string");
	BAD(WINDOWS("'a':[]"), "$.time_windows.a", "1 or more");
	BAD(WINDOWS("'a':{'days':[]}"), "$.time_windows.a.days", "1 or more");
	BAD(WINDOWS("'a':{'days':['mno']}"), "$.time_windows.a.days[0]", "did you mean \"mon\"?");
	BAD(WINDOWS("'a':{'from':'24:00'}"), "$.time_windows.a.from", "\"00:00\" to \"23:59\"");
	BAD(WINDOWS("'a':{'to':'24:01'}"), "$.time_windows.a.to", "\"00:00\" to \"24:00\"");
	BAD(WINDOWS("'a':{'to':'8:00'}"), "$.time_windows.a.to", "is no time");
	BAD(WINDOWS("'a':{'to':'08:60'}"), "is no time");
	BAD(WINDOWS("'a':[{},{'from':'08:00','to':'08:00'}]"), "$.time_windows.a[1]",
		"ends as it begins");
	BAD(WINDOWS("'a':{'form':'08:00'}"), "$.time_windows.a.form", "did you mean \"from\"?");
	BAD(TIMED("'time':['offcie']"), "$.rules[0].match.time[0]", "did you mean \"office\"?");
	BAD(TIMED("'not_time':['lunch']"), "$.rules[0].match.not_time[0]",
		"define it in $.time_windows");
	BAD(TIMED("'time':[]"), "$.rules[0].match.time");
	BAD(TIMED("'time':['office'],'not_time':['night','office']"), "$.rules[0].match",
		"stands in time and in not_time");
}

static void at_most_64_windows(void **state)
{
	char text[4096] = "{'schema_version':1,'time_windows':{";
	struct config_errors errors;
	size_t used = strlen(text);
	(void)state;

	for (unsigned i = 0; i < 65; i++)
		used += (size_t)snprintf(
			text + used, sizeof text - used, "%s'w%u':{}", i ? "," : "", i);
	snprintf(text + used, sizeof text - used, "}}");
	errors = bad(text);
	EXPECT_LINE(&errors, "$.time_windows", "65 time windows: at most 64");
	config_errors_free(&errors);
}

// A rule that holds only now and then does not hide those behind it.
static void timed_rule_does_not_take_everything(void **state)
{
	struct policy *policy =
		good(DOC("'time_windows':{'office':{'from':'08:00'}},'rules':["
			 "{'id':'a','match':{'time':['office']},'action':'pass'},"
			 "{'id':'b','match':{'not_time':['office']},'action':'pass'},"
			 "{'id':'c','match':{},'action':'drop'}]"));
	(void)state;

	policy_free(policy);
}

static void dump_reads_back_to_the_same_week(void **state)
{
	struct policy *policy = good(
		DOC("'time_zone':'+05:45','time_windows':{'office':{'days':['mon','tue'],"
		    "'from':'08:00','to':'18:00'},'night':[{'days':['sun'],'from':'22:00',"
		    "'to':'06:00'},{'days':['wed'],'from':'12:00','to':'24:00'},{'days':['thu']}],"
		    "'always':{}},'rules':[{'id':'r','match':{'time':['night','office'],"
		    "'not_time':['always']},'action':'drop'}]"));
	char *text = policy_dump(policy, names);
	struct policy *again = good(text);
	(void)state;

	assert_int_equal(again->times.zone_min, 345);
	assert_int_equal(again->times.n_windows, 3);
	assert_int_equal(again->times.n_slots, policy->times.n_slots);
	assert_memory_equal(again->times.slots, policy->times.slots,
		policy->times.n_slots * sizeof(struct week_slot));
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(again->times.windows[i].name, policy->times.windows[i].name);
	assert_int_equal(again->rules[0].windows, policy->rules[0].windows);
	assert_int_equal(again->rules[0].not_windows, policy->rules[0].not_windows);
	char *second = policy_dump(again, names);

	assert_string_equal(text, second);
	free(text);
	free(second);
	policy_free(policy);
	policy_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_read),
		cmocka_unit_test(wrong_windows_are_told),
		cmocka_unit_test(at_most_64_windows),
		cmocka_unit_test(timed_rule_does_not_take_everything),
		cmocka_unit_test(dump_reads_back_to_the_same_week),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
