// SPDX-License-Identifier: BSD-3-Clause
// policy.json's time windows and users: what is read, refused, and written back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "lib/control/policy_text.h"

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
	BAD(DOC("'time_zone':'+01:00h'"), "$.time_zone", "is no zone", "Europe/Berlin", "+01:00");
	BAD(DOC("'time_zone':'+15:00'"), "is no zone");
	BAD(DOC("'time_zone':'+1:00'"), "is no zone");
	BAD(DOC("'time_zone':60"), "$.time_zone", "an integer");
	BAD(WINDOWS("'a b':{}"), "$.time_windows[\"a b\"]", "is not a name");
	BAD(WINDOWS("'a':'08:00'"), "$.time_windows.a", "array of them", "a string");
	BAD(WINDOWS("'a':[]"), "$.time_windows.a", "1 or more");
	BAD(WINDOWS("'a':{'days':[]}"), "$.time_windows.a.days", "1 or more");
	BAD(WINDOWS("'a':{'days':['mno']}"), "$.time_windows.a.days[0]", "did you mean \"mon\"?");
	// one line each: what is wrong with the days hides that the window is empty
	BAD(WINDOWS("'a':{'days':[],'from':'01:00','to':'01:00'}"), "$.time_windows.a.days",
		"1 or more");
	BAD(WINDOWS("'a':{'days':['mno'],'from':'01:00','to':'01:00'}"), "$.time_windows.a.days[0]",
		"did you mean \"mon\"?");
	BAD(WINDOWS("'a':{'days':['mon'],'from':'1','to':'01:00'}"), "$.time_windows.a.from", "");
	BAD(WINDOWS("'a':{'days':['mon'],'from':'01:00','to':'1'}"), "$.time_windows.a.to", "");
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

#define USERS(body) DOC("'users':{" body "}")
#define USED(match)                                                              \
	DOC("'users':{'alice':['10.0.0.5','2001:db8::5'],'bob':['10.0.1.0/24']," \
	    "'carol':[]},'rules':[{'id':'r','match':{" match "},'action':'drop'}]")

static const char *user_at(const struct policy *policy, const char *text)
{
	uint8_t address[16] = {[10] = 0xff, [11] = 0xff};
	uint32_t user;

	if (inet_pton(AF_INET, text, address + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, address), 1);
	user = user_map_find(&policy->users, address);
	return user == USER_NONE ? "" : policy->users.users[user].name;
}

static void users_are_read(void **state)
{
	struct policy *policy = good(USED("'user':['carol','alice']"));
	const struct rule *rule = &policy->rules[0];
	(void)state;

	assert_string_equal(user_at(policy, "10.0.0.5"), "alice");
	assert_string_equal(user_at(policy, "2001:db8::5"), "alice");
	assert_string_equal(user_at(policy, "10.0.1.0"), "bob");
	assert_string_equal(user_at(policy, "10.0.1.255"), "bob");
	assert_string_equal(user_at(policy, "10.0.2.0"), "");
	assert_string_equal(user_at(policy, "10.0.0.4"), "");
	assert_string_equal(user_at(policy, "2001:db8::6"), "");
	assert_true(rule->has_user);
	assert_int_equal(rule->n_users, 2);
	assert_true(rule_has_user(rule, user_map_named(&policy->users, "alice")));
	assert_true(rule_has_user(rule, user_map_named(&policy->users, "carol")));
	assert_false(rule_has_user(rule, user_map_named(&policy->users, "bob")));
	assert_false(rule_has_user(rule, USER_NONE));
	assert_int_equal(rule->cache, CACHE_TUPLE); // as an address rule
	assert_true(policy->asks_user);
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(rule_names_get(names, policy->users.users[i].uid),
			policy->users.users[i].name);
	policy_free(policy);
	// a user's own addresses may overlap
	policy = good(USERS("'dora':['10.0.0.0/8','10.1.0.0/16','10.0.0.1']"));
	assert_int_equal(policy->users.n_v4, 1);
	assert_false(policy->asks_user);
	policy_free(policy);
}

static void wrong_users_are_told(void **state)
{
	(void)state;
	BAD(USERS("'':[]"), "$.users", "no name of a user");
	BAD(USERS("' x':[]"), "no name of a user");
	BAD(USERS("'a\\nb':[]"), "no name of a user", "control");
	BAD(USERS("'a':'10.0.0.1'"), "$.users.a", "a string");
	BAD(USERS("'a':['10.0.0.1',7]"), "$.users.a[1]", "an integer");
	BAD(USERS("'a':['10.0.0.1/8']"), "$.users.a[0]", "bits beyond its prefix", "10.0.0.0/8");
	BAD(USERS("'a':['staff']"), "$.users.a[0]", "is not an address");
	BAD(USERS("'a':['10.0.0.0/24','10.0.9.1'],'b':['192.0.2.1','10.0.0.7']"), "$.users.b[1]",
		"\"10.0.0.7\" of user \"b\"", "\"10.0.0.0/24\" of user \"a\"",
		"belongs to one user");
	BAD(USERS("'a':['2001:db8::/64'],'b':['2001:db8::1']"), "overlaps", "\"a\"", "\"b\"");
	BAD(DOC("'users':7"), "$.users", "name of a file", "an integer (7)");
	BAD(USED("'user':['alcie']"), "$.rules[0].match.user[0]", "did you mean \"alice\"?");
	BAD(USED("'user':['nobody-at-all']"), "put the name into $.users");
	BAD(USED("'user':[]"), "$.rules[0].match.user");
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

// One error of the users' file with its own path, and one that says where it is named.
static void users_stand_in_a_file_beside_the_policy(void **state)
{
	char folder[] = "/tmp/policy_subjects_XXXXXX", policy_path[64], users_path[64];
	struct config_errors errors = {0};
	struct policy *policy = NULL;
	(void)state;

	assert_non_null(mkdtemp(folder));
	snprintf(policy_path, sizeof policy_path, "%s/policy.json", folder);
	snprintf(users_path, sizeof users_path, "%s/users.json", folder);
	write_file(policy_path, "{\"schema_version\":1,\"users\":\"users.json\","
				"\"rules\":[{\"id\":\"r\",\"match\":{\"user\":[\"alice\"]},"
				"\"action\":\"drop\"}]}");
	write_file(users_path, "{\"alice\":[\"10.0.0.5\"]}");
	assert_int_equal(policy_load(policy_path, names, &policy, &errors), 0);
	assert_string_equal(user_at(policy, "10.0.0.5"), "alice");
	policy_free(policy);

	static const struct {
		const char *text, *where, *what;
	} broken[] = {
		{"{\"alice\":[\"10.0.0.5\"]", "users.json: line 1", "not JSON"},
		{"{\"alice\":[\"10.0.0.555\"]}", "users.json: $.alice[0]", "is not an address"},
		{"{\"alice\":[],\"alice\":[]}", "users.json", "duplicate"},
		{"[]", "users.json", "an array"},
		{"{\"alice\":[\"10.0.0.5\"],\"bob\":[\"10.0.0.5\"]}", "users.json: $.bob[0]",
			"overlaps"},
		{"{\"schema_version\":1}", "users.json: $.schema_version", "an integer"},
		{"{\"\xff\":[]}", "users.json: line 1", "not JSON"},
	};

	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		write_file(users_path, broken[i].text);
		policy = NULL;
		assert_true(policy_load(policy_path, names, &policy, &errors) < 0);
		assert_null(policy);
		EXPECT_LINE(&errors, broken[i].where, broken[i].what);
		config_errors_free(&errors);
	}
	unlink(users_path);
	assert_true(policy_load(policy_path, names, &policy, &errors) < 0);
	EXPECT_LINE(&errors, users_path, "cannot read");
	EXPECT_LINE(&errors, "policy.json: $.users", users_path);
	config_errors_free(&errors);
	unlink(policy_path);
	rmdir(folder);
}

// Every address finds its user, its neighbours nobody.
static void many_users_are_found(void **state)
{
	enum { N = 20000 };
	size_t room = N * 40, used;
	char *text = malloc(room);
	(void)state;

	assert_non_null(text);
	used = (size_t)snprintf(text, room, "{'schema_version':1,'users':{");
	for (unsigned i = 0; i < N; i++)
		used += (size_t)snprintf(text + used, room - used, "%s'u%05u':['10.%u.%u.%u']",
			i ? "," : "", i, i >> 15, i >> 7 & 255, (i & 127) * 2);
	snprintf(text + used, room - used, "}}");
	struct policy *policy = good(text);

	for (unsigned i = 0; i < N; i++) {
		char address[32], name[8];

		snprintf(name, sizeof name, "u%05u", i);
		snprintf(address, sizeof address, "10.%u.%u.%u", i >> 15, i >> 7 & 255,
			(i & 127) * 2);
		assert_string_equal(user_at(policy, address), name);
		snprintf(address, sizeof address, "10.%u.%u.%u", i >> 15, i >> 7 & 255,
			(i & 127) * 2 + 1);
		assert_string_equal(user_at(policy, address), "");
	}
	policy_free(policy);
	free(text);
}

static void dump_of_users_reads_back(void **state)
{
	struct policy *policy = good(USED("'user':['bob','alice']"));
	char *text = policy_dump(policy, names);
	struct policy *again = good(text);
	char *second = policy_dump(again, names);
	(void)state;

	assert_string_equal(text, second);
	assert_int_equal(again->users.n_users, 3);
	assert_string_equal(user_at(again, "10.0.1.77"), "bob");
	assert_string_equal(user_at(again, "2001:db8::5"), "alice");
	assert_int_equal(again->rules[0].n_users, 2);
	free(text);
	free(second);
	policy_free(policy);
	policy_free(again);
}

#define MATCH(match)                                                     \
	DOC("'address_sets':{'a':['10.0.0.7','2001:db8::7'],'none':[]}," \
	    "'rules':[{'id':'r','match':{" match "},'action':'drop'}]")

static const uint8_t seven6[16] = {0x20, 0x01, 0x0d, 0xb8, [15] = 7};

static void hosts_are_read(void **state)
{
	struct policy *policy = good(MATCH("'host':['a','192.0.2.0/24']"));
	static const uint8_t net4[16] = {[10] = 0xff, [11] = 0xff, 192, 0, 2, 77};
	(void)state;

	assert_true(policy->rules[0].has_host);
	assert_true(address_set_has(&policy->rules[0].host, seven6));
	assert_true(address_set_has(&policy->rules[0].host, net4));
	assert_int_equal(policy->rules[0].cache, CACHE_TUPLE); // it asks for addresses alone
	policy_free(policy);
	BAD(MATCH("'host':['b']"), "$.rules[0].match.host[0]", "no address set is named \"b\"");
	BAD(MATCH("'host':['10.0.0.7/8']"), "$.rules[0].match.host[0]", "write \"10.0.0.0/8\"");
	BAD(MATCH("'host':[]"), "$.rules[0].match.host", "1 or more");
	BAD(MATCH("'hots':['a']"), "$.rules[0].match.hots", "did you mean \"host\"?");
}

// Written out as addresses; a set without any stays one that matches nothing.
static void dump_of_hosts_reads_back(void **state)
{
	static const char *const matches[] = {
		MATCH("'host':['a','192.0.2.0/24']"), MATCH("'host':['none']")};
	(void)state;

	for (unsigned i = 0; i < 2; i++) {
		struct policy *policy = good(matches[i]), *again;
		char *text = policy_dump(policy, names), *second;

		assert_non_null(strstr(text, "\"host\""));
		again = good(text);
		second = policy_dump(again, names);
		assert_string_equal(text, second);
		assert_true(again->rules[0].has_host);
		assert_int_equal(address_set_has(&again->rules[0].host, seven6), i == 0);
		free(text);
		free(second);
		policy_free(policy);
		policy_free(again);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_are_read),
		cmocka_unit_test(wrong_windows_are_told),
		cmocka_unit_test(at_most_64_windows),
		cmocka_unit_test(timed_rule_does_not_take_everything),
		cmocka_unit_test(dump_reads_back_to_the_same_week),
		cmocka_unit_test(users_are_read),
		cmocka_unit_test(wrong_users_are_told),
		cmocka_unit_test(users_stand_in_a_file_beside_the_policy),
		cmocka_unit_test(many_users_are_found),
		cmocka_unit_test(dump_of_users_reads_back),
		cmocka_unit_test(hosts_are_read),
		cmocka_unit_test(dump_of_hosts_reads_back),
	};

	return cmocka_run_group_tests(tests, names_make, names_end);
}
